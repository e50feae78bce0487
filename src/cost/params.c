/* params.c - which stored tensors are parameters, which are buffers, which are neither.
 *
 * No format says so. The idea: a stored tensor is what its readers take it for. Walking the operators backwards, each
 * reader says how it uses each input, and operators that only prepare stored data (Transpose, Reshape, Cast,
 * DequantizeLinear of a constant) hand on what their own readers said. Then:
 *
 *   - floats, and the 8- and 16-bit integers of quantised models, are parameters wherever they are data: weights,
 *     biases, scales of norms, embeddings, tokens; 32-bit integers only as operands of products (biases);
 *   - one element that an elementwise operator reads is a constant of a formula, not a parameter;
 *   - running statistics and initial states of recurrent layers are buffers;
 *   - a table added to attention scores right before their softmax is a buffer: a mask, or a position bias that the
 *     exporter has expanded from far fewer parameters;
 *   - PyTorch's exporter names what code computes after the path of the operator ("/blocks/0/Constant_output_0") and
 *     parameters after their module ("blocks.0.weight"): a leading slash makes a buffer. */
#include "cost/params.h"

#include <string.h>

#include "cost/sizes.h"

/* How a tensor is read; several at once are possible. */
enum {
    USE_WEIGHT = 1 << 0,  /* operand of a product, norm or recurrent layer */
    USE_OPERAND = 1 << 1, /* data of any other operator */
    USE_BUFFER = 1 << 2,  /* statistics, states, tables */
};

static bool is_weighted(const ft_opdef *def) {
    switch (def->op_class) {
    case FT_CLASS_CONV:
    case FT_CLASS_MATMUL:
    case FT_CLASS_ATTENTION:
    case FT_CLASS_RECURRENT:
        return true;
    case FT_CLASS_NORM:
        return def->cost != COST_INPUTWISE || strcmp(def->kernel ? def->kernel : "", "softmax") != 0;
    default:
        return false;
    }
}

/* --- Tables added to attention scores ------------------------------------------------------------------------ */

static const ft_op *only_reader(const ft_graph *graph, const ft_op *op) {
    const ft_tensor *out = op_output(graph, op, 0);
    return out != NULL && out->use_count == 1 ? &graph->ops[out->uses[0]] : NULL;
}

static bool is_named(const ft_op *op, const char *name) {
    return strcmp(op->def->name, name) == 0;
}

/* Scores may get a bias, a mask and a reshape between them before the softmax. */
static bool leads_to_softmax(const ft_graph *graph, const ft_op *op) {
    enum { MAX_STEPS = 5 };
    for (int step = 0; step < MAX_STEPS; step++) {
        op = only_reader(graph, op);
        if (op == NULL) return false;
        if (is_named(op, "Softmax")) return true;
        if (!is_named(op, "Add") && (op->def->flags & OP_VIEW) == 0) return false;
    }
    return false;
}

/* A bias of a linear layer may also stand before a softmax: scores have as many dimensions as two sequences need. */
static bool is_score_table(const ft_graph *graph, const ft_op *op, const ft_tensor *t) {
    return t->rank >= 2 && t->dims[t->rank - 1] > 1 && t->dims[t->rank - 2] > 1 && is_named(op, "Add") &&
           leads_to_softmax(graph, op);
}

/* --- How operators read their inputs ------------------------------------------------------------------------- */

static uint8_t use_of_input(const ft_graph *graph, const ft_op *op, uint32_t i, bool is_score) {
    const ft_opdef *def = op->def;
    if (input_is_steering(def, i)) return 0;
    if ((def->flags & OP_STATS) != 0 && i >= 3) return USE_BUFFER;
    if (def->cost == COST_RECURRENT && graph->format != FT_FORMAT_TFLITE && (i == 5 || i == 6)) return USE_BUFFER;
    if (is_score) return USE_BUFFER;
    return is_weighted(def) ? USE_WEIGHT : USE_OPERAND;
}

static void mark_static(const ft_graph *graph, uint8_t *marks) {
    for (uint32_t t = 0; t < graph->tensor_count; t++)
        if (graph->tensors[t].role == FT_CONSTANT) marks[t] = MARK_STATIC;
    for (uint32_t k = 0; k < graph->op_count; k++) {
        const ft_op *op = &graph->ops[k];
        bool is_static = op->is_folded;
        if (!is_static && (op->def->flags & OP_NO_GRADIENT) == 0) {
            is_static = op->input_count > 0 && ft_opdef_is_known(op->def);
            for (uint32_t i = 0; i < op->input_count; i++)
                if (op->inputs[i] != FT_NONE && (marks[op->inputs[i]] & MARK_STATIC) == 0) is_static = false;
        }
        for (uint32_t i = 0; is_static && i < op->output_count; i++)
            if (op->outputs[i] != FT_NONE) marks[op->outputs[i]] |= MARK_STATIC;
    }
}

static bool makes_static(const ft_op *op, const uint8_t *marks) {
    for (uint32_t i = 0; i < op->output_count; i++)
        if (op->outputs[i] != FT_NONE) return (marks[op->outputs[i]] & MARK_STATIC) != 0;
    return false;
}

/* Walks backwards: uses and homes of the outputs are complete when their producer's turn comes. */
static void collect_uses(const ft_graph *graph, const uint8_t *marks, uint8_t *uses, uint32_t *home) {
    for (uint32_t k = graph->op_count; k-- > 0;) {
        const ft_op *op = &graph->ops[k];
        bool hands_on = makes_static(op, marks);
        uint8_t handed = 0;
        uint32_t handed_home = FT_NONE;
        for (uint32_t i = 0; hands_on && i < op->output_count; i++) {
            uint32_t out = op->outputs[i];
            if (out == FT_NONE) continue;
            handed |= graph->tensors[out].is_output ? uses[out] | USE_OPERAND : uses[out];
            if (home[out] < handed_home) handed_home = home[out];
        }
        for (uint32_t i = 0; i < op->input_count; i++) {
            uint32_t in = op->inputs[i];
            if (in == FT_NONE) continue;
            uint32_t reader = hands_on ? handed_home : k;
            if (reader < home[in]) home[in] = reader;
            if ((marks[in] & MARK_STATIC) == 0) continue;
            bool is_score = !hands_on && is_score_table(graph, op, &graph->tensors[in]);
            uint8_t use = use_of_input(graph, op, i, is_score);
            uses[in] |= hands_on && use != 0 && use != USE_BUFFER ? handed : use;
        }
    }
}

/* --- Verdicts ------------------------------------------------------------------------------------------------ */

static bool is_trainable(const ft_tensor *t, uint8_t uses) {
    if (t->dtype == FT_INT32) return (uses & USE_WEIGHT) != 0;
    return size_is_float(t) || size_is_quantised(t);
}

static uint8_t verdict(const ft_graph *graph, const ft_tensor *t, uint8_t uses) {
    if (t->role != FT_CONSTANT || uses == 0 || !is_trainable(t, uses)) return 0;
    int64_t elems = shape_elems(t->dims, t->rank);
    if (elems <= 0 || (elems == 1 && (uses & USE_WEIGHT) == 0)) return 0;
    bool is_computed = graph->format == FT_FORMAT_ONNX && t->name[0] == '/';
    return (uses & (USE_WEIGHT | USE_OPERAND)) != 0 && !is_computed ? MARK_PARAM | MARK_GRADIENT : MARK_BUFFER;
}

bool params_op_has_gradient(const param_marks *marks, const ft_op *op) {
    if ((op->def->flags & OP_NO_GRADIENT) != 0) return false;
    for (uint32_t i = 0; i < op->input_count; i++)
        if (!input_is_steering(op->def, i) && tensor_has(marks, op->inputs[i], MARK_GRADIENT)) return true;
    return false;
}

static bool can_have_gradient(const ft_tensor *t) {
    return size_is_float(t) || size_is_quantised(t);
}

static void mark_gradients(const ft_graph *graph, param_marks *m) {
    for (uint32_t k = 0; k < graph->op_count; k++) {
        const ft_op *op = &graph->ops[k];
        if (!params_op_has_gradient(m, op)) continue;
        for (uint32_t i = 0; i < op->output_count; i++)
            if (op->outputs[i] != FT_NONE && can_have_gradient(&graph->tensors[op->outputs[i]]))
                m->marks[op->outputs[i]] |= MARK_GRADIENT;
    }
}

bool params_mark(const ft_graph *graph, arena *memory, param_marks *m) {
    uint32_t count = graph->tensor_count > 0 ? graph->tensor_count : 1;
    uint8_t *uses = ARENA_ARRAY(memory, uint8_t, count);
    m->marks = ARENA_ARRAY(memory, uint8_t, count);
    m->home = ARENA_ARRAY(memory, uint32_t, count);
    if (uses == NULL || m->marks == NULL || m->home == NULL) return false;
    memset(m->home, 0xff, count * sizeof *m->home); /* FT_NONE */
    mark_static(graph, m->marks);
    collect_uses(graph, m->marks, uses, m->home);
    for (uint32_t t = 0; t < graph->tensor_count; t++) m->marks[t] |= verdict(graph, &graph->tensors[t], uses[t]);
    mark_gradients(graph, m);
    return true;
}
