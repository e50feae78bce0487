/* timeline.h - what happens to memory in one step, event by event, for those who follow an allocator. */
#ifndef COST_TIMELINE_H
#define COST_TIMELINE_H

#include "foretell/cost.h"

typedef enum timeline_kind {
    TIMELINE_WEIGHT,  /* a parameter or buffer, there before the step */
    TIMELINE_STATE,   /* what the optimiser holds for a parameter; it appears with the first optimiser step */
    TIMELINE_TAKE,    /* piece `id` is taken */
    TIMELINE_PASS_ON, /* piece `from` is called `id` from now on */
    TIMELINE_PASS,    /* a piece that is alive during the current step only */
    TIMELINE_STEP,    /* operator `id` works in `phase`; all it needs was taken */
    TIMELINE_GIVE,    /* piece `id` is given back */
} timeline_kind;

typedef struct timeline_event {
    timeline_kind kind;
    ft_phase phase;
    uint32_t id, from;
    uint64_t bytes;
} timeline_event;

typedef struct timeline_events {
    void (*tell)(void *user, const timeline_event *event);
    void *user;
} timeline_events;

/* ft_memory_plan with events. `cost`: of the same graph under any options, when there is one; what it knows of the
 * parameters is then not looked for again. Numbers of pieces are below 3 * tensors + operators of the graph. What is
 * never given back (inputs, outputs, gradients of parameters) ends with the step. */
ft_status timeline_walk(const ft_graph *bound, const ft_cost *cost, const ft_cost_options *options,
                        const timeline_events *events, ft_memory *memory, ft_error *error);

#endif
