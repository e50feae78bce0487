/* evaluate.c - predicts the selected records of a data set in parallel.
 *
 * A graph is unpacked, bound, costed and fused once for all its devices (predictor/core/scan.h). Each record has its
 * own case to write to, so the result does not depend on the number of threads. */
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "learn/evaluate/evaluation.h"
#include "learn/evaluate/select.h"
#include "predictor/core/predictor.h"
#include "predictor/core/scan.h"

enum { PREDICTION_MEMORY = 1 << 28 };

typedef struct work {
    const ft_evaluate_options *options;
    selection selected;
    ft_case *cases;                /* one per row */
    uint32_t metric, metric_count; /* of a predictor of several metrics, for progress */
    arena *memory;
    const char *refusal; /* reason of the first record that the predictor could not predict */
} work;

/* --- Predicting ---------------------------------------------------------------------------------------------- */

/* A record that the predictor does not support is not a failure: its prediction is NaN, and `found` gets the reason. */
static ft_status predict_row(const work *w, model_view *s, uint32_t row, arena *memory, buf *found, ft_error *error) {
    const ft_predictor *predictor = w->selected.predictor;
    target_device target = selection_target(&w->selected, &w->selected.rows[row]);
    model_output p;
    ft_error reason = {.message = ""};
    const predict_input in = {.view = s, .target = &target, .memory = memory};
    ft_status status = predictor_predict(predictor, &in, &p, &reason);
    if (status == FT_ERR_UNSUPPORTED) {
        w->cases[row].predicted = NAN;
        if (found->length == 0) buf_text(found, reason.message);
        return FT_OK;
    }
    if (status != FT_OK) return ft_fail(error, status, "%s", reason.message);
    ft_metric_result estimate = predictor_metric_result(predictor, target.index, &p);
    w->cases[row].predicted = estimate.value;
    w->cases[row].lo = estimate.lo;
    w->cases[row].hi = estimate.hi;
    return FT_OK;
}

static ft_status predict_item(void *user, const scan_item *item, model_view *s, uint32_t worker, buf *found,
                              ft_error *error) {
    (void)worker;
    arena memory;
    arena_init(&memory, PREDICTION_MEMORY);
    ft_status status = FT_OK;
    for (uint32_t i = 0; i < item->row_count && status == FT_OK; i++)
        status = predict_row(user, s, item->rows[i], &memory, found, error);
    arena_free(&memory);
    return status;
}

/* Called in the order of the records: the reason does not depend on the number of threads. */
static ft_status gather_item(void *user, const scan_item *item, const buf *found, ft_error *error) {
    work *w = user;
    (void)item;
    if (found->length == 0 || w->refusal != NULL) return FT_OK;
    w->refusal = arena_string(w->memory, found->data, found->length);
    return w->refusal != NULL ? FT_OK : FT_NOMEM(error);
}

static bool show_progress(void *user, double done_ratio, const char *what) {
    const work *w = user;
    double count = w->selected.count;
    return w->options->progress(w->options->user, (uint64_t)((w->metric + done_ratio) * count),
                                w->metric_count * (uint64_t)w->selected.count, what);
}

static ft_status predict_all(work *w, const ft_dataset *data, ft_error *error) {
    const fit_context context = {.user = w, .progress = show_progress};
    pool *threads = NULL;
    scan *s = NULL;
    ft_status status = pool_new(w->options->threads, &threads, error);
    if (status == FT_OK) status = scan_new(data, (fit_rows){w->selected.rows, w->selected.count}, &s, error);
    if (status == FT_OK)
        status = scan_run(s,
                          &(scan_job){.threads = threads,
                                      .visit = predict_item,
                                      .gather = gather_item,
                                      .user = w,
                                      .context = w->options->progress != NULL ? &context : NULL,
                                      .to = 1,
                                      .what = "predicting"},
                          error);
    scan_free(s);
    pool_free(threads);
    return status;
}

/* --- Evaluation ---------------------------------------------------------------------------------------------- */

static void begin_cases(const selection *s, const ft_dataset *data, ft_case *cases) {
    for (uint32_t i = 0; i < s->count; i++) {
        const ft_record *record = &ft_dataset_records(data)[s->rows[i].record];
        cases[i] = (ft_case){.record = s->rows[i].record,
                             .measured = s->rows[i].label,
                             .name = record->name,
                             .family = record->family,
                             .device = record->device};
    }
}

static char *keep(arena *memory, const char *text) {
    return arena_string(memory, text, strlen(text));
}

/* Copies the description of what was evaluated: the split may be freed before the evaluation is written. */
static bool describe(arena *memory, const ft_dataset *data, const ft_evaluate_options *options, const selection *s,
                     ft_evaluation *e) {
    e->predictor_family = keep(memory, ft_predictor_family(s->predictor));
    e->metric = keep(memory, ft_predictor_metric(s->predictor));
    e->data_hash = keep(memory, ft_dataset_hash(data));
    e->left_out = s->left_out;
    e->adapted = s->adapted;
    bool has_split = options->split != NULL;
    if (has_split) {
        e->split = keep(memory, options->split->spec);
        e->split_hash = keep(memory, options->split->hash);
        e->seed = options->split->seed;
        e->part = options->part;
    }
    return e->predictor_family != NULL && e->metric != NULL && e->data_hash != NULL &&
           (!has_split || (e->split != NULL && e->split_hash != NULL));
}

/* Drops the cases without a prediction. */
static ft_status drop_refused(const work *w, ft_evaluation *e, ft_error *error) {
    for (uint32_t i = 0; i < w->selected.count; i++)
        if (!isnan(w->cases[i].predicted)) w->cases[e->case_count++] = w->cases[i];
    e->cases = w->cases;
    assert(e->case_count <= w->selected.count);
    e->refused = w->selected.count - e->case_count;
    e->refusal = w->refusal;
    e->left_out += e->refused;
    if (e->case_count > 0) return FT_OK;
    return ft_fail(error, FT_ERR_UNSUPPORTED, "none of %u records can be predicted: %s", e->refused, w->refusal);
}

static ft_status fill(work *w, const ft_dataset *data, ft_evaluation *e, ft_error *error) {
    w->cases = ARENA_ARRAY(w->memory, ft_case, w->selected.count);
    if (w->cases == NULL || !describe(w->memory, data, w->options, &w->selected, e)) return FT_NOMEM(error);
    begin_cases(&w->selected, data, w->cases);
    FT_TRY(predict_all(w, data, error));
    FT_TRY(drop_refused(w, e, error));
    for (uint32_t i = 0; i < e->case_count; i++)
        e->synthetic += ft_dataset_records(data)[e->cases[i].record].is_synthetic;
    FT_TRY(evaluation_scores(w->memory, e->metric, e->cases, e->case_count, &e->scores, &e->score_count, error));
    return evaluation_tasks(w->memory, data, e->cases, e->case_count, &e->tasks, &e->task_count, error);
}

/* --- Metrics ------------------------------------------------------------------------------------------------- */

static ft_status evaluate_one(const ft_predictor *predictor, const ft_dataset *data, work *w, ft_evaluation *evaluation,
                              ft_error *error) {
    FT_TRY(selection_make(predictor, data, w->options, &w->selected, error));
    w->memory = calloc(1, sizeof *w->memory); /* owned by the evaluation */
    ft_evaluation made = {.owner = w->memory};
    ft_status status = FT_OK;
    if (w->memory == NULL) {
        status = FT_NOMEM(error);
    } else {
        arena_init(w->memory, UINT64_MAX);
        status = fill(w, data, &made, error);
    }
    selection_free(&w->selected);
    if (status == FT_OK)
        *evaluation = made;
    else
        ft_evaluation_free(&made);
    return status;
}

/* Evaluates every metric of a file that the data set has; when it has none, the error is that of the first. */
static ft_status evaluate_all(const ft_predictor *first, const ft_dataset *data, const ft_evaluate_options *options,
                              uint32_t metric_count, ft_evaluation *evaluation, ft_error *error) {
    ft_evaluation *last = NULL;
    ft_error why = {.status = FT_OK};
    for (uint32_t k = 0; k < metric_count; k++, first = ft_predictor_next(first)) {
        work w = {.options = options, .metric = k, .metric_count = metric_count};
        ft_evaluation *next = last == NULL ? evaluation : ARENA_NEW(last->owner, ft_evaluation);
        ft_error refusal = {.status = FT_OK};
        if (next == NULL) return FT_NOMEM(error);
        ft_status status = evaluate_one(first, data, &w, next, &refusal);
        if (status == FT_ERR_UNSUPPORTED) {
            if (why.status == FT_OK) why = refusal;
            continue;
        }
        if (status != FT_OK) return ft_fail(error, status, "%s", refusal.message);
        if (last != NULL) last->next = next;
        last = next;
    }
    return last != NULL ? FT_OK : ft_fail(error, why.status, "%s", why.message);
}

ft_status ft_evaluate(const ft_predictor *predictor, const ft_dataset *data, const ft_evaluate_options *options,
                      ft_evaluation *evaluation, ft_error *error) {
    FT_REQUIRE(error, predictor, data, options, evaluation);
    uint32_t metric_count = 0;
    for (const ft_predictor *p = predictor; p != NULL; p = ft_predictor_next(p)) metric_count++;
    ft_evaluation made = {0};
    ft_status status = evaluate_all(predictor, data, options, options->metric != NULL ? 1 : metric_count, &made, error);
    if (status == FT_OK)
        *evaluation = made;
    else
        ft_evaluation_free(&made);
    return status;
}

void ft_evaluation_free(ft_evaluation *evaluation) {
    if (evaluation == NULL) return;
    ft_evaluation_free(
        (ft_evaluation *)(uintptr_t)evaluation->next); /* allocated by evaluate_all in the owner's memory */
    if (evaluation->owner != NULL) arena_free(evaluation->owner);
    free(evaluation->owner);
    *evaluation = (ft_evaluation){0};
}
