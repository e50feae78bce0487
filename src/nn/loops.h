/* loops.h - the inner loops of the room: plain arrays of floats, no shapes, no memory.
 *
 * Built so that the compiler makes vector code of them (see Makefile), in versions for any processor, for those with
 * AVX2 and for those with AVX-512. All give the same bits: sums that are split over lanes are always split over LANES
 * of them. */
#ifndef NN_LOOPS_H
#define NN_LOOPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A function with this mark is compiled three times, and one is chosen when the program is loaded. Sanitizers cannot
 * run that early, and clang names such functions in its own way. */
#if defined(__x86_64__) && defined(__GLIBC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__) &&              \
    !defined(__SANITIZE_THREAD__)
#define SIMD_CLONES __attribute__((target_clones("arch=x86-64-v4", "avx2", "default")))
#else
#define SIMD_CLONES
#endif

enum { LANES = 8 };

bool loop_is_finite(size_t n, const float *x); /* all of them */
void loop_fill(size_t n, float value, float *y);
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
float loop_max(size_t n, const float *x); /* -infinity when there is none */

/* y = exp(x) / sum of exp(x); all 0 when every x is -infinity. x and y may be the same. */
void loop_softmax(size_t n, const float *x, float *y);
/* to += y (from - sum of y from) */
void loop_softmax_backward(size_t n, const float *y, const float *from, float *to);

/* Over a matrix of rows x cols. */
void loop_add_column_sums(size_t rows, size_t cols, const float *x, float *sums);
void loop_relu_backward(size_t n, const float *y, float *gradient); /* gradient = 0 where y is */
/* Both of them in one pass. */
void loop_relu_backward_sums(size_t rows, size_t cols, const float *y, float *gradient, float *sums);

#endif
