/* pattern.h - operators that frameworks run as one kernel: tensors inside of it are neither stored nor kept.
 *
 * Exporters write activations, norms and attention as several operators, so the memory of a step is overestimated
 * unless they are recognised. pattern.c finds activations, norms and views, attention.c finds attention. */
#ifndef COST_PATTERN_H
#define COST_PATTERN_H

#include "cost/params.h"
#include "foretell/cost.h"

typedef struct patterns {
    uint32_t *base;           /* per tensor: the tensor it is an elementwise function of, or itself */
    bool *is_fused;           /* per operator: part of a decomposed activation; backward needs only the base */
    bool *is_score;           /* per tensor: attention scores that are never stored in memory */
    bool *is_attention_scale; /* per operator: scales an input of fused attention, inside of its kernel */
} patterns;

/* False when out of memory. */
bool patterns_find(const ft_graph *graph, const ft_cost_options *options, const param_marks *params, arena *memory,
                   patterns *found);

/* Sets is_score and is_attention_scale. */
void attention_find(const ft_graph *graph, const param_marks *params, patterns *found);

/* A stored scale after a norm: backward recomputes the normalised input from what the norm keeps. */
bool pattern_is_norm_scale(const ft_graph *graph, const ft_op *op, const param_marks *params);

/* A transpose of the last two dimensions that only matrix products read: they accept operands in either layout. */
bool pattern_is_transposed_operand(const ft_graph *graph, const ft_op *op);

/* A pad that only average pools read: frameworks pad inside of the pool. */
bool pattern_is_pool_pad(const ft_graph *graph, const ft_op *op);

/* A gather of one position of an axis, the export of x[0]. */
bool pattern_is_single_index(const ft_graph *graph, const ft_op *op);

#endif
