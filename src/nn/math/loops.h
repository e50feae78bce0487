/* loops.h - inner loops of nn/ over plain arrays of floats.
 *
 * The compiler vectorises them (see Makefile), in versions for any x86-64, for AVX2 and for AVX-512. All versions give
 * the same bits: sums are always split over LANES lanes. Arrays have n elements unless noted. */
#ifndef NN_LOOPS_H
#define NN_LOOPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A function with this attribute is compiled three times, and one version is chosen when the program is loaded.
 * Sanitizers cannot run that early, and clang names such functions differently. */
#if defined(__x86_64__) && defined(__GLIBC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__) &&              \
    !defined(__SANITIZE_THREAD__)
#define SIMD_CLONES __attribute__((target_clones("arch=x86-64-v4", "avx2", "default")))
#else
#define SIMD_CLONES
#endif

enum { LANES = 8 };

bool loop_is_bounded(size_t n, float bound, const float *x);               /* |x| <= bound, a positive number */
void loop_fill(size_t n, float value, float *y);                           /* y = value */
void loop_add(size_t n, const float *x, float *y);                         /* y += x */
void loop_add_scaled(size_t n, float a, const float *x, float *y);         /* y += a x */
void loop_add_product(size_t n, const float *a, const float *b, float *y); /* y += a b */
void loop_scale(size_t n, float a, const float *x, float *y);              /* y = a x */
void loop_sum_of(size_t n, const float *a, const float *b, float *y);      /* y = a + b */
void loop_difference(size_t n, const float *a, const float *b, float *y);  /* y = a - b */
void loop_product(size_t n, const float *a, const float *b, float *y);     /* y = a b */
void loop_silu(size_t n, float *x);                                        /* x = x sigmoid(x) */
float loop_sum(size_t n, const float *x);
float loop_dot(size_t n, const float *x, const float *y);
float loop_max(size_t n, const float *x); /* -infinity when n is 0 */

/* y = exp(x) / sum of exp(x); all 0 when every x is -infinity. x and y may be the same. */
void loop_softmax(size_t n, const float *x, float *y);
/* dx += y (dy - sum of y dy), with y = softmax(x) */
void loop_softmax_backward(size_t n, const float *y, const float *dy, float *dx);

/* sums: (cols) += column sums of x: rows x cols */
void loop_add_column_sums(size_t rows, size_t cols, const float *x, float *sums);
void loop_relu_backward(size_t n, const float *y, float *gradient); /* gradient = 0 where y = relu(x) is 0 */
/* Both in one pass. y, gradient: rows x cols, sums: (cols) */
void loop_relu_backward_sums(size_t rows, size_t cols, const float *y, float *gradient, float *sums);

#endif
