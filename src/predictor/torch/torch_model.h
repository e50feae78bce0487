/* torch_model.h - a trained torch-sum predictor: what it was trained on, the scaling of features, and the networks that
 * are averaged, read where the file lies in memory. */
#ifndef PREDICTOR_TORCH_MODEL_H
#define PREDICTOR_TORCH_MODEL_H

#include "predictor/core/family.h"
#include "predictor/torch/torch_data.h"
#include "predictor/torch/torch_net.h"
#include "predictor/torch/torch_train.h"

/* The matrices of a network, row by row, in the order in which they stand in the file. */
typedef struct torch_weights {
    const float *first, *first_bias;   /* features x hidden */
    const float *second, *second_bias; /* hidden x hidden */
    const float *last, *last_bias;     /* hidden x ways * terms */
    const float *unit_costs;           /* columns, then groups x terms; in a file those of columns are complete */
    const float *mix;                  /* the same x ways * terms */
} torch_weights;

typedef struct torch_model {
    torch_config config;
    torch_rules rules;
    uint32_t device_count, setting_count, group_count;
    torch_setting *settings;
    uint32_t *groups;    /* per column */
    torch_sheet *sheets; /* per device */
    torch_scaling scaling[TORCH_SIDES];
    double *widths;                     /* per column: half the 90 % interval; NULL in a file of an older foretell */
    double typical_spread[TORCH_SIDES]; /* members hardly disagree more on usual models; 0: not known */
    torch_weights members[TORCH_SIDES][TORCH_MAX_MEMBERS];
    torch_net *nets; /* of a model that was trained here, side by side; NULL: the weights are those of a file */
    char keys[TORCH_SIDES][TORCH_PROGRAM_CODES]; /* their addresses are what a subject keeps rows by */
} torch_model;

/* Networks of first values; columns and sheets are copied. */
ft_status torch_model_new(const torch_config *config, const torch_data *data, uint32_t device_count, uint64_t seed,
                          torch_model **out, ft_error *error);
/* Once its networks are trained: adds to what columns have what their groups have. */
void torch_model_finish(torch_model *m);
void torch_model_free(void *model);

ft_status torch_model_save(const void *model, json_t **params, float_block *block, ft_error *error);
ft_status torch_model_load(const json_t *params, const float *block, size_t count, const char *const *devices,
                           uint32_t device_count, void **out, ft_error *error);

/* Distinct kernels and what each member makes of their features, the same for all columns and batches. */
typedef struct torch_view {
    uint32_t kernel_count;  /* of the model, in order */
    const uint32_t *row_of; /* per kernel: its distinct row */
    const torch_row *rows;
    uint32_t row_count;
    const bool *is_known; /* per row: training saw its like */
    const float *basis;   /* members x rows x ways * terms */
} torch_view;

/* What rows bend, by each member of a side; `ways` has room for members x count x ways * terms. False when out of
 * memory. */
bool torch_model_hidden(const torch_model *m, torch_side side, const torch_row *rows, uint32_t count, float *basis);

ft_status torch_model_predict(const void *model, const predict_input *in, model_output *out, ft_error *error);
/* As in family.h: rows are distinct kernels, with their terms and features, and flags of the setting. */
ft_status torch_model_explain(const void *model, const predict_input *in, model_output *out, explanation *made_of,
                              ft_error *error);

#endif
