/* flow_read.c - reading flows from files: a table with a column "after", or TVM's graph.json. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/input.h"
#include "read/executor_json.h"
#include "replay/flow.h"
#include "replay/times.h"

/* --- TVM ---------------------------------------------------------------------------------------------------------- */

static const char *strip_prefix(const char *text, const char *prefix) {
    size_t length = strlen(prefix);
    return strncmp(text, prefix, length) == 0 && text[length] != '\0' ? text + length : text;
}

/* "tvmgen_default_fused_nn_conv2d_add_nn_relu" is of type "nn_conv2d_add_nn_relu". */
static const char *type_of(const char *function) {
    return strip_prefix(strip_prefix(function, "tvmgen_default_"), "fused_");
}

static ft_status add_node(ft_flow *flow, const executor_node *node, uint64_t line, uint32_t *index, ft_error *error) {
    bool is_free = strcmp(node->func_name, "__nop") == 0;
    char *function = arena_string(&flow->memory, node->func_name, strlen(node->func_name));
    ft_flow_kernel kernel = {.name = arena_string(&flow->memory, node->name, strlen(node->name)),
                             .time_us = is_free ? 0 : NAN,
                             .backward_us = is_free ? 0 : NAN};
    flow_kernel_info info = {
        .line = line, .other_name = function, .backward_ratio = FLOW_ASSUMED_BACKWARD_RATIO, .is_free = is_free};
    if (function == NULL || kernel.name == NULL) return FT_NOMEM(error);
    kernel.type = type_of(function);
    return flow_add(flow, &kernel, &info, index, error);
}

static ft_status fill_from_nodes(ft_flow *flow, const executor_graph *graph, const uint64_t *lines, uint32_t *kernel_of,
                                 ft_error *error) {
    flow->is_backward_assumed = true;
    for (uint32_t i = 0; i < graph->node_count; i++) {
        const executor_node *node = &graph->nodes[i];
        kernel_of[i] = FT_NONE;
        if (node->func_name == NULL) continue; /* an input or weights */
        FT_TRY(add_node(flow, node, lines[i], &kernel_of[i], error));
        for (uint32_t j = 0; j < node->input_count; j++) {
            uint32_t before = kernel_of[node->inputs[j]];
            if (before != FT_NONE) FT_TRY(flow_add_dependency(flow, before, kernel_of[i], error));
        }
    }
    return flow->count > 0 ? flow_finish(flow, error)
                           : ft_fail(error, FT_ERR_GRAPH, "%s: none of its nodes runs a function", flow->name);
}

enum { DEPTH_OF_NODES = 3 }; /* nodes are objects in a list in an object */

static ft_status flow_from_nodes(const executor_graph *graph, const input *in, const char *name, ft_flow **flow,
                                 ft_error *error) {
    ft_flow *made;
    FT_TRY(flow_new(name, &made, error));
    uint64_t *lines = ARENA_ARRAY(&made->memory, uint64_t, (size_t)graph->node_count + 1);
    uint32_t *kernel_of = ARENA_ARRAY(&made->memory, uint32_t, (size_t)graph->node_count + 1);
    ft_status status = lines != NULL && kernel_of != NULL ? FT_OK : FT_NOMEM(error);
    if (status == FT_OK) {
        json_object_lines((const char *)in->bytes, in->size, DEPTH_OF_NODES, lines, graph->node_count);
        status = fill_from_nodes(made, graph, lines, kernel_of, error);
    }
    if (status == FT_OK)
        *flow = made;
    else
        ft_flow_free(made);
    return status;
}

/* Prefixes a message with the file, and the line of the node it is about. */
static void prefix_location(const input *in, const char *name, uint32_t node, ft_status status, ft_error *error) {
    uint64_t *lines = status != FT_ERR_NOMEM ? calloc((size_t)node + 1, sizeof *lines) : NULL;
    uint32_t found = 0;
    if (lines != NULL) found = json_object_lines((const char *)in->bytes, in->size, DEPTH_OF_NODES, lines, node + 1);
    if (found > node && error != NULL && strncmp(error->message, "node ", 5) == 0)
        ft_fail_prefix(error, status, "%s: line %llu", name, (unsigned long long)lines[node]);
    else
        ft_fail_prefix(error, status, "%s", name);
    free(lines);
}

static ft_status read_executor(const input *in, const char *name, ft_flow **flow, ft_error *error) {
    executor_graph graph;
    ft_status status = executor_read(in->bytes, in->size, &graph, error);
    if (status != FT_OK)
        prefix_location(in, name, graph.node_count, status, error);
    else
        status = flow_from_nodes(&graph, in, name, flow, error);
    executor_free(&graph);
    return status;
}

/* --- Files ------------------------------------------------------------------------------------------------------ */

static ft_status read_table(const input *in, const char *name, ft_flow **flow, ft_error *error) {
    ft_times *times;
    FT_TRY(ft_times_read_memory(in->bytes, in->size, name, false, &times, error));
    ft_status status =
        times->has_after
            ? flow_from_rows(times, flow, error)
            : ft_fail(error, FT_ERR_USAGE, "%s: a table of times, but not a flow: it has no column 'after'", name);
    ft_times_free(times);
    return status;
}

ft_status flow_read_memory(const void *bytes, size_t size, const char *name, ft_flow **flow, ft_error *error) {
    const input in = {.bytes = bytes, .size = size};
    return executor_matches(bytes, size) ? read_executor(&in, name, flow, error) : read_table(&in, name, flow, error);
}

ft_status ft_flow_read(const char *path, ft_flow **flow, ft_error *error) {
    FT_REQUIRE(error, path, flow);
    input in;
    FT_TRY(input_open(path, FT_MAX_UNPACKED_BYTES, &in, error));
    ft_status status = flow_read_memory(in.bytes, in.size, path, flow, error);
    input_close(&in);
    return status;
}
