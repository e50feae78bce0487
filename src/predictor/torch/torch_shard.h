/* torch_shard.h - a part of a step: some labels, the distinct kernels of their programs, and pairs of both. */
#ifndef PREDICTOR_TORCH_SHARD_H
#define PREDICTOR_TORCH_SHARD_H

#include "base/rng.h"
#include "predictor/torch/torch_amounts.h"
#include "predictor/torch/torch_data.h"
#include "predictor/torch/torch_net.h"

typedef struct torch_shard {
    uint32_t label_count;
    torch_pairs pairs;
    segments by_label; /* the pairs of each label */
    const float *targets;
    double noise;                               /* deviation of what is added to sizes; 0: they are as they are */
    rng random;                                 /* that it is drawn from */
    const float *prior_weights, *prior_targets; /* per pair: of the price of a byte moved */
    const float *zeros;                         /* per pair and term */
    uint32_t *place;                            /* per kernel of the data: its row in the shard + 1, 0 = not in it */
    arena memory;                               /* of all but place */
} torch_shard;

/* Room to note which kernels are in the shard. False when out of memory. */
bool torch_shard_open(torch_shard *s, const torch_data *data);
void torch_shard_free(torch_shard *s);

/* `order` picks labels, NULL: from the first on. `inputs` has those of every kernel of the data. False when out of
 * memory. */
bool torch_shard_fill(torch_shard *s, const torch_data *data, const float *inputs, const torch_label *labels,
                      const uint32_t *order, uint32_t count);

/* The logarithm of what each label takes: labels x 1. *bend, *logs may be NULL. */
tensor *torch_shard_forward(const torch_shard *s, const torch_net *net, tape *t, tensor **log_multipliers,
                            tensor **logs);

/* Kernels that do nothing but move bytes: they reach most of the bandwidth, on any GPU. */
bool torch_only_moves(torch_kind kind);

#endif
