/* kernel_sum.h - the families "kernel-sum", the default, and "kernel-sum-wide", which has other default settings. */
#ifndef PREDICTOR_KERNEL_SUM_H
#define PREDICTOR_KERNEL_SUM_H

#include "predictor/core/family.h"

extern const family family_kernel_sum, family_kernel_sum_wide;

#endif
