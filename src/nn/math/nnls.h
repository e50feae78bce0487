/* nnls.h - bounded least squares with a ridge towards priors, from normal equations.
 *
 * Minimises |A x - b|^2 + sum_i ridge_i (x_i - prior_i)^2 with lower_i <= x_i <= upper_i, given G = A'A and A'b. The
 * default bounds, 0 and infinity, are those of costs, which are never negative. The solution is that of the optimality
 * conditions, not of a number of steps; it is the same to the bit at each call on one machine. */
#ifndef NN_NNLS_H
#define NN_NNLS_H

#include <stdbool.h>
#include <stdint.h>

#include "foretell/status.h"

enum { NNLS_MAX_COUNT = 8192 }; /* two matrices of this size are held: 1 GiB */

typedef struct nnls_problem {
    uint32_t count;
    const double *gram;   /* A'A: (count, count), symmetric */
    const double *moment; /* A'b: (count), as all that follow */
    const double *ridge;  /* NULL: all 0 */
    const double *prior;  /* NULL: all 0 */
    const double *lower;  /* NULL: all 0; -infinity: no bound */
    const double *upper;  /* NULL: all infinity */
} nnls_problem;

/* x: (count). Where the equations do not determine it (zero or dependent columns without ridge), x is the prior. */
ft_status nnls_solve(const nnls_problem *problem, double *x, ft_error *error);

#endif
