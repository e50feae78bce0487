/* params.h - what each tensor is to training: parameter, buffer, or neither; and what gradients flow through.
 *
 * Computed once per graph; counts, the backward pass and the memory timeline all read it. */
#ifndef COST_PARAMS_H
#define COST_PARAMS_H

#include "base/arena.h"
#include "foretell/cost.h"
#include "graph/graph.h"
#include "graph/opdef.h"

enum {
    MARK_STATIC = 1 << 0,   /* known before the run: stored, or made from what is stored */
    MARK_PARAM = 1 << 1,    /* a stored tensor that training would change */
    MARK_BUFFER = 1 << 2,   /* a stored tensor that it would not: running statistics, tables */
    MARK_GRADIENT = 1 << 3, /* a gradient flows into it: a parameter, or made from one */
};

typedef struct param_marks {
    uint8_t *marks; /* per tensor */
    uint32_t *home; /* per tensor: the first operator with work of its own that reads it, or FT_NONE */
    uint32_t *last; /* per tensor: the last one */
} param_marks;

/* False when out of memory. */
bool params_mark(const ft_graph *graph, arena *memory, param_marks *marks);
/* Those that a cost was computed with, which owns them. */
const param_marks *params_of_cost(const ft_cost *cost);

static inline bool tensor_has(const param_marks *m, uint32_t tensor, uint8_t mark) {
    return tensor != FT_NONE && (m->marks[tensor] & mark) != 0;
}

/* A gradient flows back through the operator: from an output that has one into an input that has one. */
bool params_op_has_gradient(const param_marks *marks, const ft_op *op);

#endif
