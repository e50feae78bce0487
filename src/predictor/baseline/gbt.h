/* gbt.h - families of boosted trees for the logarithm of a metric: given how a model becomes a row of features, all the
 * rest. One forest per device.
 *
 * Good for models like those in training, and useless beyond: a tree predicts nothing larger than its largest label. */
#ifndef PREDICTOR_BASELINE_GBT_H
#define PREDICTOR_BASELINE_GBT_H

#include "predictor/core/family.h"

typedef struct gbt_rows {
    uint32_t columns;
    /* Creates state for extraction that is the same for all models; NULL: none. */
    ft_status (*open)(void **extractor, ft_error *error);
    void (*close)(void *extractor);
    /* Extracts the features of a model; *coverage_ratio is 1 before. The arena is for temporary memory. Runs on any
     * thread. */
    ft_status (*extract)(void *extractor, model_view *s, arena *memory, float *row, double *coverage_ratio,
                         ft_error *error);
} gbt_rows;

enum { GBT_SETTINGS = 6 };
extern const ft_setting gbt_settings[GBT_SETTINGS];

ft_status gbt_fit(const gbt_rows *kind, const fit_set *set, const fit_context *context, void **out, ft_error *error);
ft_status gbt_save(const void *model, json_t **params, float_block *block, ft_error *error);
ft_status gbt_load(const gbt_rows *kind, const json_t *params, const float *block, size_t count, uint32_t device_count,
                   void **out, ft_error *error);
ft_status gbt_predict(const void *model, const predict_input *in, model_output *out, ft_error *error);
void gbt_free(void *model);

/* Defines the family `family_ID` of rows of a kind. The functions of a family do not get the family, so each kind has
 * two of its own, a line each. */
#define GBT_FAMILY(id_, kind_, name_, schema_, text_)                                                                  \
    static ft_status id_##_fit(const fit_set *set, const fit_context *context, void **out, ft_error *error) {          \
        return gbt_fit(&(kind_), set, context, out, error);                                                            \
    }                                                                                                                  \
    static ft_status id_##_load(const json_t *params, const float *block, size_t count, const char *const *devices,    \
                                uint32_t device_count, void **out, ft_error *error) {                                  \
        (void)devices;                                                                                                 \
        return gbt_load(&(kind_), params, block, count, device_count, out, error);                                     \
    }                                                                                                                  \
    const family family_##id_ = {.name = (name_),                                                                      \
                                 .text = (text_),                                                                      \
                                 .schema = (schema_),                                                                  \
                                 .settings = gbt_settings,                                                             \
                                 .setting_count = GBT_SETTINGS,                                                        \
                                 .fit = id_##_fit,                                                                     \
                                 .save = gbt_save,                                                                     \
                                 .load = id_##_load,                                                                   \
                                 .predict = gbt_predict,                                                               \
                                 .free = gbt_free}

#endif
