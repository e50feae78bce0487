/* tfgraph.c - builds a graph from a list of TensorFlow nodes.
 *
 * Every node becomes an operator with one output tensor (a Split: one for each part), except:
 *   - Placeholder is a graph input, and so is the input of a node without producers;
 *   - Const is a constant, and so are nodes with only constant inputs (the StridedSlice and Pack that compute
 *     shapes): such nodes cost nothing and are omitted, with the constants that only they read;
 *   - constant operands (axes, permutations) become attributes, as ONNX writes them.
 * Weights are constants with the shapes that the operators imply. */
#include "read/tfgraph.h"

#include <assert.h>
#include <string.h>

#include "base/format.h"

/* --- Operator table ---------------------------------------------------------------------------------------------- */

typedef struct spelling {
    const char *name;
    const char *table_name; /* TensorFlow's name of its table entry, if different; "": the entry of ONNX's operator of
                               this name */
    tf_kind kind;
} spelling;

static const spelling spellings[] = {
    {"Conv2D", NULL, TF_CONV},
    {"FusedBatchNorm", NULL, TF_NORM},
    {"Relu", NULL, TF_ELEMENTWISE},
    {"Const", NULL, TF_CONST},
    {"Add", NULL, TF_ELEMENTWISE},
    {"Relu6", NULL, TF_ELEMENTWISE},
    {"DepthwiseConv2dNative", NULL, TF_DEPTHWISE},
    {"ConcatV2", NULL, TF_CONCAT},
    {"Mul", NULL, TF_ELEMENTWISE},
    {"Reshape", NULL, TF_RESHAPE},
    {"BiasAdd", NULL, TF_BIAS},
    {"AvgPool", NULL, TF_POOL},
    {"MaxPool", NULL, TF_POOL},
    {"MatMul", NULL, TF_MATMUL},
    {"Transpose", NULL, TF_TRANSPOSE},
    {"Split", "", TF_SPLIT}, /* with the axis as an attribute, as in ONNX */
    {"Placeholder", NULL, TF_PLACEHOLDER},
    {"Mean", NULL, TF_MEAN},
    {"FusedBatchNormV2", NULL, TF_NORM},
    {"FusedBatchNormV3", NULL, TF_NORM},
    {"AddV2", NULL, TF_ELEMENTWISE},
    {"Sub", NULL, TF_ELEMENTWISE},
    {"Sigmoid", NULL, TF_ELEMENTWISE},
    /* ONNX's names, found in IR files made from ONNX models. */
    {"Conv", "Conv2D", TF_CONV},
    {"BatchNormalization", "FusedBatchNorm", TF_NORM},
    {"AveragePool", "AvgPool", TF_POOL},
    {"Concat", "ConcatV2", TF_CONCAT},
    {"Gemm", "MatMul", TF_GEMM},
    {"GlobalAveragePool", "Mean", TF_MEAN},
    {"ReduceMean", "Mean", TF_MEAN},
    {"Clip", "Relu6", TF_ELEMENTWISE},
    {"Flatten", "Reshape", TF_RESHAPE},
};

tf_type tf_type_of(const char *name) {
    tf_type type = {.name = name};
    const char *table_name = name;
    for (size_t i = 0; i < sizeof spellings / sizeof spellings[0]; i++) {
        if (strcmp(spellings[i].name, name) != 0) continue;
        type.kind = spellings[i].kind;
        if (spellings[i].table_name != NULL) table_name = spellings[i].table_name;
        break;
    }
    type.def = opdef_find(FT_FORMAT_CG, table_name);
    if (type.def == NULL) type.def = opdef_find(FT_FORMAT_ONNX, name);
    if (type.def == NULL) type.def = ft_opdef_unknown();
    return type;
}

/* --- Building ---------------------------------------------------------------------------------------------------- */

enum { MAX_ATTRS = 8, MAX_WEIGHTS = 4, MAX_PARTS = 64, NAME_SIZE = 512 };

/* The output of a node. */
typedef struct slot {
    uint32_t tensor; /* the first one; FT_NONE for a constant without readers so far */
    uint32_t parts;  /* number of outputs, which are consecutive */
    uint32_t next;   /* part that the next reader gets: the files do not state which one it reads */
    bool is_constant;
} slot;

typedef struct builder {
    ft_graph *graph;
    tf_node *nodes;
    uint32_t count;
    slot *slots;
    uint32_t *inputs; /* of the current operator */
    uint32_t input_count;
    ft_attr attrs[MAX_ATTRS]; /* of the current operator */
    uint32_t attr_count;
    char name[NAME_SIZE]; /* of the current node */
    ft_error *error;
} builder;

static const char *node_name(builder *b, uint32_t i) {
    const tf_node *node = &b->nodes[i];
    if (node->name != NULL) return node->name;
    format_text(b->name, sizeof b->name, "%u:%s", i, node->type.name);
    return b->name;
}

static ft_status add_tensor(builder *b, uint32_t node, const char *suffix, ft_role role, const tf_shape *shape,
                            uint32_t *index) {
    char name[NAME_SIZE + 16];
    format_text(name, sizeof name, "%.*s%s", NAME_SIZE - 1, node_name(b, node), suffix);
    ft_tensor spec = {.name = name, .dtype = FT_FLOAT32, .role = role, .rank = shape->rank};
    memcpy(spec.dims, shape->dims, sizeof spec.dims);
    return graph_add_tensor(b->graph, &spec, index, b->error);
}

/* Nodes with only constant inputs are constants. A node before its producers is not revisited. */
static void find_constants(builder *b) {
    for (uint32_t i = 0; i < b->count; i++) {
        const tf_node *node = &b->nodes[i];
        bool is_constant = node->type.kind == TF_CONST || node->input_count > 0;
        for (uint32_t k = 0; k < node->input_count && node->type.kind != TF_CONST; k++)
            is_constant = is_constant && b->slots[node->inputs[k]].is_constant;
        b->slots[i] = (slot){.tensor = FT_NONE, .parts = 1, .is_constant = is_constant};
    }
}

static ft_status count_readers(builder *b, uint32_t *max_inputs) {
    *max_inputs = 0;
    for (uint32_t i = 0; i < b->count; i++) {
        const tf_node *node = &b->nodes[i];
        if (node->input_count > *max_inputs) *max_inputs = node->input_count;
        for (uint32_t k = 0; k < node->input_count; k++) {
            if (node->inputs[k] >= b->count)
                return ft_fail(b->error, FT_ERR_GRAPH, "node '%s' reads node %u, but there are only %u",
                               node_name(b, i), node->inputs[k], b->count);
            b->nodes[node->inputs[k]].reader_count++;
        }
        if (node->type.kind == TF_PLACEHOLDER && node->input_count > 0)
            return ft_fail(b->error, FT_ERR_GRAPH, "node '%s' is a graph input, but has inputs itself",
                           node_name(b, i));
    }
    return FT_OK;
}

/* The first input that is not constant; constant operands stand before it (Split) or after it. */
static uint32_t data_input(const builder *b, const tf_node *node) {
    for (uint32_t k = 0; k < node->input_count; k++) {
        if (!b->slots[node->inputs[k]].is_constant) return node->inputs[k];
    }
    return FT_NONE;
}

static const tf_shape *data_shape(const builder *b, const tf_node *node) {
    uint32_t from = data_input(b, node);
    return from != FT_NONE ? &b->nodes[from].out : &node->in;
}

/* The dimension that differs, or the last. */
static int32_t changed_axis(const tf_shape *in, const tf_shape *out) {
    for (int32_t i = 0; i < in->rank && in->rank == out->rank; i++) {
        if (in->dims[i] != out->dims[i]) return i;
    }
    return in->rank > 0 ? in->rank - 1 : 0;
}

static uint32_t split_parts(const builder *b, const tf_node *node) {
    const tf_shape *in = data_shape(b, node), *out = &node->out;
    if (in->rank <= 0 || in->rank != out->rank) return 1;
    int32_t axis = changed_axis(in, out);
    if (out->dims[axis] <= 0 || in->dims[axis] % out->dims[axis] != 0) return 1;
    int64_t parts = in->dims[axis] / out->dims[axis];
    return parts >= 1 && parts <= MAX_PARTS ? (uint32_t)parts : 1;
}

static ft_status add_node_tensors(builder *b) {
    for (uint32_t i = 0; i < b->count; i++) {
        const tf_node *node = &b->nodes[i];
        slot *s = &b->slots[i];
        if (s->is_constant) continue;
        bool is_input = node->type.kind == TF_PLACEHOLDER;
        FT_TRY(add_tensor(b, i, "", is_input ? FT_INPUT : FT_ACTIVATION, &node->out, &s->tensor));
        if (is_input) FT_TRY(graph_add_input(b->graph, s->tensor, b->error));
        if (node->type.kind == TF_SPLIT) s->parts = split_parts(b, node);
        for (uint32_t part = 1; part < s->parts; part++) {
            char suffix[16];
            uint32_t unused;
            format_text(suffix, sizeof suffix, ":%u", part);
            FT_TRY(add_tensor(b, i, suffix, FT_ACTIVATION, &node->out, &unused));
        }
        if (node->reader_count == 0 && !is_input) FT_TRY(graph_add_output(b->graph, s->tensor, b->error));
    }
    return FT_OK;
}

static ft_status read_node(builder *b, uint32_t from) {
    assert(from < b->count);
    slot *s = &b->slots[from];
    if (s->tensor == FT_NONE) FT_TRY(add_tensor(b, from, "", FT_CONSTANT, &b->nodes[from].out, &s->tensor));
    b->inputs[b->input_count++] = s->tensor + s->next;
    s->next = (s->next + 1) % s->parts;
    return FT_OK;
}

static ft_status add_weight(builder *b, uint32_t i, const char *suffix, const tf_shape *shape) {
    assert(i < b->count);
    uint32_t tensor;
    FT_TRY(add_tensor(b, i, suffix, FT_CONSTANT, shape, &tensor));
    b->inputs[b->input_count++] = tensor;
    return FT_OK;
}

/* --- Inputs ------------------------------------------------------------------------------------------------------ */

/* The target shape, as a constant with a known value. */
static ft_status add_target_shape(builder *b, uint32_t i) {
    const tf_shape *out = &b->nodes[i].out;
    if (out->rank < 0) return FT_OK;
    int64_t *ints;
    const ft_value *value = graph_value_ints(b->graph, out->rank, &ints);
    if (value == NULL) return FT_NOMEM(b->error);
    if (out->rank > 0) memcpy(ints, out->dims, (size_t)out->rank * sizeof *ints);
    char name[NAME_SIZE + 16];
    format_text(name, sizeof name, "%.*s/shape", NAME_SIZE - 1, node_name(b, i));
    ft_tensor spec = {
        .name = name, .dtype = FT_INT64, .role = FT_CONSTANT, .rank = 1, .dims = {out->rank}, .value = value};
    uint32_t tensor;
    FT_TRY(graph_add_tensor(b->graph, &spec, &tensor, b->error));
    b->inputs[b->input_count++] = tensor;
    return FT_OK;
}

static ft_status add_data_input(builder *b, uint32_t i) {
    const tf_node *node = &b->nodes[i];
    uint32_t from = data_input(b, node);
    return from != FT_NONE ? read_node(b, from) : FT_OK;
}

static ft_status add_inputs(builder *b, uint32_t i) {
    const tf_node *node = &b->nodes[i];
    switch (node->type.kind) {
    case TF_TRANSPOSE:
    case TF_SPLIT:
    case TF_MEAN:
        return add_data_input(b, i);
    case TF_RESHAPE: {
        FT_TRY(add_data_input(b, i));
        uint32_t last = node->input_count > 0 ? node->inputs[node->input_count - 1] : FT_NONE;
        bool is_computed = node->input_count > 1 && !b->slots[last].is_constant;
        return is_computed ? read_node(b, last) : add_target_shape(b, i);
    }
    default:
        for (uint32_t k = 0; k < node->input_count; k++) {
            uint32_t from = node->inputs[k];
            bool is_axis = node->type.kind == TF_CONCAT && b->slots[from].is_constant && b->nodes[from].out.rank <= 0;
            if (!is_axis) FT_TRY(read_node(b, from));
        }
        return FT_OK;
    }
}

/* A node without producers reads a graph input, if the file records its shape. */
static ft_status add_missing_input(builder *b, uint32_t i) {
    const tf_node *node = &b->nodes[i];
    if (node->input_count > 0 || node->in.rank <= 0) return FT_OK;
    uint32_t tensor;
    FT_TRY(add_tensor(b, i, "/input", FT_INPUT, &node->in, &tensor));
    b->inputs[b->input_count++] = tensor;
    return graph_add_input(b->graph, tensor, b->error);
}

/* Weights that are not nodes of the file. */
static ft_status add_weights(builder *b, uint32_t i) {
    const tf_node *node = &b->nodes[i];
    const tf_shape *in = data_shape(b, node), *out = &node->out;
    if (b->input_count != 1) return FT_OK;
    int64_t channels = out->rank > 0 ? out->dims[out->rank - 1] : 0;
    tf_shape vector = {.rank = channels > 0 ? 1 : -1, .dims = {channels}};
    switch (node->type.kind) {
    case TF_CONV:
    case TF_DEPTHWISE: {
        tf_shape kernel = {.rank = node->kernel[3] > 0 ? 4 : -1};
        memcpy(kernel.dims, node->kernel, sizeof node->kernel);
        return add_weight(b, i, "/weight", &kernel);
    }
    case TF_MATMUL:
    case TF_GEMM: {
        bool is_known = in->rank > 0 && channels > 0;
        tf_shape matrix = {.rank = is_known ? 2 : -1, .dims = {is_known ? in->dims[in->rank - 1] : 0, channels}};
        FT_TRY(add_weight(b, i, "/weight", &matrix));
        return node->type.kind == TF_GEMM ? add_weight(b, i, "/bias", &vector) : FT_OK;
    }
    case TF_BIAS:
        return add_weight(b, i, "/bias", &vector);
    case TF_NORM:
        FT_TRY(add_weight(b, i, "/scale", &vector));
        FT_TRY(add_weight(b, i, "/offset", &vector));
        FT_TRY(add_weight(b, i, "/mean", &vector));
        return add_weight(b, i, "/variance", &vector);
    default:
        return FT_OK;
    }
}

/* --- Attributes -------------------------------------------------------------------------------------------------- */

static ft_status attr_ints(builder *b, const char *name, const int64_t *values, size_t count) {
    assert(b->attr_count < MAX_ATTRS);
    return graph_attr_ints(b->graph, &b->attrs[b->attr_count++], name, values, count, b->error);
}

static ft_status attr_int(builder *b, const char *name, int64_t value) {
    assert(b->attr_count < MAX_ATTRS);
    return graph_attr_int(b->graph, &b->attrs[b->attr_count++], name, value, b->error);
}

static ft_status add_window_attrs(builder *b, const tf_node *node) {
    if (node->kernel[0] > 0 && node->kernel[1] > 0) FT_TRY(attr_ints(b, "kernel_shape", node->kernel, 2));
    if (node->strides[0] > 0 && node->strides[1] > 0) FT_TRY(attr_ints(b, "strides", node->strides, 2));
    if (node->dilations[0] > 0 && node->dilations[1] > 0) FT_TRY(attr_ints(b, "dilations", node->dilations, 2));
    if (node->group > 1) FT_TRY(attr_int(b, "group", node->group));
    if (node->padding == TF_PAD_EXPLICIT) return attr_ints(b, "pads", node->pads, 4);
    const char *mode = node->padding == TF_PAD_VALID ? "VALID" : "SAME_UPPER";
    return graph_attr_string(b->graph, &b->attrs[b->attr_count++], "auto_pad", mode, b->error);
}

/* Each dimension of the output is the first unused one of the input with that size. */
static ft_status add_permutation(builder *b, const tf_node *node) {
    const tf_shape *in = data_shape(b, node), *out = &node->out;
    int64_t order[FT_MAX_RANK];
    bool is_taken[FT_MAX_RANK] = {false};
    if (in->rank <= 0 || in->rank != out->rank) return FT_OK;
    for (int32_t i = 0; i < out->rank; i++) {
        int32_t from = 0;
        while (from < in->rank && (is_taken[from] || in->dims[from] != out->dims[i])) from++;
        if (from == in->rank) return FT_OK; /* not a permutation: the recorded shape is used as it is */
        is_taken[from] = true;
        order[i] = from;
    }
    return attr_ints(b, "perm", order, (size_t)out->rank);
}

/* A reduction drops dimensions (the rest keep their order) or turns them into 1. */
static ft_status add_reduction(builder *b, const tf_node *node) {
    const tf_shape *in = data_shape(b, node), *out = &node->out;
    if (in->rank <= 0 || out->rank < 0 || out->rank > in->rank) return FT_OK;
    bool is_kept = in->rank == out->rank;
    int64_t axes[FT_MAX_RANK];
    size_t count = 0;
    /* N,H,W,C -> N,C: of equal sizes the first is the batch and the last the channels. */
    int32_t lead = is_kept ? 0 : out->rank > 0, tail = is_kept ? 0 : out->rank - lead;
    for (int32_t i = 0; i < in->rank; i++) {
        bool is_reduced = is_kept ? in->dims[i] != out->dims[i] : i >= lead && i < in->rank - tail;
        if (is_reduced) axes[count++] = i;
    }
    FT_TRY(attr_int(b, "keepdims", is_kept));
    if (count == 0) return attr_int(b, "noop_with_empty_axes", 1);
    return attr_ints(b, "axes", axes, count);
}

static ft_status add_attrs(builder *b, uint32_t i) {
    const tf_node *node = &b->nodes[i];
    switch (node->type.kind) {
    case TF_CONV:
    case TF_DEPTHWISE:
    case TF_POOL:
        return add_window_attrs(b, node);
    case TF_CONCAT:
    case TF_SPLIT:
        return attr_int(b, "axis", changed_axis(data_shape(b, node), &node->out));
    case TF_TRANSPOSE:
        return add_permutation(b, node);
    case TF_MEAN:
        return add_reduction(b, node);
    default:
        return FT_OK;
    }
}

/* --- Operators and the graph ------------------------------------------------------------------------------------- */

static ft_status add_op(builder *b, uint32_t i) {
    const tf_node *node = &b->nodes[i];
    const slot *s = &b->slots[i];
    b->input_count = b->attr_count = 0;
    FT_TRY(add_inputs(b, i));
    FT_TRY(add_missing_input(b, i));
    FT_TRY(add_weights(b, i));
    FT_TRY(add_attrs(b, i));
    uint32_t outputs[MAX_PARTS];
    assert(s->parts >= 1 && s->parts <= MAX_PARTS);
    for (uint32_t part = 0; part < s->parts; part++) outputs[part] = s->tensor + part;
    ft_op spec = {
        .name = node_name(b, i),
        .type = node->type.name,
        .def = node->type.def,
        .inputs = b->inputs,
        .input_count = b->input_count,
        .outputs = outputs,
        .output_count = s->parts,
        .attrs = arena_copy(&b->graph->memory, b->attrs, b->attr_count * sizeof b->attrs[0]),
        .attr_count = b->attr_count,
    };
    if (spec.attrs == NULL) return FT_NOMEM(b->error);
    return graph_add_op(b->graph, &spec, b->error);
}

ft_status tf_build(tf_node *nodes, uint32_t count, ft_graph *graph, ft_error *error) {
    builder b = {.graph = graph, .nodes = nodes, .count = count, .error = error};
    uint32_t max_inputs;
    FT_TRY(count_readers(&b, &max_inputs));
    b.slots = ARENA_ARRAY(&graph->memory, slot, count);
    b.inputs = ARENA_ARRAY(&graph->memory, uint32_t, (size_t)max_inputs + MAX_WEIGHTS + 1);
    if (b.slots == NULL || b.inputs == NULL) return FT_NOMEM(error);
    find_constants(&b);
    tf_repair(nodes, count);
    FT_TRY(add_node_tensors(&b));
    for (uint32_t i = 0; i < count; i++) {
        if (!b.slots[i].is_constant && nodes[i].type.kind != TF_PLACEHOLDER) FT_TRY(add_op(&b, i));
    }
    return graph_finish(graph, error);
}
