/* Feature extraction of PerfSAGE: nodes, edges, shapes in TFLite's layout, options and their marks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>

#include "predictor/peers/sage.h"
#include "support/failing.h"
#include "support/toy.h"

enum { LIMIT = 1 << 24 };
enum { FILTER_HEIGHT = 7, STRIDE_HEIGHT = 11, STRIDE_WIDTH = 12, PADDING = 10 }; /* columns */

/* x -> Conv (weights, bias) -> Relu -> Add of the result with the convolution's; Custom reads both. */
static ft_graph *chain(ft_layout layout) {
    bool is_nchw = layout == FT_NCHW;
    ft_graph *g = toy_graph(FT_FORMAT_ONNX, layout);
    uint32_t x = is_nchw ? toy_input(g, 1, 3, 32, 16) : toy_input(g, 1, 32, 16, 3);
    uint32_t weights = toy_weight(g, 8, 3, 5, 3), bias = toy_weight(g, 8);
    uint32_t y = is_nchw ? toy_value(g, 1, 8, 16, 8) : toy_value(g, 1, 16, 8, 8);
    toy_op(g, "Conv", x, weights, bias, y);
    ft_attr attrs[] = {toy_ints(g, "strides", 2, 2), toy_ints(g, "pads", 0, 0)};
    toy_attrs(g, attrs, 2);
    uint32_t r = is_nchw ? toy_value(g, 1, 8, 16, 8) : toy_value(g, 1, 16, 8, 8);
    toy_op(g, "Relu", y, FT_NONE, FT_NONE, r);
    uint32_t sum = is_nchw ? toy_value(g, 1, 8, 16, 8) : toy_value(g, 1, 16, 8, 8);
    toy_op(g, "Add", r, y, FT_NONE, sum);
    uint32_t end = toy_value(g, 7, 9);
    toy_op(g, "MyVeryOwn", sum, sum, FT_NONE, end);
    toy_finish(g, end, 4, 1);
    return g;
}

static bool has_edge(const gnn_sample *s, uint32_t from, uint32_t to) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < s->edges; i++) count += s->from[i] == from && s->to[i] == to;
    assert_true(count < 2);
    return count == 1;
}

static void expect_shape(const gnn_sample *s, uint32_t node, float a, float b, float c, float d) {
    const float *row = s->node_values + (size_t)node * SAGE_COLUMNS;
    const float expected[] = {a, b, c, d};
    for (int i = 0; i < SAGE_SHAPE; i++)
        if (row[i] != expected[i]) fail_msg("node %u, dimension %d: %g", node, i, (double)row[i]);
}

static void test_nodes_and_edges(void **state) {
    (void)state;
    ft_graph *g = chain(FT_NCHW);
    arena memory;
    gnn_sample s = {0};
    arena_init(&memory, LIMIT);
    assert_int_equal(sage_extract(g, SAGE_PLAIN, &memory, &s, NULL), FT_OK);
    assert_int_equal(s.nodes, 4 + 3); /* operators; input, weights, bias */
    assert_int_equal(s.edges, 3 + 1 + 2 + 1);
    for (uint32_t i = 4; i < 7; i++) assert_true(has_edge(&s, i, 0));
    assert_true(has_edge(&s, 0, 1) && has_edge(&s, 0, 2) && has_edge(&s, 1, 2));
    assert_true(has_edge(&s, 2, 3)); /* once, although read twice */
    assert_int_equal(s.kinds[0], sage_kind_of("conv"));
    assert_int_equal(s.kinds[2], sage_kind_of("add"));
    assert_int_equal(s.kinds[3], 0);
    assert_int_equal(s.kinds[5], sage_kind_of("input"));
    assert_float_equal(s.known_ratio, 0.75, 1e-9);
    arena_free(&memory);
    ft_graph_free(g);
}

/* The batch counts, channels come last, and weights are output, height, width, input. */
static void test_shapes(void **state) {
    (void)state;
    for (int layout = FT_NCHW; layout <= FT_NHWC; layout++) {
        ft_graph *g = chain((ft_layout)layout);
        arena memory;
        gnn_sample s = {0};
        arena_init(&memory, LIMIT);
        assert_int_equal(sage_extract(g, SAGE_PLAIN, &memory, &s, NULL), FT_OK);
        expect_shape(&s, 0, 4, 16, 8, 8);
        expect_shape(&s, 3, 1, 1, 28, 9); /* padded with ones from the left; the batch is its first own dimension */
        expect_shape(&s, 4, 4, 32, 16, 3);
        if (layout == FT_NCHW) expect_shape(&s, 5, 8, 5, 3, 3);
        expect_shape(&s, 6, 1, 1, 1, 8);
        arena_free(&memory);
        ft_graph_free(g);
    }
}

static void test_options(void **state) {
    (void)state;
    ft_graph *g = chain(FT_NCHW);
    arena memory;
    gnn_sample s = {0};
    arena_init(&memory, LIMIT);
    assert_int_equal(sage_extract(g, SAGE_PLAIN, &memory, &s, NULL), FT_OK);
    assert_true(s.node_values[FILTER_HEIGHT] == 5 && s.node_values[FILTER_HEIGHT + 1] == 3);
    assert_true(s.node_values[STRIDE_HEIGHT] == 2 && s.node_values[STRIDE_WIDTH] == 2);
    assert_true(s.node_values[PADDING] == 1);
    const float *relu = s.node_marks + sage_widths(SAGE_PLAIN).node_marks;
    for (int i = 0; i < SAGE_OPTIONS; i++) assert_true(relu[i] == 0);
    assert_true(s.node_marks[STRIDE_HEIGHT - SAGE_SHAPE] == 1);
    assert_true(s.node_marks[sage_class_column(SAGE_PLAIN) + FT_CLASS_CONV] == 1);
    assert_true(relu[sage_class_column(SAGE_PLAIN) + FT_CLASS_ACTIVATION] == 1);
    arena_free(&memory);
    ft_graph_free(g);
}

/* Sines and cosines of present numbers, zeros for absent ones, and no two sizes alike. */
static void test_scalings(void **state) {
    (void)state;
    ft_graph *g = chain(FT_NCHW);
    arena memory;
    gnn_sample plain = {0}, s = {0}, logs = {0};
    arena_init(&memory, LIMIT);
    assert_int_equal(sage_extract(g, SAGE_PLAIN, &memory, &plain, NULL), FT_OK);
    assert_int_equal(sage_extract(g, SAGE_LOG, &memory, &logs, NULL), FT_OK);
    assert_int_equal(sage_extract(g, SAGE_CONDITIONAL, &memory, &s, NULL), FT_OK);
    assert_int_equal(sage_widths(SAGE_CONDITIONAL).node_values, 0);
    for (uint32_t n = 0; n < s.nodes; n++) {
        const float *row = s.node_marks + (size_t)n * sage_widths(SAGE_CONDITIONAL).node_marks;
        for (int i = 0; i < SAGE_COLUMNS; i++) {
            const float *marks = plain.node_marks + (size_t)n * sage_widths(SAGE_PLAIN).node_marks;
            bool is_there = i < SAGE_SHAPE || marks[i - SAGE_SHAPE] == 1;
            assert_float_equal(hypotf(row[2 * i], row[2 * i + 1]), is_there ? 2 : 0, 1e-5);
        }
        assert_float_equal(row[2 * 3], 2 * sin(M_PI * plain.node_values[n * SAGE_COLUMNS + 3] / 1600), 1e-5);
        assert_float_equal(logs.node_values[n * SAGE_COLUMNS + 3], log1p(plain.node_values[n * SAGE_COLUMNS + 3]),
                           1e-5);
    }
    arena_free(&memory);
    ft_graph_free(g);
}

static void test_vocabulary(void **state) {
    (void)state;
    assert_int_equal(sage_kind_of("input"), 1);
    assert_int_equal(sage_kind_of("conv"), 2); /* files store rows, so they must not change */
    assert_int_equal(sage_kind_of("softmax"), 23);
    assert_int_equal(sage_kind_of("se"), 136);
    assert_int_equal(sage_kind_of("flux-capacitor"), 0);
    assert_int_equal(sage_kind_of(""), 0);
}

static void test_no_memory(void **state) {
    (void)state;
    ft_graph *g = chain(FT_NCHW);
    for (long n = 0;; n++) {
        arena memory;
        gnn_sample s = {0};
        arena_init(&memory, LIMIT);
        failing_start(n);
        ft_status status = sage_extract(g, SAGE_PLAIN, &memory, &s, NULL);
        bool has_failed = failing_stop();
        arena_free(&memory);
        if (!has_failed) break;
        assert_int_equal(status, FT_ERR_NOMEM);
    }
    ft_graph_free(g);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nodes_and_edges), cmocka_unit_test(test_shapes),     cmocka_unit_test(test_options),
        cmocka_unit_test(test_scalings),        cmocka_unit_test(test_vocabulary), cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests_name("predictor/sage_extract", tests, NULL, NULL);
}
