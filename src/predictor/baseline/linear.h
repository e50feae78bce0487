/* linear.h - non-negative least squares of the relative error, which linear.c, kernel_nnls_fit.c and roofline_fit.c fit
 * their unit costs with.
 *
 * Minimises the sum over rows of (x w / label - 1)^2 with w >= 0, so that a small model counts as much as a large one.
 * Rows go into the normal equations as they come; nothing else of them is stored. */
#ifndef PREDICTOR_BASELINE_LINEAR_H
#define PREDICTOR_BASELINE_LINEAR_H

#include <stdint.h>

#include "foretell/status.h"

typedef struct relative_nnls {
    uint32_t columns;
    uint64_t rows;
    double *gram;   /* columns x columns */
    double *moment; /* columns */
} relative_nnls;

ft_status relative_nnls_init(relative_nnls *r, uint32_t columns, ft_error *error);
void relative_nnls_free(relative_nnls *r);

/* One entry of a sparse row. */
typedef struct relative_nnls_entry {
    uint32_t column;
    double value;
} relative_nnls_entry;

void relative_nnls_add(relative_nnls *r, const relative_nnls_entry *entries, uint32_t count, double label);
/* `ridge` pulls each weight towards zero, as much as this share of all rows would; columns are scaled for that, so
 * units do not matter. Sets weights[columns]. */
ft_status relative_nnls_solve(const relative_nnls *r, double ridge, float *weights, ft_error *error);

#endif
