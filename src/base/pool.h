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

#endif
