/* relative.h - least squares of the relative error, with weights that are not negative.
 *
 * Minimises the sum over rows of (x w / label - 1)^2, so that a small model counts as much as a large one. Rows go into
 * the normal equations as they come; nothing else is kept of them. */
#ifndef PREDICTOR_RELATIVE_H
#define PREDICTOR_RELATIVE_H

#include <stdint.h>

#include "foretell/status.h"

typedef struct relative {
    uint32_t columns;
    uint64_t rows;
    double *gram;   /* columns x columns */
    double *moment; /* columns */
} relative;

ft_status relative_init(relative *r, uint32_t columns, ft_error *error);
void relative_free(relative *r);

/* One entry of a row that is mostly zero. */
typedef struct relative_entry {
    uint32_t column;
    double value;
} relative_entry;

void relative_add(relative *r, const relative_entry *entries, uint32_t count, double label);

/* `ridge` pulls each weight towards zero, as much as this share of all rows would; columns are scaled for that, so
 * units do not matter. weights[columns] is set. */
ft_status relative_solve(const relative *r, double ridge, float *weights, ft_error *error);

#endif
