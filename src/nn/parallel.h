/* parallel.h - one step of training, or many predictions, on several threads.
 *
 * A batch is cut into parts: how many, and what is in each, is up to the caller and must not depend on the number of
 * threads. A part should be small enough for what the network makes of it to stay in the cache (a few hundred rows),
 * and large enough for its products to be worth it. Parts are dealt to shards, run by run; each shard has a
 * gradient of its own and does its parts one after the other. The gradients of the shards are added up in their order.
 * So the result is the same to the bit for any number of threads, and one thread does the same work as many. */
#ifndef NN_PARALLEL_H
#define NN_PARALLEL_H

#include "base/pool.h"
#include "nn/tape.h"

enum { PARALLEL_SHARDS = 8 }; /* a good number for most: enough for eight threads, and the gradients stay cheap */

typedef struct parallel parallel;

/* Memory is bounded by `memory_limit` bytes for each tape. `threads` may be NULL: one. */
ft_status parallel_new(const params *parameters, uint32_t shards, pool *threads, size_t memory_limit, parallel **result,
                       ft_error *error);
void parallel_free(parallel *p);

/* Does the forward pass of a part on the tape, which has begun, and returns its loss, 1 x 1 (already divided by what
 * the whole batch is divided by). NULL only when the tape has failed. */
typedef tensor *parallel_loss(void *user, tape *t, uint32_t part);

/* Gradients of the sum of the losses of all parts: parallel_gradient, as long as the parameters. The seed is that of
 * dropout and should be new in every step. */
ft_status parallel_train(parallel *p, uint32_t parts, parallel_loss *loss, void *user, uint64_t seed, double *total,
                         ft_error *error);
float *parallel_gradient(parallel *p);
/* Adds to state (running means) what the step learned for it; `values` is the parameters' block. */
void parallel_update_state(const parallel *p, float *values);

/* Forward passes without gradients: any number of parts. The function writes what it finds to places of its own. */
typedef void parallel_part(void *user, tape *t, uint32_t part);
ft_status parallel_infer(parallel *p, uint32_t parts, parallel_part *part, void *user, ft_error *error);

/* Cuts `count` items with sizes (nodes of a graph, say) into `parts` runs of about the same total: part i is the items
 * start[i] .. start[i+1]-1. `start` has parts + 1 entries. */
void parallel_split(const uint32_t *sizes, uint32_t count, uint32_t parts, uint32_t *start);

#endif
