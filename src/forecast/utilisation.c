/* utilisation.c - how busy a step keeps a GPU: the metrics of the predictors that were trained on them, whichever file
 * they are in. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "forecast/job.h"

static const char *const metric_names[] = {"gpu_util_ratio", "sm_active_ratio", "sm_occupancy_ratio"};

static bool has_metric(const forecast_job *job, const char *metric) {
    for (uint32_t i = 0; i < job->out->metric_count; i++)
        if (strcmp(job->metrics[i].metric, metric) == 0) return true;
    return false;
}

/* A reason is that of the whole step: it is noted once. */
static ft_status note_reason(forecast_job *job, const char *reason, ft_error *error) {
    if (reason == NULL) return FT_OK;
    for (uint32_t i = 0; i < job->out->note_count; i++)
        if (strcmp(job->notes[i], reason) == 0) return FT_OK;
    return job_note(job, error, "%s", reason);
}

static ft_status predict_metric(forecast_job *job, const char *metric, ft_error *error) {
    predictor_choice choice;
    if (has_metric(job, metric) || job->out->metric_count == JOB_MAX_METRICS) return FT_OK;
    FT_TRY(job_choose(job, metric, &choice, error));
    if (choice.entry == NULL) return FT_OK;
    ft_metric_result m =
        job_clamp_ratio(predictor_metric_result(choice.predictor, choice.target.index, &choice.output));
    m.predictor = choice.entry->path;
    job->metrics[job->out->metric_count++] = m;
    return note_reason(job, choice.output.reason, error);
}

/* Ratios do not depend on the batch in a way that a curve could give: its points need none. */
ft_status job_predict_utilisation(forecast_job *job, ft_error *error) {
    ft_metric_result *util = &job->metrics[METRIC_UTIL];
    if (job->is_point || job->sheet == NULL || !work_can_wait(job->sheet) || request_is_divided(&job->out->request))
        return FT_OK;
    for (size_t i = 0; i < sizeof metric_names / sizeof metric_names[0]; i++)
        FT_TRY(predict_metric(job, metric_names[i], error));
    for (uint32_t i = METRIC_OTHERS; i < job->out->metric_count && isnan(util->value); i++) {
        if (strcmp(job->metrics[i].metric, metric_names[0]) != 0) continue;
        *util = job->metrics[i]; /* what NVML reports is the utilisation without further name */
        util->metric = "util_ratio";
    }
    return FT_OK;
}
