/* torch_kernel.c - see torch_kernel.h. */
#include "predictor/torch_kernel.h"

#include <string.h>

#include "base/error.h"
#include "base/text.h"
#include "graph/fuse.h"
#include "graph/graph.h"
#include "graph/product.h"

typedef enum cast_rule {
    CAST_NARROW,  /* runs in 16 bits */
    CAST_WIDE,    /* runs in 32 bits */
    CAST_PROMOTE, /* runs in the widest of what it reads */
    CAST_FIRST,   /* runs in what its first input is */
} cast_rule;

typedef struct walk {
    const ft_graph *graph;
    const ft_kernels *kernels;
    uint8_t *rules; /* per operator: a cast_rule */
    bool *is_wide;  /* per tensor: autocast makes it float32 */
    bool *is_view;  /* per operator: the rules take it for a copy, but it needs none */
} walk;

static bool is_free(const walk *w, uint32_t op) {
    return w->is_view[op] || (w->kernels->is_free != NULL && w->kernels->is_free[op]);
}

/* --- Kinds --------------------------------------------------------------------------------------------------- */

static const char *const kind_words[TORCH_KINDS] = {
#define TORCH_KIND_WORDS(name, words) words,
    TORCH_KIND_LIST(TORCH_KIND_WORDS)
#undef TORCH_KIND_WORDS
};

static torch_kind kind_of_class(ft_op_class op_class) {
    switch (op_class) {
    case FT_CLASS_CONV:
        return TORCH_CONV;
    case FT_CLASS_MATMUL:
        return TORCH_MATMUL;
    case FT_CLASS_ATTENTION:
        return TORCH_ATTENTION;
    case FT_CLASS_NORM:
        return TORCH_GROUP_NORM;
    case FT_CLASS_ACTIVATION:
        return TORCH_SMOOTH;
    case FT_CLASS_ELEMENTWISE:
        return TORCH_ELEMENTWISE;
    case FT_CLASS_REDUCE:
    case FT_CLASS_POOL:
        return TORCH_REDUCTION;
    case FT_CLASS_MOVE:
    case FT_CLASS_VIEW:
        return TORCH_COPY;
    case FT_CLASS_RECURRENT:
        return TORCH_RECURRENT;
    default:
        return TORCH_OTHER;
    }
}

static torch_kind kind_of_word(const char *word, size_t length) {
    for (uint32_t k = 0; k < TORCH_KINDS; k++)
        if (text_has_word(kind_words[k], word, length)) return (torch_kind)k;
    return TORCH_OTHER;
}

/* The words of a type, "bn-add-relu": what the kernel holds. The first is its kind. */
static void set_kinds(const ft_kernel *kernel, ft_op_class op_class, torch_kernel *k) {
    const char *at = kernel->type;
    k->kind = TORCH_OTHER;
    for (bool is_first = true; *at != '\0'; is_first = false) {
        size_t length = strcspn(at, "-");
        torch_kind kind = kind_of_word(at, length);
        if (is_first) k->kind = kind != TORCH_OTHER ? kind : kind_of_class(op_class);
        k->holds |= 1U << (is_first ? k->kind : kind);
        at += length + (at[length] == '-');
    }
}

/* --- Types --------------------------------------------------------------------------------------------------- */

/* Autocast's lists for CUDA, by the operators that exporters make of their members. */
static cast_rule rule_of(const ft_op *op) {
    static const char *const wide[] = {"Pow", "Reciprocal", "Exp",      "Log",        "Rsqrt",    "ReduceSum",
                                       "Tan", "ReduceL2",   "ReduceL1", "ReduceProd", "Softplus", "CumSum"};
    if (op->def->op_class == FT_CLASS_CONV || op->def->op_class == FT_CLASS_MATMUL ||
        op->def->op_class == FT_CLASS_ATTENTION || op->def->op_class == FT_CLASS_RECURRENT)
        return CAST_NARROW;
    if (strcmp(op->def->name, "BatchNormalization") == 0) return CAST_FIRST;
    if (op->def->op_class == FT_CLASS_NORM) return CAST_WIDE;
    for (size_t i = 0; i < sizeof wide / sizeof wide[0]; i++)
        if (op->def->name[0] == wide[i][0] && strcmp(op->def->name, wide[i]) == 0) return CAST_WIDE;
    return op->def->op_class == FT_CLASS_ELEMENTWISE || strcmp(op->def->name, "Concat") == 0 ? CAST_PROMOTE
                                                                                             : CAST_FIRST;
}

/* Numbers of the program do not widen what they are joined with; parameters, which are float32, do. */
static bool input_is_wide(const walk *w, const ft_op *op, uint32_t i) {
    const ft_tensor *t = op_input(w->graph, op, i);
    if (t == NULL) return false;
    if (t->role == FT_CONSTANT) return t->rank > 0 && ft_tensor_elems(w->graph, t) > 1;
    return w->is_wide[op->inputs[i]];
}

/* A bias is added inside of the product that it belongs to. */
static bool is_in_product(const walk *w, uint32_t op) {
    uint32_t kernel = w->kernels->kernel_of_op[op];
    return kernel != FT_NONE && !is_free(w, op) && w->rules[w->kernels->items[kernel].root] == CAST_NARROW;
}

static bool makes_wide(const walk *w, const ft_op *op) {
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

static void follow_types(const walk *w) {
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

/* Whether a contiguous tensor whose dimensions were permuted can be given another shape without moving a byte, as
 * PyTorch's view() decides it: dimensions that are merged must lie one behind the other. */
static bool can_view(const ft_tensor *from, const int64_t *order, const ft_tensor *to) {
    int64_t strides[FT_MAX_RANK], dims[FT_MAX_RANK], steps[FT_MAX_RANK], step = 1;
    for (int32_t i = from->rank - 1; i >= 0; i--) {
        strides[i] = step;
        step *= from->dims[i];
    }
    int32_t rank = 0; /* of runs of dimensions that lie one behind the other */
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

/* "x.transpose(1, 2).reshape(b, c, h, w)", tokens to a map, is a copy to the rules and a view to PyTorch. */
static void find_views(const walk *w) {
    for (uint32_t i = 0; i < w->graph->op_count; i++) {
        const ft_op *op = &w->graph->ops[i];
        const ft_tensor *in = op_input(w->graph, op, 0), *out = op_output(w->graph, op, 0);
        if (strcmp(op->def->name, "Reshape") != 0 || in == NULL || out == NULL || in->producer == FT_NONE) continue;
        const ft_op *turn = &w->graph->ops[in->producer];
        const ft_tensor *from = op_input(w->graph, turn, 0);
        uint32_t count;
        const int64_t *order = op_attr_ints(turn, "perm", &count);
        if (strcmp(turn->def->name, "Transpose") != 0 || from == NULL || order == NULL || from->rank < 0 ||
            count != (uint32_t)from->rank || !shape_is_known(from) || !shape_is_known(out))
            continue;
        if (is_order(order, from->rank) && can_view(from, order, out)) w->is_view[i] = w->is_view[in->producer] = true;
    }
}

/* --- Bytes --------------------------------------------------------------------------------------------------- */

enum { MAX_STEPS = 64 }; /* views looked through */

/* What a tensor is a view of. */
static const ft_tensor *view_source(const walk *w, const ft_tensor *t, bool *is_strided) {
    for (int steps = 0; steps < MAX_STEPS && t->producer != FT_NONE && is_free(w, t->producer); steps++) {
        const ft_op *op = &w->graph->ops[t->producer];
        const ft_tensor *from = op_input(w->graph, op, 0);
        if (from == NULL) break;
        if (strcmp(op->def->name, "Transpose") == 0) *is_strided = true;
        t = from;
    }
    return t;
}

static double smaller(double a, double b) {
    return a < b ? a : b;
}

static void add_read(const walk *w, uint32_t number, uint32_t tensor, torch_kernel *k) {
    const ft_tensor *t = &w->graph->tensors[tensor];
    bool is_strided = false;
    const ft_tensor *source = view_source(w, t, &is_strided);
    if (source->producer != FT_NONE && w->kernels->kernel_of_op[source->producer] == number) return;
    if (source->producer != FT_NONE && w->graph->ops[source->producer].is_folded) return;
    if (!ft_dtype_is_float(t->dtype) && t->dtype != FT_DTYPE_UNKNOWN) return;
    double elems = smaller((double)ft_tensor_elems(w->graph, t), (double)ft_tensor_elems(w->graph, source));
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

/* Whether somebody outside of the kernel reads it, also through views. */
static bool is_read_outside(const walk *w, uint32_t number, const ft_tensor *t, int *steps) {
    if (t->is_output) return true;
    for (uint32_t i = 0; i < t->use_count; i++) {
        uint32_t reader = t->uses[i];
        if (!is_free(w, reader)) {
            if (w->kernels->kernel_of_op[reader] != number) return true;
            continue;
        }
        for (uint32_t j = 0; j < w->graph->ops[reader].output_count; j++) {
            const ft_tensor *seen = op_output(w->graph, &w->graph->ops[reader], j);
            if (seen != NULL && (--*steps < 0 || is_read_outside(w, number, seen, steps))) return true;
        }
    }
    return false;
}

static void add_writes(const walk *w, uint32_t number, const ft_op *op, torch_kernel *k) {
    for (uint32_t i = 0; i < op->output_count; i++) {
        const ft_tensor *t = op_output(w->graph, op, i);
        int steps = MAX_STEPS;
        if (t == NULL || !is_read_outside(w, number, t, &steps)) continue;
        if (!t->is_batched) {
            k->weights += (double)ft_tensor_elems(w->graph, t);
            continue;
        }
        *(w->is_wide[op->outputs[i]] ? &k->write32 : &k->write16) += (double)ft_tensor_elems(w->graph, t);
    }
}

static bool was_read(const walk *w, const ft_kernel *kernel, uint32_t op_at, uint32_t input) {
    uint32_t tensor = w->graph->ops[kernel->ops[op_at]].inputs[input];
    for (uint32_t i = 0; i <= op_at; i++) {
        const ft_op *op = &w->graph->ops[kernel->ops[i]];
        uint32_t end = i == op_at ? input : op->input_count;
        if (is_free(w, kernel->ops[i])) continue;
        for (uint32_t j = 0; j < end; j++)
            if (op->inputs[j] == tensor) return true;
    }
    return false;
}

static void add_bytes(const walk *w, uint32_t number, torch_kernel *k) {
    const ft_kernel *kernel = &w->kernels->items[number];
    for (uint32_t i = 0; i < kernel->op_count; i++) {
        const ft_op *op = &w->graph->ops[kernel->ops[i]];
        if (is_free(w, kernel->ops[i])) continue;
        for (uint32_t j = 0; j < op->input_count; j++)
            if (op->inputs[j] != FT_NONE && !was_read(w, kernel, i, j)) add_read(w, number, op->inputs[j], k);
        add_writes(w, number, op, k);
    }
}

/* --- Shapes -------------------------------------------------------------------------------------------------- */

static void shape_of_conv(const conv_geometry *g, torch_kernel *k) {
    k->groups = (double)g->groups;
    k->depth = (double)g->cin / k->groups * (double)g->kernel_elems;
    k->columns = (double)g->cout / k->groups;
    k->height = (double)g->out[0];
    k->width = (double)(g->spatial > 1 ? g->out[1] : 1);
    k->in_channels = (double)g->cin;
    k->out_channels = (double)g->cout;
    k->window = (double)g->kernel[0];
    if (g->spatial > 1 && g->kernel[1] > g->kernel[0]) k->window = (double)g->kernel[1];
    k->stride = (double)g->stride[0];
    bool is_depthwise = g->is_depthwise && g->groups > 1;
    if (is_depthwise)
        k->kind = TORCH_DEPTHWISE;
    else if (g->groups > 1)
        k->kind = TORCH_GROUPED;
    else if (g->kernel_elems == 1)
        k->kind = TORCH_POINTWISE;
    k->holds = 1U << k->kind;
}

/* A bias or mask of attention keeps it from the fastest kernels. */
static bool has_mask(const walk *w, const ft_kernel *kernel) {
    for (uint32_t i = 0; i < kernel->op_count; i++) {
        const char *name = w->graph->ops[kernel->ops[i]].def->name;
        if (strcmp(name, "Add") == 0 || strcmp(name, "Where") == 0) return true;
    }
    return false;
}

static void shape_of_product(const walk *w, const ft_kernel *kernel, const matmul_geometry *g, torch_kernel *k) {
    const ft_op *root = &w->graph->ops[kernel->root];
    k->depth = (double)g->k;
    k->columns = (double)g->n;
    k->height = (double)g->m;
    k->width = 1;
    k->in_channels = k->depth;
    k->out_channels = k->columns;
    k->window = k->stride = 1;
    k->groups = k->kind == TORCH_LINEAR ? 1 : (double)g->batch / (double)ft_graph_batch(w->graph);
    if (k->groups < 1) k->groups = 1;
    const ft_tensor *out = op_output(w->graph, root, 0);
    if (k->kind == TORCH_ATTENTION && out != NULL) {
        k->scores = (double)ft_tensor_elems(w->graph, out);
        k->is_deep = out->rank > 4;
        if (has_mask(w, kernel)) k->holds |= 1U << TORCH_ELEMENTWISE;
    }
}

static double product_of(const int64_t *sizes, int32_t count) {
    double product = 1;
    for (int32_t i = 0; i < count; i++) product *= (double)sizes[i];
    return product;
}

static void shape_of_map(const walk *w, const ft_tensor *in, const ft_tensor *out, torch_kernel *k) {
    const ft_tensor *t = out != NULL ? out : in;
    if (t == NULL || t->rank < 1) return;
    bool is_map = t->rank == 4 && ft_graph_layout(w->graph) == FT_NCHW;
    k->out_channels = (double)t->dims[is_map ? 1 : t->rank - 1];
    k->height = t->rank > 2 ? (double)t->dims[t->rank - 2] : 1;
    k->width = is_map ? (double)t->dims[3] : 1;
    k->in_channels = k->out_channels;
    k->window = k->stride = 1;
}

static void shape_of_root(const walk *w, const ft_kernel *kernel, torch_kernel *k) {
    const ft_op *root = &w->graph->ops[kernel->root], *last = &w->graph->ops[kernel->ops[kernel->op_count - 1]];
    conv_geometry conv;
    matmul_geometry product;
    pool_geometry pool;
    if (conv_geometry_of(w->graph, root, &conv)) {
        shape_of_conv(&conv, k);
    } else if (matmul_geometry_of(w->graph, root, &product)) {
        shape_of_product(w, kernel, &product, k);
    } else {
        shape_of_map(w, op_input(w->graph, root, 0), op_output(w->graph, last, 0), k);
        if (!pool_geometry_of(w->graph, root, &pool)) return;
        k->window = (double)pool.kernel[0];
        k->stride = (double)pool.stride[0];
        k->reduced = product_of(pool.kernel, pool.spatial);
    }
}

/* PyTorch's bilinear and bicubic interpolation gives each pixel a thread, which walks through all maps of the batch. */
static double serial_maps(const walk *w, const ft_op *root, const torch_kernel *k) {
    const ft_tensor *out = op_output(w->graph, root, 0);
    const char *mode = op_attr_string(root, "mode", "nearest");
    /* One that reads what was tokens finds channels side by side, and has a kernel for that. */
    if (k->kind != TORCH_RESIZE || out == NULL || strcmp(mode, "nearest") == 0 || k->is_strided) return 0;
    double pixels = k->height * k->width;
    return pixels > 0 ? (double)ft_tensor_elems(w->graph, out) / pixels : 0;
}

/* How long the longest norm or reduction in a kernel is. */
static void look_for_reductions(const walk *w, const ft_kernel *kernel, torch_kernel *k) {
    for (uint32_t i = 0; i < kernel->op_count; i++) {
        const ft_op *op = &w->graph->ops[kernel->ops[i]];
        const ft_tensor *in = op_input(w->graph, op, 0), *out = op_output(w->graph, op, 0);
        if (in == NULL || out == NULL || in->rank < 1) continue;
        double length = 0;
        if (op->def->op_class == FT_CLASS_REDUCE && ft_tensor_elems(w->graph, out) > 0)
            length = (double)ft_tensor_elems(w->graph, in) / (double)ft_tensor_elems(w->graph, out);
        else if (op->def->op_class == FT_CLASS_NORM && strcmp(op->def->name, "BatchNormalization") != 0)
            length = strcmp(op->def->name, "InstanceNormalization") == 0 ? product_of(in->dims + 2, in->rank - 2)
                                                                         : (double)in->dims[in->rank - 1];
        if (length > k->reduced) k->reduced = length;
    }
}

static bool launches_anything(const walk *w, const ft_kernel *kernel) {
    for (uint32_t i = 0; i < kernel->op_count; i++)
        if (!is_free(w, kernel->ops[i])) return true;
    return false;
}

ft_status torch_kernels_of(subject *s, const ft_rules *rules, arena *memory, torch_kernel **items, uint32_t *count,
                           ft_error *error) {
    const ft_cost *cost;
    const ft_kernels *kernels;
    FT_TRY(subject_cost(s, &cost, error));
    FT_TRY(subject_kernels(s, rules, &kernels, error));
    walk w = {.graph = s->bound, .kernels = kernels};
    torch_kernel *made = ARENA_ARRAY(memory, torch_kernel, (size_t)kernels->count + 1);
    w.is_wide = ARENA_ARRAY(memory, bool, (size_t)s->bound->tensor_count + 1);
    w.is_view = ARENA_ARRAY(memory, bool, (size_t)s->bound->op_count + 1);
    w.rules = ARENA_ARRAY(memory, uint8_t, (size_t)s->bound->op_count + 1);
    if (made == NULL || w.is_wide == NULL || w.is_view == NULL || w.rules == NULL) return FT_NOMEM(error);
    find_views(&w);
    follow_types(&w);
    for (uint32_t i = 0; i < kernels->count; i++) {
        const ft_kernel *kernel = &kernels->items[i];
        const ft_op *root = &s->bound->ops[kernel->root];
        ft_op_cost work = ft_cost_kernel(s->bound, cost, kernels, i);
        torch_kernel *k = &made[i];
        set_kinds(kernel, root->def->op_class, k);
        if (!launches_anything(&w, kernel)) continue;
        shape_of_root(&w, kernel, k);
        look_for_reductions(&w, kernel, k);
        add_bytes(&w, i, k);
        k->serial = serial_maps(&w, root, k);
        double repeats = (double)root->repeats;
        k->launches = repeats;
        const ft_tensor *out = op_output(s->bound, root, 0);
        if (out != NULL && !out->is_batched) continue; /* work on weights is that of their bytes */
        k->macs = (double)work.forward.macs;
        k->flops = (double)work.forward.flops - 2 * k->macs;
        if (k->flops < 0) k->flops = 0;
        double *amounts[] = {&k->read16, &k->read32, &k->write16, &k->write32, &k->cast, &k->scores, &k->serial};
        for (size_t j = 0; j < sizeof amounts / sizeof amounts[0]; j++) *amounts[j] *= repeats;
    }
    *items = made;
    *count = kernels->count;
    return FT_OK;
}
