/* fuzz_operator.c - any bytes as an operator written as text: three lines, its name, its inputs, its attributes. A
 * graph that is made goes on to costs and fusion. */
#include <stdlib.h>
#include <string.h>

#include "data/kernels/operator_text.h"
#include "downstream.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char *text = calloc(1, size + 1), *lines[3], *rest = text;
    ft_graph *graph;
    ft_error error;
    if (text == NULL) return 0;
    if (size > 0) memcpy(text, data, size);
    for (int i = 0; i < 3; i++) {
        char *line = rest != NULL ? strsep(&rest, "\n") : NULL;
        lines[i] = line != NULL ? line : text + size;
    }
    operator_text operator_lines = {lines[0], lines[1], lines[2]};
    if (operator_text_graph(&operator_lines, &graph, &error) == FT_OK) {
        downstream(graph, &error);
        ft_graph_free(graph);
    }
    free(text);
    return 0;
}
