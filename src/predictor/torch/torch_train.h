/* torch_train.h - settings of the torch-sum predictor, and training of one network on the times of whole models. */
#ifndef PREDICTOR_TORCH_TRAIN_H
#define PREDICTOR_TORCH_TRAIN_H

#include "nn/descent.h"
#include "predictor/torch/torch_data.h"
#include "predictor/torch/torch_net.h"

enum { TORCH_MAX_MEMBERS = 16, TORCH_CONFIG_SETTING_COUNT = 13 };

typedef struct torch_config {
    uint32_t hidden;  /* units of each of the two hidden layers */
    uint32_t basis;   /* basis functions of the log-multipliers (key "ways") */
    uint32_t members; /* networks that are averaged; their disagreement widens the interval */
    uint32_t steps;   /* of each network at the full batch size; up to four times as many with smaller batches */
    uint32_t batch;   /* maximum number of labels in a step */
    double rate;      /* highest learning rate of the one-cycle schedule */
    double bound;     /* on log-multipliers of unit costs */
    double penalty;   /* on squared log-multipliers */
    double prior;     /* weight of the prior that memory-bound kernels reach the bandwidth */
    double own;       /* penalty on differences of a device from its group */
    double delta;     /* where the loss of the log-ratio changes from squared to absolute */
    double noise;     /* deviation of the noise added to scaled sizes of kernels */
    bool families;    /* each network holds out families of architectures instead of single ones */
} torch_config;

extern const ft_setting torch_config_settings[TORCH_CONFIG_SETTING_COUNT];
ft_status torch_config_read(const json_t *object, torch_config *config, ft_error *error);
json_t *torch_config_write(const torch_config *config); /* NULL when out of memory */

/* State of the training of a network. */
typedef struct torch_training torch_training;

typedef struct torch_training_options {
    const torch_data *data;
    const torch_scaling *scaling;
    const torch_config *config;
    torch_side side;
    const bool *is_out; /* per graph of the data set: held out; NULL: none are */
    uint64_t seed;
    pool *threads; /* may be NULL */
} torch_training_options;

/* Trains on the labels of one side. All pointers of the options, and the network, must outlive the training.
 * FT_ERR_USAGE when there are no labels. */
ft_status torch_training_new(const torch_training_options *options, torch_net *net, torch_training **out,
                             ft_error *error);
void torch_training_free(torch_training *t);
ft_status torch_training_step(torch_training *t, double *loss, ft_error *error);
descent *torch_training_descent(torch_training *t);
/* Logarithms of the predicted times of labels, by the current weights. */
ft_status torch_training_infer(torch_training *t, const torch_label *labels, uint32_t count, float *logs,
                               ft_error *error);

#endif
