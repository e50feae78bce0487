/* time.c - the time of a step: from a predictor, or, where there is none for the device, from the data sheet. */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/text.h"
#include "cost/sizes.h"
#include "forecast/job.h"

/* A note is added when less than this share of the time comes from kernels like those of the training data. */
static const double MIN_COVERAGE = 0.9;

static const char *mode_text(ft_mode mode) {
    return mode == FT_TRAIN ? "training" : "inference";
}

/* --- Bounds -------------------------------------------------------------------------------------------------- */

/* The whole model as one part, for predictors without parts. */
static ft_part whole_model(const forecast_job *job, uint32_t *ops) {
    uint32_t count = ft_graph_op_count(job->view->bound), used = 0;
    for (uint32_t i = 0; i < count; i++)
        if (!ft_graph_ops(job->view->bound)[i].is_folded) ops[used++] = i;
    return (ft_part){.type = "model", .ops = ops, .op_count = used, .value = job->metrics[METRIC_TIME].value};
}

/* Sums the time of parts by what bounds each; the largest share is what bounds the model. */
static void set_model_bound(ft_result *out, const ft_part *parts, uint32_t count) {
    double sums[4] = {0}, total = 0;
    for (uint32_t i = 0; i < count; i++) {
        assert(parts[i].bound <= FT_BOUND_LAUNCH);
        sums[parts[i].bound] += parts[i].value;
        total += parts[i].value;
    }
    for (uint32_t b = FT_BOUND_COMPUTE; b <= FT_BOUND_LAUNCH; b++)
        if (sums[b] > sums[out->bound]) out->bound = (ft_bound)b;
    out->bound_ratio = total > 0 && out->bound != FT_BOUND_UNKNOWN ? sums[out->bound] / total : 0;
}

/* `parts` are those of the time, or the whole model as one. */
static ft_status add_bounds(forecast_job *job, ft_part *parts, uint32_t count, ft_error *error) {
    arena *memory = &job->context->memory;
    const device_limits l = limits_of(job->sheet, job->out->request.dtype);
    const ft_cost_options options = job_cost_options(job);
    ft_part whole;
    part_work *work;
    assert(count == 0 || parts != NULL);
    if (!limits_are_known(&l)) return FT_OK;
    if (count == 0) {
        uint32_t *ops = ARENA_ARRAY(memory, uint32_t, (size_t)ft_graph_op_count(job->view->bound) + 1);
        if (ops == NULL) return FT_NOMEM(error);
        whole = whole_model(job, ops);
        parts = &whole;
        count = 1;
    }
    if (!work_of_parts(job->view->bound, job->cost, &options, parts, count, memory, &work)) return FT_NOMEM(error);
    bool can_wait = work_can_wait(job->sheet);
    for (uint32_t i = 0; i < count; i++) {
        double min_s;
        bool is_launch = parts[i].bound == FT_BOUND_LAUNCH; /* its time is the launch overhead that is assumed */
        parts[i].bound = work_bound(&work[i], &l, &min_s);
        if (is_launch || (can_wait && work_waits(&parts[i], min_s))) parts[i].bound = FT_BOUND_LAUNCH;
    }
    set_model_bound(job->out, parts, count);
    return FT_OK;
}

/* --- From the data sheet alone ------------------------------------------------------------------------------- */

/* One part per kernel, each as short as peak rate and bandwidth allow. */
static ft_status roofline_parts(forecast_job *job, const device_limits *l, ft_part **made, ft_error *error) {
    arena *memory = &job->context->memory;
    const ft_cost_options options = job_cost_options(job);
    ft_metric_result *time = &job->metrics[METRIC_TIME];
    const ft_rules *rules;
    const ft_kernels *kernels;
    part_work *work;
    FT_TRY(context_find_rules(job->context, ft_device_runtime(job->sheet), &rules, error));
    FT_TRY(model_view_kernels(job->view, rules, &kernels, error));
    ft_part *parts = ARENA_ARRAY(memory, ft_part, (size_t)kernels->count + 1);
    if (parts == NULL) return FT_NOMEM(error);
    for (uint32_t i = 0; i < kernels->count; i++) {
        const ft_kernel *k = &kernels->items[i];
        parts[i] = (ft_part){.type = k->type, .ops = k->ops, .op_count = k->op_count};
    }
    if (!work_of_parts(job->view->bound, job->cost, &options, parts, kernels->count, memory, &work))
        return FT_NOMEM(error);
    double total_us = 0;
    for (uint32_t i = 0; i < kernels->count; i++) {
        double min_s;
        work_bound(&work[i], l, &min_s);
        assert(min_s >= 0);
        parts[i].value = min_s * 1e6;
        total_us += parts[i].value;
    }
    time->parts = *made = parts;
    time->part_count = kernels->count;
    time->value = total_us;
    return FT_OK;
}

static ft_status time_from_sheet(forecast_job *job, ft_part **parts, ft_error *error) {
    ft_metric_result *time = &job->metrics[METRIC_TIME];
    const ft_request *request = &job->out->request;
    const device_limits l = limits_of(job->sheet, request->dtype);
    if (!limits_are_known(&l) || job->is_refused) {
        time->missing_reason =
            job->refusal != NULL ? job->refusal
                                 : "no predictor was trained on this device in this mode, and its data sheet lacks the "
                                   "peak rate or the bandwidth";
        return FT_OK;
    }
    FT_TRY(roofline_parts(job, &l, parts, error));
    time->provenance = FT_ASSUMED;
    time->shares[FT_ASSUMED] = 1;
    time->predictor = "roofline";
    if (job->refusal != NULL)
        return job_note(job, error, "%s: the time is the least that the data sheet allows; real times are longer",
                        job->refusal);
    return job_note(
        job, error,
        "no predictor covers %s on %s: the time is the least that the data sheet allows; real times are longer",
        mode_text(request->mode), request->device);
}

/* --- Types that were not measured ---------------------------------------------------------------------------- */

/* The type in which most multiplications are done: that of the weights in a quantised model, else that of the request.
 */
static ft_dtype compute_dtype(const forecast_job *job) {
    const ft_graph *graph = job->view->bound;
    uint64_t whole = 0, quantised = 0;
    ft_dtype type = job->out->request.dtype;
    if (job->out->request.mode == FT_TRAIN) return type;
    for (uint32_t i = 0; i < job->cost->op_count; i++) {
        const ft_op *op = &ft_graph_ops(graph)[i];
        uint64_t macs = job->cost->ops[i].forward.macs;
        if (macs == 0 || op->input_count < 2 || op->inputs[1] == FT_NONE) continue;
        const ft_tensor *weights = &ft_graph_tensors(graph)[op->inputs[1]];
        whole += macs;
        if (!size_is_quantised(weights)) continue;
        quantised += macs;
        type = weights->dtype == FT_UINT8 ? FT_INT8 : weights->dtype;
    }
    return 2 * quantised > whole ? type : job->out->request.dtype;
}

/* Whether the type was not measured on the device: the predictor then goes by the size of its numbers alone. */
static bool is_unmeasured_dtype(const forecast_job *job, const predictor_choice *choice) {
    return choice->target.index != FT_NONE &&
           !predictor_trained_on_dtype(choice->predictor, compute_dtype(job), job_usual_dtype(job->sheet));
}

static ft_metric_result as_extrapolated(ft_metric_result m) {
    m.lo = m.hi = NAN;
    metric_result_set_provenance(&m, FT_EXTRAPOLATED, 0);
    return m;
}

/* --- From a predictor ---------------------------------------------------------------------------------------- */

ft_metric_result job_clamp_ratio(ft_metric_result m) {
    if (!job_is_ratio(m.metric)) return m;
    double *const values[] = {&m.value, &m.lo, &m.hi};
    for (size_t i = 0; i < 3; i++)
        if (*values[i] > 1) *values[i] = 1;
    return m;
}

static void add_metric(forecast_job *job, ft_metric_result m) {
    uint32_t *count = &job->out->metric_count;
    if (strcmp(m.metric, "util_ratio") == 0)
        job->metrics[METRIC_UTIL] = m;
    else if (*count < JOB_MAX_METRICS)
        job->metrics[(*count)++] = m;
}

/* The other metrics of the predictor's file, except memory. */
static ft_status add_others(forecast_job *job, const predictor_choice *choice, bool is_unmeasured, ft_error *error) {
    for (const ft_predictor *p = choice->entry->predictor; p != NULL; p = ft_predictor_next(p)) {
        target_device target = predictor_target(p, predictor_device_index(p, job->out->request.device));
        if (p == choice->predictor || strcmp(ft_predictor_metric(p), "peak_bytes") == 0 || target.index == FT_NONE ||
            !predictor_supports_mode(p, job->out->request.mode))
            continue;
        model_output output;
        const predict_input in = {.view = job->view, .target = &target, .memory = &job->context->memory};
        ft_status status = predictor_predict(p, &in, &output, error);
        if (status == FT_ERR_UNSUPPORTED) continue; /* not measured in this setting */
        FT_TRY(status);
        ft_metric_result m = job_clamp_ratio(predictor_metric_result(p, target.index, &output));
        m.predictor = choice->entry->path;
        add_metric(job, is_unmeasured ? as_extrapolated(m) : m);
    }
    return FT_OK;
}

/* Whether a predictor of times was trained on the device, in any mode. */
static bool is_measured(const forecast_job *job, const char *device) {
    for (uint32_t i = 0; i < ft_predictor_set_device_count(job->context->set); i++)
        if (strcmp(ft_predictor_set_device(job->context->set, i), device) == 0) return true;
    return false;
}

/* "amp compile" as "amp, compile". */
static void list_words(const char *words, char *list, size_t size) {
    size_t used = 0;
    for (; *words != '\0' && used + 3 < size; words++) {
        if (*words == ' ') list[used++] = ',';
        list[used++] = *words;
    }
    list[used] = '\0';
}

/* Whether a predictor of utilisation reads a key of the setting. */
static bool is_read_by_others(const forecast_job *job, const char *key, size_t length) {
    predictor_choice choice;
    for (uint32_t i = 0; i < 2 * job->context->set->count; i++) {
        if (!job_candidate(job, "gpu_util_ratio", i, &choice)) continue;
        const char *keys = predictor_family(choice.predictor)->setting_keys;
        if (keys != NULL && text_has_word(keys, key, length)) return true;
    }
    return false;
}

/* A setting that the predictor ignores is most often a misspelling: the note prevents that it seems to have an effect.
 */
static ft_status note_ignored_settings(forecast_job *job, const predictor_choice *choice, ft_error *error) {
    const char *keys = predictor_family(choice->predictor)->setting_keys, *setting = job->given_setting;
    for (const char *at = setting; keys != NULL && *at != '\0';) {
        size_t length = strcspn(at, ";"), key = strcspn(at, "=;");
        if (!text_has_word(keys, at, key) && !is_read_by_others(job, at, key)) {
            char list[256];
            list_words(keys, list, sizeof list);
            FT_TRY(job_note(job, error, "the setting '%.*s' is ignored: this predictor reads %s", (int)length, at,
                            keys[0] != '\0' ? list : "no settings"));
        }
        at += length + (at[length] == ';');
    }
    return FT_OK;
}

/* Names the data that is missing where the time is not learned. */
static ft_status note_missing_data(forecast_job *job, const predictor_choice *choice, bool is_unmeasured,
                                   ft_error *error) {
    const ft_request *request = &job->out->request;
    bool is_new_device = choice->target.index == FT_NONE,
         is_other_mode = is_new_device && is_measured(job, request->device);
    if (is_new_device)
        FT_TRY(job_note(job, error, "no measurements of %s%s%s: the time is extrapolated by the data sheet",
                        is_other_mode ? mode_text(request->mode) : "", is_other_mode ? " on " : "", request->device));
    if (is_unmeasured)
        FT_TRY(job_note(job, error, "%s was not measured on %s: the time is extrapolated by the size of its numbers",
                        ft_dtype_name(compute_dtype(job)), request->device));
    if (choice->output.reason != NULL) FT_TRY(job_note(job, error, "%s", choice->output.reason));
    if (choice->output.explains_coverage) return FT_OK;
    double uncovered_percent = 100 * (1 - choice->output.coverage_ratio);
    if (choice->output.coverage_ratio < MIN_COVERAGE && is_new_device)
        FT_TRY(job_note(job, error, "%.0f %% of the time comes from kernels unlike those of the training data",
                        uncovered_percent));
    else if (choice->output.coverage_ratio < MIN_COVERAGE)
        FT_TRY(job_note(job, error, "%.0f %% of the time is extrapolated: no kernels like these were measured on %s",
                        uncovered_percent, request->device));
    return FT_OK;
}

static ft_status time_from_predictor(forecast_job *job, const predictor_choice *choice, ft_error *error) {
    bool is_unmeasured = is_unmeasured_dtype(job, choice);
    ft_metric_result time = predictor_metric_result(choice->predictor, choice->target.index, &choice->output);
    if (is_unmeasured) time = as_extrapolated(time);
    time.predictor = choice->entry->path;
    time.parts = choice->output.parts;
    time.part_count = choice->output.part_count;
    job->metrics[METRIC_TIME] = time;
    job->out->coverage_ratio = is_unmeasured ? 0 : choice->output.coverage_ratio;
    FT_TRY(add_others(job, choice, is_unmeasured, error));
    FT_TRY(note_ignored_settings(job, choice, error));
    return note_missing_data(job, choice, is_unmeasured, error);
}

ft_status job_predict_time(forecast_job *job, ft_error *error) {
    predictor_choice choice;
    ft_part *parts = NULL;
    FT_TRY(job_choose(job, "time_us", &choice, error));
    if (choice.entry == NULL) {
        FT_TRY(time_from_sheet(job, &parts, error));
    } else {
        FT_TRY(time_from_predictor(job, &choice, error));
        parts = choice.output.parts;
    }
    const ft_metric_result *time = &job->metrics[METRIC_TIME];
    assert(isnan(time->value) == (time->predictor == NULL));
    if (isnan(time->value) || job->is_point) return job_limit_time(job, error);
    FT_TRY(add_bounds(job, parts, time->part_count, error));
    return job_limit_time(job, error);
}
