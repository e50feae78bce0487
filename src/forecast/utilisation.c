/* utilisation.c - how busy a step keeps a GPU, and the power and energy that it takes: the metrics of the predictors
 * that were trained on them, whichever file they are in. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "forecast/job.h"

static const char *const metric_names[] = {"gpu_util_ratio", "sm_active_ratio", "sm_occupancy_ratio", "power_w"};

static const ft_metric_result *find_metric(const forecast_job *job, const char *metric) {
    for (uint32_t i = 0; i < job->out->metric_count; i++)
        if (strcmp(job->metrics[i].metric, metric) == 0) return &job->metrics[i];
    return NULL;
}

static void add_metric(forecast_job *job, const ft_metric_result *m) {
    if (job->out->metric_count < JOB_MAX_METRICS) job->metrics[job->out->metric_count++] = *m;
}

/* A reason is that of the whole step: it is noted once. */
static ft_status note_reason(forecast_job *job, const char *reason, ft_error *error) {
    if (reason == NULL) return FT_OK;
    for (uint32_t i = 0; i < job->out->note_count; i++)
        if (strcmp(job->notes[i], reason) == 0) return FT_OK;
    return job_note(job, error, "%s", reason);
}

/* What the model computes beside, without measurements: its error is unknown, so the interval is wide. */
static ft_status add_derived(forecast_job *job, const predictor_choice *choice, ft_error *error) {
    static const double WIDE = 1.6;
    const family *f = predictor_family(choice->predictor);
    derived_metric items[FAMILY_MAX_DERIVED];
    uint32_t count = 0;
    if (f->optional.derive == NULL) return FT_OK;
    const predict_input in = {.view = job->view, .target = &choice->target, .memory = &job->context->memory};
    FT_TRY(f->optional.derive(predictor_model(choice->predictor), &in, items, &count, error));
    for (uint32_t i = 0; i < count; i++) {
        ft_metric_result m = {.metric = items[i].metric,
                              .value = items[i].value,
                              .lo = items[i].value / WIDE,
                              .hi = items[i].value * WIDE,
                              .predictor = choice->entry->path};
        metric_result_set_provenance(&m, FT_ASSUMED, 0);
        m = job_clamp_ratio(m);
        if (find_metric(job, m.metric) == NULL) add_metric(job, &m);
    }
    return FT_OK;
}

static ft_status predict_metric(forecast_job *job, const char *metric, ft_error *error) {
    predictor_choice choice;
    if (find_metric(job, metric) != NULL) return FT_OK;
    FT_TRY(job_choose(job, metric, &choice, error));
    if (choice.entry == NULL) return FT_OK;
    ft_metric_result m =
        job_clamp_ratio(predictor_metric_result(choice.predictor, choice.target.index, &choice.output));
    m.predictor = choice.entry->path;
    add_metric(job, &m);
    if (strcmp(metric, metric_names[0]) == 0) FT_TRY(add_derived(job, &choice, error));
    return note_reason(job, choice.output.reason, error);
}

/* Power times time. Their errors are taken for independent: logarithms of widths add up as squares. */
void job_predict_energy(forecast_job *job) {
    const ft_metric_result *time = &job->metrics[METRIC_TIME], *power = find_metric(job, "power_w");
    if (power == NULL || isnan(time->value) || find_metric(job, "energy_j") != NULL) return;
    ft_metric_result m = {
        .metric = "energy_j", .value = power->value * time->value * 1e-6, .predictor = power->predictor};
    m.lo = m.value * exp(-hypot(log(time->value / time->lo), log(power->value / power->lo)));
    m.hi = m.value * exp(hypot(log(time->hi / time->value), log(power->hi / power->value)));
    metric_result_set_provenance(&m, time->provenance > power->provenance ? time->provenance : power->provenance, 0);
    add_metric(job, &m);
}

/* These metrics are not on curves over the batch (curve.c): only the batch that is requested needs them. */
ft_status job_predict_utilisation(forecast_job *job, ft_error *error) {
    ft_metric_result *util = &job->metrics[METRIC_UTIL];
    if (job->is_point || job->sheet == NULL || !work_can_wait(job->sheet) || request_is_divided(&job->out->request))
        return FT_OK;
    for (size_t i = 0; i < sizeof metric_names / sizeof metric_names[0]; i++)
        FT_TRY(predict_metric(job, metric_names[i], error));
    const ft_metric_result *busy = find_metric(job, metric_names[0]);
    if (busy == NULL || !isnan(util->value)) return FT_OK;
    *util = *busy; /* what NVML reports is the utilisation without further name */
    util->metric = "util_ratio";
    return FT_OK;
}
