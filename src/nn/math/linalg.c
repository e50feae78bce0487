/* linalg.c - Cholesky factorisation and Hermitian eigenvalues, through OpenBLAS (blas.h). */
#include "nn/math/linalg.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "base/error.h"
#include "nn/math/blas.h"

enum { BLOCK = 64, MAX_SIZE = 1 << 12 }; /* MAX_SIZE: of eigenvalue problems, which then take some seconds */

/* --- Cholesky ------------------------------------------------------------------------------------------------ */

/* Factors a diagonal block of a (count, count), which fits the L1 cache, in place. */
static void factor_block(double *a, size_t stride, uint32_t count, double min_pivot) {
    for (uint32_t i = 0; i < count; i++) {
        double *row = a + i * stride;
        for (uint32_t j = 0; j <= i; j++) {
            const double *other = a + j * stride;
            double sum = row[j];
            for (uint32_t k = 0; k < j; k++) sum -= row[k] * other[k];
            row[j] = j < i ? sum / other[j] : sqrt(fmax(sum, min_pivot));
        }
    }
}

static void factor(const blas *b, double *a, uint32_t count, double min_pivot) {
    for (uint32_t at = 0; at < count; at += BLOCK) {
        uint32_t width = count - at < BLOCK ? count - at : BLOCK, below = count - at - width;
        double *block = a + (size_t)at * count + at;
        double *panel = block + (size_t)width * count;
        factor_block(block, count, width, min_pivot);
        if (below == 0) return;
        b->dtrsm(CblasRowMajor, CblasRight, CblasLower, CblasTrans, CblasNonUnit, (int)below, (int)width, 1, block,
                 (int)count, panel, (int)count);
        b->dsyrk(CblasRowMajor, CblasLower, CblasNoTrans, (int)below, (int)width, -1, panel, (int)count, 1,
                 panel + width, (int)count);
    }
}

void cholesky_factor(double *a, uint32_t count, double min_pivot) {
    const blas *b = blas_begin();
    assert(b != NULL);
    factor(b, a, count, min_pivot);
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

/* --- Eigenvalues --------------------------------------------------------------------------------------------- */

static ft_status no_eigenvalues(ft_error *error) {
    return ft_fail(error, FT_ERR_LIMIT, "eigenvalues: LAPACK did not converge");
}

ft_status hermitian_smallest(float *matrix, uint32_t n, uint32_t count, float *values, float *vectors,
                             ft_error *error) {
    assert(count > 0 && count <= n);
    if (n > MAX_SIZE)
        return ft_fail(error, FT_ERR_LIMIT, "eigenvalues: %u rows; at most %d are supported", n, MAX_SIZE);
    FT_TRY(blas_load(error));
    const int size = (int)n, first = 1, last = (int)count;
    const float none = 0;
    /* At least the minimal workspaces of LAPACK. */
    const int work_size = 40 * size, real_size = 24 * size, int_size = 10 * size;
    float *work = malloc(2 * (size_t)work_size * sizeof *work), *real = malloc((size_t)real_size * sizeof *real);
    float *all = malloc(n * sizeof *all);
    int *whole = malloc((size_t)int_size * sizeof *whole), *support = malloc(2 * (size_t)n * sizeof *support);
    ft_status status =
        work != NULL && real != NULL && all != NULL && whole != NULL && support != NULL ? FT_OK : FT_NOMEM(error);
    int found = 0, info = 0;
    if (status == FT_OK) {
        blas_begin()->cheevr("V", "I", "L", &size, matrix, &size, &none, &none, &first, &last, &none, &found, all,
                             vectors, &size, support, work, &work_size, real, &real_size, whole, &int_size, &info);
        blas_end();
    }
    if (status == FT_OK && (info != 0 || found != last)) status = no_eigenvalues(error);
    for (uint32_t i = 0; status == FT_OK && i < count; i++) values[i] = all[i];
    free(work);
    free(real);
    free(all);
    free(whole);
    free(support);
    return status;
}
