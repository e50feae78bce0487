/* tasks.h - all that happens in a step: the kernels of a flow forward and backward on each worker, the exchange of
 * gradients between them, and the optimiser. Each task comes after all that it needs. */
#ifndef REPLAY_TASKS_H
#define REPLAY_TASKS_H

#include "replay/engines.h"
#include "replay/flow.h"

typedef struct task {
    uint32_t kernel; /* of the flow, or FT_NONE */
    uint32_t worker; /* FT_NONE: the network */
    uint32_t engine; /* worker * engines + engine; the last one is the network */
    ft_replay_phase phase;
    int32_t priority;
    uint32_t first_dependency, dependency_count; /* in `needs` */
    double time_us;                              /* 0: takes no engine */
    uint64_t bytes;                              /* that are exchanged */
} task;

typedef struct task_list {
    task *items;
    uint32_t count;
    uint32_t *dependencies; /* tasks, all smaller than the one that needs them */
    uint32_t dependency_count;
    uint32_t workers, engines; /* `engines` of a worker */
} task_list;

ft_status tasks_build(const ft_flow *flow, const engine_list *engines, const ft_replay_options *options, arena *memory,
                      task_list *list, ft_error *error);

/* How long it takes a ring of workers to add up so many bytes: each piece goes round twice. */
double ring_time_us(uint64_t bytes, uint32_t workers, double latency_us, double bytes_per_s);

#endif
