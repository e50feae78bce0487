/* torch_amounts.h - what a kernel takes at the rates of the data sheet, term by term, before anything is learned. */
#ifndef PREDICTOR_TORCH_AMOUNTS_H
#define PREDICTOR_TORCH_AMOUNTS_H

#include "predictor/torch/torch_setting.h"

/* Amounts of a row in a column, `times` times; on processors also by what is known of kinds of kernels and of memory.
 */
void torch_amounts(const torch_row *row, torch_side side, const double anchors[static TORCH_TERMS], double batch,
                   double times, float amounts[static TORCH_TERMS]);

#endif
