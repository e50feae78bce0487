/* kernel_start.h - where the training of a network starts. */
#ifndef PREDICTOR_KERNEL_START_H
#define PREDICTOR_KERNEL_START_H

#include "predictor/kernel/kernel_data.h"

/* The logarithms of the prices (KERNEL_TERMS) of device `d` of a side that fit its training models best without any
 * bend. */
ft_status kernel_start_prices(const kernel_side *side, uint32_t d, float *prices, ft_error *error);

#endif
