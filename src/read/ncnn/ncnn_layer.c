/* ncnn_layer.c - layers as operators: parameters become attributes, under ONNX's name when ONNX has such an attribute.
 *
 * Axes of blobs do not count the batch, so they are one higher here, unless they count from the end. Where a type of
 * layer stands for several operators (BinaryOp, Pooling), a parameter selects. Layers that the operator table does not
 * have, and those whose shape is an expression, are unknown. */
#include <string.h>

#include "read/ncnn/ncnn.h"

static int64_t with_batch(int64_t axis) {
    return axis < 0 ? axis : axis + 1;
}

/* The axis of parameter `id`. */
static ft_status add_axis(ncnn_model *m, ncnn_layer *l, unsigned id) {
    return ncnn_add_int(m, l, "axis", with_batch(ncnn_int(l, id, 0)));
}

/* The array of parameter `id`, as axes; *is_set: there is one. */
static ft_status add_axes(ncnn_model *m, ncnn_layer *l, unsigned id, bool *is_set) {
    int64_t axes[FT_MAX_RANK];
    const ncnn_param *p = &l->params[id];
    *is_set = p->list != NULL && p->count <= FT_MAX_RANK;
    if (!*is_set) return FT_OK;
    for (uint32_t i = 0; i < p->count; i++) axes[i] = with_batch(p->list[i]);
    return ncnn_add_ints(m, l, "axes", axes, p->count);
}

/* The array of parameter `id` as it is, if it is set. */
static ft_status add_list(ncnn_model *m, ncnn_layer *l, unsigned id, const char *name) {
    const ncnn_param *p = &l->params[id];
    return p->list != NULL ? ncnn_add_ints(m, l, name, p->list, p->count) : FT_OK;
}

/* --- Layers whose parameters select an operator ------------------------------------------------------------------ */

static const ft_opdef *select_op(const char *const *names, size_t count, int64_t index) {
    if (index < 0 || (size_t)index >= count) return NULL;
    const ft_opdef *def = opdef_find(FT_FORMAT_ONNX, names[index]);
    return def != NULL ? def : opdef_find(FT_FORMAT_TENSORFLOW, names[index]); /* Square */
}

#define SELECT(l, names, id) select_op((names), sizeof(names) / sizeof(names)[0], ncnn_int((l), (id), 0))

static ft_status unary(ncnn_model *m, ncnn_layer *l) {
    static const char *const names[] = {"Abs",  "Neg",        "Floor", "Ceil", "Square", "Sqrt", "Rsqrt",
                                        "Exp",  "Log",        "Sin",   "Cos",  "Tan",    "Asin", "Acos",
                                        "Atan", "Reciprocal", "Tanh",  "Log",  "Round",  "Floor"};
    (void)m;
    l->def = SELECT(l, names, 0);
    return FT_OK;
}

static ft_status eltwise(ncnn_model *m, ncnn_layer *l) {
    static const char *const names[] = {"Mul", "Sum", "Max"};
    (void)m;
    l->def = SELECT(l, names, 0);
    return FT_OK;
}

static ft_status relu(ncnn_model *m, ncnn_layer *l) {
    (void)m;
    if (ncnn_float(l, 0, 0) != 0) l->def = opdef_find(FT_FORMAT_ONNX, "LeakyRelu");
    return FT_OK;
}

static ft_status reduction(ncnn_model *m, ncnn_layer *l) {
    static const char *const names[] = {"ReduceSum", "ReduceL1",     "ReduceSumSquare", "ReduceMean",
                                        "ReduceMax", "ReduceMin",    "ReduceProd",      "ReduceL1",
                                        "ReduceL2",  "ReduceLogSum", "ReduceLogSumExp"};
    bool has_axes = false;
    l->def = SELECT(l, names, 0);
    FT_TRY(ncnn_add_int(m, l, "keepdims", ncnn_int(l, 4, 0)));
    if (ncnn_int(l, 1, 1) == 0) FT_TRY(add_axes(m, l, 3, &has_axes));
    if (!has_axes) l->def = opdef_find(FT_FORMAT_NCNN, "Reduction"); /* all but the batch */
    return FT_OK;
}

static ft_status pooling(ncnn_model *m, ncnn_layer *l) {
    enum { FULL, VALID, SAME_UPPER, SAME_LOWER };
    bool is_1d = strstr(l->type, "1D") != NULL, is_3d = strstr(l->type, "3D") != NULL, is_mean = ncnn_int(l, 0, 0) == 1;
    int64_t kernel = ncnn_int(l, 1, 0), stride = ncnn_int(l, 2, 1), left = ncnn_int(l, 3, 0),
            mode = ncnn_int(l, 5, FULL);
    int64_t front = ncnn_int(l, 23, left), top = ncnn_int(l, 13, left);
    int64_t kernels[3] = {ncnn_int(l, 21, kernel), ncnn_int(l, 11, kernel), kernel};
    int64_t strides[3] = {ncnn_int(l, 22, stride), ncnn_int(l, 12, stride), stride};
    int64_t begin[3] = {front, top, left},
            end[3] = {ncnn_int(l, 16, front), ncnn_int(l, 15, top), ncnn_int(l, 14, left)};
    size_t count = is_1d ? 1 : is_3d ? 3 : 2, first = 3 - count;
    if (ncnn_int(l, 4, 0) != 0) {
        l->def = opdef_find(FT_FORMAT_ONNX, is_mean ? "GlobalAveragePool" : "GlobalMaxPool");
        return FT_OK;
    }
    l->def = opdef_find(FT_FORMAT_ONNX, is_mean ? "AveragePool" : "MaxPool");
    if (ncnn_int(l, 7, 0) != 0) { /* adaptive: the window follows from the output */
        int64_t width = ncnn_int(l, 8, 0), sizes[2] = {ncnn_int(l, 18, width), width};
        l->def = opdef_find(FT_FORMAT_NCNN, "AdaptivePooling");
        return is_1d || is_3d ? ncnn_damaged(m, l, "adaptive pooling is supported in two dimensions only")
                              : ncnn_add_ints(m, l, "sizes", sizes, 2);
    }
    FT_TRY(ncnn_add_ints(m, l, "kernel_shape", kernels + first, count));
    FT_TRY(ncnn_add_ints(m, l, "strides", strides + first, count));
    if (mode == SAME_UPPER || mode == SAME_LOWER) return ncnn_add_text(m, l, "auto_pad", "SAME_UPPER");
    int64_t pads[6];
    memcpy(pads, begin + first, count * sizeof *pads);
    memcpy(pads + count, end + first, count * sizeof *pads);
    FT_TRY(ncnn_add_ints(m, l, "pads", pads, 2 * count));
    return mode == FULL ? ncnn_add_int(m, l, "ceil_mode", 1) : FT_OK;
}

/* --- Movement ---------------------------------------------------------------------------------------------------- */

static ft_status concat(ncnn_model *m, ncnn_layer *l) {
    return add_axis(m, l, 0);
}

static ft_status slice(ncnn_model *m, ncnn_layer *l) {
    FT_TRY(add_list(m, l, 0, "slices"));
    FT_TRY(add_list(m, l, 2, "indices"));
    return add_axis(m, l, 1);
}

/* Channels, depth, height, width, without those that are dropped. */
static ft_status reshape(ncnn_model *m, ncnn_layer *l) {
    static const unsigned ids[] = {2, 11, 1, 0};
    int64_t shape[4];
    size_t count = 0;
    for (int i = 0; i < 4; i++) {
        int64_t size = ncnn_int(l, ids[i], NCNN_DEFAULT);
        if (size != NCNN_DEFAULT) shape[count++] = size;
    }
    return ncnn_add_ints(m, l, "shape", shape, count);
}

/* Parameters 0, 1, 11 and 2 say whether the width, height, depth and channels are meant. */
static ft_status dims(ncnn_model *m, ncnn_layer *l) {
    static const unsigned ids[] = {0, 1, 11, 2};
    static const int64_t places[] = {-1, -2, -3, 1};
    bool is_set;
    int64_t axes[4];
    size_t count = 0;
    FT_TRY(add_axes(m, l, 3, &is_set));
    for (int i = 0; i < 4; i++)
        if (ncnn_int(l, ids[i], 0) != 0) axes[count++] = places[i];
    return is_set || count == 0 ? FT_OK : ncnn_add_ints(m, l, "axes", axes, count);
}

static ft_status permute(ncnn_model *m, ncnn_layer *l) {
    return ncnn_add_int(m, l, "order_type", ncnn_int(l, 0, 0));
}

/* Offsets and sizes of channels, depth, height and width; or begins, ends and axes. */
static ft_status crop(ncnn_model *m, ncnn_layer *l) {
    const int64_t begin[] = {ncnn_int(l, 2, 0), ncnn_int(l, 13, 0), ncnn_int(l, 1, 0), ncnn_int(l, 0, 0)};
    const int64_t size[] = {ncnn_int(l, 5, 0), ncnn_int(l, 14, 0), ncnn_int(l, 4, 0), ncnn_int(l, 3, 0)};
    const int64_t end[] = {ncnn_int(l, 8, 0), ncnn_int(l, 15, 0), ncnn_int(l, 7, 0), ncnn_int(l, 6, 0)};
    bool has_axes;
    if (l->params[9].list == NULL || l->params[10].list == NULL) {
        FT_TRY(ncnn_add_ints(m, l, "offsets", begin, 4));
        FT_TRY(ncnn_add_ints(m, l, "sizes", size, 4));
        return ncnn_add_ints(m, l, "offsets_end", end, 4);
    }
    FT_TRY(add_list(m, l, 9, "starts"));
    FT_TRY(add_list(m, l, 10, "ends"));
    return add_axes(m, l, 11, &has_axes);
}

static ft_status padding(ncnn_model *m, ncnn_layer *l) {
    const int64_t pads[] = {ncnn_int(l, 2, 0), ncnn_int(l, 3, 0), ncnn_int(l, 0, 0),
                            ncnn_int(l, 1, 0), ncnn_int(l, 7, 0), ncnn_int(l, 8, 0)};
    return ncnn_add_ints(m, l, "pads", pads, 6);
}

static ft_status interp(ncnn_model *m, ncnn_layer *l) {
    const double scales[] = {ncnn_float(l, 1, 1), ncnn_float(l, 2, 1)};
    const int64_t sizes[] = {ncnn_int(l, 3, 0), ncnn_int(l, 4, 0)};
    FT_TRY(ncnn_add_ints(m, l, "sizes", sizes, 2));
    return graph_attr_floats(m->graph, &l->attrs[l->attr_count++], "scales", scales, 2, m->error);
}

static ft_status shuffle(ncnn_model *m, ncnn_layer *l) {
    return ncnn_add_int(m, l, "blocksize", ncnn_int(l, 0, 1));
}

static ft_status tile(ncnn_model *m, ncnn_layer *l) {
    FT_TRY(add_list(m, l, 2, "repeats"));
    FT_TRY(ncnn_add_int(m, l, "tiles", ncnn_int(l, 1, 1)));
    return add_axis(m, l, 0);
}

static ft_status cast(ncnn_model *m, ncnn_layer *l) {
    static const uint8_t onnx[] = {0, 1, 10, 3, 16}; /* none, float32, float16, int8, bfloat16 */
    int64_t type = ncnn_int(l, 1, 0);
    return type > 0 && type < 5 ? ncnn_add_int(m, l, "to", onnx[type]) : FT_OK;
}

/* --- The table --------------------------------------------------------------------------------------------------- */

typedef ft_status translate(ncnn_model *m, ncnn_layer *l);

typedef struct layer_row {
    const char *type;
    translate *translate;
} layer_row;

/* Layers without parameters that matter have no row. */
static const layer_row rows[] = {
    {"Convolution", ncnn_convolution},
    {"ConvolutionDepthWise", ncnn_convolution},
    {"Convolution1D", ncnn_convolution},
    {"ConvolutionDepthWise1D", ncnn_convolution},
    {"Convolution3D", ncnn_convolution},
    {"ConvolutionDepthWise3D", ncnn_convolution},
    {"Deconvolution", ncnn_convolution},
    {"DeconvolutionDepthWise", ncnn_convolution},
    {"Deconvolution1D", ncnn_convolution},
    {"DeconvolutionDepthWise1D", ncnn_convolution},
    {"Deconvolution3D", ncnn_convolution},
    {"DeconvolutionDepthWise3D", ncnn_convolution},
    {"InnerProduct", ncnn_inner_product},
    {"Gemm", ncnn_gemm},
    {"MatMul", ncnn_gemm},
    {"Embed", ncnn_embed},
    {"BatchNorm", ncnn_norm},
    {"InstanceNorm", ncnn_norm},
    {"GroupNorm", ncnn_norm},
    {"LayerNorm", ncnn_norm},
    {"RMSNorm", ncnn_norm},
    {"Normalize", ncnn_norm},
    {"MVN", ncnn_norm},
    {"Scale", ncnn_scale},
    {"Bias", ncnn_scale},
    {"PReLU", ncnn_scale},
    {"LSTM", ncnn_recurrent},
    {"GRU", ncnn_recurrent},
    {"RNN", ncnn_recurrent},
    {"MultiHeadAttention", ncnn_attention},
    {"UnaryOp", unary},
    {"Eltwise", eltwise},
    {"ReLU", relu},
    {"Reduction", reduction},
    {"Pooling", pooling},
    {"Pooling1D", pooling},
    {"Pooling3D", pooling},
    {"Concat", concat},
    {"Softmax", concat},
    {"Slice", slice},
    {"Reshape", reshape},
    {"Squeeze", dims},
    {"ExpandDims", dims},
    {"Permute", permute},
    {"Crop", crop},
    {"Padding", padding},
    {"Interp", interp},
    {"PixelShuffle", shuffle},
    {"Reorg", shuffle},
    {"Tile", tile},
    {"Cast", cast},
};

ft_status ncnn_add_layer(ncnn_model *m, ncnn_layer *l) {
    l->def = l->has_text ? NULL : opdef_find(FT_FORMAT_NCNN, l->type);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0] && !l->has_text; i++) {
        if (strcmp(rows[i].type, l->type) != 0) continue;
        FT_TRY(rows[i].translate(m, l));
        if (rows[i].translate == ncnn_attention) return FT_OK;
    }
    if (l->def == NULL) l->def = ft_opdef_unknown();
    return ncnn_add_op(m, l, "");
}
