/* fuzz_nnmeter.c - any bytes as nn-Meter IR, which is then bound. */
#include <stddef.h>
#include <stdint.h>

#include "read/read.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const read_origin origin = {.path = "fuzz.json"};
    ft_graph *graph = NULL, *bound = NULL;
    ft_error error;
    nnmeter_reader.matches(data, size);
    if (nnmeter_reader.read(data, size, &origin, &graph, &error) != FT_OK) return 0;
    ft_graph_bind(graph, NULL, &bound, &error);
    ft_graph_free(bound);
    ft_graph_free(graph);
    return 0;
}
