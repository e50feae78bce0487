/* pool.h - a thread pool that runs the parts of a job in parallel.
 *
 * A job has `count` parts; part i must not depend on the thread or the time at which it runs, and writes only its own
 * data. Callers add up results in the order of the parts, so that they are bit-identical for any number of threads.
 * Idle threads block; they never spin. */
#ifndef BASE_POOL_H
#define BASE_POOL_H

#include <stdint.h>

#include "foretell/status.h"

typedef struct pool pool;

/* `threads` 0: one for each core available to this process. The calling thread counts as one. */
ft_status pool_new(uint32_t threads, pool **result, ft_error *error);
void pool_free(pool *p);
uint32_t pool_threads(const pool *p);

/* `worker` is below pool_threads() and runs one part at a time, so it may index scratch memory. */
typedef void pool_part(void *user, uint32_t part, uint32_t worker);
/* Returns when all parts are done. Without a pool (NULL), the parts run in order in the calling thread. */
void pool_run(pool *p, uint32_t count, pool_part *part, void *user);

/* --- Batches ------------------------------------------------------------------------------------------------------ */

/* A long list in three steps: its items are read one after the other, worked on by all threads, and taken in the order
 * they were read.
 *
 * The steps overlap: while threads work on a batch, one of them takes the batch before and reads the next one. So what
 * can only be done in order costs no time until it is half of all work, and memory holds two batches. */
typedef struct batch_steps {
    uint32_t size; /* items of a batch, at most; the caller has room for twice as many */
    /* Reads items into the places from `first` on, up to `size` of them; fewer than that: the list ends behind them. An
     * error ends it too, and is returned once the items before it were taken. */
    ft_status (*read)(void *user, uint32_t first, uint32_t *count, ft_error *error);
    void (*work)(void *user, uint32_t item, uint32_t worker);
    /* Takes items; an error ends the list. Never at the same time as `read`, but not always on the calling thread. */
    ft_status (*take)(void *user, uint32_t first, uint32_t count, ft_error *error);
} batch_steps;

/* `threads` NULL: all steps in the calling thread. */
ft_status batches_run(pool *threads, const batch_steps *steps, void *user, ft_error *error);

#endif
