/* schedule.h - the simulation of a step: engines that run kernels, the tasks of the step, and when each task runs. */
#ifndef REPLAY_SCHEDULE_H
#define REPLAY_SCHEDULE_H

#include "base/arena.h"
#include "foretell/replay.h"
#include "replay/flow.h"

/* --- Engines (engines.c) -------------------------------------------------------------------------------------
 *
 *     spec   = engine { (";" | ",") engine }
 *     engine = name [":" lanes] [":" kind { "," kind }]
 *
 * A word after a comma that has no ':' is one more kind of the engine before it. A kind is a shell pattern that is
 * matched with the type of a kernel and with each word of it: "conv" matches conv-bn-relu, "conv*" also conv2d. Engines
 * with a matching kind go before engines that run everything ("*"). An engine without kinds runs everything, but one
 * called "copy" runs kernels that only move data. */

typedef struct engine {
    const char *name;
    uint32_t lanes;
    const char *const *kinds;
    uint32_t kind_count; /* 0: everything */
    double gap_us;
} engine;

typedef struct engine_list {
    engine items[FT_REPLAY_MAX_ENGINES];
    uint32_t count;
} engine_list;

/* `gaps` may be NULL. Strings are from `memory`. */
ft_status engines_parse(const char *spec, const char *gaps, arena *memory, engine_list *list, ft_error *error);
/* The engine for a kernel of this type, or the one named `name_wanted` (may be NULL); FT_NONE when there is none. */
uint32_t engines_find(const engine_list *list, const char *name_wanted, const char *type);

/* --- Tasks (tasks.c) -----------------------------------------------------------------------------------------
 *
 * A step is a list of tasks: the kernels of a flow forward and backward on each worker, the exchange of gradients
 * between workers, and the optimiser. Each task comes after its dependencies. */

typedef struct task {
    uint32_t kernel; /* of the flow, or FT_NONE */
    uint32_t worker; /* FT_NONE: the network */
    uint32_t engine; /* worker * engines + engine; the last one is the network */
    ft_replay_phase phase;
    int32_t priority;
    uint32_t first_dependency, dependency_count; /* in `dependencies` */
    double time_us;                              /* 0: takes no engine */
    uint64_t bytes;                              /* of gradients that are exchanged */
} task;

typedef struct task_list {
    task *items;
    uint32_t count;
    uint32_t *dependencies; /* task indices, all lower than that of the task */
    uint32_t dependency_count;
    uint32_t workers, engines; /* `workers`: that are simulated; `engines`: per worker */
} task_list;

/* Equal workers run equal timelines: they begin at once, and only wait for exchanges that wait for all of them. So the
 * tasks of one worker, with exchanges that take as long as those of all, are enough; tests simulate all of them. */
typedef enum simulated_workers { SIMULATE_ONE, SIMULATE_ALL } simulated_workers;

ft_status tasks_build(const ft_flow *flow, const engine_list *engines, const ft_replay_options *options,
                      simulated_workers simulated, arena *memory, task_list *list, ft_error *error);

/* Time of a ring all-reduce: each part of the data goes round twice. */
double ring_time_us(uint64_t bytes, uint32_t workers, double latency_us, double bytes_per_s);

/* --- The schedule (schedule.c) -------------------------------------------------------------------------------
 *
 * An event-driven list scheduler: at any time a free engine starts the first of the tasks that are ready for it, and no
 * engine idles while there is one. So the makespan is at least the critical path and at most the sum of all tasks. n
 * tasks with e dependencies take O((n + e) log n). */

typedef struct schedule {
    double *start_us;  /* per task */
    uint32_t *lane;    /* per task: on its engine; FT_NONE for tasks of no time */
    double *tail_us;   /* per task: the longest path from its start to the end */
    uint32_t *started; /* tasks that take time, by start */
    uint32_t started_count;
    double end_us;         /* of the last */
    double critical_us;    /* the critical path */
    uint32_t engine_count; /* of all workers, and the network */
    uint32_t *first_successor,
        *successors; /* tasks that depend on a task: from first_successor[task] to first_successor[task + 1] */
} schedule;

ft_status schedule_run(const task_list *tasks, const engine_list *engines, ft_order order, arena *memory, schedule *s,
                       ft_error *error);

/* The engine with the index of a task: one of the list, or NULL for the network. */
const engine *schedule_engine(const task_list *tasks, const engine_list *engines, uint32_t index);

#endif
