/* rank.c - what the memory of a rank depends on, measured on its graph once: weights, bytes of a token in the caches,
 * states, and activations of a step.
 *
 * Attention is fused, so every activation is proportional to the tokens of a step, and the peak of the memory timeline
 * at one step gives it for all. Caches are not activations: their tensors count nothing on the timeline. */
#include <math.h>

#include "base/error.h"
#include "cost/cache.h"
#include "graph/geometry.h"
#include "serving/serving.h"

enum { LOGIT_COPIES = 2 }; /* in float32: as sampled, and their softmax */

/* --- Caches ------------------------------------------------------------------------------------------------------ */

static double cache_bits(const serving_setup *s, const ft_tensor *t) {
    if (s->cache != NULL) return s->cache->cache_bits;
    return (double)ft_dtype_bits(dtype_info_of(t->dtype).is_float ? s->dtype : t->dtype);
}

/* Windows beyond the last place count as none, which takes more. */
static void add_growing(serving_rank *out, int64_t window, double token_bytes) {
    uint32_t i = 0;
    while (i < out->cache_count && out->caches[i].window != window) i++;
    if (i == SERVING_MAX_WINDOWS) {
        i = 0;
        out->caches[0].window = 0;
    }
    if (i == out->cache_count) out->caches[out->cache_count++] = (window_cache){.window = window};
    out->caches[i].token_bytes += token_bytes;
}

static void add_cache(serving_rank *out, const ft_graph *rank, const cache_tensor *c, const serving_setup *s) {
    const ft_tensor *t = &rank->tensors[c->tensor];
    double elems = (double)c->elems;
    if (c->axis < 0) {
        ft_dtype dtype = s->runtime->states != FT_DTYPE_UNKNOWN ? s->runtime->states : t->dtype;
        out->state_bytes += elems * (double)ft_dtype_bits(dtype) / 8;
    } else if (c->is_of_input && c->length != s->tokens) {
        out->input_bytes += elems * cache_bits(s, t) / 8 * (double)c->length;
    } else if (c->is_of_input) {
        out->input_token_bytes += elems * cache_bits(s, t) / 8;
    } else {
        add_growing(out, (int64_t)c->window, elems * cache_bits(s, t) / 8);
    }
}

/* The results of an operator that has a past, but the first, are its caches. */
static void leave_out(ft_graph *rank, const cache_list *caches) {
    for (uint32_t i = 0; i < caches->count; i++) {
        const cache_tensor *c = &caches->items[i];
        rank->tensors[c->tensor].held_bytes = 1;
        for (uint32_t k = 1; c->op != FT_NONE && k < rank->ops[c->op].output_count; k++)
            if (rank->ops[c->op].outputs[k] != FT_NONE) rank->tensors[rank->ops[c->op].outputs[k]].held_bytes = 1;
    }
}

/* --- Activations ------------------------------------------------------------------------------------------------- */

/* Numbers a token that experts hold between their products: every token is there once for each of its experts. */
static double expert_elems(const ft_graph *rank, const ft_op *op, uint32_t expert_ranks) {
    const ft_tensor *x = op_input(rank, op, 0), *first = op_input(rank, op, 2);
    double width = x != NULL && x->rank > 0 ? (double)x->dims[x->rank - 1] : 0, inner = 0;
    if (first == NULL || first->rank != 3 || width <= 0) return 0;
    for (uint32_t i = 2; i < op->input_count; i++) {
        const ft_tensor *t = op_input(rank, op, i);
        bool is_scale = i < 32 && (op->def->scale_inputs >> i & 1) != 0;
        if (t == NULL || t->rank != 3 || is_scale) continue;
        inner += (double)(t->dims[1] == (int64_t)width && t->dims[2] != (int64_t)width ? t->dims[2] : t->dims[1]);
    }
    if (op->def->packed_inputs != 0) inner = 3 * (double)first->dims[1]; /* dimensions of bytes say less */
    return (double)op_attr_int(op, "k", 1) / (expert_ranks > 0 ? expert_ranks : 1) * (inner + width);
}

/* Columns of the logits, which are counted for as many positions as are sampled, whatever the graph computes. */
static double leave_out_logits(ft_graph *rank) {
    double columns = 0;
    for (uint32_t i = 0; i < rank->outputs.count; i++) {
        ft_tensor *t = &rank->tensors[rank->outputs.items[i]];
        bool is_cache = t->rank != 3 || t->producer == FT_NONE || t->held_bytes == 1;
        if (is_cache || rank->ops[t->producer].def->cost != COST_MATMUL) continue;
        columns = fmax(columns, (double)t->dims[2]);
        t->held_bytes = 1;
    }
    return columns;
}

static ft_status measure_step(ft_graph *rank, const serving_setup *s, serving_rank *out, ft_error *error) {
    ft_cost_options options = ft_cost_options_default();
    ft_memory memory;
    double experts = 0, vocabulary = leave_out_logits(rank);
    options.dtype = s->runtime->activations != FT_DTYPE_UNKNOWN ? s->runtime->activations : s->dtype;
    FT_TRY(ft_memory_plan(rank, &options, &memory, NULL, NULL, error));
    for (uint32_t k = 0; k < rank->op_count; k++)
        if (rank->ops[k].def->cost == COST_MOE)
            experts = fmax(experts, expert_elems(rank, &rank->ops[k], s->expert_ranks));
    out->step_token_bytes =
        (double)memory.activation_bytes / (double)s->tokens + experts * (double)ft_dtype_bits(options.dtype) / 8;
    out->logit_bytes = vocabulary * sizeof(float);
    if (!s->runtime->has_all_logits) out->logit_bytes *= LOGIT_COPIES;
    return FT_OK;
}

/* --- The whole --------------------------------------------------------------------------------------------------- */

static ft_status measure(ft_graph *rank, const serving_setup *s, arena *memory, serving_rank *out, ft_error *error) {
    cache_list caches;
    model_layers layers;
    if (!caches_find(rank, memory, &caches) || !layers_find(rank, memory, &layers)) return FT_NOMEM(error);
    out->layers = layers.count;
    for (uint32_t i = 0; i < caches.count; i++) add_cache(out, rank, &caches.items[i], s);
    leave_out(rank, &caches);
    FT_TRY(serving_weight_bytes(rank, &layers, s, &out->weight_bytes, error));
    return measure_step(rank, s, out, error);
}

ft_status serving_rank_measure(ft_graph *rank, const serving_setup *setup, serving_rank *out, ft_error *error) {
    arena memory;
    *out = (serving_rank){0};
    arena_init(&memory, FT_MAX_GRAPH_BYTES);
    ft_status status = measure(rank, setup, &memory, out, error);
    arena_free(&memory);
    return status;
}
