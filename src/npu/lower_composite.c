/* lower_composite.c - lowering of operators that become many passes: softmax, argmax, recurrent layers. */
#include <string.h>

#include "graph/opdef.h"
#include "npu/lower.h"

static uint32_t binary(npu_lowering *l, npu_math math, uint32_t a, uint32_t b, npu_shape shape, int32_t bytes) {
    uint32_t out = npu_add_tensor(l, shape, bytes);
    npu_pass *p = npu_add_pass(l, BLOCK_ELEMENTWISE, math);
    if (l->has_failed) return 0;
    bool is_swapped = l->net->tensors[a].is_const && !l->net->tensors[b].is_const;
    npu_set_ifm(p, npu_view_of(l, is_swapped ? b : a));
    npu_set_ifm2(p, npu_view_of(l, is_swapped ? a : b));
    npu_set_ofm(l, p, out, shape);
    p->activation = ACTIVATION_NONE;
    return out;
}

static uint32_t with_constant(npu_lowering *l, npu_math math, uint32_t a, npu_shape shape) {
    uint32_t scalar = npu_add_scalar(l, 4, false);
    return l->has_failed ? 0 : binary(l, math, a, scalar, shape, 4);
}

/* Maximum over the channels: a max pool with the channels as columns. */
static uint32_t channel_max(npu_lowering *l, npu_view in, npu_shape shape, int32_t bytes) {
    npu_shape rows = {1, shape.n * shape.h * shape.w, shape.c, 1}, ofm = {1, shape.n * shape.h * shape.w, 1, 1};
    uint32_t out = npu_add_tensor(l, (npu_shape){1, shape.n * shape.h, shape.w, 1}, bytes);
    npu_pass *p = npu_add_pass(l, BLOCK_POOL, MATH_MAX_POOL);
    npu_set_ifm(p, in);
    p->ifm_shape = p->read = rows;
    npu_set_ofm(l, p, out, ofm);
    p->kernel_w = (int32_t)shape.c;
    return out;
}

/* The reciprocal of a sum by three steps of Newton's method, all in 32 bits. */
static uint32_t reciprocal(npu_lowering *l, uint32_t half, npu_shape one) {
    uint32_t x = with_constant(l, MATH_MUL, half, one);
    x = with_constant(l, MATH_ADD, x, one);
    for (int i = 0; i < 3 && !l->has_failed; i++) {
        uint32_t product = binary(l, MATH_MUL, x, half, one, 4);
        uint32_t left = with_constant(l, MATH_ADD, product, one);
        uint32_t step = binary(l, MATH_MUL, x, left, one, 4);
        step = with_constant(l, MATH_MUL, step, one);
        x = binary(l, MATH_ADD, x, step, one, 4);
    }
    return with_constant(l, MATH_MUL, x, one);
}

void npu_lower_softmax(npu_lowering *l, const ft_op *op) {
    npu_view in = npu_input_view(l, op, 0);
    uint32_t out = npu_output(l, op, 0);
    if (l->has_failed) return;
    npu_shape s = {1, in.shape.n * in.shape.h, in.shape.w, in.shape.c}, one = {1, s.h, s.w, 1};
    in.shape = s;
    int32_t bytes = l->net->tensors[in.tensor].bytes;
    uint32_t top = channel_max(l, in, s, bytes);
    uint32_t exps = npu_add_tensor(l, s, 4);
    npu_pass *p = npu_add_pass(l, BLOCK_ELEMENTWISE, MATH_ADD);
    if (l->has_failed) return;
    npu_set_ifm(p, in);
    npu_set_ifm2(p, npu_view_of(l, top));
    npu_set_ofm(l, p, exps, s);
    p->activation = ACTIVATION_TABLE;
    p->has_table = true;
    p->table_bytes = 1024;
    uint32_t scaled = with_constant(l, MATH_OTHER, exps, s);
    uint32_t sum = npu_add_tensor(l, one, 4);
    p = npu_add_pass(l, BLOCK_REDUCE, MATH_OTHER);
    if (l->has_failed) return;
    npu_set_ifm(p, npu_view_of(l, scaled));
    npu_set_ofm(l, p, sum, one);
    uint32_t zeros = npu_add_tensor(l, one, 4);
    p = npu_add_pass(l, BLOCK_ELEMENTWISE, MATH_OTHER);
    if (l->has_failed) return;
    npu_set_ifm(p, npu_view_of(l, sum));
    npu_set_ofm(l, p, zeros, one);
    uint32_t shift = with_constant(l, MATH_ADD, zeros, one);
    uint32_t room = with_constant(l, MATH_ADD, zeros, one);
    uint32_t shifted = binary(l, MATH_OTHER, sum, room, one, 4);
    shifted = with_constant(l, MATH_ADD, shifted, one);
    shifted = with_constant(l, MATH_OTHER, shifted, one);
    uint32_t half = with_constant(l, MATH_ADD, shifted, one);
    uint32_t factor = reciprocal(l, half, one);
    uint32_t product = binary(l, MATH_MUL, exps, factor, s, 4);
    p = npu_add_pass(l, BLOCK_ELEMENTWISE, MATH_OTHER);
    if (l->has_failed) return;
    npu_set_ifm(p, npu_view_of(l, product));
    npu_set_ifm2(p, npu_view_of(l, shift));
    npu_set_ofm(l, p, out, s);
}

/* --- Argmax -------------------------------------------------------------------------------------------------- */

/* Converts to a wider type: a depthwise convolution with a kernel of 1. */
static void widen(npu_lowering *l, npu_view in, uint32_t out, npu_shape shape) {
    npu_pass *p = npu_add_pass(l, BLOCK_DEPTHWISE, MATH_OTHER);
    npu_set_ifm(p, in);
    npu_set_ofm(l, p, out, shape);
    p->has_weights = true;
    p->coding = CODING_UNIFORM;
    p->weights = shape.c;
    p->bias_bytes = 8;
}

static void copy_bytes(npu_lowering *l, uint32_t from, uint32_t to) {
    npu_pass *p = npu_add_pass(l, BLOCK_COPY, MATH_OTHER);
    if (l->has_failed) return;
    npu_set_ifm(p, npu_view_of(l, from));
    npu_set_ofm(l, p, to, l->net->tensors[to].shape);
}

void npu_lower_argmax(npu_lowering *l, const ft_op *op) {
    npu_view in = npu_input_view(l, op, 0);
    uint32_t out = npu_output(l, op, 0);
    if (l->has_failed) return;
    npu_shape s = in.shape, one = {1, s.h, s.w, 1};
    uint32_t wide = npu_add_tensor(l, s, 2);
    widen(l, in, wide, s);
    if (l->has_failed) return;
    uint32_t top = npu_add_tensor(l, one, 2);
    int64_t rows = 65536 / s.w;
    for (int64_t at = 0; at < s.h && !l->has_failed; at += rows) {
        int64_t now = s.h - at < rows ? s.h - at : rows;
        npu_pass *p = npu_add_pass(l, BLOCK_POOL, MATH_MAX_POOL);
        npu_set_ifm(p, npu_view_of(l, wide));
        p->ifm_shape = (npu_shape){1, s.h * s.w, s.c, 1};
        p->read = (npu_shape){1, now * s.w, s.c, 1};
        p->has_read_offset = true;
        npu_set_ofm(l, p, top, (npu_shape){1, s.h * s.w, 1, 1});
        p->write = (npu_shape){1, now * s.w, 1, 1};
        p->kernel_w = (int32_t)s.c;
        p->activation = ACTIVATION_TABLE;
        p->has_table = true;
        p->table_bytes = 2048;
    }
    if (l->has_failed) return;
    npu_view index = npu_view_of(l, top);
    if (l->net->tensors[out].bytes != 8) {
        widen(l, index, out, one);
        return;
    }
    npu_shape two = {1, s.h, s.w, 2};
    uint32_t narrow = npu_add_tensor(l, one, 4), halves = npu_add_tensor(l, two, 2), pairs = npu_add_tensor(l, two, 4);
    widen(l, index, narrow, one);
    copy_bytes(l, narrow, halves);
    if (!l->has_failed) widen(l, npu_view_of(l, halves), pairs, two);
    copy_bytes(l, pairs, out);
}

/* --- Recurrent layers ---------------------------------------------------------------------------------------- */

/* A matrix-vector product of a gate. */
static uint32_t gate_product(npu_lowering *l, npu_view in, npu_shape out_shape, int64_t weights, bool reuses_weights) {
    uint32_t out = npu_add_tensor(l, out_shape, 2);
    npu_pass *p = npu_add_pass(l, BLOCK_VECTOR, MATH_OTHER);
    if (l->has_failed) return 0;
    npu_set_ifm(p, in);
    p->ifm_shape = p->read = (npu_shape){1, 1, 1, npu_elems(in.shape)};
    npu_set_ofm(l, p, out, out_shape);
    p->has_weights = true;
    p->coding = CODING_VECTOR;
    p->weights = weights;
    p->reuses_weights = reuses_weights;
    p->bias_bytes = 4;
    p->reach = 4;
    p->live = 1;
    return out;
}

/* An LSTM gate: products with the input and with the previous state, added up and activated. */
static uint32_t gate(npu_lowering *l, bool reuses_weights, npu_view x, npu_view state, npu_shape cell) {
    uint32_t from_input = gate_product(l, x, cell, npu_elems(x.shape) * cell.c, reuses_weights);
    uint32_t from_state = gate_product(l, state, cell, cell.c * cell.c, reuses_weights);
    if (l->has_failed) return 0;
    uint32_t sum = binary(l, MATH_ADD, from_input, from_state, cell, 2);
    if (l->has_failed) return 0;
    l->net->passes[l->net->pass_count - 1].activation = ACTIVATION_TABLE;
    return sum;
}

static uint32_t copy_state(npu_lowering *l, uint32_t in, npu_shape shape, int32_t bytes, bool has_table) {
    uint32_t out = npu_add_tensor(l, shape, bytes);
    npu_pass *p = npu_add_pass(l, BLOCK_POOL, MATH_OTHER);
    if (l->has_failed) return 0;
    npu_set_ifm(p, npu_view_of(l, in));
    npu_set_ofm(l, p, out, shape);
    if (has_table) p->activation = ACTIVATION_TABLE;
    return out;
}

void npu_lower_lstm(npu_lowering *l, const ft_op *op) {
    enum { MAX_STEPS = 512 };
    npu_view in = npu_input_view(l, op, 0);
    const ft_tensor *y = op_output(l->graph, op, 0), *x = op_input(l->graph, op, 0);
    uint32_t out = npu_output(l, op, 0);
    if (l->has_failed) return;
    int64_t units = y->dims[y->rank - 1], width = x->dims[x->rank - 1];
    int64_t steps = npu_elems(in.shape) / width;
    npu_shape cell = {1, 1, 1, units}, whole = npu_shape_of(l, y);
    uint32_t state = npu_add_tensor(l, cell, 1), memory = npu_add_tensor(l, cell, 2);
    if (l->has_failed) return;
    l->net->tensors[state].is_external = l->net->tensors[memory].is_external = true;
    for (int64_t t = 0; t < steps && t < MAX_STEPS && !l->has_failed; t++) {
        npu_view now = {.tensor = in.tensor, .shape = {1, 1, 1, width}, .is_slice = false};
        npu_view before = npu_view_of(l, state);
        uint32_t forget = gate(l, t > 0, now, before, cell);
        uint32_t input = gate(l, t > 0, now, before, cell), candidate = gate(l, t > 0, now, before, cell);
        uint32_t added = binary(l, MATH_MUL, input, candidate, cell, 2);
        uint32_t kept = binary(l, MATH_MUL, forget, memory, cell, 2);
        memory = binary(l, MATH_ADD, kept, added, cell, 2);
        if (l->has_failed) return;
        uint32_t squashed = copy_state(l, memory, cell, 2, true);
        uint32_t output = gate(l, t > 0, now, before, cell);
        state = binary(l, MATH_MUL, output, squashed, cell, 1);
        npu_pass *p = npu_add_pass(l, BLOCK_POOL, MATH_OTHER);
        if (l->has_failed) return;
        npu_set_ifm(p, npu_view_of(l, state));
        npu_set_ofm(l, p, out, whole);
        p->write = cell;
        p->is_slice_write = true;
    }
}
