/* memory.c - memory of a rank at a number of sequences and a context, in closed form. */
#include <math.h>

#include "serving/serving.h"

static double round_up(double tokens, int64_t page) {
    return ceil(tokens / (double)page) * (double)page;
}

/* Tokens of a sequence that layers with a window need; without a window, all. */
static double needed_tokens(int64_t window, double context) {
    return window > 0 ? fmin((double)window, context) : context;
}

static double reserved_tokens(const serving_runtime *r, int64_t window, double context) {
    double tokens = needed_tokens(window, context);
    if (window > 0) {
        double kept = fmax((double)window + (double)r->window_tokens, ceil(context * r->window_ratio));
        tokens = fmax(tokens, fmin(kept, context));
    }
    return round_up(tokens, r->page_tokens);
}

static void add_part(serving_memory *m, const char *name, double bytes, bool is_assumed) {
    if (!(bytes > 0)) return;
    m->parts[m->part_count++] = (serving_part){name, bytes, is_assumed};
    m->bytes += bytes;
    if (is_assumed) m->assumed_bytes += bytes;
}

/* Assumed parts may be half or twice as large, activations a quarter smaller or larger. */
static void set_ends(serving_memory *m, double activations) {
    m->lo_bytes = m->bytes - m->assumed_bytes / 2 - activations / 4;
    m->hi_bytes = m->bytes + m->assumed_bytes + activations / 4;
}

/* Prompts share steps; a step has no more tokens than the runtime puts into one. */
static double tokens_of_step(const serving_load *load) {
    double tokens = (double)load->sequences * (double)load->prompt_tokens;
    tokens = fmax(tokens, (double)load->sequences);
    return load->batched_tokens > 0 ? fmin(tokens, fmax((double)load->batched_tokens, (double)load->sequences))
                                    : tokens;
}

void serving_memory_of(const serving_rank *rank, const serving_runtime *runtime, const serving_load *load,
                       serving_memory *out) {
    double n = (double)load->sequences, context = (double)load->context_tokens, needed = 0, reserved = 0;
    double step = tokens_of_step(load), logits = fmax(n, (double)runtime->sampled_tokens);
    *out = (serving_memory){0};
    for (uint32_t i = 0; i < rank->cache_count; i++) {
        const window_cache *c = &rank->caches[i];
        needed += c->token_bytes * needed_tokens(c->window, context);
        reserved += c->token_bytes * reserved_tokens(runtime, c->window, context);
    }
    double input = rank->input_token_bytes * (double)load->prompt_tokens + rank->input_bytes;
    double activations = rank->step_token_bytes * step;
    if (runtime->has_all_logits)
        activations += rank->logit_bytes * step;
    else
        activations = fmax(activations, rank->logit_bytes * logits);
    out->sequence_bytes = reserved + input + rank->state_bytes;
    out->cache_bytes = n * (reserved + input);
    add_part(out, "weights", rank->weight_bytes, false);
    add_part(out, "kv_cache", n * (needed + input), false);
    add_part(out, "kv_unused", n * (reserved - needed) + out->cache_bytes * runtime->margin_ratio, false);
    add_part(out, "states", n * rank->state_bytes, false);
    add_part(out, "activations", activations, false);
    if (load->has_graphs) add_part(out, "graphs", rank->layers * runtime->graph_bytes, true);
    if (load->ranks > 1) add_part(out, "exchange", runtime->exchange_bytes, true);
    add_part(out, "context", runtime->context_bytes, true);
    set_ends(out, activations);
}
