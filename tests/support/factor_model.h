/* factor_model.h - the model of families that tests define: a factor for each device times the number of operators.
 * Each test has its own fit. */
#ifndef TESTS_FACTOR_MODEL_H
#define TESTS_FACTOR_MODEL_H

#include "predictor/core/family.h"
#include "predictor/core/predictor.h"

enum { MAX_DEVICES = 4 };

typedef struct factor_model {
    double log_factor[MAX_DEVICES];
    uint32_t device_count;
} factor_model;

ft_status factor_save(const void *model, json_t **params, float_block *block, ft_error *error);
ft_status factor_load(const json_t *params, const float *block, size_t count, const char *const *devices,
                      uint32_t device_count, void **out, ft_error *error);
ft_status factor_predict(const void *model, const predict_input *in, model_output *out, ft_error *error);
void factor_free(void *model);

/* Encodes the model and opens it as a predictor. */
ft_predictor *factor_open(const predictor_description *about, const family *f, const void *m);

/* Replaces the families of this process by `only`, which must outlive the tests. */
void use_only_family(const family *only);

#endif
