/* lower_conv.c - lowering of convolutions and matrix products. */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "graph/geometry.h"
#include "graph/opdef.h"
#include "npu/lower.h"

static void set_weights(npu_lowering *l, const ft_op *op, npu_pass *p, npu_coding coding, int64_t elems,
                        const ft_tensor *x) {
    enum { DEFAULT_REACH = 2, STEPS_PER_OCTAVE = 4, CODE_BITS = 7 };
    int64_t scales = op_attr_int(op, "weight_scales", 0), depth = p->ofm_shape.c;
    double fan_in = depth > 0 && elems > depth ? (double)elems / (double)depth : 1;
    double level = (double)op_attr_int(op, "weight_scale_level", 0) / STEPS_PER_OCTAVE;
    p->has_weights = true;
    p->coding = coding;
    p->weights = elems;
    p->bias_bytes = npu_bytes_of(l, x) == 2 ? 8 : 4;
    p->is_per_channel = scales != 1;
    p->reach = scales > 0 ? level + CODE_BITS + log2(fan_in) / 2 : DEFAULT_REACH;
    p->live = (double)op_attr_int(op, "weight_live_percent", 100) / 100;
}

/* The hardware dilates by at most two: kernels of a larger dilation are stored with zeros in between. */
static void set_kernel(npu_pass *p, const conv_geometry *g) {
    assert(g->spatial == 1 || g->spatial == 2); /* npu_check_conv */
    int32_t last = g->spatial - 1;
    int64_t kernel[2] = {g->spatial > 1 ? g->kernel[last - 1] : 1, g->kernel[last]};
    int64_t dilation[2] = {g->spatial > 1 ? g->dilation[last - 1] : 1, g->dilation[last]};
    for (int i = 0; i < 2; i++) {
        if (kernel[i] == 1) dilation[i] = 1;
        if (dilation[i] <= 2) continue;
        int64_t kept = dilation[i] % 2 == 0 ? 2 : 1;
        kernel[i] = (kernel[i] - 1) * (dilation[i] / kept) + 1;
        dilation[i] = kept;
    }
    p->kernel_h = (int32_t)kernel[0];
    p->kernel_w = (int32_t)kernel[1];
    p->dilation_y = (int32_t)dilation[0];
    p->dilation_x = (int32_t)dilation[1];
    p->stride_y = (int32_t)(g->spatial > 1 ? g->stride[last - 1] : 1);
    p->stride_x = (int32_t)g->stride[last];
}

static int64_t total_padding(int64_t size, int64_t stride, int64_t kernel) {
    int64_t padding = kernel - (size % stride == 0 ? stride : size % stride);
    return padding > 0 ? padding : 0;
}

/* The first convolution of a network reads few channels: the columns of one stride are folded into channels. */
static void fold_stride(npu_pass *p, const ft_op *op) {
    int64_t factor = p->stride_x, width = p->ifm_shape.w, kernel = p->kernel_w;
    bool is_same = npu_has_same_padding(op);
    if (factor <= 1 || p->dilation_x > 1 || width % factor != 0) return;
    if (p->ifm_shape.c * factor > 8 && factor <= 3) return;
    int64_t added = 0, padding = total_padding(width, factor, kernel);
    if (is_same) added = (padding + 1) * factor - kernel;
    if (kernel % factor != 0 && (added == 0 || padding == 0)) added = factor - kernel % factor;
    if (added < 0) return;
    if (is_same && total_padding(width / factor, 1, (kernel + 1 + added) / factor) != padding) return;
    p->ifm_shape.w = p->read.w = width / factor;
    p->ifm_shape.c = p->read.c = p->ifm_shape.c * factor;
    p->kernel_w = (int32_t)((kernel + added) / factor);
    p->stride_x = 1;
    p->weights = (int64_t)p->kernel_w * p->kernel_h * p->ifm_shape.c * p->ofm_shape.c;
}

void npu_lower_conv(npu_lowering *l, const ft_op *op) {
    conv_geometry g;
    if (!conv_geometry_of(l->graph, op, &g)) return;
    bool is_transposed = op->def->cost == COST_CONV_TRANSPOSE;
    bool is_depthwise = g.is_depthwise && g.cout == g.cin && !(g.cin == 1 && g.cout == 1 && g.groups == 1);
    if (op->def->layout == WEIGHT_1HWO && g.cin == 1 && g.cout > 1) is_depthwise = false;
    npu_view in = npu_input_view(l, op, op->def->x);
    uint32_t out = npu_output(l, op, 0);
    npu_pass *p = npu_add_pass(l, is_depthwise ? BLOCK_DEPTHWISE : BLOCK_CONV, MATH_OTHER);
    npu_set_ifm(p, in);
    if (g.groups > 1 && !is_depthwise) p->ifm_shape.c = p->read.c = g.cin / g.groups;
    npu_set_ofm(l, p, out, npu_shape_of(l, op_output(l->graph, op, 0)));
    set_kernel(p, &g);
    set_weights(l, op, p, is_depthwise ? CODING_DEPTHWISE : CODING_CONV,
                g.kernel_elems * (is_depthwise ? 1 : g.cin / g.groups) * g.cout, g.x);
    p->activation = npu_activation_of(op);
    p->has_table = p->activation == ACTIVATION_TABLE;
    p->table_bytes = 256;
    if (is_transposed) {
        p->is_transposed_conv = true;
        if (p->stride_x > 1 || p->stride_y > 1) p->upscale = UPSCALE_ZEROS;
        p->stride_x = p->stride_y = 1;
        return;
    }
    if (is_depthwise) return;
    bool is_vector = p->ifm_shape.h == 1 && p->ifm_shape.w == 1 && p->kernel_w == 1 && p->kernel_h == 1;
    if (is_vector) {
        p->block = BLOCK_VECTOR;
        p->coding = CODING_VECTOR;
        p->stride_x = p->stride_y = 1;
    } else if (l->op == l->first_op || p->stride_x > 3) {
        fold_stride(p, op);
        if (p->ofm_shape.h == 1) p->stride_y = 1;
        if (p->ofm_shape.w == 1) p->stride_x = 1;
    }
}

/* Rows of a matrix product as height and width, as Vela chooses them. */
static void spread_rows(int64_t rows, npu_shape *shape) {
    shape->n = 1;
    shape->h = rows == 4 || rows == 8 ? 2 : rows == 16 ? 4 : 1;
    shape->w = rows / shape->h;
}

void npu_lower_dense(npu_lowering *l, const ft_op *op) {
    matmul_geometry g;
    if (!matmul_geometry_of(l->graph, op, &g)) return;
    npu_view in = npu_input_view(l, op, op->def->x);
    uint32_t out = npu_output(l, op, 0);
    npu_pass *p = npu_add_pass(l, BLOCK_VECTOR, MATH_OTHER);
    npu_set_ifm(p, in);
    int64_t rows = npu_elems(in.shape) / (int64_t)g.k;
    npu_shape ifm = {1, 1, 1, (int64_t)g.k}, ofm = {1, 1, 1, (int64_t)g.n};
    if (rows > 1) {
        spread_rows(rows, &ifm);
        spread_rows(rows, &ofm);
    }
    if (!in.is_slice) p->ifm_shape = ifm;
    p->read = ifm;
    npu_set_ofm(l, p, out, ofm);
    set_weights(l, op, p, CODING_VECTOR, (int64_t)(g.k * g.n), g.a);
    p->activation = npu_activation_of(op);
    p->has_table = p->activation == ACTIVATION_TABLE;
    p->table_bytes = 256;
}
