/* channels.c - tensors of three dimensions whose channels come second.
 *
 * In graphs of NCHW a tensor of rank 4 has its channels second, but one of rank 3 may be a signal (N, C, W) or a
 * sequence (N, W, C): its operators decide. Convolutions, pools and batch normalisation read and write signals; what
 * keeps the order of the dimensions passes the property on, in both directions. */
#include <string.h>

#include "graph/opdef.h"
#include "npu/lower.h"

static bool computes_signals(const ft_op *op) {
    ft_op_class class = op->def->op_class;
    return class == FT_CLASS_CONV || class == FT_CLASS_POOL || op_is(op, "BatchNormalization");
}

static bool keeps_order(const ft_op *op) {
    static const char *const moves[] = {"Concat",   "Split",   "Slice",          "Pad",
                                        "Identity", "Dropout", "QuantizeLinear", "DequantizeLinear"};
    ft_op_class class = op->def->op_class;
    for (size_t i = 0; i < sizeof moves / sizeof moves[0]; i++)
        if (op_is(op, moves[i])) return true;
    return class == FT_CLASS_ELEMENTWISE || class == FT_CLASS_ACTIVATION;
}

/* Weights of convolutions have dimensions of their own. */
static bool can_be_signal(const npu_lowering *l, const ft_op *op, uint32_t tensor) {
    if (tensor == FT_NONE) return false;
    const ft_tensor *t = &l->graph->tensors[tensor];
    return t->rank == 3 && (t->role != FT_CONSTANT || !computes_signals(op));
}

/* Marks the inputs and outputs of an operator that computes signals, or that has one already. */
static void mark(npu_lowering *l, const ft_op *op) {
    uint32_t count = op->input_count + op->output_count;
    bool is_signal = computes_signals(op);
    if (!is_signal && !keeps_order(op)) return;
    for (int is_marking = 0; is_marking < 2; is_marking++) {
        for (uint32_t i = 0; i < count; i++) {
            uint32_t t = i < op->input_count ? op->inputs[i] : op->outputs[i - op->input_count];
            if (!can_be_signal(l, op, t)) continue;
            if (is_marking)
                l->is_signal[t] = true;
            else
                is_signal = is_signal || l->is_signal[t];
        }
        if (!is_signal) return;
    }
}

void npu_find_signals(npu_lowering *l) {
    const ft_graph *g = l->graph;
    if (g->layout != FT_NCHW) return;
    for (uint32_t i = 0; i < g->op_count; i++) mark(l, &g->ops[i]);
    for (uint32_t i = g->op_count; i-- > 0;) mark(l, &g->ops[i]);
    for (uint32_t i = 0; i < g->op_count; i++) mark(l, &g->ops[i]);
}
