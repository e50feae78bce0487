/* evaluate.c - asks a predictor about every record of a data set that it can be asked about, on all threads.
 *
 * A graph is unpacked, bound, costed and fused once for all its devices (predictor/scan.h). Each record has its own
 * place for what was predicted, so the result does not depend on the number of threads. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "learn/evaluation.h"
#include "learn/select.h"
#include "predictor/predictor.h"
#include "predictor/scan.h"

enum { PREDICTION_MEMORY = 1 << 28 };

typedef struct work {
    const ft_evaluate_options *options;
    const selection *selected;
    ft_case *cases; /* one per row */
} work;

/* --- Predicting ---------------------------------------------------------------------------------------------- */

static ft_status predict_row(const work *w, subject *s, uint32_t row, arena *memory, ft_error *error) {
    const ft_predictor *predictor = w->selected->predictor;
    place where = selection_place(w->selected, &w->selected->rows[row]);
    prediction p;
    FT_TRY(predictor_predict(predictor, s, &where, false, memory, &p, error));
    ft_estimate estimate = predictor_estimate(predictor, where.index, &p);
    w->cases[row].predicted = estimate.value;
    w->cases[row].lo = estimate.lo;
    w->cases[row].hi = estimate.hi;
    return FT_OK;
}

static ft_status predict_item(void *user, const scan_item *item, subject *s, uint32_t worker, buf *found,
                              ft_error *error) {
    (void)worker;
    (void)found;
    arena memory;
    arena_init(&memory, PREDICTION_MEMORY);
    ft_status status = FT_OK;
    for (uint32_t i = 0; i < item->row_count && status == FT_OK; i++)
        status = predict_row(user, s, item->rows[i], &memory, error);
    arena_free(&memory);
    return status;
}

static bool show_progress(void *user, double done_ratio, const char *what) {
    const work *w = user;
    uint64_t total = w->selected->count;
    return w->options->progress(w->options->user, (uint64_t)(done_ratio * (double)total), total, what);
}

static ft_status predict_all(work *w, const ft_dataset *data, ft_error *error) {
    const fit_context context = {.user = w, .progress = show_progress};
    pool *threads = NULL;
    scan *s = NULL;
    ft_status status = pool_new(w->options->threads, &threads, error);
    if (status == FT_OK) status = scan_new(data, (fit_rows){w->selected->rows, w->selected->count}, &s, error);
    if (status == FT_OK)
        status = scan_run(s,
                          &(scan_job){.threads = threads,
                                      .visit = predict_item,
                                      .user = w,
                                      .context = w->options->progress != NULL ? &context : NULL,
                                      .to = 1,
                                      .what = "predicting"},
                          error);
    scan_free(s);
    pool_free(threads);
    return status;
}

/* --- The evaluation ------------------------------------------------------------------------------------------ */

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

/* What was evaluated: the split may be gone when the evaluation is written. */
static bool describe(arena *memory, const ft_dataset *data, const ft_evaluate_options *options, const selection *s,
                     ft_evaluation *e) {
    e->predictor_family = keep(memory, ft_predictor_family(s->predictor));
    e->metric = keep(memory, ft_predictor_metric(s->predictor));
    e->data_hash = keep(memory, ft_dataset_hash(data));
    e->left_out = s->left_out;
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

static ft_status fill(arena *memory, const ft_dataset *data, const ft_evaluate_options *options, const selection *s,
                      ft_evaluation *e, ft_error *error) {
    ft_case *cases = ARENA_ARRAY(memory, ft_case, s->count);
    if (cases == NULL || !describe(memory, data, options, s, e)) return FT_NOMEM(error);
    begin_cases(s, data, cases);
    FT_TRY(predict_all(&(work){options, s, cases}, data, error));
    e->cases = cases;
    for (uint32_t i = 0; i < s->count; i++) e->synthetic += ft_dataset_records(data)[cases[i].record].is_synthetic;
    e->case_count = s->count;
    FT_TRY(evaluation_scores(memory, e->metric, cases, s->count, &e->scores, &e->score_count, error));
    return evaluation_tasks(memory, data, cases, s->count, &e->tasks, &e->task_count, error);
}

ft_status ft_evaluate(const ft_predictor *predictor, const ft_dataset *data, const ft_evaluate_options *options,
                      ft_evaluation *evaluation, ft_error *error) {
    selection s = {0};
    FT_TRY(selection_make(predictor, data, options, &s, error));
    arena *memory = calloc(1, sizeof *memory); /* what the evaluation points into */
    ft_evaluation made = {.owner = memory};
    ft_status status = FT_OK;
    if (memory == NULL) {
        status = FT_NOMEM(error);
    } else {
        arena_init(memory, UINT64_MAX);
        status = fill(memory, data, options, &s, &made, error);
    }
    selection_free(&s);
    if (status == FT_OK)
        *evaluation = made;
    else
        ft_evaluation_free(&made);
    return status;
}

void ft_evaluation_free(ft_evaluation *evaluation) {
    if (evaluation == NULL) return;
    if (evaluation->owner != NULL) arena_free(evaluation->owner);
    free(evaluation->owner);
    *evaluation = (ft_evaluation){0};
}
