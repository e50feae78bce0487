/* Geometry of convolutions, matrix products and pools in every layout. The numbers are computed by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "graph/geometry.h"
#include "support/toy.h"

/* Entries that are not in the table: the geometry depends only on the entry. */
static const ft_opdef conv_oihw = {.name = "Conv", .cost = COST_CONV, .layout = WEIGHT_OIHW};
static const ft_opdef conv_iohw = {.name = "ConvTranspose", .cost = COST_CONV_TRANSPOSE, .layout = WEIGHT_IOHW};
static const ft_opdef conv_ohwi = {.name = "Conv", .cost = COST_CONV, .layout = WEIGHT_OHWI};
static const ft_opdef conv_1hwo = {.name = "DepthwiseConv", .cost = COST_CONV, .layout = WEIGHT_1HWO};
static const ft_opdef conv_hwio = {.name = "Conv", .cost = COST_CONV, .layout = WEIGHT_HWIO};
static const ft_opdef conv_hwim = {.name = "DepthwiseConv", .cost = COST_CONV, .layout = WEIGHT_HWIM};
static const ft_opdef conv_dhwio = {.name = "Conv3D", .cost = COST_CONV, .layout = WEIGHT_DHWIO};
static const ft_opdef tflite_transpose = {
    .name = "TransposeConv", .cost = COST_CONV_TRANSPOSE, .layout = WEIGHT_OHWI, .x = 2, .w = 1, .aux_inputs = 1};
static const ft_opdef qlinear_conv = {
    .name = "QLinearConv", .cost = COST_CONV, .layout = WEIGHT_OIHW, .x = 0, .w = 3, .aux_inputs = 0xf6};
static const ft_opdef matmul = {.name = "MatMul", .cost = COST_MATMUL};
static const ft_opdef gemm = {.name = "Gemm", .cost = COST_MATMUL};
static const ft_opdef dense = {.name = "FullyConnected", .cost = COST_MATMUL};
static const ft_opdef packed = {.name = "MatMulNBits", .cost = COST_MATMUL, .aux_inputs = 0xfffc, .packed_inputs = 2};
static const ft_opdef pool = {.name = "MaxPool", .cost = COST_POOL};

static ft_graph *graph;

static const ft_op *add(const ft_opdef *def, const uint32_t *inputs, uint32_t count, uint32_t output) {
    ft_op spec = {.name = "", .type = "", .def = def, .inputs = inputs, .outputs = &output};
    spec.input_count = count;
    spec.output_count = 1;
    toy_op_full(graph, &spec);
    return &graph->ops[graph->op_count - 1];
}

static const ft_op *add2(const ft_opdef *def, uint32_t a, uint32_t b, uint32_t output) {
    return add(def, (uint32_t[]){a, b}, 2, output);
}

static int begin_nchw(void **state) {
    (void)state;
    graph = toy_graph(FT_FORMAT_ONNX, FT_NCHW);
    return 0;
}

static int begin_nhwc(void **state) {
    (void)state;
    graph = toy_graph(FT_FORMAT_TFLITE, FT_NHWC);
    return 0;
}

static int end(void **state) {
    (void)state;
    ft_graph_free(graph);
    return 0;
}

static conv_geometry conv_of(const ft_op *op) {
    conv_geometry g;
    assert_true(conv_geometry_of(graph, op, &g));
    return g;
}

static void grouped_conv_has_bias_strides_and_dilations(void **state) {
    (void)state;
    uint32_t x = toy_input(graph, 2, 8, 32, 30), w = toy_weight(graph, 16, 4, 3, 5), b = toy_weight(graph, 16);
    add(&conv_oihw, (uint32_t[]){x, w, b}, 3, toy_value(graph, 2, 16, 16, 15));
    ft_attr attrs[] = {toy_int(graph, "group", 2), toy_ints(graph, "strides", 2, 2),
                       toy_ints(graph, "dilations", 1, 3)};
    toy_attrs(graph, attrs, 3);
    conv_geometry g = conv_of(&graph->ops[0]);
    assert_int_equal(g.spatial, 2);
    assert_int_equal(g.batch, 2);
    assert_int_equal(g.cin, 8);
    assert_int_equal(g.cout, 16);
    assert_int_equal(g.groups, 2);
    assert_int_equal(g.in[0], 32);
    assert_int_equal(g.in[1], 30);
    assert_int_equal(g.out[0], 16);
    assert_int_equal(g.out[1], 15);
    assert_int_equal(g.kernel_elems, 15);
    assert_int_equal(g.stride[1], 2);
    assert_int_equal(g.dilation[1], 3);
    assert_false(g.is_depthwise);
    assert_ptr_equal(g.bias, &graph->tensors[b]);
}

static void cached_geometries_are_the_same(void **state) {
    (void)state;
    uint32_t x = toy_input(graph, 2, 8, 32, 30), y = toy_value(graph, 2, 16, 32, 30);
    add2(&conv_oihw, x, toy_weight(graph, 16, 8, 1, 1), y);
    add2(&conv_oihw, y, toy_weight(graph, 4, 3, 1, 1), toy_value(graph, 2, 4, 32, 30)); /* does not fit */
    conv_geometry before = conv_of(&graph->ops[0]), after;
    assert_true(conv_geometries_cache(graph));
    after = conv_of(&graph->ops[0]);
    assert_memory_equal(&before, &after, sizeof before);
    assert_false(conv_geometry_of(graph, &graph->ops[1], &after));
}

static void conv_before_its_output_is_known(void **state) {
    (void)state;
    uint32_t y = toy_value(graph, 1);
    graph->tensors[y].rank = -1;
    conv_geometry g = conv_of(add2(&conv_oihw, toy_input(graph, 1, 6, 9), toy_weight(graph, 6, 1, 4), y));
    assert_int_equal(g.spatial, 1);
    assert_int_equal(g.out[0], 0);
    assert_int_equal(g.kernel[0], 4);
    assert_true(g.is_depthwise); /* no group attribute: follows from the weights */
    assert_null(g.bias);
}

static void transposed_conv_keeps_groups(void **state) {
    (void)state;
    add2(&conv_iohw, toy_input(graph, 1, 8, 7, 7), toy_weight(graph, 8, 3, 2, 2), toy_value(graph, 1, 12, 14, 14));
    ft_attr group = toy_int(graph, "group", 4);
    toy_attrs(graph, &group, 1);
    conv_geometry g = conv_of(&graph->ops[0]);
    assert_int_equal(g.cin, 8);
    assert_int_equal(g.cout, 12);
    assert_int_equal(g.groups, 4);
    assert_false(g.is_depthwise);
}

static void quantised_conv_finds_its_operands(void **state) {
    (void)state;
    uint32_t x = toy_input(graph, 1, 3, 8, 8), w = toy_weight(graph, 4, 3, 1, 1), s = toy_weight(graph, 4);
    uint32_t b = toy_weight(graph, 4);
    conv_geometry g =
        conv_of(add(&qlinear_conv, (uint32_t[]){x, s, s, w, s, s, s, s, b}, 9, toy_value(graph, 1, 4, 8, 8)));
    assert_ptr_equal(g.weight, &graph->tensors[w]);
    assert_ptr_equal(g.bias, &graph->tensors[b]);
}

static void one_channel_is_not_depthwise(void **state) {
    (void)state;
    conv_geometry g = conv_of(
        add2(&conv_oihw, toy_input(graph, 1, 1, 8, 8), toy_weight(graph, 4, 1, 3, 3), toy_value(graph, 1, 4, 6, 6)));
    assert_false(g.is_depthwise);
}

static void impossible_convs_are_refused(void **state) {
    (void)state;
    conv_geometry g;
    uint32_t x = toy_input(graph, 1, 8, 7, 7), y = toy_value(graph, 1, 4, 7, 7);
    assert_false(conv_geometry_of(graph, add2(&conv_oihw, x, toy_weight(graph, 4, 3, 1, 1), y), &g));
    assert_false(conv_geometry_of(graph, add2(&conv_oihw, x, toy_weight(graph, 4, 8, 1), y), &g));
    assert_false(conv_geometry_of(graph, add2(&conv_oihw, x, toy_weight(graph, 4, 8, 0, 1), y), &g));
    assert_false(conv_geometry_of(graph, add2(&conv_oihw, x, toy_weight(graph, 4, 9, 1, 1), y), &g));
    assert_false(conv_geometry_of(graph, add2(&matmul, x, x, y), &g));
    add2(&conv_oihw, x, toy_weight(graph, 4, 4, 1, 1), y);
    ft_attr wrong[] = {toy_int(graph, "group", -2), toy_ints(graph, "strides", 0, 1)};
    toy_attrs(graph, wrong, 1);
    assert_false(conv_geometry_of(graph, &graph->ops[graph->op_count - 1], &g));
    toy_attrs(graph, wrong + 1, 1);
    assert_false(conv_geometry_of(graph, &graph->ops[graph->op_count - 1], &g));
}

static void nhwc_layouts_agree(void **state) {
    (void)state;
    uint32_t x = toy_input(graph, 1, 10, 12, 6), y = toy_value(graph, 1, 8, 10, 24);
    conv_geometry g = conv_of(add2(&conv_ohwi, x, toy_weight(graph, 24, 3, 5, 6), y));
    assert_int_equal(g.cin, 6);
    assert_int_equal(g.cout, 24);
    assert_int_equal(g.groups, 1);
    assert_int_equal(g.in[1], 12);
    assert_int_equal(g.out[0], 8);
    assert_int_equal(g.kernel[1], 5);
    g = conv_of(add2(&conv_ohwi, x, toy_weight(graph, 24, 3, 3, 2), y));
    assert_int_equal(g.groups, 3);
    g = conv_of(add2(&conv_hwio, x, toy_weight(graph, 3, 5, 6, 24), y));
    assert_int_equal(g.cout, 24);
    assert_int_equal(g.kernel[1], 5);
    g = conv_of(add2(&conv_1hwo, x, toy_weight(graph, 1, 3, 5, 24), y));
    assert_int_equal(g.groups, 6);
    assert_int_equal(g.cout, 24);
    assert_int_equal(g.kernel_elems, 15);
    assert_true(g.is_depthwise);
    g = conv_of(add2(&conv_hwim, x, toy_weight(graph, 3, 5, 6, 4), y));
    assert_int_equal(g.groups, 6);
    assert_int_equal(g.cout, 24);
    assert_true(g.is_depthwise);
}

static void three_dimensions_and_swapped_operands(void **state) {
    (void)state;
    conv_geometry g = conv_of(add2(&conv_dhwio, toy_input(graph, 1, 4, 8, 8, 3), toy_weight(graph, 2, 3, 3, 3, 16),
                                   toy_value(graph, 1, 3, 6, 6, 16)));
    assert_int_equal(g.spatial, 3);
    assert_int_equal(g.kernel_elems, 18);
    assert_int_equal(g.cout, 16);
    uint32_t shape = toy_tensor(graph, FT_CONSTANT, FT_INT32, 4, TOY_END), w = toy_weight(graph, 5, 2, 2, 3);
    uint32_t x = toy_input(graph, 1, 7, 7, 3), b = toy_weight(graph, 5);
    g = conv_of(add(&tflite_transpose, (uint32_t[]){shape, w, x, b}, 4, toy_value(graph, 1, 14, 14, 5)));
    assert_int_equal(g.cout, 5);
    assert_int_equal(g.in[0], 7);
    assert_ptr_equal(g.bias, &graph->tensors[b]);
}

static void convs_without_weight_tensors(void **state) {
    (void)state;
    uint32_t x = toy_input(graph, 1, 10, 10, 6);
    add(&conv_hwio, &x, 1, toy_value(graph, 1, 5, 5, 20));
    ft_attr attrs[] = {toy_ints(graph, "kernel_shape", 3, 3), toy_ints(graph, "strides", 2, 2)};
    toy_attrs(graph, attrs, 2);
    conv_geometry g = conv_of(&graph->ops[0]);
    assert_int_equal(g.cout, 20);
    assert_int_equal(g.groups, 1);
    assert_int_equal(g.kernel_elems, 9);
    assert_null(g.weight);
    add(&conv_hwim, &x, 1, toy_value(graph, 1, 5, 5, 6));
    toy_attrs(graph, attrs, 2);
    g = conv_of(&graph->ops[1]);
    assert_int_equal(g.groups, 6);
    assert_true(g.is_depthwise);
}

static void check_matmul(const ft_op *op, uint64_t batch, uint64_t m, uint64_t n, uint64_t k) {
    matmul_geometry g;
    assert_true(matmul_geometry_of(graph, op, &g));
    assert_int_equal(g.batch, batch);
    assert_int_equal(g.m, m);
    assert_int_equal(g.n, n);
    assert_int_equal(g.k, k);
}

static void products_broadcast_and_transpose(void **state) {
    (void)state;
    uint32_t y = toy_value(graph, 1);
    check_matmul(add2(&matmul, toy_input(graph, 2, 3, 4, 5), toy_weight(graph, 5, 6), y), 6, 4, 6, 5);
    check_matmul(add2(&matmul, toy_input(graph, 2, 1, 4, 5), toy_input(graph, 7, 5, 6), y), 14, 4, 6, 5);
    check_matmul(add2(&matmul, toy_input(graph, 5), toy_input(graph, 5, 6), y), 1, 1, 6, 5);
    check_matmul(add2(&matmul, toy_input(graph, 4, 5), toy_input(graph, 5), y), 1, 4, 1, 5);
    uint32_t a = toy_input(graph, 5, 4), b = toy_weight(graph, 6, 5), c = toy_weight(graph, 6);
    add(&gemm, (uint32_t[]){a, b, c}, 3, y);
    ft_attr attrs[] = {toy_int(graph, "transA", 1), toy_int(graph, "transB", 1)};
    toy_attrs(graph, attrs, 2);
    check_matmul(&graph->ops[graph->op_count - 1], 1, 4, 6, 5);
    matmul_geometry g;
    assert_true(matmul_geometry_of(graph, &graph->ops[graph->op_count - 1], &g));
    assert_ptr_equal(g.bias, &graph->tensors[c]);
    assert_false(matmul_geometry_of(graph, add2(&matmul, a, a, y), &g));
    assert_false(matmul_geometry_of(graph, add2(&matmul, toy_input(graph, 2, 4, 5), toy_input(graph, 3, 5, 4), y), &g));
}

static void dense_layers_flatten(void **state) {
    (void)state;
    uint32_t x = toy_input(graph, 2, 7, 7, 10), y = toy_value(graph, 2, 9);
    check_matmul(add2(&dense, x, toy_weight(graph, 9, 490), y), 1, 2, 9, 490);
    check_matmul(add2(&dense, x, toy_weight(graph, 9, 10), y), 1, 98, 9, 10);
    check_matmul(add(&dense, &x, 1, y), 1, 98, 9, 10);
    add2(&packed, toy_input(graph, 3, 64), toy_tensor(graph, FT_CONSTANT, FT_UINT8, 32, 2, 16, TOY_END), y);
    ft_attr sizes[] = {toy_int(graph, "K", 64), toy_int(graph, "N", 32)};
    toy_attrs(graph, sizes, 2);
    check_matmul(&graph->ops[graph->op_count - 1], 1, 3, 32, 64);
}

static void pools_have_windows(void **state) {
    (void)state;
    uint32_t x = toy_input(graph, 1, 8, 14, 16);
    add(&pool, &x, 1, toy_value(graph, 1, 8, 7, 8));
    ft_attr attrs[] = {toy_ints(graph, "kernel_shape", 3, 2), toy_ints(graph, "strides", 2, 2)};
    toy_attrs(graph, attrs, 2);
    pool_geometry g;
    assert_true(pool_geometry_of(graph, &graph->ops[0], &g));
    assert_int_equal(g.channels, 8);
    assert_int_equal(g.kernel_elems, 6);
    assert_int_equal(g.stride[0], 2);
    assert_int_equal(g.in[1], 16);
    assert_int_equal(g.out[0], 7);
    assert_true(pool_geometry_of(graph, add(&pool, &x, 1, toy_value(graph, 1, 8, 1, 1)), &g));
    assert_int_equal(g.kernel_elems, 14 * 16);
    assert_true(pool_geometry_of(graph, add(&pool, &x, 1, toy_value(graph, 1, 8, 7, 7)), &g));
    assert_int_equal(g.kernel_elems, 2 * 3);
}

#define NCHW(test) cmocka_unit_test_setup_teardown(test, begin_nchw, end)
#define NHWC(test) cmocka_unit_test_setup_teardown(test, begin_nhwc, end)

int main(void) {
    const struct CMUnitTest tests[] = {
        NCHW(grouped_conv_has_bias_strides_and_dilations),
        NCHW(cached_geometries_are_the_same),
        NCHW(conv_before_its_output_is_known),
        NCHW(transposed_conv_keeps_groups),
        NCHW(quantised_conv_finds_its_operands),
        NCHW(one_channel_is_not_depthwise),
        NCHW(impossible_convs_are_refused),
        NHWC(nhwc_layouts_agree),
        NHWC(three_dimensions_and_swapped_operands),
        NHWC(convs_without_weight_tensors),
        NCHW(products_broadcast_and_transpose),
        NHWC(dense_layers_flatten),
        NCHW(pools_have_windows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
