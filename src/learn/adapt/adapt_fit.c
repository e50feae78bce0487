/* adapt_fit.c - adjusts a predictor per device; method and base device are chosen by cross-validation. */
#include "learn/adapt/adapt_fit.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/rng.h"
#include "learn/score/intervals.h"
#include "predictor/core/scan.h"

enum { EXPLANATION_MEMORY = 1 << 28, MIN_MODELS = 2 };

ft_status adapt_method_parse(const char *text, adapt_method *method, ft_error *error) {
    static const char *const names[] = {"auto", "scale", "refit", "tune-last", "tune-all"};
    for (uint32_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (text != NULL && strcmp(text, names[i]) != 0) continue;
        *method = (adapt_method)i;
        return FT_OK;
    }
    return ft_fail(error, FT_ERR_USAGE, "no method '%s'; the methods are auto, scale, refit, tune-last and tune-all",
                   text);
}

ft_status adapt_distance_parse(const char *text, tune_distance *distance, ft_error *error) {
    static const char *const names[TUNE_DISTANCES] = {"none", "cmd", "mmd"};
    *distance = TUNE_CMD;
    if (text == NULL) return FT_OK;
    for (uint32_t i = 0; i < TUNE_DISTANCES; i++) {
        *distance = (tune_distance)i;
        if (strcmp(text, names[i]) == 0) return FT_OK;
    }
    return ft_fail(error, FT_ERR_USAGE, "no discrepancy '%s'; the discrepancies are none, cmd and mmd", text);
}

/* --- Explaining predictions ---------------------------------------------------------------------------------- */

typedef struct job {
    const ft_predictor *from;
    const adapt_rows *rows;
    adapt_method method;
    uint64_t seed;
    adapt_target *targets;
    fit_row *learned; /* a subset of the rows */
    uint32_t learned_count;
    adapt_prediction *predictions; /* per learned row */
    uint32_t refused;              /* measurements that cannot be predicted */
    const char *refusal;
    arena *memory;
    adapt_notes *notes;
    ft_error *error;
} job;

static uint32_t unit_of(const job *j, const adapt_prediction *p) {
    return j->rows->units.of_graph[p->row->graph];
}

/* A base that does not support the record is not a failure: `found` gets the reason. */
static ft_status explain_from(const job *j, adapt_prediction *p, uint32_t base, model_view *s, buf *found,
                              ft_error *error) {
    const adapt_target *t = &j->targets[p->row->device];
    const target_device target = {.index = t->bases[base],
                                  .sheet = t->sheet,
                                  .rules = t->has_rules[base] ? t->rules : NULL,
                                  .output = predictor_output(j->from)};
    ft_error reason = {.message = ""};
    const predict_input in = {.view = s, .target = &target, .memory = &p->memory};
    if (t->bases[base] == ADJUST_WORK)
        return adjust_explain_work(&in, &p->outputs[base], &p->explanations[base], error);
    ft_status status = adjust_explain(predictor_family(j->from), predictor_model(j->from), &in, &p->outputs[base],
                                      &p->explanations[base], &reason);
    if (status == FT_OK) return FT_OK;
    if (status != FT_ERR_UNSUPPORTED) return ft_fail(error, status, "%s", reason.message);
    p->explanations[base] = (explanation){0};
    p->outputs[base].value = NAN;
    if (found->length == 0) buf_text(found, reason.message);
    return FT_OK;
}

static ft_status explain(const job *j, adapt_prediction *p, model_view *s, buf *found, ft_error *error) {
    const adapt_target *t = &j->targets[p->row->device];
    p->explanations = ARENA_ARRAY(&p->memory, explanation, t->base_count);
    p->outputs = ARENA_ARRAY(&p->memory, model_output, t->base_count);
    if (p->explanations == NULL || p->outputs == NULL) return FT_NOMEM(error);
    for (uint32_t i = 0; i < t->base_count; i++) {
        FT_TRY(explain_from(j, p, i, s, found, error));
        /* Rows in the memory of the view are freed with it. */
        explanation *e = &p->explanations[i];
        if (e->row_of != NULL) e->row_of = arena_copy(&p->memory, e->row_of, e->count * sizeof *e->row_of);
        if (e->count > 0 && e->row_of == NULL && e->row_count != e->count) return FT_NOMEM(error);
    }
    return FT_OK;
}

static ft_status visit(void *user, const scan_item *item, model_view *s, uint32_t worker, buf *found, ft_error *error) {
    (void)worker;
    const job *j = user;
    for (uint32_t i = 0; i < item->row_count; i++) FT_TRY(explain(j, &j->predictions[item->rows[i]], s, found, error));
    return FT_OK;
}

/* Called in the order of the records: the reason does not depend on the number of threads. */
static ft_status gather(void *user, const scan_item *item, const buf *found, ft_error *error) {
    job *j = user;
    (void)item;
    if (found->length == 0 || j->refusal != NULL) return FT_OK;
    j->refusal = arena_string(j->memory, found->data, found->length);
    return j->refusal != NULL ? FT_OK : FT_NOMEM(error);
}

static ft_status explain_all(job *j, const fit_context *context) {
    const scan_job work = {.threads = context->threads,
                           .visit = visit,
                           .gather = gather,
                           .user = j,
                           .context = context,
                           .to = 0.3,
                           .what = "predicting measured models"};
    return scan_once(j->rows->data, (fit_rows){j->learned, j->learned_count}, &work, j->error);
}

static uint32_t count_predicted(adapt_prediction **predictions, uint32_t count, uint32_t base) {
    uint32_t predicted = 0;
    for (uint32_t i = 0; i < count; i++) predicted += !isnan(predictions[i]->outputs[base].value);
    return predicted;
}

/* Drops the measurements that the base which predicts the most cannot predict (an unknown setting, for example), and
 * rejects bases that cannot predict all others. The work of a model is always known, but is no reason to keep them. */
static ft_status drop_refused(job *j, adapt_target *t, adapt_prediction **predictions) {
    uint32_t best = 0, max = 0, all = t->count;
    for (uint32_t b = 0; b < t->base_count; b++) {
        uint32_t predicted = t->bases[b] != ADJUST_WORK ? count_predicted(predictions, t->count, b) : 0;
        if (predicted <= max) continue;
        max = predicted;
        best = b;
    }
    if (max == 0)
        return ft_fail(j->error, FT_ERR_UNSUPPORTED, "'%s': none of its %u measurements can be predicted: %s", t->name,
                       t->count, j->refusal != NULL ? j->refusal : "");
    t->count = 0;
    for (uint32_t i = 0; i < all; i++)
        if (!isnan(predictions[i]->outputs[best].value)) predictions[t->count++] = predictions[i];
    for (uint32_t b = 0; b < t->base_count; b++)
        t->is_rejected[b] = count_predicted(predictions, t->count, b) < t->count;
    j->refused += all - t->count;
    return FT_OK;
}

/* --- One device ---------------------------------------------------------------------------------------------- */

static const char *const kind_names[ADJUST_KINDS] = {
    [ADJUST_SCALE] = "scale",
    [ADJUST_REFIT] = "refit",
    [ADJUST_REFIT_COSTS] = "reprice",
    [ADJUST_FLOPS] = "flops",
    [ADJUST_OPERATORS] = "operators",
    [ADJUST_FLOPS_BYTES] = "flops+bytes",
    [ADJUST_ALL_WORK] = "flops+bytes+operators",
};

static bool is_work(const adapt_trial *t) {
    return t->target->bases[t->base] == ADJUST_WORK;
}

static bool may_try(const job *j, const adapt_trial *t, adjust_kind kind) {
    assert(kind < ADJUST_KINDS);
    if (is_work(t)) return kind >= ADJUST_FLOPS;
    if (kind >= ADJUST_FLOPS) return false;
    if (kind == ADJUST_SCALE && t->target->has_other_kind && j->method == ADAPT_AUTO) return false;
    if (kind == ADJUST_SCALE) return j->method != ADAPT_REFIT;
    if (j->method == ADAPT_SCALE || t->target->model_count < ADJUST_MIN_REFIT) return false;
    return kind == ADJUST_REFIT || (t->target->is_new && t->adjusted->terms > 1);
}

/* Factor on the error of a method. Cross-validation over a few models cannot separate methods of similar error, so the
 * simpler one wins unless the other is clearly better. On a known device, where a refit stays close to the model by
 * itself, scale must be far better instead. */
static double handicap(const adapt_target *t, const char *method) {
    static const double OF_SCALE = 0.8, OF_SCALE_KNOWN = 4, OF_REPRICE = 1.25;
    if (strcmp(method, kind_names[ADJUST_SCALE]) == 0) return t->is_new ? OF_SCALE : OF_SCALE_KNOWN;
    return strcmp(method, kind_names[ADJUST_REFIT_COSTS]) == 0 ? OF_REPRICE : 1;
}

static bool is_better(const adapt_trial *t, adjust_kind kind, double mape, const adapt_result *best) {
    if (best->adjusted == NULL) return true;
    return mape * handicap(t->target, kind_names[kind]) < best->about.cv * handicap(t->target, best->about.method);
}

/* The quantile of the base on its own device; a fifth, for the work of models. */
static double base_quantile(const job *j, const adapt_trial *t) {
    static const double OF_WORK = 0.2;
    return is_work(t) ? OF_WORK : predictor_q90(j->from, t->target->bases[t->base]);
}

/* Tries one kind of adjustment; keeps it when it is better than all before. */
static ft_status consider(const job *j, adapt_trial *t, adjust_kind kind, adapt_result *best, ft_error *error) {
    FT_TRY(adapt_trial_validate(t, kind, error));
    double mape = adapt_trial_mape(t);
    adapt_errors plain = adapt_trial_plain(t);
    if (kind == ADJUST_SCALE && !(best->about.cv_scale <= mape)) best->about.cv_scale = mape;
    if (!is_better(t, kind, mape, best)) return FT_OK;
    FT_TRY(adapt_trial_fit(t, kind, FT_NONE, error));
    FT_TRY(adapt_trial_quantile(t, base_quantile(j, t), &best->about.q90, error));
    adjustment *copy;
    const adjustment *a = t->adjusted;
    FT_TRY(adjust_new(a->base, a->runtime, a->terms, a->sizes, a->features, &copy, error));
    memcpy(copy->mean, a->mean, a->sizes * sizeof *a->mean);
    memcpy(copy->inverse, a->inverse, a->sizes * sizeof *a->inverse);
    memcpy(copy->weights, a->weights, adjust_weight_count(a) * sizeof *a->weights);
    copy->spread = a->spread;
    adjust_free(best->adjusted);
    best->adjusted = copy;
    best->about.cv = mape;
    best->plain = plain;
    best->about.method = kind_names[kind];
    bool has_base = t->target->is_new && a->base != FT_NONE && a->base != ADJUST_WORK;
    best->about.base = has_base ? ft_predictor_device(j->from, a->base) : NULL;
    return FT_OK;
}

/* Decides whether a known device keeps its predictor. A device that was adapted before does not: its error could be
 * that of the very models that it was fitted to. All models count equally here, because weights may leave the decision
 * to a few of them. The predictor must be no worse than the adjustment in mean error and in root mean square: one that
 * is accurate on most models and far off on some can still be improved. */
static ft_status consider_keep(const job *j, adapt_trial *t, adapt_result *best, ft_error *error) {
    uint32_t own = t->target->bases[t->base];
    adapt_expected_error expected;
    if (t->target->is_new || predictor_adjustment(j->from, own) != NULL) return FT_OK;
    adapt_trial_keep(t);
    best->about.cv_keep = adapt_trial_mape(t);
    adapt_errors plain = adapt_trial_plain(t);
    if (j->method != ADAPT_AUTO || best->plain.mape < plain.mape || best->plain.rmspe < plain.rmspe) return FT_OK;
    FT_TRY(adapt_expected_error_read(j->from, own, &expected, error));
    if (!adapt_error_is_expected(&expected, plain.mape, t->target->model_count)) return FT_OK;
    adjust_free(best->adjusted);
    best->adjusted = NULL;
    best->about.method = "keep";
    best->about.cv = best->about.cv_keep;
    best->about.q90 = predictor_q90(j->from, own);
    return FT_OK;
}

static ft_status try_base(const job *j, adapt_trial *t, adapt_result *best, ft_error *error) {
    for (uint32_t kind = ADJUST_SCALE; kind < ADJUST_KINDS; kind++)
        if (may_try(j, t, (adjust_kind)kind)) FT_TRY(consider(j, t, (adjust_kind)kind, best, error));
    return is_work(t) ? FT_OK : consider_keep(j, t, best, error);
}

/* Takes the best baseline unless the best method is clearly better: of many methods that are tried on a few models one
 * is good by chance. So no device ends worse in cross-validation than with the best baseline. */
static void take_baseline(adapt_result *best, adapt_result *baseline) {
    static const double CLEARLY = 0.7;
    best->about.cv_work = baseline->about.cv;
    if (baseline->adjusted == NULL || (best->adjusted != NULL && best->about.cv < CLEARLY * baseline->about.cv)) {
        adjust_free(baseline->adjusted);
        return;
    }
    adjust_free(best->adjusted);
    best->adjusted = baseline->adjusted;
    best->plain = baseline->plain;
    best->about.cv = baseline->about.cv;
    best->about.q90 = baseline->about.q90;
    best->about.method = baseline->about.method;
    best->about.base = NULL;
}

/* Assigns records to folds; all records of a unit are in the same fold. */
static ft_status make_folds(const job *j, adapt_target *t, adapt_prediction **predictions, uint32_t *fold,
                            uint32_t *folds, arena *memory) {
    enum { FEW_MODELS = 30, MANY_FOLDS = 10, FEW_FOLDS = 5 };
    uint32_t *order = ARENA_ARRAY(memory, uint32_t, t->count), models = 0;
    uint32_t *number = ARENA_ARRAY(memory, uint32_t, t->count);
    if (order == NULL || number == NULL) return FT_NOMEM(j->error);
    for (uint32_t i = 0; i < t->count; i++) {
        uint32_t k = 0;
        while (k < i && unit_of(j, predictions[k]) != unit_of(j, predictions[i])) k++;
        number[i] = k < i ? number[k] : models++;
    }
    assert(models <= t->count);
    t->model_count = models;
    if (models < MIN_MODELS)
        return ft_fail(j->error, FT_ERR_USAGE,
                       "'%s': %u measured model to learn from, at least %d are needed: measure more ('foretell sample' "
                       "chooses which)",
                       t->name, models, MIN_MODELS);
    *folds = models < FEW_MODELS ? (models < MANY_FOLDS ? models : MANY_FOLDS) : FEW_FOLDS;
    rng random;
    rng_init(&random, j->seed, 0);
    for (uint32_t i = 0; i < models; i++) order[i] = i;
    rng_shuffle(&random, order, models);
    for (uint32_t i = 0; i < t->count; i++) fold[i] = order[number[i]] % *folds;
    return FT_OK;
}

/* The median of measured / predicted of the first base, before adapting. */
static double median_ratio(const adapt_target *t, adapt_prediction **predictions, double *ratios) {
    uint32_t base = 0, count = t->count;
    while (t->is_rejected[base] || t->bases[base] == ADJUST_WORK) base++;
    assert(base < t->base_count);
    for (uint32_t i = 0; i < count; i++) ratios[i] = predictions[i]->row->label / predictions[i]->outputs[base].value;
    return calibrate_quantile(ratios, count, 0.5 * count / (count + 1));
}

static ft_status try_bases(const job *j, adapt_target *t, adapt_prediction **predictions, uint32_t folds,
                           const uint32_t *fold, adapt_result *best) {
    adapt_result baseline = {.about = {.cv = NAN}};
    ft_status status = FT_OK;
    for (uint32_t b = 0; b < t->base_count && status == FT_OK; b++) {
        if (t->is_rejected[b]) continue;
        adapt_trial one = {.rows = j->rows,
                           .target = t,
                           .base = b,
                           .predictions = predictions,
                           .count = t->count,
                           .folds = folds,
                           .fold = fold};
        status = adapt_trial_open(&one, j->error);
        if (status == FT_OK) status = try_base(j, &one, t->bases[b] == ADJUST_WORK ? &baseline : best, j->error);
        adapt_trial_close(&one);
    }
    if (status == FT_OK)
        take_baseline(best, &baseline);
    else
        adjust_free(baseline.adjusted);
    return status;
}

static ft_status fit_target(const job *j, adapt_target *t, adapt_prediction **predictions, arena *memory,
                            adapt_result *best) {
    uint32_t *fold = ARENA_ARRAY(memory, uint32_t, t->count), folds = 0;
    double *ratios = ARENA_ARRAY(memory, double, t->count);
    if (fold == NULL || ratios == NULL) return FT_NOMEM(j->error);
    FT_TRY(make_folds(j, t, predictions, fold, &folds, memory));
    best->about = (ft_adapted_device){.device = t->name,
                                      .is_new = t->is_new,
                                      .models = t->model_count,
                                      .records = t->count,
                                      .scale = median_ratio(t, predictions, ratios),
                                      .cv_keep = NAN,
                                      .cv_scale = NAN,
                                      .cv_work = NAN,
                                      .cv = NAN};
    if (t->model_count < ADJUST_MIN_REFIT && j->method != ADAPT_SCALE) {
        if (j->method == ADAPT_REFIT)
            return ft_fail(j->error, FT_ERR_USAGE, "'%s': %u models are too few to refit: at least %d are needed",
                           t->name, t->model_count, ADJUST_MIN_REFIT);
        adapt_note(j->notes, "'%s': %u models are too few for a refit: only the scale is fitted", t->name,
                   t->model_count);
    }
    return try_bases(j, t, predictions, folds, fold, best);
}

static ft_status fit_targets(job *j, const fit_context *context, arena *memory, adapt_result *results) {
    adapt_prediction **predictions = ARENA_ARRAY(memory, adapt_prediction *, j->learned_count);
    if (predictions == NULL) return FT_NOMEM(j->error);
    for (uint32_t d = 0; d < j->rows->device_count; d++) {
        adapt_target *t = &j->targets[d];
        t->count = 0;
        for (uint32_t i = 0; i < j->learned_count; i++)
            if (j->learned[i].device == d) predictions[t->count++] = &j->predictions[i];
        if (context->progress != NULL &&
            !context->progress(context->user, 0.3 + 0.4 * d / j->rows->device_count, "fitting"))
            return ft_fail(j->error, FT_ERR_CANCELLED, "stopped");
        if (t->count == 0)
            return ft_fail(j->error, FT_ERR_USAGE, "'%s': none of the models to learn from was measured on this device",
                           t->name);
        FT_TRY(drop_refused(j, t, predictions));
        FT_TRY(fit_target(j, t, predictions, memory, &results[d]));
    }
    if (j->refused > 0)
        adapt_note(j->notes, "%u of %u measurements to learn from cannot be predicted and are left out: %s", j->refused,
                   j->learned_count, j->refusal);
    return FT_OK;
}

/* Few weights need few rows: selects some programs of each task. */
static ft_status subsample(job *j, arena *memory) {
    enum { MAX_ROWS = 2000 };
    uint32_t count = j->rows->learned_count, each = (count + MAX_ROWS - 1) / MAX_ROWS;
    j->learned = ARENA_ARRAY(memory, fit_row, (size_t)count + 1);
    if (j->learned == NULL) return FT_NOMEM(j->error);
    for (uint32_t i = 0; i < count; i++) {
        const fit_row *row = &j->rows->learned[i];
        bool is_first = i == 0 || j->rows->units.of_graph[row[-1].graph] != j->rows->units.of_graph[row->graph];
        if (is_first || i % each == 0) j->learned[j->learned_count++] = *row; /* at least one row per task */
    }
    return FT_OK;
}

static ft_status run(job *j, const fit_context *context, arena *memory, adapt_result *results) {
    uint32_t devices = j->rows->device_count;
    FT_TRY(subsample(j, memory));
    j->targets = ARENA_ARRAY(memory, adapt_target, (size_t)devices + 1);
    j->predictions = ARENA_ARRAY(memory, adapt_prediction, (size_t)j->learned_count + 1);
    if (j->targets == NULL || j->predictions == NULL) return FT_NOMEM(j->error);
    for (uint32_t i = 0; i < j->learned_count; i++) {
        j->predictions[i].row = &j->learned[i];
        arena_init(&j->predictions[i].memory, EXPLANATION_MEMORY);
    }
    for (uint32_t d = 0; d < devices; d++)
        FT_TRY(adapt_target_open(&j->targets[d], j->rows->devices[d], j->from, j->rows->data,
                                 j->method == ADAPT_AUTO && !j->rows->units.are_tasks, j->error));
    FT_TRY(explain_all(j, context));
    return fit_targets(j, context, memory, results);
}

ft_status adapt_fit(const adapt_fit_options *o, adapt_result *results, ft_error *error) {
    arena memory;
    arena_init(&memory, UINT64_MAX);
    job j = {.from = o->from,
             .rows = o->rows,
             .method = o->method,
             .seed = o->seed,
             .memory = &memory,
             .notes = o->notes,
             .error = error};
    assert(o->method < ADAPT_TUNE_LAST);
    ft_status status = run(&j, o->context, &memory, results);
    for (uint32_t d = 0; j.targets != NULL && d < o->rows->device_count; d++) adapt_target_free(&j.targets[d]);
    for (uint32_t i = 0; j.predictions != NULL && i < j.learned_count; i++) arena_free(&j.predictions[i].memory);
    arena_free(&memory);
    return status;
}
