/* torch_walk.c - finds views, types under autocast, and the bytes of kernels. */
#include "predictor/torch/torch_walk.h"

#include <assert.h>
#include <string.h>

#include "base/error.h"
#include "graph/fuse.h"
#include "graph/graph.h"
#include "graph/opdef.h"

typedef enum cast_rule {
    CAST_NARROW,  /* runs in 16 bits */
    CAST_WIDE,    /* runs in 32 bits */
    CAST_PROMOTE, /* runs in the widest type of its inputs */
    CAST_FIRST,   /* runs in the type of its first input */
} cast_rule;

bool torch_walk_is_free(const torch_walk *w, uint32_t op) {
    return w->is_view[op] || (w->kernels->is_free != NULL && w->kernels->is_free[op]);
}

/* --- Types --------------------------------------------------------------------------------------------------- */

/* Autocast's lists for CUDA, by the operators that exporters write for their functions. */
static cast_rule rule_of(const ft_op *op) {
    static const char *const wide[] = {"Pow", "Reciprocal", "Exp",      "Log",        "Rsqrt", "ReduceSum",
                                       "Tan", "ReduceL2",   "ReduceL1", "ReduceProd", "CumSum"};
    if (op->def->op_class == FT_CLASS_CONV || op->def->op_class == FT_CLASS_MATMUL ||
        op->def->op_class == FT_CLASS_ATTENTION || op->def->op_class == FT_CLASS_RECURRENT)
        return CAST_NARROW;
    if (op_is(op, "BatchNormalization")) return CAST_FIRST;
    if (op->def->op_class == FT_CLASS_NORM) return CAST_WIDE;
    if (op->def->op_class == FT_CLASS_ACTIVATION) return op_is(op, "Softplus") ? CAST_WIDE : CAST_FIRST;
    for (size_t i = 0; i < sizeof wide / sizeof wide[0]; i++)
        if (op_is(op, wide[i])) return CAST_WIDE;
    return op->def->op_class == FT_CLASS_ELEMENTWISE || op_is(op, "Concat") ? CAST_PROMOTE : CAST_FIRST;
}

/* Scalars do not widen the result of an operator; parameters, which are float32, do. */
static bool input_is_wide(const torch_walk *w, const ft_op *op, uint32_t i) {
    const ft_tensor *t = op_input(w->graph, op, i);
    if (t == NULL) return false;
    if (t->role == FT_CONSTANT) return t->rank > 0 && tensor_elems(w->graph, t) > 1;
    return w->is_wide[op->inputs[i]];
}

/* A bias is added inside its product. */
static bool is_in_product(const torch_walk *w, uint32_t op) {
    uint32_t kernel = w->kernels->kernel_of_op[op];
    return kernel != FT_NONE && !torch_walk_is_free(w, op) && w->rules[w->kernels->items[kernel].root] == CAST_NARROW;
}

static bool makes_wide(const torch_walk *w, const ft_op *op) {
    switch ((cast_rule)w->rules[op - w->graph->ops]) {
    case CAST_NARROW:
        return false;
    case CAST_WIDE:
        return true;
    case CAST_PROMOTE:
        for (uint32_t i = 0; i < op->input_count; i++)
            if (input_is_wide(w, op, i)) return true;
        return false;
    default:
        return op->input_count > 0 && input_is_wide(w, op, 0);
    }
}

static void infer_types(const torch_walk *w) {
    for (uint32_t i = 0; i < w->graph->op_count; i++) w->rules[i] = (uint8_t)rule_of(&w->graph->ops[i]);
    for (uint32_t i = 0; i < w->graph->tensor_count; i++) w->is_wide[i] = w->graph->tensors[i].role != FT_ACTIVATION;
    for (uint32_t i = 0; i < w->graph->op_count; i++) {
        const ft_op *op = &w->graph->ops[i];
        bool is_wide = op->is_folded || (!is_in_product(w, i) && makes_wide(w, op));
        for (uint32_t j = 0; j < op->output_count; j++)
            if (op->outputs[j] != FT_NONE) w->is_wide[op->outputs[j]] = is_wide;
    }
}

/* --- Views --------------------------------------------------------------------------------------------------- */

static bool is_order(const int64_t *order, int32_t rank) {
    for (int32_t i = 0; i < rank; i++)
        if (order[i] < 0 || order[i] >= rank) return false;
    return true;
}

/* Whether a contiguous tensor with permuted dimensions can be reshaped without a copy, by the rule of PyTorch's view():
 * merged dimensions must be contiguous to each other. */
static bool can_view(const ft_tensor *from, const int64_t *order, const ft_tensor *to) {
    assert(from->rank <= FT_MAX_RANK);
    int64_t strides[FT_MAX_RANK] = {0}, dims[FT_MAX_RANK], steps[FT_MAX_RANK], step = 1;
    for (int32_t i = from->rank - 1; i >= 0; i--) {
        strides[i] = step;
        step *= from->dims[i];
    }
    int32_t rank = 0; /* of runs of contiguous dimensions */
    for (int32_t i = 0; i < from->rank; i++) {
        int64_t dim = from->dims[order[i]], stride = strides[order[i]];
        if (dim == 1) continue;
        if (rank > 0 && steps[rank - 1] == dim * stride) {
            dims[rank - 1] *= dim;
            steps[rank - 1] = stride;
            continue;
        }
        dims[rank] = dim;
        steps[rank++] = stride;
    }
    int32_t at = 0;
    for (int32_t run = 0; run < rank; run++) { /* each run must be a product of new dimensions */
        int64_t size = 1;
        while (at < to->rank && size < dims[run]) size *= to->dims[at++];
        if (size != dims[run]) return false;
    }
    return true;
}

/* "x.transpose(1, 2).reshape(b, c, h, w)", tokens to a map, is a copy by the fusion rules and a view in PyTorch. */
static void find_views(const torch_walk *w) {
    for (uint32_t i = 0; i < w->graph->op_count; i++) {
        const ft_op *op = &w->graph->ops[i];
        const ft_tensor *in = op_input(w->graph, op, 0), *out = op_output(w->graph, op, 0);
        if (!op_is(op, "Reshape") || in == NULL || out == NULL || in->producer == FT_NONE) continue;
        const ft_op *transpose = &w->graph->ops[in->producer];
        const ft_tensor *from = op_input(w->graph, transpose, 0);
        uint32_t count;
        const int64_t *order = op_attr_ints(transpose, "perm", &count);
        if (!op_is(transpose, "Transpose") || from == NULL || order == NULL || from->rank < 0 ||
            count != (uint32_t)from->rank || !shape_is_known(from) || !shape_is_known(out))
            continue;
        if (is_order(order, from->rank) && can_view(from, order, out)) w->is_view[i] = w->is_view[in->producer] = true;
    }
}

/* --- Bytes --------------------------------------------------------------------------------------------------- */

enum { MAX_STEPS = 64 }; /* maximum length of a chain of views */

/* The tensor that a tensor is a view of. */
static const ft_tensor *view_source(const torch_walk *w, const ft_tensor *t, bool *is_strided) {
    for (int steps = 0; steps < MAX_STEPS && t->producer != FT_NONE && torch_walk_is_free(w, t->producer); steps++) {
        const ft_op *op = &w->graph->ops[t->producer];
        const ft_tensor *from = op_input(w->graph, op, 0);
        if (from == NULL) break;
        if (op_is(op, "Transpose")) *is_strided = true;
        t = from;
    }
    return t;
}

static double smaller(double a, double b) {
    return a < b ? a : b;
}

static void add_read(const torch_walk *w, uint32_t number, uint32_t tensor, torch_kernel *k) {
    assert(tensor < w->graph->tensor_count);
    const ft_tensor *t = &w->graph->tensors[tensor];
    bool is_strided = false;
    const ft_tensor *source = view_source(w, t, &is_strided);
    if (source->producer != FT_NONE && w->kernels->kernel_of_op[source->producer] == number) return;
    if (!dtype_info_of(t->dtype).is_float && t->dtype != FT_DTYPE_UNKNOWN) return;
    double elems = smaller((double)tensor_elems(w->graph, t), (double)tensor_elems(w->graph, source));
    if (source->producer != FT_NONE && w->graph->ops[source->producer].is_folded) {
        k->made += elems;
        return;
    }
    if (source->role == FT_CONSTANT || !source->is_batched) { /* the same for any batch */
        k->weights += elems;
        return;
    }
    bool is_wide = w->is_wide[source - w->graph->tensors];
    *(is_wide ? &k->read32 : &k->read16) += elems;
    k->inputs++;
    k->is_strided = k->is_strided || is_strided;
    cast_rule rule = (cast_rule)w->rules[w->kernels->items[number].root];
    if (is_wide ? rule == CAST_NARROW : rule == CAST_WIDE) k->cast += elems;
}

/* Whether an operator outside of the kernel reads a tensor, also through views. */
static bool is_read_outside(const torch_walk *w, uint32_t number, const ft_tensor *t, int *steps) {
    if (t->is_output) return true;
    for (uint32_t i = 0; i < t->use_count; i++) {
        uint32_t reader = t->uses[i];
        if (!torch_walk_is_free(w, reader)) {
            if (w->kernels->kernel_of_op[reader] != number) return true;
            continue;
        }
        for (uint32_t j = 0; j < w->graph->ops[reader].output_count; j++) {
            const ft_tensor *view = op_output(w->graph, &w->graph->ops[reader], j);
            if (view != NULL && (--*steps < 0 || is_read_outside(w, number, view, steps))) return true;
        }
    }
    return false;
}

static void add_writes(const torch_walk *w, uint32_t number, const ft_op *op, torch_kernel *k) {
    for (uint32_t i = 0; i < op->output_count; i++) {
        const ft_tensor *t = op_output(w->graph, op, i);
        int steps = MAX_STEPS;
        if (t == NULL || !is_read_outside(w, number, t, &steps)) continue;
        if (!t->is_batched) {
            k->weights += (double)tensor_elems(w->graph, t);
            continue;
        }
        *(w->is_wide[op->outputs[i]] ? &k->write32 : &k->write16) += (double)tensor_elems(w->graph, t);
    }
}

/* Each tensor counts once for a kernel, however many of its operators read it. */
void torch_walk_add_bytes(torch_walk *w, uint32_t number, torch_kernel *k) {
    assert(number < w->kernels->count);
    const ft_kernel *kernel = &w->kernels->items[number];
    w->stamp++;
    for (uint32_t i = 0; i < kernel->op_count; i++) {
        const ft_op *op = &w->graph->ops[kernel->ops[i]];
        if (torch_walk_is_free(w, kernel->ops[i])) continue;
        for (uint32_t j = 0; j < op->input_count; j++) {
            uint32_t in = op->inputs[j];
            if (in == FT_NONE || w->read_stamp[in] == w->stamp) continue;
            w->read_stamp[in] = w->stamp;
            add_read(w, number, in, k);
        }
        add_writes(w, number, op, k);
    }
}

/* --- The pass ----------------------------------------------------------------------------------------------- */

ft_status torch_walk_begin(const ft_graph *graph, const ft_kernels *kernels, arena *memory, torch_walk *w,
                           ft_error *error) {
    *w = (torch_walk){.graph = graph, .kernels = kernels};
    w->is_wide = ARENA_ARRAY(memory, bool, (size_t)graph->tensor_count + 1);
    w->is_view = ARENA_ARRAY(memory, bool, (size_t)graph->op_count + 1);
    w->rules = ARENA_ARRAY(memory, uint8_t, (size_t)graph->op_count + 1);
    w->read_stamp = ARENA_ARRAY(memory, uint32_t, (size_t)graph->tensor_count + 1);
    if (w->is_wide == NULL || w->is_view == NULL || w->rules == NULL || w->read_stamp == NULL) return FT_NOMEM(error);
    find_views(w);
    infer_types(w);
    return FT_OK;
}
