/* util_model.c - answers of a model of utilisation.
 *
 * What trees learned beside the arithmetic holds for what was measured. Its effect fades with the distance to that, and
 * the interval widens. */
#include "predictor/utilisation/util_model.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "base/error.h"

ft_status util_model_new(util_model **out, ft_error *error) {
    util_model *m = calloc(1, sizeof *m);
    if (m == NULL) return FT_NOMEM(error);
    ft_status status = ft_rules_open("torch-eager", &m->rules, error);
    if (status != FT_OK) {
        util_model_free(m);
        return status;
    }
    *out = m;
    return FT_OK;
}

void util_model_free(void *model) {
    util_model *m = model;
    if (m == NULL) return;
    for (int i = 0; i < UTIL_OUTPUTS; i++) forest_free(m->trees[i]);
    ft_rules_free(m->rules);
    free(m->prototypes);
    free(m);
}

/* The distance to the nearest prototype, as a multiple of the reach. */
static double distance_of(const util_model *m, const float features[static UTIL_FEATURES]) {
    double nearest = INFINITY;
    float scaled[UTIL_FEATURES];
    for (int i = 0; i < UTIL_FEATURES; i++) scaled[i] = (features[i] - m->means[i]) * m->scales[i];
    for (uint32_t p = 0; p < m->prototype_count; p++) {
        const float *prototype = m->prototypes + (size_t)p * UTIL_FEATURES;
        double sum = 0;
        for (int i = 0; i < UTIL_FEATURES; i++) {
            double difference = (double)scaled[i] - (double)prototype[i];
            sum += difference * difference;
        }
        nearest = fmin(nearest, sum);
    }
    return sqrt(nearest) / fmax(m->reach, 1e-6);
}

double util_width_distance(double distance) {
    return log(fmax(distance, 0.5) / 0.5);
}

void util_model_answer(const util_model *m, const util_totals *totals, util_answers *answers) {
    static const double MIN_VALUE = 1e-5, MIN_WIDTH = 1e-3, MAX_DISTANCE = 20, NEAR = 1.5;
    float features[UTIL_FEATURES];
    util_anchor_of(totals, m->constants, &answers->anchor);
    util_features_of(totals, &answers->anchor, features);
    double distance = fmin(distance_of(m, features), MAX_DISTANCE);
    double learned = distance <= NEAR ? 1 : exp((NEAR - distance) / NEAR);
    double running = totals->has_loader > 0 ? m->constants[UTIL_RUNNING] : 1;
    for (int i = 0; i < UTIL_OUTPUTS; i++) {
        util_answer *a = &answers->items[i];
        double value = running * answers->anchor.values[i];
        if (m->trees[i] != NULL) value += learned * (double)forest_predict_row(m->trees[i], features);
        a->value = fmin(fmax(value, MIN_VALUE), 1);
        a->width = m->widths[i][0] + m->widths[i][1] * util_width_distance(distance) + m->widths[i][2] * a->value;
        a->width = fmin(fmax(a->width, MIN_WIDTH), 1);
        a->distance = distance;
    }
}
