/* shape_windows.c - shape rules of sliding windows: convolutions and pools. */
#include <string.h>

#include "base/num.h"
#include "graph/geometry.h"
#include "graph/shape.h"

typedef struct window {
    int64_t in, kernel, stride, dilation;
} window;

/* Padding of the input. */
typedef struct padding {
    bool is_same, has_ceil_mode; /* SAME padding; ceil_mode: the last window may exceed the input */
    const int64_t *pads;         /* [begins..., ends...], or NULL */
    uint32_t pad_count;
} padding;

static padding padding_of(const infer *in) {
    const char *mode = op_attr_string(in->op, "auto_pad", "");
    padding b = {.is_same = strncmp(mode, "SAME", 4) == 0, .has_ceil_mode = op_attr_int(in->op, "ceil_mode", 0) != 0};
    if (strcmp(mode, "VALID") != 0) b.pads = op_attr_ints(in->op, "pads", &b.pad_count);
    return b;
}

/* Positions of window `i` along its axis. False when it does not fit. */
static bool window_count(const padding *b, const window *w, int32_t i, int32_t spatial, int64_t *count) {
    assert(w->kernel > 0 && w->stride > 0 && w->dilation > 0);
    int64_t extent, begin = 0, end = 0;
    if (!num_mul_i64(w->kernel - 1, w->dilation, &extent)) return false;
    extent += 1;
    if (b->is_same) {
        *count = (int64_t)num_div_up((uint64_t)w->in, (uint64_t)w->stride);
        return true;
    }
    if (b->pad_count != 0) {
        if (b->pad_count != 2 * (uint32_t)spatial) return false;
        begin = b->pads[i], end = b->pads[spatial + i];
        if (begin < -FT_MAX_DIM || begin > FT_MAX_DIM || end < -FT_MAX_DIM || end > FT_MAX_DIM) return false;
    }
    int64_t room = w->in + begin + end - extent;
    if (room < 0) return false;
    *count = room / w->stride + 1;
    if (b->has_ceil_mode && room % w->stride != 0) {
        /* A window may exceed the end, but must begin before it. */
        if (*count * w->stride < w->in + begin) *count += 1;
    }
    return true;
}

static int32_t channel_axis(const infer *in, int32_t rank) {
    return op_is_nhwc(in->graph, in->op) ? rank - 1 : 1;
}

static int32_t spatial_axis(const infer *in) {
    return op_is_nhwc(in->graph, in->op) ? 1 : 2;
}

ft_status shape_conv(infer *in) {
    const ft_opdef *def = in->op->def;
    const ft_tensor *x = input_known(in, def->x), *weight = input_known(in, def->w != 0 ? def->w : 1);
    conv_geometry g;
    if (x == NULL || weight == NULL) return FT_OK;
    if (!conv_geometry_of(in->graph, in->op, &g)) return shape_fail_mismatch(in, x, weight);
    ft_tensor y = *x;
    const padding b = padding_of(in);
    y.dims[channel_axis(in, x->rank)] = g.cout;
    for (int32_t i = 0; i < g.spatial; i++) {
        window w = {g.in[i], g.kernel[i], g.stride[i], g.dilation[i]};
        if (!window_count(&b, &w, i, g.spatial, &y.dims[spatial_axis(in) + i]))
            return shape_fail_mismatch(in, x, weight);
    }
    return shape_set(in, 0, shape_product_type(in, x), y.dims, y.rank);
}

/* One dimension of a transposed convolution. */
static bool transposed_size(const infer *in, const conv_geometry *g, int32_t i, int64_t *size) {
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

/* The output shape is an input in TFLite, and may be an attribute in ONNX. */
ft_status shape_conv_transpose(infer *in) {
    const ft_opdef *def = in->op->def;
    const ft_tensor *x = input_known(in, def->x), *weight = input_known(in, def->w != 0 ? def->w : 1);
    conv_geometry g;
    const int64_t *shape;
    int64_t count;
    if (x == NULL || weight == NULL) return FT_OK;
    if (def->x != 0 && input_ints(in, 0, &shape, &count) && count == x->rank)
        return shape_set(in, 0, x->dtype, shape, (int32_t)count);
    if (!conv_geometry_of(in->graph, in->op, &g)) return shape_fail_mismatch(in, x, weight);
    ft_tensor y = *x;
    y.dims[channel_axis(in, x->rank)] = g.cout;
    uint32_t given;
    const int64_t *sizes = op_attr_ints(in->op, "output_shape", &given);
    for (int32_t i = 0; i < g.spatial; i++) {
        int64_t *size = &y.dims[spatial_axis(in) + i];
        if (given >= (uint32_t)g.spatial)
            *size = sizes[given - (uint32_t)g.spatial + (uint32_t)i];
        else if (!transposed_size(in, &g, i, size))
            return shape_fail_mismatch(in, x, weight);
    }
    return shape_set(in, 0, x->dtype, y.dims, y.rank);
}

ft_status shape_pool(infer *in) {
    const ft_tensor *x = input_known(in, 0);
    uint32_t kernels, strides, dilations;
    const int64_t *kernel = op_attr_ints(in->op, "kernel_shape", &kernels);
    const int64_t *stride = op_attr_ints(in->op, "strides", &strides);
    const int64_t *dilation = op_attr_ints(in->op, "dilations", &dilations);
    if (x == NULL) return FT_OK;
    int32_t spatial = x->rank - 2;
    if (spatial < 1 || kernels != (uint32_t)spatial || (strides != 0 && strides != kernels) ||
        (dilations != 0 && dilations != kernels))
        return shape_fail(in, "the window does not match an input of rank %d", x->rank);
    ft_tensor y = *x;
    const padding b = padding_of(in);
    for (int32_t i = 0; i < spatial; i++) {
        window w = {x->dims[spatial_axis(in) + i], kernel[i], strides != 0 ? stride[i] : 1,
                    dilations != 0 ? dilation[i] : 1};
        if (w.kernel < 1 || w.stride < 1 || w.dilation < 1 || w.kernel > FT_MAX_DIM || w.dilation > FT_MAX_DIM ||
            !window_count(&b, &w, i, spatial, &y.dims[spatial_axis(in) + i]))
            return shape_fail_mismatch(in, x, NULL);
    }
    FT_TRY(shape_set_like(in, 0, &y));
    return shape_set(in, 1, FT_INT64, y.dims, y.rank);
}

ft_status shape_max_unpool(infer *in) {
    const ft_tensor *x = input_known(in, 0);
    const int64_t *shape;
    int64_t count;
    if (x != NULL && input_ints(in, 2, &shape, &count) && count == x->rank)
        return shape_set(in, 0, x->dtype, shape, x->rank);
    uint32_t kernels, strides;
    const int64_t *kernel = op_attr_ints(in->op, "kernel_shape", &kernels);
    const int64_t *stride = op_attr_ints(in->op, "strides", &strides);
    if (x == NULL || input_at(in, 2) != NULL || (int32_t)kernels != x->rank - 2) return FT_OK;
    ft_tensor y = *x;
    for (uint32_t i = 0; i < kernels; i++) {
        int64_t step = i < strides ? stride[i] : 1, size;
        if (!num_mul_i64(x->dims[2 + i] - 1, step, &size) || !num_add_i64(size, kernel[i], &y.dims[2 + i]))
            return shape_fail_mismatch(in, x, NULL);
    }
    return shape_set_like(in, 0, &y);
}

ft_status shape_global_pool(infer *in) {
    const ft_tensor *x = input_known(in, 0);
    if (x == NULL) return FT_OK;
    ft_tensor y = *x;
    for (int32_t i = 1; i < x->rank; i++) {
        if (i != channel_axis(in, x->rank)) y.dims[i] = 1;
    }
    return shape_set_like(in, 0, &y);
}
