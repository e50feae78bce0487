/* compare_runs.c - compares training runs by the scores in their metrics.json. */
#include "learn/evaluate/comparison.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/input.h"
#include "learn/score/metrics.h"
#include "report/style.h"

enum { METRICS_MAX_BYTES = 1 << 26 };

/* --- Reading ------------------------------------------------------------------------------------------------- */

ft_status run_results_parse(const char *name, const void *bytes, size_t size, json_t **results, ft_error *error) {
    json_t *root;
    ft_status status = json_parse(bytes, size, &root, error);
    if (status != FT_OK) return ft_fail_prefix(error, status, "%s/metrics.json", name);
    json_t *list = json_object_get(root, "results");
    bool is_list = json_is_array(list);
    if (is_list) *results = json_incref(list);
    json_decref(root);
    if (is_list) return FT_OK;
    return ft_fail(error, FT_ERR_DAMAGED, "%s/metrics.json: no list 'results': not written by a run", name);
}

static ft_status read_metrics(const char *folder, json_t **results, ft_error *error) {
    buf path = {0};
    input in;
    buf_format(&path, "%s/metrics.json", folder);
    if (path.failed) return FT_NOMEM(error);
    ft_status status = input_open(path.data, METRICS_MAX_BYTES, &in, error);
    buf_free(&path);
    FT_TRY(status);
    status = run_results_parse(folder, in.bytes, in.size, results, error);
    input_close(&in);
    return status;
}

static const char *text_of(const json_t *result, const char *key) {
    const char *text = json_string_value(json_object_get(result, key));
    return text != NULL ? text : "";
}

static bool has_part(const json_t *results, const char *part) {
    for (size_t i = 0; i < json_array_size(results); i++)
        if (strcmp(text_of(json_array_get(results, i), "part"), part) == 0) return true;
    return false;
}

/* --- Rows ---------------------------------------------------------------------------------------------------- */

typedef struct reader {
    arena memory;
    const char *const *names;
    json_t *const *results; /* of each run */
    uint32_t count;
    bool has_families;
    const char *part;
    comparison made;
} reader;

static ft_status read_score(reader *r, const json_t *result, ft_score *score, ft_error *error) {
    const char *texts[] = {text_of(result, "device"), text_of(result, "family"), text_of(result, "metric")};
    const char **kept[] = {&score->device, &score->family, &score->metric};
    for (size_t i = 0; i < 3; i++) {
        *kept[i] = arena_string(&r->memory, texts[i], strlen(texts[i]));
        if (*kept[i] == NULL) return FT_NOMEM(error);
    }
    json_int_t n = json_integer_value(json_object_get(result, "n"));
    score->n = n > 0 && n <= UINT32_MAX ? (uint32_t)n : 0;
    for (size_t i = 0; i < SCORE_FIELDS; i++) {
        const json_t *value = json_object_get(result, score_fields[i].key);
        score_set(score, &score_fields[i], json_is_number(value) ? json_number_value(value) : (double)NAN);
    }
    return FT_OK;
}

/* Of a run with several metrics, only the first is compared. */
static bool is_wanted(const reader *r, uint32_t run, const json_t *result) {
    const char *family = text_of(result, "family"), *metric = text_of(json_array_get(r->results[run], 0), "metric");
    return strcmp(text_of(result, "metric"), metric) == 0 && strcmp(text_of(result, "part"), r->part) == 0 &&
           (r->has_families || strcmp(family, "all") == 0 || strcmp(family, "mean") == 0);
}

static ft_status add_run(reader *r, uint32_t run, ft_error *error) {
    for (size_t i = 0; i < json_array_size(r->results[run]); i++) {
        const json_t *result = json_array_get(r->results[run], i);
        if (!is_wanted(r, run, result)) continue;
        comparison_row *row = &r->made.rows[r->made.count++];
        *row = (comparison_row){.predictor = r->names[run]};
        FT_TRY(read_score(r, result, &row->score, error));
        const comparison_row *first = &r->made.rows[0];
        if (strcmp(row->score.metric, first->score.metric) != 0)
            return ft_fail(error, FT_ERR_USAGE,
                           "'%s' predicts %s and '%s' predicts %s: only predictions of the same metric can be compared",
                           first->predictor, first->score.metric, row->predictor, row->score.metric);
    }
    return FT_OK;
}

/* "all" and "mean" come before the families, as in evaluations. */
static int family_order(const char *family) {
    return strcmp(family, "all") == 0 ? 0 : strcmp(family, "mean") == 0 ? 1 : 2;
}

/* Rows of one run are adjacent, so ties are broken by address: the order of the runs. */
static int by_group(const void *a, const void *b) {
    const comparison_row *const *x = a, *const *y = b;
    const ft_score *p = &(*x)->score, *q = &(*y)->score;
    int order = strcmp(p->device, q->device);
    if (order == 0) order = family_order(p->family) - family_order(q->family);
    if (order == 0) order = strcmp(p->family, q->family);
    return order != 0 ? order : (*x > *y) - (*x < *y);
}

static ft_status sort_rows(reader *r, ft_error *error) {
    uint32_t count = r->made.count;
    const comparison_row **order = ARENA_ARRAY(&r->memory, const comparison_row *, count);
    comparison_row *sorted = ARENA_ARRAY(&r->memory, comparison_row, count);
    if (order == NULL || sorted == NULL) return FT_NOMEM(error);
    for (uint32_t i = 0; i < count; i++) order[i] = &r->made.rows[i];
    qsort(order, count, sizeof *order, by_group);
    for (uint32_t i = 0; i < count; i++) sorted[i] = *order[i];
    r->made.rows = sorted;
    return FT_OK;
}

/* The test part; the validation part when a run has no scores of the test part. */
static ft_status choose_part(reader *r, ft_error *error) {
    static const char *const parts[] = {"test", "valid"};
    for (size_t p = 0; p < 2; p++) {
        uint32_t have = 0;
        while (have < r->count && has_part(r->results[have], parts[p])) have++;
        r->part = parts[p];
        if (have == r->count) return FT_OK;
    }
    return ft_fail(error, FT_ERR_DAMAGED, "the runs have no evaluated part in common");
}

static ft_status compare(reader *r, const ft_style *style, FILE *stream, ft_error *error) {
    size_t max = 0;
    for (uint32_t i = 0; i < r->count; i++) max += json_array_size(r->results[i]);
    FT_TRY(choose_part(r, error));
    r->made = (comparison){.part = r->part, .rows = ARENA_ARRAY(&r->memory, comparison_row, max)};
    if (r->made.rows == NULL) return FT_NOMEM(error);
    for (uint32_t i = 0; i < r->count; i++) FT_TRY(add_run(r, i, error));
    if (r->made.count == 0) return ft_fail(error, FT_ERR_DAMAGED, "the runs have no scores over all their records");
    assert(r->made.count <= max);
    r->made.metric = r->made.rows[0].score.metric;
    r->made.view = strcmp(r->part, "test") == 0 ? "test part, as reported by the runs"
                                                : "validation part, as reported by the runs: not all were tested";
    FT_TRY(sort_rows(r, error));
    comparison_mark(r->made.rows, r->made.count);
    return comparison_write(&r->made, style, stream, error);
}

ft_status run_results_compare(const char *const *names, json_t *const *results, uint32_t count, bool has_families,
                              const ft_style *style, FILE *stream, ft_error *error) {
    reader r = {.names = names, .results = results, .count = count, .has_families = has_families};
    arena_init(&r.memory, UINT64_MAX);
    ft_status status = compare(&r, style, stream, error);
    arena_free(&r.memory);
    return status;
}

ft_status ft_compare_runs(const char *const *folders, uint32_t count, bool has_families, const ft_style *style,
                          FILE *stream, ft_error *error) {
    FT_REQUIRE(error, style, stream);
    if (count > 0) FT_REQUIRE(error, folders);
    FT_TRY(style_check(style, error));
    if (count == 0) return ft_fail(error, FT_ERR_USAGE, "no runs to compare");
    json_t **results = calloc(count, sizeof(json_t *));
    if (results == NULL) return FT_NOMEM(error);
    ft_status status = FT_OK;
    for (uint32_t i = 0; status == FT_OK && i < count; i++) status = read_metrics(folders[i], &results[i], error);
    if (status == FT_OK) status = run_results_compare(folders, results, count, has_families, style, stream, error);
    for (uint32_t i = 0; i < count; i++) json_decref(results[i]);
    free(results);
    return status;
}
