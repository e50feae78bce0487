/* toy.h - small graphs written by hand in tests: one call per tensor, one per operator.
 *
 * A failure aborts the test program: a graph that cannot be built is a bug of the test. */
#ifndef TESTS_TOY_H
#define TESTS_TOY_H

#include "graph/graph.h"
#include "graph/opdef.h"

enum { TOY_END = -1 }; /* ends the dimensions */

ft_graph *toy_graph(ft_format format, ft_layout layout);

/* Dimensions follow and end with TOY_END, all of them int. */
uint32_t toy_tensor(ft_graph *graph, ft_role role, ft_dtype dtype, ...);
#define toy_input(graph, ...)  toy_tensor((graph), FT_INPUT, FT_FLOAT32, __VA_ARGS__, TOY_END)
#define toy_weight(graph, ...) toy_tensor((graph), FT_CONSTANT, FT_FLOAT32, __VA_ARGS__, TOY_END)
#define toy_value(graph, ...)  toy_tensor((graph), FT_ACTIVATION, FT_FLOAT32, __VA_ARGS__, TOY_END)

/* Up to three inputs (FT_NONE for none) and one output, which is returned. `type` is looked up in the table. */
uint32_t toy_op(ft_graph *graph, const char *type, uint32_t a, uint32_t b, uint32_t c, uint32_t output);
/* The same in full. */
void toy_op_full(ft_graph *graph, const ft_op *spec);

/* An attribute of an operator. */
ft_attr toy_int(ft_graph *graph, const char *name, int64_t value);
ft_attr toy_ints(ft_graph *graph, const char *name, int64_t a, int64_t b);
/* Sets the attributes of the last operator. */
void toy_attrs(ft_graph *graph, const ft_attr *attrs, uint32_t count);

/* Marks the outputs, finishes the graph, and marks it as bound: every tensor that is not constant grows with
 * the batch. `batch` other than `exported` makes a scaled graph. */
void toy_finish(ft_graph *graph, uint32_t output, int64_t batch, int64_t exported);

#endif
