/* Classification of tensors as parameter, buffer, or neither, and the flow of gradients. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cost/params.h"
#include "support/toy.h"

static ft_graph *graph;
static arena memory;
static param_marks marks;

static int begin(void **state) {
    (void)state;
    graph = toy_graph(FT_FORMAT_ONNX, FT_NCHW);
    arena_init(&memory, 1 << 20);
    return 0;
}

static int end(void **state) {
    (void)state;
    ft_graph_free(graph);
    arena_free(&memory);
    return 0;
}

static void mark(uint32_t output) {
    toy_finish(graph, output, 1, 1);
    assert_true(params_mark(graph, &memory, &marks));
}

static void assert_param(uint32_t tensor) {
    assert_int_equal(marks.marks[tensor] & (MARK_PARAM | MARK_BUFFER), MARK_PARAM);
}

static void assert_buffer(uint32_t tensor) {
    assert_int_equal(marks.marks[tensor] & (MARK_PARAM | MARK_BUFFER), MARK_BUFFER);
}

static void assert_neither(uint32_t tensor) {
    assert_int_equal(marks.marks[tensor] & (MARK_PARAM | MARK_BUFFER), 0);
}

static void running_statistics_are_buffers(void **state) {
    (void)state;
    uint32_t in[5] = {toy_input(graph, 1, 8, 4, 4)};
    for (int i = 1; i < 5; i++) in[i] = toy_weight(graph, 8);
    uint32_t y = toy_value(graph, 1, 8, 4, 4);
    ft_op bn = {.name = "bn", .type = "BatchNormalization", .inputs = in, .outputs = &y};
    bn.input_count = 5;
    bn.output_count = 1;
    toy_op_full(graph, &bn);
    mark(y);
    assert_param(in[1]);
    assert_param(in[2]);
    assert_buffer(in[3]);
    assert_buffer(in[4]);
}

/* Inputs 5 and 6 of an LSTM are its initial states. */
static void stored_states_of_recurrent_layers_are_buffers(void **state) {
    (void)state;
    uint32_t in[7] = {toy_input(graph, 20, 1, 10),
                      toy_weight(graph, 1, 64, 10),
                      toy_weight(graph, 1, 64, 16),
                      toy_weight(graph, 1, 128),
                      FT_NONE,
                      toy_weight(graph, 1, 1, 16),
                      toy_weight(graph, 1, 1, 16)};
    uint32_t y = toy_value(graph, 20, 1, 1, 16);
    toy_op_full(graph,
                &(ft_op){.name = "", .type = "LSTM", .inputs = in, .input_count = 7, .outputs = &y, .output_count = 1});
    mark(y);
    for (int i = 1; i < 4; i++) assert_param(in[i]);
    assert_buffer(in[5]);
    assert_buffer(in[6]);
}

static void formula_constants_are_neither(void **state) {
    (void)state;
    uint32_t x = toy_input(graph, 1, 8), half = toy_weight(graph, 1), scale = toy_weight(graph, 8);
    uint32_t a = toy_op(graph, "Mul", x, half, FT_NONE, toy_value(graph, 1, 8));
    uint32_t shape = toy_tensor(graph, FT_CONSTANT, FT_INT64, 2, TOY_END);
    uint32_t b = toy_op(graph, "Reshape", a, shape, FT_NONE, toy_value(graph, 8, 1));
    mark(toy_op(graph, "Mul", b, scale, FT_NONE, toy_value(graph, 8, 8)));
    assert_neither(half);
    assert_neither(shape);
    assert_param(scale);
}

static void a_learned_scalar_is_recognised_by_its_name(void **state) {
    (void)state;
    uint32_t scale = toy_weight(graph, 1), literal = toy_weight(graph, 1);
    graph->tensors[scale].name = "stages.0.act.scale";
    graph->tensors[literal].name = "onnx::Mul_1.5";
    uint32_t x = toy_op(graph, "Mul", toy_input(graph, 1, 8), scale, FT_NONE, toy_value(graph, 1, 8));
    mark(toy_op(graph, "Mul", x, literal, FT_NONE, toy_value(graph, 1, 8)));
    assert_param(scale);
    assert_neither(literal);
}

static void a_bias_of_one_channel_is_a_parameter(void **state) {
    (void)state;
    uint32_t w = toy_weight(graph, 1, 3, 3, 3), b = toy_weight(graph, 1);
    mark(toy_op(graph, "Conv", toy_input(graph, 1, 3, 8, 8), w, b, toy_value(graph, 1, 1, 6, 6)));
    assert_param(w);
    assert_param(b);
}

static void weights_reach_their_reader_through_folded_operators(void **state) {
    (void)state;
    uint32_t w = toy_weight(graph, 10, 20), t = toy_value(graph, 20, 10), y = toy_value(graph, 1, 10);
    toy_op(graph, "Transpose", w, FT_NONE, FT_NONE, t);
    toy_op(graph, "MatMul", toy_input(graph, 1, 20), t, FT_NONE, y);
    graph->ops[0].is_folded = true;
    mark(y);
    assert_param(w);
    assert_int_equal(marks.first_reader[w], 1);
    assert_true(tensor_has(&marks, t, MARK_STATIC));
    assert_true(tensor_has(&marks, t, MARK_GRADIENT));
}

static void quantised_weights_count_and_their_scales_do_not(void **state) {
    (void)state;
    uint32_t w = toy_tensor(graph, FT_CONSTANT, FT_INT8, 16, 8, 1, 1, TOY_END), scale = toy_weight(graph, 16);
    uint32_t zero = toy_tensor(graph, FT_CONSTANT, FT_INT8, 16, TOY_END), f = toy_value(graph, 16, 8, 1, 1);
    toy_op(graph, "DequantizeLinear", w, scale, zero, f);
    graph->ops[0].is_folded = true;
    uint32_t bias = toy_tensor(graph, FT_CONSTANT, FT_INT32, 16, TOY_END);
    mark(toy_op(graph, "Conv", toy_input(graph, 1, 8, 4, 4), f, bias, toy_value(graph, 1, 16, 4, 4)));
    assert_param(w);
    assert_param(bias);
    assert_neither(scale);
    assert_neither(zero);
}

static void index_tables_are_neither(void **state) {
    (void)state;
    uint32_t table = toy_weight(graph, 169, 3), index = toy_tensor(graph, FT_CONSTANT, FT_INT64, 49, 49, TOY_END);
    uint32_t ids = toy_tensor(graph, FT_INPUT, FT_INT64, 5, TOY_END), words = toy_weight(graph, 100, 3);
    uint32_t bias = toy_op(graph, "Gather", table, index, FT_NONE, toy_value(graph, 49, 49, 3));
    uint32_t rows = toy_op(graph, "Gather", words, ids, FT_NONE, toy_value(graph, 5, 3));
    uint32_t mean = toy_op(graph, "ReduceMean", rows, FT_NONE, FT_NONE, toy_value(graph, 1, 3));
    mark(toy_op(graph, "Add", bias, mean, FT_NONE, toy_value(graph, 49, 49, 3)));
    assert_neither(index);
    assert_param(table);
    assert_param(words);
}

static void tables_added_to_scores_are_buffers(void **state) {
    (void)state;
    uint32_t table = toy_weight(graph, 1, 4, 9, 9), mask = toy_weight(graph, 9, 9), place = toy_weight(graph, 1, 9, 8);
    uint32_t x = toy_op(graph, "Add", toy_input(graph, 1, 9, 8), place, FT_NONE, toy_value(graph, 1, 9, 8));
    uint32_t s = toy_op(graph, "MatMul", toy_input(graph, 1, 4, 9, 8), toy_input(graph, 1, 4, 8, 9), FT_NONE,
                        toy_value(graph, 1, 4, 9, 9));
    s = toy_op(graph, "Add", s, table, FT_NONE, toy_value(graph, 1, 4, 9, 9));
    s = toy_op(graph, "Add", s, mask, FT_NONE, toy_value(graph, 1, 4, 9, 9));
    s = toy_op(graph, "Softmax", s, FT_NONE, FT_NONE, toy_value(graph, 1, 4, 9, 9));
    mark(toy_op(graph, "MatMul", s, x, FT_NONE, toy_value(graph, 1, 4, 9, 8)));
    assert_buffer(table);
    assert_buffer(mask);
    assert_param(place);
}

static void a_linear_bias_before_a_softmax_is_a_parameter(void **state) {
    (void)state;
    uint32_t b = toy_weight(graph, 10), w = toy_weight(graph, 8, 10);
    uint32_t y = toy_op(graph, "MatMul", toy_input(graph, 1, 8), w, FT_NONE, toy_value(graph, 1, 10));
    y = toy_op(graph, "Add", y, b, FT_NONE, toy_value(graph, 1, 10));
    mark(toy_op(graph, "Softmax", y, FT_NONE, FT_NONE, toy_value(graph, 1, 10)));
    assert_param(b);
    assert_param(w);
}

static void computed_constants_are_buffers(void **state) {
    (void)state;
    uint32_t sine = toy_weight(graph, 196, 64);
    graph->tensors[sine].name = "/blocks/0/attn/Constant_output_0";
    mark(toy_op(graph, "Mul", toy_input(graph, 196, 64), sine, FT_NONE, toy_value(graph, 196, 64)));
    assert_buffer(sine);
}

static void a_folded_weight_is_still_a_parameter(void **state) {
    (void)state;
    uint32_t w = toy_weight(graph, 8, 8), filter = toy_weight(graph, 8, 8);
    graph->tensors[w].name = "/fc/Transpose_output_0";
    graph->tensors[filter].name = "/blur/Constant_1_output_0";
    uint32_t x = toy_op(graph, "MatMul", toy_input(graph, 1, 8), w, FT_NONE, toy_value(graph, 1, 8));
    mark(toy_op(graph, "MatMul", x, filter, FT_NONE, toy_value(graph, 1, 8)));
    assert_param(w);
    assert_buffer(filter);
}

static void gradients_begin_at_parameters(void **state) {
    (void)state;
    uint32_t x = toy_input(graph, 1, 3, 8, 8),
             a = toy_op(graph, "Relu", x, FT_NONE, FT_NONE, toy_value(graph, 1, 3, 8, 8));
    uint32_t w = toy_weight(graph, 4, 3, 3, 3);
    uint32_t y = toy_op(graph, "Conv", a, w, FT_NONE, toy_value(graph, 1, 4, 6, 6));
    uint32_t top = toy_tensor(graph, FT_ACTIVATION, FT_INT64, 1, 1, 6, 6, TOY_END);
    mark(toy_op(graph, "ArgMax", y, FT_NONE, FT_NONE, top));
    assert_false(tensor_has(&marks, x, MARK_GRADIENT));
    assert_false(tensor_has(&marks, a, MARK_GRADIENT));
    assert_true(tensor_has(&marks, w, MARK_GRADIENT));
    assert_true(tensor_has(&marks, y, MARK_GRADIENT));
    assert_false(tensor_has(&marks, top, MARK_GRADIENT));
    assert_false(params_op_has_gradient(&marks, &graph->ops[0]));
    assert_true(params_op_has_gradient(&marks, &graph->ops[1]));
    assert_false(params_op_has_gradient(&marks, &graph->ops[2]));
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, begin, end)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(running_statistics_are_buffers),
        TEST(stored_states_of_recurrent_layers_are_buffers),
        TEST(formula_constants_are_neither),
        TEST(a_learned_scalar_is_recognised_by_its_name),
        TEST(a_bias_of_one_channel_is_a_parameter),
        TEST(weights_reach_their_reader_through_folded_operators),
        TEST(quantised_weights_count_and_their_scales_do_not),
        TEST(index_tables_are_neither),
        TEST(tables_added_to_scores_are_buffers),
        TEST(a_linear_bias_before_a_softmax_is_a_parameter),
        TEST(computed_constants_are_buffers),
        TEST(a_folded_weight_is_still_a_parameter),
        TEST(gradients_begin_at_parameters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
