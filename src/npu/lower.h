/* lower.h - between the files that turn operators into passes. */
#ifndef NPU_LOWER_H
#define NPU_LOWER_H

#include <assert.h>

#include "graph/graph.h"
#include "npu/net.h"
#include "npu/rules.h"

/* What a tensor of the graph is to the passes that read it: a tensor, or a slice of one. */
typedef struct npu_view {
    uint32_t tensor; /* FT_NONE: not made yet */
    npu_shape shape; /* as its readers see it */
    bool is_slice;
    npu_shape whole; /* of what it is a slice of */
} npu_view;

struct npu_lowering {
    npu_net *net;
    const ft_graph *graph;
    npu_view *views; /* of each tensor of the graph */
    uint32_t *maker; /* of each tensor of the net, the last pass that makes it; FT_NONE: none does */
    uint32_t maker_capacity;
    bool *is_npu;           /* of each operator */
    const npu_rule **rules; /* how each operator is lowered; NULL: it is not */
    bool is_float;          /* nothing is quantised: floats count as bytes */
    int64_t batch;          /* that dimension 0 is divided by */
    uint32_t op;            /* in work */
    bool has_failed;        /* out of memory, or */
    bool is_too_long;       /* more passes than anybody has */
    npu_pass spare;         /* to write into when there is no memory at all */
};

/* The id of an operator that has a rule. */
static inline npu_op_id npu_op_id_of(const npu_lowering *l, const ft_op *op) {
    const npu_rule *rule = l->rules[op - l->graph->ops];
    assert(rule != NULL);
    return rule->id;
}

/* Whether the accelerator runs an operator (support.c): its types and sizes, then the constraint of its rule. */
bool npu_supports(const npu_lowering *l, const ft_op *op, const npu_rule *rule);
bool npu_check_conv(const npu_lowering *l, const ft_op *op);
bool npu_check_dense(const npu_lowering *l, const ft_op *op);
bool npu_check_pool(const npu_lowering *l, const ft_op *op);
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

npu_shape npu_shape_of(const npu_lowering *l, const ft_tensor *t);
int32_t npu_bytes_of(const npu_lowering *l, const ft_tensor *t);
bool npu_is_const(const ft_tensor *t);

/* New tensors and passes; FT_NONE and a pass that goes nowhere when out of memory, which l->has_failed tells. */
uint32_t npu_add_tensor(npu_lowering *l, npu_shape shape, int32_t bytes);
uint32_t npu_add_scalar(npu_lowering *l, int32_t bytes, bool is_shapeless);
npu_pass *npu_add_pass(npu_lowering *l, npu_block block, npu_math math);
/* The tensor that an input or output of an operator is. */
npu_view npu_input_view(npu_lowering *l, const ft_op *op, uint32_t i);
uint32_t npu_output(npu_lowering *l, const ft_op *op, uint32_t i);
/* Ends of a pass; the shapes are those of the views, until they are set otherwise. */
void npu_reads(npu_pass *p, npu_view view);
void npu_reads2(npu_pass *p, npu_view view);
void npu_writes(npu_lowering *l, npu_pass *p, uint32_t tensor, npu_shape shape);
npu_view npu_view_of(const npu_lowering *l, uint32_t tensor);
/* Makes one tensor of the graph another name of what a second one is. */
void npu_alias(npu_lowering *l, uint32_t graph_tensor, npu_view view);

npu_activation npu_activation_of(const ft_op *op);
bool npu_has_same_padding(const ft_op *op); /* TensorFlow's padding "SAME" */

/* Each kind of operator (lower_conv.c, lower_map.c, lower_step.c). */
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

/* Puts the steps into the order in which the compiler runs them, and cuts them into segments (order.c). */
ft_status npu_order(npu_lowering *l, ft_error *error);
/* How tensors are stored: plainly, or in bricks (order.c). */
void npu_choose_formats(npu_net *net, bool has_two_cores);

#endif
