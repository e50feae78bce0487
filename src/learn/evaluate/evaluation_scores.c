/* evaluation_scores.c - sorts cases, computes scores by device and model family, and finds the worst cases. */
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "learn/evaluate/evaluation.h"
#include "learn/score/metrics.h"

/* --- Sorted cases -------------------------------------------------------------------------------------------- */

static int by_device_and_family(const void *a, const void *b) {
    const ft_case *x = a, *y = b;
    int order = strcmp(x->device, y->device);
    if (order == 0) order = strcmp(x->family, y->family);
    return order != 0 ? order : (x->record > y->record) - (x->record < y->record);
}

ft_case *cases_sorted(const ft_case *cases, uint32_t count) {
    ft_case *sorted = calloc(count > 0 ? count : 1, sizeof *sorted);
    if (sorted == NULL) return NULL;
    for (uint32_t i = 0; i < count; i++) sorted[i] = cases[i];
    qsort(sorted, count, sizeof *sorted, by_device_and_family);
    return sorted;
}

uint32_t cases_of_device(const ft_case *sorted, uint32_t count) {
    uint32_t run = 0;
    assert(count == 0 || sorted != NULL);
    while (run < count && strcmp(sorted[run].device, sorted[0].device) == 0) run++;
    return run;
}

uint32_t cases_of_family(const ft_case *sorted, uint32_t count) {
    uint32_t run = 0;
    while (run < count && strcmp(sorted[run].device, sorted[0].device) == 0 &&
           strcmp(sorted[run].family, sorted[0].family) == 0)
        run++;
    return run;
}

/* --- Scores -------------------------------------------------------------------------------------------------- */

static uint32_t count_scores(const ft_case *sorted, uint32_t count) {
    uint32_t scores = 0, devices = 0;
    for (uint32_t i = 0; i < count; scores++) i += cases_of_family(sorted + i, count - i);
    for (uint32_t i = 0; i < count; devices++) i += cases_of_device(sorted + i, count - i);
    return scores + 2 * devices;
}

/* Computes the scores of one device. */
static ft_status score_device(const ft_case *sorted, uint32_t count, const char *metric, ft_score *scores,
                              uint32_t *score_count, ft_error *error) {
    uint32_t made = 2;
    scores[0] = (ft_score){.device = sorted[0].device, .family = "all", .metric = metric};
    scores[1] = (ft_score){.device = sorted[0].device, .family = "mean", .metric = metric};
    FT_TRY(metrics_score(sorted, count, &scores[0], error));
    for (uint32_t i = 0, run; i < count; i += run) {
        run = cases_of_family(sorted + i, count - i);
        scores[made] = (ft_score){.device = sorted[0].device, .family = sorted[i].family, .metric = metric};
        FT_TRY(metrics_score(sorted + i, run, &scores[made++], error));
    }
    assert(made > 2); /* every device has cases */
    metrics_mean(scores + 2, made - 2, &scores[1]);
    *score_count = made;
    return FT_OK;
}

static ft_status score_sorted(arena *memory, const char *metric, const ft_case *sorted, uint32_t count,
                              const ft_score **scores, uint32_t *score_count, ft_error *error) {
    uint32_t made = 0;
    ft_score *all = ARENA_ARRAY(memory, ft_score, count_scores(sorted, count));
    if (all == NULL) return FT_NOMEM(error);
    for (uint32_t i = 0, run; i < count; i += run) {
        uint32_t of_device;
        run = cases_of_device(sorted + i, count - i);
        FT_TRY(score_device(sorted + i, run, metric, all + made, &of_device, error));
        made += of_device;
    }
    assert(made == count_scores(sorted, count));
    *scores = all;
    *score_count = made;
    return FT_OK;
}

ft_status evaluation_scores(arena *memory, const char *metric, const ft_case *cases, uint32_t count,
                            const ft_score **scores, uint32_t *score_count, ft_error *error) {
    ft_case *sorted = cases_sorted(cases, count);
    if (sorted == NULL) return FT_NOMEM(error);
    ft_status status = score_sorted(memory, metric, sorted, count, scores, score_count, error);
    free(sorted);
    return status;
}

uint32_t evaluation_device_scores(const ft_score *scores, uint32_t count) {
    uint32_t run = 0;
    while (run < count && strcmp(scores[run].device, scores[0].device) == 0) run++;
    return run;
}

/* --- Worst cases --------------------------------------------------------------------------------------------- */

static int by_error(const void *a, const void *b) {
    const ft_case *x = a, *y = b;
    double error_x = metrics_relative_error(x), error_y = metrics_relative_error(y);
    if (error_x != error_y) return error_x > error_y ? -1 : 1;
    return (x->record > y->record) - (x->record < y->record);
}

ft_case *evaluation_worst(const ft_evaluation *evaluation, uint32_t max, uint32_t *count) {
    ft_case *sorted = cases_sorted(evaluation->cases, evaluation->case_count);
    uint32_t kept = 0;
    if (sorted == NULL) return NULL;
    for (uint32_t i = 0, run; i < evaluation->case_count; i += run) {
        run = cases_of_device(sorted + i, evaluation->case_count - i);
        qsort(sorted + i, run, sizeof *sorted, by_error);
        uint32_t taken = run < max ? run : max;
        memmove(sorted + kept, sorted + i, taken * sizeof *sorted);
        kept += taken;
    }
    *count = kept;
    return sorted;
}
