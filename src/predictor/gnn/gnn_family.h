/* gnn_family.h - operations of all families of graph networks, given their kind. */
#ifndef PREDICTOR_GNN_FAMILY_H
#define PREDICTOR_GNN_FAMILY_H

#include "predictor/core/family.h"
#include "predictor/gnn/gnn.h"

/* gnn_family.c */
ft_status gnn_fit(const gnn_kind *kind, const fit_set *set, const fit_context *context, void **out, ft_error *error);
/* gnn_tune.c; FT_ERR_UNSUPPORTED for kinds that do not support further training. */
ft_status gnn_tune(const void *model, const fit_set *set, const tune_options *options, const fit_context *context,
                   void **out, ft_error *error);
/* gnn_settings.c: `describe` of a family. */
uint32_t gnn_settings(const gnn_kind *kind, ft_setting *settings, uint32_t room);
/* gnn_model.c */
ft_status gnn_save(const void *model, json_t **params, float_block *block, ft_error *error);
ft_status gnn_load(const gnn_kind *kind, const json_t *params, const float *block, size_t count, uint32_t device_count,
                   void **out, ft_error *error);
void gnn_free(void *model);
/* gnn_predict.c */
ft_status gnn_predict(const void *model, const predict_input *in, model_output *out, ft_error *error);
ft_status gnn_precompute(const void *model, model_view *const *views, uint32_t count, ft_error *error);
/* Explains a prediction by one piece: features are the logarithm of its value and the input of the last layer. */
ft_status gnn_explain(const void *model, const predict_input *in, model_output *out, explanation *made_of,
                      ft_error *error);
/* Whether a model also predicts for devices that it was not trained on. */
bool gnn_reads_sheets(const void *model);

/* Defines the family `family_NAME` of a kind. Operations of a family have no argument for the family, so those that
 * need the kind are defined here. */
#define GNN_FAMILY(id_, kind_, name_, schema_, text_)                                                                  \
    static ft_status id_##_fit(const fit_set *set, const fit_context *context, void **out, ft_error *error) {          \
        return gnn_fit(&(kind_), set, context, out, error);                                                            \
    }                                                                                                                  \
    static ft_status id_##_load(const json_t *params, const float *block, size_t count, const char *const *devices,    \
                                uint32_t device_count, void **out, ft_error *error) {                                  \
        (void)devices;                                                                                                 \
        return gnn_load(&(kind_), params, block, count, device_count, out, error);                                     \
    }                                                                                                                  \
    static uint32_t id_##_describe(ft_setting *settings, uint32_t room) {                                              \
        return gnn_settings(&(kind_), settings, room);                                                                 \
    }                                                                                                                  \
    const family family_##id_ = {.name = (name_),                                                                      \
                                 .text = (text_),                                                                      \
                                 .schema = (schema_),                                                                  \
                                 .capabilities = FAMILY_MULTI_METRIC,                                                  \
                                 .fit = id_##_fit,                                                                     \
                                 .save = gnn_save,                                                                     \
                                 .load = id_##_load,                                                                   \
                                 .predict = gnn_predict,                                                               \
                                 .free = gnn_free,                                                                     \
                                 .optional = {.describe = id_##_describe,                                              \
                                              .reads_sheets = gnn_reads_sheets,                                        \
                                              .precompute = gnn_precompute,                                            \
                                              .explain = gnn_explain,                                                  \
                                              .tune = gnn_tune}}

#endif
