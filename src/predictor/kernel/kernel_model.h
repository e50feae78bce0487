/* kernel_model.h - a trained kernel-sum predictor: for each runtime the scaling of features and an ensemble of
 * networks.
 *
 * Specialist networks are fitted closely and serve models whose kernels are like those of training; robust networks,
 * smaller and trained less, serve the others. */
#ifndef PREDICTOR_KERNEL_MODEL_H
#define PREDICTOR_KERNEL_MODEL_H

#include "predictor/core/runtimes.h"
#include "predictor/kernel/kernel_correct.h"
#include "predictor/kernel/kernel_net.h"
#include "predictor/kernel/kernel_seen.h"
#include "predictor/kernel/kernel_train.h"

typedef struct kernel_side_model {
    uint32_t device_count;
    bool has_array; /* kernel_rows_extract_as */
    kernel_scaling scaling;
    kernel_net *nets; /* specialist ones, then robust ones */
    uint32_t net_count, specialist_count;
    kernel_seen seen;     /* kernels of training; empty without robust networks */
    forest **corrections; /* one per device, or NULL for none */
} kernel_side_model;

typedef struct kernel_model {
    kernel_config config;
    uint32_t device_count;
    runtimes runtimes;
    uint32_t *column; /* per device: its index among the devices of its runtime */
    kernel_side_model sides[MAX_RUNTIMES];
    float *block; /* floats that trees and tables point into, if the model owns them; NULL: the file does */
} kernel_model;

/* Networks with initial values; takes over the contents of `r`. */
ft_status kernel_model_new(const kernel_config *config, runtimes *r, uint64_t seed, kernel_model **out,
                           ft_error *error);
void kernel_model_free(void *model);

/* Times of kernels on the devices of a side, averaged over the specialist networks: count x devices. */
ft_status kernel_model_times(const kernel_side_model *side, const kernel_row *rows, uint32_t count, double *times,
                             ft_error *error);

ft_status kernel_model_save(const void *model, json_t **params, float_block *block, ft_error *error);
ft_status kernel_model_load(const json_t *params, const float *block, size_t count, const char *const *devices,
                            uint32_t device_count, void **out, ft_error *error);
ft_status kernel_model_predict(const void *model, const predict_input *in, model_output *out, ft_error *error);
/* See family.h; rows are distinct kernels, with their terms, sizes and flags. */
ft_status kernel_model_explain(const void *model, const predict_input *in, model_output *out, explanation *made_of,
                               ft_error *error);
const ft_rules *kernel_model_rules(const void *model, uint32_t device);
/* kernel_tune.c: trains the networks further on a few models of a new kind. */
ft_status kernel_tune(const void *model, const fit_set *set, const tune_options *options, const fit_context *context,
                      void **out, ft_error *error);

#endif
