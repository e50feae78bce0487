/* cholesky.h - systems of equations with a symmetric positive definite matrix. The caller has made sure that blas_load
 * (blas.h) succeeds. */
#ifndef NN_CHOLESKY_H
#define NN_CHOLESKY_H

#include <stdint.h>

/* The lower triangle of a (count x count, by rows) becomes that of its factor L, a = L L'. A pivot below `least` is
 * taken as `least`: such a row depends on those before it. What is above the diagonal is not looked at. */
void cholesky_factor(double *a, uint32_t count, double least);

/* Solves L L' x = b in place. */
void cholesky_solve(const double *factor, uint32_t count, double *x);

#endif
