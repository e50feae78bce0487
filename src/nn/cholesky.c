#include "nn/cholesky.h"

#include <assert.h>
#include <math.h>
#include <stddef.h>

#include "nn/blas.h"

enum { BLOCK = 64 };

/* A block on the diagonal, which fits the first cache. */
static void factor_block(double *a, size_t stride, uint32_t count, double least) {
    for (uint32_t i = 0; i < count; i++) {
        double *row = a + i * stride;
        for (uint32_t j = 0; j <= i; j++) {
            const double *other = a + j * stride;
            double sum = row[j];
            for (uint32_t k = 0; k < j; k++) sum -= row[k] * other[k];
            row[j] = j < i ? sum / other[j] : sqrt(fmax(sum, least));
        }
    }
}

static void factor(const blas *b, double *a, uint32_t count, double least) {
    for (uint32_t at = 0; at < count; at += BLOCK) {
        uint32_t width = count - at < BLOCK ? count - at : BLOCK, below = count - at - width;
        double *block = a + (size_t)at * count + at;
        double *panel = block + (size_t)width * count;
        factor_block(block, count, width, least);
        if (below == 0) return;
        b->dtrsm(CblasRowMajor, CblasRight, CblasLower, CblasTrans, CblasNonUnit, (int)below, (int)width, 1, block,
                 (int)count, panel, (int)count);
        b->dsyrk(CblasRowMajor, CblasLower, CblasNoTrans, (int)below, (int)width, -1, panel, (int)count, 1,
                 panel + width, (int)count);
    }
}

void cholesky_factor(double *a, uint32_t count, double least) {
    const blas *b = blas_begin();
    assert(b != NULL);
    factor(b, a, count, least);
    blas_end();
}

void cholesky_solve(const double *factor, uint32_t count, double *x) {
    if (count == 0) return;
    const blas *b = blas_begin();
    assert(b != NULL);
    b->dtrsv(CblasRowMajor, CblasLower, CblasNoTrans, CblasNonUnit, (int)count, factor, (int)count, x, 1);
    b->dtrsv(CblasRowMajor, CblasLower, CblasTrans, CblasNonUnit, (int)count, factor, (int)count, x, 1);
    blas_end();
}
