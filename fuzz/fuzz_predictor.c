/* fuzz_predictor.c - any bytes as a predictor file, or several in a row; one that opens must predict.
 *
 * Checksums are corrected first, as no fuzzer would find them, so that the content behind them is reached. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "foretell/predictor.h"
#include "graph/graph.h"

enum { HEAD_BYTES = 32, HASH_BYTES = 16, LONG = 48 };

typedef struct layers {
    ft_graph *graph;
    uint32_t last; /* the tensor that the next operator reads */
} layers;

static uint32_t add_tensor(layers *l, ft_role role, uint8_t rank, const int64_t *dims) {
    ft_tensor spec = {.name = "", .dtype = FT_FLOAT32, .role = role, .rank = rank};
    uint32_t made;
    memcpy(spec.dims, dims, rank * sizeof *dims);
    if (graph_add_tensor(l->graph, &spec, &made, NULL) != FT_OK) abort();
    return made;
}

/* `weight`: FT_NONE for an operator without one. All activations are of one shape. */
static void add_op(layers *l, const char *type, uint32_t weight) {
    ft_tensor shape = ft_graph_tensors(l->graph)[l->last];
    uint32_t inputs[2] = {l->last, weight}, out = add_tensor(l, FT_ACTIVATION, shape.rank, shape.dims);
    ft_op op = {.name = "", .type = type, .inputs = inputs, .outputs = &out, .output_count = 1};
    op.input_count = weight != FT_NONE ? 2 : 1;
    if (graph_add_op(l->graph, &op, NULL) != FT_OK) abort();
    l->last = out;
}

static layers begin(uint8_t rank, const int64_t *dims) {
    layers l = {0};
    if (graph_new(FT_FORMAT_ONNX, FT_NCHW, "fuzz", &l.graph, NULL) != FT_OK) abort();
    l.last = add_tensor(&l, FT_INPUT, rank, dims);
    if (graph_add_input(l.graph, l.last, NULL) != FT_OK) abort();
    return l;
}

static ft_graph *end(layers *l) {
    if (graph_add_output(l->graph, l->last, NULL) != FT_OK || graph_finish(l->graph, NULL) != FT_OK) abort();
    if (!graph_mark_bound(l->graph, 1, 1)) abort();
    return l->graph;
}

/* Two matrix products with something in between. */
static ft_graph *make_products(void) {
    const int64_t dims[] = {8, 8};
    layers l = begin(2, dims);
    uint32_t weight = add_tensor(&l, FT_CONSTANT, 2, dims);
    add_op(&l, "MatMul", weight);
    add_op(&l, "Relu", FT_NONE);
    add_op(&l, "MatMul", weight);
    add_op(&l, "Softmax", FT_NONE);
    add_op(&l, "Oracle", FT_NONE);
    return end(&l);
}

/* Convolutions with many channels on large maps. */
static ft_graph *make_convolutions(void) {
    const int64_t dims[] = {1, 2048, 512, 512}, weights[] = {2048, 2048, 1, 1};
    layers l = begin(4, dims);
    for (int i = 0; i < LONG; i++) {
        add_op(&l, "Conv", add_tensor(&l, FT_CONSTANT, 4, weights));
        add_op(&l, "Relu", FT_NONE);
    }
    return end(&l);
}

static uint64_t number_at(const uint8_t *bytes) {
    uint64_t value = 0;
    for (size_t i = 8; i-- > 0;) value = value << 8 | bytes[i];
    return value;
}

/* Bytes of the first predictor by its own lengths; all of them when these are not possible. */
static size_t first_size(const uint8_t *bytes, size_t size) {
    uint64_t header = number_at(bytes + 16), count = number_at(bytes + 24);
    if (header > size || count > size) return size;
    uint64_t needed = HEAD_BYTES + header + 4 * count + HASH_BYTES;
    return needed < size ? (size_t)needed : size;
}

static void seal(uint8_t *bytes, size_t size) {
    hash128 hash = hash_bytes(bytes, size - HASH_BYTES);
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
    static ft_graph *graphs[2];
    if (graphs[0] == NULL) graphs[0] = make_products();
    if (graphs[1] == NULL) graphs[1] = make_convolutions();
    uint8_t *bytes = malloc(size > 0 ? size : 1);
    if (bytes == NULL) return 0;
    if (size > 0) memcpy(bytes, data, size);
    for (size_t at = 0; size - at >= HEAD_BYTES + HASH_BYTES;) { /* a bundle has several predictors */
        size_t length = first_size(bytes + at, size - at);
        seal(bytes + at, length);
        at += length;
    }
    ft_predictor *predictor = NULL;
    ft_error error;
    if (ft_predictor_open_memory(bytes, size, "fuzz", &predictor, &error) == FT_OK) {
        for (const ft_predictor *p = predictor; p != NULL; p = ft_predictor_next(p))
            for (int i = 0; i < 2; i++) predict(p, graphs[i]);
    }
    ft_predictor_free(predictor);
    free(bytes);
    return 0;
}
