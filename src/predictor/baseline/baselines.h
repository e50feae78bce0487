/* baselines.h - simple families that the default predictor is compared with. */
#ifndef PREDICTOR_BASELINE_BASELINES_H
#define PREDICTOR_BASELINE_BASELINES_H

#include "predictor/core/family.h"

extern const family family_flops;       /* linear.c: a + b * FLOPs */
extern const family family_flops_mem;   /* linear.c: a + b * FLOPs + c * bytes */
extern const family family_roofline;    /* roofline.c: the sum over kernels of max(FLOPs / peak, bytes / bandwidth) */
extern const family family_totals_gbt;  /* totals_gbt.c: boosted trees on totals of the graph */
extern const family family_kernel_nnls; /* kernel_nnls.c: prices of each type of kernel that are not negative */

#endif
