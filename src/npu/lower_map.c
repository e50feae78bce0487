/* lower_map.c - pools, elementwise operators and activations. */
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
    npu_reads(p, in);
    npu_writes(l, p, out, npu_shape_of(l, op_output(l->graph, op, 0)));
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

/* Which of H, W and C a reduction runs over; a global pool is one over H and W. */
static void reduced_axes(const npu_lowering *l, const ft_op *op, bool is_reduced[4]) {
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
        int64_t axis = list[i] < 0 ? list[i] + x->rank : list[i];
        int64_t at = axis + 4 - x->rank;
        if (l->graph->layout == FT_NCHW && x->rank == 4) at = axis == 0 ? 0 : axis == 1 ? 3 : axis - 1;
        if (at >= 0 && at < 4) is_reduced[at] = true;
    }
}

static npu_pass *sum_rows(npu_lowering *l, npu_view in, npu_shape ifm, npu_shape read, int64_t h, int64_t w,
                          npu_shape ofm) {
    uint32_t sum = npu_add_tensor(l, ofm, 4);
    npu_pass *p = npu_add_pass(l, BLOCK_DEPTHWISE, MATH_OTHER);
    npu_reads(p, in);
    p->ifm_shape = ifm;
    p->read = read;
    p->has_read_offset = true;
    npu_writes(l, p, sum, ofm);
    p->kernel_h = (int32_t)h;
    p->kernel_w = (int32_t)w;
    p->has_weights = true;
    p->coding = CODING_UNIFORM;
    p->weights = h * w * ifm.c;
    p->bias_bytes = 4;
    return p;
}

void npu_lower_mean(npu_lowering *l, const ft_op *op) {
    enum { MOST_KERNEL = 4096, MOST_HEIGHT = 64 };
    bool is_reduced[4];
    npu_view in = npu_input_view(l, op, 0);
    uint32_t out = npu_output(l, op, 0);
    npu_shape s = in.shape, end;
    if (l->has_failed) return;
    reduced_axes(l, op, is_reduced);
    if (!((is_reduced[1] && s.h > 1) || (is_reduced[2] && s.w > 1) || (is_reduced[3] && s.c > 1))) {
        npu_alias(l, op->outputs[0], (npu_view){.tensor = in.tensor, .shape = l->net->tensors[out].shape});
        return;
    }
    if (is_reduced[3] && s.c > 1) { /* channels become columns */
        bool takes_w = s.w == 1;
        is_reduced[1] = takes_w ? is_reduced[1] : is_reduced[2];
        s = (npu_shape){s.n, takes_w ? s.h : s.w, s.c, 1};
        is_reduced[2] = true;
    }
    int64_t h = is_reduced[1] ? s.h : 1, w = is_reduced[2] ? s.w : 1;
    if (h > MOST_HEIGHT && h * w <= MOST_KERNEL && is_reduced[1] && is_reduced[2]) {
        s = (npu_shape){s.n, 1, h * w, s.c};
        w = h * w;
        h = 1;
    }
    end = (npu_shape){s.n, is_reduced[1] ? 1 : s.h, is_reduced[2] ? 1 : s.w, s.c};
    int64_t rows = MOST_KERNEL / w < h ? MOST_KERNEL / w : h;
    if (rows > MOST_HEIGHT) rows = MOST_HEIGHT;
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
            npu_reads(add, npu_view_of(l, part));
            npu_reads2(add, npu_view_of(l, sum));
            npu_writes(l, add, both, end);
            part = both;
        }
        sum = part;
    }
    if (l->has_failed) return;
    uint32_t scale = npu_add_scalar(l, 4, false);
    npu_pass *p = npu_add_pass(l, BLOCK_ELEMENTWISE, MATH_MUL);
    if (l->has_failed) return;
    npu_reads(p, npu_view_of(l, sum));
    npu_reads2(p, npu_view_of(l, scale));
    npu_writes(l, p, out, end);
}

/* --- Elementwise --------------------------------------------------------------------------------------------- */

static bool is_smaller(npu_shape a, npu_shape b) {
    return !npu_shape_equal(a, b);
}

/* The input that is neither constant nor spread comes first. */
static bool swaps(const npu_lowering *l, npu_view a, npu_view b, npu_shape ofm) {
    const npu_tensor *first = &l->net->tensors[a.tensor], *second = &l->net->tensors[b.tensor];
    return (first->is_const || first->is_scalar) && !second->is_const && !second->is_scalar &&
           !is_smaller(b.shape, ofm);
}

static npu_math math_of(npu_op_id id) {
    switch (id) {
    case NPU_OP_MUL:
        return MATH_MUL;
    case NPU_OP_MIN:
    case NPU_OP_MAX:
    case NPU_OP_ABS:
        return MATH_OTHER;
    default:
        return MATH_ADD;
    }
}

void npu_lower_binary(npu_lowering *l, const ft_op *op) {
    npu_view a = npu_input_view(l, op, 0), b = npu_input_view(l, op, 1);
    uint32_t out = npu_output(l, op, 0);
    npu_shape ofm = npu_shape_of(l, op_output(l->graph, op, 0));
    npu_pass *p = npu_add_pass(l, BLOCK_ELEMENTWISE, math_of(npu_op_id_of(l, op)));
    if (l->has_failed) return;
    if (b.tensor == FT_NONE) {
        npu_reads(p, a);
    } else {
        bool is_swapped = swaps(l, a, b, ofm);
        npu_reads(p, is_swapped ? b : a);
        npu_reads2(p, is_swapped ? a : b);
    }
    npu_writes(l, p, out, ofm);
    p->activation = npu_activation_of(op);
    p->has_table = p->activation == ACTIVATION_TABLE;
    p->table_bytes = 256;
}

/* --- Activations --------------------------------------------------------------------------------------------- */

/* The pass that makes a tensor, when it can also do what follows. */
static npu_pass *fusable(npu_lowering *l, const ft_op *op, npu_view in) {
    const ft_tensor *x = op_input(l->graph, op, 0);
    if (in.tensor == FT_NONE || in.is_slice || x->use_count != 1 || x->is_output || x->producer == FT_NONE) return NULL;
    uint32_t maker = l->maker[in.tensor];
    if (maker == FT_NONE) return NULL;
    npu_pass *p = &l->net->passes[maker];
    if (p->block == BLOCK_COPY || p->activation != ACTIVATION_NONE || p->is_slice_write || p->op != x->producer)
        return NULL;
    return p;
}

/* Sixteen bits have no table for a leaky slope. An input of another scale is no slope for the unit: both sides are
 * multiplied, and the larger is taken. */
static void lower_leaky16(npu_lowering *l, npu_view in, uint32_t out, bool is_kept) {
    uint32_t sides[2];
    if (is_kept) {
        npu_pass *p = npu_add_pass(l, BLOCK_ELEMENTWISE, MATH_OTHER);
        npu_reads(p, in);
        npu_writes(l, p, out, in.shape);
        return;
    }
    for (int i = 0; i < 2; i++) {
        uint32_t slope = npu_add_scalar(l, 2, i == 1);
        sides[i] = npu_add_tensor(l, in.shape, 2);
        npu_pass *p = npu_add_pass(l, BLOCK_ELEMENTWISE, MATH_MUL);
        if (l->has_failed) return;
        npu_reads(p, in);
        npu_reads2(p, npu_view_of(l, slope));
        npu_writes(l, p, sides[i], in.shape);
    }
    npu_pass *p = npu_add_pass(l, BLOCK_ELEMENTWISE, MATH_OTHER);
    if (l->has_failed) return;
    npu_reads(p, npu_view_of(l, sides[0]));
    npu_reads2(p, npu_view_of(l, sides[1]));
    npu_writes(l, p, out, in.shape);
}

void npu_lower_activation(npu_lowering *l, const ft_op *op) {
    npu_view in = npu_input_view(l, op, 0);
    if (l->has_failed) return;
    const npu_rule *rule = l->rules[l->op];
    bool is_clamp = rule->flags & NPU_CLAMP;
    npu_pass *before = fusable(l, op, in);
    int32_t bytes = l->net->tensors[in.tensor].bytes;
    bool is_kept = l->is_float || op_attr_int(op, "keeps_scale", 0) != 0;
    if (rule->id == NPU_OP_LEAKY_RELU && bytes == 2) {
        lower_leaky16(l, in, npu_output(l, op, 0), is_kept);
        return;
    }
    if (is_clamp && !is_kept) before = NULL;
    if (before != NULL) {
        before->activation = is_clamp ? ACTIVATION_CLAMP : ACTIVATION_TABLE;
        before->has_table = !is_clamp && bytes == 1;
        before->table_bytes = 256;
        npu_alias(l, op->outputs[0], in);
        return;
    }
    uint32_t out = npu_output(l, op, 0);
    if (is_clamp || bytes == 2) {
        npu_pass *p = npu_add_pass(l, BLOCK_POOL, MATH_OTHER);
        npu_reads(p, in);
        npu_writes(l, p, out, in.shape);
        p->activation = is_clamp ? ACTIVATION_CLAMP : ACTIVATION_TABLE;
        return;
    }
    uint32_t zero = npu_add_scalar(l, bytes, true);
    npu_pass *p = npu_add_pass(l, BLOCK_ELEMENTWISE, MATH_ADD);
    if (l->has_failed) return;
    npu_reads(p, in);
    npu_reads2(p, npu_view_of(l, zero));
    npu_writes(l, p, out, in.shape);
    p->activation = ACTIVATION_TABLE;
    p->has_table = true;
    p->table_bytes = 256;
}
