/* adapt_trial.c - cross-validation of one adjustment. */
#include "learn/adapt/adapt_trial.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "base/error.h"

static uint32_t unit_of(const adapt_trial *t, uint32_t i) {
    return t->rows->units.of_graph[t->predictions[i]->row->graph];
}

ft_status adapt_trial_open(adapt_trial *t, ft_error *error) {
    const explanation *first = &t->predictions[0]->explanations[t->base];
    arena_init(&t->memory, UINT64_MAX);
    if (first->term_count > ADJUST_MAX_TERMS || first->feature_count > ADJUST_MAX_FEATURES)
        return ft_fail(error, FT_ERR_INTERNAL, "adapting: the family has too many terms or features");
    FT_TRY(adjust_new(t->target->bases[t->base], t->target->has_rules[t->base] ? t->target->runtime : NULL,
                      first->term_count, first->size_count, first->feature_count, &t->adjusted, error));
    assert(t->count > 0 && t->base < t->target->base_count);
    explanation *all = ARENA_ARRAY(&t->memory, explanation, t->count);
    t->cases = ARENA_ARRAY(&t->memory, adjust_case, t->count);
    t->some = ARENA_ARRAY(&t->memory, const adjust_case *, t->count);
    t->off = ARENA_ARRAY(&t->memory, double, t->count);
    if (all == NULL || t->cases == NULL || t->some == NULL || t->off == NULL) return FT_NOMEM(error);
    for (uint32_t i = 0; i < t->count; i++) all[i] = t->predictions[i]->explanations[t->base];
    adjust_fit_scaling(t->adjusted, all, t->count);
    for (uint32_t i = 0; i < t->count; i++) {
        uint32_t repeats = 0;
        for (uint32_t k = 0; k < t->count; k++) repeats += unit_of(t, k) == unit_of(t, i);
        FT_TRY(adjust_case_make(t->adjusted, &all[i], t->predictions[i]->row->label, &t->memory, &t->cases[i], error));
        t->cases[i].weight = 1.0 / repeats;
    }
    return FT_OK;
}

void adapt_trial_close(adapt_trial *t) {
    adjust_free(t->adjusted);
    arena_free(&t->memory);
}

ft_status adapt_trial_fit(adapt_trial *t, adjust_kind kind, uint32_t left_out, ft_error *error) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < t->count; i++)
        if (t->fold[i] != left_out) t->some[count++] = &t->cases[i];
    return adjust_fit(t->adjusted, kind, t->some, count, NULL, error);
}

static double weight_of(const adapt_trial *t, uint32_t i) {
    return adapt_weight(t->rows, t->predictions[i]->row->graph);
}

ft_status adapt_trial_validate(adapt_trial *t, adjust_kind kind, ft_error *error) {
    for (uint32_t fold = 0; fold < t->folds; fold++) {
        FT_TRY(adapt_trial_fit(t, kind, fold, error));
        for (uint32_t i = 0; i < t->count; i++)
            if (t->fold[i] == fold) t->off[i] = t->cases[i].log_measured - adjust_case_log(t->adjusted, &t->cases[i]);
    }
    return FT_OK;
}

void adapt_trial_keep(adapt_trial *t) {
    for (uint32_t i = 0; i < t->count; i++)
        t->off[i] = t->cases[i].log_measured - log(t->predictions[i]->outputs[t->base].value);
}

/* Weighted by the share of the pool that a unit represents: the most informative models are often outliers. */
double adapt_trial_mape(const adapt_trial *t) {
    double sum = 0, weights = 0;
    for (uint32_t i = 0; i < t->count; i++) {
        sum += weight_of(t, i) * fabs(exp(-t->off[i]) - 1);
        weights += weight_of(t, i);
    }
    return 100 * sum / weights;
}

adapt_errors adapt_trial_plain(const adapt_trial *t) {
    double sum = 0, squares = 0, weights = 0;
    for (uint32_t i = 0; i < t->count; i++) {
        double weight = t->cases[i].weight, off = exp(-t->off[i]) - 1;
        sum += weight * fabs(off);
        squares += weight * off * off;
        weights += weight;
    }
    return (adapt_errors){100 * sum / weights, 100 * sqrt(squares / weights)};
}

/* The median spread of the base's predictions. */
static double typical_spread(const adapt_trial *t, double *scratch) {
    for (uint32_t i = 0; i < t->count; i++) scratch[i] = fmax(t->predictions[i]->outputs[t->base].spread, 1e-6);
    return calibrate_quantile(scratch, t->count, 0.5 * t->count / (t->count + 1));
}

ft_status adapt_trial_quantile(adapt_trial *t, double base_q90, double *q90, ft_error *error) {
    /* The method with the smallest errors is chosen among many: on few models they are small by chance, too. */
    static const double CHANCE = 3;
    static const double MIN_Q90 = 1e-3, MAX_EXPECTED = 0.5;
    interval_score *scores = malloc(t->count * sizeof *scores);
    double *spreads = malloc(t->count * sizeof *spreads);
    if (scores != NULL && spreads != NULL) {
        t->adjusted->spread = (float)typical_spread(t, spreads);
        double expected = fmin(base_q90 * (double)t->adjusted->spread, MAX_EXPECTED);
        for (uint32_t i = 0; i < t->count; i++) {
            double spread = adjust_spread(t->adjusted, t->predictions[i]->outputs[t->base].spread);
            scores[i] = (interval_score){.value = fabs(t->off[i]) / spread, .weight = weight_of(t, i)};
        }
        double quantile = interval_quantile(scores, t->count, isnan(base_q90) ? NAN : expected);
        *q90 = fmax((1 + CHANCE / t->target->model_count) * quantile, MIN_Q90);
    }
    ft_status status = scores != NULL && spreads != NULL ? FT_OK : FT_NOMEM(error);
    free(scores);
    free(spreads);
    return status;
}
