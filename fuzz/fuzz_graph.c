/* fuzz_graph.c - bytes as a graph of any operators of the table, so that every shape, fold and cost rule meets
 * shapes, values and attributes that no file would have.
 *
 * Each byte decides one thing: the format, then for each operator its entry, inputs, attributes. Tensors are small
 * or absurd, and many have values. Missing bytes count as zeros. */
#include <string.h>

#include "downstream.h"
#include "graph/opdef.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MAX_OPS = 24 };

typedef struct supply {
    const uint8_t *data;
    size_t left;
} supply;

static uint8_t next(supply *s) {
    if (s->left == 0) return 0;
    s->left--;
    return *s->data++;
}

/* Mostly small, sometimes at the limits of the type. */
static int64_t number(supply *s) {
    static const int64_t edges[] = {0, -1, -2, 64, 224, 4096, FT_MAX_DIM, INT64_MAX, INT64_MIN, INT64_MIN + 1};
    uint8_t byte = next(s);
    return byte < 200 ? byte % 9 : edges[byte % (sizeof edges / sizeof edges[0])];
}

static const ft_value *make_value(ft_graph *g, supply *s, int64_t count, bool is_float) {
    int64_t *ints;
    double *floats;
    ft_value *value = is_float ? graph_value_floats(g, count, &floats) : graph_value_ints(g, count, &ints);
    for (int64_t i = 0; value != NULL && i < count; i++) {
        if (is_float)
            floats[i] = (double)number(s) / 4;
        else
            ints[i] = number(s);
    }
    return value;
}

/* An input, or a constant with or without a value. */
static uint32_t make_tensor(ft_graph *g, supply *s) {
    static const ft_dtype dtypes[] = {FT_FLOAT32, FT_INT64, FT_INT8, FT_BOOL, FT_FLOAT16, FT_DTYPE_UNKNOWN};
    ft_tensor t = {.name = "t", .dtype = dtypes[next(s) % 6], .role = FT_CONSTANT};
    uint8_t kind = next(s);
    ft_error error;
    uint32_t index;
    t.rank = kind % 6;
    for (int32_t i = 0; i < t.rank; i++) {
        t.dims[i] = number(s);
        if (t.dims[i] < 0) t.dims[i] = 1;
    }
    int64_t elems = shape_elems(t.dims, t.rank);
    if (kind >= 128 && elems <= 64) t.value = make_value(g, s, elems, ft_dtype_is_float(t.dtype));
    if (graph_add_tensor(g, &t, &index, &error) != FT_OK) return FT_NONE;
    if (kind < 64 && graph_add_input(g, index, &error) != FT_OK) return FT_NONE;
    return index;
}

static ft_status make_attribute(ft_graph *g, supply *s, ft_attr *attr, ft_error *error) {
    static const char *const names[] = {"axis",
                                        "axes",
                                        "perm",
                                        "keepdims",
                                        "strides",
                                        "pads",
                                        "dilations",
                                        "group",
                                        "kernel_shape",
                                        "auto_pad",
                                        "transA",
                                        "transB",
                                        "blocksize",
                                        "to",
                                        "split",
                                        "equation",
                                        "ceil_mode",
                                        "output_shape",
                                        "layout",
                                        "num_heads",
                                        "scales",
                                        "starts",
                                        "ends",
                                        "shape",
                                        "batch_dims",
                                        "begin_mask",
                                        "end_mask",
                                        "shrink_axis_mask",
                                        "new_axis_mask",
                                        "ellipsis_mask",
                                        "N",
                                        "body",
                                        "values_count",
                                        "num_splits",
                                        "keep_num_dims",
                                        "hidden_size",
                                        "k",
                                        "value",
                                        "depth_multiplier",
                                        "activation"};
    static const char *const texts[] = {"SAME_UPPER", "VALID", "ij,jk->ik", "...i,ij->...j", "ij,jk", "a.b->", "RELU6"};
    const char *name = names[next(s) % (sizeof names / sizeof names[0])];
    uint8_t kind = next(s);
    if (kind < 30) return graph_attr_string(g, attr, name, texts[kind % (sizeof texts / sizeof texts[0])], error);
    if (kind < 130) return graph_attr_int(g, attr, name, number(s), error);
    int64_t ints[8];
    size_t count = kind % 9;
    if (count > 8) count = 8;
    for (size_t i = 0; i < count; i++) ints[i] = number(s);
    return graph_attr_ints(g, attr, name, ints, count, error);
}

static ft_status make_op(ft_graph *g, supply *s, ft_error *error) {
    uint32_t inputs[6], outputs[3], which = next(s);
    const ft_opdef *def = ft_opdef_at((which << 8 | next(s)) % ft_opdef_count());
    ft_op op = {.name = "op", .type = def->name, .def = def, .inputs = inputs, .outputs = outputs};
    op.input_count = next(s) % 6;
    op.output_count = 1 + next(s) % 3;
    for (uint32_t i = 0; i < op.input_count; i++) {
        uint8_t from = next(s);
        inputs[i] = from < 100 && g->tensor_count > 0 ? from % g->tensor_count : make_tensor(g, s);
    }
    for (uint32_t i = 0; i < op.output_count; i++) {
        ft_tensor t = {.name = "", .role = FT_ACTIVATION, .rank = next(s) < 40 ? 2 : -1, .dims = {3, 5}};
        FT_TRY(graph_add_tensor(g, &t, &outputs[i], error));
    }
    op.attr_count = next(s) % 4;
    ft_attr *attrs = ARENA_ARRAY(&g->memory, ft_attr, op.attr_count);
    if (attrs == NULL) return FT_ERR_NOMEM;
    for (uint32_t i = 0; i < op.attr_count; i++) FT_TRY(make_attribute(g, s, &attrs[i], error));
    op.attrs = attrs;
    return graph_add_op(g, &op, error);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const ft_format formats[] = {FT_FORMAT_ONNX, FT_FORMAT_TFLITE, FT_FORMAT_CG};
    supply s = {data, size};
    uint8_t first = next(&s);
    ft_graph *g = NULL;
    ft_error error;
    ft_status status = graph_new(formats[first % 3], first % 2 == 0 ? FT_NCHW : FT_NHWC, "fuzz", &g, &error);
    for (int i = 0; i < MAX_OPS && status == FT_OK && s.left > 0; i++) status = make_op(g, &s, &error);
    if (status == FT_OK) status = graph_finish(g, &error);
    if (status == FT_OK) downstream(g, &error);
    ft_graph_free(g);
    return 0;
}
