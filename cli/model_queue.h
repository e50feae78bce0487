/* model_queue.h - models that several threads read and compute, and that are handed over in the order they came in.
 *
 * A task is a file to read, or a graph that was read already. Threads run tasks as they are free; the thread that adds
 * them also takes the results, so whatever it prints does not depend on the number of threads. A few tasks for each
 * thread are in the queue, so thousands of files take the memory of those few. */
#ifndef CLI_MODEL_QUEUE_H
#define CLI_MODEL_QUEUE_H

#include "foretell/foretell.h"

typedef struct model_queue model_queue;

typedef struct model_task {
    char *path;
    bool is_file;     /* to be opened and read; else `graph` is given, or the error that came instead of it */
    bool is_explicit; /* of a file: named on the command line */

    /* Results: */
    ft_status opened;  /* of a file */
    ft_source *source; /* of a file with several graphs: they are not read yet */
    ft_graph *graph;
    void *work;       /* what run_task of the owner made of the graph */
    ft_status status; /* of reading and computing */
    ft_error error;   /* when opened or status is none of FT_OK */
} model_task;

/* On any thread: sets the results. */
typedef void model_task_run(void *user, model_task *task);
/* On the thread that adds tasks, in their order. Frees what the task has. */
typedef void model_task_take(void *user, model_task *task);

/* `threads` 0: one for each core. Threads that cannot be started are done without. NULL when out of memory. */
model_queue *model_queue_new(uint32_t threads, model_task_run *run, model_task_take *take, void *user);
/* Adds a copy of a task; may take the results of older ones. */
void model_queue_add(model_queue *q, const model_task *task);
/* Takes the results of all tasks. */
void model_queue_drain(model_queue *q);
/* Drains the queue and ends the threads. */
void model_queue_free(model_queue *q);

#endif
