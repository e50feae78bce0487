/* batches.h - a long list in three steps: its items are read one after the other, worked on by all threads, and taken
 * in the order they were read.
 *
 * The steps overlap: while threads work on a batch, one of them takes the batch before and reads the next one. So what
 * can only be done in order costs no time until it is half of all work, and memory holds two batches. */
#ifndef BASE_BATCHES_H
#define BASE_BATCHES_H

#include "base/pool.h"

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
