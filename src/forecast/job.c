/* job.c - notes of a result, and the choice of the predictor for a metric. */
#include "forecast/job.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"

ft_status job_note(forecast_job *job, ft_error *error, const char *format, ...) {
    char text[512];
    va_list args;
    assert(job->out->note_count <= JOB_MAX_NOTES);
    if (job->out->note_count == JOB_MAX_NOTES) return FT_OK;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    const char *kept = arena_string(&job->context->memory, text, strlen(text));
    if (kept == NULL) return FT_NOMEM(error);
    job->notes[job->out->note_count++] = kept;
    return FT_OK;
}

ft_cost_options job_cost_options(const forecast_job *job) {
    const ft_request *request = &job->out->request;
    ft_cost_options options = ft_cost_options_default();
    options.mode = request->mode;
    options.dtype = request->dtype;
    options.optimizer = request->optimizer;
    return options;
}

bool job_is_ratio(const char *metric) {
    static const char ratio[] = "_ratio";
    size_t length = strlen(metric), end = sizeof ratio - 1;
    return length >= end && strcmp(metric + length - end, ratio) == 0;
}

/* A predictor that does not support the model is no error: the next one is tried, and its message is kept. */
static ft_status try_predictor(forecast_job *job, predictor_choice *choice, ft_error *error) {
    ft_error refusal = {.message = ""};
    ft_error *reason = error != NULL ? error : &refusal;
    assert(choice->entry != NULL && choice->predictor != NULL);
    const predict_input in = {
        .view = job->view, .target = &choice->target, .memory = &job->context->memory, .has_parts = !job->is_point};
    ft_status status = predictor_predict(choice->predictor, &in, &choice->output, reason);
    if (status != FT_ERR_UNSUPPORTED) return status;
    *choice = (predictor_choice){0};
    job->refusal = arena_string(&job->context->memory, reason->message, strlen(reason->message));
    return job->refusal != NULL ? FT_OK : FT_NOMEM(error);
}

static bool is_npu(const forecast_job *job) {
    return job->sheet != NULL && strcmp(ft_device_kind(job->sheet), "npu") == 0;
}

bool job_candidate(const forecast_job *job, const char *metric, uint32_t number, predictor_choice *choice) {
    const ft_predictor_set *set = job->context->set;
    const ft_request *request = &job->out->request;
    assert(number < 2 * set->count);
    bool by_sheet = number >= set->count;
    const set_entry *entry = &set->entries[by_sheet ? number - set->count : number];
    const ft_predictor *p = ft_predictor_find(entry->predictor, metric);
    if (p == NULL || !predictor_supports_mode(p, request->mode)) return false;
    target_device target = predictor_target(p, predictor_device_index(p, request->device));
    if ((target.index == FT_NONE) != by_sheet) return false;
    if (by_sheet && (job->sheet == NULL || !predictor_reads_sheets(p))) return false;
    if (by_sheet) target.sheet = job->sheet;
    *choice = (predictor_choice){.entry = entry, .predictor = p, .target = target};
    return true;
}

ft_status job_choose(forecast_job *job, const char *metric, predictor_choice *choice, ft_error *error) {
    *choice = (predictor_choice){0};
    job->refusal = NULL;
    job->is_refused = false;
    uint32_t count = job->context->set->count;
    for (uint32_t i = 0; i < 2 * count && choice->entry == NULL; i++) {
        if (i >= count && job->is_refused) break;
        if (!job_candidate(job, metric, i, choice)) continue;
        FT_TRY(try_predictor(job, choice, error));
        job->is_refused = choice->entry == NULL && i < count && is_npu(job);
    }
    assert((choice->entry == NULL) == (choice->predictor == NULL));
    return FT_OK;
}
