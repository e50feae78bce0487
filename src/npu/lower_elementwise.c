/* lower_elementwise.c - lowering of elementwise operators and of activations, which join the pass before where they
 * can. */
#include "npu/lower.h"

/* --- Elementwise --------------------------------------------------------------------------------------------- */

static bool is_broadcast(npu_shape a, npu_shape b) {
    return !npu_shape_equal(a, b);
}

/* The input that is neither constant nor broadcast comes first. */
static bool is_swapped_input(const npu_lowering *l, npu_view a, npu_view b, npu_shape ofm) {
    const npu_tensor *first = &l->net->tensors[a.tensor], *second = &l->net->tensors[b.tensor];
    return (first->is_const || first->is_scalar) && !second->is_const && !second->is_scalar &&
           !is_broadcast(b.shape, ofm);
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
        npu_set_ifm(p, a);
    } else {
        bool is_swapped = is_swapped_input(l, a, b, ofm);
        npu_set_ifm(p, is_swapped ? b : a);
        npu_set_ifm2(p, is_swapped ? a : b);
    }
    npu_set_ofm(l, p, out, ofm);
    p->activation = npu_activation_of(op);
    p->has_table = p->activation == ACTIVATION_TABLE;
    p->table_bytes = 256;
}

/* --- Activations --------------------------------------------------------------------------------------------- */

/* The pass that writes a tensor, when it can also apply the activation that follows. */
static npu_pass *find_fusable(npu_lowering *l, const ft_op *op, npu_view in) {
    const ft_tensor *x = op_input(l->graph, op, 0);
    if (in.tensor == FT_NONE || in.is_slice || x->use_count != 1 || x->is_output || x->producer == FT_NONE) return NULL;
    uint32_t producer = l->producer[in.tensor];
    if (producer == FT_NONE) return NULL;
    npu_pass *p = &l->net->passes[producer];
    if (p->block == BLOCK_COPY || p->activation != ACTIVATION_NONE || p->is_slice_write || p->op != x->producer)
        return NULL;
    return p;
}

/* Int16 has no lookup table for a leaky slope. When the output has another scale than the input, both sides are
 * multiplied and the larger is taken. */
static void lower_leaky16(npu_lowering *l, npu_view in, uint32_t out, bool keeps_scale) {
    uint32_t sides[2];
    if (keeps_scale) {
        npu_pass *p = npu_add_pass(l, BLOCK_ELEMENTWISE, MATH_OTHER);
        npu_set_ifm(p, in);
        npu_set_ofm(l, p, out, in.shape);
        return;
    }
    for (int i = 0; i < 2; i++) {
        uint32_t slope = npu_add_scalar(l, 2, i == 1);
        sides[i] = npu_add_tensor(l, in.shape, 2);
        npu_pass *p = npu_add_pass(l, BLOCK_ELEMENTWISE, MATH_MUL);
        if (l->has_failed) return;
        npu_set_ifm(p, in);
        npu_set_ifm2(p, npu_view_of(l, slope));
        npu_set_ofm(l, p, sides[i], in.shape);
    }
    npu_pass *p = npu_add_pass(l, BLOCK_ELEMENTWISE, MATH_OTHER);
    if (l->has_failed) return;
    npu_set_ifm(p, npu_view_of(l, sides[0]));
    npu_set_ifm2(p, npu_view_of(l, sides[1]));
    npu_set_ofm(l, p, out, in.shape);
}

void npu_lower_activation(npu_lowering *l, const ft_op *op) {
    npu_view in = npu_input_view(l, op, 0);
    if (l->has_failed) return;
    const npu_rule *rule = l->rules[l->op];
    bool is_clamp = rule->flags & NPU_CLAMP;
    npu_pass *before = find_fusable(l, op, in);
    int32_t bytes = l->net->tensors[in.tensor].bytes;
    bool keeps_scale = l->is_float || op_attr_int(op, "keeps_scale", 0) != 0;
    if (rule->id == NPU_OP_LEAKY_RELU && bytes == 2) {
        lower_leaky16(l, in, npu_output(l, op, 0), keeps_scale);
        return;
    }
    if (is_clamp && !keeps_scale) before = NULL;
    if (before != NULL) {
        before->activation = is_clamp ? ACTIVATION_CLAMP : ACTIVATION_TABLE;
        before->has_table = !is_clamp && bytes == 1;
        before->table_bytes = 256;
        npu_alias_tensor(l, op->outputs[0], in);
        return;
    }
    uint32_t out = npu_output(l, op, 0);
    if (is_clamp || bytes == 2) {
        npu_pass *p = npu_add_pass(l, BLOCK_POOL, MATH_OTHER);
        npu_set_ifm(p, in);
        npu_set_ofm(l, p, out, in.shape);
        p->activation = is_clamp ? ACTIVATION_CLAMP : ACTIVATION_TABLE;
        return;
    }
    uint32_t zero = npu_add_scalar(l, bytes, true);
    npu_pass *p = npu_add_pass(l, BLOCK_ELEMENTWISE, MATH_ADD);
    if (l->has_failed) return;
    npu_set_ifm(p, in);
    npu_set_ifm2(p, npu_view_of(l, zero));
    npu_set_ofm(l, p, out, in.shape);
    p->activation = ACTIVATION_TABLE;
    p->has_table = true;
    p->table_bytes = 256;
}
