/* kernel_train.h - settings of the kernel-sum predictor, and training of one network on whole-model labels. */
#ifndef PREDICTOR_KERNEL_TRAIN_H
#define PREDICTOR_KERNEL_TRAIN_H

#include "nn/descent.h"
#include "predictor/kernel/kernel_data.h"
#include "predictor/kernel/kernel_net.h"

enum { KERNEL_MAX_MEMBERS = 16, KERNEL_SETTING_COUNT = 12 };

typedef struct kernel_config {
    uint32_t hidden;    /* units of each of the two hidden layers */
    uint32_t members;   /* networks that are averaged; their disagreement widens the interval */
    uint32_t steps;     /* of each network */
    uint32_t batch;     /* models in a step */
    double rate;        /* highest learning rate of the one-cycle schedule */
    double bound;       /* on log-multipliers of unit costs */
    double penalty;     /* on squared log-multipliers */
    uint32_t rounds;    /* maximum number of trees of the correction; 0: no correction */
    double delta;       /* where the loss of the log-ratio changes from squared to absolute */
    bool has_operators; /* learns from single operators too */
    bool has_array;     /* models arrays of multipliers */
    uint32_t robust;    /* robust networks (key "careful"); see kernel_config_robust */
} kernel_config;

/* Defaults for models like those measured: long training; and for architectures unlike all measured ones, where a
 * smaller network, trained less, with a larger penalty extrapolates better. */
extern const ft_setting kernel_settings_default[KERNEL_SETTING_COUNT], kernel_settings_wide[KERNEL_SETTING_COUNT];

/* The defaults, overridden by the keys of an object; unknown keys and invalid values are errors. */
ft_status kernel_config_read(const json_t *object, const ft_setting *settings, kernel_config *config, ft_error *error);
/* The configuration of the robust networks; its `members` is their number. */
kernel_config kernel_config_robust(const kernel_config *config);
json_t *kernel_config_write(const kernel_config *config); /* NULL when out of memory */

/* State of the training of a network. */
typedef struct kernel_training kernel_training;

typedef struct kernel_training_options {
    const kernel_side *side;
    const kernel_scaling *scaling;
    const kernel_config *config;
    uint64_t seed;
    pool *threads;
} kernel_training_options;

/* All pointers of the options, and the network, must outlive the training. */
ft_status kernel_training_new(const kernel_training_options *options, kernel_net *net, kernel_training **out,
                              ft_error *error);
void kernel_training_free(kernel_training *t);
ft_status kernel_training_step(kernel_training *t, double *loss, ft_error *error);
descent *kernel_training_descent(kernel_training *t);
/* Mean absolute percentage error on the validation models, over all devices; NaN without any. */
ft_status kernel_training_check(kernel_training *t, double *mape, ft_error *error);

#endif
