/* cascade.h - passes that run in stripes, one behind the other, so that what is between them never is there in full. */
#ifndef NPU_CASCADE_H
#define NPU_CASCADE_H

#include "npu/schedule.h"

/* The plan of a pass that makes its output in stripes of this height; all of it when it is as high as the output. False
 * when no block of it fits. Which block it is, and what that takes, is left for plans that are to run. */
bool npu_plan_stripe(const npu_schedule *s, const npu_pass *p, int64_t height, npu_plan *plan);
void npu_plan_blocks(const npu_schedule *s, const npu_pass *p, npu_plan *plan);

/* Cascades of passes first..last for an accelerator whose SRAM is a cache: fills s->plans with the plans to run. */
ft_status npu_cascade(npu_schedule *s, uint32_t first, uint32_t last, ft_error *error);

#endif
