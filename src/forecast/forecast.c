/* forecast.c - the main job: requests about a model in, results out.
 *
 * ft_predict resolves each request (device, type, setting, bound graph), predicts the time (time.c) and the memory
 * (memory.c), and collects the notes. */
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "forecast/job.h"

/* --- Resolving a request ------------------------------------------------------------------------------------- */

static bool has_device(const ft_predictor_set *set, const char *device) {
    for (uint32_t i = 0; i < set->count; i++)
        for (const ft_predictor *p = set->entries[i].predictor; p != NULL; p = ft_predictor_next(p))
            if (predictor_device_index(p, device) != FT_NONE) return true;
    return false;
}

static ft_status find_device(forecast_context *c, const ft_request *given, ft_request *resolved,
                             const ft_device **sheet, ft_error *error) {
    *sheet = given->sheet;
    if (given->sheet != NULL) {
        resolved->device = ft_device_name(given->sheet);
        return FT_OK;
    }
    if (given->device == NULL) return ft_fail(error, FT_ERR_USAGE, "the request names no device");
    FT_TRY(context_find_sheet(c, given->device, sheet, error));
    if (*sheet != NULL) {
        resolved->device = ft_device_canonical(given->device);
        return FT_OK;
    }
    if (has_device(c->set, given->device)) return FT_OK;
    resolved->device = ft_device_match(given->device);
    if (resolved->device != NULL) return context_find_sheet(c, resolved->device, sheet, error);
    ft_device *none = NULL; /* its error lists the devices */
    ft_status status = ft_device_open(given->device, &none, error);
    ft_device_free(none);
    return status != FT_OK ? status : ft_fail(error, FT_ERR_USAGE, "open the device file '%s' first", given->device);
}

/* Copies a text of the request, which the result outlives. */
static ft_status copy_text(forecast_job *job, const char **text, ft_error *error) {
    const char *given = *text != NULL ? *text : "";
    *text = arena_string(&job->context->memory, given, strlen(given));
    return *text != NULL ? FT_OK : FT_NOMEM(error);
}

/* Only language models are divided, or served by a runtime, in inference. */
static ft_status check_single(const forecast_context *c, const ft_request *request, ft_error *error) {
    if (request->mode == FT_TRAIN || c->has_cache) return FT_OK;
    if (request_is_divided(request))
        return ft_fail(
            error, FT_ERR_UNSUPPORTED,
            "only language models that generate text can be predicted when they are divided between devices");
    if (!asks_for_serving(&request->serving)) return FT_OK;
    return ft_fail(error, FT_ERR_UNSUPPORTED,
                   "tokens, formats of weights and serving runtimes are for language models that generate text: this "
                   "model has no cache");
}

ft_status job_resolve(forecast_job *job, const ft_request *given, ft_error *error) {
    ft_request *resolved = &job->out->request;
    *resolved = *given;
    FT_TRY(request_check(given, error));
    FT_TRY(check_single(job->context, given, error));
    FT_TRY(find_device(job->context, given, resolved, &job->sheet, error));
    resolved->sheet = job->sheet;
    FT_TRY(copy_text(job, &resolved->device, error));
    FT_TRY(copy_text(job, &resolved->setting, error));
    if (resolved->training.lora_targets != NULL) FT_TRY(copy_text(job, &resolved->training.lora_targets, error));
    if (request_is_served(job->context, given)) return job_resolve_serving(job, error);
    return job_set_defaults(job, error);
}

static ft_status bind_request(forecast_job *job, ft_error *error) {
    ft_request *resolved = &job->out->request;
    FT_TRY(context_find_view(job->context, resolved, &job->view, error));
    resolved->batch = ft_graph_batch(job->view->bound);
    return model_view_cost(job->view, &job->cost, error);
}

/* --- Predicting ---------------------------------------------------------------------------------------------- */

static ft_status keep_notes(forecast_job *job, ft_error *error) {
    if (job->out->note_count == 0) return FT_OK;
    job->out->notes = arena_copy(&job->context->memory, job->notes, job->out->note_count * sizeof *job->notes);
    return job->out->notes != NULL ? FT_OK : FT_NOMEM(error);
}

/* The first metrics of every result, before any is predicted. */
static ft_status begin_metrics(forecast_job *job, ft_error *error) {
    static const char *const names[METRIC_OTHERS] = {"time_us", "peak_bytes", "util_ratio"};
    job->metrics = ARENA_ARRAY(&job->context->memory, ft_metric_result, JOB_MAX_METRICS);
    if (job->metrics == NULL) return FT_NOMEM(error);
    for (uint32_t i = 0; i < METRIC_OTHERS; i++)
        job->metrics[i] = (ft_metric_result){.metric = names[i], .value = NAN, .lo = NAN, .hi = NAN};
    for (uint32_t i = 0; i < METRIC_OTHERS; i++) job->metrics[i].provenance = FT_ASSUMED;
    job->metrics[METRIC_UTIL].missing_reason = "no predictor of the set predicts the utilisation of this device";
    job->out->metrics = job->metrics;
    job->out->metric_count = METRIC_OTHERS;
    return FT_OK;
}

/* Facts that a reader of the result should not have to find out: a batch that the file fixes, and too little memory. */
/* What the reader of the file assumed. */
static ft_status note_model(forecast_job *job, ft_error *error) {
    const ft_graph *model = job->context->model;
    const char *key, *value;
    for (uint32_t i = 0; i < ft_graph_meta_count(model); i++) {
        ft_graph_meta_at(model, i, &key, &value);
        if (strncmp(key, "note", 4) == 0) FT_TRY(job_note(job, error, "%s", value));
    }
    return FT_OK;
}

static ft_status note_limits(forecast_job *job, ft_error *error) {
    const ft_graph *bound = job->view != NULL ? job->view->bound : NULL;
    double memory_bytes = job->sheet != NULL ? ft_device_number(job->sheet, "memory_bytes") : NAN;
    if (bound != NULL && ft_graph_is_scaled(bound))
        FT_TRY(job_note(job, error, "the file fixes batch %lld: activations and work are scaled to batch %lld",
                        (long long)ft_graph_exported_batch(bound), (long long)ft_graph_batch(bound)));
    if (isfinite(memory_bytes) && ft_result_fit(job->out, memory_bytes) == FT_FITS_NOT)
        FT_TRY(job_note(job, error, "batch %lld does not fit into the memory of %s (%.1f GiB)",
                        (long long)job->out->request.batch, job->out->request.device, memory_bytes / (1 << 30)));
    return FT_OK;
}

ft_status job_predict(forecast_job *job, const ft_request *given, ft_error *error) {
    FT_TRY(begin_metrics(job, error));
    FT_TRY(job_resolve(job, given, error));
    if (request_is_served(job->context, given)) return job_predict_serving(job, error);
    FT_TRY(bind_request(job, error));
    if (request_is_divided(&job->out->request))
        job->metrics[METRIC_TIME].missing_reason = "times of models that are divided between devices are not predicted";
    else
        FT_TRY(job_predict_time(job, error));
    job->out->time_note_count = job->out->note_count;
    FT_TRY(job_predict_utilisation(job, error));
    return job_is_training(job) ? job_predict_training(job, error) : job_predict_memory(job, error);
}

static ft_status predict_one(forecast_context *c, const ft_request *given, ft_result *out, ft_error *error) {
    forecast_job job = {.context = c, .out = out};
    FT_TRY(job_predict(&job, given, error));
    if (job.view != NULL) FT_TRY(curve_settle(&job, error));
    job_predict_energy(&job);
    if (job.view != NULL && job.cost->estimated_ops > 0)
        FT_TRY(job_note(&job, error, "%u of %u operators are unknown: their cost is estimated from their bytes",
                        job.cost->estimated_ops, job.cost->op_count));
    FT_TRY(note_model(&job, error));
    FT_TRY(note_limits(&job, error));
    assert(out->metric_count <= JOB_MAX_METRICS && out->note_count <= JOB_MAX_NOTES);
    return keep_notes(&job, error);
}

static ft_status predict_all(forecast_context *c, const ft_request *requests, uint32_t count, ft_result **items,
                             ft_error *error) {
    *items = ARENA_ARRAY(&c->memory, ft_result, (size_t)count + 1);
    if (*items == NULL) return FT_NOMEM(error);
    for (uint32_t i = 0; i < count; i++) FT_TRY(predict_one(c, &requests[i], &(*items)[i], error));
    return FT_OK;
}

ft_status ft_predict(const ft_predictor_set *set, const ft_graph *model, const ft_binding *shapes,
                     const ft_request *requests, uint32_t count, ft_results *results, ft_error *error) {
    FT_REQUIRE(error, set, model, results);
    if (count > 0) FT_REQUIRE(error, requests);
    forecast_context *c = malloc(sizeof *c);
    ft_result *items;
    if (c == NULL) return FT_NOMEM(error);
    context_init(c, set, model, shapes);
    ft_results made = {.count = count, .owner = c};
    ft_status status = predict_all(c, requests, count, &items, error);
    if (status == FT_OK) {
        made.items = items;
        *results = made;
    } else {
        ft_results_free(&made);
    }
    return status;
}

void ft_results_free(ft_results *results) {
    if (results == NULL) return;
    if (results->owner != NULL) context_free(results->owner);
    free(results->owner);
    *results = (ft_results){0};
}
