/* ops.h - groups of columns that entries of the operator table share (ops.c, ops_contrib.c). */
#ifndef GRAPH_OPS_H
#define GRAPH_OPS_H

#include "graph/graph.h"
#include "graph/shape.h"

#define BIT(i) (UINT32_C(1) << (i))

#define UNARY(n)                                                                                                       \
    .op_class = FT_CLASS_ELEMENTWISE, .shape = shape_same, .fold = fold_unary, .cost = COST_ELEMENTWISE, .flops = (n)
#define ACTIVATION(n)                                                                                                  \
    .op_class = FT_CLASS_ACTIVATION, .shape = shape_same, .fold = fold_unary, .cost = COST_ELEMENTWISE, .flops = (n)
#define BINARY(n)                                                                                                      \
    .op_class = FT_CLASS_ELEMENTWISE, .shape = shape_broadcast, .fold = fold_binary, .cost = COST_ELEMENTWISE,         \
    .flops = (n)
#define COMPARE                                                                                                        \
    .op_class = FT_CLASS_ELEMENTWISE, .shape = shape_compare, .fold = fold_binary, .cost = COST_ELEMENTWISE,           \
    .flops = 1, .flags = OP_BROADCASTS | OP_NO_GRADIENT
#define REDUCE(n)                                                                                                      \
    .op_class = FT_CLASS_REDUCE, .shape = shape_reduce, .fold = fold_reduce, .cost = COST_INPUTWISE, .flops = (n),     \
    .aux_inputs = BIT(1)
#define VIEW(rule)                                                                                                     \
    .op_class = FT_CLASS_VIEW, .shape = (rule), .fold = fold_copy, .cost = COST_FREE, .flags = OP_VIEW,                \
    .aux_inputs = ~1U
#define QUANT .op_class = FT_CLASS_QUANT
#define SHAPE .op_class = FT_CLASS_SHAPE, .cost = COST_FREE, .flags = OP_NO_GRADIENT

/* The operators of ONNX Runtime's own domain (ops_contrib.c). */
extern const ft_opdef opdef_contrib[];
extern const uint32_t opdef_contrib_count;

#endif
