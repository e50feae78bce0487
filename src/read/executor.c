/* executor.c - TVM's graph.json as a model: the functions that the graph executor calls become the operators that their
 * names list (docs/formats/executor.md).
 *
 * The file has no attributes, but the shapes of all tensors: strides and padding of a convolution follow from them. A
 * function whose operators cannot be found that way becomes one operator of its own, which is costed by its bytes. */
#include <stdio.h>
#include <string.h>

#include "base/format.h"
#include "read/executor_json.h"
#include "read/read.h"

enum { NAME_SIZE = 512, MAX_PARTS = 32, MAX_ATTRS = 6, MAX_STRIDE = 32 };

/* UNARY and BINARY keep the shape; at most one of the others is in a function. */
typedef enum part_kind { UNARY, BINARY, CONV, DENSE, WHOLE, RESHAPE } part_kind;

typedef struct part {
    const char *tvm, *type; /* `type`: of ONNX */
    part_kind kind;
} part;

static const part parts[] = {
    {"nn_conv2d", "Conv", CONV},
    {"nn_dense", "Gemm", DENSE},
    {"nn_softmax", "Softmax", WHOLE},
    {"nn_global_avg_pool2d", "GlobalAveragePool", WHOLE},
    {"nn_global_max_pool2d", "GlobalMaxPool", WHOLE},
    {"nn_batch_flatten", "Reshape", RESHAPE},
    {"reshape", "Reshape", RESHAPE},
    {"squeeze", "Reshape", RESHAPE},
    {"expand_dims", "Reshape", RESHAPE},
    {"nn_bias_add", "Add", BINARY},
    {"add", "Add", BINARY},
    {"subtract", "Sub", BINARY},
    {"multiply", "Mul", BINARY},
    {"divide", "Div", BINARY},
    {"maximum", "Max", BINARY},
    {"minimum", "Min", BINARY},
    {"power", "Pow", BINARY},
    {"nn_relu", "Relu", UNARY},
    {"sigmoid", "Sigmoid", UNARY},
    {"tanh", "Tanh", UNARY},
    {"sqrt", "Sqrt", UNARY},
    {"negative", "Neg", UNARY},
    {"exp", "Exp", UNARY},
    {"log", "Log", UNARY},
    {"abs", "Abs", UNARY},
    {"erf", "Erf", UNARY},
    {"clip", "Clip", UNARY},
};

typedef struct builder {
    const executor_graph *in;
    ft_graph *graph;
    uint32_t *tensors; /* per output of a node */
    ft_error *error;
    /* The current function. */
    const executor_node *node;
    const part *chain[MAX_PARTS];
    uint32_t chain_count;
    ft_attr attrs[MAX_ATTRS];
    uint32_t attr_count;
} builder;

/* --- Tensors ---------------------------------------------------------------------------------------------------- */

/* "p0", "p17": the weights that TVM bound. */
static bool is_weight(const char *name) {
    return name[0] == 'p' && name[1] != '\0' && strspn(name + 1, "0123456789") == strlen(name + 1);
}

static ft_status describe(const builder *b, uint32_t row, ft_tensor *t) {
    const executor_output *out = &b->in->outputs[row];
    t->dtype = FT_FLOAT32;
    if (out->dtype != NULL && !ft_dtype_parse(out->dtype, &t->dtype)) t->dtype = FT_DTYPE_UNKNOWN;
    if (out->dims > FT_MAX_RANK)
        return ft_fail(b->error, FT_ERR_LIMIT, "a tensor has %u dimensions; at most %d are supported", out->dims,
                       FT_MAX_RANK);
    t->rank = out->has_shape ? (int32_t)out->dims : -1;
    for (uint32_t i = 0; i < out->dims; i++) t->dims[i] = out->shape[i] < 0 ? FT_DIM_UNKNOWN : out->shape[i];
    return FT_OK;
}

static ft_status add_outputs(builder *b, const executor_node *node) {
    bool is_argument = node->func_name == NULL;
    for (uint32_t i = 0; i < node->output_count; i++) {
        char name[NAME_SIZE];
        uint32_t row = node->first_output + i;
        ft_tensor t = {.name = name,
                       .role = !is_argument            ? FT_ACTIVATION
                               : is_weight(node->name) ? FT_CONSTANT
                                                       : FT_INPUT};
        if (i == 0)
            format_text(name, sizeof name, "%s", node->name);
        else
            format_text(name, sizeof name, "%s:%u", node->name, i);
        FT_TRY(describe(b, row, &t));
        FT_TRY(graph_add_tensor(b->graph, &t, &b->tensors[row], b->error));
        if (t.role == FT_INPUT) FT_TRY(graph_add_input(b->graph, b->tensors[row], b->error));
    }
    return FT_OK;
}

static uint32_t input_of(const builder *b, uint32_t index) {
    return b->tensors[b->in->nodes[b->node->inputs[index]].first_output];
}

static const ft_tensor *tensor_at(const builder *b, uint32_t index) {
    return &b->graph->tensors[index];
}

/* --- Names of functions ------------------------------------------------------------------------------------------ */

static const char *strip_prefix(const char *text, const char *prefix) {
    size_t length = strlen(prefix);
    return strncmp(text, prefix, length) == 0 && text[length] != '\0' ? text + length : text;
}

/* "tvmgen_default_fused_nn_conv2d_add_3" -> "nn_conv2d_add": TVM numbers functions of the same operators. */
static void base_name(const char *function, char *base, size_t size) {
    format_text(base, size, "%s", strip_prefix(strip_prefix(function, "tvmgen_default_"), "fused_"));
    size_t length = strlen(base), digits = length;
    while (digits > 0 && base[digits - 1] >= '0' && base[digits - 1] <= '9') digits--;
    if (digits < length && digits > 1 && base[digits - 1] == '_') base[digits - 1] = '\0';
}

/* The part that a name begins with: the longest, up to a "_" or the end. */
static const part *find_part(const char *text, size_t *length) {
    const part *found = NULL;
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        size_t size = strlen(parts[i].tvm);
        if (strncmp(text, parts[i].tvm, size) != 0 || (text[size] != '\0' && text[size] != '_')) continue;
        if (found == NULL || size > *length) {
            found = &parts[i];
            *length = size;
        }
    }
    return found;
}

static bool find_chain(builder *b, const char *base) {
    uint32_t others = 0;
    for (b->chain_count = 0; *base != '\0';) {
        size_t length = 0;
        const part *p = find_part(base, &length);
        if (p == NULL || b->chain_count == MAX_PARTS) return false;
        others += p->kind > BINARY;
        b->chain[b->chain_count++] = p;
        base += length + (base[length] == '_');
    }
    return b->chain_count > 0 && others <= 1;
}

/* --- Attributes -------------------------------------------------------------------------------------------------- */

static bool is_plain(const ft_tensor *t, int32_t rank) {
    if (t->rank != rank) return false;
    for (int32_t i = 0; i < rank; i++)
        if (t->dims[i] < 1) return false;
    return true;
}

/* Stride and padding of `windows` windows over a side: the smallest stride that can give as many. */
static bool solve_side(int64_t size, int64_t kernel, int64_t windows, int64_t *stride, int64_t pads[2]) {
    for (*stride = 1; *stride <= MAX_STRIDE; ++*stride) {
        int64_t needed = (windows - 1) * *stride + kernel - size, pad = needed > 0 ? needed : 0;
        if (pad >= 2 * kernel || size + pad < kernel || (size + pad - kernel) / *stride + 1 != windows) continue;
        pads[0] = pad / 2;
        pads[1] = pad - pad / 2;
        return true;
    }
    return false;
}

static ft_status add_conv_attrs(builder *b, bool *fits) {
    const ft_tensor *data = tensor_at(b, input_of(b, 0)), *filter = tensor_at(b, input_of(b, 1));
    const ft_tensor *out = tensor_at(b, b->tensors[b->node->first_output]);
    int64_t strides[2], sides[2][2];
    *fits = is_plain(data, 4) && is_plain(filter, 4) && is_plain(out, 4) && data->dims[1] % filter->dims[1] == 0 &&
            out->dims[1] == filter->dims[0] && out->dims[0] == data->dims[0];
    for (int i = 0; i < 2 && *fits; i++)
        *fits = solve_side(data->dims[2 + i], filter->dims[2 + i], out->dims[2 + i], &strides[i], sides[i]);
    if (!*fits) return FT_OK;
    int64_t group = data->dims[1] / filter->dims[1];
    *fits = filter->dims[0] % group == 0;
    const int64_t pads[] = {sides[0][0], sides[1][0], sides[0][1], sides[1][1]};
    FT_TRY(graph_attr_ints(b->graph, &b->attrs[0], "kernel_shape", filter->dims + 2, 2, b->error));
    FT_TRY(graph_attr_ints(b->graph, &b->attrs[1], "strides", strides, 2, b->error));
    FT_TRY(graph_attr_ints(b->graph, &b->attrs[2], "pads", pads, 4, b->error));
    FT_TRY(graph_attr_int(b->graph, &b->attrs[3], "group", group, b->error));
    b->attr_count = 4;
    return FT_OK;
}

static ft_status add_dense_attrs(builder *b, bool *fits) {
    const ft_tensor *x = tensor_at(b, input_of(b, 0)), *w = tensor_at(b, input_of(b, 1));
    const ft_tensor *out = tensor_at(b, b->tensors[b->node->first_output]);
    *fits = is_plain(x, 2) && is_plain(w, 2) && is_plain(out, 2) && x->dims[1] == w->dims[1] &&
            out->dims[0] == x->dims[0] && out->dims[1] == w->dims[0];
    if (!*fits) return FT_OK;
    FT_TRY(graph_attr_int(b->graph, &b->attrs[0], "transB", 1, b->error));
    b->attr_count = 1;
    return FT_OK;
}

/* The parts must use all inputs of the function, and what follows from the shapes must be possible. */
static ft_status check_chain(builder *b, bool *fits) {
    uint32_t used = 1;
    ft_status status = FT_OK;
    b->attr_count = 0;
    *fits = b->node->output_count == 1 && b->node->input_count > 0 &&
            tensor_at(b, b->tensors[b->node->first_output])->rank >= 0;
    for (uint32_t i = 0; i < b->chain_count && *fits && status == FT_OK; i++) {
        part_kind kind = b->chain[i]->kind;
        bool has_two = kind == CONV || kind == DENSE;
        if (has_two && (i > 0 || b->node->input_count < 2)) *fits = false;
        if (*fits && kind == CONV) status = add_conv_attrs(b, fits);
        if (*fits && kind == DENSE) status = add_dense_attrs(b, fits);
        used += has_two || (kind == BINARY && used < b->node->input_count);
    }
    *fits = *fits && used == b->node->input_count;
    return status;
}

/* --- Operators --------------------------------------------------------------------------------------------------- */

/* A constant of the function: a number, or the shape that a view has. */
static ft_status add_constant(builder *b, const ft_tensor *shape, uint32_t number, uint32_t *index) {
    char name[NAME_SIZE + 32];
    format_text(name, sizeof name, "%s/constant%u", b->node->name, number);
    ft_tensor t = {.name = name, .dtype = FT_FLOAT32, .role = FT_CONSTANT};
    if (shape != NULL) {
        int64_t *ints;
        ft_value *value = graph_value_ints(b->graph, shape->rank, &ints);
        if (value == NULL) return FT_NOMEM(b->error);
        for (int32_t i = 0; i < shape->rank; i++) ints[i] = shape->dims[i] < 0 ? -1 : shape->dims[i];
        t = (ft_tensor){
            .name = name, .dtype = FT_INT64, .role = FT_CONSTANT, .rank = 1, .dims = {shape->rank}, .value = value};
    }
    return graph_add_tensor(b->graph, &t, index, b->error);
}

static ft_status add_part(builder *b, uint32_t number, uint32_t *at, uint32_t *used) {
    const part *p = b->chain[number];
    uint32_t inputs[2] = {*at}, count = 1, last = b->tensors[b->node->first_output], output = last;
    char name[NAME_SIZE + 64];
    bool is_last = number + 1 == b->chain_count, has_attrs = p->kind == CONV || p->kind == DENSE;
    format_text(name, sizeof name, is_last ? "%s" : "%s/%s%u", b->node->name, p->tvm, number);
    if (p->kind == RESHAPE) {
        const ft_tensor shape = *tensor_at(b, last);
        FT_TRY(add_constant(b, &shape, number, &inputs[count++]));
    } else if ((has_attrs || p->kind == BINARY) && *used < b->node->input_count) {
        inputs[count++] = input_of(b, (*used)++);
    } else if (p->kind == BINARY) {
        FT_TRY(add_constant(b, NULL, number, &inputs[count++]));
    }
    if (!is_last) {
        const ft_tensor t = {.name = name, .dtype = tensor_at(b, last)->dtype, .role = FT_ACTIVATION, .rank = -1};
        FT_TRY(graph_add_tensor(b->graph, &t, &output, b->error));
    }
    const ft_attr *attrs = NULL;
    if (has_attrs) {
        attrs = arena_copy(&b->graph->memory, b->attrs, b->attr_count * sizeof b->attrs[0]);
        if (attrs == NULL) return FT_NOMEM(b->error);
    }
    const ft_op op = {.name = name,
                      .type = p->type,
                      .inputs = inputs,
                      .input_count = count,
                      .outputs = &output,
                      .output_count = 1,
                      .attrs = attrs,
                      .attr_count = has_attrs ? b->attr_count : 0};
    *at = output;
    return graph_add_op(b->graph, &op, b->error);
}

/* A function of unknown operators. */
static ft_status add_whole(builder *b, const char *base) {
    uint32_t *inputs = ARENA_ARRAY(&b->graph->memory, uint32_t, (size_t)b->node->input_count + 1);
    if (inputs == NULL) return FT_NOMEM(b->error);
    for (uint32_t i = 0; i < b->node->input_count; i++) inputs[i] = input_of(b, i);
    const ft_op op = {.name = b->node->name,
                      .type = base,
                      .def = ft_opdef_unknown(),
                      .inputs = inputs,
                      .input_count = b->node->input_count,
                      .outputs = &b->tensors[b->node->first_output],
                      .output_count = b->node->output_count};
    return graph_add_op(b->graph, &op, b->error);
}

static ft_status add_function(builder *b) {
    char base[NAME_SIZE];
    bool fits = false, is_view = strcmp(b->node->func_name, "__nop") == 0;
    base_name(is_view ? "reshape" : b->node->func_name, base, sizeof base);
    if (find_chain(b, base)) FT_TRY(check_chain(b, &fits));
    if (!fits) return add_whole(b, base);
    uint32_t at = input_of(b, 0), used = 1;
    for (uint32_t i = 0; i < b->chain_count; i++) FT_TRY(add_part(b, i, &at, &used));
    return FT_OK;
}

/* --- The graph --------------------------------------------------------------------------------------------------- */

static ft_status fill(builder *b) {
    uint32_t calls = 0;
    b->tensors = ARENA_ARRAY(&b->graph->memory, uint32_t, (size_t)b->in->output_count + 1);
    if (b->tensors == NULL) return FT_NOMEM(b->error);
    FT_TRY(graph_reserve(b->graph, b->in->output_count, b->in->node_count, b->error));
    for (uint32_t i = 0; i < b->in->node_count; i++) {
        b->node = &b->in->nodes[i];
        FT_TRY(add_outputs(b, b->node));
        if (b->node->func_name == NULL) continue;
        FT_TRY(add_function(b));
        calls++;
    }
    if (calls == 0) return ft_fail(b->error, FT_ERR_GRAPH, "none of its nodes runs a function");
    for (uint32_t i = 0; i < b->in->head_count; i++)
        FT_TRY(graph_add_output(b->graph, b->tensors[b->in->nodes[b->in->heads[i]].first_output], b->error));
    return graph_finish(b->graph, b->error);
}

static ft_status build(const executor_graph *in, const char *path, ft_graph **graph, ft_error *error) {
    char name[NAME_SIZE];
    const char *slash = strrchr(path, '/');
    builder b = {.in = in, .error = error};
    format_text(name, sizeof name, "%s", slash != NULL ? slash + 1 : path);
    char *dot = strstr(name, ".json");
    if (dot != NULL && dot != name) *dot = '\0';
    FT_TRY(graph_new(FT_FORMAT_EXECUTOR, FT_NCHW, name, &b.graph, error));
    ft_status status = fill(&b);
    if (status == FT_OK)
        *graph = b.graph;
    else
        ft_graph_free(b.graph);
    return status;
}

static ft_status read_json(const uint8_t *bytes, size_t size, const read_origin *origin, ft_graph **graph,
                           ft_error *error) {
    executor_graph in;
    ft_status status = executor_read(bytes, size, &in, error);
    if (status == FT_OK) status = build(&in, origin->path, graph, error);
    executor_free(&in);
    return status != FT_OK ? ft_fail_prefix(error, status, "%s", origin->path) : FT_OK;
}

const reader executor_reader = {.format = FT_FORMAT_EXECUTOR, .matches = executor_matches, .read = read_json};
