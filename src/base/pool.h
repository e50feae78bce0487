/* pool.h - threads that wait for work, and do the parts of a job.
 *
 * A job is `count` parts; part i must not depend on which thread does it or when, and writes only what is its own.
 * Whoever adds up the results does so in the order of the parts: that keeps results the same to the bit for any number
 * of threads. Threads block while there is nothing to do; they never spin. */
#ifndef BASE_POOL_H
#define BASE_POOL_H

#include <stdint.h>

#include "foretell/status.h"

typedef struct pool pool;

/* `threads` 0: one for each core this process may use. The caller's own thread is one of them. */
ft_status pool_new(uint32_t threads, pool **result, ft_error *error);
void pool_free(pool *p);
uint32_t pool_threads(const pool *p);

/* `worker` is below pool_threads() and never runs two parts at a time: it may index scratch memory. */
typedef void pool_part(void *user, uint32_t part, uint32_t worker);
/* Returns when all parts are done. Without a pool (NULL), the caller does them in order. */
void pool_run(pool *p, uint32_t count, pool_part *part, void *user);

#endif
