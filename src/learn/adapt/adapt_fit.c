/* adapt_fit.c - see adapt_fit.h. */
#include "learn/adapt/adapt_fit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/rng.h"
#include "learn/adapt/adapt_keep.h"
#include "learn/adapt/adapt_trial.h"
#include "learn/score/calibrate.h"
#include "predictor/core/scan.h"

enum { LOOK_MEMORY = 1 << 28, LEAST_MODELS = 2 };

ft_status adapt_method_parse(const char *text, adapt_method *method, ft_error *error) {
    static const char *const names[] = {"auto", "scale", "refit", "tune-last", "tune-all"};
    for (uint32_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (text != NULL && strcmp(text, names[i]) != 0) continue;
        *method = (adapt_method)i;
        return FT_OK;
    }
    return ft_fail(error, FT_ERR_USAGE, "there is no method '%s'; there are auto, scale, refit, tune-last and tune-all",
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
    return ft_fail(error, FT_ERR_USAGE, "there is no discrepancy '%s'; there are none, cmd and mmd", text);
}

/* --- What predictions are made of ---------------------------------------------------------------------------- */

typedef struct job {
    const ft_predictor *from;
    const adapt_rows *rows;
    adapt_method method;
    uint64_t seed;
    adapt_target *targets;
    fit_row *learned; /* of the rows those that are looked at */
    uint32_t learned_count;
    adapt_look *looks; /* by row that is looked at */
    uint32_t refused;  /* measurements that cannot be told */
    const char *refusal;
    arena *memory;
    adapt_notes *notes;
    ft_error *error;
} job;

static uint32_t unit_of(const job *j, const adapt_look *l) {
    return j->rows->units.of[l->row->graph];
}

/* What a base cannot tell is no failure: `found` gets the reason. */
static ft_status look_from(const job *j, adapt_look *l, uint32_t base, model_view *s, buf *found, ft_error *error) {
    const adapt_target *t = &j->targets[l->row->device];
    const target_device where = {.index = t->bases[base],
                                 .sheet = t->sheet,
                                 .rules = t->has_rules[base] ? t->rules : NULL,
                                 .output = predictor_output(j->from)};
    ft_error reason = {.message = ""};
    const predict_input in = {.view = s, .target = &where, .memory = &l->memory};
    ft_status status = adjust_explain(predictor_family(j->from), predictor_model(j->from), &in, &l->said[base],
                                      &l->made_of[base], &reason);
    if (status == FT_OK) return FT_OK;
    if (status != FT_ERR_UNSUPPORTED) return ft_fail(error, status, "%s", reason.message);
    l->made_of[base] = (explanation){0};
    l->said[base].value = NAN;
    if (found->length == 0) buf_text(found, reason.message);
    return FT_OK;
}

static ft_status look_at(const job *j, adapt_look *l, model_view *s, buf *found, ft_error *error) {
    const adapt_target *t = &j->targets[l->row->device];
    l->made_of = ARENA_ARRAY(&l->memory, explanation, t->base_count);
    l->said = ARENA_ARRAY(&l->memory, model_output, t->base_count);
    if (l->made_of == NULL || l->said == NULL) return FT_NOMEM(error);
    for (uint32_t i = 0; i < t->base_count; i++) {
        FT_TRY(look_from(j, l, i, s, found, error));
        /* What stays in the subject goes with it. */
        explanation *p = &l->made_of[i];
        if (p->row_of != NULL) p->row_of = arena_copy(&l->memory, p->row_of, p->count * sizeof *p->row_of);
        if (p->count > 0 && p->row_of == NULL && p->row_count != p->count) return FT_NOMEM(error);
    }
    return FT_OK;
}

static ft_status visit(void *user, const scan_item *item, model_view *s, uint32_t worker, buf *found, ft_error *error) {
    (void)worker;
    const job *j = user;
    for (uint32_t i = 0; i < item->row_count; i++) FT_TRY(look_at(j, &j->looks[item->rows[i]], s, found, error));
    return FT_OK;
}

/* In the order of the records: the same reason whatever the number of threads. */
static ft_status gather(void *user, const scan_item *item, const buf *found, ft_error *error) {
    job *j = user;
    (void)item;
    if (found->length == 0 || j->refusal != NULL) return FT_OK;
    j->refusal = arena_string(j->memory, found->data, found->length);
    return j->refusal != NULL ? FT_OK : FT_NOMEM(error);
}

static ft_status look_at_all(job *j, const fit_context *context) {
    const scan_job work = {.threads = context->threads,
                           .visit = visit,
                           .gather = gather,
                           .user = j,
                           .context = context,
                           .to = 0.3,
                           .what = "looking at measured models"};
    return scan_once(j->rows->data, (fit_rows){j->learned, j->learned_count}, &work, j->error);
}

static uint32_t count_told(adapt_look **looks, uint32_t count, uint32_t base) {
    uint32_t told = 0;
    for (uint32_t i = 0; i < count; i++) told += !isnan(looks[i]->said[base].value);
    return told;
}

/* Leaves out measurements, as of a setting that the model never met, of which the base that tells the most tells
 * nothing; and bases that cannot tell all others. */
static ft_status drop_refused(job *j, adapt_target *t, adapt_look **looks) {
    uint32_t best = 0, most = 0, all = t->count;
    for (uint32_t b = 0; b < t->base_count; b++) {
        uint32_t told = count_told(looks, t->count, b);
        if (told <= most) continue;
        most = told;
        best = b;
    }
    if (most == 0)
        return ft_fail(j->error, FT_ERR_UNSUPPORTED, "'%s': none of its %u measurements can be told: %s", t->name,
                       t->count, j->refusal != NULL ? j->refusal : "");
    t->count = 0;
    for (uint32_t i = 0; i < all; i++)
        if (!isnan(looks[i]->said[best].value)) looks[t->count++] = looks[i];
    for (uint32_t b = 0; b < t->base_count; b++) t->is_out[b] = count_told(looks, t->count, b) < t->count;
    j->refused += all - t->count;
    return FT_OK;
}

/* --- One device ---------------------------------------------------------------------------------------------- */

static const char *const kind_names[] = {
    [ADJUST_SCALE] = "scale", [ADJUST_REFIT] = "refit", [ADJUST_REPRICE] = "reprice"};

static bool may_try(const job *j, const adapt_trial *t, adjust_kind kind) {
    if (kind == ADJUST_SCALE) return j->method != ADAPT_REFIT;
    if (j->method == ADAPT_SCALE || t->target->model_count < ADJUST_LEAST_REFIT) return false;
    return kind == ADJUST_REFIT || (t->target->is_new && t->adjusted->terms > 1);
}

/* Cross-validation over a few models is a coin toss between two that are near, so what is simpler wins unless the other
 * is clearly better. But on a known device, where nothing speaks for more than scale, a refit comes to little more than
 * that by itself: there it is scale that must be far better. */
static double handicap(const adapt_target *t, const char *method) {
    static const double OF_SCALE = 0.8, OF_SCALE_KNOWN = 4, OF_REPRICE = 1.25;
    if (strcmp(method, kind_names[ADJUST_SCALE]) == 0) return t->is_new ? OF_SCALE : OF_SCALE_KNOWN;
    return strcmp(method, kind_names[ADJUST_REPRICE]) == 0 ? OF_REPRICE : 1;
}

static bool is_better(const adapt_trial *t, adjust_kind kind, double mape, const adapt_result *best) {
    if (best->adjusted == NULL) return true;
    return mape * handicap(t->target, kind_names[kind]) < best->about.cv * handicap(t->target, best->about.method);
}

/* Keeps what is better than all before. */
static ft_status consider(const job *j, adapt_trial *t, adjust_kind kind, adapt_result *best, ft_error *error) {
    FT_TRY(adapt_trial_validate(t, kind, error));
    double mape = adapt_trial_mape(t);
    adapt_errors plain = adapt_trial_plain(t);
    if (kind == ADJUST_SCALE && !(best->about.cv_scale <= mape)) best->about.cv_scale = mape;
    if (!is_better(t, kind, mape, best)) return FT_OK;
    FT_TRY(adapt_trial_quantile(t, &best->about.q90, error));
    FT_TRY(adapt_trial_fit(t, kind, FT_NONE, error));
    adjustment *copy;
    const adjustment *a = t->adjusted;
    FT_TRY(adjust_new(a->base, a->runtime, a->terms, a->sizes, a->features, &copy, error));
    memcpy(copy->mean, a->mean, a->sizes * sizeof *a->mean);
    memcpy(copy->inverse, a->inverse, a->sizes * sizeof *a->inverse);
    memcpy(copy->weights, a->weights, adjust_weight_count(a) * sizeof *a->weights);
    adjust_free(best->adjusted);
    best->adjusted = copy;
    best->about.cv = mape;
    best->plain = plain;
    best->about.method = kind_names[kind];
    best->about.base = t->target->is_new && a->base != FT_NONE ? ft_predictor_device(j->from, a->base) : NULL;
    return FT_OK;
}

/* A device that the predictor knows may stay as it is. One that it was adapted to before may not: it could have learned
 * from the very models that would speak for it. Here each model counts once: what models stand for may leave it to a
 * few of them. A predictor that is right about most models and far off some has something to learn: so it must not be
 * worse in the mean, nor in squares. */
static ft_status consider_keep(const job *j, adapt_trial *t, adapt_result *best, ft_error *error) {
    uint32_t own = t->target->bases[t->base];
    adapt_usual usual;
    if (t->target->is_new || predictor_adjustment(j->from, own) != NULL) return FT_OK;
    adapt_trial_keep(t);
    best->about.cv_keep = adapt_trial_mape(t);
    adapt_errors plain = adapt_trial_plain(t);
    if (j->method != ADAPT_AUTO || best->plain.mape < plain.mape || best->plain.rmspe < plain.rmspe) return FT_OK;
    FT_TRY(adapt_usual_find(j->from, own, &usual, error));
    if (!adapt_is_usual(&usual, plain.mape, t->target->model_count)) return FT_OK;
    adjust_free(best->adjusted);
    best->adjusted = NULL;
    best->about.method = "keep";
    best->about.cv = best->about.cv_keep;
    best->about.q90 = predictor_q90(j->from, own);
    return FT_OK;
}

static ft_status try_base(const job *j, adapt_trial *t, adapt_result *best, ft_error *error) {
    for (uint32_t kind = ADJUST_SCALE; kind <= ADJUST_REPRICE; kind++)
        if (may_try(j, t, (adjust_kind)kind)) FT_TRY(consider(j, t, (adjust_kind)kind, best, error));
    return consider_keep(j, t, best, error);
}

/* Folds of whole models. */
static ft_status make_folds(const job *j, adapt_target *t, adapt_look **looks, uint32_t *fold, uint32_t *folds,
                            arena *memory) {
    enum { FEW = 30, MANY_FOLDS = 10, FEW_FOLDS = 5 };
    uint32_t *order = ARENA_ARRAY(memory, uint32_t, t->count), models = 0;
    uint32_t *number = ARENA_ARRAY(memory, uint32_t, t->count);
    if (order == NULL || number == NULL) return FT_NOMEM(j->error);
    for (uint32_t i = 0; i < t->count; i++) {
        uint32_t k = 0;
        while (k < i && unit_of(j, looks[k]) != unit_of(j, looks[i])) k++;
        number[i] = k < i ? number[k] : models++;
    }
    t->model_count = models;
    if (models < LEAST_MODELS)
        return ft_fail(j->error, FT_ERR_USAGE,
                       "'%s': %u model was measured that could be learned from, and at least %d are needed: measure "
                       "more ('foretell sample' says which)",
                       t->name, models, LEAST_MODELS);
    *folds = models < FEW ? (models < MANY_FOLDS ? models : MANY_FOLDS) : FEW_FOLDS;
    rng random;
    rng_init(&random, j->seed, 0);
    for (uint32_t i = 0; i < models; i++) order[i] = i;
    rng_shuffle(&random, order, models);
    for (uint32_t i = 0; i < t->count; i++) fold[i] = order[number[i]] % *folds;
    return FT_OK;
}

/* The median ratio before, from the first base. */
static double median_ratio(const adapt_target *t, adapt_look **looks, double *room) {
    uint32_t base = 0, count = t->count;
    while (t->is_out[base]) base++;
    for (uint32_t i = 0; i < count; i++) room[i] = looks[i]->row->label / looks[i]->said[base].value;
    return calibrate_quantile(room, count, 0.5 * count / (count + 1));
}

static ft_status fit_target(const job *j, adapt_target *t, adapt_look **looks, arena *memory, adapt_result *best) {
    uint32_t *fold = ARENA_ARRAY(memory, uint32_t, t->count), folds = 0;
    double *room = ARENA_ARRAY(memory, double, t->count);
    if (fold == NULL || room == NULL) return FT_NOMEM(j->error);
    FT_TRY(make_folds(j, t, looks, fold, &folds, memory));
    best->about = (ft_adapted_device){.device = t->name,
                                      .is_new = t->is_new,
                                      .models = t->model_count,
                                      .records = t->count,
                                      .scale = median_ratio(t, looks, room),
                                      .cv_keep = NAN,
                                      .cv_scale = NAN,
                                      .cv = NAN};
    if (t->model_count < ADJUST_LEAST_REFIT && j->method != ADAPT_SCALE) {
        if (j->method == ADAPT_REFIT)
            return ft_fail(j->error, FT_ERR_USAGE, "'%s': %u models are too few to refit, at least %d are needed",
                           t->name, t->model_count, ADJUST_LEAST_REFIT);
        adapt_note(j->notes, "'%s': %u models are too few for more than its scale", t->name, t->model_count);
    }
    for (uint32_t b = 0; b < t->base_count; b++) {
        if (t->is_out[b]) continue;
        adapt_trial one = {
            .rows = j->rows, .target = t, .base = b, .looks = looks, .count = t->count, .folds = folds, .fold = fold};
        ft_status status = adapt_trial_open(&one, j->error);
        if (status == FT_OK) status = try_base(j, &one, best, j->error);
        adapt_trial_close(&one);
        FT_TRY(status);
    }
    return FT_OK;
}

static ft_status fit_targets(job *j, const fit_context *context, arena *memory, adapt_result *results) {
    adapt_look **looks = ARENA_ARRAY(memory, adapt_look *, j->learned_count);
    if (looks == NULL) return FT_NOMEM(j->error);
    for (uint32_t d = 0; d < j->rows->device_count; d++) {
        adapt_target *t = &j->targets[d];
        t->count = 0;
        for (uint32_t i = 0; i < j->learned_count; i++)
            if (j->learned[i].device == d) looks[t->count++] = &j->looks[i];
        if (context->progress != NULL &&
            !context->progress(context->user, 0.3 + 0.4 * d / j->rows->device_count, "fitting"))
            return ft_fail(j->error, FT_ERR_CANCELLED, "stopped");
        if (t->count == 0)
            return ft_fail(j->error, FT_ERR_USAGE, "'%s': none of the models to learn from was measured on it",
                           t->name);
        FT_TRY(drop_refused(j, t, looks));
        FT_TRY(fit_target(j, t, looks, memory, &results[d]));
    }
    if (j->refused > 0)
        adapt_note(j->notes, "%u of %u measurements to learn from are left out: %s", j->refused, j->learned_count,
                   j->refusal);
    return FT_OK;
}

/* Few weights need few rows: of tasks with thousands of programs some of each are enough. */
static ft_status thin_out(job *j, arena *memory) {
    enum { MOST = 2000 };
    uint32_t count = j->rows->learned_count, each = (count + MOST - 1) / MOST;
    j->learned = ARENA_ARRAY(memory, fit_row, (size_t)count + 1);
    if (j->learned == NULL) return FT_NOMEM(j->error);
    for (uint32_t i = 0; i < count; i++) {
        const fit_row *row = &j->rows->learned[i];
        bool is_first = i == 0 || j->rows->units.of[row[-1].graph] != j->rows->units.of[row->graph];
        if (is_first || i % each == 0) j->learned[j->learned_count++] = *row; /* no task is lost */
    }
    return FT_OK;
}

static ft_status run(job *j, const fit_context *context, arena *memory, adapt_result *results) {
    uint32_t devices = j->rows->device_count;
    FT_TRY(thin_out(j, memory));
    j->targets = ARENA_ARRAY(memory, adapt_target, (size_t)devices + 1);
    j->looks = ARENA_ARRAY(memory, adapt_look, (size_t)j->learned_count + 1);
    if (j->targets == NULL || j->looks == NULL) return FT_NOMEM(j->error);
    for (uint32_t i = 0; i < j->learned_count; i++) {
        j->looks[i].row = &j->learned[i];
        arena_init(&j->looks[i].memory, LOOK_MEMORY);
    }
    for (uint32_t d = 0; d < devices; d++)
        FT_TRY(adapt_target_open(&j->targets[d], j->rows->devices[d], j->from, j->rows->data, j->error));
    FT_TRY(look_at_all(j, context));
    return fit_targets(j, context, memory, results);
}

ft_status adapt_fit(const ft_predictor *from, const adapt_rows *rows, adapt_method method, uint64_t seed,
                    const fit_context *context, adapt_notes *notes, adapt_result *results, ft_error *error) {
    arena memory;
    arena_init(&memory, UINT64_MAX);
    job j = {.from = from, .rows = rows, .method = method, .seed = seed, .notes = notes, .error = error};
    j.memory = &memory;
    ft_status status = run(&j, context, &memory, results);
    for (uint32_t d = 0; j.targets != NULL && d < rows->device_count; d++) adapt_target_free(&j.targets[d]);
    for (uint32_t i = 0; j.looks != NULL && i < j.learned_count; i++) arena_free(&j.looks[i].memory);
    arena_free(&memory);
    return status;
}
