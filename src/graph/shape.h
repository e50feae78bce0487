/* shape.h - how shape and fold rules see the operator they work on.
 *
 * Binding walks the operators in order. For each it calls the shape rule of its table entry, which reads the shapes
 * (and small values) of the inputs and sets those of the outputs. A rule that cannot tell leaves an output alone: what
 * the file declares is then taken. A rule that finds a contradiction fails with shape_bad(), and binding stops.
 * When all inputs of an operator have values, its fold rule computes those of the outputs. */
#ifndef GRAPH_SHAPE_H
#define GRAPH_SHAPE_H

#include "graph/graph.h"
#include "graph/rules.h"

struct infer {
    ft_graph *graph; /* being bound */
    const ft_op *op;
    ft_error *error;
};

/* Input `i`, or NULL when it is absent. */
static inline const ft_tensor *in_at(const infer *in, uint32_t i) {
    return op_input(in->graph, in->op, i);
}

/* Input `i` when it is there and its shape is known, or NULL. */
const ft_tensor *in_known(const infer *in, uint32_t i);

/* Sets the shape of an output that is asked for. The type stays when it is known already, else becomes `dtype`. */
ft_status out_set(infer *in, uint32_t i, ft_dtype dtype, const int64_t *dims, int32_t rank);
ft_status out_like(infer *in, uint32_t i, const ft_tensor *like);

/* "operator 'x' (Conv): ..." as FT_ERR_GRAPH. */
ft_status shape_bad(const infer *in, const char *format, ...) FT_PRINTF(2, 3);

/* The same for an input and weights, or a window without them (NULL), that do not go together. */
ft_status shape_misfit(const infer *in, const ft_tensor *x, const ft_tensor *weight);

/* What a product of an `x` comes out as: of integers it is accumulated in 32 bits; the quantised operators say in their
 * zero point what comes out. */
ft_dtype shape_product_type(const infer *in, const ft_tensor *x);

/* Counts from the end when negative. False when it is out of range for `rank`. */
bool axis_normal(int64_t axis, int32_t rank, int32_t *normal);

/* The integers of attribute `name`, or else those of input `i`; false when neither is known. Many operators moved
 * such operands from attributes to inputs in the course of time. */
bool ints_of(const infer *in, const char *name, uint32_t i, const int64_t **ints, int64_t *count);

/* The elements of input `i` as integers or numbers; false when they are not known. */
bool in_ints(const infer *in, uint32_t i, const int64_t **ints, int64_t *count);
bool in_number(const infer *in, uint32_t i, double *number);
/* The first element of input `i` as a size or an axis: false also when it is no number up to FT_MAX_DIM. */
bool in_size(const infer *in, uint32_t i, int64_t *size);

/* Marks the axes listed in attribute "axes" or input `i` in `is_axis`. *has_axes says whether there were any. False,
 * when they cannot be known. */
bool axes_of(const infer *in, uint32_t i, int32_t rank, bool is_axis[FT_MAX_RANK], bool *has_axes);

/* The shape two shapes broadcast to. False when they do not fit. */
bool broadcast_dims(const ft_tensor *a, const ft_tensor *b, int64_t dims[FT_MAX_RANK], int32_t *rank);

/* How often the body of a loop runs, as far as is known at this point: at least 1. */
uint64_t loop_trips(const ft_graph *graph, uint32_t loop);

#endif
