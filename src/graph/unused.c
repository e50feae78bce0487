/* unused.c - operators whose results nothing needs: no output of the graph depends on them.
 *
 * Exporters remove most of them, tools that cut a graph leave some behind; runtimes that work backwards from the
 * outputs (TensorFlow, ncnn, OpenVINO, TensorRT, Vela, torch.compile) never run them. Operators in loops stay, since
 * the edge from one trip to the next is not in the graph, and so do operators without outputs, whose effect is not a
 * tensor. */
#include <assert.h>

#include "graph/shape.h"

typedef struct needs {
    ft_graph *graph;
    bool *of_tensor; /* per tensor: an output of the graph, or read by an operator that runs */
} needs;

static void need(needs *n, uint32_t tensor) {
    if (tensor == FT_NONE) return;
    assert(tensor < n->graph->tensor_count);
    n->of_tensor[tensor] = true;
}

/* What is needed whatever the operators are. */
static void need_boundaries(needs *n) {
    const ft_graph *g = n->graph;
    for (uint32_t i = 0; i < g->outputs.count; i++) need(n, g->outputs.items[i]);
    for (uint32_t i = 1; i < g->loop_count; i++) {
        need(n, g->loops[i].trip_tensor);
        need(n, g->loops[i].scan_tensor);
    }
    for (uint32_t i = 1; i < g->branch_count; i++) need(n, g->branches[i].condition);
}

/* A branch that is not taken counts: its condition may be a guess. */
static bool is_needed(const needs *n, const ft_op *op) {
    bool has_outputs = false;
    for (uint32_t i = 0; i < op->output_count; i++) {
        if (op->outputs[i] == FT_NONE) continue;
        if (n->of_tensor[op->outputs[i]]) return true;
        has_outputs = true;
    }
    return !has_outputs || op->loop != 0 || op->branch != 0;
}

/* Patterns count the readers of a tensor: those that never run are not among them. */
static ft_status drop_readers(ft_graph *g, ft_tensor *t, ft_error *error) {
    uint32_t kept = 0;
    for (uint32_t i = 0; i < t->use_count; i++) kept += !g->ops[t->uses[i]].is_unused;
    if (kept == t->use_count) return FT_OK;
    uint32_t *uses = ARENA_ARRAY(&g->memory, uint32_t, (size_t)kept + 1);
    if (uses == NULL) return FT_NOMEM(error);
    kept = 0;
    for (uint32_t i = 0; i < t->use_count; i++)
        if (!g->ops[t->uses[i]].is_unused) uses[kept++] = t->uses[i];
    t->uses = uses;
    t->use_count = kept;
    return FT_OK;
}

ft_status graph_drop_unused(ft_graph *bound, ft_error *error) {
    needs n = {bound, ARENA_ARRAY(&bound->memory, bool, bound->tensor_count)};
    uint32_t dropped = 0;
    if (n.of_tensor == NULL) return FT_NOMEM(error);
    if (bound->outputs.count == 0) return FT_OK; /* a part of a model: nothing states what is needed */
    need_boundaries(&n);
    for (uint32_t k = bound->op_count; k-- > 0;) {
        ft_op *op = &bound->ops[k];
        if (!is_needed(&n, op)) {
            op->is_unused = !op->is_folded;
            op->is_folded = true;
            dropped += op->is_unused;
            continue;
        }
        for (uint32_t i = 0; i < op->input_count; i++) need(&n, op->inputs[i]);
    }
    for (uint32_t t = 0; dropped > 0 && t < bound->tensor_count; t++)
        FT_TRY(drop_readers(bound, &bound->tensors[t], error));
    return FT_OK;
}
