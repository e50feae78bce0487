/* lower_move.c - lowering of operators that only move data: most become pools of one element, which copy. */
#include <assert.h>
#include <string.h>

#include "graph/geometry.h"
#include "graph/opdef.h"
#include "npu/lower.h"

static npu_pass *copy(npu_lowering *l, npu_view in, uint32_t out, npu_shape ofm, npu_shape write) {
    npu_pass *p = npu_add_pass(l, BLOCK_POOL, MATH_OTHER);
    npu_set_ifm(p, in);
    npu_set_ofm(l, p, out, ofm);
    p->write = write;
    return p;
}

void npu_lower_copy(npu_lowering *l, const ft_op *op) {
    if (l->is_float && npu_op_id_of(l, op) == NPU_OP_QUANTIZE_LINEAR) {
        npu_lower_reshape(l, op);
        return;
    }
    npu_view in = npu_input_view(l, op, 0);
    uint32_t out = npu_output(l, op, 0);
    npu_shape shape = npu_shape_of(l, op_output(l->graph, op, 0));
    npu_pass *p = copy(l, in, out, shape, shape);
    if (npu_op_id_of(l, op) == NPU_OP_TRANSPOSE) { /* rows and columns are swapped by the strides of the write */
        p->is_slice_write = true;
        p->ofm_shape = p->write = in.shape;
    }
}

/* A reshape is an alias when no other operator reads its input; else Vela copies the tensor. */
void npu_lower_reshape(npu_lowering *l, const ft_op *op) {
    const ft_tensor *x = op_input(l->graph, op, 0);
    if (x == NULL) return;
    npu_view in = npu_input_view(l, op, 0);
    if (l->has_failed) return;
    npu_shape shape = npu_shape_of(l, op_output(l->graph, op, 0));
    const npu_tensor *t = &l->net->tensors[in.tensor];
    bool is_only_reader =
        x->use_count == 1 && !x->is_output && x->producer != FT_NONE && l->is_npu[x->producer] && !in.is_slice;
    if (is_only_reader || l->is_float || t->is_const) {
        in.shape = shape;
        npu_alias_tensor(l, op->outputs[0], in);
        return;
    }
    uint32_t out = npu_output(l, op, 0);
    npu_pass *p = npu_add_pass(l, BLOCK_COPY, MATH_OTHER);
    npu_set_ifm(p, in);
    npu_set_ofm(l, p, out, shape);
}

/* --- Concatenation and slices -------------------------------------------------------------------------------- */

/* Index of an axis of a tensor among N, H, W and C. */
static int axis_index(const npu_lowering *l, int64_t axis, const ft_tensor *t) {
    int64_t at = npu_axis_index(l, t, axis);
    return at < 0 ? 0 : at > 3 ? 3 : (int)at;
}

static int64_t *dim(npu_shape *s, int at) {
    assert(at >= 0 && at < 4);
    return at == 0 ? &s->n : at == 1 ? &s->h : at == 2 ? &s->w : &s->c;
}

void npu_lower_concat(npu_lowering *l, const ft_op *op) {
    const ft_tensor *y = op_output(l->graph, op, 0);
    uint32_t out = npu_output(l, op, 0);
    npu_shape ofm = npu_shape_of(l, y);
    int at = axis_index(l, op_attr_int(op, "axis", 0), y);
    int64_t offset = 0;
    for (uint32_t i = 0; i < op->input_count && !l->has_failed; i++) {
        npu_view in = npu_input_view(l, op, i);
        if (in.tensor == FT_NONE || l->has_failed) continue;
        npu_shape part = ofm;
        *dim(&part, at) = npu_op_id_of(l, op) == NPU_OP_PACK ? 1 : *dim(&in.shape, at);
        in.shape = part;
        npu_pass *p = copy(l, in, out, ofm, part);
        p->is_slice_write = true;
        p->is_unaligned_write = at == 3 && offset % 16 != 0;
        offset += *dim(&part, at);
    }
}

/* Whether the reader of a slice can read it from the whole tensor with an offset. */
static bool can_read_slice(const npu_lowering *l, const ft_tensor *y) {
    if (y->use_count != 1 || y->is_output || !l->is_npu[y->uses[0]]) return false;
    const ft_op *reader = &l->graph->ops[y->uses[0]];
    ft_op_class class = reader->def->op_class;
    npu_op_id id = npu_op_id_of(l, reader);
    return class != FT_CLASS_VIEW && id != NPU_OP_REDUCE_MEAN && id != NPU_OP_SOFTMAX;
}

/* The channels that an output of a split takes of its input; 0 when it is cut along another axis. */
static int64_t channels_taken(const npu_lowering *l, const ft_op *op, const ft_tensor *y) {
    const ft_tensor *x = op_input(l->graph, op, npu_op_id_of(l, op) == NPU_OP_SPLIT_AXIS_FIRST ? 1 : 0);
    int64_t channels = npu_shape_of(l, y).c;
    return channels != npu_shape_of(l, x).c ? channels : 0;
}

/* Dropping a dimension moves no data when all dimensions in front of it are 1. */
static bool keeps_layout(npu_op_id id, const ft_op *op, const ft_tensor *y) {
    int64_t mask = op_attr_int(op, "shrink_axis_mask", 0), axis = 0;
    if (op_attr_int(op, "new_axis_mask", 0) != 0) return false;
    if (id == NPU_OP_UNPACK)
        axis = op_attr_int(op, "axis", 0);
    else if (mask == 0)
        return true;
    else
        while ((mask >> axis & 1) == 0) axis++;
    if (axis < 0) axis += y->rank + 1;
    for (int64_t i = 0; i < axis && i < y->rank; i++) {
        if (y->dims[i] != 1) return false;
    }
    return true;
}

void npu_lower_slices(npu_lowering *l, const ft_op *op) {
    uint32_t input = 0;
    while (input + 1 < op->input_count && op->inputs[input] != FT_NONE &&
           npu_is_const(l, &l->graph->tensors[op->inputs[input]]))
        input++;
    npu_view in = npu_input_view(l, op, input);
    int64_t channel = 0; /* at which the output begins */
    for (uint32_t i = 0; i < op->output_count && !l->has_failed; i++) {
        const ft_tensor *y = op_output(l->graph, op, i);
        if (y == NULL) continue;
        npu_view slice = {.tensor = in.tensor,
                          .shape = npu_shape_of(l, y),
                          .is_slice = true,
                          .whole = in.is_slice ? in.whole : in.shape};
        if (channel % 16 != 0) l->net->tensors[in.tensor].is_kept = true;
        channel += channels_taken(l, op, y);
        if (keeps_layout(npu_op_id_of(l, op), op, y) && can_read_slice(l, y)) {
            npu_alias_tensor(l, op->outputs[i], slice);
            continue;
        }
        uint32_t out = npu_output(l, op, i);
        copy(l, slice, out, slice.shape, slice.shape);
    }
}

/* --- Padding ------------------------------------------------------------------------------------------------- */

/* A constraint of Vela on the padding at the top and on the left. */
static bool is_valid_leading_pad(int64_t pad, int64_t stride, int64_t kernel) {
    int64_t half = kernel / 2;
    return pad == half || half <= stride || pad % stride == 0;
}

/* pads: top, left, bottom, right. False when one is negative. */
static bool find_pads(const npu_lowering *l, const ft_op *op, int64_t pads[4]) {
    const ft_tensor *x = op_input(l->graph, op, 0), *y = op_output(l->graph, op, 0), *list = op_input(l->graph, op, 1);
    npu_shape in = npu_shape_of(l, x), out = npu_shape_of(l, y);
    pads[0] = (out.h - in.h) / 2;
    pads[1] = (out.w - in.w) / 2;
    if (list != NULL && list->value != NULL && list->value->ints != NULL && npu_op_id_of(l, op) == NPU_OP_PAD_PAIRS &&
        list->value->count >= 6) {
        int64_t first = list->value->count - 6; /* H, W and C are the last three pairs */
        pads[0] = list->value->ints[first];
        pads[1] = list->value->ints[first + 2];
    }
    pads[2] = out.h - in.h - pads[0];
    pads[3] = out.w - in.w - pads[1];
    return pads[0] >= 0 && pads[1] >= 0 && pads[2] >= 0 && pads[3] >= 0;
}

/* Whether all readers are convolutions without padding of their own, which can apply it. */
static bool is_absorbed(const npu_lowering *l, const ft_op *op, const int64_t pads[4]) {
    const ft_tensor *y = op_output(l->graph, op, 0);
    if (y->is_output || y->use_count == 0) return false;
    for (uint32_t i = 0; i < y->use_count; i++) {
        const ft_op *reader = &l->graph->ops[y->uses[i]];
        conv_geometry g;
        if (!l->is_npu[y->uses[i]] || reader->def->cost != COST_CONV || !conv_geometry_of(l->graph, reader, &g))
            return false;
        if (strcmp(op_attr_string(reader, "auto_pad", "VALID"), "VALID") != 0 || g.spatial != 2) return false;
        int64_t kh = (g.kernel[0] - 1) * g.dilation[0] + 1, kw = (g.kernel[1] - 1) * g.dilation[1] + 1;
        if (pads[0] > kh / 2 || pads[2] > kh / 2 || pads[1] > kw / 2 || pads[3] > kw / 2) return false;
        if (!is_valid_leading_pad(pads[0], g.stride[0], kh) || !is_valid_leading_pad(pads[1], g.stride[1], kw))
            return false;
    }
    return true;
}

static void fill_border(npu_lowering *l, uint32_t out, npu_shape ofm, npu_shape part, int32_t bytes) {
    uint32_t zeros = npu_add_tensor(l, part, bytes);
    if (l->has_failed) return;
    l->net->tensors[zeros].is_const = true;
    copy(l, npu_view_of(l, zeros), out, ofm, part)->is_slice_write = true;
}

void npu_lower_pad(npu_lowering *l, const ft_op *op) {
    int64_t pads[4];
    npu_view in = npu_input_view(l, op, 0);
    if (l->has_failed) return;
    if (!find_pads(l, op, pads)) pads[0] = pads[1] = pads[2] = pads[3] = 0;
    if (is_absorbed(l, op, pads)) {
        npu_alias_tensor(l, op->outputs[0], in);
        return;
    }
    uint32_t out = npu_output(l, op, 0);
    npu_shape ofm = npu_shape_of(l, op_output(l->graph, op, 0));
    int32_t bytes = l->net->tensors[in.tensor].bytes;
    copy(l, in, out, ofm, in.shape)->is_slice_write = true;
    if (pads[0] > 0) fill_border(l, out, ofm, (npu_shape){1, pads[0], ofm.w, ofm.c}, bytes);
    if (pads[2] > 0) fill_border(l, out, ofm, (npu_shape){1, pads[2], ofm.w, ofm.c}, bytes);
    if (pads[1] > 0) fill_border(l, out, ofm, (npu_shape){1, in.shape.h, pads[1], ofm.c}, bytes);
    if (pads[3] > 0) fill_border(l, out, ofm, (npu_shape){1, in.shape.h, pads[3], ofm.c}, bytes);
}

/* --- Resizing ------------------------------------------------------------------------------------------------ */

static void resize_half_pixel(npu_lowering *l, npu_view in, uint32_t out, npu_shape ofm) {
    uint32_t plain = npu_add_tensor(l, in.shape, l->net->tensors[in.tensor].bytes);
    copy(l, in, plain, in.shape, in.shape);
    for (int i = 0; i < 4 && !l->has_failed; i++) {
        npu_pass *p = npu_add_pass(l, BLOCK_DEPTHWISE, MATH_OTHER);
        npu_set_ifm(p, npu_view_of(l, plain));
        npu_set_ofm(l, p, out, ofm);
        p->write = in.shape;
        p->kernel_w = p->kernel_h = 2;
        p->has_weights = true;
        p->coding = CODING_UNIFORM;
        p->weights = 4 * in.shape.c;
        p->bias_bytes = 4;
        p->is_tiled = p->is_slice_write = true;
    }
}

void npu_lower_resize(npu_lowering *l, const ft_op *op) {
    npu_view in = npu_input_view(l, op, 0);
    uint32_t out = npu_output(l, op, 0);
    if (l->has_failed) return;
    npu_shape ofm = npu_shape_of(l, op_output(l->graph, op, 0)), now = in.shape;
    if (npu_shape_equal(in.shape, ofm)) {
        npu_alias_tensor(l, op->outputs[0], in);
        return;
    }
    if (in.shape.h == 1 && in.shape.w == 1) {
        uint32_t zeros = npu_add_tensor(l, ofm, l->net->tensors[in.tensor].bytes);
        npu_pass *p = npu_add_pass(l, BLOCK_ELEMENTWISE, MATH_ADD);
        if (l->has_failed) return;
        l->net->tensors[zeros].is_const = true;
        npu_set_ifm(p, npu_view_of(l, zeros));
        npu_set_ifm2(p, in);
        npu_set_ofm(l, p, out, ofm);
        return;
    }
    bool is_bilinear = npu_op_id_of(l, op) == NPU_OP_RESIZE_BILINEAR;
    if (is_bilinear && op_attr_int(op, "half_pixel_centers", 0) != 0) {
        resize_half_pixel(l, in, out, ofm);
        return;
    }
    bool is_aligned = op_attr_int(op, "align_corners", 0) != 0;
    int64_t factor = is_aligned ? (ofm.h - 1) / (in.shape.h > 1 ? in.shape.h - 1 : 1) : ofm.h / in.shape.h;
    for (int64_t left = factor; left > 1 && !l->has_failed; left /= 2) {
        bool is_last = left <= 3;
        npu_shape next = {now.n, now.h * 2, now.w * 2, now.c};
        uint32_t made = is_last ? out : npu_add_tensor(l, next, l->net->tensors[in.tensor].bytes);
        npu_pass *p = npu_add_pass(l, BLOCK_POOL, MATH_OTHER);
        npu_set_ifm(p, in);
        npu_set_ofm(l, p, made, is_last ? ofm : next);
        p->upscale = UPSCALE_NEAREST;
        if (is_last && is_bilinear) p->kernel_w = p->kernel_h = (int32_t)factor;
        in = npu_view_of(l, made);
        now = next;
    }
}
