/* memory.h - the memory timeline of one step as events, for a simulation of an allocator. */
#ifndef COST_MEMORY_H
#define COST_MEMORY_H

#include "foretell/cost.h"

typedef enum timeline_kind {
    TIMELINE_WEIGHT,    /* a parameter or buffer, allocated before the step */
    TIMELINE_OPTIMIZER, /* optimiser state of a parameter; allocated by the first optimiser step */
    TIMELINE_ALLOC,     /* block `id` is allocated */
    TIMELINE_INPLACE,   /* block `from` becomes block `id`: an operator writes over its input */
    TIMELINE_TEMPORARY, /* a block that is alive during the current operator only */
    TIMELINE_OP,        /* operator `id` runs in `phase`; all it needs is allocated */
    TIMELINE_FREE,      /* block `id` is freed */
} timeline_kind;

typedef struct timeline_event {
    timeline_kind kind;
    ft_phase phase;
    uint32_t id, from;
    uint64_t bytes;
} timeline_event;

typedef struct timeline_events {
    void (*on_event)(void *user, const timeline_event *event);
    void *user;
} timeline_events;

/* Ids of blocks are below this; the first of those of layers. */
uint32_t timeline_id_count(const ft_graph *graph, const ft_cost_options *options);
uint32_t timeline_layer_ids(const ft_graph *graph);

/* ft_memory_plan with events. `cost`: of the same graph under any options, or NULL; its parameter marks are then used
 * instead of being computed again. Blocks that are never
 * freed (inputs, outputs, gradients of parameters) end with the step. */
ft_status timeline_walk(const ft_graph *bound, const ft_cost *cost, const ft_cost_options *options,
                        const timeline_events *events, ft_memory *memory, ft_error *error);

#endif
