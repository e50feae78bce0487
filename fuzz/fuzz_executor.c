/* fuzz_executor.c - any bytes as graph-executor JSON: edges must point backwards, and as a model it can be bound. */
#include <stdlib.h>

#include "foretell/graph.h"

#include "read/executor_json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    executor_graph graph;
    ft_error error;
    executor_matches(data, size);
    if (executor_read(data, size, &graph, &error) == FT_OK) {
        for (uint32_t i = 0; i < graph.node_count; i++) {
            const executor_node *node = &graph.nodes[i];
            if (node->name == NULL || node->first_output + node->output_count > graph.output_count) abort();
            for (uint32_t k = 0; k < node->input_count; k++) {
                if (node->inputs[k] >= i) abort();
            }
        }
    }
    executor_free(&graph);
    ft_graph *model = NULL, *bound = NULL;
    if (ft_graph_read_memory(data, size, "fuzz", &model, &error) == FT_OK)
        ft_graph_bind(model, &(ft_binding){.batch = 2}, &bound, &error);
    ft_graph_free(bound);
    ft_graph_free(model);
    return 0;
}
