/* torch_shard.h - a shard of a training step: some labels, the distinct kernels of their programs, and pairs of kernels
 * and settings. */
#ifndef PREDICTOR_TORCH_SHARD_H
#define PREDICTOR_TORCH_SHARD_H

#include "base/pool.h"
#include "base/rng.h"
#include "predictor/torch/torch_data.h"
#include "predictor/torch/torch_net.h"

typedef struct torch_shard {
    uint32_t label_count;
    torch_pairs pairs;
    segments by_label; /* the pairs of each label */
    const float *targets;
    double noise;                               /* deviation of the noise added to sizes; 0: none */
    rng random;                                 /* source of the noise */
    const float *prior_weights, *prior_targets; /* per pair: on the unit cost of a moved byte */
    const float *zeros;                         /* per pair and term */
    uint32_t *row_of;                           /* per kernel of the data: its row in the shard + 1; 0: not in it */
    arena memory;                               /* of all but row_of */
} torch_shard;

/* Allocates row_of. False when out of memory. */
bool torch_shard_open(torch_shard *s, const torch_data *data);
void torch_shard_free(torch_shard *s);

/* Fills a shard with `count` labels: those listed in `order`, or (NULL) the first ones. `inputs`: scaled features of
 * every kernel of the data. False when out of memory. */
bool torch_shard_fill(torch_shard *s, const torch_data *data, const float *inputs, const torch_label *labels,
                      const uint32_t *order, uint32_t count);

/* Logarithm of the predicted time of each label: labels x 1. `log_multipliers` and `logs` may be NULL. */
tensor *torch_shard_forward(const torch_shard *s, const torch_net *net, tape *t, tensor **log_multipliers,
                            tensor **logs);

/* Kinds of kernels that are memory-bound: they reach most of the bandwidth on any GPU. */
bool torch_is_memory_bound(torch_kind kind);

/* --- Inference (torch_infer.c) ------------------------------------------------------------------------------- */

typedef struct torch_infer torch_infer;

/* Runs a network on many labels while it is trained. `inputs`: scaled features of every kernel of the data. They, the
 * data and the network must outlive it. `threads` may be NULL. */
ft_status torch_infer_new(const torch_data *data, const float *inputs, const torch_net *net, pool *threads,
                          torch_infer **out, ft_error *error);
void torch_infer_free(torch_infer *t);

/* Logarithms of the predicted times of labels, by the current weights. `order` as in torch_shard_fill. */
ft_status torch_infer_labels(torch_infer *t, const torch_label *labels, const uint32_t *order, uint32_t count,
                             float *logs, ft_error *error);

#endif
