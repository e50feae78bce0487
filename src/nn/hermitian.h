/* hermitian.h - the smallest eigenvalues of a Hermitian matrix and their vectors, through LAPACK (in OpenBLAS). */
#ifndef NN_HERMITIAN_H
#define NN_HERMITIAN_H

#include <stdint.h>

#include "foretell/status.h"

/* `matrix`: n x n complex numbers, real and imaginary part side by side; only the part on and below the diagonal is
 * looked at (element (r, c) with r >= c stands at matrix[2 (r + c n)]); it is overwritten. The `count` smallest (at
 * most n) eigenvalues, ascending, and for each a vector of n complex numbers of length 1, one after the other. */
ft_status hermitian_smallest(float *matrix, uint32_t n, uint32_t count, float *values, float *vectors, ft_error *error);

#endif
