/* lower_pool.c - lowering of pooling and of means, which are depthwise convolutions with equal weights. */
#include <assert.h>
#include <string.h>

#include "graph/geometry.h"
#include "graph/opdef.h"
#include "npu/lower.h"

void npu_lower_pool(npu_lowering *l, const ft_op *op) {
    pool_geometry g;
    if (!pool_geometry_of(l->graph, op, &g)) return;
    npu_view in = npu_input_view(l, op, 0);
    uint32_t out = npu_output(l, op, 0);
    npu_op_id id = npu_op_id_of(l, op);
    bool is_max = id == NPU_OP_MAX_POOL || id == NPU_OP_GLOBAL_MAX_POOL;
    npu_pass *p = npu_add_pass(l, BLOCK_POOL, is_max ? MATH_MAX_POOL : MATH_OTHER);
    npu_set_ifm(p, in);
    npu_set_ofm(l, p, out, npu_shape_of(l, op_output(l->graph, op, 0)));
    assert(g.spatial == 1 || g.spatial == 2); /* npu_check_pool */
    int32_t last = g.spatial - 1;
    p->kernel_w = (int32_t)g.kernel[last];
    p->kernel_h = (int32_t)(g.spatial > 1 ? g.kernel[last - 1] : 1);
    p->stride_x = (int32_t)g.stride[last];
    p->stride_y = (int32_t)(g.spatial > 1 ? g.stride[last - 1] : 1);
    if (p->kernel_w == p->stride_x && p->kernel_h == p->stride_y && p->kernel_w == in.shape.w &&
        p->kernel_h == in.shape.h)
        p->stride_x = p->stride_y = 1;
    p->activation = npu_activation_of(op);
}

/* --- Mean ---------------------------------------------------------------------------------------------------- */

void npu_reduced_axes(const npu_lowering *l, const ft_op *op, bool is_reduced[4]) {
    const ft_tensor *x = op_input(l->graph, op, 0), *axes = op_input(l->graph, op, 1);
    memset(is_reduced, 0, 4 * sizeof *is_reduced);
    if (x == NULL) return;
    if (npu_op_id_of(l, op) == NPU_OP_GLOBAL_AVERAGE_POOL) {
        is_reduced[1] = is_reduced[2] = true;
        return;
    }
    uint32_t count = 0;
    const int64_t *list = op_attr_ints(op, "axes", &count);
    if (axes != NULL && axes->value != NULL && axes->value->ints != NULL) {
        list = axes->value->ints;
        count = (uint32_t)axes->value->count;
    }
    for (uint32_t i = 0; i < count; i++) {
        int64_t at = npu_axis_index(l, x, list[i]);
        if (at >= 0 && at < 4) is_reduced[at] = true;
    }
}

/* Adds `h` rows of `w` columns up: a depthwise convolution with equal weights. */
static npu_pass *sum_rows(npu_lowering *l, npu_view in, npu_shape ifm, npu_shape read, int64_t h, int64_t w,
                          npu_shape ofm) {
    assert(h > 0 && w > 0);
    uint32_t sum = npu_add_tensor(l, ofm, 4);
    npu_pass *p = npu_add_pass(l, BLOCK_DEPTHWISE, MATH_OTHER);
    npu_set_ifm(p, in);
    p->ifm_shape = ifm;
    p->read = read;
    p->has_read_offset = true;
    npu_set_ofm(l, p, sum, ofm);
    p->kernel_h = (int32_t)h;
    p->kernel_w = (int32_t)w;
    p->has_weights = true;
    p->coding = CODING_UNIFORM;
    p->weights = h * w * ifm.c;
    p->bias_bytes = 4;
    return p;
}

void npu_lower_mean(npu_lowering *l, const ft_op *op) {
    enum { MAX_KERNEL = 4096, MAX_HEIGHT = 64 };
    bool is_reduced[4];
    npu_view in = npu_input_view(l, op, 0);
    uint32_t out = npu_output(l, op, 0);
    npu_shape s = in.shape, end;
    if (l->has_failed) return;
    npu_reduced_axes(l, op, is_reduced);
    if (!((is_reduced[1] && s.h > 1) || (is_reduced[2] && s.w > 1) || (is_reduced[3] && s.c > 1))) {
        npu_alias_tensor(l, op->outputs[0], (npu_view){.tensor = in.tensor, .shape = l->net->tensors[out].shape});
        return;
    }
    if (is_reduced[3] && s.c > 1) {   /* channels become columns */
        assert(s.h == 1 || s.w == 1); /* npu_check_mean */
        bool takes_w = s.w == 1;
        is_reduced[1] = takes_w ? is_reduced[1] : is_reduced[2];
        s = (npu_shape){s.n, takes_w ? s.h : s.w, s.c, 1};
        is_reduced[2] = true;
    }
    int64_t h = is_reduced[1] ? s.h : 1, w = is_reduced[2] ? s.w : 1;
    if (h > MAX_HEIGHT && h * w <= MAX_KERNEL && is_reduced[1] && is_reduced[2]) {
        s = (npu_shape){s.n, 1, h * w, s.c};
        w = h * w;
        h = 1;
    }
    end = (npu_shape){s.n, is_reduced[1] ? 1 : s.h, is_reduced[2] ? 1 : s.w, s.c};
    int64_t rows = MAX_KERNEL / w < h ? MAX_KERNEL / w : h;
    if (rows > MAX_HEIGHT) rows = MAX_HEIGHT;
    if (rows < 1) rows = 1;
    uint32_t sum = FT_NONE;
    for (int64_t at = 0; at < h && !l->has_failed; at += rows) {
        int64_t now = h - at < rows ? h - at : rows;
        npu_shape read = {s.n, is_reduced[1] ? now : s.h, is_reduced[2] ? w : s.w, s.c};
        npu_pass *p = sum_rows(l, in, s, read, now, w, end);
        uint32_t part = p->ofm;
        if (sum != FT_NONE) {
            uint32_t both = npu_add_tensor(l, end, 4);
            npu_pass *add = npu_add_pass(l, BLOCK_ELEMENTWISE, MATH_ADD);
            npu_set_ifm(add, npu_view_of(l, part));
            npu_set_ifm2(add, npu_view_of(l, sum));
            npu_set_ofm(l, add, both, end);
            part = both;
        }
        sum = part;
    }
    if (l->has_failed) return;
    uint32_t scale = npu_add_scalar(l, 4, false);
    npu_pass *p = npu_add_pass(l, BLOCK_ELEMENTWISE, MATH_MUL);
    if (l->has_failed) return;
    npu_set_ifm(p, npu_view_of(l, sum));
    npu_set_ifm2(p, npu_view_of(l, scale));
    npu_set_ofm(l, p, out, end);
}
