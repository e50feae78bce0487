/* Backward work: operands with a gradient, its FLOPs, bytes read and written. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cost/work.h"
#include "support/toy.h"

static ft_graph *graph;
static arena memory;
static param_marks params;
static ft_cost_options options;
static ft_work data, weights;

static int begin(void **state) {
    (void)state;
    graph = toy_graph(FT_FORMAT_ONNX, FT_NCHW);
    arena_init(&memory, 1 << 20);
    options = ft_cost_options_default();
    options.mode = FT_TRAIN;
    return 0;
}

static int end(void **state) {
    (void)state;
    ft_graph_free(graph);
    arena_free(&memory);
    return 0;
}

static void back(uint32_t op) {
    work_env env;
    bool is_estimated;
    assert_true(params_mark(graph, &memory, &params));
    assert_true(work_prepare(graph, &options, &params, &memory, &env));
    ft_work forward = work_forward(&env, &graph->ops[op], &is_estimated);
    work_backward(&env, &graph->ops[op], &forward, &data, &weights);
}

static void check(ft_work work, uint64_t macs, uint64_t flops, uint64_t read_bytes, uint64_t write_bytes) {
    assert_int_equal(work.macs, macs);
    assert_int_equal(work.flops, flops);
    assert_int_equal(work.read_bytes, read_bytes);
    assert_int_equal(work.write_bytes, write_bytes);
}

static void the_first_conv_has_no_data_gradient(void **state) {
    (void)state;
    uint32_t x = toy_input(graph, 1, 3, 8, 8), w1 = toy_weight(graph, 4, 3, 3, 3), b1 = toy_weight(graph, 4);
    uint32_t y = toy_op(graph, "Conv", x, w1, b1, toy_value(graph, 1, 4, 6, 6));
    y = toy_op(graph, "Conv", y, toy_weight(graph, 5, 4, 3, 3), FT_NONE, toy_value(graph, 1, 5, 4, 4));
    toy_finish(graph, y, 1, 1);
    uint64_t macs = 4 * 36 * 27;
    back(0);
    check(data, 0, 0, 0, 0);
    /* Reads the gradient and what is not the weight itself (x and the bias), writes both gradients. */
    check(weights, macs, 2 * macs + 4 * 36, 4 * (144 + 192 + 4), 4 * (108 + 4));
    macs = 5 * 16 * 36;
    back(1);
    check(data, macs, 2 * macs, 4 * (80 + 180), 4 * 144);
    check(weights, macs, 2 * macs, 4 * (80 + 144), 4 * 180);
}

static void products_of_two_activations(void **state) {
    (void)state;
    uint32_t a =
        toy_op(graph, "MatMul", toy_input(graph, 6, 4), toy_weight(graph, 4, 5), FT_NONE, toy_value(graph, 6, 5));
    uint32_t b =
        toy_op(graph, "MatMul", toy_input(graph, 7, 4), toy_weight(graph, 4, 5), FT_NONE, toy_value(graph, 7, 5));
    b = toy_op(graph, "Transpose", b, FT_NONE, FT_NONE, toy_value(graph, 5, 7));
    toy_finish(graph, toy_op(graph, "MatMul", a, b, FT_NONE, toy_value(graph, 6, 7)), 1, 1);
    back(3);
    check(data, 2 * 210, 4 * 210, 4 * (42 + 35 + 42 + 30), 4 * (30 + 35));
    check(weights, 0, 0, 0, 0);
    back(2);
    check(data, 0, 0, 4 * 35, 4 * 35);
}

static void attention_has_gradients_of_both_operands(void **state) {
    (void)state;
    uint32_t x = toy_op(graph, "MatMul", toy_input(graph, 2, 10, 32), toy_weight(graph, 32, 32), FT_NONE,
                        toy_value(graph, 2, 10, 32));
    toy_finish(graph, toy_op(graph, "Attention", x, toy_weight(graph, 32, 96), FT_NONE, toy_value(graph, 2, 10, 32)), 1,
               1);
    back(1);
    uint64_t scores = 2 * 100 * 64, projection = 20 * 32 * 96;
    assert_int_equal(data.macs, projection + 2 * scores);
    assert_int_equal(weights.macs, projection);
}

/* A tensor with a gradient. */
static uint32_t trained(void) {
    return toy_op(graph, "MatMul", toy_input(graph, 4, 9), toy_weight(graph, 9, 16), FT_NONE, toy_value(graph, 4, 16));
}

static void additions_pass_gradients_on(void **state) {
    (void)state;
    uint32_t a = trained(), b = trained(), bias = toy_weight(graph, 16);
    a = toy_op(graph, "Add", a, b, FT_NONE, toy_value(graph, 4, 16));
    toy_finish(graph, toy_op(graph, "Add", a, bias, FT_NONE, toy_value(graph, 4, 16)), 1, 1);
    back(2);
    check(data, 0, 0, 256, 512);
    back(3);
    check(data, 0, 0, 256, 256);
    check(weights, 0, 64, 256, 64); /* summed over the rows */
}

static void activations_read_what_they_saved(void **state) {
    (void)state;
    toy_finish(graph, toy_op(graph, "Relu", trained(), FT_NONE, FT_NONE, toy_value(graph, 4, 16)), 1, 1);
    back(1);
    check(data, 0, 64 + 64, 512, 256);
}

static void norms_cost_about_twice(void **state) {
    (void)state;
    uint32_t scale = toy_weight(graph, 16), shift = toy_weight(graph, 16);
    uint32_t y = toy_op(graph, "LayerNormalization", trained(), scale, shift, toy_value(graph, 4, 16));
    toy_finish(graph, y, 1, 1);
    bool is_estimated;
    back(1);
    work_env env;
    assert_true(work_prepare(graph, &options, &params, &memory, &env));
    ft_work forward = work_forward(&env, &graph->ops[1], &is_estimated);
    assert_int_equal(data.flops, 2 * forward.flops);
    check(weights, 0, 2 * 2 * 64, 0, 128);
}

static void embeddings_write_the_whole_table(void **state) {
    (void)state;
    uint32_t ids = toy_tensor(graph, FT_INPUT, FT_INT64, 4, TOY_END);
    toy_finish(graph, toy_op(graph, "Gather", toy_weight(graph, 100, 16), ids, FT_NONE, toy_value(graph, 4, 16)), 1, 1);
    back(0);
    check(data, 0, 0, 0, 0);
    check(weights, 0, 64, 256, 6400);
}

static void nothing_flows_through_comparisons_and_views(void **state) {
    (void)state;
    uint32_t a = toy_op(graph, "Flatten", trained(), FT_NONE, FT_NONE, toy_value(graph, 64));
    uint32_t y = toy_tensor(graph, FT_ACTIVATION, FT_BOOL, 64, TOY_END);
    toy_finish(graph, toy_op(graph, "Greater", a, toy_weight(graph, 1), FT_NONE, y), 1, 1);
    back(1);
    check(data, 0, 0, 0, 0);
    back(2);
    check(data, 0, 0, 0, 0);
    check(weights, 0, 0, 0, 0);
}

static void another_batch_scales_gradients_of_data(void **state) {
    (void)state;
    uint32_t x = toy_input(graph, 1, 9),
             y = toy_op(graph, "MatMul", x, toy_weight(graph, 9, 16), FT_NONE, toy_value(graph, 1, 16));
    toy_finish(graph, toy_op(graph, "MatMul", y, toy_weight(graph, 16, 2), FT_NONE, toy_value(graph, 1, 2)), 10, 1);
    back(1);
    check(data, 320, 640, 4 * (20 + 32), 4 * 160);
    check(weights, 320, 640, 4 * (20 + 160), 4 * 32);
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, begin, end)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(the_first_conv_has_no_data_gradient),      TEST(products_of_two_activations),
        TEST(attention_has_gradients_of_both_operands), TEST(additions_pass_gradients_on),
        TEST(activations_read_what_they_saved),         TEST(norms_cost_about_twice),
        TEST(embeddings_write_the_whole_table),         TEST(nothing_flows_through_comparisons_and_views),
        TEST(another_batch_scales_gradients_of_data),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
