/* schedule.h - when each task runs: a list scheduler over events.
 *
 * At any moment an engine that is free starts the first of the tasks that are ready for it, and no engine waits while
 * there is one. So all is over no sooner than the longest path and no later than one after the other. n tasks with e
 * needs take O((n + e) log n). */
#ifndef REPLAY_SCHEDULE_H
#define REPLAY_SCHEDULE_H

#include "replay/tasks.h"

typedef struct schedule {
    double *start_us;  /* per task */
    uint32_t *lane;    /* per task: of its engine; FT_NONE for those that take none */
    double *tail_us;   /* per task: the longest way from its beginning to the end */
    uint32_t *started; /* tasks that take time, as they begin */
    uint32_t started_count;
    double end_us;         /* of the last */
    double critical_us;    /* the longest path */
    uint32_t engine_count; /* of all workers, and the network */
    uint32_t *first_successor,
        *successors; /* who needs a task: from first_successor[task] to first_successor[task + 1] */
} schedule;

ft_status schedule_run(const task_list *tasks, const engine_list *engines, ft_order order, arena *memory, schedule *s,
                       ft_error *error);

/* The engine of a task's index: one of the list, or NULL for the network. */
const engine *schedule_engine(const task_list *tasks, const engine_list *engines, uint32_t index);

#endif
