/* flow_memory.h - what is alive while the kernels of a model run, for the counter of a trace. */
#ifndef REPLAY_FLOW_MEMORY_H
#define REPLAY_FLOW_MEMORY_H

#include "replay/flow_parts.h"

/* Walks the timeline of tensors (cost.h) and keeps for each step the kernel that it belongs to. */
ft_status flow_add_memory_steps(ft_flow *flow, const flow_source *source, ft_error *error);

#endif
