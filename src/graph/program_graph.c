/* program_graph.c - see program_graph.h. */
#include "graph/program_graph.h"

#include <string.h>

static const char TYPE[] = "TensorProgram", TEXT[] = "text";

static ft_status fill(ft_graph *graph, const char *text, ft_error *error) {
    ft_tensor result = {.name = "result", .dtype = FT_FLOAT32, .role = FT_ACTIVATION, .rank = -1};
    ft_attr *attr = ARENA_ARRAY(&graph->memory, ft_attr, 1);
    uint32_t output;
    if (attr == NULL) return FT_NOMEM(error);
    FT_TRY(graph_attr_string(graph, attr, TEXT, text, error));
    FT_TRY(graph_add_tensor(graph, &result, &output, error));
    ft_op op = {.name = "", .type = TYPE, .outputs = &output, .output_count = 1, .attrs = attr, .attr_count = 1};
    FT_TRY(graph_add_op(graph, &op, error));
    FT_TRY(graph_add_output(graph, output, error));
    return graph_finish(graph, error);
}

ft_status program_graph_new(const char *text, ft_graph **graph, ft_error *error) {
    ft_graph *made = NULL;
    FT_TRY(graph_new(FT_FORMAT_UNKNOWN, FT_NCHW, "program", &made, error));
    ft_status status = fill(made, text, error);
    if (status != FT_OK) {
        ft_graph_free(made);
        return status;
    }
    *graph = made;
    return FT_OK;
}

const char *program_graph_text(const ft_graph *graph) {
    if (graph->op_count != 1 || strcmp(graph->ops[0].type, TYPE) != 0) return NULL;
    return op_attr_string(&graph->ops[0], TEXT, NULL);
}
