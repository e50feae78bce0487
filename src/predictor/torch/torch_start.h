/* torch_start.h - the prices from which training starts. */
#ifndef PREDICTOR_TORCH_START_H
#define PREDICTOR_TORCH_START_H

#include "predictor/torch/torch_data.h"

/* Logarithms of the prices that fit the labels of a group of columns best without any bend, and stay near what is usual
 * where the labels do not tell. `is_out` as in torch_training_new. */
ft_status initial_unit_costs(const torch_data *data, uint32_t group, const bool *is_out,
                             float unit_costs[static TORCH_TERMS], ft_error *error);

#endif
