/* kernel_shard.h - a shard of a training step: some models with their labels, and each of their distinct kernels. */
#ifndef PREDICTOR_KERNEL_SHARD_H
#define PREDICTOR_KERNEL_SHARD_H

#include "predictor/kernel/kernel_data.h"
#include "predictor/kernel/kernel_net.h"

/* Buffers of one shard; reused by the next step. */
typedef struct kernel_shard {
    uint32_t model_count, kernel_count, launch_count;
    uint32_t *row_of; /* per kernel of the table: its row in the shard + 1; 0: not in it */
    uint32_t *kernels;
    uint32_t *start, *index; /* as in kernel_models */
    uint32_t start_capacity, index_capacity, row_capacity;
    float *inputs, *amounts, *zeros;
    float *targets, *weights; /* devices x models */
} kernel_shard;

/* Allocates row_of for a table of `kernels` kernels. False when out of memory. */
bool kernel_shard_open(kernel_shard *s, uint32_t kernels);
void kernel_shard_free(kernel_shard *s);

/* Fills a shard with `count` models of a side: those listed in `indices`, or (NULL) those from `first` on. `inputs`:
 * scaled features of every kernel of the side. False when out of memory. */
bool kernel_shard_fill(kernel_shard *s, const kernel_side *side, const float *inputs, const kernel_models *models,
                       const uint32_t *indices, uint32_t first, uint32_t count);

/* Logarithm of the predicted time of each model: models x devices. `log_multipliers` may be NULL. */
tensor *kernel_shard_forward(const kernel_shard *s, const kernel_net *net, tape *t, tensor **log_multipliers);

#endif
