/* fuzz_tflite.c - any bytes as a TFLite model: read, bound as it is and to another batch, and costed. */
#include <stddef.h>
#include <stdint.h>

#include "foretell/cost.h"
#include "read/read.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void bind_and_cost(const ft_graph *graph, int64_t batch) {
    ft_graph *bound = NULL;
    ft_error error;
    ft_cost cost;
    ft_memory memory;
    ft_cost_options options = ft_cost_options_default();
    options.mode = FT_TRAIN;
    if (ft_graph_bind(graph, &(ft_binding){.batch = batch}, &bound, &error) != FT_OK) return;
    if (ft_cost_compute(bound, &options, &cost, &error) == FT_OK) ft_cost_free(&cost);
    (void)ft_memory_plan(bound, &options, &memory, NULL, NULL, &error);
    ft_graph_free(bound);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    ft_graph *graph = NULL;
    ft_error error;
    tflite_reader.matches(data, size);
    if (tflite_reader.read(data, size, &(read_origin){.path = "fuzz"}, &graph, &error) != FT_OK) return 0;
    bind_and_cost(graph, 0);
    bind_and_cost(graph, 3);
    ft_graph_free(graph);
    return 0;
}
