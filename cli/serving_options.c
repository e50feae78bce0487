/* serving_options.c - options for how a language model is served. */
#include <stdlib.h>
#include <string.h>

#include "parallel_options.h"
#include "predict_options.h"

static void parse_utilization(void *field, const char *text, const option_row *row, struct argp_state *state) {
    double *ratio = field;
    char *end;
    *ratio = strtod(text, &end);
    if (end == text || *end != '\0' || !(*ratio > 0 && *ratio <= 1))
        argp_error(state, "--%s %s: expected a share of the memory, above 0 and up to 1", row->name, text);
}

static void parse_weights(void *field, const char *text, const option_row *row, struct argp_state *state) {
    double bits = ft_packed_format_bits(text);
    if (bits > 0) {
        *(const char **)field = text;
        return;
    }
    argp_error(state, "--%s %s: expected int4, int8, fp8, nvfp4, mxfp4, q4_k_m, q8_0 or the like", row->name, text);
}

static const option_row rows[] = {
    {.help = "Serving of language models:", .group = 14},
    {"prompt-tokens", "N", "tokens of a prompt (the context without --output-tokens)", 0,
     COUNT(predict_options, serving.prompt_tokens, FT_MAX_DIM)},
    {"output-tokens", "N", "tokens that are generated after the prompt (0)", 0,
     COUNT(predict_options, serving.output_tokens, FT_MAX_DIM)},
    {"context", "N",
     "tokens that a sequence has room for (prompt and output; the model's maximum where neither is given)", 0,
     COUNT(predict_options, serving.context_tokens, FT_MAX_DIM)},
    {"weights", "FORMAT",
     "format of the matrices of layers: int4, int8, fp8, nvfp4, mxfp4, nf4, q4_k_m, q8_0, ... (as in the file)", 0,
     PARSED_BY(parse_weights, predict_options, serving.weights),
     .choices = "bfloat16 float16 int8 int4 fp8 nvfp4 mxfp4 nf4 q8_0 q6_k q5_k_m q4_k_m q4_0 q3_k_m q2_k"},
    {"kv-dtype", "FORMAT", "format of keys and values: fp8, int8, q8_0, q4_0, ... (that of activations)", 0,
     TEXT(predict_options, serving.kv_format), .choices = "bfloat16 float16 fp8 int8 int4 nvfp4 q8_0 q5_0 q4_0"},
    {"gpu-memory-utilization", "R", "share of the memory that the runtime uses (that of the runtime: 0.9 for vllm)", 0,
     PARSED_BY(parse_utilization, predict_options, serving.utilization_ratio)},
    {"max-batched-tokens", "N", "maximum of tokens in a step (that of the runtime: 8192 for vllm)", 0,
     COUNT(predict_options, serving.batched_tokens, FT_MAX_DIM)},
    {"no-graphs", NULL, "without CUDA graphs", 0, FLAG(predict_options, serving.has_no_graphs)},
    {0},
};

static bool is_serving(const ft_serving *s) {
    return s->prompt_tokens > 0 || s->output_tokens > 0 || s->context_tokens > 0 || s->batched_tokens > 0 ||
           s->runtime != NULL || s->weights != NULL || s->kv_format != NULL || s->utilization_ratio > 0 ||
           s->has_no_graphs;
}

static void check(void *input, struct argp_state *state) {
    const predict_options *a = input;
    if (a->mode == FT_TRAIN && is_serving(&a->serving))
        argp_error(state, "options of serving are for inference: leave out --mode train; --sequence is for training");
    for (uint32_t i = 0; i < a->shapes.count; i++)
        if (is_serving(&a->serving) &&
            (strcmp(a->shapes.items[i].name, "sequence") == 0 || strcmp(a->shapes.items[i].name, "past") == 0))
            argp_error(state, "--shape %s is for a single run: give --prompt-tokens and --context for serving",
                       a->shapes.items[i].name);
}

const option_set serving_option_set = {.rows = rows, .check = check};
