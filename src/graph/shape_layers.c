/* shape_layers.c - convolutions, pools, products, norms, recurrent layers, attention, resampling. */
#include <math.h>
#include <string.h>

#include "base/num.h"
#include "graph/product.h"
#include "graph/shape.h"

/* --- Windows that slide over a map --------------------------------------------------------------------------- */

typedef struct window {
    int64_t in, kernel, stride, dilation;
} window;

/* Positions of window `i` along its axis; pads are [begins..., ends...]. False when it does not fit. */
static bool window_count(const infer *in, const window *w, int32_t i, int32_t spatial, int64_t *count) {
    const char *mode = op_attr_string(in->op, "auto_pad", "NOTSET");
    int64_t extent, begin = 0, end = 0;
    if (!num_mul_i64(w->kernel - 1, w->dilation, &extent)) return false;
    extent += 1;
    if (strncmp(mode, "SAME", 4) == 0) {
        *count = (int64_t)num_div_up((uint64_t)w->in, (uint64_t)w->stride);
        return true;
    }
    if (strcmp(mode, "VALID") != 0) {
        uint32_t pads;
        const int64_t *pad = op_attr_ints(in->op, "pads", &pads);
        if (pads != 0 && pads != 2 * (uint32_t)spatial) return false;
        if (pads != 0) begin = pad[i], end = pad[spatial + i];
        if (begin < -FT_MAX_DIM || begin > FT_MAX_DIM || end < -FT_MAX_DIM || end > FT_MAX_DIM) return false;
    }
    int64_t room = w->in + begin + end - extent;
    if (room < 0) return false;
    *count = room / w->stride + 1;
    if (op_attr_int(in->op, "ceil_mode", 0) != 0 && room % w->stride != 0) {
        /* A window may hang over the end, but must begin before it. */
        if (*count * w->stride < w->in + begin) *count += 1;
    }
    return true;
}

static int32_t channel_at(const infer *in, int32_t rank) {
    return in->graph->layout == FT_NCHW ? 1 : rank - 1;
}

static int32_t map_at(const infer *in) {
    return in->graph->layout == FT_NCHW ? 2 : 1;
}

static ft_status does_not_fit(const infer *in, const ft_tensor *x, const ft_tensor *weight) {
    char a[128], b[128];
    shape_text(in->graph, x, a, sizeof a);
    if (weight == NULL) return shape_bad(in, "its window does not fit the input %s", a);
    return shape_bad(in, "weights %s do not fit the input %s", shape_text(in->graph, weight, b, sizeof b), a);
}

/* A product of integers is accumulated in 32 bits; the quantised operators say in their zero point what comes out. */
static ft_dtype product_type(const infer *in, const ft_tensor *x) {
    if (strstr(in->op->type, "Integer") != NULL && strstr(in->op->type, "Float") == NULL) return FT_INT32;
    if (strcmp(in->op->type, "DynamicQuantizeMatMul") == 0 || strcmp(in->op->type, "MatMulIntegerToFloat") == 0)
        return FT_FLOAT32;
    return x->dtype;
}

ft_status shape_conv(infer *in) {
    const ft_opdef *def = in->op->def;
    const ft_tensor *x = in_known(in, def->x), *weight = in_known(in, def->w != 0 ? def->w : 1);
    conv_geometry g;
    if (x == NULL || weight == NULL) return FT_OK;
    if (!conv_geometry_of(in->graph, in->op, &g)) return does_not_fit(in, x, weight);
    ft_tensor y = *x;
    y.dims[channel_at(in, x->rank)] = g.cout;
    for (int32_t i = 0; i < g.spatial; i++) {
        window w = {g.in[i], g.kernel[i], g.stride[i], g.dilation[i]};
        if (!window_count(in, &w, i, g.spatial, &y.dims[map_at(in) + i])) return does_not_fit(in, x, weight);
    }
    return out_set(in, 0, product_type(in, x), y.dims, y.rank);
}

/* One dimension of a transposed convolution. */
static bool spread(const infer *in, const conv_geometry *g, int32_t i, int64_t *size) {
    uint32_t pads, extras;
    const int64_t *pad = op_attr_ints(in->op, "pads", &pads);
    const int64_t *extra = op_attr_ints(in->op, "output_padding", &extras);
    if (strncmp(op_attr_string(in->op, "auto_pad", "NOTSET"), "SAME", 4) == 0)
        return num_mul_i64(g->in[i], g->stride[i], size);
    int64_t extent;
    if (!num_mul_i64(g->in[i] - 1, g->stride[i], size) || !num_mul_i64(g->kernel[i] - 1, g->dilation[i], &extent))
        return false;
    if (pads != 0 && pads != 2 * (uint32_t)g->spatial) return false;
    int64_t begin = pads != 0 ? pad[i] : 0, end = pads != 0 ? pad[g->spatial + i] : 0;
    int64_t tail = (uint32_t)i < extras ? extra[i] : 0;
    return num_add_i64(*size, extent + 1, size) && num_add_i64(*size, tail, size) &&
           !__builtin_sub_overflow(*size, begin, size) && !__builtin_sub_overflow(*size, end, size) && *size > 0;
}

/* TFLite hands the output's shape in as an input; ONNX may as an attribute. */
ft_status shape_conv_transpose(infer *in) {
    const ft_opdef *def = in->op->def;
    const ft_tensor *x = in_known(in, def->x), *weight = in_known(in, def->w != 0 ? def->w : 1);
    conv_geometry g;
    const int64_t *shape;
    int64_t count;
    if (x == NULL || weight == NULL) return FT_OK;
    if (def->x != 0 && in_ints(in, 0, &shape, &count) && count == x->rank)
        return out_set(in, 0, x->dtype, shape, (int32_t)count);
    if (!conv_geometry_of(in->graph, in->op, &g)) return does_not_fit(in, x, weight);
    ft_tensor y = *x;
    y.dims[channel_at(in, x->rank)] = g.cout;
    uint32_t given;
    const int64_t *sizes = op_attr_ints(in->op, "output_shape", &given);
    for (int32_t i = 0; i < g.spatial; i++) {
        int64_t *size = &y.dims[map_at(in) + i];
        if (given >= (uint32_t)g.spatial)
            *size = sizes[given - (uint32_t)g.spatial + (uint32_t)i];
        else if (!spread(in, &g, i, size))
            return does_not_fit(in, x, weight);
    }
    return out_set(in, 0, x->dtype, y.dims, y.rank);
}

ft_status shape_pool(infer *in) {
    const ft_tensor *x = in_known(in, 0);
    uint32_t kernels, strides, dilations;
    const int64_t *kernel = op_attr_ints(in->op, "kernel_shape", &kernels);
    const int64_t *stride = op_attr_ints(in->op, "strides", &strides);
    const int64_t *dilation = op_attr_ints(in->op, "dilations", &dilations);
    if (x == NULL) return FT_OK;
    int32_t spatial = x->rank - 2;
    if (spatial < 1 || kernels != (uint32_t)spatial || (strides != 0 && strides != kernels) ||
        (dilations != 0 && dilations != kernels))
        return shape_bad(in, "its window does not match an input of rank %d", x->rank);
    ft_tensor y = *x;
    for (int32_t i = 0; i < spatial; i++) {
        window w = {x->dims[map_at(in) + i], kernel[i], strides != 0 ? stride[i] : 1, dilations != 0 ? dilation[i] : 1};
        if (w.kernel < 1 || w.stride < 1 || w.dilation < 1 || w.kernel > FT_MAX_DIM || w.dilation > FT_MAX_DIM ||
            !window_count(in, &w, i, spatial, &y.dims[map_at(in) + i]))
            return does_not_fit(in, x, NULL);
    }
    FT_TRY(out_like(in, 0, &y));
    return out_set(in, 1, FT_INT64, y.dims, y.rank);
}

ft_status shape_max_unpool(infer *in) {
    const ft_tensor *x = in_known(in, 0);
    const int64_t *shape;
    int64_t count;
    if (x != NULL && in_ints(in, 2, &shape, &count) && count == x->rank)
        return out_set(in, 0, x->dtype, shape, x->rank);
    uint32_t kernels, strides;
    const int64_t *kernel = op_attr_ints(in->op, "kernel_shape", &kernels);
    const int64_t *stride = op_attr_ints(in->op, "strides", &strides);
    if (x == NULL || in_at(in, 2) != NULL || (int32_t)kernels != x->rank - 2) return FT_OK;
    ft_tensor y = *x;
    for (uint32_t i = 0; i < kernels; i++) {
        int64_t step = i < strides ? stride[i] : 1, size;
        if (!num_mul_i64(x->dims[2 + i] - 1, step, &size) || !num_add_i64(size, kernel[i], &y.dims[2 + i]))
            return does_not_fit(in, x, NULL);
    }
    return out_like(in, 0, &y);
}

ft_status shape_global_pool(infer *in) {
    const ft_tensor *x = in_known(in, 0);
    if (x == NULL) return FT_OK;
    ft_tensor y = *x;
    bool is_last = op_attr_int(in->op, "channels_last", 0) != 0;
    for (int32_t i = 1; i < x->rank; i++) {
        if (i != (is_last ? x->rank - 1 : channel_at(in, x->rank))) y.dims[i] = 1;
    }
    return out_like(in, 0, &y);
}

/* --- Products ------------------------------------------------------------------------------------------------ */

static bool is_set(const ft_op *op, const char *a, const char *b, const char *c) {
    return op_attr_int(op, a, 0) != 0 || op_attr_int(op, b, 0) != 0 || op_attr_int(op, c, 0) != 0;
}

/* The matrices in the last two dimensions, everything before them broadcast; a vector is a row or a column that the
 * result does not keep. Gemm, BATCH_MATMUL and the fused forms may transpose. */
ft_status shape_matmul(infer *in) {
    const ft_tensor *a = in_known(in, 0), *b = in_known(in, in->op->def->w != 0 ? in->op->def->w : 1);
    if (a == NULL) return FT_OK;
    int64_t packed = op_attr_int(in->op, "N", 0); /* MatMulNBits packs its weights in blocks */
    if (packed > 0 && a->rank > 0) {
        ft_tensor y = *a;
        y.dims[y.rank - 1] = packed;
        return out_like(in, 0, &y);
    }
    if (b == NULL) return FT_OK;
    if (a->rank < 1 || b->rank < 1) return does_not_fit(in, a, b);
    ft_tensor left = *a, right = *b, y;
    bool drops_row = a->rank == 1, drops_column = b->rank == 1;
    if (drops_row) left = (ft_tensor){.rank = 2, .dims = {1, a->dims[0]}};
    if (drops_column) right = (ft_tensor){.rank = 2, .dims = {b->dims[0], 1}};
    int64_t m = left.dims[left.rank - 2], k = left.dims[left.rank - 1];
    int64_t k2 = right.dims[right.rank - 2], n = right.dims[right.rank - 1], swap;
    if (is_set(in->op, "transA", "adj_x", "transpose_a")) swap = m, m = k, k = swap;
    if (is_set(in->op, "transB", "adj_y", "transpose_b")) swap = k2, k2 = n, n = swap;
    if (k != k2) return does_not_fit(in, a, b);
    left.rank -= 2;
    right.rank -= 2;
    if (!broadcast_dims(&left, &right, y.dims, &y.rank)) return does_not_fit(in, a, b);
    if (y.rank + 2 > FT_MAX_RANK) return out_set(in, 0, a->dtype, y.dims, FT_MAX_RANK + 1);
    if (!drops_row) y.dims[y.rank++] = m;
    if (!drops_column) y.dims[y.rank++] = n;
    return out_set(in, 0, product_type(in, a), y.dims, y.rank);
}

/* Weights are [out, in]. The input is flattened to rows unless the operator keeps its dimensions. */
ft_status shape_fully_connected(infer *in) {
    const ft_tensor *x = in_known(in, 0), *weight = in_known(in, 1);
    if (x == NULL || weight == NULL) return FT_OK;
    if (weight->rank != 2 || weight->dims[1] == 0) return does_not_fit(in, x, weight);
    int64_t elems = shape_elems(x->dims, x->rank), out = weight->dims[0], width = weight->dims[1];
    if (elems % width != 0) return does_not_fit(in, x, weight);
    if (op_attr_int(in->op, "keep_num_dims", 0) == 0 || x->rank < 1) {
        int64_t dims[2] = {elems / width, out};
        return out_set(in, 0, x->dtype, dims, 2);
    }
    ft_tensor y = *x;
    if (y.dims[y.rank - 1] != width) return does_not_fit(in, x, weight);
    y.dims[y.rank - 1] = out;
    return out_like(in, 0, &y);
}

/* --- Einsum -------------------------------------------------------------------------------------------------- */

typedef struct einsum {
    int64_t size[256];             /* by label, 0 = not seen */
    int64_t ellipsis[FT_MAX_RANK]; /* what "..." stands for */
    int32_t ellipsis_rank;
    int seen[256];
} einsum;

/* Reads the labels of one operand, without blanks. False when they do not fit its shape. */
static bool einsum_operand(einsum *e, const char *labels, size_t length, const ft_tensor *t) {
    int32_t letters = 0, axis = 0;
    for (size_t i = 0; i < length; i++) letters += labels[i] != '.' && labels[i] != ' ';
    for (size_t i = 0; i < length; i++) {
        unsigned char label = (unsigned char)labels[i];
        if (label == ' ') continue;
        if (label == '.') {
            int32_t rank = t->rank - letters;
            if (rank < 0 || i + 2 >= length) return false;
            for (int32_t k = 0; k < rank; k++) {
                int64_t *dim = &e->ellipsis[FT_MAX_RANK - rank + k];
                if (t->dims[axis + k] > *dim) *dim = t->dims[axis + k];
            }
            if (rank > e->ellipsis_rank) e->ellipsis_rank = rank;
            axis += rank;
            i += 2;
            continue;
        }
        if (axis >= t->rank) return false;
        int64_t dim = t->dims[axis++];
        if (e->size[label] > 1 && dim != 1 && dim != e->size[label]) return false;
        if (dim > e->size[label]) e->size[label] = dim;
        e->seen[label]++;
    }
    return axis == t->rank;
}

/* The labels after "->", or, when there is none, those that occur once, in alphabetical order. */
static bool einsum_result(const einsum *e, const char *arrow, int64_t dims[FT_MAX_RANK], int32_t *rank) {
    char implicit[260];
    size_t length = 0;
    if (arrow == NULL) {
        if (e->ellipsis_rank > 0) length = 3, memcpy(implicit, "...", 3);
        for (int label = 'A'; label <= 'z'; label++) {
            if (e->seen[label] == 1) implicit[length++] = (char)label;
        }
        implicit[length] = '\0';
    }
    const char *labels = arrow != NULL ? arrow + 2 : implicit;
    for (*rank = 0; *labels != '\0'; labels++) {
        if (*labels == ' ') continue;
        if (strncmp(labels, "...", 3) == 0) {
            for (int32_t k = 0; k < e->ellipsis_rank; k++) {
                if (*rank >= FT_MAX_RANK) return false;
                dims[(*rank)++] = e->ellipsis[FT_MAX_RANK - e->ellipsis_rank + k];
            }
            labels += 2;
            continue;
        }
        unsigned char label = (unsigned char)*labels;
        if (*rank >= FT_MAX_RANK || e->seen[label] == 0) return false;
        dims[(*rank)++] = e->size[label];
    }
    return true;
}

ft_status shape_einsum(infer *in) {
    const char *equation = op_attr_string(in->op, "equation", ""), *arrow = strstr(equation, "->"), *at = equation;
    einsum e = {.ellipsis_rank = 0};
    if (equation[0] == '\0') return FT_OK;
    for (uint32_t i = 0; i < in->op->input_count; i++) {
        const ft_tensor *t = in_known(in, i);
        if (t == NULL) return FT_OK;
        size_t length = strcspn(at, ",-");
        if (!einsum_operand(&e, at, length, t)) return shape_bad(in, "input %u does not fit '%s'", i, equation);
        at += length;
        if (*at == ',') at++;
    }
    int64_t dims[FT_MAX_RANK];
    int32_t rank;
    if (!einsum_result(&e, arrow, dims, &rank)) return shape_bad(in, "cannot make sense of '%s'", equation);
    return in->op->input_count > 0 ? out_set(in, 0, in_at(in, 0)->dtype, dims, rank) : FT_OK;
}

/* --- Norms --------------------------------------------------------------------------------------------------- */

/* The other outputs, when a file has them, are the statistics. */
ft_status shape_batch_norm(infer *in) {
    const ft_tensor *x = in_known(in, 0), *scale = in_known(in, 1);
    if (x == NULL) return FT_OK;
    FT_TRY(out_like(in, 0, x));
    for (uint32_t i = 1; scale != NULL && i < in->op->output_count; i++) FT_TRY(out_like(in, i, scale));
    return FT_OK;
}

/* Mean and inverse deviation keep their axes with size 1. */
ft_status shape_layer_norm(infer *in) {
    const ft_tensor *x = in_known(in, 0);
    int32_t axis;
    if (x == NULL) return FT_OK;
    FT_TRY(out_like(in, 0, x));
    if (!axis_normal(op_attr_int(in->op, "axis", -1), x->rank, &axis)) return shape_bad(in, "its axis is out of range");
    ft_tensor stats = *x;
    for (int32_t i = axis; i < x->rank; i++) stats.dims[i] = 1;
    for (uint32_t i = 1; i < in->op->output_count && i < 3; i++)
        FT_TRY(out_set(in, i, FT_FLOAT32, stats.dims, stats.rank));
    return FT_OK;
}

/* --- Losses -------------------------------------------------------------------------------------------------- */

/* (scores, labels): one number, or one for each label; beside it, maybe, the scores as log-probabilities. */
ft_status shape_loss(infer *in) {
    const ft_tensor *scores = in_known(in, 0), *labels = in_known(in, 1);
    if (scores == NULL || labels == NULL) return FT_OK;
    bool is_each = strcmp(op_attr_string(in->op, "reduction", "mean"), "none") == 0;
    FT_TRY(out_set(in, 0, scores->dtype, labels->dims, is_each ? labels->rank : 0));
    return out_like(in, 1, scores);
}

/* The determinant of the matrices in the last two dimensions. */
ft_status shape_det(infer *in) {
    const ft_tensor *x = in_known(in, 0);
    if (x == NULL || x->rank < 2) return FT_OK;
    return out_set(in, 0, x->dtype, x->dims, x->rank - 2);
}

/* --- Sequences ----------------------------------------------------------------------------------------------- */

/* x [steps, batch, in] and recurrent weights [directions, gates * hidden, hidden]; layout 1 has the batch first. */
ft_status shape_recurrent(infer *in) {
    const ft_tensor *x = in_known(in, 0), *r = in_known(in, 2);
    if (x == NULL || r == NULL) return FT_OK;
    if (x->rank != 3 || r->rank != 3) return does_not_fit(in, x, r);
    bool is_batch_first = op_attr_int(in->op, "layout", 0) != 0;
    int64_t steps = x->dims[is_batch_first ? 1 : 0], batch = x->dims[is_batch_first ? 0 : 1];
    int64_t directions = r->dims[0], hidden = r->dims[2];
    int64_t all[2][4] = {{steps, directions, batch, hidden}, {batch, steps, directions, hidden}};
    int64_t last[2][3] = {{directions, batch, hidden}, {batch, directions, hidden}};
    FT_TRY(out_set(in, 0, x->dtype, all[is_batch_first], 4));
    FT_TRY(out_set(in, 1, x->dtype, last[is_batch_first], 3));
    return out_set(in, 2, x->dtype, last[is_batch_first], 3);
}

/* Query first. The width of the result is that of the values; where one matrix projects all three, a third of it. */
ft_status shape_attention(infer *in) {
    const ft_tensor *query = in_known(in, 0), *second = in_known(in, 1), *values = in_known(in, 2);
    if (query == NULL || query->rank < 3) return FT_OK;
    ft_tensor y = *query;
    if (second != NULL && second->rank == 2)
        y.dims[y.rank - 1] = second->dims[1] / 3;
    else if (values != NULL && values->rank == query->rank && values->dims[0] == query->dims[0] &&
             op_attr_int(in->op, "kv_num_heads", 0) == 0)
        y.dims[y.rank - 1] = values->dims[values->rank - 1];
    return out_like(in, 0, &y);
}

/* --- Resampling ---------------------------------------------------------------------------------------------- */

/* Sizes as numbers, or factors: input 3 and 2 since opset 11, input 1 before, once an attribute. */
ft_status shape_resize(infer *in) {
    const ft_tensor *x = in_known(in, 0);
    if (x == NULL) return FT_OK;
    uint32_t scale_at = in->op->input_count == 2 ? 1 : 2, axes_count;
    const ft_tensor *scales = in_at(in, scale_at);
    const ft_attr *old = ft_op_attr(in->op, "scales");
    const int64_t *axes = op_attr_ints(in->op, "axes", &axes_count), *sizes = NULL;
    const double *factors = NULL;
    int64_t count = 0;
    if (in->op->input_count > 3 && in_ints(in, 3, &sizes, &count) && count > 0) {
        /* sizes win */
    } else if (scales != NULL && scales->value != NULL && scales->value->floats != NULL && scales->value->count > 0) {
        sizes = NULL;
        factors = scales->value->floats;
        count = scales->value->count;
    } else if (old != NULL && old->kind == FT_ATTR_FLOATS) {
        sizes = NULL;
        factors = old->floats;
        count = old->count;
    } else {
        return FT_OK;
    }
    if (count != (axes != NULL ? (int64_t)axes_count : x->rank))
        return shape_bad(in, "%lld sizes or scales for an input of rank %d", (long long)count, x->rank);
    ft_tensor y = *x;
    for (int64_t i = 0; i < count; i++) {
        int32_t axis;
        if (!axis_normal(axes != NULL ? axes[i] : i, x->rank, &axis)) return shape_bad(in, "an axis is out of range");
        double scaled = factors != NULL ? floor((double)x->dims[axis] * factors[i]) : 0;
        if (factors != NULL && !(scaled >= 0 && scaled <= (double)FT_MAX_DIM))
            return shape_bad(in, "scale %g makes no sense", factors[i]);
        y.dims[axis] = sizes != NULL ? sizes[i] : (int64_t)scaled;
    }
    return out_like(in, 0, &y);
}

/* RoiAlign(x, rois [n, 4], batch indices). */
ft_status shape_roi_align(infer *in) {
    const ft_tensor *x = in_known(in, 0), *rois = in_known(in, 1);
    if (x == NULL || rois == NULL || x->rank != 4 || rois->rank < 1) return FT_OK;
    uint32_t pooled;
    const int64_t *size = op_attr_ints(in->op, "pooled_shape", &pooled);
    int64_t high = op_attr_int(in->op, "output_height", pooled == 2 ? size[0] : 1);
    int64_t wide = op_attr_int(in->op, "output_width", pooled == 2 ? size[1] : 1);
    int64_t dims[4] = {rois->dims[0], x->dims[1], high, wide};
    return out_set(in, 0, x->dtype, dims, 4);
}

/* GridSample(x [n, c, ...], grid [n, positions..., coordinates]). */
ft_status shape_grid_sample(infer *in) {
    const ft_tensor *x = in_known(in, 0), *grid = in_known(in, 1);
    if (x == NULL || grid == NULL) return FT_OK;
    if (grid->rank != x->rank || x->rank < 3) return does_not_fit(in, x, grid);
    ft_tensor y = *x;
    for (int32_t i = 2; i < x->rank; i++) y.dims[i] = grid->dims[i - 1];
    return out_like(in, 0, &y);
}

/* --- Signal -------------------------------------------------------------------------------------------------- */

/* DFT(x [..., 1 or 2], length): complex numbers are a last dimension of 2. */
ft_status shape_dft(infer *in) {
    const ft_tensor *x = in_known(in, 0);
    int64_t place = op_attr_int(in->op, "axis", 1), length;
    int32_t axis;
    if (x == NULL || x->rank < 2 || (in_at(in, 2) != NULL && !in_size(in, 2, &place))) return FT_OK;
    if (!axis_normal(place, x->rank, &axis)) return shape_bad(in, "its axis is out of range");
    ft_tensor y = *x;
    if (in_size(in, 1, &length)) y.dims[axis] = length;
    if (op_attr_int(in->op, "onesided", 0) != 0) y.dims[axis] = y.dims[axis] / 2 + 1;
    y.dims[y.rank - 1] = 2;
    return out_like(in, 0, &y);
}

/* STFT(x [batch, length, 1], step, window, frame length). */
ft_status shape_stft(infer *in) {
    const ft_tensor *x = in_known(in, 0), *win = in_known(in, 2);
    int64_t step, length = 0;
    if (x == NULL || x->rank < 2 || !in_size(in, 1, &step) || step < 1) return FT_OK;
    if (!in_size(in, 3, &length) && win != NULL && win->rank == 1) length = win->dims[0];
    if (length < 1 || length > x->dims[1]) return FT_OK;
    int64_t frames = (x->dims[1] - length) / step + 1;
    int64_t dims[4] = {x->dims[0], frames, op_attr_int(in->op, "onesided", 1) != 0 ? length / 2 + 1 : length, 2};
    return out_set(in, 0, x->dtype, dims, 4);
}

ft_status shape_window(infer *in) {
    int64_t count;
    return in_size(in, 0, &count) ? out_set(in, 0, FT_FLOAT32, &count, 1) : FT_OK;
}
