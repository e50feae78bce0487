/* fast.h - which feature maps are kept in the fast memory of an accelerator whose SRAM is a cache. */
#ifndef NPU_FAST_H
#define NPU_FAST_H

#include "npu/schedule.h"

/* Moves maps of passes first..last to fast memory: those that fit, and of those that compete the ones that are
 * accessed most. *evicted: a bitmap of ranges in `ranges` that had to leave; *has_evicted tells of any. */
ft_status npu_use_fast(npu_schedule *s, uint32_t first, uint32_t last, npu_ranges *ranges, bool **evicted,
                       bool *has_evicted, ft_error *error);

#endif
