/* recompute.c - recomputation of activations by layers (activation checkpointing).
 *
 * A layer keeps what it reads of other layers. What else its backward pass needs is freed in the forward pass, and
 * computed again before the backward pass of the layer. Full recomputation keeps nothing more. The selective one keeps
 * the results of attention, of collectives, and of every second product of a layer, as PyTorch's policies do: they cost
 * the most time and the least memory. */
#include "cost/lifetime.h"

static bool is_layer(const lifetimes *l, uint32_t layer) {
    return layer > 0 && layer <= l->layers.count;
}

bool lifetimes_find_layers(const ft_graph *graph, arena *memory, lifetimes *l) {
    if (!layers_find(graph, memory, &l->layers)) return false;
    size_t count = (size_t)l->layers.count + 2;
    l->first_op = ARENA_ARRAY(memory, uint32_t, count);
    l->last_op = ARENA_ARRAY(memory, uint32_t, count);
    if (l->first_op == NULL || l->last_op == NULL) return false;
    for (size_t i = 0; i < count; i++) l->first_op[i] = l->last_op[i] = FT_NONE;
    for (uint32_t k = 0; k < graph->op_count; k++) {
        uint32_t layer = l->layers.of_op[k];
        if (graph->ops[k].is_folded) continue;
        if (l->first_op[layer] == FT_NONE) l->first_op[layer] = k;
        l->last_op[layer] = k;
    }
    return true;
}

/* --- What is kept -------------------------------------------------------------------------------------------- */

static bool is_collective(const ft_op *op) {
    return op_is(op, "AllReduce") || op_is(op, "ReduceScatter") || op_is(op, "AllToAll");
}

/* Operators whose results the selective policy keeps. `products`: of the layer, up to and with this one. */
static bool is_retained(const ft_graph *graph, const ft_op *op, const param_marks *params, uint32_t *products) {
    if (op->def->cost == COST_ATTENTION || op->def->cost == COST_LINEAR_ATTENTION || is_collective(op)) return true;
    const ft_tensor *w = op_input(graph, op, op->def->w == 0 ? 1 : op->def->w);
    bool is_linear = op->def->cost == COST_MATMUL && w != NULL && op->inputs[1] != FT_NONE &&
                     tensor_has(params, op->inputs[op->def->w == 0 ? 1 : op->def->w], MARK_STATIC);
    return is_linear && (*products)++ % 2 == 0;
}

static void keep(lifetimes *l, uint32_t tensor, uint32_t until, bool *is_kept) {
    uint32_t s = tensor == FT_NONE ? FT_NONE : l->storage[tensor];
    if (s == FT_NONE) return;
    is_kept[s] = true;
    if (until < l->first_saver[s]) l->first_saver[s] = until;
}

/* Inputs of layers, and results that the policy keeps. */
static void find_kept(const ft_graph *graph, const ft_cost_options *options, const param_marks *params, lifetimes *l,
                      bool *is_kept) {
    uint32_t products = 0, before = FT_NONE;
    for (uint32_t k = 0; k < graph->op_count; k++) {
        const ft_op *op = &graph->ops[k];
        uint32_t layer = l->layers.of_op[k];
        if (op->is_folded || !is_layer(l, layer)) continue;
        if (layer != before) products = 0;
        before = layer;
        bool is_result_kept = options->recompute == FT_RECOMPUTE_SELECTIVE && is_retained(graph, op, params, &products);
        l->is_rerun[k] = !is_result_kept;
        for (uint32_t i = 0; i < op->output_count && is_result_kept; i++)
            if (i == 0) keep(l, op->outputs[i], l->first_op[layer], is_kept);
        for (uint32_t i = 0; i < op->input_count; i++) {
            uint32_t s = op->inputs[i] == FT_NONE ? FT_NONE : l->storage[op->inputs[i]];
            uint32_t maker = s == FT_NONE ? FT_NONE : graph->tensors[s].producer;
            bool is_outside = s != FT_NONE && (maker == FT_NONE || l->layers.of_op[maker] != layer);
            if (is_outside) keep(l, s, l->first_op[layer], is_kept);
        }
    }
}

bool lifetimes_recompute(const ft_graph *graph, const ft_cost_options *options, const param_marks *params,
                         arena *memory, lifetimes *l) {
    l->is_recomputed = ARENA_ARRAY(memory, bool, (size_t)graph->tensor_count + 1);
    l->is_rerun = ARENA_ARRAY(memory, bool, (size_t)graph->op_count + 1);
    bool *is_kept = ARENA_ARRAY(memory, bool, (size_t)graph->tensor_count + 1);
    if (l->is_recomputed == NULL || l->is_rerun == NULL || is_kept == NULL) return false;
    find_kept(graph, options, params, l, is_kept);
    for (uint32_t t = 0; t < graph->tensor_count; t++) {
        uint32_t maker = graph->tensors[t].producer;
        if (l->storage[t] != t || maker == FT_NONE || !l->is_rerun[maker]) continue;
        l->is_recomputed[t] = !is_kept[t] && l->first_saver[t] != FT_NONE && l->last_use[t] != LIFETIME_WHOLE;
    }
    return true;
}
