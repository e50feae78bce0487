/* allocator.h - a model of PyTorch's caching allocator, and training steps replayed through it (docs/memory.md).
 *
 * The allocator requests memory from the driver in segments and keeps it: free parts of a segment are reused when a
 * request fits, and segments are never merged. So a tool outside of the process (nvidia-smi) sees the reserved bytes,
 * which are more than the live bytes of the timeline: cached blocks that fit no later request, and the scratch of
 * convolutions. */
#ifndef COST_ALLOCATOR_H
#define COST_ALLOCATOR_H

#include <stdbool.h>
#include <stdint.h>

#include "foretell/cost.h"

typedef struct allocator allocator;

/* Allocations have ids below `id_count`. `limit`: bytes that the driver has; when they are used up, segments without
 * an allocation are returned to it. NULL when out of memory. */
allocator *allocator_new(uint32_t id_count, uint64_t limit);
void allocator_free(allocator *a);

/* False when out of memory (of this process). 0 bytes allocate nothing; more than 16 TiB count as 16 TiB. */
bool allocator_allocate(allocator *a, uint32_t id, uint64_t bytes);
void allocator_deallocate(allocator *a, uint32_t id);
void allocator_deallocate_below(allocator *a, uint32_t end); /* all ids below `end` */
/* Allocation `from` has the id `id` from now on. */
void allocator_rename(allocator *a, uint32_t id, uint32_t from);

/* Allocates and frees at once. */
bool allocator_allocate_scratch(allocator *a, uint64_t bytes);

/* Returns segments without an allocation to the driver (torch.cuda.empty_cache). */
void allocator_empty_cache(allocator *a);

/* True when neither the segments nor the allocated bytes have changed since the last call. */
bool allocator_is_stable(allocator *a);

uint64_t allocator_peak_reserved(const allocator *a);  /* highest sum of segments (torch.cuda.max_memory_reserved) */
uint64_t allocator_peak_allocated(const allocator *a); /* highest sum of blocks in use, with rounding */
bool allocator_is_exhausted(const allocator *a); /* more than the limit was needed; the model went on without it */

/* --- Replaying steps (allocator_replay.c) ------------------------------------------------------------------- */

typedef struct allocator_replay {
    ft_memory plan;           /* the timeline without an allocator */
    uint64_t reserved_bytes;  /* peak of the allocator's segments */
    uint64_t allocated_bytes; /* peak of the blocks in use, scratch included */
    uint64_t scores_bytes;    /* outputs of softmax that are stored in memory */
    bool is_over;             /* more than the limit was needed */
} allocator_replay;

/* `limit`: bytes of device memory; near it, the allocator returns cached segments. `cost`: as for timeline_walk. */
ft_status allocator_replay_steps(const ft_graph *bound, const ft_cost *cost, const ft_cost_options *options,
                                 uint64_t limit, allocator_replay *out, ft_error *error);

#endif
