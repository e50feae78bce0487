/* task_scores.c - ranking quality within tasks: names with several graphs, such as the programs that a tuner chooses
 * among. */
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "learn/evaluate/evaluation.h"
#include "learn/score/metrics.h"
#include "learn/score/rank.h"

/* The minimum relative difference of two predictions that are apart. Values from 1 to 5 % work about equally well
 * (docs/accuracy-programs.md). */
static const double APART = 0.02;
/* Pairs measured further apart than this differ clearly. */
static const double CLEAR_RATIO = 1.05;

/* --- Tasks --------------------------------------------------------------------------------------------------- */

static int by_device_and_name(const void *a, const void *b) {
    const ft_case *x = a, *y = b;
    int order = strcmp(x->device, y->device);
    if (order == 0) order = strcmp(x->name, y->name);
    return order != 0 ? order : (x->record > y->record) - (x->record < y->record);
}

static uint32_t cases_of_task(const ft_case *sorted, uint32_t count) {
    uint32_t run = 0;
    while (run < count && strcmp(sorted[run].device, sorted[0].device) == 0 &&
           strcmp(sorted[run].name, sorted[0].name) == 0)
        run++;
    return run;
}

/* One graph in several settings is not a task. */
static bool is_task(const ft_record *records, const ft_case *cases, uint32_t count) {
    for (uint32_t i = 1; i < count; i++)
        if (records[cases[i].record].graph != records[cases[0].record].graph) return true;
    return false;
}

/* --- Scores of a task------------------------------------------------------------------------------------------ */

static int by_prediction(const void *a, const void *b) {
    const ft_case *x = a, *y = b;
    if (x->predicted != y->predicted) return x->predicted < y->predicted ? -1 : 1;
    return (x->record > y->record) - (x->record < y->record);
}

bool ft_task_is_apart(double picked_us, double time_us) {
    return time_us > picked_us * (1 + APART);
}

/* How much slower, in percent, the best of the first `wanted` cases is than `best`. */
static double lost(const ft_case *ordered, uint32_t count, uint32_t wanted, double best) {
    double found = INFINITY;
    for (uint32_t i = 0; i < count && i < wanted; i++) found = fmin(found, ordered[i].measured);
    return 100 * (found / best - 1);
}

/* The same for the first `wanted` cases whose predictions are apart. */
static double lost_apart(const ft_case *ordered, uint32_t count, uint32_t wanted, double best) {
    double found = INFINITY, predicted = 0;
    for (uint32_t i = 0, picked = 0; i < count && picked < wanted; i++) {
        if (picked > 0 && !ft_task_is_apart(predicted, ordered[i].predicted)) continue;
        predicted = ordered[i].predicted;
        found = fmin(found, ordered[i].measured);
        picked++;
    }
    return 100 * (found / best - 1);
}

/* The number of tasks with pairs to order, and with clearly different ones. */
typedef struct ordered_tasks {
    double all, clear;
} ordered_tasks;

/* Adds a task to the sums of its device; sorts its cases by prediction. */
static ft_status add_task(ft_case *cases, uint32_t count, double *columns, ft_task_score *sums, ordered_tasks *ordered,
                          ft_error *error) {
    double tau = NAN, clear = NAN, best = INFINITY;
    assert(count >= 2);
    for (uint32_t i = 0; i < count; i++) {
        columns[i] = cases[i].measured;
        columns[count + i] = cases[i].predicted;
        best = fmin(best, cases[i].measured);
    }
    FT_TRY(rank_kendall(columns, columns + count, count, &tau, error));
    FT_TRY(rank_pairs_apart(columns, columns + count, count, CLEAR_RATIO, &clear, error));
    if (!isnan(tau)) {
        sums->order += 50 * (1 + tau);
        ordered->all++;
    }
    if (!isnan(tau) && !isnan(clear)) { /* equal predictions are no order */
        sums->order_clear += 100 * clear;
        ordered->clear++;
    }
    qsort(cases, count, sizeof *cases, by_prediction);
    sums->lost1 += lost(cases, count, 1, best);
    sums->lost5 += lost(cases, count, 5, best);
    sums->lost10 += lost(cases, count, 10, best);
    sums->apart5 += lost_apart(cases, count, 5, best);
    sums->apart10 += lost_apart(cases, count, 10, best);
    sums->tasks++;
    sums->n += count;
    return FT_OK;
}

/* --- Scores of a device------------------------------------------------------------------------------------------ */

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* `columns` has room for two numbers per case, `errors` for one. */
static ft_status score_device(const ft_record *records, ft_case *cases, uint32_t count, double *columns, double *errors,
                              ft_task_score *score, ft_error *error) {
    ordered_tasks ordered = {0};
    *score = (ft_task_score){.device = cases[0].device};
    for (uint32_t i = 0, run; i < count; i += run) {
        run = cases_of_task(cases + i, count - i);
        if (!is_task(records, cases + i, run)) continue;
        for (uint32_t k = 0; k < run; k++) errors[score->n + k] = metrics_relative_error(&cases[i + k]);
        FT_TRY(add_task(cases + i, run, columns, score, &ordered, error));
    }
    assert(score->n <= count);
    if (score->tasks == 0) return FT_OK;
    score->order /= ordered.all;
    score->order_clear /= ordered.clear;
    score->lost1 /= score->tasks;
    score->lost5 /= score->tasks;
    score->lost10 /= score->tasks;
    score->apart5 /= score->tasks;
    score->apart10 /= score->tasks;
    qsort(errors, score->n, sizeof *errors, by_value);
    score->median = 50 * (errors[(score->n - 1) / 2] + errors[score->n / 2]);
    return FT_OK;
}

static ft_status score_devices(const ft_record *records, ft_case *cases, uint32_t count, double *numbers,
                               ft_task_score *scores, uint32_t *score_count, ft_error *error) {
    for (uint32_t i = 0, run; i < count; i += run) {
        run = cases_of_device(cases + i, count - i);
        FT_TRY(
            score_device(records, cases + i, run, numbers, numbers + 2 * (size_t)count, &scores[*score_count], error));
        if (scores[*score_count].tasks > 0) *score_count += 1;
    }
    return FT_OK;
}

ft_status evaluation_tasks(arena *memory, const ft_dataset *data, const ft_case *cases, uint32_t count,
                           const ft_task_score **scores, uint32_t *score_count, ft_error *error) {
    ft_case *sorted = cases_sorted(cases, count);
    double *numbers = calloc((size_t)count + 1, 3 * sizeof *numbers);
    ft_status status = sorted != NULL && numbers != NULL ? FT_OK : FT_NOMEM(error);
    uint32_t devices = 0, made = 0;
    if (status == FT_OK) {
        for (uint32_t i = 0; i < count; devices++) i += cases_of_device(sorted + i, count - i);
        ft_task_score *all = ARENA_ARRAY(memory, ft_task_score, (size_t)devices + 1);
        qsort(sorted, count, sizeof *sorted, by_device_and_name);
        status = all == NULL ? FT_NOMEM(error)
                             : score_devices(ft_dataset_records(data), sorted, count, numbers, all, &made, error);
        *scores = all;
        *score_count = made;
    }
    free(sorted);
    free(numbers);
    return status;
}
