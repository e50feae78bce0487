/* replay.h - a few steps of a model, played through PyTorch's caching allocator (docs/memory.md).
 *
 * The timeline says what is alive; a tool outside of the process sees what the allocator holds, which is more: blocks
 * that were given back and do not fit what is asked for next, and the scratch of convolutions. */
#ifndef COST_REPLAY_H
#define COST_REPLAY_H

#include "foretell/cost.h"

typedef struct replay {
    ft_memory plan;          /* the timeline without allocator */
    uint64_t reserved_bytes; /* the most that the allocator held */
    uint64_t taken_bytes;    /* the most that was alive in it, scratch included */
    uint64_t scores_bytes;   /* outputs of softmax that were really made */
    bool is_over;            /* more than the limit was needed */
} replay;

/* `limit`: bytes that the device has for it; near it, the allocator gives back what is free. `cost`: as for
 * timeline_walk. */
ft_status replay_steps(const ft_graph *bound, const ft_cost *cost, const ft_cost_options *options, uint64_t limit,
                       replay *out, ft_error *error);

#endif
