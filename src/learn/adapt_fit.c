/* adapt_fit.c - see adapt_fit.h. */
#include "learn/adapt_fit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/rng.h"
#include "data/dataset.h"
#include "data/devices.h"
#include "foretell/device.h"
#include "learn/calibrate.h"
#include "predictor/scan.h"

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

/* --- Devices ------------------------------------------------------------------------------------------------- */

enum { MOST_BASES = 64 };

/* A device to adapt to, and what its predictions may start from. */
typedef struct target {
    const char *name;
    bool is_new;
    ft_device *sheet;    /* NULL: not described */
    const char *runtime; /* of the data set; of the sheet */
    uint32_t base_count;
    uint32_t bases[MOST_BASES]; /* devices of the model; FT_NONE: the data sheet */
    ft_rules *rules;            /* of a new device */
    bool has_rules[MOST_BASES]; /* which bases need them */
    uint32_t first, count;      /* of the looks */
    uint32_t model_count;
} target;

static void target_free(target *t) {
    ft_device_free(t->sheet);
    ft_rules_free(t->rules);
}

/* In the box, or beside the records. A device that nobody describes has no sheet. */
static ft_status open_sheet(const ft_dataset *data, target *t, ft_error *error) {
    FT_TRY(device_open(data->folder, t->name, &t->sheet, error));
    t->runtime = ft_device_runtime(t->sheet);
    return FT_OK;
}

/* Two devices of one name would be mixed up: what the predictor learned of one says nothing of the other. */
static ft_status check_clash(const ft_predictor *from, const target *t, ft_error *error) {
    const family *f = predictor_family(from);
    uint32_t known = predictor_device_index(from, t->name);
    if (f->rules == NULL || known >= predictor_known_count(from)) return FT_OK;
    const ft_rules *rules = f->rules(predictor_model(from), known);
    if (rules == NULL || strcmp(ft_rules_name(rules), t->runtime) == 0) return FT_OK;
    return ft_fail(error, FT_ERR_UNSUPPORTED,
                   "the names of devices clash: the predictor knows '%s' with the runtime %s, but the data set "
                   "describes one with %s; give one of them another name",
                   t->name, ft_rules_name(rules), t->runtime);
}

static ft_status find_bases(const ft_predictor *from, target *t, ft_error *error) {
    const family *f = predictor_family(from);
    uint32_t known = predictor_known_count(from), own = predictor_device_index(from, t->name);
    t->is_new = own == FT_NONE || own >= known;
    if (!t->is_new) {
        t->bases[t->base_count++] = own;
        return FT_OK;
    }
    if (predictor_takes_any_device(from) && ft_device_canonical(t->name) != NULL) {
        t->bases[t->base_count++] = FT_NONE;
        return FT_OK;
    }
    if (f->rules != NULL) FT_TRY(ft_rules_open(t->runtime, &t->rules, error));
    for (uint32_t i = 0; i < known && t->base_count < MOST_BASES; i++) {
        const ft_rules *rules = f->rules != NULL ? f->rules(predictor_model(from), i) : NULL;
        t->has_rules[t->base_count] = rules != NULL && strcmp(ft_rules_name(rules), t->runtime) != 0;
        t->bases[t->base_count++] = i;
    }
    return FT_OK;
}

/* --- What predictions are made of ---------------------------------------------------------------------------- */

/* What the model says of one measured record, from each base. */
typedef struct look {
    const fit_row *row;
    arena memory;
    pieces *made_of;
    prediction *said;
} look;

typedef struct job {
    const ft_predictor *from;
    const adapt_rows *rows;
    adapt_method method;
    uint64_t seed;
    target *targets;
    fit_row *learned; /* of the rows those that are looked at */
    uint32_t learned_count;
    look *looks; /* by row that is looked at */
    adapt_notes *notes;
    ft_error *error;
} job;

static uint32_t unit_of(const job *j, const look *l) {
    return j->rows->units.of[l->row->graph];
}

static ft_status look_at(const job *j, look *l, subject *s, ft_error *error) {
    const target *t = &j->targets[l->row->device];
    l->made_of = ARENA_ARRAY(&l->memory, pieces, t->base_count);
    l->said = ARENA_ARRAY(&l->memory, prediction, t->base_count);
    if (l->made_of == NULL || l->said == NULL) return FT_NOMEM(error);
    for (uint32_t i = 0; i < t->base_count; i++) {
        const place where = {.index = t->bases[i], .sheet = t->sheet, .rules = t->has_rules[i] ? t->rules : NULL};
        FT_TRY(adjust_look(predictor_family(j->from), predictor_model(j->from), s, &where, false, &l->memory,
                           &l->said[i], &l->made_of[i], error));
        /* What stays in the subject goes with it. */
        pieces *p = &l->made_of[i];
        if (p->row_of != NULL) p->row_of = arena_copy(&l->memory, p->row_of, p->count * sizeof *p->row_of);
        if (p->count > 0 && p->row_of == NULL && p->row_count != p->count) return FT_NOMEM(error);
    }
    return FT_OK;
}

static ft_status visit(void *user, const scan_item *item, subject *s, uint32_t worker, buf *found, ft_error *error) {
    (void)worker;
    (void)found;
    const job *j = user;
    for (uint32_t i = 0; i < item->row_count; i++) FT_TRY(look_at(j, &j->looks[item->rows[i]], s, error));
    return FT_OK;
}

static ft_status look_at_all(const job *j, const fit_context *context) {
    const scan_job work = {.threads = context->threads,
                           .visit = visit,
                           .user = (void *)j,
                           .context = context,
                           .to = 0.3,
                           .what = "looking at measured models"};
    return scan_once(j->rows->data, (fit_rows){j->learned, j->learned_count}, &work, j->error);
}

/* --- One device ---------------------------------------------------------------------------------------------- */

/* The measured records of a device as one base sees them, and which fold each is in. */
typedef struct trial {
    const job *job;
    const target *target;
    uint32_t base; /* of the target's */
    look **looks;
    uint32_t count, folds;
    const uint32_t *fold; /* per record */
    adjustment *adjusted;
    adjust_case *cases;
    const adjust_case **some; /* room for a part of them */
    double *off;              /* per record: log(measured / predicted) in cross-validation */
    arena memory;
} trial;

static ft_status trial_open(trial *t, ft_error *error) {
    const pieces *first = &t->looks[0]->made_of[t->base];
    arena_init(&t->memory, UINT64_MAX);
    if (first->term_count > ADJUST_MAX_TERMS || first->feature_count > ADJUST_MAX_FEATURES)
        return ft_fail(error, FT_ERR_INTERNAL, "a family has more terms or features than adapting can hold");
    FT_TRY(adjust_new(t->target->bases[t->base], t->target->has_rules[t->base] ? t->target->runtime : NULL,
                      first->term_count, first->size_count, first->feature_count, &t->adjusted, error));
    pieces *all = ARENA_ARRAY(&t->memory, pieces, t->count);
    t->cases = ARENA_ARRAY(&t->memory, adjust_case, t->count);
    t->some = ARENA_ARRAY(&t->memory, const adjust_case *, t->count);
    t->off = ARENA_ARRAY(&t->memory, double, t->count);
    if (all == NULL || t->cases == NULL || t->some == NULL || t->off == NULL) return FT_NOMEM(error);
    for (uint32_t i = 0; i < t->count; i++) all[i] = t->looks[i]->made_of[t->base];
    adjust_fit_scaling(t->adjusted, all, t->count);
    for (uint32_t i = 0; i < t->count; i++) {
        uint32_t times = 0;
        for (uint32_t k = 0; k < t->count; k++) times += unit_of(t->job, t->looks[k]) == unit_of(t->job, t->looks[i]);
        FT_TRY(adjust_case_make(t->adjusted, &all[i], t->looks[i]->row->label, &t->memory, &t->cases[i], error));
        t->cases[i].weight = 1.0 / times;
    }
    return FT_OK;
}

static void trial_close(trial *t) {
    adjust_free(t->adjusted);
    arena_free(&t->memory);
}

/* Fits to all folds but one (FT_NONE: to all). */
static ft_status trial_fit(trial *t, adjust_kind kind, uint32_t left_out, ft_error *error) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < t->count; i++)
        if (t->fold[i] != left_out) t->some[count++] = &t->cases[i];
    return adjust_fit(t->adjusted, kind, t->some, count, NULL, error);
}

static double weight_of(const trial *t, uint32_t i) {
    return adapt_weight(t->job->rows, t->looks[i]->row->graph);
}

/* The mean absolute error in percent on folds that were left out. Models count as much as they stand for: what tells
 * most is often far out, where few models are. */
static ft_status cross_validate(trial *t, adjust_kind kind, double *mape, ft_error *error) {
    double sum = 0, weights = 0;
    for (uint32_t fold = 0; fold < t->folds; fold++) {
        FT_TRY(trial_fit(t, kind, fold, error));
        for (uint32_t i = 0; i < t->count; i++) {
            if (t->fold[i] != fold) continue;
            t->off[i] = t->cases[i].log_measured - adjust_case_log(t->adjusted, &t->cases[i]);
            sum += weight_of(t, i) * fabs(exp(-t->off[i]) - 1);
            weights += weight_of(t, i);
        }
    }
    *mape = 100 * sum / weights;
    return FT_OK;
}

static int compare_scores(const void *a, const void *b) {
    double x = ((const adapt_score *)a)->value, y = ((const adapt_score *)b)->value;
    return (x > y) - (x < y);
}

double adapt_quantile(adapt_score *scores, uint32_t count) {
    static const double STUDENT[] = {0, 6.314, 2.920, 2.353, 2.132, 2.015, 1.943, 1.895, 1.860}; /* 0.95, by freedom */
    static const double LEVEL = 0.9;
    enum { ENOUGH = 9 };
    double total = 0, squares = 0, below = 0;
    qsort(scores, count, sizeof *scores, compare_scores);
    for (uint32_t i = 0; i < count; i++) {
        total += scores[i].weight;
        squares += scores[i].weight * scores[i].value * scores[i].value;
    }
    if (count < ENOUGH) {
        double student = STUDENT[count > 1 ? count - 1 : 1] * sqrt((1 + 1.0 / count) * squares / total);
        return fmax(scores[count - 1].value, student);
    }
    for (uint32_t i = 0; i < count; i++) {
        below += scores[i].weight;
        if (below >= LEVEL * total * (1 + 1.0 / count) - 1e-9) return scores[i].value;
    }
    return scores[count - 1].value;
}

/* Intervals: the quantile of how many spreads records were off, when they were not fitted to. */
static ft_status find_quantile(const trial *t, double *q90, ft_error *error) {
    static const double LEAST = 1e-3;
    adapt_score *scores = malloc(t->count * sizeof *scores);
    if (scores == NULL) return FT_NOMEM(error);
    for (uint32_t i = 0; i < t->count; i++)
        scores[i] = (adapt_score){.value = fabs(t->off[i]) / fmax(t->looks[i]->said[t->base].spread, 1e-6),
                                  .weight = weight_of(t, i)};
    *q90 = fmax(adapt_quantile(scores, t->count), LEAST);
    free(scores);
    return FT_OK;
}

static const char *const kind_names[] = {
    [ADJUST_SCALE] = "scale", [ADJUST_REFIT] = "refit", [ADJUST_REPRICE] = "reprice"};

static bool may_try(const job *j, const trial *t, adjust_kind kind) {
    if (kind == ADJUST_SCALE) return j->method != ADAPT_REFIT;
    if (j->method == ADAPT_SCALE || t->target->model_count < ADJUST_LEAST_REFIT) return false;
    return kind == ADJUST_REFIT || (t->target->is_new && t->adjusted->terms > 1);
}

/* Cross-validation over a few models is a coin toss between two that are near, so what is simpler wins unless the other
 * is clearly better. But on a known device, where nothing speaks for more than scale, a refit comes to little more than
 * that by itself: there it is scale that must be far better. */
static double handicap(const target *t, const char *method) {
    static const double OF_SCALE = 0.8, OF_SCALE_KNOWN = 4, OF_REPRICE = 1.25;
    if (strcmp(method, kind_names[ADJUST_SCALE]) == 0) return t->is_new ? OF_SCALE : OF_SCALE_KNOWN;
    return strcmp(method, kind_names[ADJUST_REPRICE]) == 0 ? OF_REPRICE : 1;
}

static bool is_better(const trial *t, adjust_kind kind, double mape, const adapt_result *best) {
    if (best->adjusted == NULL) return true;
    return mape * handicap(t->target, kind_names[kind]) < best->about.cv * handicap(t->target, best->about.method);
}

/* Keeps what is better than all before. */
static ft_status consider(trial *t, adjust_kind kind, adapt_result *best, ft_error *error) {
    double mape;
    FT_TRY(cross_validate(t, kind, &mape, error));
    if (kind == ADJUST_SCALE && !(best->about.cv_scale <= mape)) best->about.cv_scale = mape;
    if (!is_better(t, kind, mape, best)) return FT_OK;
    FT_TRY(find_quantile(t, &best->about.q90, error));
    FT_TRY(trial_fit(t, kind, FT_NONE, error));
    adjustment *copy;
    const adjustment *a = t->adjusted;
    FT_TRY(adjust_new(a->base, a->runtime, a->terms, a->sizes, a->features, &copy, error));
    memcpy(copy->mean, a->mean, a->sizes * sizeof *a->mean);
    memcpy(copy->inverse, a->inverse, a->sizes * sizeof *a->inverse);
    memcpy(copy->weights, a->weights, adjust_weight_count(a) * sizeof *a->weights);
    adjust_free(best->adjusted);
    best->adjusted = copy;
    best->about.cv = mape;
    best->about.method = kind_names[kind];
    best->about.base = t->target->is_new && a->base != FT_NONE ? ft_predictor_device(t->job->from, a->base) : NULL;
    return FT_OK;
}

static ft_status try_base(trial *t, adapt_result *best, ft_error *error) {
    for (uint32_t kind = ADJUST_SCALE; kind <= ADJUST_REPRICE; kind++)
        if (may_try(t->job, t, (adjust_kind)kind)) FT_TRY(consider(t, (adjust_kind)kind, best, error));
    return FT_OK;
}

/* Folds of whole models. */
static ft_status make_folds(const job *j, target *t, look **looks, uint32_t *fold, uint32_t *folds, arena *memory) {
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
static double median_ratio(look **looks, uint32_t count, double *room) {
    for (uint32_t i = 0; i < count; i++) room[i] = looks[i]->row->label / looks[i]->said[0].value;
    return calibrate_quantile(room, count, 0.5 * count / (count + 1));
}

static ft_status fit_target(const job *j, target *t, look **looks, arena *memory, adapt_result *best) {
    uint32_t *fold = ARENA_ARRAY(memory, uint32_t, t->count), folds = 0;
    double *room = ARENA_ARRAY(memory, double, t->count);
    if (fold == NULL || room == NULL) return FT_NOMEM(j->error);
    FT_TRY(make_folds(j, t, looks, fold, &folds, memory));
    best->about = (ft_adapted_device){.device = t->name,
                                      .is_new = t->is_new,
                                      .models = t->model_count,
                                      .records = t->count,
                                      .scale = median_ratio(looks, t->count, room),
                                      .cv_scale = NAN,
                                      .cv = NAN};
    if (t->model_count < ADJUST_LEAST_REFIT && j->method != ADAPT_SCALE) {
        if (j->method == ADAPT_REFIT)
            return ft_fail(j->error, FT_ERR_USAGE, "'%s': %u models are too few to refit, at least %d are needed",
                           t->name, t->model_count, ADJUST_LEAST_REFIT);
        adapt_note(j->notes, "'%s': %u models are too few for more than its scale", t->name, t->model_count);
    }
    for (uint32_t b = 0; b < t->base_count; b++) {
        trial one = {.job = j, .target = t, .base = b, .looks = looks, .count = t->count, .folds = folds, .fold = fold};
        ft_status status = trial_open(&one, j->error);
        if (status == FT_OK) status = try_base(&one, best, j->error);
        trial_close(&one);
        FT_TRY(status);
    }
    return FT_OK;
}

static ft_status fit_targets(const job *j, const fit_context *context, arena *memory, adapt_result *results) {
    look **looks = ARENA_ARRAY(memory, look *, j->learned_count);
    if (looks == NULL) return FT_NOMEM(j->error);
    for (uint32_t d = 0; d < j->rows->device_count; d++) {
        target *t = &j->targets[d];
        t->count = 0;
        for (uint32_t i = 0; i < j->learned_count; i++)
            if (j->learned[i].device == d) looks[t->count++] = &j->looks[i];
        if (context->progress != NULL &&
            !context->progress(context->user, 0.3 + 0.4 * d / j->rows->device_count, "fitting"))
            return ft_fail(j->error, FT_ERR_CANCELLED, "stopped");
        if (t->count == 0)
            return ft_fail(j->error, FT_ERR_USAGE, "'%s': none of the models to learn from was measured on it",
                           t->name);
        FT_TRY(fit_target(j, t, looks, memory, &results[d]));
    }
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
    j->targets = ARENA_ARRAY(memory, target, (size_t)devices + 1);
    j->looks = ARENA_ARRAY(memory, look, (size_t)j->learned_count + 1);
    if (j->targets == NULL || j->looks == NULL) return FT_NOMEM(j->error);
    for (uint32_t i = 0; i < j->learned_count; i++) {
        j->looks[i].row = &j->learned[i];
        arena_init(&j->looks[i].memory, LOOK_MEMORY);
    }
    for (uint32_t d = 0; d < devices; d++) {
        target *t = &j->targets[d];
        t->name = j->rows->devices[d];
        FT_TRY(open_sheet(j->rows->data, t, j->error));
        FT_TRY(check_clash(j->from, t, j->error));
        FT_TRY(find_bases(j->from, t, j->error));
    }
    FT_TRY(look_at_all(j, context));
    return fit_targets(j, context, memory, results);
}

ft_status adapt_fit(const ft_predictor *from, const adapt_rows *rows, adapt_method method, uint64_t seed,
                    const fit_context *context, adapt_notes *notes, adapt_result *results, ft_error *error) {
    arena memory;
    arena_init(&memory, UINT64_MAX);
    job j = {.from = from, .rows = rows, .method = method, .seed = seed, .notes = notes, .error = error};
    ft_status status = run(&j, context, &memory, results);
    for (uint32_t d = 0; j.targets != NULL && d < rows->device_count; d++) target_free(&j.targets[d]);
    for (uint32_t i = 0; j.looks != NULL && i < j.learned_count; i++) arena_free(&j.looks[i].memory);
    arena_free(&memory);
    return status;
}
