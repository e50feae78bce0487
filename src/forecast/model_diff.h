/* model_diff.h - the kernels of two results side by side: which became slower or larger, came or went. */
#ifndef FORECAST_MODEL_DIFF_H
#define FORECAST_MODEL_DIFF_H

#include "foretell/forecast_report.h"

/* Kernels that correspond to each other; FT_NONE: there is none in the other model. */
typedef struct kernel_pair {
    uint32_t old_part, new_part;
} kernel_pair;

/* One side of the comparison. */
typedef struct diff_side {
    const ft_model_results *entry;
    const ft_result *result;
    ft_cost cost; /* of the model as the result has it; no operators: not known */
} diff_side;

/* Pairs in the order of the new model, with those that are gone where they were. Kernels correspond when they have the
 * same kind and operators of the same types, in the same order; of several ways, one with as many equal names as
 * possible. NULL when out of memory; the caller frees it. */
kernel_pair *model_diff_align(const diff_side *old_side, const diff_side *new_side, uint32_t *count);

#endif
