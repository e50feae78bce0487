/* torch_sum.h - the family "torch-sum": step times under PyTorch, on GPUs and processors that were measured, and on
 * others from their data sheets. docs/torch.md tells what it does and how well. */
#ifndef PREDICTOR_TORCH_SUM_H
#define PREDICTOR_TORCH_SUM_H

#include "predictor/core/family.h"

extern const family family_torch_sum;

#endif
