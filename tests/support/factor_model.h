/* factor_model.h - the model of families that are made for tests: a factor for each device, times the operators of the
 * graph. How they are fitted is the test's business. */
#ifndef TESTS_FACTOR_MODEL_H
#define TESTS_FACTOR_MODEL_H

#include "predictor/core/family.h"
#include "predictor/core/predictor.h"

enum { MAX_DEVICES = 4 };

struct model {
    double log_factor[MAX_DEVICES];
    uint32_t device_count;
};

ft_status factor_save(const model *m, json_t **params, float_block *block, ft_error *error);
ft_status factor_load(const json_t *params, const float *block, size_t count, const char *const *devices,
                      uint32_t device_count, model **out, ft_error *error);
ft_status factor_predict(const model *m, model_view *s, const target_device *where, bool has_parts, arena *memory,
                         model_output *out, ft_error *error);
void factor_free(model *m);

/* The model as a predictor that was opened from its bytes. */
ft_predictor *factor_open(const predictor_description *about, const family *f, const model *m);

/* Makes `only`, which must outlive the tests, the only family of this process. */
void use_only_family(const family *only);

#endif
