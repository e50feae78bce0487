/* ncnn_weight.c - layers with weights. The shapes of weights follow from the parameters: of a convolution, from the
 * number of its elements, the kernel and the channels out. */
#include <stdio.h>
#include <string.h>

#include "base/num.h"
#include "read/ncnn/ncnn.h"

/* --- Weights ----------------------------------------------------------------------------------------------------- */

ft_status ncnn_add_weight(ncnn_model *m, ncnn_layer *l, const char *suffix, const int64_t *dims, int32_t rank) {
    ft_tensor t = {.role = FT_CONSTANT, .dtype = FT_FLOAT32, .rank = rank};
    t.name = arena_format(&m->scratch, "%s%s", l->name, suffix);
    if (t.name == NULL) return FT_NOMEM(m->error);
    for (int32_t i = 0; i < rank; i++) {
        if (dims[i] < 1 || dims[i] > FT_MAX_DIM)
            return ncnn_damaged(m, l, "its parameters do not give the size of its weights");
        t.dims[i] = dims[i];
    }
    return graph_add_tensor(m->graph, &t, &l->inputs[l->input_count++], m->error);
}

ft_status ncnn_add_vector(ncnn_model *m, ncnn_layer *l, const char *suffix, int64_t elems) {
    return ncnn_add_weight(m, l, suffix, &elems, 1);
}

static ft_status check_inputs(ncnn_model *m, const ncnn_layer *l, uint32_t least) {
    return l->input_count >= least ? FT_OK : ncnn_damaged(m, l, "it has too few inputs");
}

static ft_status add_activation(ncnn_model *m, ncnn_layer *l) {
    static const char *const names[] = {NULL, "RELU", "LEAKYRELU", "CLIP", "SIGMOID", "MISH", "HARDSWISH"};
    int64_t type = ncnn_int(l, 9, 0);
    return type > 0 && type < 7 ? ncnn_add_text(m, l, "activation", names[type]) : FT_OK;
}

/* --- Convolutions ------------------------------------------------------------------------------------------------ */

/* The numbers of the parameters of each dimension, depth first: kernel, dilation, stride, pads before and after. */
typedef struct axis_params {
    unsigned kernel, dilation, stride, begin, end;
} axis_params;

static const axis_params axes[3] = {{21, 22, 23, 24, 17}, {11, 12, 13, 14, 16}, {1, 2, 3, 4, 15}};

typedef struct window {
    int64_t kernel[3], dilation[3], stride[3], begin[3], end[3];
    int32_t count; /* of dimensions */
    int64_t elems; /* of the kernel */
} window;

/* A dimension without parameters of its own has those of the width. */
static ft_status read_window(ncnn_model *m, const ncnn_layer *l, window *w) {
    bool is_1d = strstr(l->type, "1D") != NULL, is_3d = strstr(l->type, "3D") != NULL;
    w->count = is_1d ? 1 : is_3d ? 3 : 2;
    w->elems = 1;
    for (int32_t i = 0; i < w->count; i++) {
        const axis_params *a = &axes[3 - w->count + i], *width = &axes[2];
        w->kernel[i] = ncnn_int(l, a->kernel, ncnn_int(l, width->kernel, 0));
        w->dilation[i] = ncnn_int(l, a->dilation, ncnn_int(l, width->dilation, 1));
        w->stride[i] = ncnn_int(l, a->stride, ncnn_int(l, width->stride, 1));
        w->begin[i] = ncnn_int(l, a->begin, ncnn_int(l, width->begin, 0));
        w->end[i] = ncnn_int(l, a->end, w->begin[i]);
        if (w->kernel[i] < 1 || !num_mul_i64(w->elems, w->kernel[i], &w->elems))
            return ncnn_damaged(m, l, "its kernel has no size");
    }
    return FT_OK;
}

static ft_status add_window(ncnn_model *m, ncnn_layer *l, const window *w) {
    enum { SAME_UPPER = -233, SAME_LOWER = -234 };
    int64_t pads[6];
    FT_TRY(ncnn_add_ints(m, l, "strides", w->stride, (size_t)w->count));
    FT_TRY(ncnn_add_ints(m, l, "dilations", w->dilation, (size_t)w->count));
    if (w->begin[0] == SAME_UPPER || w->begin[0] == SAME_LOWER) return ncnn_add_text(m, l, "auto_pad", "SAME_UPPER");
    for (int32_t i = 0; i < w->count; i++) {
        pads[i] = w->begin[i];
        pads[w->count + i] = w->end[i];
    }
    return ncnn_add_ints(m, l, "pads", pads, 2 * (size_t)w->count);
}

/* The size of the output, or what is added to it. */
static ft_status add_output_size(ncnn_model *m, ncnn_layer *l, const window *w) {
    int64_t width = ncnn_int(l, 20, 0), sizes[2] = {ncnn_int(l, 21, width), width};
    int64_t right = ncnn_int(l, 18, 0), extra[2] = {ncnn_int(l, 19, right), right};
    if (w->count > 2) return FT_OK;
    if (width > 0) FT_TRY(ncnn_add_ints(m, l, "output_shape", w->count == 2 ? sizes : sizes + 1, (size_t)w->count));
    return ncnn_add_ints(m, l, "output_padding", w->count == 2 ? extra : extra + 1, (size_t)w->count);
}

/* An input without a shape that a convolution reads has at least its channels. */
static ft_status open_input(ncnn_model *m, uint32_t tensor, int64_t channels, int32_t spatial) {
    ft_tensor *t = &m->graph->tensors[tensor];
    if (t->role != FT_INPUT || t->rank >= 0) return FT_OK;
    static const char *const names[] = {"d", "h", "w"};
    FT_TRY(graph_symbol(m->graph, "batch", &t->dims[0], m->error));
    t->dims[1] = channels;
    for (int32_t i = 0; i < spatial; i++) {
        const char *symbol = arena_format(&m->scratch, "%s_%s", t->name, names[3 - spatial + i]);
        if (symbol == NULL) return FT_NOMEM(m->error);
        FT_TRY(graph_symbol(m->graph, symbol, &t->dims[2 + i], m->error));
    }
    t->rank = spatial + 2;
    return FT_OK;
}

ft_status ncnn_convolution(ncnn_model *m, ncnn_layer *l) {
    window w = {0};
    bool is_transposed = l->type[0] == 'D' && strncmp(l->type, "Deconv", 6) == 0;
    int64_t out = ncnn_int(l, 0, 0), size = ncnn_int(l, 6, 0), groups = ncnn_int(l, 7, 1), per_output;
    FT_TRY(check_inputs(m, l, 1));
    FT_TRY(read_window(m, l, &w));
    if (ncnn_int(l, 19, 0) != 0 && !is_transposed) { /* weights are an input */
        l->def = ft_opdef_unknown();
        return FT_OK;
    }
    if (out < 1 || groups < 1 || out % groups != 0 || !num_mul_i64(out, w.elems, &per_output) || size < 1 ||
        size % per_output != 0)
        return ncnn_damaged(m, l, "its parameters do not give the size of its weights");
    int64_t in = size / per_output, dims[5] = {out, in}; /* in: channels of a group */
    if (is_transposed) {
        if (!num_mul_i64(in, groups, &dims[0])) return ncnn_damaged(m, l, "its weights are too large");
        dims[1] = out / groups;
    }
    for (int32_t i = 0; i < w.count; i++) dims[2 + i] = w.kernel[i];
    FT_TRY(open_input(m, l->inputs[0], num_mul_i64(in, groups, &per_output) ? per_output : 0, w.count));
    l->input_count = 1;
    FT_TRY(ncnn_add_weight(m, l, ".weight", dims, 2 + w.count));
    if (ncnn_int(l, 8, 0) != 0 && !is_transposed) m->graph->tensors[l->inputs[1]].dtype = FT_INT8;
    if (ncnn_int(l, 5, 0) != 0) FT_TRY(ncnn_add_vector(m, l, ".bias", out));
    FT_TRY(add_window(m, l, &w));
    if (groups > 1) FT_TRY(ncnn_add_int(m, l, "group", groups));
    if (is_transposed) FT_TRY(add_output_size(m, l, &w));
    return add_activation(m, l);
}

/* --- Products ---------------------------------------------------------------------------------------------------- */

ft_status ncnn_inner_product(ncnn_model *m, ncnn_layer *l) {
    int64_t out = ncnn_int(l, 0, 0), size = ncnn_int(l, 2, 0);
    FT_TRY(check_inputs(m, l, 1));
    if (out < 1 || size < 1 || size % out != 0)
        return ncnn_damaged(m, l, "its parameters do not give the size of its weights");
    int64_t dims[2] = {out, size / out};
    l->input_count = 1;
    FT_TRY(ncnn_add_weight(m, l, ".weight", dims, 2));
    if (ncnn_int(l, 8, 0) != 0) m->graph->tensors[l->inputs[1]].dtype = FT_INT8;
    if (ncnn_int(l, 1, 0) != 0) FT_TRY(ncnn_add_vector(m, l, ".bias", out));
    return add_activation(m, l);
}

/* Operands are blobs or constants of the layer. */
ft_status ncnn_gemm(ncnn_model *m, ncnn_layer *l) {
    bool is_gemm = strcmp(l->type, "Gemm") == 0;
    int64_t rows = ncnn_int(l, 7, 0), columns = ncnn_int(l, 8, 0), depth = ncnn_int(l, 9, 0);
    bool moves_a = is_gemm && ncnn_int(l, 2, 0) != 0, moves_b = ncnn_int(l, is_gemm ? 3 : 0, 0) != 0;
    uint32_t given[3] = {FT_NONE, FT_NONE, FT_NONE}, next = 0, count = l->input_count;
    for (uint32_t i = 0; i < 3 && i < count; i++) given[i] = l->inputs[i];
    if (is_gemm && (ncnn_int(l, 14, 0) != 0 || ncnn_int(l, 11, 0) != 0)) {
        l->def = ft_opdef_unknown();
        return FT_OK;
    }
    l->input_count = 0;
    for (int i = 0; i < 2; i++) {
        bool is_constant = is_gemm && ncnn_int(l, i == 0 ? 4 : 5, 0) != 0;
        int64_t matrix[2] = {i == 0 ? rows : depth, i == 0 ? depth : columns};
        bool is_moved = i == 0 ? moves_a : moves_b;
        const int64_t dims[2] = {matrix[is_moved], matrix[!is_moved]};
        if (is_constant)
            FT_TRY(ncnn_add_weight(m, l, i == 0 ? ".A" : ".B", dims, 2));
        else if (next < count)
            l->inputs[l->input_count++] = given[next++];
        else
            return ncnn_damaged(m, l, "it has too few inputs");
    }
    if (is_gemm && ncnn_int(l, 6, 0) != 0 && columns > 0)
        FT_TRY(ncnn_add_vector(m, l, ".C", columns));
    else if (next < count && next < 3)
        l->inputs[l->input_count++] = given[next];
    if (moves_a) FT_TRY(ncnn_add_int(m, l, "transA", 1));
    return moves_b ? ncnn_add_int(m, l, "transB", 1) : FT_OK;
}

/* A table of rows, of which the input selects. */
ft_status ncnn_embed(ncnn_model *m, ncnn_layer *l) {
    int64_t dims[2] = {ncnn_int(l, 1, 0), ncnn_int(l, 0, 0)};
    FT_TRY(check_inputs(m, l, 1));
    uint32_t indices = l->inputs[0];
    l->input_count = 0;
    FT_TRY(ncnn_add_weight(m, l, ".weight", dims, 2));
    l->inputs[l->input_count++] = indices;
    return FT_OK;
}

/* --- Norms and scales -------------------------------------------------------------------------------------------- */

ft_status ncnn_norm(ncnn_model *m, ncnn_layer *l) {
    FT_TRY(check_inputs(m, l, 1));
    l->input_count = 1;
    if (strcmp(l->type, "BatchNorm") == 0) {
        static const char *const suffixes[] = {".slope", ".bias", ".mean", ".var"};
        for (int i = 0; i < 4; i++) FT_TRY(ncnn_add_vector(m, l, suffixes[i], ncnn_int(l, 0, 0)));
        return FT_OK;
    }
    bool is_group = strcmp(l->type, "GroupNorm") == 0, is_normalize = strcmp(l->type, "Normalize") == 0;
    if (strcmp(l->type, "MVN") == 0) return FT_OK;
    if (is_normalize) return ncnn_int(l, 3, 0) > 0 ? ncnn_add_vector(m, l, ".scale", ncnn_int(l, 3, 0)) : FT_OK;
    int64_t size = ncnn_int(l, is_group ? 1 : 0, 0);
    if (is_group) FT_TRY(ncnn_add_int(m, l, "num_groups", ncnn_int(l, 0, 1)));
    if (ncnn_int(l, is_group ? 3 : 2, 1) == 0) return FT_OK;
    FT_TRY(ncnn_add_vector(m, l, ".gamma", size));
    return strcmp(l->type, "RMSNorm") == 0 ? FT_OK : ncnn_add_vector(m, l, ".beta", size);
}

/* Scale, Bias and PReLU; the scale may be a second input. */
ft_status ncnn_scale(ncnn_model *m, ncnn_layer *l) {
    int64_t size = ncnn_int(l, 0, 0);
    FT_TRY(check_inputs(m, l, 1));
    if (size == NCNN_DEFAULT) {
        l->def = opdef_find(FT_FORMAT_NCNN, "BinaryOp");
        return check_inputs(m, l, 2);
    }
    l->input_count = 1;
    FT_TRY(ncnn_add_vector(m, l, ".weight", size));
    return strcmp(l->type, "Scale") == 0 && ncnn_int(l, 1, 0) != 0 ? ncnn_add_vector(m, l, ".bias", size) : FT_OK;
}

/* --- Recurrent layers, attention --------------------------------------------------------------------------------- */

ft_status ncnn_recurrent(ncnn_model *m, ncnn_layer *l) {
    int64_t out = ncnn_int(l, 0, 0), size = ncnn_int(l, 1, 0), directions = ncnn_int(l, 2, 0) == 2 ? 2 : 1;
    int64_t gates = l->type[0] == 'L' ? 4 : l->type[0] == 'G' ? 3 : 1;
    int64_t hidden = l->type[0] == 'L' ? ncnn_int(l, 3, out) : out, rows, all;
    FT_TRY(check_inputs(m, l, 1));
    if (out < 1 || hidden < 1 || size < 1 || !num_mul_i64(hidden, gates, &rows) ||
        !num_mul_i64(rows, directions, &all) || size % all != 0)
        return ncnn_damaged(m, l, "its parameters do not give the size of its weights");
    const int64_t input[3] = {directions, rows, size / all}, recurrent[3] = {directions, rows, out};
    l->input_count = 1; /* states at the begin are a few numbers */
    FT_TRY(ncnn_add_weight(m, l, ".weight_xc", input, 3));
    FT_TRY(ncnn_add_weight(m, l, ".weight_hc", recurrent, 3));
    FT_TRY(ncnn_add_vector(m, l, ".bias", all));
    return ncnn_add_int(m, l, "num_output", out);
}

/* One product of the attention: from `from` to a new tensor. */
static ft_status add_projection(ncnn_model *m, const ncnn_layer *l, const char *suffix, uint32_t from,
                                const int64_t dims[2], uint32_t *to) {
    ncnn_layer part = {.type = l->type, .name = l->name, .def = opdef_find(FT_FORMAT_NCNN, "InnerProduct")};
    uint32_t inputs[NCNN_MAX_INPUTS] = {from};
    part.inputs = inputs;
    part.input_count = 1;
    part.outputs = to;
    part.output_count = 1;
    char name[32];
    if (*to == FT_NONE) {
        ft_tensor t = {.dtype = FT_FLOAT32, .rank = -1, .name = ""};
        FT_TRY(graph_add_tensor(m->graph, &t, to, m->error));
    }
    snprintf(name, sizeof name, "%s.weight", suffix);
    FT_TRY(ncnn_add_weight(m, &part, name, dims, 2));
    snprintf(name, sizeof name, "%s.bias", suffix);
    FT_TRY(ncnn_add_vector(m, &part, name, dims[0]));
    return ncnn_add_op(m, &part, suffix);
}

/* Queries, keys and values are projected, attend in heads, and are projected again. */
ft_status ncnn_attention(ncnn_model *m, ncnn_layer *l) {
    static const char *const suffixes[] = {".q", ".k", ".v"};
    int64_t width = ncnn_int(l, 0, 0), size = ncnn_int(l, 2, 0), heads = ncnn_int(l, 1, 1);
    FT_TRY(check_inputs(m, l, 1));
    if (width < 1 || size < 1 || size % width != 0 || heads < 1 || l->output_count < 1)
        return ncnn_damaged(m, l, "its parameters do not give the size of its weights");
    uint32_t blobs = l->input_count - (ncnn_int(l, 5, 0) != 0 && l->input_count > 1); /* the last may be a mask */
    int64_t in[3] = {size / width, ncnn_int(l, 3, width), ncnn_int(l, 4, width)};
    uint32_t parts[4] = {FT_NONE, FT_NONE, FT_NONE, FT_NONE}, output = l->outputs[0];
    for (uint32_t i = 0; i < 3; i++) {
        uint32_t from = l->inputs[i < blobs ? i : blobs - 1];
        FT_TRY(add_projection(m, l, suffixes[i], from, (const int64_t[2]){width, in[i]}, &parts[i]));
    }
    ft_tensor t = {.dtype = FT_FLOAT32, .rank = -1, .name = ""};
    FT_TRY(graph_add_tensor(m->graph, &t, &parts[3], m->error));
    ncnn_layer core = {.type = l->type, .name = l->name, .def = opdef_find(FT_FORMAT_ONNX, "MultiHeadAttention")};
    core.inputs = parts;
    core.input_count = 3;
    core.outputs = &parts[3];
    core.output_count = 1;
    FT_TRY(ncnn_add_int(m, &core, "num_heads", heads));
    FT_TRY(ncnn_add_op(m, &core, ""));
    return add_projection(m, l, ".out", parts[3], (const int64_t[2]){in[0], width}, &output);
}
