/* command_serving.c - keys for how a language model is served, as the options of the command. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "command/command_options.h"
#include "command/value.h"

static ft_status parse_prompt_tokens(command_options *q, const json_t *value, ft_error *error) {
    return value_count(value, FT_MAX_DIM, &q->serving.prompt_tokens, error);
}

static ft_status parse_output_tokens(command_options *q, const json_t *value, ft_error *error) {
    return value_count(value, FT_MAX_DIM, &q->serving.output_tokens, error);
}

static ft_status parse_context(command_options *q, const json_t *value, ft_error *error) {
    return value_count(value, FT_MAX_DIM, &q->serving.context_tokens, error);
}

static ft_status parse_batched_tokens(command_options *q, const json_t *value, ft_error *error) {
    return value_count(value, FT_MAX_DIM, &q->serving.batched_tokens, error);
}

static ft_status parse_weights(command_options *q, const json_t *value, ft_error *error) {
    FT_TRY(value_text(value, &q->weights, "a format", error));
    if (!(ft_packed_format_bits(q->weights) > 0))
        return value_expected(value, "int4, int8, fp8, nvfp4, mxfp4, q4_k_m, q8_0 or the like", error);
    q->serving.weights = q->weights;
    return FT_OK;
}

static ft_status parse_kv_dtype(command_options *q, const json_t *value, ft_error *error) {
    FT_TRY(value_text(value, &q->kv_format, "a format", error));
    q->serving.kv_format = q->kv_format;
    return FT_OK;
}

static ft_status parse_utilization(command_options *q, const json_t *value, ft_error *error) {
    q->serving.utilization_ratio = json_number_value(value); /* 0 of anything but a number */
    if (q->serving.utilization_ratio > 0 && q->serving.utilization_ratio <= 1) return FT_OK;
    return value_expected(value, "a share of the memory, above 0 and up to 1", error);
}

static ft_status parse_no_graphs(command_options *q, const json_t *value, ft_error *error) {
    return value_flag(value, &q->serving.has_no_graphs, error);
}

/* Observations have no columns for them. */
enum { FORECASTS = KIND_PREDICT | KIND_FITS | KIND_MAX_BATCH };

const key_row serving_keys[] = {
    {"prompt_tokens", FORECASTS, parse_prompt_tokens},
    {"output_tokens", FORECASTS, parse_output_tokens},
    {"context", FORECASTS, parse_context},
    {"weights", FORECASTS, parse_weights},
    {"kv_dtype", FORECASTS, parse_kv_dtype},
    {"gpu_memory_utilization", FORECASTS, parse_utilization},
    {"max_batched_tokens", FORECASTS, parse_batched_tokens},
    {"no_graphs", FORECASTS, parse_no_graphs},
    {0},
};

bool command_is_serving_runtime(const char *name) {
    for (uint32_t i = 0; ft_serving_runtime_name(i) != NULL; i++)
        if (strcmp(ft_serving_runtime_name(i), name) == 0) return true;
    return false;
}

void command_serving_free(command_options *q) {
    free(q->serving_runtime);
    free(q->weights);
    free(q->kv_format);
}

static bool is_serving(const ft_serving *s) {
    return s->prompt_tokens > 0 || s->output_tokens > 0 || s->context_tokens > 0 || s->batched_tokens > 0 ||
           s->runtime != NULL || s->weights != NULL || s->kv_format != NULL || s->utilization_ratio > 0 ||
           s->has_no_graphs;
}

ft_status command_check_serving(const command_options *q, ft_error *error) {
    if (!is_serving(&q->serving)) return FT_OK;
    if (q->mode == FT_TRAIN)
        return ft_fail(error, FT_ERR_USAGE, "keys of serving are for inference: leave out \"mode\": \"train\"");
    for (uint32_t i = 0; i < q->shape_count; i++)
        if (strcmp(q->shapes[i].name, "sequence") == 0 || strcmp(q->shapes[i].name, "past") == 0)
            return ft_fail(error, FT_ERR_USAGE,
                           "shape: '%s' is for a single run: give prompt_tokens and context for serving",
                           q->shapes[i].name);
    return FT_OK;
}
