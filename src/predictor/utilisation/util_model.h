/* util_model.h - the model of the family "gpu-util": arithmetic, trees for what it gets wrong, and intervals that grow
 * with the distance to what was measured. */
#ifndef PREDICTOR_UTILISATION_UTIL_MODEL_H
#define PREDICTOR_UTILISATION_UTIL_MODEL_H

#include "nn/tree/trees.h"
#include "predictor/core/family.h"
#include "predictor/utilisation/util_anchor.h"

enum {
    UTIL_PROTOTYPES = 384, /* training rows that distances are measured to */
    UTIL_WIDTHS = 3,       /* of an output: constant, per distance, per value */
};

typedef struct util_model {
    ft_rules *rules; /* of eager PyTorch */
    uint32_t output_count;
    util_output outputs[UTIL_OUTPUTS]; /* in the order of the metrics that it was fitted to */
    double constants[UTIL_CONSTANTS];
    float means[UTIL_FEATURES], scales[UTIL_FEATURES];
    uint32_t prototype_count;
    float *prototypes;           /* scaled features */
    double reach;                /* distance within which nine of ten training rows have a prototype */
    forest *trees[UTIL_OUTPUTS]; /* by output; NULL: not fitted */
    double widths[UTIL_OUTPUTS][UTIL_WIDTHS];
    char key; /* its address is a key into model views */
} util_model;

ft_status util_model_new(util_model **out, ft_error *error);
void util_model_free(void *model);

typedef struct util_fit_options {
    uint32_t rounds, depth, threads;
    double eta;
    uint64_t seed;
} util_fit_options;

/* Fits all but the widths to samples. */
ft_status util_model_fit(util_model *m, const util_sample *const *samples, uint32_t count,
                         const util_fit_options *options, ft_error *error);
/* Finds the widths by leaving out rows: at random, by group, and the largest. `groups` has a number per sample. */
ft_status util_model_fit_widths(util_model *m, const util_sample *const *samples, const uint32_t *groups,
                                uint32_t count, const util_fit_options *options, ft_error *error);

/* A prediction of an output, in ratios. */
typedef struct util_answer {
    double value, width; /* half of the 90 % interval */
    double distance;     /* to what was measured; up to 1: near */
} util_answer;

/* How far a distance widens an interval, of which util_model.widths has the factor. */
double util_width_distance(double distance);

/* Answers from the totals of a step. */
typedef struct util_answers {
    util_anchor anchor;
    util_answer items[UTIL_OUTPUTS];
} util_answers;

void util_model_answer(const util_model *m, const util_totals *totals, util_answers *answers);

#endif
