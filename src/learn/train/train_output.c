/* train_output.c - calibrates and scores a fitted model, and encodes its files.
 *
 * The predictor is encoded three times: with quantiles of 1, to obtain errors and spreads of the calibration rows; with
 * its quantiles, to score it; and with its scores in the header, which is the final file. */
#include "learn/train/train_output.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_writer.h"
#include "data/dataset.h"
#include "data/fold.h"
#include "learn/score/intervals.h"
#include "learn/score/score_json.h"
#include "predictor/core/predictor.h"

enum { METRICS_VERSION = 1 };

typedef struct maker {
    const train_output_inputs *inputs;
    train_output *out;
    json_t *calibrations[FITSET_MAX_METRICS]; /* of set.metric, then set.others; NULL: unknown */
    json_t *accuracy;
    json_t *scores;
    const char *held_out; /* unit of the split, or of the folds */
    uint32_t fold_count;  /* 0: scores are of the split */
    ft_error *error;
} maker;

/* --- Encoding and evaluating --------------------------------------------------------------------------------- */

/* Metric k of the set: set.metric, then set.others. */
static predictor_metric metric_of(const maker *m, uint32_t k) {
    assert(k <= m->inputs->rows->set.other_count && k < FITSET_MAX_METRICS);
    const fitset *rows = m->inputs->rows;
    return (predictor_metric){.name = k == 0 ? rows->set.metric : rows->set.others[k - 1],
                              .modes = k == 0 ? rows->modes : rows->other_modes[k - 1],
                              .calibration = m->calibrations[k]};
}

static uint32_t metric_count(const maker *m) {
    return 1 + m->inputs->rows->set.other_count;
}

static ft_status encode(maker *m) {
    const train_output_inputs *f = m->inputs;
    predictor_metric others[FITSET_MAX_METRICS];
    for (uint32_t k = 1; k < metric_count(m); k++) others[k - 1] = metric_of(m, k);
    const predictor_description about = {.metric = metric_of(m, 0),
                                         .others = others,
                                         .other_count = metric_count(m) - 1,
                                         .devices = f->rows->set.devices,
                                         .device_count = f->rows->set.device_count,
                                         .dtypes = f->rows->dtypes,
                                         .usual_dtypes = f->rows->usual,
                                         .dataset_hash = ft_dataset_hash(f->rows->set.data),
                                         .split_spec = f->split->spec,
                                         .split_hash = f->split->hash,
                                         .seed = f->seed,
                                         .records = f->rows->set.train.count,
                                         .accuracy = m->accuracy};
    buf_free(&m->out->predictor);
    FT_TRY(predictor_encode(&about, f->family, f->model, &m->out->predictor, m->error));
    return m->out->predictor.failed ? FT_NOMEM(m->error) : FT_OK;
}

static ft_status evaluate(maker *m, const ft_split *split, ft_split_part part, fit_session_range range,
                          ft_evaluation *found) {
    const train_output_inputs *f = m->inputs;
    ft_predictor *predictor;
    range.session = f->session;
    const ft_evaluate_options options = {
        .split = split, .part = part, .threads = f->threads, .progress = fit_session_progress, .user = &range};
    FT_TRY(ft_predictor_open_memory(m->out->predictor.data, m->out->predictor.length, "the new predictor", &predictor,
                                    m->error));
    ft_status status = ft_evaluate(predictor, f->rows->set.data, &options, found, m->error);
    ft_predictor_free(predictor);
    return status;
}

/* --- Intervals ----------------------------------------------------------------------------------------------- */

/* {"adreno-640": {"q90": 1.7, "n": 1213}, ...} */
static ft_status store_calibration(maker *m, uint32_t metric, const double *q90, const uint32_t *counts) {
    const fit_set *set = &m->inputs->rows->set;
    json_decref(m->calibrations[metric]);
    m->calibrations[metric] = json_object();
    for (uint32_t d = 0; d < set->device_count; d++) {
        json_t *device = json_pack("{s:f, s:I}", "q90", q90[d], "n", (json_int_t)counts[d]);
        if (!json_put(m->calibrations[metric], set->devices[d], device)) return FT_NOMEM(m->error);
    }
    return FT_OK;
}

/* The predictor was encoded with a quantile of 1: log(hi / predicted) is the spread. */
static ft_status calibrate_on(maker *m, const ft_evaluation *found, double *q90, uint32_t *counts) {
    const fit_set *set = &m->inputs->rows->set;
    calibrate_row *rows = calloc(found->case_count + 1U, sizeof *rows);
    if (rows == NULL) return FT_NOMEM(m->error);
    for (uint32_t d = 0; d < set->device_count; d++) counts[d] = 0;
    for (uint32_t i = 0; i < found->case_count; i++) {
        const ft_case *c = &found->cases[i];
        uint32_t device = fitset_device(set, ft_dataset_records(set->data)[c->record].device);
        rows[i] = (calibrate_row){
            .device = device, .measured = c->measured, .predicted = c->predicted, .spread = log(c->hi / c->predicted)};
        if (device < set->device_count) counts[device]++;
    }
    ft_status status = calibrate(rows, found->case_count, set->device_count, q90, m->error);
    free(rows);
    return status;
}

/* The quantiles of one metric; unknown for a metric that could not be evaluated. */
static ft_status calibrate_metric(maker *m, uint32_t metric, const ft_evaluation *found, double *q90,
                                  uint32_t *counts) {
    while (found != NULL && strcmp(found->metric, metric_of(m, metric).name) != 0) found = found->next;
    if (found == NULL) {
        json_decref(m->calibrations[metric]);
        m->calibrations[metric] = NULL;
        return FT_OK;
    }
    FT_TRY(calibrate_on(m, found, q90, counts));
    return store_calibration(m, metric, q90, counts);
}

static ft_status store_fold_calibrations(maker *m) {
    for (uint32_t k = 0; k < metric_count(m); k++) {
        const fold_metric *fold = &m->inputs->folds->metrics[k];
        FT_TRY(store_calibration(m, k, fold->q90, fold->counts));
    }
    return FT_OK;
}

static ft_status find_intervals(maker *m, double *q90, uint32_t *counts) {
    const fitset *rows = m->inputs->rows;
    ft_evaluation found = {0};
    for (uint32_t d = 0; d < rows->set.device_count; d++) q90[d] = 1;
    for (uint32_t k = 0; k < metric_count(m); k++) FT_TRY(store_calibration(m, k, q90, counts));
    if (family_can(m->inputs->family, FAMILY_OWN_INTERVALS)) return FT_OK;
    if (m->inputs->folds != NULL) return store_fold_calibrations(m);
    FT_TRY(encode(m));
    const fit_session_range range = {.from = FIT_SESSION_SHARE, .to = 0.96, .what = "calibrating intervals"};
    FT_TRY(evaluate(m, &rows->calibration, FT_PART_TEST, range, &found));
    ft_status status = FT_OK;
    for (uint32_t k = 0; k < metric_count(m) && status == FT_OK; k++)
        status = calibrate_metric(m, k, &found, q90, counts);
    ft_evaluation_free(&found);
    return status;
}

static ft_status add_intervals(maker *m) {
    uint32_t device_count = m->inputs->rows->set.device_count;
    double *q90 = calloc(device_count, sizeof *q90);
    uint32_t *counts = calloc(device_count, sizeof *counts);
    ft_status status = q90 != NULL && counts != NULL ? find_intervals(m, q90, counts) : FT_NOMEM(m->error);
    free(q90);
    free(counts);
    return status;
}

/* --- Scores -------------------------------------------------------------------------------------------------- */

/* All scores go to metrics.json; those over all model families also go to the header of the predictor. */
static ft_status add_metric_scores(maker *m, ft_split_part part, const ft_evaluation *found) {
    for (uint32_t i = 0; i < found->score_count; i++) {
        json_t *score = score_json(ft_split_part_name(part), m->held_out, &found->scores[i]);
        if (m->fold_count > 0) score = json_with(score, "folds", json_integer(m->fold_count));
        if (!json_add(m->scores, score)) return FT_NOMEM(m->error);
        if (strcmp(found->scores[i].family, "all") != 0) continue;
        if (!json_add(m->accuracy, score_json_of_header(score))) return FT_NOMEM(m->error);
    }
    return FT_OK;
}

static ft_status add_scores(maker *m, ft_split_part part, const ft_evaluation *found) {
    for (; found != NULL; found = found->next) FT_TRY(add_metric_scores(m, part, found));
    return FT_OK;
}

static ft_status score_folds(maker *m) {
    for (uint32_t k = 0; k < metric_count(m); k++)
        FT_TRY(add_metric_scores(m, FT_PART_TEST, &m->inputs->folds->metrics[k].evaluation));
    return FT_OK;
}

static ft_status score(maker *m) {
    const train_output_inputs *f = m->inputs;
    if (f->folds != NULL) return score_folds(m);
    ft_evaluation valid = {0};
    const fit_session_range first = {.from = 0.96, .to = 0.98, .what = "scoring the validation part"};
    FT_TRY(evaluate(m, f->split, FT_PART_VALID, first, &valid));
    ft_status status = add_scores(m, FT_PART_VALID, &valid);
    ft_evaluation_free(&valid);
    FT_TRY(status);
    if (f->rows->test_count == 0 || f->is_untested) return FT_OK;
    const fit_session_range second = {.from = 0.98, .to = 1, .what = "scoring the test part"};
    FT_TRY(evaluate(m, f->split, FT_PART_TEST, second, &m->out->tested));
    return add_scores(m, FT_PART_TEST, &m->out->tested);
}

static ft_status write_metrics(maker *m) {
    json_t *others = metric_count(m) > 1 ? json_array() : NULL;
    for (uint32_t k = 1; k < metric_count(m); k++) {
        others = json_list_with(
            others, json_pack("{s:s, s:O?}", "metric", metric_of(m, k).name, "calibration", m->calibrations[k]));
    }
    json_t *document = json_pack("{s:i, s:s, s:s, s:O?, s:o*, s:O}", "foretell_metrics", METRICS_VERSION, "predictor",
                                 m->inputs->family->name, "metric", m->inputs->rows->set.metric, "calibration",
                                 m->calibrations[0], "also", others, "results", m->scores);
    if (document == NULL || json_array_size(json_object_get(document, "also")) != metric_count(m) - 1) {
        json_decref(document);
        return FT_NOMEM(m->error);
    }
    json_writer w;
    jsonw_init(&w, &m->out->metrics);
    jsonw_json(&w, document);
    buf_char(&m->out->metrics, '\n');
    json_decref(document);
    return m->out->metrics.failed ? FT_NOMEM(m->error) : FT_OK;
}

/* --- All steps ----------------------------------------------------------------------------------------------- */

static ft_status make(maker *m) {
    bool are_programs;
    FT_TRY(dataset_holds_programs(m->inputs->rows->set.data, &are_programs, m->error));
    const fold_scores *folds = m->inputs->folds;
    m->held_out = split_unit(folds != NULL ? folds->spec : m->inputs->split->spec, are_programs);
    m->fold_count = folds != NULL ? folds->run_count : 0;
    FT_TRY(add_intervals(m));
    FT_TRY(encode(m));
    m->scores = json_array();
    m->accuracy = json_array();
    if (m->scores == NULL || m->accuracy == NULL) return FT_NOMEM(m->error);
    FT_TRY(score(m));
    FT_TRY(encode(m));
    return write_metrics(m);
}

ft_status train_output_make(const train_output_inputs *inputs, train_output *out, ft_error *error) {
    *out = (train_output){0};
    maker m = {.inputs = inputs, .out = out, .error = error};
    ft_status status = make(&m);
    for (uint32_t k = 0; k < FITSET_MAX_METRICS; k++) json_decref(m.calibrations[k]);
    json_decref(m.accuracy);
    json_decref(m.scores);
    if (status != FT_OK) train_output_free(out);
    return status;
}

void train_output_free(train_output *out) {
    buf_free(&out->predictor);
    buf_free(&out->metrics);
    ft_evaluation_free(&out->tested);
    *out = (train_output){0};
}
