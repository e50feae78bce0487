/* compare.c - compares predictors by their evaluations on the same data set.
 *
 * Predictors that support a device are compared on the records that all of them predicted, so their cases are paired:
 * in the same order, the i-th case of each is the same record. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "learn/evaluate/comparison.h"
#include "learn/evaluate/evaluation.h"
#include "learn/score/intervals.h"
#include "learn/score/metrics.h"
#include "report/style.h"

typedef struct compare_job {
    const ft_compared_predictor *predictors;
    uint32_t predictor_count;
    bool has_families;
    uint64_t seed;
    ft_case **cases; /* of each predictor, sorted; only shared records */
    uint32_t *counts;
    const char **devices; /* of all predictors, by name */
    uint32_t device_count;
    arena memory;
    comparison made;
} compare_job;

/* --- Shared records ------------------------------------------------------------------------------------------ */

static ft_status check_predictors(const ft_compared_predictor *predictors, uint32_t count, ft_error *error) {
    if (count == 0) return ft_fail(error, FT_ERR_USAGE, "no predictors to compare");
    const ft_evaluation *first = predictors[0].evaluation;
    for (uint32_t i = 1; i < count; i++) {
        const ft_evaluation *e = predictors[i].evaluation;
        if (strcmp(e->metric, first->metric) != 0)
            return ft_fail(error, FT_ERR_UNSUPPORTED, "%s predicts '%s', but %s predicts '%s': they cannot be compared",
                           predictors[0].name, first->metric, predictors[i].name, e->metric);
        if (strcmp(e->data_hash, first->data_hash) != 0)
            return ft_fail(error, FT_ERR_USAGE, "%s and %s were evaluated on different data sets", predictors[0].name,
                           predictors[i].name);
    }
    return FT_OK;
}

/* The number of cases of a device and the index of the first; 0 when the predictor does not support it. */
static uint32_t find_device(const compare_job *c, uint32_t predictor, const char *device, uint32_t *first) {
    const ft_case *cases = c->cases[predictor];
    for (uint32_t i = 0, run; i < c->counts[predictor]; i += run) {
        run = cases_of_device(cases + i, c->counts[predictor] - i);
        *first = i;
        if (strcmp(cases[i].device, device) == 0) return run;
    }
    return 0;
}

static uint32_t count_predictors(const compare_job *c, const char *device) {
    uint32_t count = 0, first;
    for (uint32_t r = 0; r < c->predictor_count; r++) count += find_device(c, r, device, &first) > 0;
    return count;
}

static int by_text(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static ft_status list_devices(compare_job *c, ft_error *error) {
    size_t total = 0;
    for (uint32_t r = 0; r < c->predictor_count; r++)
        for (uint32_t i = 0; i < c->counts[r]; total++) i += cases_of_device(c->cases[r] + i, c->counts[r] - i);
    const char **names = ARENA_ARRAY(&c->memory, const char *, total);
    if (names == NULL) return FT_NOMEM(error);
    size_t at = 0;
    for (uint32_t r = 0; r < c->predictor_count; r++)
        for (uint32_t i = 0; i < c->counts[r]; i += cases_of_device(c->cases[r] + i, c->counts[r] - i))
            names[at++] = c->cases[r][i].device;
    qsort(names, total, sizeof *names, by_text);
    for (size_t i = 0; i < total; i++)
        if (i == 0 || strcmp(names[i], names[i - 1]) != 0) names[c->device_count++] = names[i];
    c->devices = names;
    return FT_OK;
}

/* Drops the cases whose record was not predicted by every predictor that supports its device. */
static ft_status drop_unshared(compare_job *c, ft_error *error) {
    uint32_t last = 0;
    for (uint32_t r = 0; r < c->predictor_count; r++)
        for (uint32_t i = 0; i < c->counts[r]; i++)
            if (c->cases[r][i].record > last) last = c->cases[r][i].record;
    uint32_t *predicted = ARENA_ARRAY(&c->memory, uint32_t, (size_t)last + 1);
    uint32_t *needed = ARENA_ARRAY(&c->memory, uint32_t, c->device_count);
    if (predicted == NULL || needed == NULL) return FT_NOMEM(error);
    for (uint32_t d = 0; d < c->device_count; d++) needed[d] = count_predictors(c, c->devices[d]);
    for (uint32_t r = 0; r < c->predictor_count; r++)
        for (uint32_t i = 0; i < c->counts[r]; i++) predicted[c->cases[r][i].record]++;
    for (uint32_t r = 0; r < c->predictor_count; r++) {
        uint32_t kept = 0, device = 0;
        for (uint32_t i = 0; i < c->counts[r]; i++) {
            while (strcmp(c->devices[device], c->cases[r][i].device) != 0) device++; /* both are sorted */
            assert(device < c->device_count);
            if (predicted[c->cases[r][i].record] == needed[device]) c->cases[r][kept++] = c->cases[r][i];
        }
        c->counts[r] = kept;
    }
    return FT_OK;
}

static ft_status gather(compare_job *c, ft_error *error) {
    c->cases = ARENA_ARRAY(&c->memory, ft_case *, c->predictor_count);
    c->counts = ARENA_ARRAY(&c->memory, uint32_t, c->predictor_count);
    if (c->cases == NULL || c->counts == NULL) return FT_NOMEM(error);
    for (uint32_t r = 0; r < c->predictor_count; r++) {
        const ft_evaluation *e = c->predictors[r].evaluation;
        c->cases[r] = cases_sorted(e->cases, e->case_count);
        if (c->cases[r] == NULL) return FT_NOMEM(error);
        c->counts[r] = e->case_count;
    }
    FT_TRY(list_devices(c, error));
    return drop_unshared(c, error);
}

/* --- Differences --------------------------------------------------------------------------------------------- */

/* The cases that a score covers: for "mean" the groups are model families, else there is one group. */
typedef struct scope {
    uint32_t first, count; /* in the cases of the device */
    const uint32_t *groups;
    uint32_t group_count;
} scope;

static ft_status compare_errors(const compare_job *c, const ft_case *base, const ft_case *own, const scope *s,
                                uint64_t stream, comparison_row *row, ft_error *error) {
    double *differences = calloc(s->count, sizeof *differences);
    if (differences == NULL) return FT_NOMEM(error);
    for (uint32_t i = s->first; i < s->first + s->count; i++) {
        assert(own[i].record == base[i].record);
        differences[i - s->first] = 100 * (metrics_relative_error(&own[i]) - metrics_relative_error(&base[i]));
    }
    bootstrap_result result = {0};
    ft_status status = bootstrap(differences, s->groups, s->group_count, c->seed, stream, &result, error);
    free(differences);
    if (status != FT_OK) return status;
    row->has_difference = true;
    row->difference = result.mean;
    row->lo = result.lo;
    row->hi = result.hi;
    return FT_OK;
}

/* --- Rows ---------------------------------------------------------------------------------------------------- */

/* The cases and scores of one device. */
typedef struct device_rows {
    const char *device;
    const ft_case **cases; /* per predictor; NULL when it does not support the device */
    const ft_score **scores;
    uint32_t case_count, score_count;
    uint32_t *families; /* counts of cases */
} device_rows;

static ft_status score_device_rows(compare_job *c, const char *device, device_rows *rows, ft_error *error) {
    *rows = (device_rows){.device = device,
                          .cases = ARENA_ARRAY(&c->memory, const ft_case *, c->predictor_count),
                          .scores = ARENA_ARRAY(&c->memory, const ft_score *, c->predictor_count)};
    if (rows->cases == NULL || rows->scores == NULL) return FT_NOMEM(error);
    const char *metric = c->predictors[0].evaluation->metric;
    for (uint32_t r = 0; r < c->predictor_count; r++) {
        uint32_t first, count = find_device(c, r, device, &first);
        if (count == 0) continue;
        rows->cases[r] = c->cases[r] + first;
        rows->case_count = count;
        FT_TRY(
            evaluation_scores(&c->memory, metric, rows->cases[r], count, &rows->scores[r], &rows->score_count, error));
    }
    rows->families = ARENA_ARRAY(&c->memory, uint32_t, rows->score_count + 1u);
    if (rows->families == NULL) return FT_NOMEM(error);
    for (uint32_t i = 2; i < rows->score_count; i++)
        for (uint32_t r = 0; r < c->predictor_count; r++)
            if (rows->scores[r] != NULL) rows->families[i - 2] = rows->scores[r][i].n;
    return FT_OK;
}

/* The scope of score `index` of a device: "all", "mean", then the families. */
static scope scope_of(const device_rows *rows, uint32_t index) {
    if (index == 0) return (scope){0, rows->case_count, &rows->case_count, 1};
    if (index == 1) return (scope){0, rows->case_count, rows->families, rows->score_count - 2};
    uint32_t first = 0;
    for (uint32_t i = 2; i < index; i++) first += rows->families[i - 2];
    return (scope){first, rows->families[index - 2], &rows->families[index - 2], 1};
}

static ft_status add_rows(compare_job *c, const device_rows *rows, uint32_t device, uint32_t index, ft_error *error) {
    scope s = scope_of(rows, index);
    for (uint32_t r = 0; r < c->predictor_count; r++) {
        if (rows->scores[r] == NULL) continue;
        comparison_row *row = &c->made.rows[c->made.count++];
        *row = (comparison_row){.predictor = c->predictors[r].name, .score = rows->scores[r][index]};
        uint64_t stream = ((uint64_t)device << 32) + index; /* the same resamples for all predictors */
        if (r > 0 && rows->cases[0] != NULL)
            FT_TRY(compare_errors(c, rows->cases[0], rows->cases[r], &s, stream, row, error));
    }
    return FT_OK;
}

static ft_status compare_all(compare_job *c, ft_error *error) {
    size_t max = 0;
    FT_TRY(gather(c, error));
    for (uint32_t r = 0; r < c->predictor_count; r++) max += c->predictors[r].evaluation->score_count;
    c->made.rows = ARENA_ARRAY(&c->memory, comparison_row, max);
    if (c->made.rows == NULL) return FT_NOMEM(error);
    for (uint32_t d = 0; d < c->device_count; d++) {
        device_rows rows;
        FT_TRY(score_device_rows(c, c->devices[d], &rows, error));
        uint32_t shown = c->has_families || rows.score_count < 2 ? rows.score_count : 2;
        for (uint32_t index = 0; index < shown; index++) FT_TRY(add_rows(c, &rows, d, index, error));
    }
    if (c->made.count == 0)
        return ft_fail(error, FT_ERR_UNSUPPORTED, "the predictors have no evaluated record in common");
    assert(c->made.count <= max);
    comparison_mark(c->made.rows, c->made.count);
    return FT_OK;
}

ft_status ft_compare_write(const ft_compared_predictor *predictors, uint32_t count, bool has_families, uint64_t seed,
                           const ft_style *style, FILE *stream, ft_error *error) {
    FT_REQUIRE(error, style, stream);
    if (count > 0) FT_REQUIRE(error, predictors);
    FT_TRY(style_check(style, error));
    FT_TRY(check_predictors(predictors, count, error));
    const ft_evaluation *first = predictors[0].evaluation;
    char view[PART_TEXT];
    evaluation_part_text(first, view);
    compare_job c = {.predictors = predictors, .predictor_count = count, .has_families = has_families, .seed = seed};
    arena_init(&c.memory, UINT64_MAX);
    c.made = (comparison){.view = view,
                          .metric = first->metric,
                          .data_hash = first->data_hash,
                          .split = first->split,
                          .part = first->split != NULL ? ft_split_part_name(first->part) : "all",
                          .has_differences = count > 1};
    ft_status status = compare_all(&c, error);
    if (status == FT_OK) status = comparison_write(&c.made, style, stream, error);
    for (uint32_t r = 0; c.cases != NULL && r < count; r++) free(c.cases[r]);
    arena_free(&c.memory);
    return status;
}
