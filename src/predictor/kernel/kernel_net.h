/* kernel_net.h - the network of the kernel-sum predictor: the time of a kernel on each device of one runtime.
 *
 *     time(kernel, device) = sum over terms t of  amount_t * unit_cost_t,device * multiplier_t,device(features)
 *
 * A unit cost is the time of one launch, one multiply-accumulate or one byte. A small network of the kernel's features
 * predicts the multiplier, between exp(-bound) and exp(bound). So every time is positive, an unseen kernel costs in
 * proportion to its work, and the devices of a runtime share the hidden layers. Both factors are kept as logarithms. */
#ifndef PREDICTOR_KERNEL_NET_H
#define PREDICTOR_KERNEL_NET_H

#include "nn/layer.h"
#include "nn/params.h"
#include "predictor/core/kernel_rows.h"

enum { KERNEL_NET_MAX_HIDDEN = 512 };

/* Standardises features to inputs of the network, from the kernels of the training part. */
typedef struct kernel_scaling {
    float mean[KERNEL_FEATURES], inverse[KERNEL_FEATURES]; /* inverse 0: constant in training, so ignored */
    float min[KERNEL_FEATURES], max[KERNEL_FEATURES];
} kernel_scaling;

void kernel_scaling_fit(const kernel_row *rows, uint32_t count, kernel_scaling *scaling);
/* Fills `inputs` (KERNEL_FEATURES). */
void kernel_scaling_apply(const kernel_scaling *scaling, const kernel_row *row, float *inputs);
/* Whether the features are within the range of training: flags exactly, sizes with some slack. */
bool kernel_scaling_covers(const kernel_scaling *scaling, const kernel_row *row);

typedef struct kernel_net {
    params values;
    uint32_t devices;
    uint32_t hidden;
    float bound;
    layer_linear first, second, last;
    param_id unit_costs; /* logarithms, 1 x devices * terms */
    float *summation;    /* devices * terms x devices: sums the terms of each device */
} kernel_net;

ft_status kernel_net_init(kernel_net *net, uint32_t devices, uint32_t hidden, float bound, uint64_t seed,
                          ft_error *error);
void kernel_net_free(kernel_net *net);

/* Outputs of the hidden layers: rows x hidden; and the time of each term from them: rows x (devices * terms). */
tensor *kernel_net_hidden(const kernel_net *net, tape *t, uint32_t rows, const float *inputs);
tensor *kernel_net_term_times(const kernel_net *net, tape *t, tensor *hidden, uint32_t rows, const float *amounts,
                              tensor **log_multipliers);
/* Both steps; arguments as below. */
tensor *kernel_net_terms(const kernel_net *net, tape *t, uint32_t rows, const float *inputs, const float *amounts,
                         tensor **log_multipliers);
/* inputs: rows x KERNEL_FEATURES, amounts: rows x (devices * terms). Returns rows x devices. `log_multipliers` may be
 * NULL. */
tensor *kernel_net_times(const kernel_net *net, tape *t, uint32_t rows, const float *inputs, const float *amounts,
                         tensor **log_multipliers);
/* Repeats the terms of a row for each device. */
void kernel_net_amounts(const kernel_row *row, uint32_t devices, float *amounts);

#endif
