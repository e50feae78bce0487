/* program_sheet.h - a device as predictors of tensor programs see it: logarithms of what its data sheet says, over
 * those of a usual GPU, so that what a program asks for beside what a device has is a sum. */
#ifndef PREDICTOR_PROGRAM_SHEET_H
#define PREDICTOR_PROGRAM_SHEET_H

#include "foretell/device.h"

enum { PROGRAM_SHEET_VALUES = 8 };

/* What is not known is as of a usual GPU; without peak and bandwidth nothing can be said (FT_ERR_UNSUPPORTED). */
ft_status program_sheet(const ft_device *device, float *values, ft_error *error);
#endif
