/* reads.h - shares of tensors that an operator reads or writes where it does not touch all of them. */
#ifndef COST_READS_H
#define COST_READS_H

#include "base/num.h"
#include "graph/graph.h"

/* `part` of `whole`; a whole of 0 means all. */
typedef struct tensor_share {
    uint64_t part, whole;
} tensor_share;

/* Rows of a table that are looked up, the filled part of a cache, the experts that run. */
tensor_share reads_of_input(const ft_graph *graph, const ft_op *op, uint32_t i);
/* New rows of a cache that the operator appends to in place. */
tensor_share writes_of_output(const ft_graph *graph, const ft_op *op, uint32_t i);

static inline uint64_t share_of(uint64_t bytes, tensor_share share) {
    return share.whole == 0 || share.part >= share.whole ? bytes : num_scale_sat(bytes, share.part, share.whole);
}

#endif
