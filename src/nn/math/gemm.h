/* gemm.h - matrix products with fused bias and relu.
 *
 * Networks that predict costs are narrow: their products have 32 to 256 columns, where a general BLAS spends a third of
 * its time on packing and on passes over the result. On processors with AVX2 and FMA, or AVX-512, gemm.c computes such
 * products itself, adds several of them into one result without storing it in between, and applies bias and relu while
 * the result is in registers; a row gets the same bits in any batch. All other products are CBLAS, on one thread:
 * threads belong to the caller (parallel.h). Without OpenBLAS, plain loops replace it. */
#ifndef NN_GEMM_H
#define NN_GEMM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nn/math/blas.h"

/* One product A B, with A (m, k) and B (k, n) after transposing. Strides: floats from one stored row to the next. */
typedef struct gemm_term {
    const float *a, *b;
    size_t a_stride, b_stride;
    uint32_t k;
    bool a_transposed, b_transposed;
} gemm_term;

/* C (m, n) = [C +] sum of terms [+ bias], then relu. */
typedef struct gemm_job {
    uint32_t m, n;
    const gemm_term *terms;
    uint32_t term_count;
    float *c;
    size_t c_stride;
    const float *bias; /* (n), added to each row; or NULL */
    bool adds_to_c;
    bool has_relu;
} gemm_job;

/* Floats of scratch memory that a product may need. */
enum { GEMM_SCRATCH = 256 * 256 };

void gemm(const gemm_job *job, float *scratch);

/* For tests: the same through CBLAS only, or in plain loops when `b` is NULL. */
void gemm_blas(const blas *b, const gemm_job *job);

#endif
