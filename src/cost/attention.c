/* attention.c - attention that an exporter has decomposed into operators, where frameworks run one fused kernel.
 *
 * Product, scale, softmax, product run as one kernel which never stores the scores. It does keep its output, but in the
 * layout that the next layer reads and keeps, so that counts there. Three properties of the graph show whether the
 * exported program called the fused kernel: the export of the fused call scales the queries before the product, while
 * programs that write attention out scale the scores; there is no fused kernel for more than four dimensions; and a
 * program that reshapes the scores, as for the masks of shifted windows, computes attention itself, also in the layers
 * without a shift. A bias does not prevent fusion: the kernels compute a gradient for it. */
#include <assert.h>

#include "cost/pattern.h"
#include "cost/sizes.h"

enum {
    MAX_SCORE_STEPS = 8, /* scale, bias, mask and reshapes before or after the softmax */
    MAX_DIMENSIONS = 4   /* of a fused kernel: batch, heads, queries, channels */
};

typedef struct chain {
    uint32_t before[MAX_SCORE_STEPS], after[MAX_SCORE_STEPS]; /* scores, from the softmax outwards */
    uint32_t before_count, after_count;
    bool has_bias, is_reshaped, is_scaled;
} chain;

static bool is_product_of_data(const ft_op *op, const param_marks *params) {
    if (op->def->cost != COST_MATMUL && op->def->cost != COST_EINSUM) return false;
    return op->input_count == 2 && !tensor_has(params, op->inputs[0], MARK_STATIC) &&
           !tensor_has(params, op->inputs[1], MARK_STATIC);
}

static bool is_score_step(const ft_graph *graph, const ft_op *op) {
    return (op->def->flags & (OP_VIEW | OP_TRAIN_ONLY)) != 0 || pattern_is_transposed_operand(graph, op) ||
           (op->def->op_class == FT_CLASS_ELEMENTWISE && op->output_count == 1);
}

static bool has_one_reader(const ft_tensor *t) {
    return t->use_count == 1 && !t->is_output;
}

/* A bias that is trained, or may be. */
static bool has_bias(const ft_graph *graph, const ft_op *op, const param_marks *params, uint32_t scores) {
    for (uint32_t i = 0; i < op->input_count; i++) {
        const ft_tensor *in = op_input(graph, op, i);
        if (in == NULL || op->inputs[i] == scores || input_is_auxiliary(op->def, i)) continue;
        bool is_table = tensor_has(params, op->inputs[i], MARK_STATIC) && shape_elems(in->dims, in->rank) > 1;
        if (is_table || tensor_has(params, op->inputs[i], MARK_GRADIENT)) return true;
    }
    return false;
}

/* The operand of a step that holds the scores: the one as large as the output. */
static uint32_t score_operand(const ft_graph *graph, const ft_op *op) {
    const ft_tensor *out = op_output(graph, op, 0);
    for (uint32_t i = 0; out != NULL && i < op->input_count; i++) {
        const ft_tensor *in = op_input(graph, op, i);
        if (in == NULL || in->role != FT_ACTIVATION || in->producer == FT_NONE || input_is_auxiliary(op->def, i))
            continue;
        if (shape_elems(in->dims, in->rank) == shape_elems(out->dims, out->rank)) return op->inputs[i];
    }
    return FT_NONE;
}

static bool is_scale(const ft_op *op) {
    return op_is(op, "Mul") || op_is(op, "Div");
}

/* Collects the scores between the product that computes them and the softmax; false when it is not attention. */
static bool trace_before(const ft_graph *graph, const param_marks *params, const ft_op *softmax, chain *c) {
    uint32_t at = softmax->inputs[0];
    while (at != FT_NONE && c->before_count < MAX_SCORE_STEPS) {
        const ft_tensor *t = &graph->tensors[at];
        if (!has_one_reader(t) || t->producer == FT_NONE) return false;
        const ft_op *maker = &graph->ops[t->producer];
        c->before[c->before_count++] = at;
        if (is_product_of_data(maker, params)) return true;
        if (!is_score_step(graph, maker)) return false;
        at = score_operand(graph, maker);
        c->is_reshaped = c->is_reshaped || (maker->def->flags & OP_VIEW) != 0;
        c->is_scaled = c->is_scaled || is_scale(maker);
        c->has_bias = c->has_bias || has_bias(graph, maker, params, at);
    }
    return false;
}

static bool trace_after(const ft_graph *graph, const param_marks *params, const ft_op *softmax, chain *c) {
    uint32_t at = softmax->outputs[0];
    while (at != FT_NONE && c->after_count < MAX_SCORE_STEPS) {
        const ft_tensor *t = &graph->tensors[at];
        if (!has_one_reader(t)) return false;
        const ft_op *reader = &graph->ops[t->uses[0]];
        c->after[c->after_count++] = at;
        if (is_product_of_data(reader, params)) return true;
        if (!is_score_step(graph, reader) || reader->output_count == 0) return false;
        at = reader->outputs[0];
    }
    return false;
}

static bool trace(const ft_graph *graph, const param_marks *params, const ft_op *op, chain *c) {
    if (op->is_folded || !op_is(op, "Softmax") || op->input_count == 0 || op->output_count == 0) return false;
    *c = (chain){0};
    return trace_before(graph, params, op, c) && trace_after(graph, params, op, c);
}

/* True when a layer with a bias reshapes its scores. */
static bool reshapes_scores(const ft_graph *graph, const param_marks *params) {
    for (uint32_t k = 0; k < graph->op_count; k++) {
        chain c;
        if (trace(graph, params, &graph->ops[k], &c) && c.has_bias && c.is_reshaped) return true;
    }
    return false;
}

static const ft_op *maker_of(const ft_graph *graph, uint32_t tensor) {
    uint32_t maker = tensor != FT_NONE ? graph->tensors[tensor].producer : FT_NONE;
    return maker != FT_NONE ? &graph->ops[maker] : NULL;
}

/* Queries or keys that are scaled before the product: the fused kernel does it. */
static void mark_scales(const ft_graph *graph, const param_marks *params, const ft_op *product, patterns *found) {
    for (uint32_t i = 0; i < product->input_count; i++) {
        const ft_op *maker = maker_of(graph, product->inputs[i]);
        if (maker != NULL && op_is(maker, "Transpose") && maker->input_count > 0)
            maker = maker_of(graph, maker->inputs[0]);
        if (maker == NULL || !is_scale(maker) || maker->input_count != 2) continue;
        const ft_tensor *by = op_input(graph, maker, 1), *out = op_output(graph, maker, 0);
        bool is_number =
            by != NULL && tensor_has(params, maker->inputs[1], MARK_STATIC) && shape_elems(by->dims, by->rank) == 1;
        if (is_number && out != NULL && has_one_reader(out)) found->is_attention_scale[maker - graph->ops] = true;
    }
}

void attention_find(const ft_graph *graph, const param_marks *params, patterns *found) {
    int is_reshaped_anywhere = -1; /* -1: not computed yet; most models have no bias */
    for (uint32_t k = 0; k < graph->op_count; k++) {
        chain c;
        if (!trace(graph, params, &graph->ops[k], &c) || c.is_scaled) continue;
        if (c.has_bias && is_reshaped_anywhere < 0) is_reshaped_anywhere = reshapes_scores(graph, params);
        if (c.has_bias && is_reshaped_anywhere > 0) continue;
        assert(c.before_count > 0 && c.after_count > 0);
        const ft_op *product = maker_of(graph, c.before[c.before_count - 1]);
        const ft_tensor *scores = op_output(graph, product, 0);
        if (scores == NULL || scores->rank > MAX_DIMENSIONS) continue;
        for (uint32_t i = 0; i < c.before_count; i++) found->is_score[c.before[i]] = true;
        for (uint32_t i = 0; i < c.after_count; i++) found->is_score[c.after[i]] = true;
        mark_scales(graph, params, product, found);
    }
}
