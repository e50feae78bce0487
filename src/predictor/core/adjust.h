/* adjust.h - the correction of a model for one device, fitted to a few measurements of a device or of models that it
 * was not trained on.
 *
 *     time = sum over pieces and terms of  time by the model * exp(bias + weight_term + weights * features)
 *
 * The model stays as it is; its predictions are multiplied piece by piece, so that parts still add up. The weights are
 * fitted by ridge regression (adjust_fit.h). A device that the model was not trained on is predicted from a known one,
 * its base, or from its data sheet, with the kernels of its own runtime. One mechanism serves every family: predictions
 * of a family without `explain` have one piece, whose feature is the logarithm of its time. */
#ifndef PREDICTOR_CORE_ADJUST_H
#define PREDICTOR_CORE_ADJUST_H

#include "predictor/core/family.h"

enum { ADJUST_MAX_TERMS = 64, ADJUST_MAX_FEATURES = 1024 };

/* The base of an adjustment that needs no model: the terms of its only piece are the FLOPs, bytes and operators of the
 * whole model (adjust_work.c), whose weights are the logarithms of their rates; ADJUST_NO_RATE: the term is left out.
 */
#define ADJUST_WORK    (FT_NONE - 1)
#define ADJUST_NO_RATE (-1e3F)
enum { ADJUST_WORK_FLOPS, ADJUST_WORK_BYTES, ADJUST_WORK_OPERATORS, ADJUST_WORK_TERMS };

typedef struct adjustment {
    uint32_t base;   /* index of a known device; FT_NONE: the device's own data sheet; ADJUST_WORK: none */
    char *runtime;   /* whose fusion rules are used; NULL: those of the base */
    ft_rules *rules; /* the same, open */
    uint32_t terms, sizes, features;
    float *mean, *inverse; /* per size: how it is scaled */
    float *weights;        /* 1, terms, features */
    float spread;          /* of typical predictions before they are corrected, which counts as 1; 0: spreads stay */
} adjustment;

static inline size_t adjust_weight_count(const adjustment *a) {
    return 1 + (size_t)a->terms + a->features;
}

/* Zero weights, which change nothing. `runtime` may be NULL. */
ft_status adjust_new(uint32_t base, const char *runtime, uint32_t terms, uint32_t sizes, uint32_t features,
                     adjustment **out, ft_error *error);
void adjust_free(adjustment *a);

/* Standardises and bounds the features of a row. */
void adjust_scale(const adjustment *a, const float *features, double *scaled);
/* The factor of each term, the same for all rows. */
void adjust_factors(const adjustment *a, double factors[static ADJUST_MAX_TERMS]);
/* Corrects the times of a row's terms and returns their sum. `times` may be `terms`. */
double adjust_row(const adjustment *a, const double *factors, const double *terms, const double *scaled, double *times);

/* The spread of a corrected prediction. The error of a correction depends little on the spread of the base, which was
 * calibrated on another device: relative to that of typical predictions it counts within bounds only. */
double adjust_spread(const adjustment *a, double spread);

/* A prediction with its explanation, for families with and without `explain`. */
ft_status adjust_explain(const family *f, const void *model, const predict_input *in, model_output *out,
                         explanation *made_of, ft_error *error);
/* The same from the work of the model alone. */
ft_status adjust_explain_work(const predict_input *in, model_output *out, explanation *made_of, ft_error *error);
/* The corrected prediction. Of in->target only the data sheet, which may be NULL, and the output are used. */
ft_status adjust_predict(const adjustment *a, const family *f, const void *model, const predict_input *in,
                         model_output *out, ft_error *error);

/* In the file: an object, and floats after those of the model. NULL when out of memory. */
json_t *adjust_save(const adjustment *a, const char *device);
bool adjust_save_floats(const adjustment *a, float_block *block);
/* The number of floats of the correction that an object describes; more than any file has when it is malformed. */
size_t adjust_float_count(const json_t *object);
/* Reads floats from the front of the block. Nothing is trusted. */
ft_status adjust_load(const json_t *object, uint32_t known_devices, const float **block, size_t *left, adjustment **out,
                      ft_error *error);

#endif
