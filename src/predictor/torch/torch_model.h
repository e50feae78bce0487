/* torch_model.h - a trained torch-sum predictor: its settings and data sheets, the scaling of features, and an ensemble
 * of networks, whose weights are used where the file is mapped. */
#ifndef PREDICTOR_TORCH_MODEL_H
#define PREDICTOR_TORCH_MODEL_H

#include "predictor/core/family.h"
#include "predictor/torch/torch_data.h"
#include "predictor/torch/torch_net.h"
#include "predictor/torch/torch_train.h"

/* The matrices of a network, row-major, in the order of the file. */
typedef struct torch_weights {
    const float *first, *first_bias;   /* features x hidden */
    const float *second, *second_bias; /* hidden x hidden */
    const float *last, *last_bias;     /* hidden x basis * terms */
    const float *
        unit_costs; /* logarithms, (settings, then groups) x terms; in a file those of settings include their group's */
    const float *mix; /* (settings, then groups) x basis * terms */
} torch_weights;

typedef struct torch_model {
    torch_config config;
    torch_rules rules;
    uint32_t device_count, setting_count, group_count;
    torch_setting *settings;
    uint32_t *groups;    /* per setting */
    torch_sheet *sheets; /* per device */
    torch_scaling scaling[TORCH_SIDES];
    double *widths; /* per setting: half the 90 % interval, of a logarithm; NULL: an old file has none */
    double typical_spread[TORCH_SIDES]; /* disagreement of members on 95 % of the validation models is below; 0: not
                                           known */
    torch_weights members[TORCH_SIDES][TORCH_MAX_MEMBERS];
    torch_net *nets; /* sides x members, of a model that was just trained; NULL: weights are those of a file */
    char keys[TORCH_SIDES][TORCH_RUNTIMES * TORCH_PROGRAM_CODES]; /* their addresses are keys into model views */
} torch_model;

/* Networks with initial values; settings and sheets are copied. */
ft_status torch_model_new(const torch_config *config, const torch_data *data, uint32_t device_count, uint64_t seed,
                          torch_model **out, ft_error *error);
/* To be called after training: adds the parameters of groups to those of their settings. */
void torch_model_finish(torch_model *m);
void torch_model_free(void *model);

ft_status torch_model_save(const void *model, json_t **params, float_block *block, ft_error *error);
ft_status torch_model_load(const json_t *params, const float *block, size_t count, const char *const *devices,
                           uint32_t device_count, void **out, ft_error *error);

/* Distinct kernels of a model and the outputs of the shared layers, which are the same for all settings and batches. */
typedef struct torch_view {
    uint32_t kernel_count;  /* of the model, in order */
    const uint32_t *row_of; /* per kernel: its distinct row */
    const torch_row *rows;
    uint32_t row_count;
    const bool *is_covered; /* per row: within the range of training */
    const float *basis;     /* members x rows x basis * terms */
} torch_view;

/* torch_hidden.c: basis of the log-multipliers of rows by each member of a side: members x count x basis * terms. False
 * when out of memory. */
bool torch_model_hidden(const torch_model *m, torch_side side, const torch_row *rows, uint32_t count, float *basis);

/* torch_cost.c: the non-zero terms of rows, row by row. Most kernels have few kinds of work, so a list is shorter than
 * a matrix; its evaluation is most of the cost of a further device or batch. */
typedef struct torch_term_list {
    uint32_t count;
    uint32_t *rows, *terms;
    float *amounts;    /* at the rates of the data sheet */
    float *unit_costs; /* logarithms */
    float *times;      /* of the last member */
} torch_term_list;

/* Lists the terms of rows, one launch each. False when out of memory. */
bool torch_term_list_make(const torch_row *rows, uint32_t row_count, torch_side side,
                          const double anchors[static TORCH_ANCHORS], double batch, arena *memory,
                          torch_term_list *list);
/* Computes list->times by a member in a setting (or setting_count + group), from the member's basis of the rows. */
void torch_term_list_cost(torch_term_list *list, const torch_model *m, torch_side side, uint32_t member,
                          uint32_t setting, const float *basis);

ft_status torch_model_predict(const void *model, const predict_input *in, model_output *out, ft_error *error);
/* See family.h; rows are distinct kernels, with their terms and features, and flags of the setting. */
ft_status torch_model_explain(const void *model, const predict_input *in, model_output *out, explanation *made_of,
                              ft_error *error);

#endif
