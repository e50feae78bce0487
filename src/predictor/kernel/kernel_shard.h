/* kernel_shard.h - a part of a step: some models, each distinct kernel of theirs once, and what they should take. */
#ifndef PREDICTOR_KERNEL_SHARD_H
#define PREDICTOR_KERNEL_SHARD_H

#include "predictor/kernel/kernel_data.h"
#include "predictor/kernel/kernel_net.h"

/* Memory of one shard: the kernels and models that it looks at. */
typedef struct kernel_shard {
    uint32_t model_count, kernel_count, launch_count;
    uint32_t *place; /* per kernel of the table: its row in the shard + 1, 0 = not in it */
    uint32_t *kernels;
    uint32_t *start, *index; /* as in kernel_models */
    uint32_t start_capacity, index_capacity, row_capacity;
    float *inputs, *amounts, *zeros;
    float *targets, *weights; /* per device a column of models */
} kernel_shard;

/* Room to note which kernels of a table are in the shard. False when out of memory. */
bool kernel_shard_open(kernel_shard *s, uint32_t kernels);
void kernel_shard_free(kernel_shard *s);

/* Fills a shard with models of a side; `numbers` picks them, NULL: from `first` on. `inputs` has those of every kernel
 * of the side. False when out of memory. */
bool kernel_shard_fill(kernel_shard *s, const kernel_side *side, const float *inputs, const kernel_models *models,
                       const uint32_t *numbers, uint32_t first, uint32_t count);

/* The logarithm of what each model takes: models x devices. *bend may be NULL. */
tensor *kernel_shard_forward(const kernel_shard *s, const kernel_net *net, tape *t, tensor **log_multipliers);

#endif
