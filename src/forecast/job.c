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

/* Whether a model on a GPU is one of matrix products and attention, in float32 or a language model: kernels that were
 * measured alone are known better there than models that were measured as a whole. */
static bool is_of_products(const forecast_job *job) {
    static const double MOSTLY = 0.8;
    const ft_cost *cost = job->cost;
    double products = 0, all = 0;
    if (cost == NULL || job->view == NULL || !job_is_torch_gpu(job->sheet)) return false;
    if (job->out->request.dtype != FT_FLOAT32 && !context_is_language(job->context)) return false;
    for (uint32_t i = 0; i < cost->op_count; i++) {
        ft_op_class kind = ft_opdef_class(ft_graph_ops(job->view->bound)[i].def);
        double macs = (double)cost->ops[i].forward.macs;
        all += macs;
        if (kind == FT_CLASS_MATMUL || kind == FT_CLASS_ATTENTION) products += macs;
    }
    return products > MOSTLY * all;
}

/* The order in which predictors are tried: those trained on the device before those that read data sheets, and among
 * those of single kernels and of whole models the ones that suit the model. */
static uint32_t rank_of(const forecast_job *job, const ft_predictor *p, bool by_sheet) {
    if (!family_can(predictor_family(p), FAMILY_KERNELS)) return !by_sheet ? 0 : is_of_products(job) ? 3 : 1;
    return is_of_products(job) ? 1 + by_sheet : 2 + by_sheet;
}

bool job_candidate(const forecast_job *job, const char *metric, uint32_t number, predictor_choice *choice) {
    const ft_predictor_set *set = job->context->set;
    const ft_request *request = &job->out->request;
    assert(number < JOB_RANKS * set->count);
    const set_entry *entry = &set->entries[number % set->count];
    const ft_predictor *p = ft_predictor_find(entry->predictor, metric);
    if (p == NULL || !predictor_supports_mode(p, request->mode)) return false;
    target_device target = predictor_target(p, predictor_device_index(p, request->device));
    bool by_sheet = target.index == FT_NONE;
    if (rank_of(job, p, by_sheet) != number / set->count) return false;
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
    for (uint32_t i = 0; i < JOB_RANKS * count && choice->entry == NULL; i++) {
        if (i >= count && job->is_refused) break;
        if (!job_candidate(job, metric, i, choice)) continue;
        FT_TRY(try_predictor(job, choice, error));
        job->is_refused = choice->entry == NULL && i < count && is_npu(job);
    }
    assert((choice->entry == NULL) == (choice->predictor == NULL));
    return FT_OK;
}
