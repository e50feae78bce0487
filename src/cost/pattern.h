/* pattern.h - operators that frameworks run as one, seen from memory: what lies inside is neither held nor kept. */
#ifndef COST_PATTERN_H
#define COST_PATTERN_H

#include "cost/params.h"
#include "foretell/cost.h"

typedef struct patterns {
    uint32_t *base;       /* per tensor: what it is an elementwise function of; itself when of nothing else */
    bool *is_joined;      /* per operator: part of an activation spelled out; backward needs the base alone */
    bool *is_score;       /* per tensor: attention scores that never reach memory */
    bool *is_inner_scale; /* per operator: scales what fused attention reads, on the way */
} patterns;

/* False when out of memory. */
bool patterns_find(const ft_graph *graph, const ft_cost_options *options, const param_marks *params, arena *memory,
                   patterns *found);

/* A stored scale after a norm: backward makes the normalised input again from what the norm keeps. */
bool pattern_is_norm_scale(const ft_graph *graph, const ft_op *op, const param_marks *params);

/* A transpose of the last two dimensions for matrix products alone, which read their operands either way. */
bool pattern_is_turned_operand(const ft_graph *graph, const ft_op *op);

/* A pad that an average pool does itself. */
bool pattern_is_pool_pad(const ft_graph *graph, const ft_op *op);

/* A gather of one place of an axis, as x[0] is exported. */
bool pattern_is_one_of(const ft_graph *graph, const ft_op *op);

#endif
