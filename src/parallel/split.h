/* split.h - the plan of a split: which dimension of each tensor is divided between tensor-parallel ranks.
 *
 *   split_rules.c  what an operator accepts: backwards, from a result that is divided to its inputs
 *   split_plan.c   the plan of a whole graph
 *   split_weights.c parts of stored tensors
 *   split_graph.c  the graph of a rank, with collectives */
#ifndef PARALLEL_SPLIT_H
#define PARALLEL_SPLIT_H

#include "cost/layers.h"
#include "foretell/parallel.h"
#include "graph/geometry.h"

enum { SHARD_WHOLE = -1, SHARD_ANY = -2 };

/* The part of a tensor that a rank has: `local` of the elements along `axis`. SHARD_WHOLE: all of it; SHARD_ANY: a
 * reader does not care. */
typedef struct shard {
    int32_t axis;
    int64_t local;
} shard;

/* How an operator is divided. */
typedef enum split_kind {
    SPLIT_NONE,    /* it runs on the parts that it is given */
    SPLIT_COLUMNS, /* of a matrix: each rank has a part of the result */
    SPLIT_ROWS,    /* of a matrix: results are to be summed, and so are those of the kinds below */
    SPLIT_EXPERTS,
    SPLIT_TABLE,
} split_kind;

typedef struct split_plan {
    const ft_graph *graph;
    ft_parallel ranks; /* without zeros */
    arena *memory;
    model_layers layers;
    shard *wanted;   /* per tensor: the part that all its readers can take */
    shard *held;     /* per tensor: the part that a rank has */
    shard *inner;    /* per tensor: a second dimension that is divided, of weights of experts */
    uint8_t *kinds;  /* per operator: split_kind */
    uint32_t lookup; /* operator that looks up the largest table before the first layer, or FT_NONE */
    ft_error *error;
} split_plan;

static inline bool split_is_partial(split_kind kind) {
    return kind >= SPLIT_ROWS;
}

static inline bool shard_is_part(shard s) {
    return s.axis >= 0;
}

static inline bool shard_is_same(shard a, shard b) {
    return a.axis == b.axis && (a.axis < 0 || a.local == b.local);
}

/* Sizes of attention on a rank. FT_ERR_USAGE when the heads cannot be divided. */
typedef struct local_heads {
    int64_t heads, kv_heads;
} local_heads;

ft_status split_heads(const split_plan *plan, const ft_op *op, const attention_geometry *g, local_heads *local);

/* The part of input `i` that operator `op` can take, given what its readers can take of its results. */
ft_status split_accept(const split_plan *plan, const ft_op *op, uint32_t i, shard *accepted);

/* Whether an operator is a product of data and a stored matrix. */
bool split_is_linear(const ft_graph *graph, const ft_op *op);

/* Makes the plan of `graph` for `ranks`, which are set. */
ft_status split_plan_make(split_plan *plan);

/* Parts of the stored inputs of operators. */
void split_columns(split_plan *plan, const ft_op *op, int64_t local);
void split_rows(split_plan *plan, const ft_op *op, int64_t local);
ft_status split_experts(split_plan *plan, const ft_op *op);
void split_aligned(split_plan *plan, const ft_op *op);
void split_static(split_plan *plan, uint32_t tensor, shard part);

#endif
