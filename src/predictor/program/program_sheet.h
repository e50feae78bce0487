/* program_sheet.h - a device as predictors of tensor programs see it: logarithms of what its data sheet says, over
 * those of a usual GPU, so that what a program asks for beside what a device has is a sum. */
#ifndef PREDICTOR_PROGRAM_SHEET_H
#define PREDICTOR_PROGRAM_SHEET_H

#include "foretell/device.h"

enum { PROGRAM_SHEET_VALUES = 8, PROGRAM_LIMIT_VALUES = 5 };

/* What is not known is as of a usual GPU; without peak and bandwidth nothing can be said (FT_ERR_UNSUPPORTED). */
ft_status program_sheet(const ft_device *device, float *values, ft_error *error);
/* The same, and behind it what limits the blocks on a unit: PROGRAM_SHEET_VALUES and PROGRAM_LIMIT_VALUES. */
ft_status program_sheet_limits(const ft_device *device, float *values, ft_error *error);

/* What such values stand for. */
typedef struct program_limits {
    double units, clock_hz, bandwidth_bytes_per_s;
    double unit_lanes; /* multiply-adds of a unit in a clock */
    double unit_threads, unit_shared_bytes, unit_registers, warp_threads, thread_registers;
} program_limits;

program_limits program_limits_of(const float *values);

#endif
