/* kernel_model.h - a trained kernel-sum predictor: for each runtime the scaling of features and the networks that are
 * averaged: the close ones for kernels like those of training, the careful ones for others. */
#ifndef PREDICTOR_KERNEL_MODEL_H
#define PREDICTOR_KERNEL_MODEL_H

#include "predictor/core/runtimes.h"
#include "predictor/kernel/kernel_correct.h"
#include "predictor/kernel/kernel_net.h"
#include "predictor/kernel/kernel_seen.h"
#include "predictor/kernel/kernel_train.h"

typedef struct kernel_side_model {
    uint32_t device_count;
    bool has_array; /* kernel_rows_seen */
    kernel_scaling scaling;
    kernel_net *nets; /* the close ones, then the careful ones */
    uint32_t net_count, specialist_count;
    kernel_seen seen;     /* kernels that the close ones are asked about; without careful ones, nothing */
    forest **corrections; /* one per device, or NULL for none */
} kernel_side_model;

typedef struct kernel_model {
    kernel_config config;
    uint32_t device_count;
    runtimes runtimes;
    uint32_t *column; /* per device: its place among the devices of its runtime */
    kernel_side_model sides[RUNTIMES_MAX];
    float *block; /* that trees and tables are in, where it is no file's but the model's own; or NULL */
} kernel_model;

/* Sides with scaling and networks of first values; all of `runtimes` moves in. */
ft_status kernel_model_new(const kernel_config *config, runtimes *r, uint64_t seed, kernel_model **out,
                           ft_error *error);
void kernel_model_free(void *model);

/* What each of these kernels takes on the devices of a side, by the average of its close networks: count x devices. */
ft_status kernel_model_times(const kernel_side_model *side, const kernel_row *rows, uint32_t count, double *times,
                             ft_error *error);

ft_status kernel_model_save(const void *model, json_t **params, float_block *block, ft_error *error);
ft_status kernel_model_load(const json_t *params, const float *block, size_t count, const char *const *devices,
                            uint32_t device_count, void **out, ft_error *error);
ft_status kernel_model_predict(const void *model, const predict_input *in, model_output *out, ft_error *error);
/* As in family.h: rows are distinct kernels, with their terms, sizes and flags. */
ft_status kernel_model_explain(const void *model, const predict_input *in, model_output *out, explanation *made_of,
                               ft_error *error);
const ft_rules *kernel_model_rules(const void *model, uint32_t device);

#endif
