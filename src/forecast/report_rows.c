/* report_rows.c - the values that reports write of a result, its memory and its kernels. */
#include "forecast/report.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "cost/language.h"

/* --- Keys ---------------------------------------------------------------------------------------------------- */

#define FIELD_OF(type, member, kind)                                                                                   \
    { #member, kind, offsetof(type, member) }
#define RESULT(member, kind) FIELD_OF(result_row, member, kind)

const field result_fields[] = {
    RESULT(file, FIELD_TEXT),
    RESULT(name, FIELD_TEXT),
    RESULT(params, FIELD_COUNT),
    RESULT(macs_per_sample, FIELD_WHOLE),
    RESULT(device, FIELD_TEXT),
    RESULT(batch, FIELD_COUNT),
    RESULT(mode, FIELD_TEXT),
    RESULT(dtype, FIELD_TEXT),
    RESULT(setting, FIELD_TEXT),
    RESULT(optimizer, FIELD_TEXT),
    RESULT(time_us, FIELD_RATIO),
    RESULT(time_lo_us, FIELD_RATIO),
    RESULT(time_hi_us, FIELD_RATIO),
    RESULT(time_per_sample_us, FIELD_RATIO),
    RESULT(samples_per_s, FIELD_RATIO),
    RESULT(provenance, FIELD_TEXT),
    RESULT(learned_ratio, FIELD_RATIO),
    RESULT(extrapolated_ratio, FIELD_RATIO),
    RESULT(assumed_ratio, FIELD_RATIO),
    RESULT(time_reason, FIELD_TEXT),
    RESULT(coverage_ratio, FIELD_RATIO),
    RESULT(bound, FIELD_TEXT),
    RESULT(bound_ratio, FIELD_RATIO),
    RESULT(peak_bytes, FIELD_WHOLE),
    RESULT(peak_lo_bytes, FIELD_WHOLE),
    RESULT(peak_hi_bytes, FIELD_WHOLE),
    RESULT(memory_provenance, FIELD_TEXT),
    RESULT(util_ratio, FIELD_RATIO),
    RESULT(util_reason, FIELD_TEXT),
    RESULT(predictor, FIELD_TEXT),
    RESULT(memory_predictor, FIELD_TEXT),
    RESULT(run_samples, FIELD_WHOLE),
    RESULT(run_s, FIELD_RATIO),
    RESULT(run_lo_s, FIELD_RATIO),
    RESULT(run_hi_s, FIELD_RATIO),
    {NULL, FIELD_TEXT, 0},
};

const field cost_fields[] = {
    RESULT(price_per_hour, FIELD_RATIO),       RESULT(run_cost, FIELD_RATIO),
    RESULT(run_lo_cost, FIELD_RATIO),          RESULT(run_hi_cost, FIELD_RATIO),
    RESULT(million_samples_cost, FIELD_RATIO), {NULL, FIELD_TEXT, 0},
};

const field layer_fields[] = {
    FIELD_OF(layer_row, index, FIELD_INDEX),
    FIELD_OF(layer_row, kernel, FIELD_TEXT),
    {"op_types", FIELD_OP_TYPES, offsetof(layer_row, types)},
    FIELD_OF(layer_row, time_us, FIELD_RATIO),
    FIELD_OF(layer_row, share_ratio, FIELD_RATIO),
    FIELD_OF(layer_row, bound, FIELD_TEXT),
    {NULL, FIELD_TEXT, 0},
};

/* --- The model ----------------------------------------------------------------------------------------------- */

ft_cost_options request_cost_options(const ft_request *request) {
    ft_cost_options options = ft_cost_options_default();
    options.mode = request->mode;
    options.optimizer = request->optimizer;
    if (ft_dtype_is_float(request->dtype)) options.dtype = request->dtype;
    options.is_mixed = request->mode == FT_TRAIN && ft_dtype_bits(request->dtype) == 16; /* as in memory.c */
    return options;
}

ft_status model_facts_compute(const ft_model_results *entry, model_facts *facts, ft_error *error) {
    ft_binding binding = entry->shapes != NULL ? *entry->shapes : (ft_binding){0};
    const ft_cost_options options = ft_cost_options_default();
    ft_graph *bound;
    ft_cost cost;
    binding.batch = entry->results->count > 0 ? entry->results->items[0].request.batch : 0;
    bool is_served = entry->results->count > 0 && result_is_served(&entry->results->items[0]);
    if (is_served)
        FT_TRY(language_bind_run(entry->model, entry->shapes, 1, 0, &bound, error));
    else
        FT_TRY(ft_graph_bind(entry->model, &binding, &bound, error));
    ft_status status = ft_cost_compute(bound, &options, &cost, error);
    if (status == FT_OK) {
        int64_t batch = ft_graph_batch(bound);
        facts->params = cost.total.params;
        facts->macs_per_sample = (double)cost.total.forward.macs / (double)(batch > 0 ? batch : 1);
        if (is_served) facts->macs_per_sample = NAN; /* depends on the lengths */
        ft_cost_free(&cost);
    }
    ft_graph_free(bound);
    return status;
}

/* --- Results ------------------------------------------------------------------------------------------------- */

static void fill_time(const ft_result *r, result_row *row) {
    const ft_metric_result *time = ft_result_time(r);
    bool has_time = !isnan(time->value);
    assert(time->provenance <= FT_ASSUMED);
    double batch = (double)r->request.batch;
    row->time_us = time->value;
    row->time_lo_us = has_time ? time->lo : NAN;
    row->time_hi_us = has_time ? time->hi : NAN;
    row->time_per_sample_us = time->value / batch;
    row->samples_per_s = time->value > 0 ? batch / time->value * 1e6 : NAN;
    row->provenance = has_time ? ft_provenance_name(time->provenance) : NULL;
    row->learned_ratio = has_time ? time->shares[FT_MEASURED] + time->shares[FT_LEARNED] : NAN;
    row->extrapolated_ratio = has_time ? time->shares[FT_EXTRAPOLATED] : NAN;
    row->assumed_ratio = has_time ? time->shares[FT_ASSUMED] : NAN;
    row->time_reason = has_time ? NULL : time->missing_reason;
    row->coverage_ratio = has_time ? r->coverage_ratio : NAN;
    row->bound = r->bound != FT_BOUND_UNKNOWN ? ft_bound_name(r->bound) : NULL;
    row->bound_ratio = r->bound != FT_BOUND_UNKNOWN ? r->bound_ratio : NAN;
    row->predictor = time->predictor;
}

/* The errors of the steps of a run are assumed to be the same, so that the interval of the run is as wide, relative to
 * its length, as that of one step. */
static void fill_run(int64_t samples, result_row *row) {
    double steps = samples > 0 ? ceil((double)samples / (double)row->batch) : NAN; /* the last may not be full */
    row->run_samples = samples > 0 ? (double)samples : NAN;
    row->run_s = steps * row->time_us * 1e-6;
    row->run_lo_s = steps * row->time_lo_us * 1e-6;
    row->run_hi_s = steps * row->time_hi_us * 1e-6;
}

double request_sheet_number(const ft_request *request, const char *key) {
    ft_device *opened = NULL;
    const ft_device *sheet = request->sheet;
    if (sheet == NULL && ft_device_open(request->device, &opened, NULL) == FT_OK) sheet = opened;
    double number = sheet != NULL ? ft_device_number(sheet, key) : NAN;
    ft_device_free(opened);
    return number;
}

double request_device_count(const ft_request *request) {
    const ft_parallel *p = &request->parallel;
    const uint32_t ranks[] = {p->tensor, p->pipeline, p->context, p->data};
    double count = 1;
    for (size_t i = 0; i < sizeof ranks / sizeof ranks[0]; i++) count *= ranks[i] > 1 ? ranks[i] : 1;
    return count;
}

void result_row_add_cost(const ft_request *request, result_row *row) {
    double price =
        request->price_per_hour > 0 ? request->price_per_hour : request_sheet_number(request, "price_per_hour");
    row->price_per_hour = price * request_device_count(request);
    row->run_cost = row->price_per_hour * row->run_s / 3600;
    row->run_lo_cost = row->price_per_hour * row->run_lo_s / 3600;
    row->run_hi_cost = row->price_per_hour * row->run_hi_s / 3600;
    row->million_samples_cost = row->price_per_hour * row->time_per_sample_us / 3600;
}

bool is_other_metric(const ft_result *result, uint32_t index) {
    const ft_metric_result *m = &result->metrics[index];
    if (strcmp(m->metric, "util_ratio") == 0 && ft_result_metric(result, "gpu_util_ratio") != NULL) return false;
    return !isnan(m->value) && strcmp(m->metric, "time_us") != 0 && strcmp(m->metric, "peak_bytes") != 0;
}

void result_row_fill(const ft_model_results *entry, const model_facts *facts, const ft_result *result, int64_t samples,
                     result_row *row) {
    const ft_request *request = &result->request;
    const ft_metric_result *memory = ft_result_memory(result), *util = ft_result_metric(result, "util_ratio");
    bool has_memory = !isnan(memory->value);
    *row = (result_row){
        .file = entry->file,
        .name = ft_graph_name(entry->model),
        .params = facts->params,
        .macs_per_sample = facts->macs_per_sample,
        .device = request->device,
        .batch = (uint64_t)request->batch,
        .mode = request->mode == FT_TRAIN ? "train" : "infer",
        .dtype = ft_dtype_name(request->dtype),
        .setting = request->setting != NULL ? request->setting : "",
        .optimizer = request->mode == FT_TRAIN ? ft_optimizer_name(request->optimizer) : NULL,
        .peak_bytes = memory->value,
        .peak_lo_bytes = has_memory ? memory->lo : NAN,
        .peak_hi_bytes = has_memory ? memory->hi : NAN,
        .memory_provenance = has_memory ? ft_provenance_name(memory->provenance) : NULL,
        .util_ratio = util != NULL ? util->value : NAN,
        .util_reason = util != NULL ? util->missing_reason : NULL,
        .memory_predictor = memory->predictor,
    };
    fill_time(result, row);
    fill_run(samples, row);
}

double memory_part_bytes(const ft_result *result, uint32_t index) {
    const ft_part *parts = ft_result_memory(result)->parts;
    double sum = 0;
    assert(index < ft_result_memory(result)->part_count);
    for (uint32_t i = 0; i < ft_result_memory(result)->part_count; i++) {
        if (strcmp(parts[i].type, parts[index].type) != 0) continue;
        if (i < index) return NAN;
        sum += parts[i].value;
    }
    return sum;
}

const char *metric_end_name(const char *metric, const char *end, char name[static METRIC_NAME_SIZE]) {
    static const char *const units[] = {"_us", "_bytes", "_ratio", "_mj"};
    size_t length = strlen(metric);
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        size_t size = strlen(units[i]);
        if (length <= size || strcmp(metric + length - size, units[i]) != 0) continue;
        snprintf(name, METRIC_NAME_SIZE, "%.*s_%s%s", (int)(length - size), metric, end, units[i]);
        return name;
    }
    snprintf(name, METRIC_NAME_SIZE, "%s_%s", metric, end);
    return name;
}

/* --- Kernels ------------------------------------------------------------------------------------------------- */

void layer_row_fill(const ft_result *result, uint32_t index, layer_row *row) {
    assert(index < ft_result_time(result)->part_count);
    const ft_part *part = &ft_result_time(result)->parts[index];
    *row = (layer_row){
        .index = index,
        .kernel = part->type,
        .time_us = part->value,
        .share_ratio = part->value / ft_result_time(result)->value,
        .bound = part->bound != FT_BOUND_UNKNOWN ? ft_bound_name(part->bound) : NULL,
        .part = {.type = part->type, .ops = part->ops, .op_count = part->op_count},
    };
    row->types = &row->part;
}

static int by_length(const void *left, const void *right, void *user) {
    const ft_part *kernels = user;
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    if (kernels[a].value != kernels[b].value) return kernels[a].value > kernels[b].value ? -1 : 1;
    return a < b ? -1 : 1;
}

uint32_t *layers_choose(const ft_result *result, uint32_t top, uint32_t *count) {
    uint32_t all = ft_result_time(result)->part_count;
    uint32_t *chosen = calloc((size_t)all + 1, sizeof *chosen);
    if (chosen == NULL) return NULL;
    for (uint32_t i = 0; i < all; i++) chosen[i] = i;
    if (top > 0 && all > 0) qsort_r(chosen, all, sizeof *chosen, by_length, (void *)ft_result_time(result)->parts);
    *count = top > 0 && top < all ? top : all;
    return chosen;
}
