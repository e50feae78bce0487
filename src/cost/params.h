/* params.h - the role of each tensor in training: parameter, buffer, or neither; and whether gradients flow into it.
 *
 * Computed once per graph; the counts, the backward pass and the memory timeline read it. */
#ifndef COST_PARAMS_H
#define COST_PARAMS_H

#include "base/arena.h"
#include "foretell/cost.h"
#include "graph/graph.h"
#include "graph/opdef.h"

enum {
    MARK_STATIC = 1 << 0,   /* constant: stored, or computed from stored tensors alone */
    MARK_PARAM = 1 << 1,    /* a stored tensor that training updates */
    MARK_BUFFER = 1 << 2,   /* a stored tensor that training does not update: running statistics, tables */
    MARK_GRADIENT = 1 << 3, /* a gradient flows into it: a parameter, or computed from one */
    MARK_SCALE = 1 << 4,    /* with MARK_BUFFER: scales and zero points of quantised parameters */
};

typedef struct param_marks {
    uint8_t *marks;         /* per tensor */
    uint32_t *first_reader; /* per tensor: the first operator that reads it and is not folded, or FT_NONE */
    uint32_t *last_reader;  /* per tensor: the last one */
} param_marks;

/* False when out of memory. */
bool params_mark(const ft_graph *graph, arena *memory, param_marks *marks);

static inline bool tensor_has(const param_marks *m, uint32_t tensor, uint8_t mark) {
    return tensor != FT_NONE && (m->marks[tensor] & mark) != 0;
}

/* A gradient flows back through the operator: into at least one of its data inputs. */
bool params_op_has_gradient(const param_marks *marks, const ft_op *op);

#endif
