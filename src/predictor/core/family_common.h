/* family_common.h - helpers that several predictor families share: total work, parts of a sum over kernels, checks of
 * training sets and of parameters read from a file. */
#ifndef PREDICTOR_CORE_FAMILY_COMMON_H
#define PREDICTOR_CORE_FAMILY_COMMON_H

#include "predictor/core/family.h"

/* The smallest value that a baseline predicts, in the unit of the metric: intervals and relative errors need one that
 * is not zero. */
#define MIN_PREDICTED_VALUE 1e-6

/* The total work of a model: forward, and in training backward and the optimiser. */
typedef struct total_work {
    double flops, bytes;
} total_work;

total_work total_work_of(const ft_cost *cost);
/* Of one operator or kernel. */
total_work op_work_of(const ft_op_cost *cost);

/* --- Predictions that are sums over kernels ------------------------------------------------------------------ */

typedef struct part_sum {
    const ft_kernels *kernels;
    ft_part *items; /* NULL: not wanted */
    double sum;
} part_sum;

/* Makes room for a part per kernel, and one for the start of a run. */
ft_status part_sum_begin(part_sum *parts, const ft_kernels *kernels, bool has_parts, arena *memory, ft_error *error);
void part_sum_add(part_sum *parts, uint32_t kernel, double value);
/* Adds `start`, which belongs to no kernel, and sets the prediction, with spread 1. */
void part_sum_end(part_sum *parts, double start, model_output *out);

/* --- Checks -------------------------------------------------------------------------------------------------- */

/* Every device must have training rows. */
ft_status fit_set_check(const fit_set *set, ft_error *error);
/* Per device, the type that most rows have; FT_DTYPE_UNKNOWN for a device without rows. */
ft_status usual_dtypes_find(const ft_record *records, fit_rows rows, uint32_t device_count, ft_dtype **usual,
                            arena *memory, ft_error *error);
/* For families that store everything in the block. */
ft_status params_check_empty(const json_t *params, ft_error *error);
/* Numbers of a file, all of them from `min` to `max`; `what` names one of them in the message. */
ft_status block_check(const float *block, size_t count, double min, double max, const char *what, ft_error *error);
/* Unit costs: none negative, and none beyond the largest label per unit. */
ft_status block_check_unit_costs(const float *block, size_t count, ft_error *error);
/* Weights, biases and states of networks. */
ft_status block_check_weights(const float *block, size_t count, ft_error *error);

#endif
