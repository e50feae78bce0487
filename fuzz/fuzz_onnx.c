/* fuzz_onnx.c - any bytes as an ONNX file: the reader must end with a graph or with an error, and leave nothing behind.
 *
 * The reader is called directly, so that bytes which do not look like ONNX at the top level reach it too. */
#include <stdint.h>

#include "foretell/graph.h"
#include "read/read.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const read_origin origin = {.path = "fuzz", .has_neighbours = false};
    ft_graph *graph = NULL, *bound = NULL;
    ft_error error;
    onnx_reader.matches(data, size);
    if (onnx_reader.read(data, size, &origin, &graph, &error) != FT_OK) return 0;
    if (ft_graph_op_count(graph) < 1000 && ft_graph_bind(graph, NULL, &bound, &error) == FT_OK) ft_graph_free(bound);
    ft_graph_free(graph);
    return 0;
}
