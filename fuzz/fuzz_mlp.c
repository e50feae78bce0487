/* fuzz_mlp.c - any bytes as a list of layers of a multi-layer perceptron. A graph that is made goes on to costs and
 * fusion. */
#include <stdlib.h>
#include <string.h>

#include "data/import.h"
#include "downstream.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char *text = calloc(1, size + 1);
    ft_graph *graph;
    ft_error error;
    if (text == NULL) return 0;
    if (size > 0) memcpy(text, data, size);
    if (mlp_graph(text, &graph, &error) == FT_OK) {
        downstream(graph, &error);
        ft_graph_free(graph);
    }
    free(text);
    return 0;
}
