/* program_sheet.h - features of a device for predictors of tensor programs: logarithms of its data sheet relative to a
 * reference GPU, so that the ratio of a demand to a resource is a difference. */
#ifndef PREDICTOR_PROGRAM_SHEET_H
#define PREDICTOR_PROGRAM_SHEET_H

#include "foretell/device.h"

enum { PROGRAM_SHEET_VALUES = 8, PROGRAM_LIMIT_VALUES = 5 };

/* PROGRAM_SHEET_VALUES features. Missing numbers are those of the reference GPU; peak and bandwidth are required
 * (FT_ERR_UNSUPPORTED). */
ft_status program_sheet(const ft_device *device, float *values, ft_error *error);
/* The same, followed by PROGRAM_LIMIT_VALUES features: limits of the blocks on a unit. */
ft_status program_sheet_limits(const ft_device *device, float *values, ft_error *error);

/* The numbers of such features. */
typedef struct program_limits {
    double units, clock_hz, bandwidth_bytes_per_s;
    double unit_lanes; /* multiply-adds of a unit per clock */
    double unit_threads, unit_shared_bytes, unit_registers, warp_threads, thread_registers;
} program_limits;

program_limits program_limits_of(const float *values);

#endif
