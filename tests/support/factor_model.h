/* factor_model.h - the model of families that are made for tests: a factor for each device, times the operators of the
 * graph. How they are fitted is the test's business. */
#ifndef TESTS_FACTOR_MODEL_H
#define TESTS_FACTOR_MODEL_H

#include "predictor/family.h"
#include "predictor/predictor.h"

enum { MAX_DEVICES = 4 };

struct model {
    double log_factor[MAX_DEVICES];
    uint32_t device_count;
};

ft_status factor_save(const model *m, json_t **params, float_block *block, ft_error *error);
ft_status factor_load(const json_t *params, const float *block, size_t count, const char *const *devices,
                      uint32_t device_count, model **out, ft_error *error);
ft_status factor_predict(const model *m, subject *s, const place *where, bool has_parts, arena *memory, prediction *out,
                         ft_error *error);
void factor_free(model *m);

/* The model as a predictor that was opened from its bytes. */
ft_predictor *factor_open(const predictor_description *about, const family *f, const model *m);

/* Makes a family the only one there is: these stand in for those of families.c, which the linker then leaves out. */
#define ONLY_FAMILY(only_)                                                                                             \
    const family *const families[] = {&only_};                                                                         \
    const uint32_t family_total = 1;                                                                                   \
    const family *family_find(const char *name) {                                                                      \
        return strcmp(name, only_.name) == 0 ? &only_ : NULL;                                                          \
    }                                                                                                                  \
    uint32_t ft_family_count(void) {                                                                                   \
        return 1;                                                                                                      \
    }                                                                                                                  \
    const char *ft_family_name(uint32_t index) {                                                                       \
        return index == 0 ? only_.name : NULL;                                                                         \
    }                                                                                                                  \
    const char *ft_family_text(uint32_t index) {                                                                       \
        return index == 0 ? only_.text : NULL;                                                                         \
    }

#endif
