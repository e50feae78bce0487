/* compare.c - rows of a comparison from evaluations of the same data set.
 *
 * Rivals that know a device are compared on the records that all of them predicted, so their cases pair up: sorted the
 * same way, the i-th case of each is about the same record. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "learn/evaluate/cases.h"
#include "learn/evaluate/comparison.h"
#include "learn/evaluate/evaluation.h"
#include "learn/score/bootstrap.h"
#include "learn/score/metrics.h"

typedef struct contest {
    const ft_rival *rivals;
    uint32_t rival_count;
    bool has_families;
    uint64_t seed;
    ft_case **cases; /* of each rival, sorted; only those that all share */
    uint32_t *counts;
    const char **devices; /* of all rivals, by name */
    uint32_t device_count;
    arena memory;
    comparison made;
} contest;

/* --- What is compared ---------------------------------------------------------------------------------------- */

static ft_status check_rivals(const ft_rival *rivals, uint32_t count, ft_error *error) {
    if (count == 0) return ft_fail(error, FT_ERR_USAGE, "there is nothing to compare");
    const ft_evaluation *first = rivals[0].evaluation;
    for (uint32_t i = 1; i < count; i++) {
        const ft_evaluation *e = rivals[i].evaluation;
        if (strcmp(e->metric, first->metric) != 0)
            return ft_fail(error, FT_ERR_UNSUPPORTED, "%s tells '%s', but %s tells '%s': they cannot be compared",
                           rivals[0].name, first->metric, rivals[i].name, e->metric);
        if (strcmp(e->data_hash, first->data_hash) != 0)
            return ft_fail(error, FT_ERR_USAGE, "%s and %s were evaluated on different data sets", rivals[0].name,
                           rivals[i].name);
    }
    return FT_OK;
}

/* The cases of a device: `first` is where they begin. None when the rival does not know it. */
static uint32_t find_device(const contest *c, uint32_t rival, const char *device, uint32_t *first) {
    const ft_case *cases = c->cases[rival];
    for (uint32_t i = 0, run; i < c->counts[rival]; i += run) {
        run = cases_of_device(cases + i, c->counts[rival] - i);
        *first = i;
        if (strcmp(cases[i].device, device) == 0) return run;
    }
    return 0;
}

static uint32_t count_rivals(const contest *c, const char *device) {
    uint32_t count = 0, first;
    for (uint32_t r = 0; r < c->rival_count; r++) count += find_device(c, r, device, &first) > 0;
    return count;
}

static int by_text(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static ft_status list_devices(contest *c, ft_error *error) {
    size_t total = 0;
    for (uint32_t r = 0; r < c->rival_count; r++)
        for (uint32_t i = 0; i < c->counts[r]; total++) i += cases_of_device(c->cases[r] + i, c->counts[r] - i);
    const char **names = ARENA_ARRAY(&c->memory, const char *, total);
    if (names == NULL) return FT_NOMEM(error);
    size_t at = 0;
    for (uint32_t r = 0; r < c->rival_count; r++)
        for (uint32_t i = 0; i < c->counts[r]; i += cases_of_device(c->cases[r] + i, c->counts[r] - i))
            names[at++] = c->cases[r][i].device;
    qsort(names, total, sizeof *names, by_text);
    for (size_t i = 0; i < total; i++)
        if (i == 0 || strcmp(names[i], names[i - 1]) != 0) names[c->device_count++] = names[i];
    c->devices = names;
    return FT_OK;
}

/* Leaves the cases whose record was predicted by every rival that knows its device. */
static ft_status keep_shared(contest *c, ft_error *error) {
    uint32_t last = 0;
    for (uint32_t r = 0; r < c->rival_count; r++)
        for (uint32_t i = 0; i < c->counts[r]; i++)
            if (c->cases[r][i].record > last) last = c->cases[r][i].record;
    uint32_t *seen = ARENA_ARRAY(&c->memory, uint32_t, (size_t)last + 1);
    uint32_t *needed = ARENA_ARRAY(&c->memory, uint32_t, c->device_count);
    if (seen == NULL || needed == NULL) return FT_NOMEM(error);
    for (uint32_t d = 0; d < c->device_count; d++) needed[d] = count_rivals(c, c->devices[d]);
    for (uint32_t r = 0; r < c->rival_count; r++)
        for (uint32_t i = 0; i < c->counts[r]; i++) seen[c->cases[r][i].record]++;
    for (uint32_t r = 0; r < c->rival_count; r++) {
        uint32_t kept = 0, device = 0;
        for (uint32_t i = 0; i < c->counts[r]; i++) {
            while (strcmp(c->devices[device], c->cases[r][i].device) != 0) device++; /* both are sorted */
            if (seen[c->cases[r][i].record] == needed[device]) c->cases[r][kept++] = c->cases[r][i];
        }
        c->counts[r] = kept;
    }
    return FT_OK;
}

static ft_status gather(contest *c, ft_error *error) {
    c->cases = ARENA_ARRAY(&c->memory, ft_case *, c->rival_count);
    c->counts = ARENA_ARRAY(&c->memory, uint32_t, c->rival_count);
    if (c->cases == NULL || c->counts == NULL) return FT_NOMEM(error);
    for (uint32_t r = 0; r < c->rival_count; r++) {
        const ft_evaluation *e = c->rivals[r].evaluation;
        c->cases[r] = cases_sorted(e->cases, e->case_count);
        if (c->cases[r] == NULL) return FT_NOMEM(error);
        c->counts[r] = e->case_count;
    }
    FT_TRY(list_devices(c, error));
    return keep_shared(c, error);
}

/* --- Differences --------------------------------------------------------------------------------------------- */

/* The cases of a rival that a score is about: `groups` are their families for "mean", else it is one group. */
typedef struct scope {
    uint32_t first, count; /* in the cases of the device */
    const uint32_t *groups;
    uint32_t group_count;
} scope;

static ft_status compare_errors(const contest *c, const ft_case *base, const ft_case *own, const scope *s,
                                uint64_t stream, comparison_row *row, ft_error *error) {
    double *differences = calloc(s->count, sizeof *differences);
    if (differences == NULL) return FT_NOMEM(error);
    for (uint32_t i = 0; i < s->count; i++)
        differences[i] =
            100 * (metrics_relative_error(&own[s->first + i]) - metrics_relative_error(&base[s->first + i]));
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

/* One device: the rivals that know it, their cases and their scores. */
typedef struct round {
    const char *device;
    const ft_case **cases; /* per rival, NULL when it does not know the device */
    const ft_score **scores;
    uint32_t case_count, score_count;
    uint32_t *families; /* counts of cases */
} round_of_device;

static ft_status begin_round(contest *c, const char *device, round_of_device *round, ft_error *error) {
    *round = (round_of_device){.device = device,
                               .cases = ARENA_ARRAY(&c->memory, const ft_case *, c->rival_count),
                               .scores = ARENA_ARRAY(&c->memory, const ft_score *, c->rival_count)};
    if (round->cases == NULL || round->scores == NULL) return FT_NOMEM(error);
    const char *metric = c->rivals[0].evaluation->metric;
    for (uint32_t r = 0; r < c->rival_count; r++) {
        uint32_t first, count = find_device(c, r, device, &first);
        if (count == 0) continue;
        round->cases[r] = c->cases[r] + first;
        round->case_count = count;
        FT_TRY(evaluation_scores(&c->memory, metric, round->cases[r], count, &round->scores[r], &round->score_count,
                                 error));
    }
    round->families = ARENA_ARRAY(&c->memory, uint32_t, round->score_count + 1u);
    if (round->families == NULL) return FT_NOMEM(error);
    for (uint32_t i = 2; i < round->score_count; i++)
        for (uint32_t r = 0; r < c->rival_count; r++)
            if (round->scores[r] != NULL) round->families[i - 2] = round->scores[r][i].n;
    return FT_OK;
}

/* What the score at a place is about: "all", "mean", or a family. */
static scope scope_of(const round_of_device *round, uint32_t place) {
    if (place == 0) return (scope){0, round->case_count, &round->case_count, 1};
    if (place == 1) return (scope){0, round->case_count, round->families, round->score_count - 2};
    uint32_t first = 0;
    for (uint32_t i = 2; i < place; i++) first += round->families[i - 2];
    return (scope){first, round->families[place - 2], &round->families[place - 2], 1};
}

static ft_status add_rows(contest *c, const round_of_device *round, uint32_t device, uint32_t place, ft_error *error) {
    scope s = scope_of(round, place);
    for (uint32_t r = 0; r < c->rival_count; r++) {
        if (round->scores[r] == NULL) continue;
        comparison_row *row = &c->made.rows[c->made.count++];
        *row = (comparison_row){.rival = c->rivals[r].name, .score = round->scores[r][place]};
        uint64_t stream = ((uint64_t)device << 32) + place; /* all rivals meet the same draws */
        if (r > 0 && round->cases[0] != NULL)
            FT_TRY(compare_errors(c, round->cases[0], round->cases[r], &s, stream, row, error));
    }
    return FT_OK;
}

static ft_status compare_all(contest *c, ft_error *error) {
    size_t most = 0;
    FT_TRY(gather(c, error));
    for (uint32_t r = 0; r < c->rival_count; r++) most += c->rivals[r].evaluation->score_count;
    c->made.rows = ARENA_ARRAY(&c->memory, comparison_row, most);
    if (c->made.rows == NULL) return FT_NOMEM(error);
    for (uint32_t d = 0; d < c->device_count; d++) {
        round_of_device round;
        FT_TRY(begin_round(c, c->devices[d], &round, error));
        uint32_t places = c->has_families || round.score_count < 2 ? round.score_count : 2;
        for (uint32_t place = 0; place < places; place++) FT_TRY(add_rows(c, &round, d, place, error));
    }
    if (c->made.count == 0)
        return ft_fail(error, FT_ERR_UNSUPPORTED, "there is no record that the predictors were all evaluated on");
    comparison_mark(c->made.rows, c->made.count);
    return FT_OK;
}

ft_status ft_compare_write(const ft_rival *rivals, uint32_t count, bool has_families, uint64_t seed,
                           const ft_style *style, FILE *stream, ft_error *error) {
    FT_TRY(check_rivals(rivals, count, error));
    const ft_evaluation *first = rivals[0].evaluation;
    char view[SUBJECT_TEXT];
    evaluation_part_text(first, view);
    contest c = {.rivals = rivals, .rival_count = count, .has_families = has_families, .seed = seed};
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
