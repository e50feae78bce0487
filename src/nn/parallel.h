/* parallel.h - one step of training, or many predictions, on several threads.
 *
 * The caller cuts a batch into parts, in a way that must not depend on the number of threads. A part should be small
 * enough for its activations to stay in the cache (a few hundred rows), and large enough for efficient products.
 * Consecutive parts form a shard; each shard has a gradient of its own and processes its parts one after the other. The
 * gradients of the shards are added in order. So the result is bit-identical for any number of threads. */
#ifndef NN_PARALLEL_H
#define NN_PARALLEL_H

#include "base/pool.h"
#include "nn/tape.h"

enum { PARALLEL_SHARDS = 8 }; /* default: enough for eight threads, with few gradients to add */

typedef struct parallel parallel;

/* `memory_limit`: bytes of each tape. `threads` may be NULL: one thread. */
ft_status parallel_new(const params *parameters, uint32_t shards, pool *threads, size_t memory_limit, parallel **result,
                       ft_error *error);
void parallel_free(parallel *p);

/* Runs the forward pass of a part on the tape, which has begun, and returns its loss (1, 1), its share of the loss of
 * the whole batch. NULL only when the tape has failed. */
typedef tensor *parallel_loss(void *user, tape *t, uint32_t part);

/* Computes the gradient of the sum of the losses of all parts, which parallel_gradient returns: (total_count). The seed
 * of dropout should differ from step to step. */
ft_status parallel_train(parallel *p, uint32_t parts, parallel_loss *loss, void *user, uint64_t seed, double *total,
                         ft_error *error);
float *parallel_gradient(parallel *p);
/* Adds the change of state (running means) by the step. values: (total_count), the block of parameters. */
void parallel_update_state(const parallel *p, float *values);

/* Forward passes without gradients, for any number of parts. The function stores its results itself. */
typedef void parallel_part(void *user, tape *t, uint32_t part);
ft_status parallel_infer(parallel *p, uint32_t parts, parallel_part *part, void *user, ft_error *error);

/* Splits `count` items of given sizes (nodes of a graph) into `parts` ranges of about the same total: part i is the
 * items start[i] .. start[i+1]-1. sizes: (count), start: (parts + 1) */
void parallel_split(const uint32_t *sizes, uint32_t count, uint32_t parts, uint32_t *start);

#endif
