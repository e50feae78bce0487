/* torch_net.h - the network of the torch-sum predictor: what a kernel takes in a column (torch_setting.h).
 *
 *     time(kernel, column) = sum over terms t of  amount_t * anchor_t,column * exp(price_t,column + bend_t,column)
 *     bend_t,column = bounded sum over ways w of  mix_w,t,column * way_w,t(features)
 *
 * Anchors are the rates of the data sheet, so prices say how much of them a device reaches, and are alike for all. How
 * kernels bend prices is a small network of their features, the same for all columns; a column has its own mix of the
 * few ways in which it bends. Columns that differ in the device alone are a group: they share prices and mix, and what
 * a device has of its own is kept small. So what more units, or a faster memory, are worth is learned from how measured
 * devices differ, and a device that was never measured has the prices of the group. */
#ifndef PREDICTOR_TORCH_NET_H
#define PREDICTOR_TORCH_NET_H

#include "nn/layer.h"
#include "nn/params.h"
#include "predictor/torch/torch_rows.h"

enum { TORCH_NET_MAX_HIDDEN = 512, TORCH_NET_MAX_BASIS = 16 };

/* How features become inputs, from the kernels of the training part. */
typedef struct torch_scaling {
    float mean[TORCH_FEATURES], inverse[TORCH_FEATURES]; /* inverse 0: never varied in training, so it says nothing */
    float min[TORCH_FEATURES], max[TORCH_FEATURES];
} torch_scaling;

/* From those of the rows that are used. */
void torch_scaling_fit(const torch_row *rows, const bool *is_used, uint32_t count, torch_scaling *scaling);
void torch_scaling_apply(const torch_scaling *scaling, const torch_row *row, float inputs[static TORCH_FEATURES]);
/* Whether training saw its like: its flags, and sizes about as large. */
bool torch_scaling_covers(const torch_scaling *scaling, const torch_row *row);

typedef struct torch_net {
    params values;
    uint32_t settings, groups, hidden, basis;
    float bound;
    layer_linear first, second, last;
    param_id unit_costs; /* columns, then groups x terms */
    param_id mix;        /* columns, then groups x ways * terms */
} torch_net;

ft_status torch_net_init(torch_net *net, uint32_t settings, uint32_t groups, uint32_t hidden, uint32_t basis,
                         float bound, uint64_t seed, ft_error *error);
void torch_net_free(torch_net *net);

/* Pairs of kernels and columns. */
typedef struct torch_pairs {
    uint32_t kernel_count, count;
    const float *inputs;      /* kernel_count x TORCH_FEATURES */
    const uint32_t *kernels;  /* per pair */
    const uint32_t *settings; /* per pair */
    const uint32_t *groups;   /* per pair: columns + group */
    const float *amounts;     /* count x TORCH_TERMS, anchored */
} torch_pairs;

/* What columns have of their own, squared and added up: 1 x 1. `zeros` has room for the mix of all columns. */
tensor *torch_net_own(const torch_net *net, tape *t, const float *zeros, float scale);

/* Gives what each term of each pair takes: count x TORCH_TERMS. *bend, *logs (price + bend) may be NULL. */
tensor *torch_net_times(const torch_net *net, tape *t, const torch_pairs *pairs, tensor **log_multipliers,
                        tensor **logs);

#endif
