/* Tests of the reader of ncnn's .param files: layers, parameters, blobs, damage. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "foretell/foretell.h"
#include "graph/graph.h"
#include "support/onnx_model.h"

/* A file of these layers, with the magic and the counts before them. */
static ft_status read_layers(const char *layers, ft_graph **graph, ft_error *error) {
    char text[8192];
    int count = 0;
    for (const char *c = layers; *c != '\0'; c++) count += *c == '\n';
    snprintf(text, sizeof text, "7767517\n%d %d\n%s", count, count, layers);
    return ft_graph_read_memory(text, strlen(text), "net.param", graph, error);
}

static ft_graph *read_or_fail(const char *layers) {
    ft_graph *graph = NULL;
    ft_error error = {0};
    if (read_layers(layers, &graph, &error) != FT_OK) fail_msg("%s", error.message);
    return graph;
}

static ft_graph *bind_or_fail(const ft_graph *graph) {
    ft_graph *bound = NULL;
    ft_error error = {0};
    if (ft_graph_bind(graph, NULL, &bound, &error) != FT_OK) fail_msg("%s", error.message);
    return bound;
}

/* The shape of blob `y`, the MACs and the parameters of a network. */
static void check(const char *layers, const char *shape, uint64_t macs, uint64_t params) {
    char text[128];
    ft_graph *graph = read_or_fail(layers), *bound = bind_or_fail(graph);
    ft_cost_options options = ft_cost_options_default();
    ft_cost cost = {0};
    ft_error error;
    assert_string_equal(shape_text(bound, tensor_named(bound, "y"), text, sizeof text), shape);
    assert_int_equal(ft_cost_compute(bound, &options, &cost, &error), FT_OK);
    assert_int_equal(cost.total.forward.macs, macs);
    assert_int_equal(cost.total.params, params);
    ft_cost_free(&cost);
    ft_graph_free(bound);
    ft_graph_free(graph);
}

static void check_failure(const char *layers, ft_status status, const char *message) {
    ft_graph *graph = NULL;
    ft_error error = {0};
    assert_int_equal(read_layers(layers, &graph, &error), status);
    assert_null(graph);
    if (strstr(error.message, message) == NULL) fail_msg("'%s' is not in: %s", message, error.message);
}

#define X "Input x 0 1 x 0=8 1=6 2=3\n" /* 3 channels, 6 rows, 8 columns */
#define M "Input x 0 1 x 0=8 1=6\n"

static void reads_a_network(void **state) {
    (void)state;
    ft_graph *graph = read_or_fail(X "Convolution conv 1 1 x a 0=4 1=3 3=2 4=1 5=1 6=108 9=1\n"
                                     "Split s 1 2 a a_0 a_1\nSigmoid g 1 1 a_0 b\nBinaryOp mul 2 1 b a_1 y 0=2\n");
    assert_int_equal(ft_graph_format(graph), FT_FORMAT_NCNN);
    assert_int_equal(ft_graph_layout(graph), FT_NCHW);
    assert_int_equal(ft_graph_op_count(graph), 3); /* a Split is no operator */
    assert_int_equal(ft_graph_input_count(graph), 1);
    assert_int_equal(ft_graph_output_count(graph), 1);
    assert_true(tensor_named(graph, "y")->is_output);
    const ft_op *conv = op_named(graph, "conv");
    assert_string_equal(conv->type, "Convolution");
    assert_string_equal(ft_op_attr(conv, "activation")->s, "RELU");
    assert_int_equal(conv->input_count, 3);
    assert_string_equal(ft_dim_symbol(graph, tensor_named(graph, "x")->dims[0]), "batch");
    ft_graph_free(graph);
}

static void convolutions_have_weights(void **state) {
    (void)state;
    check(X "Convolution c 1 1 x y 0=4 1=3 3=2 4=1 5=1 6=108\n", "1x4x3x4", 12 * 108, 112);
    check(X "Convolution c 1 1 x y 0=4 1=3 11=1 4=1 14=0 6=36\n", "1x4x6x8", 48 * 36, 36);
    check(X "Convolution c 1 1 x y 0=4 1=3 2=2 6=108\n", "1x4x2x4", 8 * 108, 108);
    check(X "Convolution c 1 1 x y 0=4 1=3 3=2 4=-233 6=108\n", "1x4x3x4", 12 * 108, 108);
    check(X "ConvolutionDepthWise c 1 1 x y 0=3 1=3 4=1 6=27 7=3\n", "1x3x6x8", 48 * 27, 27);
    check(X "Deconvolution c 1 1 x y 0=5 1=4 3=2 4=1 5=1 6=240\n", "1x5x12x16", 48 * 240, 245);
    check(X "Deconvolution c 1 1 x y 0=5 1=4 3=2 18=1 6=240\n", "1x5x15x19", 48 * 240, 240);
    check("Input x 0 1 x 0=9 1=4\nConvolution1D c 1 1 x y 0=6 1=3 6=72\n", "1x6x7", 7 * 72, 72);
    check("Input x 0 1 x 0=4 1=4 11=4 2=2\nConvolution3D c 1 1 x y 0=3 1=3 6=162\n", "1x3x2x2x2", 8 * 162, 162);
}

static void products_flatten_or_go_by_rows(void **state) {
    (void)state;
    check(X "InnerProduct f 1 1 x y 0=10 1=1 2=1440 9=1\n", "1x10", 1440, 1450);
    check(M "InnerProduct f 1 1 x y 0=10 2=80\n", "1x6x10", 480, 80);
    check(M "Gemm g 1 1 x y 3=1 5=1 6=1 8=5 9=8\n", "1x6x5", 240, 45);
    check(M "Gemm g 2 1 x x y 3=1\n", "1x6x6", 288, 0);
    check("Input x 0 1 x 0=7\nEmbed e 1 1 x y 0=16 1=100 3=1600\n", "1x7x16", 0, 1600);
    /* Queries, keys, values and output: 8 x 8 each; scores and their product with the values. */
    check(M "MultiHeadAttention a 1 1 x y 0=8 1=2 2=64\n", "1x6x8", 4 * 6 * 64 + 2 * 6 * 6 * 8, 4 * 72);
    check(M "LSTM l 1 1 x y 0=5 1=160 2=0\n", "1x6x5", 6 * (160 + 100), 160 + 100 + 20);
    check(M "GRU l 1 1 x y 0=5 1=240 2=2\n", "1x6x10", 6 * (240 + 150), 240 + 150 + 30);
}

static void pools_have_modes(void **state) {
    (void)state;
    check(X "Pooling p 1 1 x y 0=0 1=3 2=2\n", "1x3x3x4", 0, 0); /* full: the last window may exceed the input */
    check(X "Pooling p 1 1 x y 0=0 1=3 2=2 5=1\n", "1x3x2x3", 0, 0);
    check(X "Pooling p 1 1 x y 0=1 1=3 2=2 5=2\n", "1x3x3x4", 0, 0);
    check(X "Pooling p 1 1 x y 0=1 7=1 8=2 18=3\n", "1x3x3x2", 0, 0);
    check(X "Pooling p 1 1 x a 0=1 4=1\nInnerProduct f 1 1 a y 0=2 2=6\n", "1x2", 6, 6);
}

static void blobs_are_moved(void **state) {
    (void)state;
    check(X "Concat c 2 1 x x y 0=0\n", "1x6x6x8", 0, 0);
    check(X "Concat c 2 1 x x y 0=-1\n", "1x3x6x16", 0, 0);
    check(X "Slice s 1 2 x a y -23300=2,2,-233 1=1\n", "1x3x4x8", 0, 0);
    check(X "Slice s 1 2 x a y -23302=1,1 1=0\n", "1x2x6x8", 0, 0);
    check(X "Reshape r 1 1 x y 0=-1 1=0\n", "1x6x24", 0, 0);
    check(X "Flatten r 1 1 x y\n", "1x144", 0, 0);
    check(X "Permute p 1 1 x y 0=3\n", "1x6x8x3", 0, 0); /* width, height, channels: c, w, h */
    check(M "Permute p 1 1 x y 0=1\n", "1x8x6", 0, 0);
    check(X "Crop c 1 1 x y 0=1 1=2 2=1 3=4 4=-233 5=-233 7=1\n", "1x2x3x4", 0, 0);
    check(X "Crop c 1 1 x y -23309=2,1,0 -23310=2,-1,-233 -23311=2,1,2\n", "1x3x4x8", 0, 0);
    check(X "Pooling p 1 1 x a 0=0 1=2 2=2\nCrop c 2 1 x a y 0=1 1=1\n", "1x3x3x4", 0, 0);
    check(X "Padding p 1 1 x y 0=1 1=2 2=3 3=4\n", "1x3x9x15", 0, 0);
    check(X "Interp i 1 1 x y 0=2 1=2.0 2=1.500000e+00\n", "1x3x12x12", 0, 0);
    check(X "Interp i 1 1 x y 0=1 3=10 4=20\n", "1x3x10x20", 0, 0);
    check("Input x 0 1 x 0=4 1=4 2=8\nPixelShuffle p 1 1 x y 0=2\n", "1x2x8x8", 0, 0);
    check(X "Reorg p 1 1 x y 0=2\n", "1x12x3x4", 0, 0);
    check(X "ShuffleChannel p 1 1 x y 0=3\n", "1x3x6x8", 0, 0);
    check(X "Tile t 1 1 x y 0=1 1=3\n", "1x3x18x8", 0, 0);
    check("Input x 0 1 x 0=8 1=1 2=3\nSqueeze s 1 1 x y 1=1\n", "1x3x8", 0, 0);
    check(M "ExpandDims s 1 1 x y -23303=1,0\n", "1x1x6x8", 0, 0);
    check(X "Reduction r 1 1 x y 0=3 1=0 -23303=2,1,2 4=1\n", "1x3x1x1", 0, 0);
    check(X "Reduction r 1 1 x y 0=3\n", "1x1", 0, 0);
}

static void elementwise_layers_broadcast(void **state) {
    (void)state;
    check(X "Scale s 1 1 x y 0=3 1=1\n", "1x3x6x8", 0, 6);
    check(X "BatchNorm s 1 1 x y 0=3\n", "1x3x6x8", 0, 6);
    check(X "Pooling p 1 1 x a 0=1 4=1\nScale s 2 1 x a y 0=-233\n", "1x3x6x8", 0, 0);
    check(X "Pooling p 1 1 x a 0=1 4=1\nFlatten f 1 1 a b\nBinaryOp s 2 1 b x y 0=2\n", "1x3x6x8", 0, 0);
    check(X "BinaryOp s 1 1 x y 0=2 1=1 2=1.5\n", "1x3x6x8", 0, 0);
    check(X "MemoryData m 0 1 c 0=8\nBinaryOp s 2 1 x c y 0=0\n", "1x3x6x8", 0, 8);
    check(X "Eltwise e 3 1 x x x y 0=1 -23301=3,1.0,1.0,0.5\n", "1x3x6x8", 0, 0);
    check(X "PReLU p 1 1 x a 0=3\nUnaryOp u 1 1 a b 0=4\nHardSwish h 1 1 b c\nSoftmax s 1 1 c y 0=0 1=1\n", "1x3x6x8",
          0, 3);
    check(M "LayerNorm l 1 1 x y 0=8\n", "1x6x8", 0, 16);
}

/* Without a shape the channels still follow from the first convolution; the rest has to be given. */
static void missing_shapes_are_asked_for(void **state) {
    (void)state;
    ft_graph *graph =
                 read_or_fail("Input data 0 1 data\nSplit s 1 2 data d_0 d_1\nConvolution c 1 1 d_0 y 0=4 1=3 6=108\n"
                              "ReLU r 1 1 d_1 z\n"),
             *bound = NULL;
    ft_error error = {0};
    const ft_tensor *data = tensor_named(graph, "data");
    assert_int_equal(data->rank, 4);
    assert_int_equal(data->dims[1], 3);
    assert_int_equal(ft_graph_bind(graph, NULL, &bound, &error), FT_ERR_UNBOUND);
    assert_non_null(strstr(error.message, "--shape data_h=N --shape data_w=N"));
    const ft_shape_binding shapes[] = {{.name = "data_h", .rank = 1, .dims = {32}},
                                       {.name = "data_w", .rank = 1, .dims = {48}}};
    char text[64];
    assert_int_equal(ft_graph_bind(graph, &(ft_binding){.shapes = shapes, .shape_count = 2}, &bound, &error), FT_OK);
    assert_string_equal(shape_text(bound, tensor_named(bound, "y"), text, sizeof text), "1x4x30x46");
    ft_graph_free(bound);
    ft_graph_free(graph);
    graph = read_or_fail("Input data 0 1 data\nReLU r 1 1 data y\n");
    assert_int_equal(ft_graph_bind(graph, NULL, &bound, &error), FT_ERR_UNBOUND);
    assert_non_null(strstr(error.message, "--shape data="));
    ft_graph_free(graph);
}

static void unknown_layers_lower_the_coverage(void **state) {
    (void)state;
    /* A custom layer; a shape that is an expression. */
    static const char *const layers[] = {X "YoloV5Focus f 1 1 x y\n", X "Reshape r 1 1 x y 6=\"0w,1h\"\n"};
    for (int i = 0; i < 2; i++) {
        ft_graph *graph = read_or_fail(layers[i]), *bound = bind_or_fail(graph);
        ft_cost_options options = ft_cost_options_default();
        ft_cost cost = {0};
        ft_error error;
        assert_false(ft_opdef_is_known(ft_graph_ops(graph)[0].def));
        assert_int_equal(ft_cost_compute(bound, &options, &cost, &error), FT_OK);
        assert_int_equal(cost.estimated_ops, 1);
        ft_cost_free(&cost);
        ft_graph_free(bound);
        ft_graph_free(graph);
    }
}

/* Under ncnn-cpu a layer is a kernel; reshapes launch none. */
static void kernels_are_layers(void **state) {
    (void)state;
    ft_graph *graph =
                 read_or_fail(X "Convolution c 1 1 x a 0=4 1=3 4=1 5=1 6=108 9=1\nConvolution d 1 1 a b 0=4 1=1 6=16\n"
                                "BinaryOp e 2 1 a b f 0=0\nReLU g 1 1 f h\nReshape r 1 1 h i 0=-1\n"
                                "InnerProduct j 1 1 i y 0=10 2=1920\n"),
             *bound = bind_or_fail(graph);
    ft_rules *rules = NULL;
    ft_kernels kernels = {0};
    ft_error error;
    assert_int_equal(ft_rules_open("ncnn-cpu", &rules, &error), FT_OK);
    assert_int_equal(ft_graph_fuse(bound, rules, &kernels, &error), FT_OK);
    static const char *const types[] = {"conv-relu", "conv", "binaryop", "relu", "fc"};
    assert_int_equal(kernels.count, 5);
    for (uint32_t i = 0; i < 5; i++) assert_string_equal(kernels.items[i].type, types[i]);
    ft_kernels_free(&kernels);
    ft_rules_free(rules);
    ft_graph_free(bound);
    ft_graph_free(graph);
}

static void damage_is_reported(void **state) {
    (void)state;
    check_failure("ReLU r 1 1 x y\n", FT_ERR_GRAPH,
                  "line 3: layer 'r' (ReLU) reads blob 'x', which no layer before it");
    check_failure(X "ReLU r 1 1 x x\n", FT_ERR_GRAPH, "two layers compute blob 'x'");
    check_failure(X "ReLU r 1 1 x\n", FT_ERR_DAMAGED, "fewer blobs");
    check_failure(X "ReLU r one 1 x y\n", FT_ERR_DAMAGED, "no counts");
    check_failure(X "ReLU r 1 1 x y slope\n", FT_ERR_DAMAGED, "a parameter is not like 0=64");
    check_failure(X "ReLU r 1 1 x y 0=high\n", FT_ERR_DAMAGED, "not a number");
    check_failure(X "ReLU r 1 1 x y 32=1\n", FT_ERR_DAMAGED, "a number above 31");
    check_failure(X "Slice s 1 1 x y -23300=3,1,1\n", FT_ERR_DAMAGED, "fewer elements than its count");
    check_failure(X "Convolution c 1 1 x y 0=4 1=3 6=107\n", FT_ERR_DAMAGED, "the size of its weights");
    check_failure(X "Convolution c 1 1 x y 0=4 6=108\n", FT_ERR_DAMAGED, "its kernel has no size");
    check_failure(X "InnerProduct c 0 1 y 0=4 2=12\n", FT_ERR_DAMAGED, "too few inputs");

    ft_graph *graph = NULL;
    ft_error error = {0};
    const char *shorter = "7767517\n2 1\n" X, *longer = "7767517\n1 2\n" X "ReLU r 1 1 x y\n";
    assert_int_equal(ft_graph_read_memory(shorter, strlen(shorter), "n", &graph, &error), FT_ERR_DAMAGED);
    assert_non_null(strstr(error.message, "truncated: 1 layers instead of the 2"));
    assert_int_equal(ft_graph_read_memory(longer, strlen(longer), "n", &graph, &error), FT_ERR_DAMAGED);
    assert_non_null(strstr(error.message, "more layers than the 1"));
    const uint32_t binary[] = {7767517, 3, 3, 16};
    assert_int_equal(ft_graph_read_memory(binary, sizeof binary, "n", &graph, &error), FT_ERR_UNSUPPORTED);
    assert_non_null(strstr(error.message, ".param.bin"));
}

/* Every prefix of a file up to its last line is an error. */
static void truncation_is_reported(void **state) {
    (void)state;
    const char *text = "7767517\n4 4\n" X "Convolution c 1 1 x a 0=4 1=3 6=108\nSlice s 1 2 a b d -23300=2,2,-233\n"
                       "Eltwise e 2 1 b d y\n";
    size_t last = (size_t)(strstr(text, "Eltwise") - text);
    for (size_t size = 0; size < strlen(text); size++) {
        char *part = malloc(size + 1); /* its own block: a sanitizer detects a read past the end */
        ft_graph *graph = NULL;
        ft_error error;
        assert_non_null(part);
        memcpy(part, text, size);
        ft_status status = ft_graph_read_memory(part, size, "part", &graph, &error);
        if (size <= last) assert_int_not_equal(status, FT_OK);
        ft_graph_free(graph);
        free(part);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_a_network),
        cmocka_unit_test(convolutions_have_weights),
        cmocka_unit_test(products_flatten_or_go_by_rows),
        cmocka_unit_test(pools_have_modes),
        cmocka_unit_test(blobs_are_moved),
        cmocka_unit_test(elementwise_layers_broadcast),
        cmocka_unit_test(missing_shapes_are_asked_for),
        cmocka_unit_test(unknown_layers_lower_the_coverage),
        cmocka_unit_test(kernels_are_layers),
        cmocka_unit_test(damage_is_reported),
        cmocka_unit_test(truncation_is_reported),
    };
    return cmocka_run_group_tests_name("read/ncnn", tests, NULL, NULL);
}
