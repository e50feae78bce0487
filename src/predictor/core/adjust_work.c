/* adjust_work.c - predictions from the work of a model alone, which need no trained model: FLOPs, bytes and operators
 * at rates that are fitted to the measurements of a device. They are the baselines of adapting (adjust.h). */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "cost/cost.h"
#include "nn/math/nnls.h"
#include "predictor/core/adjust.h"
#include "predictor/core/adjust_fit.h"
#include "predictor/core/family_common.h"

/* Nominal times of a FLOP, a byte and an operator; fitted rates are relative to them. */
static const double FLOP_US = 1e-6, BYTE_US = 1e-5, OPERATOR_US = 5;

ft_status adjust_explain_work(const predict_input *in, model_output *out, explanation *made_of, ft_error *error) {
    static const float none;
    const ft_cost *cost;
    FT_TRY(model_view_cost(in->view, &cost, error));
    double *times = ARENA_ARRAY(in->memory, double, ADJUST_WORK_TERMS);
    if (times == NULL) return FT_NOMEM(error);
    total_work work = total_work_of(cost);
    double steps = in->view->request.mode == FT_TRAIN ? COST_TRAINING_FORWARDS : 1;
    /* At least one of each, so that no model takes no time. */
    times[ADJUST_WORK_FLOPS] = FLOP_US * fmax(work.flops, 1);
    times[ADJUST_WORK_BYTES] = BYTE_US * fmax(work.bytes, 1);
    times[ADJUST_WORK_OPERATORS] = OPERATOR_US * steps * fmax(cost->op_count, 1);
    *made_of = (explanation){.count = 1, .row_count = 1, .term_count = ADJUST_WORK_TERMS, .times = times};
    made_of->features = &none;
    *out = (model_output){.spread = 1, .coverage_ratio = 1, .provenance = FT_EXTRAPOLATED};
    out->reason = "the time is that of FLOPs, bytes and operators, at rates fitted to the measurements of this device";
    for (uint32_t i = 0; i < ADJUST_WORK_TERMS; i++) out->value += times[i];
    return FT_OK;
}

/* The terms that a kind of adjustment uses. */
static bool uses_term(adjust_kind kind, uint32_t term) {
    switch (kind) {
    case ADJUST_FLOPS:
        return term == ADJUST_WORK_FLOPS;
    case ADJUST_OPERATORS:
        return term == ADJUST_WORK_OPERATORS;
    case ADJUST_FLOPS_BYTES:
        return term != ADJUST_WORK_OPERATORS;
    default:
        return true;
    }
}

static double share_of(const adjust_case *c, uint32_t term) {
    return c->times[term] * exp(-c->log_measured);
}

/* Non-negative least squares of the relative error, with a small ridge. */
static ft_status fit_rates(adjust_kind kind, const adjust_case *const *cases, uint32_t count,
                           double rates[static ADJUST_WORK_TERMS], ft_error *error) {
    static const double RIDGE = 1e-3;
    double gram[ADJUST_WORK_TERMS * ADJUST_WORK_TERMS] = {0}, moment[ADJUST_WORK_TERMS] = {0};
    double ridge[ADJUST_WORK_TERMS], scale[ADJUST_WORK_TERMS], zero[ADJUST_WORK_TERMS] = {0};
    uint32_t used[ADJUST_WORK_TERMS], n = 0;
    for (uint32_t k = 0; k < ADJUST_WORK_TERMS; k++) {
        double sum = 0;
        for (uint32_t i = 0; i < count; i++) sum += share_of(cases[i], k);
        scale[k] = sum > 0 ? count / sum : 0; /* terms differ by orders of magnitude: the mean of each becomes 1 */
        rates[k] = 0;
        if (uses_term(kind, k) && sum > 0) used[n++] = k;
    }
    if (n == 0) return FT_OK;
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t a = 0; a < n; a++) {
            double left = scale[used[a]] * share_of(cases[i], used[a]), weighted = cases[i]->weight * left;
            for (uint32_t b = 0; b < n; b++) gram[a * n + b] += weighted * scale[used[b]] * share_of(cases[i], used[b]);
            moment[a] += weighted;
        }
    }
    for (uint32_t a = 0; a < n; a++) ridge[a] = RIDGE * gram[a * n + a];
    double found[ADJUST_WORK_TERMS];
    const nnls_problem problem = {.count = n, .gram = gram, .moment = moment, .ridge = ridge, .prior = zero};
    FT_TRY(nnls_solve(&problem, found, error));
    for (uint32_t a = 0; a < n; a++) rates[used[a]] = found[a] * scale[used[a]];
    return FT_OK;
}

ft_status adjust_fit_work(adjustment *a, adjust_kind kind, const adjust_case *const *cases, uint32_t count,
                          ft_error *error) {
    double rates[ADJUST_WORK_TERMS];
    assert(a->base == ADJUST_WORK && a->terms == ADJUST_WORK_TERMS && count > 0);
    FT_TRY(fit_rates(kind, cases, count, rates, error));
    a->weights[0] = 0;
    for (uint32_t k = 0; k < ADJUST_WORK_TERMS; k++)
        a->weights[1 + k] = rates[k] > 0 ? (float)log(rates[k]) : ADJUST_NO_RATE;
    return FT_OK;
}
