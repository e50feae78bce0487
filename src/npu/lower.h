/* lower.h - shared by the files that lower operators to passes (lower*.c, rules.c, order.c). */
#ifndef NPU_LOWER_H
#define NPU_LOWER_H

#include <assert.h>

#include "graph/graph.h"
#include "npu/net.h"
#include "npu/rules.h"

/* A tensor of the graph as passes read it: a tensor of the net, or a slice of one. */
typedef struct npu_view {
    uint32_t tensor; /* of the net; FT_NONE: not added yet */
    npu_shape shape; /* as read */
    bool is_slice;
    npu_shape whole; /* of the tensor that it is a slice of */
} npu_view;

struct npu_lowering {
    npu_net *net;
    const ft_graph *graph;
    npu_view *views;    /* by tensor of the graph */
    uint32_t *producer; /* by tensor of the net: the last pass that writes it; FT_NONE: none */
    uint32_t producer_capacity;
    bool *is_npu;           /* by operator */
    const npu_rule **rules; /* by operator; NULL: runs on the CPU */
    bool *is_signal;        /* by tensor of the graph: of rank 3, with its channels second (channels.c) */
    bool is_float;          /* floats are counted as int8 */
    int64_t batch;          /* batched dimensions 0 are divided by it */
    uint32_t op;            /* being lowered */
    uint32_t first_op;      /* that runs */
    bool has_failed;        /* out of memory */
    npu_pass spare;         /* returned by npu_add_pass when there is no memory at all */
};

/* The id of an operator that has a rule. */
static inline npu_op_id npu_op_id_of(const npu_lowering *l, const ft_op *op) {
    const npu_rule *rule = l->rules[op - l->graph->ops];
    assert(rule != NULL);
    return rule->id;
}

/* Whether the accelerator runs an operator (rules.c): its types and sizes, then the constraint of its rule. */
bool npu_supports(const npu_lowering *l, const ft_op *op, const npu_rule *rule);
bool npu_check_conv(const npu_lowering *l, const ft_op *op);
bool npu_check_dense(const npu_lowering *l, const ft_op *op);
bool npu_check_pool(const npu_lowering *l, const ft_op *op);
/* Axes N, H, W, C that a mean runs over; a global pool reduces H and W. */
void npu_reduced_axes(const npu_lowering *l, const ft_op *op, bool is_reduced[4]);
bool npu_check_mean(const npu_lowering *l, const ft_op *op);
bool npu_check_binary(const npu_lowering *l, const ft_op *op);
bool npu_check_strides(const npu_lowering *l, const ft_op *op);
bool npu_check_pad(const npu_lowering *l, const ft_op *op);
bool npu_check_resize(const npu_lowering *l, const ft_op *op);
bool npu_check_transpose(const npu_lowering *l, const ft_op *op);
bool npu_check_quantize(const npu_lowering *l, const ft_op *op);
bool npu_check_reshape(const npu_lowering *l, const ft_op *op);
bool npu_check_softmax(const npu_lowering *l, const ft_op *op);
bool npu_check_argmax(const npu_lowering *l, const ft_op *op);
bool npu_check_none(const npu_lowering *l, const ft_op *op);

/* Sets l->is_signal. */
void npu_find_signals(npu_lowering *l);
/* Whether the second dimension of a tensor is its channels. */
static inline bool npu_has_channels_second(const npu_lowering *l, const ft_tensor *t) {
    if (l->graph->layout != FT_NCHW) return false;
    return t->rank == 4 || (t->rank == 3 && l->is_signal[t - l->graph->tensors]);
}
/* Index among N, H, W and C of an axis of a tensor, 0 or more; below 0 for the leading axes of more than four. */
int64_t npu_axis_index(const npu_lowering *l, const ft_tensor *t, int64_t axis);

npu_shape npu_shape_of(const npu_lowering *l, const ft_tensor *t);
int32_t npu_bytes_of(const npu_lowering *l, const ft_tensor *t);
/* Whether a tensor is a constant of the network: stored, or computed before it runs. */
bool npu_is_const(const npu_lowering *l, const ft_tensor *t);

/* Add tensors and passes. Out of memory, they set l->has_failed and return 0, or a pass that is discarded. */
uint32_t npu_add_tensor(npu_lowering *l, npu_shape shape, int32_t bytes);
uint32_t npu_add_scalar(npu_lowering *l, int32_t bytes, bool is_shapeless);
npu_pass *npu_add_pass(npu_lowering *l, npu_block_type block, npu_math math);
/* The tensor of an input or output of an operator. */
npu_view npu_input_view(npu_lowering *l, const ft_op *op, uint32_t i);
uint32_t npu_output(npu_lowering *l, const ft_op *op, uint32_t i);
/* Set the inputs and the output of a pass, with the shapes of the views. */
void npu_set_ifm(npu_pass *p, npu_view view);
void npu_set_ifm2(npu_pass *p, npu_view view);
void npu_set_ofm(npu_lowering *l, npu_pass *p, uint32_t tensor, npu_shape shape);
npu_view npu_view_of(const npu_lowering *l, uint32_t tensor);
/* Makes a tensor of the graph another name of `view`: no pass is needed. */
void npu_alias_tensor(npu_lowering *l, uint32_t graph_tensor, npu_view view);

npu_activation npu_activation_of(const ft_op *op);
bool npu_has_same_padding(const ft_op *op); /* TensorFlow's padding "SAME" */

/* Lowerings, named in rules.h: lower_conv.c, lower_pool.c, lower_elementwise.c, lower_move.c, lower_composite.c. */
void npu_lower_conv(npu_lowering *l, const ft_op *op);
void npu_lower_dense(npu_lowering *l, const ft_op *op);
void npu_lower_pool(npu_lowering *l, const ft_op *op);
void npu_lower_mean(npu_lowering *l, const ft_op *op);
void npu_lower_binary(npu_lowering *l, const ft_op *op);
void npu_lower_activation(npu_lowering *l, const ft_op *op);
void npu_lower_concat(npu_lowering *l, const ft_op *op);
void npu_lower_slices(npu_lowering *l, const ft_op *op);
void npu_lower_pad(npu_lowering *l, const ft_op *op);
void npu_lower_resize(npu_lowering *l, const ft_op *op);
void npu_lower_copy(npu_lowering *l, const ft_op *op);
void npu_lower_reshape(npu_lowering *l, const ft_op *op);
void npu_lower_softmax(npu_lowering *l, const ft_op *op);
void npu_lower_argmax(npu_lowering *l, const ft_op *op);
void npu_lower_lstm(npu_lowering *l, const ft_op *op);

/* Sorts the steps into the order in which Vela runs them, and cuts them into segments (order.c). */
ft_status npu_order_passes(npu_lowering *l, ft_error *error);
/* Chooses the storage format of each tensor: linear (NHWC) or bricks of 16 channels (order.c). */
void npu_choose_formats(npu_net *net, bool has_two_cores);

#endif
