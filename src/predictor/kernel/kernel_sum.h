/* kernel_sum.h - the default family, and its twin with other defaults. */
#ifndef PREDICTOR_KERNEL_SUM_H
#define PREDICTOR_KERNEL_SUM_H

#include "predictor/core/family.h"

extern const family family_kernel_sum, family_kernel_sum_wide;

#endif
