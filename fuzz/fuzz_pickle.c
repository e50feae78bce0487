/* fuzz_pickle.c - any bytes as a pickled graph, which is then bound. */
#include <stddef.h>
#include <stdint.h>

#include "read/read.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const read_origin origin = {.path = "bs2_fuzz_s['vggnet', 'vggnet', 'vggnet', 'vggnet']_bnum.pkl"};
    ft_graph *graph = NULL, *bound = NULL;
    ft_error error;
    perfseer_reader.matches(data, size);
    if (perfseer_reader.read(data, size, &origin, &graph, &error) != FT_OK) return 0;
    ft_graph_bind(graph, NULL, &bound, &error);
    ft_graph_free(bound);
    ft_graph_free(graph);
    return 0;
}
