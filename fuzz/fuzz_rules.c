/* fuzz_rules.c - any bytes as fusion rules; rules that load are applied to a graph with candidates for every
 * pattern. */
#include <stdlib.h>

#include "foretell/kernel.h"
#include "graph/fuse.h"

/* Binary operators on earlier results; every third reads a constant. */
static ft_graph *make_graph(void) {
    static const char *const types[] = {"Conv",    "BatchNormalization",
                                        "Relu",    "Add",
                                        "Mul",     "Sigmoid",
                                        "Mul",     "Reshape",
                                        "Mean",    "Transpose",
                                        "Reshape", "MatMul",
                                        "Div",     "Erf",
                                        "Add",     "Mul",
                                        "Softmax", "Identity"};
    enum { COUNT = 54 };
    ft_graph *graph = NULL;
    if (graph_new(FT_FORMAT_ONNX, FT_NCHW, "fuzz", &graph, NULL) != FT_OK) abort();
    uint32_t made[COUNT + 1], constant;
    ft_tensor spec = {.name = "", .dtype = FT_FLOAT32, .role = FT_INPUT, .rank = 2, .dims = {4, 4}};
    if (graph_add_tensor(graph, &spec, &made[0], NULL) != FT_OK) abort();
    if (graph_add_input(graph, made[0], NULL) != FT_OK) abort();
    spec.role = FT_CONSTANT;
    spec.rank = 0;
    if (graph_add_tensor(graph, &spec, &constant, NULL) != FT_OK) abort();
    spec.role = FT_ACTIVATION;
    spec.rank = 2;
    for (uint32_t i = 0; i < COUNT; i++) {
        if (graph_add_tensor(graph, &spec, &made[i + 1], NULL) != FT_OK) abort();
        uint32_t inputs[2] = {made[i], i % 3 == 0 ? constant : made[i / 2]};
        ft_op op = {.name = "", .type = types[i % 18], .inputs = inputs, .input_count = 2, .outputs = &made[i + 1]};
        op.output_count = 1;
        if (graph_add_op(graph, &op, NULL) != FT_OK) abort();
    }
    if (graph_add_output(graph, made[COUNT], NULL) != FT_OK || graph_finish(graph, NULL) != FT_OK) abort();
    if (!graph_mark_bound(graph, 1, 1)) abort();
    return graph;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static ft_graph *graph;
    if (graph == NULL) graph = make_graph();
    ft_rules *rules = NULL;
    ft_error error;
    if (rules_parse((const char *)data, size, "fuzz", &rules, &error) != FT_OK) return 0;
    ft_kernels kernels = {0};
    if (ft_graph_fuse(graph, rules, &kernels, &error) == FT_OK) {
        uint32_t placed = 0;
        for (uint32_t i = 0; i < kernels.count; i++) placed += kernels.items[i].op_count;
        if (placed != ft_graph_op_count(graph)) abort();
    }
    ft_kernels_free(&kernels);
    ft_rules_free(rules);
    return 0;
}
