/* runtimes.c - how runtimes reserve memory: a table with a row per runtime.
 *
 * Pages, ratios and tokens of a step are the defaults of the runtimes. Bytes of CUDA graphs, of the driver's context
 * and of collectives are assumed. */
#include <string.h>

#include "serving/serving.h"

#define MIB           (1024.0 * 1024)
#define TORCH_CONTEXT .context_bytes = 600 * MIB, .exchange_bytes = 400 * MIB

static const serving_runtime runtimes[] = {
    {.name = "vllm",
     .text = "pages of 16 tokens for all layers alike in 0.9 of the memory, CUDA graphs, 8192 tokens a step",
     .page_tokens = 16,
     .has_pool = true,
     .window_ratio = 1,
     .batched_tokens = 8192,
     .sampled_tokens = 256,
     .used_ratio = 0.9,
     .graph_bytes = 14 * MIB,
     TORCH_CONTEXT},
    {.name = "trtllm",
     .text = "pages of 32 tokens in 0.9 of what is free beside the weights, CUDA graphs, 8192 tokens a step",
     .page_tokens = 32,
     .has_pool = true,
     .window_ratio = 1,
     .batched_tokens = 8192,
     .used_ratio = 1,
     .margin_ratio = 1 / 0.9 - 1,
     .graph_bytes = 14 * MIB,
     TORCH_CONTEXT},
    {.name = "sglang",
     .text = "single tokens, 0.8 of the context for layers with a window, CUDA graphs, 8192 tokens a step",
     .page_tokens = 1,
     .has_pool = true,
     .window_ratio = 0.8,
     .batched_tokens = 8192,
     .used_ratio = 0.95,
     .graph_bytes = 14 * MIB,
     TORCH_CONTEXT},
    {.name = "torch",
     .text = "as many tokens as there are, windows honoured, whole prompts in one step",
     .page_tokens = 1,
     .used_ratio = 1,
     TORCH_CONTEXT},
    {.name = "llama.cpp",
     .text = "whole contexts of slots, windows with 512 tokens more, float32 activations, 512 tokens a step",
     .page_tokens = 256,
     .window_tokens = 512,
     .batched_tokens = 512,
     .used_ratio = 1,
     .context_bytes = 400 * MIB,
     .activations = FT_FLOAT32,
     .states = FT_FLOAT32,
     .has_host_table = true,
     .has_all_logits = true},
};

enum { RUNTIME_COUNT = sizeof runtimes / sizeof runtimes[0] };

const serving_runtime *serving_runtime_find(const char *name) {
    for (size_t i = 0; i < RUNTIME_COUNT; i++)
        if (strcmp(runtimes[i].name, name) == 0) return &runtimes[i];
    return NULL;
}

const char *ft_serving_runtime_name(uint32_t index) {
    return index < RUNTIME_COUNT ? runtimes[index].name : NULL;
}

const char *ft_serving_runtime_text(uint32_t index) {
    return index < RUNTIME_COUNT ? runtimes[index].text : NULL;
}
