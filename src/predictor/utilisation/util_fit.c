/* util_fit.c - fits a model of utilisation: constants, trees, and the widths of intervals.
 *
 * Requests are for models that are unlike those measured, so widths come from the errors on rows that are left out in
 * three ways: a quarter at random, each group (a kind of shapes), and the largest fifth. */
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "nn/tree/boost.h"
#include "predictor/utilisation/util_model.h"

enum { MAX_ANCHOR_SAMPLES = 1200, RANDOM_SHARE = 4, MAX_GROUPS = 8 };

/* --- Constants, prototypes ----------------------------------------------------------------------------------- */

/* At most so many samples, evenly from the list. */
static uint32_t thin(const util_sample *const *samples, uint32_t count, uint32_t room, const util_sample **picked) {
    uint32_t used = count < room ? count : room;
    for (uint32_t i = 0; i < used; i++) picked[i] = samples[(uint64_t)i * count / used];
    return used;
}

static void features_of(const util_model *m, const util_sample *sample, float features[static UTIL_FEATURES]) {
    util_anchor anchor;
    util_anchor_of(&sample->totals, m->constants, &anchor);
    util_features_of(&sample->totals, &anchor, features);
}

static void find_scales(util_model *m, const float *features, uint32_t count) {
    for (int i = 0; i < UTIL_FEATURES; i++) {
        double sum = 0, squares = 0;
        for (uint32_t r = 0; r < count; r++) sum += (double)features[(size_t)r * UTIL_FEATURES + i];
        double mean = sum / count;
        for (uint32_t r = 0; r < count; r++) {
            double d = (double)features[(size_t)r * UTIL_FEATURES + i] - mean;
            squares += d * d;
        }
        m->means[i] = (float)mean;
        m->scales[i] = (float)(1 / fmax(sqrt(squares / count), 0.02));
    }
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Prototypes are rows of the list; the reach is the distance that nine of ten of them have to the next one. */
static ft_status find_prototypes(util_model *m, const float *features, uint32_t count, ft_error *error) {
    uint32_t used = count < UTIL_PROTOTYPES ? count : UTIL_PROTOTYPES;
    double *nearest = calloc((size_t)used + 1, sizeof *nearest);
    free(m->prototypes);
    m->prototypes = calloc((size_t)used + 1, UTIL_FEATURES * sizeof *m->prototypes);
    if (nearest == NULL || m->prototypes == NULL) {
        free(nearest);
        return FT_NOMEM(error);
    }
    m->prototype_count = used;
    for (uint32_t p = 0; p < used; p++) {
        const float *row = features + (uint64_t)p * count / used * UTIL_FEATURES;
        for (int i = 0; i < UTIL_FEATURES; i++)
            m->prototypes[(size_t)p * UTIL_FEATURES + (size_t)i] = (row[i] - m->means[i]) * m->scales[i];
    }
    for (uint32_t p = 0; p < used; p++) {
        nearest[p] = INFINITY;
        for (uint32_t q = 0; q < used; q++) {
            double sum = 0;
            for (int i = 0; i < UTIL_FEATURES && p != q; i++) {
                double d = (double)m->prototypes[(size_t)p * UTIL_FEATURES + (size_t)i] -
                           (double)m->prototypes[(size_t)q * UTIL_FEATURES + (size_t)i];
                sum += d * d;
            }
            if (p != q) nearest[p] = fmin(nearest[p], sqrt(sum));
        }
    }
    qsort(nearest, used, sizeof *nearest, by_value);
    m->reach = used > 1 ? nearest[(uint32_t)(0.9 * (used - 1))] : 1;
    free(nearest);
    return FT_OK;
}

/* --- Trees --------------------------------------------------------------------------------------------------- */

static ft_status grow_output(util_model *m, util_output output, const util_sample *const *samples,
                             const float *features, uint32_t count, const util_fit_options *options, ft_error *error) {
    float *rows = calloc((size_t)count + 1, UTIL_FEATURES * sizeof *rows), *labels = calloc(count + 1, sizeof *labels);
    uint32_t used = 0;
    ft_status status = rows != NULL && labels != NULL ? FT_OK : FT_NOMEM(error);
    for (uint32_t i = 0; status == FT_OK && i < count; i++) {
        util_anchor anchor;
        double label = samples[i]->labels[output];
        if (isnan(label)) continue;
        util_anchor_of(&samples[i]->totals, m->constants, &anchor);
        double running = samples[i]->totals.has_loader > 0 ? m->constants[UTIL_RUNNING] : 1;
        memcpy(rows + (size_t)used * UTIL_FEATURES, features + (size_t)i * UTIL_FEATURES, UTIL_FEATURES * sizeof *rows);
        labels[used++] = (float)(label - running * anchor.values[output]);
    }
    boost_options boost = boost_options_default();
    boost.rounds = options->rounds;
    boost.depth = options->depth;
    boost.eta = options->eta;
    boost.min_child_weight = 5;
    boost.subsample = 0.8;
    boost.patience = 0;
    boost.seed = options->seed;
    boost.threads = options->threads;
    forest_free(m->trees[output]);
    m->trees[output] = NULL;
    if (status == FT_OK && used > 0) {
        boost_rows train = {.items = rows, .count = used, .features = UTIL_FEATURES, .labels = labels};
        status = boost_train(&train, NULL, &boost, NULL, NULL, &m->trees[output], error);
    }
    free(rows);
    free(labels);
    return status;
}

ft_status util_model_fit(util_model *m, const util_sample *const *samples, uint32_t count,
                         const util_fit_options *options, ft_error *error) {
    const util_sample *picked[MAX_ANCHOR_SAMPLES];
    assert(count > 0);
    util_anchor_fit(picked, thin(samples, count, MAX_ANCHOR_SAMPLES, picked), m->constants);
    float *features = calloc((size_t)count + 1, UTIL_FEATURES * sizeof *features);
    if (features == NULL) return FT_NOMEM(error);
    for (uint32_t i = 0; i < count; i++) features_of(m, samples[i], features + (size_t)i * UTIL_FEATURES);
    find_scales(m, features, count);
    ft_status status = find_prototypes(m, features, count, error);
    for (uint32_t i = 0; status == FT_OK && i < m->output_count; i++)
        status = grow_output(m, m->outputs[i], samples, features, count, options, error);
    free(features);
    return status;
}

/* --- Widths -------------------------------------------------------------------------------------------------- */

/* An error on a row that was left out. */
typedef struct left_out {
    double error, distance, value;
} left_out;

typedef struct width_fit {
    const util_model *like; /* outputs */
    const util_sample *const *samples;
    const uint32_t *groups;
    uint32_t count;
    const util_fit_options *options;
    uint8_t *is_out;
    left_out *errors[UTIL_OUTPUTS];
    uint32_t error_counts[UTIL_OUTPUTS], room;
} width_fit;

/* Intervals are value * (1 + width / value)^(+-1): upwards an error is a difference, downwards it is scaled. */
static void add_errors(width_fit *w, const util_model *m, const util_sample *sample) {
    util_answers answers;
    util_model_answer(m, &sample->totals, &answers);
    for (uint32_t i = 0; i < m->output_count; i++) {
        util_output o = m->outputs[i];
        const util_answer *a = &answers.items[o];
        if (isnan(sample->labels[o]) || w->error_counts[o] == w->room) continue;
        w->errors[o][w->error_counts[o]++] = (left_out){a->value * expm1(fabs(log(sample->labels[o] / a->value))),
                                                        util_width_distance(a->distance), a->value};
    }
}

/* Fits to the rows that are not out, and collects the errors of those that are. */
static ft_status try_without(width_fit *w, ft_error *error) {
    util_model *m;
    uint32_t used = 0;
    const util_sample **kept = calloc((size_t)w->count + 1, sizeof *kept);
    if (kept == NULL) return FT_NOMEM(error);
    for (uint32_t i = 0; i < w->count; i++)
        if (!w->is_out[i]) kept[used++] = w->samples[i];
    ft_status status = util_model_new(&m, error);
    if (status == FT_OK) {
        m->output_count = w->like->output_count;
        memcpy(m->outputs, w->like->outputs, sizeof m->outputs);
        if (used > 0 && used < w->count) {
            status = util_model_fit(m, kept, used, w->options, error);
            for (uint32_t i = 0; status == FT_OK && i < w->count; i++)
                if (w->is_out[i]) add_errors(w, m, w->samples[i]);
        }
        util_model_free(m);
    }
    free(kept);
    return status;
}

static double size_of(const util_sample *sample) {
    return sample->totals.flops;
}

static ft_status leave_out_largest(width_fit *w, ft_error *error) {
    static const double SHARE = 0.8;
    double *sizes = calloc((size_t)w->count + 1, sizeof *sizes);
    if (sizes == NULL) return FT_NOMEM(error);
    for (uint32_t i = 0; i < w->count; i++) sizes[i] = size_of(w->samples[i]);
    qsort(sizes, w->count, sizeof *sizes, by_value);
    double limit = sizes[(uint32_t)(SHARE * (w->count - 1))];
    free(sizes);
    for (uint32_t i = 0; i < w->count; i++) w->is_out[i] = size_of(w->samples[i]) > limit;
    return try_without(w, error);
}

static ft_status leave_out_all(width_fit *w, ft_error *error) {
    uint32_t groups = 0;
    for (uint32_t i = 0; i < w->count; i++) groups = w->groups[i] + 1 > groups ? w->groups[i] + 1 : groups;
    for (uint32_t i = 0; i < w->count; i++) w->is_out[i] = (i * 2654435761U >> 16) % RANDOM_SHARE == 0;
    FT_TRY(try_without(w, error));
    for (uint32_t group = 0; groups > 1 && group < groups && group < MAX_GROUPS; group++) {
        for (uint32_t i = 0; i < w->count; i++) w->is_out[i] = w->groups[i] == group;
        FT_TRY(try_without(w, error));
    }
    return leave_out_largest(w, error);
}

/* The pinball loss of the 0.9 quantile of errors. */
static double pinball(const left_out *errors, uint32_t count, const double *width) {
    static const double QUANTILE = 0.9;
    double sum = 0;
    for (uint32_t i = 0; i < count; i++) {
        double left = errors[i].error - (width[0] + width[1] * errors[i].distance + width[2] * errors[i].value);
        sum += left > 0 ? QUANTILE * left : (QUANTILE - 1) * left;
    }
    return sum;
}

static void fit_width(const left_out *errors, uint32_t count, double width[static UTIL_WIDTHS]) {
    enum { ROUNDS = 40 };
    static const double initial[UTIL_WIDTHS] = {0.02, 0.02, 0.05};
    double steps[UTIL_WIDTHS] = {1, 1, 1};
    memcpy(width, initial, sizeof initial);
    if (count == 0) return;
    double best = pinball(errors, count, width);
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < UTIL_WIDTHS; i++) {
            bool is_better = false;
            for (int sign = 1; sign >= -1 && !is_better; sign -= 2) {
                double before = width[i];
                width[i] = before * exp(sign * steps[i]);
                double loss = pinball(errors, count, width);
                is_better = loss < best;
                if (is_better)
                    best = loss;
                else
                    width[i] = before;
            }
            steps[i] *= is_better ? 1.2 : 0.6;
        }
    }
}

ft_status util_model_fit_widths(util_model *m, const util_sample *const *samples, const uint32_t *groups,
                                uint32_t count, const util_fit_options *options, ft_error *error) {
    width_fit w = {.like = m, .samples = samples, .groups = groups, .count = count, .options = options};
    w.room = 3 * count;
    w.is_out = calloc((size_t)count + 1, 1);
    ft_status status = w.is_out != NULL ? FT_OK : FT_NOMEM(error);
    for (int i = 0; i < UTIL_OUTPUTS; i++) {
        w.errors[i] = calloc((size_t)w.room + 1, sizeof *w.errors[i]);
        if (w.errors[i] == NULL) status = FT_NOMEM(error);
    }
    if (status == FT_OK) status = leave_out_all(&w, error);
    for (int i = 0; i < UTIL_OUTPUTS; i++) {
        if (status == FT_OK) fit_width(w.errors[i], w.error_counts[i], m->widths[i]);
        free(w.errors[i]);
    }
    free(w.is_out);
    return status;
}
