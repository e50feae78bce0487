/* adjust.h - what a predictor learned from a few measurements of a device or of models that it was not trained on.
 *
 *     time = sum over pieces and terms of  time by the model * exp(bias + weight_term + weights * features)
 *
 * The model stays as it is; an adjustment per device bends what it says, piece by piece, so that parts still add up. A
 * device that the model does not know is predicted from one that it knows, or from its data sheet, with the kernels of
 * its own runtime. One mechanism serves every family: a family that does not tell what its predictions are made of has
 * one piece, whose feature is the logarithm of its time. */
#ifndef PREDICTOR_ADJUST_H
#define PREDICTOR_ADJUST_H

#include "predictor/core/family.h"

enum { ADJUST_MAX_TERMS = 64, ADJUST_MAX_FEATURES = 1024 };

typedef struct adjustment {
    uint32_t base;   /* of the model's devices; FT_NONE: the device's own data sheet */
    char *runtime;   /* whose rules are used; NULL: those of the base */
    ft_rules *rules; /* the same, open */
    uint32_t terms, sizes, features;
    float *mean, *inverse; /* per size: how it is scaled */
    float *weights;        /* 1, terms, features */
} adjustment;

static inline size_t adjust_weight_count(const adjustment *a) {
    return 1 + (size_t)a->terms + a->features;
}

/* Room for one that changes nothing. `runtime` may be NULL. */
ft_status adjust_new(uint32_t base, const char *runtime, uint32_t terms, uint32_t sizes, uint32_t features,
                     adjustment **out, ft_error *error);
void adjust_free(adjustment *a);

/* The features of a row as weights see them. */
void adjust_scale(const adjustment *a, const float *features, double *scaled);
/* By what the terms of all rows change. */
void adjust_factors(const adjustment *a, double factors[static ADJUST_MAX_TERMS]);
/* The times of a row's terms, adjusted; gives their sum. `times` may be `terms`. */
double adjust_row(const adjustment *a, const double *factors, const double *terms, const double *scaled, double *times);

/* What a model says, and what that is made of, for families that tell and for those that do not. */
ft_status adjust_explain(const family *f, const void *model, const predict_input *in, model_output *out,
                         explanation *made_of, ft_error *error);
/* The adjusted prediction of a place; of that its data sheet, which may be NULL, and its output count. */
ft_status adjust_predict(const adjustment *a, const family *f, const void *model, const predict_input *in,
                         model_output *out, ft_error *error);

/* In the file: an object, and floats behind those of the model. NULL when out of memory. */
json_t *adjust_save(const adjustment *a, const char *device);
bool adjust_save_floats(const adjustment *a, float_block *block);
/* How many floats the adjustment of an object has; more than any file when it is not what it should be. */
size_t adjust_float_count(const json_t *object);
/* Takes floats from the front of the block. Nothing is trusted. */
ft_status adjust_load(const json_t *object, uint32_t known_devices, const float **block, size_t *left, adjustment **out,
                      ft_error *error);

#endif
