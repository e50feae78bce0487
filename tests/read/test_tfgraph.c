/* Tests of the builder shared by the CG and nn-Meter readers, on nodes that the CG set does not have. test_cg.c
 * tests its own nodes, and the repairs of their shapes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "read/tfgraph.h"

#define SHAPE(n, ...)                                                                                                  \
    (tf_shape) {                                                                                                       \
        .rank = (n), .dims = { __VA_ARGS__ }                                                                           \
    }

static ft_graph *build(tf_node *nodes, uint32_t count, ft_status expected, ft_error *error) {
    ft_graph *graph = NULL;
    assert_int_equal(graph_new(FT_FORMAT_CG, FT_NHWC, "made", &graph, error), FT_OK);
    ft_status status = tf_build(nodes, count, graph, error);
    if (status != expected) fail_msg("%s: %s", ft_status_name(status), error->message);
    return graph;
}

static tf_node node(const char *type, tf_shape out, const uint32_t *inputs, uint32_t count) {
    return (tf_node){.type = tf_type_of(type), .out = out, .in = {.rank = -1}, .inputs = inputs, .input_count = count};
}

static void expect_shape(const ft_graph *graph, const ft_tensor *tensor, const char *expected) {
    char text[128];
    assert_non_null(tensor);
    assert_string_equal(shape_text(graph, tensor, text, sizeof text), expected);
}

/* The operators of the CG set are all in the table. */
static void test_types(void **state) {
    (void)state;
    const char *const names[] = {
        "FusedBatchNorm", "Conv2D",  "Relu",    "Add",       "Relu6",        "DepthwiseConv2dNative",
        "ConcatV2",       "Mul",     "Reshape", "BiasAdd",   "StridedSlice", "Pack",
        "AvgPool",        "MaxPool", "MatMul",  "Transpose", "Split",        "Mean",
        "Conv",           "Gemm"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        tf_type type = tf_type_of(names[i]);
        assert_string_equal(type.name, names[i]);
        if (!ft_opdef_is_known(type.def)) fail_msg("%s is not in the operator table", names[i]);
    }
    assert_int_equal(tf_type_of("Placeholder").kind, TF_PLACEHOLDER);
    assert_int_equal(tf_type_of("Const").kind, TF_CONST);
    assert_false(ft_opdef_is_known(tf_type_of("NoSuchThing").def));
    assert_int_equal(tf_type_of("").kind, TF_OTHER);
}

/* Attention multiplies two activations: there is no weight to add. */
static void test_product_of_activations(void **state) {
    (void)state;
    const uint32_t both[] = {0, 1};
    tf_node nodes[] = {node("Placeholder", SHAPE(2, 4, 8), NULL, 0), node("Placeholder", SHAPE(2, 8, 6), NULL, 0),
                       node("MatMul", SHAPE(2, 4, 6), both, 2)};
    ft_error error;
    ft_graph *g = build(nodes, 3, FT_OK, &error);
    assert_int_equal(g->ops[0].input_count, 2);
    assert_int_equal(g->inputs.count, 2);
    assert_int_equal(g->tensor_count, 3);
    ft_graph_free(g);
}

/* TensorFlow has a Split's axis before its data and a concatenation's after it; both become attributes. */
static void test_constant_axes_are_dropped(void **state) {
    (void)state;
    const uint32_t split_inputs[] = {1, 0}, concat_inputs[] = {2, 2, 2, 1};
    tf_node nodes[] = {node("Placeholder", SHAPE(2, 1, 12), NULL, 0), node("Const", SHAPE(0, 0), NULL, 0),
                       node("Split", SHAPE(2, 1, 4), split_inputs, 2),
                       node("ConcatV2", SHAPE(2, 1, 12), concat_inputs, 4)};
    ft_error error;
    ft_graph *g = build(nodes, 4, FT_OK, &error);
    assert_int_equal(g->ops[0].input_count, 1);
    assert_int_equal(g->ops[0].output_count, 3);
    assert_int_equal(op_attr_int(&g->ops[0], "axis", -1), 1);
    assert_int_equal(g->ops[1].input_count, 3);
    for (uint32_t i = 0; i < 3; i++) assert_int_equal(g->ops[1].inputs[i], g->ops[0].outputs[i]);
    assert_int_equal(g->tensor_count, 5); /* no tensor for the axis */
    ft_graph_free(g);
}

/* A shape that is computed from data stays an input. */
static void test_computed_shape(void **state) {
    (void)state;
    const uint32_t from[] = {0}, both[] = {0, 1};
    tf_node nodes[] = {node("Placeholder", SHAPE(2, 4, 8), NULL, 0), node("Shape", SHAPE(1, 2), from, 1),
                       node("Reshape", SHAPE(2, 8, 4), both, 2)};
    ft_error error;
    ft_graph *g = build(nodes, 3, FT_OK, &error);
    assert_int_equal(g->ops[1].input_count, 2);
    assert_ptr_equal(op_input(g, &g->ops[1], 1), op_output(g, &g->ops[0], 0));
    ft_graph_free(g);
}

static void test_explicit_padding(void **state) {
    (void)state;
    const uint32_t from[] = {0};
    tf_node nodes[] = {node("Placeholder", SHAPE(4, 1, 8, 8, 2), NULL, 0),
                       node("Conv2D", SHAPE(4, 1, 8, 8, 6), from, 1)};
    nodes[1].padding = TF_PAD_EXPLICIT;
    nodes[1].pads[0] = nodes[1].pads[2] = 1;
    nodes[1].kernel[0] = 3;
    nodes[1].kernel[1] = 1;
    nodes[1].strides[0] = nodes[1].strides[1] = 1;
    ft_error error;
    ft_graph *g = build(nodes, 2, FT_OK, &error);
    uint32_t count;
    const int64_t *pads = op_attr_ints(&g->ops[0], "pads", &count);
    assert_int_equal(count, 4);
    assert_int_equal(pads[0] * 1000 + pads[1] * 100 + pads[2] * 10 + pads[3], 1010);
    assert_null(ft_op_attr(&g->ops[0], "auto_pad"));
    expect_shape(g, op_input(g, &g->ops[0], 1), "3x1x2x6"); /* channels come from the maps */
    ft_graph_free(g);
}

/* Reductions that keep, drop and change nothing. */
static void test_reductions(void **state) {
    (void)state;
    const uint32_t from[] = {0};
    tf_node nodes[] = {node("Placeholder", SHAPE(4, 1, 7, 7, 7), NULL, 0), node("Mean", SHAPE(4, 1, 1, 1, 7), from, 1),
                       node("Mean", SHAPE(2, 1, 7), from, 1), node("Mean", SHAPE(4, 1, 7, 7, 7), from, 1)};
    ft_error error;
    ft_graph *g = build(nodes, 4, FT_OK, &error);
    for (uint32_t i = 0; i < 2; i++) {
        uint32_t count;
        const int64_t *axes = op_attr_ints(&g->ops[i], "axes", &count);
        assert_int_equal(count, 2);
        assert_int_equal(axes[0] * 10 + axes[1], 12);
        assert_int_equal(op_attr_int(&g->ops[i], "keepdims", -1), i == 0);
    }
    assert_int_equal(op_attr_int(&g->ops[2], "noop_with_empty_axes", 0), 1);
    ft_graph_free(g);
}

/* Unrecorded shapes stay unknown, and so do weights that depend on them. */
static void test_unknown_shapes(void **state) {
    (void)state;
    const uint32_t from[] = {0}, next[] = {1};
    tf_node nodes[] = {node("Placeholder", SHAPE(-1, 0), NULL, 0), node("Conv2D", SHAPE(-1, 0), from, 1),
                       node("MatMul", SHAPE(-1, 0), next, 1)};
    ft_error error;
    ft_graph *g = build(nodes, 3, FT_OK, &error);
    assert_int_equal(op_input(g, &g->ops[0], 1)->rank, -1);
    assert_int_equal(op_input(g, &g->ops[1], 1)->rank, -1);
    ft_graph_free(g);
}

static void test_edge_to_nowhere(void **state) {
    (void)state;
    const uint32_t from[] = {5};
    tf_node nodes[] = {node("Relu", SHAPE(1, 4), from, 1)};
    ft_error error;
    ft_graph_free(build(nodes, 1, FT_ERR_GRAPH, &error));
    assert_string_equal(error.message, "node '0:Relu' reads node 5, but there are only 1");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_types),
        cmocka_unit_test(test_product_of_activations),
        cmocka_unit_test(test_constant_axes_are_dropped),
        cmocka_unit_test(test_computed_shape),
        cmocka_unit_test(test_explicit_padding),
        cmocka_unit_test(test_reductions),
        cmocka_unit_test(test_unknown_shapes),
        cmocka_unit_test(test_edge_to_nowhere),
    };
    return cmocka_run_group_tests_name("read/tfgraph", tests, NULL, NULL);
}
