/* params.c - classification of stored tensors: parameters, buffers, or neither.
 *
 * No format stores this, so it is inferred from the readers. The operators are visited backwards; each reader records
 * how it uses each input, and folded operators that only prepare stored data (Transpose, Reshape, Cast,
 * DequantizeLinear of a constant) pass the uses of their outputs on to their inputs. Then:
 *
 *   - floats, and the 8- and 16-bit integers of quantised models, are parameters wherever they are data: weights,
 *     biases, scales of norms, embeddings, tokens; 32-bit integers only as operands of products (biases);
 *   - a single element that an elementwise operator reads is a constant of a formula, unless its name is that of a
 *     module's member ("act.scale"): then it is learned;
 *   - scales and zero points of weights in few bits are neither: they are part of how those are stored;
 *   - running statistics and initial states of recurrent layers are buffers;
 *   - a stored data input of a convolution is a buffer: a table of positions;
 *   - a table added to attention scores right before their softmax is a buffer: a mask, or a position bias that the
 *     exporter has expanded from far fewer parameters;
 *   - PyTorch's exporter names parameters after their module ("blocks.0.weight") and computed constants after the path
 *     of the operator ("/blocks/0/Constant_output_0"). A literal is a buffer; the output of another operator is one
 *     too, unless a product or norm reads it: then it is a weight that was folded through a transpose. */
#include "cost/params.h"

#include <string.h>

#include "cost/sizes.h"
#include "graph/graph.h"

/* How a tensor is read; several at once are possible. */
enum {
    USE_WEIGHT = 1 << 0,  /* operand of a product, norm or recurrent layer */
    USE_OPERAND = 1 << 1, /* data of any other operator */
    USE_BUFFER = 1 << 2,  /* statistics, states, tables */
    USE_SCALE = 1 << 3,   /* scales and zero points of quantised weights */
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

/* Between the scores and their softmax there may be a bias, a mask and a reshape. */
static bool leads_to_softmax(const ft_graph *graph, const ft_op *op) {
    enum { MAX_STEPS = 5 };
    for (int step = 0; step < MAX_STEPS; step++) {
        op = only_reader(graph, op);
        if (op == NULL) return false;
        if (op_is(op, "Softmax")) return true;
        if (!op_is(op, "Add") && (op->def->flags & OP_VIEW) == 0) return false;
    }
    return false;
}

/* The bias of a linear layer may also precede a softmax, but scores have two dimensions larger than 1. */
static bool is_table(const ft_tensor *t) {
    return t->rank >= 2 && t->dims[t->rank - 1] > 1 && t->dims[t->rank - 2] > 1;
}

/* --- How operators read their inputs ------------------------------------------------------------------------- */

static uint8_t use_of_input(const ft_graph *graph, const ft_op *op, uint32_t i, bool is_score) {
    const ft_opdef *def = op->def;
    if (input_is_auxiliary(def, i)) return 0;
    if ((def->flags & OP_STATS) != 0 && i >= 3) return USE_BUFFER;
    if (i < 32 && (def->scale_inputs >> i & 1) != 0) return USE_SCALE;
    /* Tables of angles. */
    bool is_table = i < 32 && (def->table_inputs >> i & 1) != 0;
    if (is_table && (def->cost == COST_ATTENTION || op_is(op, "RotaryEmbedding"))) return USE_BUFFER;
    if (def->cost == COST_RECURRENT && graph->format != FT_FORMAT_TFLITE && (i == 5 || i == 6)) return USE_BUFFER;
    /* The data input of a convolution may be a stored table of positions. */
    if (is_score || (def->op_class == FT_CLASS_CONV && i == def->x)) return USE_BUFFER;
    return is_weighted(def) ? USE_WEIGHT : USE_OPERAND;
}

static void mark_static(const ft_graph *graph, uint8_t *marks) {
    for (uint32_t t = 0; t < graph->tensor_count; t++) {
        const ft_tensor *tensor = &graph->tensors[t];
        bool is_made_by_folded = tensor->producer != FT_NONE && graph->ops[tensor->producer].is_folded;
        if (tensor->role == FT_CONSTANT || is_made_by_folded) marks[t] = MARK_STATIC;
    }
}

/* How the readers visited so far use one tensor. */
typedef struct reading {
    uint8_t uses;
    uint32_t first, last;
} reading;

static void add_reading(param_marks *m, uint8_t *uses, uint32_t tensor, const reading *r) {
    uses[tensor] |= r->uses;
    if (r->first == FT_NONE) return;
    if (m->first_reader[tensor] == FT_NONE || r->first < m->first_reader[tensor]) m->first_reader[tensor] = r->first;
    if (m->last_reader[tensor] == FT_NONE || r->last > m->last_reader[tensor]) m->last_reader[tensor] = r->last;
}

/* The uses of the outputs of a folded operator, which it passes on to its inputs. */
static reading uses_of_outputs(const ft_graph *graph, const ft_op *op, const param_marks *m, const uint8_t *uses) {
    reading all = {0, FT_NONE, FT_NONE};
    for (uint32_t i = 0; i < op->output_count; i++) {
        uint32_t out = op->outputs[i];
        if (out == FT_NONE) continue;
        /* A constant that is an output of the graph (the anchors of a detector) is not trained. */
        all.uses |= graph->tensors[out].is_output ? uses[out] | USE_BUFFER : uses[out];
        if (m->first_reader[out] < all.first) all.first = m->first_reader[out];
        if (m->last_reader[out] != FT_NONE && (all.last == FT_NONE || m->last_reader[out] > all.last))
            all.last = m->last_reader[out];
    }
    return all;
}

/* Backwards, so that the uses of an operator's outputs are complete when it is visited. */
static void collect_uses(const ft_graph *graph, param_marks *m, uint8_t *uses) {
    for (uint32_t k = graph->op_count; k-- > 0;) {
        const ft_op *op = &graph->ops[k];
        reading passed = op->is_folded ? uses_of_outputs(graph, op, m, uses) : (reading){0, k, k};
        bool adds_to_scores = !op->is_folded && op_is(op, "Add") && leads_to_softmax(graph, op);
        for (uint32_t i = 0; i < op->input_count; i++) {
            uint32_t in = op->inputs[i];
            if (in == FT_NONE) continue;
            bool is_score = adds_to_scores && is_table(&graph->tensors[in]);
            reading r = passed;
            uint8_t use = use_of_input(graph, op, i, is_score);
            if (!op->is_folded || use == 0 || use == USE_BUFFER || use == USE_SCALE) r.uses = use;
            add_reading(m, uses, in, &r);
        }
    }
}

/* --- Classification ------------------------------------------------------------------------------------------ */

static bool is_trainable(const ft_tensor *t, uint8_t uses) {
    if (t->dtype == FT_INT32) return (uses & USE_WEIGHT) != 0;
    return size_is_float(t) || size_is_quantised(t);
}

static bool is_computed(const ft_graph *graph, const ft_tensor *t, uint8_t uses) {
    name_kind kind = tensor_name_kind(graph, t);
    return kind == NAME_LITERAL || (kind == NAME_COMPUTED && (uses & USE_WEIGHT) == 0);
}

static uint8_t classify(const ft_graph *graph, const ft_tensor *t, uint8_t uses) {
    if (t->role != FT_CONSTANT || uses == 0) return 0;
    if (uses == USE_SCALE) return MARK_BUFFER | MARK_SCALE;
    if (!is_trainable(t, uses)) return 0;
    int64_t elems = shape_elems(t->dims, t->rank);
    if (t->is_frozen && elems > 0) return MARK_BUFFER;
    if (elems <= 0 || (elems == 1 && (uses & USE_WEIGHT) == 0 && tensor_name_kind(graph, t) != NAME_MEMBER)) return 0;
    return (uses & (USE_WEIGHT | USE_OPERAND)) != 0 && !is_computed(graph, t, uses) ? MARK_PARAM | MARK_GRADIENT
                                                                                    : MARK_BUFFER;
}

bool params_op_has_gradient(const param_marks *marks, const ft_op *op) {
    if ((op->def->flags & OP_NO_GRADIENT) != 0) return false;
    for (uint32_t i = 0; i < op->input_count; i++)
        if (!input_is_auxiliary(op->def, i) && tensor_has(marks, op->inputs[i], MARK_GRADIENT)) return true;
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
    m->first_reader = ARENA_ARRAY(memory, uint32_t, count);
    m->last_reader = ARENA_ARRAY(memory, uint32_t, count);
    if (uses == NULL || m->marks == NULL || m->first_reader == NULL || m->last_reader == NULL) return false;
    for (uint32_t t = 0; t < count; t++) m->first_reader[t] = m->last_reader[t] = FT_NONE;
    mark_static(graph, m->marks);
    collect_uses(graph, m, uses);
    for (uint32_t t = 0; t < graph->tensor_count; t++) m->marks[t] |= classify(graph, &graph->tensors[t], uses[t]);
    mark_gradients(graph, m);
    return true;
}
