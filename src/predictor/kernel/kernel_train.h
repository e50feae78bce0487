/* kernel_train.h - trains the network of one runtime on whole-model labels. */
#ifndef PREDICTOR_KERNEL_TRAIN_H
#define PREDICTOR_KERNEL_TRAIN_H

#include "nn/descent.h"
#include "predictor/kernel/kernel_data.h"
#include "predictor/kernel/kernel_net.h"

enum { KERNEL_MAX_MEMBERS = 16, KERNEL_SETTING_COUNT = 12 };

typedef struct kernel_config {
    uint32_t hidden;    /* units of each of the two hidden layers */
    uint32_t members;   /* networks that are averaged; where they disagree, the interval widens */
    uint32_t steps;     /* of each network */
    uint32_t batch;     /* models in a step */
    double rate;        /* highest learning rate of the one-cycle schedule */
    double bound;       /* on bends: a price changes by a factor of at most exp(bound) */
    double penalty;     /* on squared bends */
    uint32_t rounds;    /* trees of the correction at most; 0: none */
    double delta;       /* where the loss of the log-ratio turns from squares to absolute values */
    bool has_operators; /* learns from single operators too */
    bool has_array;     /* knows arrays of multipliers */
    uint32_t robust; /* networks for kernels unlike those of training, of which each has the second set of defaults */
} kernel_config;

/* Two sets of defaults. The first is for models like those that were measured: it trains long. The second is for
 * architectures that nobody measured: less training of a smaller network, whose prices bend less, goes less astray. */
extern const ft_setting kernel_settings_default[KERNEL_SETTING_COUNT], kernel_settings_wide[KERNEL_SETTING_COUNT];

/* Defaults, changed by the keys of an object; unknown keys and wrong values are refused. */
ft_status kernel_config_read(const json_t *object, const ft_setting *settings, kernel_config *config, ft_error *error);
/* How the careful networks of such a predictor are trained: as `members` of this. */
kernel_config kernel_config_robust(const kernel_config *config);
json_t *kernel_config_write(const kernel_config *config); /* NULL when out of memory */

/* A network on its way. */
typedef struct kernel_training kernel_training;

ft_status kernel_training_new(const kernel_side *side, const kernel_scaling *scaling, const kernel_config *config,
                              uint64_t seed, pool *threads, kernel_net *net, kernel_training **out, ft_error *error);
void kernel_training_free(kernel_training *t);
ft_status kernel_training_step(kernel_training *t, double *loss, ft_error *error);
descent *kernel_training_descent(kernel_training *t);
/* Mean absolute error in percent on the validation models, over all devices; NaN when there are none. */
ft_status kernel_training_check(kernel_training *t, double *mape, ft_error *error);

#endif
