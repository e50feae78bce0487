/* pattern.c - activations and norms that an exporter has decomposed into operators, and copies that frameworks avoid.
 *
 * Activations: x * sigmoid(x), or GELU by erf, is one function to a framework, which keeps only x. It is found by its
 * end: an elementwise operator that reads two tensors which are both elementwise functions of one base.
 * Norms: a group norm is exported as a norm without scale and a product; the framework keeps only the norm's input.
 * Transposes: a product accepts either layout, so a transpose that only products read is a view.
 * attention.c finds attention. */
#include "cost/pattern.h"

#include <string.h>

#include "cost/sizes.h"

/* --- Activations --------------------------------------------------------------------------------------------- */

static bool is_pointwise(const ft_op *op) {
    bool has_class = op->def->op_class == FT_CLASS_ELEMENTWISE || op->def->op_class == FT_CLASS_ACTIVATION;
    return has_class && op->def->cost == COST_ELEMENTWISE && op->output_count == 1 && !op->is_folded;
}

/* The common base of all operands that are not stored; FT_NONE when there is none. *operands: how many are distinct. */
static uint32_t common_base(const ft_op *op, const param_marks *params, const patterns *c, uint32_t *operands) {
    uint32_t base = FT_NONE, before = FT_NONE;
    *operands = 0;
    for (uint32_t i = 0; i < op->input_count; i++) {
        uint32_t in = op->inputs[i];
        if (in == FT_NONE || tensor_has(params, in, MARK_STATIC)) continue;
        if (base != FT_NONE && c->base[in] != base) return FT_NONE;
        if (in != before) ++*operands;
        base = c->base[in];
        before = in;
    }
    return base;
}

static bool is_read_by_fused(const ft_graph *graph, const patterns *c, uint32_t tensor) {
    const ft_tensor *t = &graph->tensors[tensor];
    for (uint32_t i = 0; i < t->use_count; i++) {
        uint32_t reader = t->uses[i];
        if (!c->is_fused[reader] || c->base[graph->ops[reader].outputs[0]] != c->base[tensor]) return false;
    }
    return t->use_count > 0 && !t->is_output;
}

/* x * sigmoid(1.702 x) is not a function of any framework: the program computes it, and keeps what each step needs. */
static bool is_quick_gelu(const ft_graph *graph, const ft_op *op) {
    if (!op_is(op, "Mul") || op->input_count != 2) return false;
    for (uint32_t i = 0; i < 2; i++) {
        const ft_tensor *gate = op_input(graph, op, i);
        const ft_op *sigmoid = gate != NULL && gate->producer != FT_NONE ? &graph->ops[gate->producer] : NULL;
        if (sigmoid == NULL || !op_is(sigmoid, "Sigmoid")) continue;
        const ft_tensor *scaled = op_input(graph, sigmoid, 0);
        const ft_op *scale = scaled != NULL && scaled->producer != FT_NONE ? &graph->ops[scaled->producer] : NULL;
        uint32_t x = op->inputs[1 - i];
        if (scale != NULL && op_is(scale, "Mul") && scale->input_count == 2 &&
            (scale->inputs[0] == x || scale->inputs[1] == x))
            return true;
    }
    return false;
}

static void find_fused(const ft_graph *graph, const param_marks *params, patterns *c) {
    for (uint32_t t = 0; t < graph->tensor_count; t++) c->base[t] = t;
    for (uint32_t k = 0; k < graph->op_count; k++) {
        const ft_op *op = &graph->ops[k];
        uint32_t operands;
        if (!is_pointwise(op) || op->outputs[0] == FT_NONE) continue;
        uint32_t base = common_base(op, params, c, &operands);
        if (base == FT_NONE) continue;
        if (operands > 1 && is_quick_gelu(graph, op)) continue;
        c->base[op->outputs[0]] = base;
        c->is_fused[k] = operands > 1;
    }
    for (uint32_t k = graph->op_count; k-- > 0;) {
        uint32_t out = graph->ops[k].output_count > 0 ? graph->ops[k].outputs[0] : FT_NONE;
        if (out != FT_NONE && c->base[out] != out && is_read_by_fused(graph, c, out)) c->is_fused[k] = true;
    }
}

/* --- Norms --------------------------------------------------------------------------------------------------- */

bool pattern_is_norm_scale(const ft_graph *graph, const ft_op *op, const param_marks *params) {
    enum { MAX_STEPS = 3 }; /* reshapes between the norm and its scale */
    if (!op_is(op, "Mul") || op->input_count != 2) return false;
    bool is_first_stored = tensor_has(params, op->inputs[0], MARK_STATIC);
    if (is_first_stored == tensor_has(params, op->inputs[1], MARK_STATIC)) return false;
    const ft_tensor *t = op_input(graph, op, is_first_stored ? 1 : 0);
    for (int step = 0; t != NULL && t->use_count == 1 && t->producer != FT_NONE && step < MAX_STEPS; step++) {
        const ft_op *maker = &graph->ops[t->producer];
        if ((maker->def->flags & OP_VIEW) == 0)
            return maker->def->op_class == FT_CLASS_NORM && (maker->def->flags & OP_SAVES_INPUTS) != 0;
        t = op_input(graph, maker, 0);
    }
    return false;
}

/* --- Transposes ---------------------------------------------------------------------------------------------- */

static bool swaps_last_two(const int64_t *perm, int64_t count) {
    for (int64_t i = 0; i < count - 2; i++)
        if (perm[i] != i) return false;
    return count >= 2 && perm[count - 2] == count - 1 && perm[count - 1] == count - 2;
}

bool pattern_is_transposed_operand(const ft_graph *graph, const ft_op *op) {
    const ft_tensor *out = op_output(graph, op, 0), *by_input = op_input(graph, op, 1);
    if (!op_is(op, "Transpose") || out == NULL || out->is_output || out->use_count == 0) return false;
    uint32_t count;
    const int64_t *perm = op_attr_ints(op, "perm", &count);
    int64_t length = count;
    if (perm == NULL && by_input != NULL && by_input->value != NULL) {
        perm = by_input->value->ints;
        length = by_input->value->count;
    }
    bool is_swapped = perm != NULL ? swaps_last_two(perm, length) : out->rank == 2;
    for (uint32_t i = 0; is_swapped && i < out->use_count; i++)
        is_swapped = graph->ops[out->uses[i]].def->cost == COST_MATMUL;
    return is_swapped;
}

/* --- Pads and single indices --------------------------------------------------------------------------------- */

/* Exporters write the padding that an average pool counts as a separate pad; frameworks pad inside of the pool. */
bool pattern_is_pool_pad(const ft_graph *graph, const ft_op *op) {
    const ft_tensor *out = op_output(graph, op, 0);
    if (!op_is(op, "Pad") || out == NULL || out->is_output || out->use_count == 0) return false;
    for (uint32_t i = 0; i < out->use_count; i++) {
        if (!op_is(&graph->ops[out->uses[i]], "AveragePool")) return false;
    }
    return true;
}

bool pattern_is_single_index(const ft_graph *graph, const ft_op *op) {
    const ft_tensor *index = op_input(graph, op, 1), *in = op_input(graph, op, 0);
    return op_is(op, "Gather") && index != NULL && index->rank == 0 && in != NULL && in->role != FT_CONSTANT;
}

/* --- All of them --------------------------------------------------------------------------------------------- */

bool patterns_find(const ft_graph *graph, const ft_cost_options *options, const param_marks *params, arena *memory,
                   patterns *found) {
    found->base = ARENA_ARRAY(memory, uint32_t, (size_t)graph->tensor_count + 1);
    found->is_score = ARENA_ARRAY(memory, bool, (size_t)graph->tensor_count + 1);
    found->is_fused = ARENA_ARRAY(memory, bool, (size_t)graph->op_count + 1);
    found->is_attention_scale = ARENA_ARRAY(memory, bool, (size_t)graph->op_count + 1);
    if (found->base == NULL || found->is_score == NULL || found->is_fused == NULL || found->is_attention_scale == NULL)
        return false;
    find_fused(graph, params, found);
    if (options->has_fused_attention) attention_find(graph, params, found);
    return true;
}
