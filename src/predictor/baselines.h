/* baselines.h - the families that the default has to beat: simple, quick to fit, and good to know the value of. */
#ifndef PREDICTOR_BASELINES_H
#define PREDICTOR_BASELINES_H

#include "predictor/family.h"

extern const family family_flops;       /* linear.c: a + b * FLOPs */
extern const family family_flops_mem;   /* linear.c: a + b * FLOPs + c * bytes */
extern const family family_roofline;    /* roofline.c: the sum over kernels of max(FLOPs / peak, bytes / bandwidth) */
extern const family family_totals_gbt;  /* totals_gbt.c: boosted trees on totals of the graph */
extern const family family_kernel_nnls; /* kernel_nnls.c: prices of each type of kernel that are not negative */

/* The smallest value that a baseline predicts, in the unit of the metric: intervals and relative errors need one that
 * is not zero. */
#define BASELINE_LEAST 1e-6

/* All of a subject's work together: forward, and in training backward and the optimiser. */
typedef struct whole_work {
    double flops, bytes;
} whole_work;

whole_work whole_work_of(const ft_cost *cost);
/* Of one operator or kernel. */
whole_work op_work_of(const ft_op_cost *cost);

/* --- Predictions that are sums over kernels ------------------------------------------------------------------ */

typedef struct baseline_parts {
    const ft_kernels *kernels;
    ft_part_time *items; /* NULL when nobody asked */
    double sum;
} baseline_parts;

/* Room for a part per kernel, and one for what belongs to none. */
ft_status baseline_parts_begin(baseline_parts *parts, const ft_kernels *kernels, bool has_parts, arena *memory,
                               ft_error *error);
void baseline_parts_add(baseline_parts *parts, uint32_t kernel, double value);
/* `start` belongs to no kernel. The prediction has spread 1. */
void baseline_parts_end(baseline_parts *parts, double start, prediction *out);

/* --- Checks -------------------------------------------------------------------------------------------------- */

/* Every device must have something to learn from. */
ft_status baseline_check(const fit_set *set, ft_error *error);
/* For families that keep everything in the block. */
ft_status baseline_no_params(const json_t *params, ft_error *error);
/* For blocks of prices. */
ft_status baseline_no_negative(const float *block, size_t count, ft_error *error);

#endif
