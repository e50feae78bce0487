/* fold_scores.c - predicts the test part of each run by its own predictor, and pools the cases. */
#include "learn/train/fold_scores.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/input.h"
#include "learn/score/intervals.h"
#include "learn/score/metrics.h"
#include "predictor/core/predictor.h"

enum { MAX_PREDICTOR_BYTES = 1 << 30 };

/* The pooled cases of a metric while they are gathered. */
typedef struct pool_of_cases {
    ft_case *cases;
    calibrate_row *rows; /* one per case */
    uint32_t count, capacity;
    uint32_t ends[FOLD_MAX_RUNS]; /* of the cases of each run */
} pool_of_cases;

typedef struct gatherer {
    const fold_inputs *inputs;
    fold_scores *out;
    arena *memory;
    uint8_t *seen; /* per record: a run has tested it */
    pool_of_cases pools[FITSET_MAX_METRICS];
    uint32_t run;
    ft_error *error;
} gatherer;

/* --- Files --------------------------------------------------------------------------------------------------- */

static bool is_folder(const char *path) {
    struct stat info;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

/* RUN/predictor.ftm, or the file itself; the caller frees it. */
static char *predictor_path(const char *run) {
    char *path;
    if (!is_folder(run)) return strdup(run);
    return asprintf(&path, "%s/predictor.ftm", run) < 0 ? NULL : path;
}

static ft_status hash_file(const char *run, json_t **hashes, ft_error *error) {
    char *path = predictor_path(run), text[HASH_TEXT];
    input in;
    if (path == NULL) return FT_NOMEM(error);
    ft_status status = input_open(path, MAX_PREDICTOR_BYTES, &in, error);
    free(path);
    FT_TRY(status);
    hash_text(hash_bytes(in.bytes, in.size), text);
    input_close(&in);
    *hashes = json_list_with(*hashes, json_string(text));
    return *hashes != NULL ? FT_OK : FT_NOMEM(error);
}

ft_status fold_hashes(const char *const *runs, uint32_t count, json_t **hashes, ft_error *error) {
    if (runs == NULL) return ft_fail(error, FT_ERR_USAGE, "%u runs of folds, but no list of them", count);
    if (count < FOLD_MIN_RUNS || count > FOLD_MAX_RUNS)
        return ft_fail(error, FT_ERR_USAGE, "%u runs of folds: %d to %d are needed", count, FOLD_MIN_RUNS,
                       FOLD_MAX_RUNS);
    *hashes = json_array();
    for (uint32_t i = 0; i < count; i++) {
        ft_status status = *hashes != NULL ? hash_file(runs[i], hashes, error) : FT_NOMEM(error);
        if (status == FT_OK) continue;
        json_decref(*hashes);
        *hashes = NULL;
        return status;
    }
    return FT_OK;
}

/* --- The cases of a run -------------------------------------------------------------------------------------- */

static const char *metric_name(const fitset *rows, uint32_t k) {
    return k == 0 ? rows->set.metric : rows->set.others[k - 1];
}

static uint32_t metric_index(const fitset *rows, const char *name) {
    for (uint32_t k = 0; k <= rows->set.other_count; k++)
        if (strcmp(metric_name(rows, k), name) == 0) return k;
    return FT_NONE;
}

static bool reserve(pool_of_cases *p, uint32_t more) {
    if (p->capacity - p->count >= more) return true;
    if (more > UINT32_MAX / 2 - p->count) return false;
    uint32_t capacity = (p->count + more) * 2;
    ft_case *cases = realloc(p->cases, capacity * sizeof *cases);
    if (cases != NULL) p->cases = cases;
    calibrate_row *rows = cases != NULL ? realloc(p->rows, capacity * sizeof *rows) : NULL;
    if (rows == NULL) return false;
    p->rows = rows;
    p->capacity = capacity;
    return true;
}

/* A record that two runs tested would count twice, and one of them may have learned from it. */
static ft_status mark_seen(gatherer *g, const ft_evaluation *found) {
    for (uint32_t i = 0; i < found->case_count; i++) {
        if (g->seen[found->cases[i].record])
            return ft_fail(g->error, FT_ERR_USAGE, "%s: its test part has record %u ('%s'), as that of another run has",
                           g->inputs->runs[g->run], found->cases[i].record, found->cases[i].name);
        g->seen[found->cases[i].record] = 1;
    }
    return FT_OK;
}

/* The interval of a predictor is value * exp(+-q90 * spread). */
static ft_status add_cases(gatherer *g, const ft_predictor *predictor, const ft_evaluation *found) {
    const fit_set *set = &g->inputs->rows->set;
    uint32_t k = metric_index(g->inputs->rows, found->metric);
    if (k == FT_NONE) return FT_OK;
    pool_of_cases *p = &g->pools[k];
    if (!reserve(p, found->case_count)) return FT_NOMEM(g->error);
    for (uint32_t i = 0; i < found->case_count; i++) {
        const ft_case *c = &found->cases[i];
        uint32_t device = fitset_device(set, c->device), own = predictor_device_index(predictor, c->device);
        if (device == FT_NONE || own == FT_NONE) continue;
        p->rows[p->count] = (calibrate_row){.device = device,
                                            .measured = c->measured,
                                            .predicted = c->predicted,
                                            .spread = log(c->hi / c->predicted) / predictor_q90(predictor, own)};
        p->cases[p->count++] = *c;
    }
    return FT_OK;
}

static ft_status gather_metrics(gatherer *g, const ft_predictor *predictor, const ft_evaluation *found) {
    FT_TRY(mark_seen(g, found)); /* of all metrics together: each has the records of the first, or fewer */
    for (; found != NULL; found = found->next) {
        const ft_predictor *p = predictor;
        while (p != NULL && strcmp(ft_predictor_metric(p), found->metric) != 0) p = ft_predictor_next(p);
        assert(p != NULL);
        FT_TRY(add_cases(g, p, found));
    }
    return FT_OK;
}

static ft_status check_family(const gatherer *g, const ft_predictor *predictor) {
    const char *family = ft_predictor_family(predictor);
    if (strcmp(family, g->inputs->family->name) == 0) return FT_OK;
    return ft_fail(g->error, FT_ERR_USAGE, "%s: of the family '%s', but '%s' is trained", g->inputs->runs[g->run],
                   family, g->inputs->family->name);
}

static ft_status find_split(gatherer *g, const ft_predictor *predictor, ft_split *split) {
    bool is_found;
    FT_TRY(ft_predictor_split(predictor, g->inputs->rows->set.data, split, &is_found, g->error));
    if (!is_found) return ft_fail(g->error, FT_ERR_USAGE, "%s: not trained on this data set", g->inputs->runs[g->run]);
    if (g->out->spec == NULL) g->out->spec = arena_string(g->memory, split->spec, strlen(split->spec));
    return g->out->spec != NULL ? FT_OK : FT_NOMEM(g->error);
}

static ft_status gather_run(gatherer *g, const ft_predictor *predictor) {
    const fold_inputs *in = g->inputs;
    double step = 1.0 / in->run_count;
    fit_session_range range = {.session = in->session,
                               .from = FIT_SESSION_SHARE + 0.06 * step * g->run,
                               .to = FIT_SESSION_SHARE + 0.06 * step * (g->run + 1),
                               .what = "scoring the folds"};
    ft_split split = {0};
    ft_evaluation found = {0};
    FT_TRY(check_family(g, predictor));
    ft_status status = find_split(g, predictor, &split);
    const ft_evaluate_options options = {.split = &split,
                                         .part = FT_PART_TEST,
                                         .threads = in->threads,
                                         .progress = fit_session_progress,
                                         .user = &range};
    if (status == FT_OK) status = ft_evaluate(predictor, in->rows->set.data, &options, &found, g->error);
    if (status == FT_OK) status = gather_metrics(g, predictor, &found);
    ft_evaluation_free(&found);
    ft_split_free(&split);
    for (uint32_t k = 0; k < FITSET_MAX_METRICS; k++) g->pools[k].ends[g->run] = g->pools[k].count;
    return status;
}

static ft_status gather(gatherer *g) {
    for (g->run = 0; g->run < g->inputs->run_count; g->run++) {
        ft_predictor *predictor;
        char *path = predictor_path(g->inputs->runs[g->run]);
        if (path == NULL) return FT_NOMEM(g->error);
        ft_status status = ft_predictor_open(path, &predictor, g->error);
        free(path);
        FT_TRY(status);
        status = gather_run(g, predictor);
        ft_predictor_free(predictor);
        FT_TRY(status);
    }
    return FT_OK;
}

/* --- Intervals and scores ------------------------------------------------------------------------------------ */

/* Sets the intervals of the cases of a run by the quantiles of the other runs' cases. `others` has room for all rows.
 */
static ft_status set_intervals(const gatherer *g, pool_of_cases *p, uint32_t run, calibrate_row *others, double *q90) {
    uint32_t from = run > 0 ? p->ends[run - 1] : 0, to = p->ends[run], count = 0;
    for (uint32_t i = 0; i < p->count; i++)
        if (i < from || i >= to) others[count++] = p->rows[i];
    if (from == to || count == 0) return FT_OK;
    FT_TRY(calibrate(others, count, g->inputs->rows->set.device_count, q90, g->error));
    for (uint32_t i = from; i < to; i++) {
        double factor = exp(q90[p->rows[i].device] * p->rows[i].spread);
        p->cases[i].lo = p->cases[i].predicted / factor;
        p->cases[i].hi = p->cases[i].predicted * factor;
    }
    return FT_OK;
}

/* The score of one device, of the cases of which `some` has room for all. */
static ft_status score_device(const gatherer *g, const pool_of_cases *p, uint32_t device, ft_case *some,
                              ft_score *score) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < p->count; i++)
        if (p->rows[i].device == device) some[count++] = p->cases[i];
    return metrics_score(some, count, score, g->error);
}

static ft_status score_devices(const gatherer *g, const pool_of_cases *p, ft_case *some, fold_metric *m) {
    const fit_set *set = &g->inputs->rows->set;
    ft_score *scores = ARENA_ARRAY(g->memory, ft_score, set->device_count);
    if (scores == NULL) return FT_NOMEM(g->error);
    m->evaluation.scores = scores;
    for (uint32_t d = 0; d < set->device_count; d++) {
        ft_score *score = &scores[m->evaluation.score_count];
        *score = (ft_score){.device = set->devices[d], .family = "all", .metric = m->evaluation.metric};
        if (m->counts[d] == 0) continue;
        FT_TRY(score_device(g, p, d, some, score));
        m->evaluation.score_count++;
    }
    return FT_OK;
}

static ft_status settle_with(const gatherer *g, pool_of_cases *p, calibrate_row *rows, ft_case *some, fold_metric *m) {
    uint32_t device_count = g->inputs->rows->set.device_count;
    m->q90 = ARENA_ARRAY(g->memory, double, device_count);
    m->counts = ARENA_ARRAY(g->memory, uint32_t, device_count);
    if (m->q90 == NULL || m->counts == NULL) return FT_NOMEM(g->error);
    memset(m->counts, 0, device_count * sizeof *m->counts);
    for (uint32_t i = 0; i < p->count; i++) m->counts[p->rows[i].device]++;
    if (family_can(g->inputs->family, FAMILY_OWN_INTERVALS)) {
        for (uint32_t d = 0; d < device_count; d++) m->q90[d] = 1;
        return score_devices(g, p, some, m);
    }
    for (uint32_t run = 0; run < g->inputs->run_count; run++) FT_TRY(set_intervals(g, p, run, rows, m->q90));
    FT_TRY(calibrate(p->rows, p->count, device_count, m->q90, g->error));
    return score_devices(g, p, some, m);
}

static ft_status settle(gatherer *g, uint32_t k) {
    pool_of_cases *p = &g->pools[k];
    fold_metric *m = &g->out->metrics[k];
    if (p->count == 0)
        return ft_fail(g->error, FT_ERR_USAGE, "the runs of the folds predict no record of their test parts for %s",
                       metric_name(g->inputs->rows, k));
    m->evaluation = (ft_evaluation){.predictor_family = g->inputs->family->name,
                                    .metric = metric_name(g->inputs->rows, k),
                                    .data_hash = ft_dataset_hash(g->inputs->rows->set.data),
                                    .split = g->out->spec,
                                    .part = FT_PART_TEST,
                                    .cases = p->cases,
                                    .case_count = p->count};
    calibrate_row *rows = calloc(p->count, sizeof *rows);
    ft_case *some = calloc(p->count, sizeof *some);
    ft_status status = rows != NULL && some != NULL ? settle_with(g, p, rows, some, m) : FT_NOMEM(g->error);
    free(rows);
    free(some);
    m->evaluation.cases = NULL; /* of the gatherer */
    m->evaluation.case_count = 0;
    return status;
}

/* --- All steps ----------------------------------------------------------------------------------------------- */

static ft_status make(gatherer *g) {
    g->seen = calloc(ft_dataset_record_count(g->inputs->rows->set.data) + 1U, 1);
    if (g->seen == NULL) return FT_NOMEM(g->error);
    FT_TRY(gather(g));
    for (uint32_t k = 0; k <= g->inputs->rows->set.other_count; k++) FT_TRY(settle(g, k));
    return FT_OK;
}

ft_status fold_scores_make(const fold_inputs *inputs, fold_scores *out, ft_error *error) {
    assert(inputs->run_count >= FOLD_MIN_RUNS && inputs->run_count <= FOLD_MAX_RUNS);
    *out = (fold_scores){.run_count = inputs->run_count};
    arena *memory = calloc(1, sizeof *memory);
    if (memory == NULL) return FT_NOMEM(error);
    arena_init(memory, UINT64_MAX);
    out->owner = memory;
    gatherer g = {.inputs = inputs, .out = out, .memory = memory, .error = error};
    ft_status status = make(&g);
    for (uint32_t k = 0; k < FITSET_MAX_METRICS; k++) {
        free(g.pools[k].cases);
        free(g.pools[k].rows);
    }
    free(g.seen);
    if (status != FT_OK) fold_scores_free(out);
    return status;
}

void fold_scores_free(fold_scores *scores) {
    if (scores->owner != NULL) arena_free(scores->owner);
    free(scores->owner);
    *scores = (fold_scores){0};
}
