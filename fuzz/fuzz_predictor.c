/* fuzz_predictor.c - any bytes as a predictor file; one that opens must predict.
 *
 * The checksum is corrected first, as no fuzzer would find it, so that the content behind it is reached. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "foretell/predictor.h"
#include "graph/graph.h"

/* Two matrix products with something in between. */
static ft_graph *make_graph(void) {
    static const char *const types[] = {"MatMul", "Relu", "MatMul", "Softmax", "Oracle"};
    ft_graph *graph = NULL;
    if (graph_new(FT_FORMAT_ONNX, FT_NCHW, "fuzz", &graph, NULL) != FT_OK) abort();
    uint32_t made, weight, out;
    ft_tensor spec = {.name = "", .dtype = FT_FLOAT32, .role = FT_INPUT, .rank = 2, .dims = {8, 8}};
    if (graph_add_tensor(graph, &spec, &made, NULL) != FT_OK) abort();
    if (graph_add_input(graph, made, NULL) != FT_OK) abort();
    spec.role = FT_CONSTANT;
    if (graph_add_tensor(graph, &spec, &weight, NULL) != FT_OK) abort();
    spec.role = FT_ACTIVATION;
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        if (graph_add_tensor(graph, &spec, &out, NULL) != FT_OK) abort();
        uint32_t inputs[2] = {made, weight};
        ft_op op = {.name = "", .type = types[i], .inputs = inputs, .outputs = &out, .output_count = 1};
        op.input_count = i % 2 == 0 && i < 4 ? 2 : 1;
        if (graph_add_op(graph, &op, NULL) != FT_OK) abort();
        made = out;
    }
    if (graph_add_output(graph, made, NULL) != FT_OK || graph_finish(graph, NULL) != FT_OK) abort();
    if (!graph_mark_bound(graph, 1, 1)) abort();
    return graph;
}

static void seal(uint8_t *bytes, size_t size) {
    hash128 hash = hash_bytes(bytes, size - 16);
    for (size_t i = 0; i < 8; i++) {
        bytes[size - 16 + i] = (uint8_t)(hash.low >> 8 * i);
        bytes[size - 8 + i] = (uint8_t)(hash.high >> 8 * i);
    }
}

static void predict(const ft_predictor *predictor, const ft_graph *graph) {
    for (uint32_t i = 0; i < ft_predictor_device_count(predictor) && i < 4; i++) {
        ft_request request = {.device = ft_predictor_device(predictor, i)};
        ft_result answer = {0};
        if (ft_predictor_predict(predictor, graph, &request, &answer, NULL) != FT_OK) continue;
        double sum = 0, value = answer.metrics[0].value;
        for (uint32_t j = 0; j < answer.metrics[0].part_count; j++) sum += answer.metrics[0].parts[j].value;
        if (!isfinite(value) || (answer.metrics[0].part_count > 0 && fabs(sum - value) > 1e-6 * value)) abort();
        ft_result_free(&answer);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static ft_graph *graph;
    if (graph == NULL) graph = make_graph();
    uint8_t *bytes = malloc(size > 0 ? size : 1);
    if (bytes == NULL) return 0;
    if (size > 0) memcpy(bytes, data, size);
    if (size >= 48) seal(bytes, size);
    ft_predictor *predictor = NULL;
    ft_error error;
    if (ft_predictor_open_memory(bytes, size, "fuzz", &predictor, &error) == FT_OK) predict(predictor, graph);
    ft_predictor_free(predictor);
    free(bytes);
    return 0;
}
