/* Feature extraction of SeerNet: the features of the paper, computed by hand for a small network, and those of other
 * operators. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>

#include "predictor/peers/seernet.h"
#include "support/failing.h"
#include "support/toy.h"

/* Convolution (3x3, stride 2, with bias), Relu, the two added, and an unknown operator. Batch 2. */
static ft_graph *make(void) {
    ft_graph *g = toy_graph(FT_FORMAT_ONNX, FT_NCHW);
    uint32_t x = toy_input(g, 2, 3, 8, 8), w = toy_weight(g, 4, 3, 3, 3), b = toy_weight(g, 4);
    uint32_t y = toy_value(g, 2, 4, 4, 4), z = toy_value(g, 2, 4, 4, 4), s = toy_value(g, 2, 4, 4, 4);
    uint32_t last = toy_value(g, 2, 4, 4, 4);
    toy_op(g, "Conv", x, w, b, y);
    const int64_t pads[] = {1, 1, 1, 1};
    ft_attr attrs[] = {toy_ints(g, "kernel_shape", 3, 3), toy_ints(g, "strides", 2, 2), {0}};
    assert_int_equal(graph_attr_ints(g, &attrs[2], "pads", pads, 4, NULL), FT_OK);
    toy_attrs(g, attrs, 3);
    toy_op(g, "Relu", y, FT_NONE, FT_NONE, z);
    toy_op(g, "Add", y, z, FT_NONE, s);
    toy_op(g, "Frobnicate", s, s, FT_NONE, last);
    toy_finish(g, last, 2, 2);
    return g;
}

static gnn_sample look(const ft_graph *g, arena *memory) {
    gnn_sample sample;
    model_view s;
    ft_error error;
    model_view_init(&s, g, &(ft_request){.mode = FT_INFER});
    assert_int_equal(seernet_extract(NULL, NULL, &s, memory, &sample, &error), FT_OK);
    model_view_free(&s);
    return sample;
}

static void expect_near(float value, double expected) {
    assert_float_equal(value, (float)expected, 1e-4 * (1 + fabs(expected)));
}

static void test_nodes(void **state) {
    (void)state;
    arena memory;
    arena_init(&memory, UINT64_MAX);
    ft_graph *g = make();
    gnn_sample s = look(g, &memory);
    assert_int_equal(s.nodes, 4);
    assert_int_equal(s.kinds[0], 1);
    assert_int_equal(s.kinds[1], 2);
    assert_int_equal(s.kinds[2], 10);
    assert_int_equal(s.kinds[3], 0);
    const float *conv = s.node_values, args[] = {3, 2, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0};
    for (int i = 0; i < SEERNET_ARGS; i++) assert_true(conv[i] == args[i]);
    double in = 2 * 3 * 64, out = 2 * 4 * 16, weights = 4 * 27 + 4, bytes = 4 * (in + out + weights);
    double flops = expm1((double)conv[SEERNET_ARGS]);
    assert_true(flops >= 2 * out * 27 - 1 && flops <= 2 * out * 28);
    expect_near(conv[SEERNET_ARGS + 1], log1p(bytes));
    expect_near(conv[SEERNET_ARGS + 2], log1p(weights));
    expect_near(conv[SEERNET_ARGS + 3], flops / bytes);
    double shares[SEERNET_NODE_MARKS] = {0};
    for (int i = 0; i < 4; i++)
        for (int k = 0; k < SEERNET_NODE_MARKS; k++) shares[k] += (double)s.node_marks[i * SEERNET_NODE_MARKS + k];
    for (int k = 0; k < SEERNET_NODE_MARKS; k++) expect_near((float)shares[k], 1);
    expect_near(s.node_marks[2], 1); /* all weights are the convolution's */
    arena_free(&memory);
    ft_graph_free(g);
}

static void test_edges_and_graph(void **state) {
    (void)state;
    arena memory;
    arena_init(&memory, UINT64_MAX);
    ft_graph *g = make();
    gnn_sample s = look(g, &memory);
    assert_int_equal(s.edges, 4); /* read twice, but one edge */
    const uint32_t from[] = {0, 0, 1, 2}, to[] = {1, 2, 2, 3};
    const double dims[] = {2 * 4 * 16 * 4, 2, 4, 4, 4};
    for (int i = 0; i < 4; i++) {
        assert_int_equal(s.from[i], from[i]);
        assert_int_equal(s.to[i], to[i]);
        for (int k = 0; k < SEERNET_EDGE_VALUES; k++)
            expect_near(s.edge_values[i * SEERNET_EDGE_VALUES + k], log1p(dims[k]));
    }
    const float *v = s.global_values;
    assert_true(v[0] == 4 && v[1] == 4);
    expect_near(s.global_marks[0], 4.0 / 12);
    expect_near(v[10], log1p(112));       /* weights: sum, */
    expect_near(v[11], log1p(112.0 / 4)); /* mean, */
    expect_near(v[12], 0);                /* median */
    expect_near(v[13], log1p(112));       /* and maximum */
    expect_near(v[14], log1p(512));
    expect_near(v[15], expm1((double)v[2]) / expm1((double)v[6]));
    assert_true(v[16] == 2);
    arena_free(&memory);
    ft_graph_free(g);
}

/* Sigmoid is none of the ten, but has a class; a lone operator has no edges and no density. */
static void test_other_operators(void **state) {
    (void)state;
    arena memory;
    arena_init(&memory, UINT64_MAX);
    ft_graph *g = toy_graph(FT_FORMAT_ONNX, FT_NCHW);
    uint32_t x = toy_input(g, 1, 7), y = toy_value(g, 1, 7);
    toy_op(g, "Sigmoid", x, FT_NONE, FT_NONE, y);
    toy_finish(g, y, 1, 1);
    gnn_sample s = look(g, &memory);
    assert_int_equal(s.kinds[0], 1 + SEERNET_TYPES + FT_CLASS_ACTIVATION);
    assert_int_equal(s.edges, 0);
    assert_true(s.global_marks[0] == 0 && s.global_values[14] == 0);
    for (int i = 0; i < SEERNET_GRAPH_VALUES; i++) assert_true(isfinite(s.global_values[i]));
    arena_free(&memory);
    ft_graph_free(g);
}

/* Bytes, batch, channels, height and width of the edge between two operators. */
static void expect_edge(ft_graph *g, uint32_t x, uint32_t y, uint32_t z, const double dims[5]) {
    arena memory;
    arena_init(&memory, UINT64_MAX);
    toy_op(g, "Relu", x, FT_NONE, FT_NONE, y);
    toy_op(g, "Relu", y, FT_NONE, FT_NONE, z);
    toy_finish(g, z, 2, 2);
    gnn_sample s = look(g, &memory);
    assert_int_equal(s.edges, 1);
    for (int k = 0; k < SEERNET_EDGE_VALUES; k++) expect_near(s.edge_values[k], log1p(dims[k]));
    arena_free(&memory);
    ft_graph_free(g);
}

/* Of tensors that are no images, the last dimension has the channels, and those between are the height. */
static void edges_have_the_shape_of_their_tensor(void **state) {
    (void)state;
    ft_graph *g = toy_graph(FT_FORMAT_ONNX, FT_NCHW);
    expect_edge(g, toy_input(g, 2, 7), toy_value(g, 2, 7), toy_value(g, 2, 7), (const double[]){56, 2, 7, 0, 0});
    g = toy_graph(FT_FORMAT_ONNX, FT_NCHW);
    expect_edge(g, toy_input(g, 2, 5, 7), toy_value(g, 2, 5, 7), toy_value(g, 2, 5, 7),
                (const double[]){280, 2, 7, 5, 0});
    g = toy_graph(FT_FORMAT_ONNX, FT_NCHW);
    expect_edge(g, toy_input(g, 2, 3, 5, 2, 7), toy_value(g, 2, 3, 5, 2, 7), toy_value(g, 2, 3, 5, 2, 7),
                (const double[]){1680, 2, 7, 30, 0});
    g = toy_graph(FT_FORMAT_TFLITE, FT_NHWC);
    expect_edge(g, toy_input(g, 2, 3, 5, 7), toy_value(g, 2, 3, 5, 7), toy_value(g, 2, 3, 5, 7),
                (const double[]){840, 2, 7, 3, 5});
}

static void test_memory(void **state) {
    (void)state;
    ft_graph *g = make();
    for (long n = 0;; n++) {
        arena memory;
        gnn_sample sample;
        model_view s;
        ft_error error;
        arena_init(&memory, UINT64_MAX);
        model_view_init(&s, g, &(ft_request){.mode = FT_INFER});
        failing_start(n);
        ft_status status = seernet_extract(NULL, NULL, &s, &memory, &sample, &error);
        bool has_failed = failing_stop();
        model_view_free(&s);
        arena_free(&memory);
        if (!has_failed) break;
        assert_int_equal(status, FT_ERR_NOMEM);
    }
    ft_graph_free(g);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(edges_have_the_shape_of_their_tensor),
        cmocka_unit_test(test_nodes),
        cmocka_unit_test(test_edges_and_graph),
        cmocka_unit_test(test_other_operators),
        cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests_name("predictor/seernet_extract", tests, NULL, NULL);
}
