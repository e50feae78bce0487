/* macs.h - multiply-accumulates of one operator. */
#ifndef COST_MACS_H
#define COST_MACS_H

#include "graph/graph.h"
#include "graph/opdef.h"

/* All at the exported batch, for one run of the operator. */
typedef struct op_macs {
    uint64_t with_weights; /* between data and the weight operand */
    uint64_t between_data; /* between two activations: the scores of attention */
    uint64_t extra_flops;  /* bias, gates, softmax: all that is not a MAC */
} op_macs;

enum { SOFTMAX_FLOPS = 8 }; /* per attention score, part of extra_flops */

/* Parts of macs_of, in macs_attention.c. */
bool macs_of_attention(const ft_graph *graph, const ft_op *op, op_macs *macs);
bool macs_of_linear_attention(const ft_graph *graph, const ft_op *op, op_macs *macs);
bool macs_of_experts(const ft_graph *graph, const ft_op *op, op_macs *macs);

/* False when the operator is not a product, or its shapes are not known. */
bool macs_of(const ft_graph *graph, const ft_op *op, op_macs *macs);

#endif
