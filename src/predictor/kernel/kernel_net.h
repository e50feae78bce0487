/* kernel_net.h - the network of the kernel-sum predictor: what a kernel takes on each device of one runtime.
 *
 *     time(kernel, device) = sum over terms t of  amount_t * exp(price_t,device + bend_t,device(features))
 *
 * Prices are what one launch, one multiply-accumulate, one byte costs; the bend, a small network of the features, is
 * what makes it cheaper or dearer for this kernel, by a factor of at most exp(bound). So every time is positive, work
 * that was never seen is charged by its amount, and devices of one runtime share what they have in common. */
#ifndef PREDICTOR_KERNEL_NET_H
#define PREDICTOR_KERNEL_NET_H

#include "nn/layer.h"
#include "nn/params.h"
#include "predictor/core/kernel_rows.h"

enum { KERNEL_NET_MAX_HIDDEN = 512 };

/* How features become inputs, from the kernels of the training part. */
typedef struct kernel_scaling {
    float mean[KERNEL_FEATURES], inverse[KERNEL_FEATURES]; /* inverse 0: never varied in training, so it says nothing */
    float min[KERNEL_FEATURES], max[KERNEL_FEATURES];
} kernel_scaling;

void kernel_scaling_fit(const kernel_row *rows, uint32_t count, kernel_scaling *scaling);
/* Fills `inputs` (KERNEL_FEATURES). */
void kernel_scaling_apply(const kernel_scaling *scaling, const kernel_row *row, float *inputs);
/* Whether training saw its like: all of its flags, and sizes about as large. */
bool kernel_scaling_covers(const kernel_scaling *scaling, const kernel_row *row);

typedef struct kernel_net {
    params values;
    uint32_t devices;
    uint32_t hidden;
    float bound;
    layer_linear first, second, last;
    param_id unit_costs; /* 1 x devices * terms */
    float *summation;    /* devices * terms x devices: adds the terms of each device up */
} kernel_net;

ft_status kernel_net_init(kernel_net *net, uint32_t devices, uint32_t hidden, float bound, uint64_t seed,
                          ft_error *error);
void kernel_net_free(kernel_net *net);

/* What the hidden layers make of kernels: rows x hidden; and what each term takes by that: rows x (devices * terms). */
tensor *kernel_net_hidden(const kernel_net *net, tape *t, uint32_t rows, const float *inputs);
tensor *kernel_net_term_times(const kernel_net *net, tape *t, tensor *hidden, uint32_t rows, const float *amounts,
                              tensor **log_multipliers);
/* Both: arguments as below. */
tensor *kernel_net_terms(const kernel_net *net, tape *t, uint32_t rows, const float *inputs, const float *amounts,
                         tensor **log_multipliers);
/* inputs: rows x KERNEL_FEATURES, amounts: rows x (devices * terms). Gives rows x devices. *bend may be NULL. */
tensor *kernel_net_times(const kernel_net *net, tape *t, uint32_t rows, const float *inputs, const float *amounts,
                         tensor **log_multipliers);
/* Copies the terms of a row once for each device. */
void kernel_net_amounts(const kernel_row *row, uint32_t devices, float *amounts);

#endif
