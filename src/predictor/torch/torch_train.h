/* torch_train.h - trains one network of the torch-sum predictor on what whole models take. */
#ifndef PREDICTOR_TORCH_TRAIN_H
#define PREDICTOR_TORCH_TRAIN_H

#include "nn/descent.h"
#include "predictor/torch/torch_data.h"
#include "predictor/torch/torch_net.h"

enum { TORCH_MAX_MEMBERS = 16, TORCH_CONFIG_SETTING_COUNT = 13 };

typedef struct torch_config {
    uint32_t hidden;  /* units of each of the two hidden layers */
    uint32_t basis;   /* in which prices bend */
    uint32_t members; /* networks that are averaged; where they disagree, the interval widens */
    uint32_t steps;   /* of each network with whole batches; up to four times as many with smaller ones */
    uint32_t batch;   /* labels in a step at most */
    double rate;      /* highest learning rate of the one-cycle schedule */
    double bound;     /* on bends: a price changes by a factor of at most exp(bound) */
    double penalty;   /* on squared bends */
    double prior;     /* weight of what is known of kernels that only move bytes */
    double own;       /* penalty on what a device has of its own beside its group */
    double delta;     /* where the loss of the log-ratio turns from squares to absolute values */
    double noise;     /* deviation of what is added to the sizes of kernels, by how much they vary */
    bool families;    /* each network leaves out families of architectures, not single ones */
} torch_config;

extern const ft_setting torch_config_settings[TORCH_CONFIG_SETTING_COUNT];
ft_status torch_config_read(const json_t *object, torch_config *config, ft_error *error);
json_t *torch_config_write(const torch_config *config); /* NULL when out of memory */

/* A network on its way. */
typedef struct torch_training torch_training;

/* Learns from the labels of one side. `is_out`, per graph of the data set or NULL: those of these graphs are left out.
 * FT_ERR_USAGE when nothing is left. */
ft_status torch_training_new(const torch_data *data, const torch_scaling *scaling, const torch_config *config,
                             torch_side side, const bool *is_out, uint64_t seed, pool *threads, torch_net *net,
                             torch_training **out, ft_error *error);
void torch_training_free(torch_training *t);
ft_status torch_training_step(torch_training *t, double *loss, ft_error *error);
descent *torch_training_descent(torch_training *t);
/* Logarithms of what labels take, by the network as it is. */
ft_status torch_training_infer(torch_training *t, const torch_label *labels, uint32_t count, float *logs,
                               ft_error *error);

#endif
