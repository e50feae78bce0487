/* torch_net.h - the network of the torch-sum predictor: the time of a kernel in a setting (torch_setting.h).
 *
 *     time(kernel, setting) = sum over terms t of  amount_t * anchor_t * unit_cost_t,setting * multiplier_t,setting
 *     log multiplier_t,setting = bounded sum over b of  mix_b,t,setting * basis_b,t(features)
 *
 * Anchors are the rates of the data sheet, so unit costs are the inverse of the share that a device reaches, and
 * similar for all devices. The basis is a small network of a kernel's features, the same for all settings; a setting
 * has its own mix of it. Settings that differ in the device alone form a group: they share unit costs and mix, and
 * differences of a device from its group are penalised. So the effect of more units or a faster memory is learned from
 * how measured devices differ, and a device that was not measured has the unit costs of the group. Unit costs and
 * multipliers are kept as logarithms. */
#ifndef PREDICTOR_TORCH_NET_H
#define PREDICTOR_TORCH_NET_H

#include "nn/layer.h"
#include "nn/params.h"
#include "predictor/torch/torch_rows.h"

enum { TORCH_NET_MAX_HIDDEN = 512, TORCH_NET_MAX_BASIS = 16 };

/* Standardises features to inputs of the network, from the kernels of the training part. */
typedef struct torch_scaling {
    float mean[TORCH_FEATURES], inverse[TORCH_FEATURES]; /* inverse 0: constant in training, so ignored */
    float min[TORCH_FEATURES], max[TORCH_FEATURES];
} torch_scaling;

/* Fitted to the rows with is_used. */
void torch_scaling_fit(const torch_row *rows, const bool *is_used, uint32_t count, torch_scaling *scaling);
void torch_scaling_apply(const torch_scaling *scaling, const torch_row *row, float inputs[static TORCH_FEATURES]);
/* Whether the features are within the range of training: flags exactly, sizes with some slack. */
bool torch_scaling_covers(const torch_scaling *scaling, const torch_row *row);

typedef struct torch_net_sizes {
    uint32_t settings, groups, hidden, basis;
    float bound; /* of log-multipliers */
} torch_net_sizes;

typedef struct torch_net {
    params values;
    torch_net_sizes size;
    layer_linear first, second, last;
    param_id unit_costs; /* (settings, then groups) x terms */
    param_id mix;        /* (settings, then groups) x basis * terms */
} torch_net;

ft_status torch_net_init(torch_net *net, const torch_net_sizes *sizes, uint64_t seed, ft_error *error);
void torch_net_free(torch_net *net);

/* Pairs of a kernel and a setting. */
typedef struct torch_pairs {
    uint32_t kernel_count, count;
    const float *inputs;      /* kernel_count x TORCH_FEATURES */
    const uint32_t *kernels;  /* per pair */
    const uint32_t *settings; /* per pair */
    const uint32_t *groups;   /* per pair: settings + group, a row of the tables */
    const float *amounts;     /* count x TORCH_TERMS, at the rates of the data sheet */
} torch_pairs;

/* Penalty on the differences of settings from their groups, the sum of squares: 1 x 1. `zeros`: as many as the mix of
 * all settings. */
tensor *torch_net_own(const torch_net *net, tape *t, const float *zeros, float scale);

/* Time of each term of each pair: count x TORCH_TERMS. `log_multipliers` and `logs`, the logarithm of unit cost times
 * multiplier, may be NULL. */
tensor *torch_net_times(const torch_net *net, tape *t, const torch_pairs *pairs, tensor **log_multipliers,
                        tensor **logs);

#endif
