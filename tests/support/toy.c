/* toy.c - small graphs written by hand in tests. */
#include "support/toy.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void must(ft_status status, const ft_error *error) {
    if (status == FT_OK) return;
    fprintf(stderr, "toy graph: %s\n", error->message);
    abort();
}

ft_graph *toy_graph(ft_format format, ft_layout layout) {
    ft_graph *graph = NULL;
    ft_error error;
    must(graph_new(format, layout, "toy", &graph, &error), &error);
    return graph;
}

uint32_t toy_tensor(ft_graph *graph, ft_role role, ft_dtype dtype, ...) {
    char name[24];
    snprintf(name, sizeof name, "t%u", graph->tensor_count);
    ft_tensor spec = {.name = name, .dtype = dtype, .role = role, .is_batched = role != FT_CONSTANT};
    va_list dims;
    va_start(dims, dtype);
    for (int dim = va_arg(dims, int); dim != TOY_END; dim = va_arg(dims, int)) spec.dims[spec.rank++] = dim;
    va_end(dims);
    uint32_t index = FT_NONE;
    ft_error error;
    must(graph_add_tensor(graph, &spec, &index, &error), &error);
    if (role == FT_INPUT) must(graph_add_input(graph, index, &error), &error);
    return index;
}

void toy_op_full(ft_graph *graph, const ft_op *spec) {
    ft_error error;
    must(graph_add_op(graph, spec, &error), &error);
}

uint32_t toy_op(ft_graph *graph, const char *type, uint32_t a, uint32_t b, uint32_t c, uint32_t output) {
    char name[24];
    snprintf(name, sizeof name, "op%u", graph->op_count);
    uint32_t inputs[3] = {a, b, c};
    ft_op spec = {.name = name, .type = type, .inputs = inputs, .outputs = &output, .output_count = 1};
    spec.input_count = c != FT_NONE ? 3 : b != FT_NONE ? 2 : 1;
    toy_op_full(graph, &spec);
    return output;
}

ft_attr toy_int(ft_graph *graph, const char *name, int64_t value) {
    ft_attr attr = {0};
    ft_error error;
    must(graph_attr_int(graph, &attr, name, value, &error), &error);
    return attr;
}

ft_attr toy_ints(ft_graph *graph, const char *name, int64_t a, int64_t b) {
    ft_attr attr = {0};
    ft_error error;
    int64_t values[] = {a, b};
    must(graph_attr_ints(graph, &attr, name, values, 2, &error), &error);
    return attr;
}

void toy_attrs(ft_graph *graph, const ft_attr *attrs, uint32_t count) {
    ft_op *last = &graph->ops[graph->op_count - 1];
    last->attrs = arena_copy(&graph->memory, attrs, count * sizeof *attrs);
    last->attr_count = count;
}

void toy_finish(ft_graph *graph, uint32_t output, int64_t batch, int64_t exported) {
    ft_error error;
    must(graph_add_output(graph, output, &error), &error);
    must(graph_finish(graph, &error), &error);
    if (!graph_mark_bound(graph, batch, exported)) abort();
}
