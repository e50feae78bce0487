/* linalg.h - linear algebra in double and complex: Cholesky factorisation, eigenvalues of Hermitian matrices. */
#ifndef NN_LINALG_H
#define NN_LINALG_H

#include <stdint.h>

#include "foretell/status.h"

/* Replaces the lower triangle of the symmetric positive definite matrix a (count, count) by that of its factor L with
 * a = L L'. A pivot below `min_pivot` is replaced by it: such a row depends on those before. The upper triangle is
 * ignored. The caller has made sure that blas_load (blas.h) succeeds; also for the next. */
void cholesky_factor(double *a, uint32_t count, double min_pivot);

/* Solves L L' x = b in place; factor: L (count, count), x: b before and x after, (count). */
void cholesky_solve(const double *factor, uint32_t count, double *x);

/* The `count` smallest eigenvalues of a Hermitian matrix (n, n), 1 <= count <= n, in ascending order, with eigenvectors
 * of norm 1. Complex numbers are two floats each. matrix: element (r, c) at matrix[2 (r + c n)]; only r >= c is read;
 * it is overwritten. values: (count), vectors: (count, n) complex numbers. */
ft_status hermitian_smallest(float *matrix, uint32_t n, uint32_t count, float *values, float *vectors, ft_error *error);

#endif
