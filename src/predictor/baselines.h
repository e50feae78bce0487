/* baselines.h - the families that the default has to beat: simple, quick to fit, and good to know the value of. */
#ifndef PREDICTOR_BASELINES_H
#define PREDICTOR_BASELINES_H

#include "predictor/family.h"

extern const family family_flops;     /* linear.c: a + b * FLOPs */
extern const family family_flops_mem; /* linear.c: a + b * FLOPs + c * bytes */

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

#endif
