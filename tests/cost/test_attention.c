/* Attention that runs as one fused kernel, and the tensors it saves. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cost/pattern.h"
#include "support/toy.h"

static ft_graph *graph;
static ft_cost_options options;

enum { SCORES = 4 * 100 * 100 * 4, HEADS = 4 * 100 * 8 * 4 };

static int begin(void **state) {
    (void)state;
    graph = toy_graph(FT_FORMAT_ONNX, FT_NCHW);
    options = ft_cost_options_default();
    options.mode = FT_TRAIN;
    return 0;
}

static int end(void **state) {
    (void)state;
    ft_graph_free(graph);
    return 0;
}

static ft_memory plan(void) {
    ft_memory memory;
    ft_error error;
    assert_int_equal(ft_memory_plan(graph, &options, &memory, NULL, NULL, &error), FT_OK);
    return memory;
}

static uint32_t scores(void) {
    return toy_value(graph, 4, 100, 100);
}

/* Queries, keys and values of 100 x 8 in four heads, all of them the output of one layer. */
static uint32_t heads(void) {
    return toy_op(graph, "MatMul", toy_input(graph, 4, 100, 8), toy_weight(graph, 8, 8), FT_NONE,
                  toy_value(graph, 4, 100, 8));
}

/* The scores, optionally with queries that are scaled before the product. */
static uint32_t product(uint32_t x, bool is_scaled) {
    uint32_t t = toy_op(graph, "Transpose", x, FT_NONE, FT_NONE, toy_value(graph, 4, 8, 100)), q = x;
    if (is_scaled) q = toy_op(graph, "Mul", x, toy_weight(graph, 1), FT_NONE, toy_value(graph, 4, 100, 8));
    return toy_op(graph, "MatMul", q, t, FT_NONE, scores());
}

static uint32_t attend(uint32_t s, uint32_t x) {
    s = toy_op(graph, "Softmax", s, FT_NONE, FT_NONE, scores());
    return toy_op(graph, "MatMul", s, x, FT_NONE, toy_value(graph, 4, 100, 8));
}

static void a_fused_kernel_never_stores_its_scores(void **state) {
    (void)state;
    uint32_t x = heads();
    toy_finish(graph, attend(product(x, true), x), 1, 1);
    assert_int_equal(plan().saved_bytes, 2 * HEADS); /* queries that are also values, and keys */
    options.has_fused_attention = false;
    assert_int_equal(plan().saved_bytes, 3 * HEADS + SCORES); /* and scaled queries and probabilities */
    options.mode = FT_INFER;
    assert_int_equal(plan().activation_bytes, SCORES + 4 * HEADS); /* the input, queries, keys, values */
    options.has_fused_attention = true;
    assert_int_equal(plan().activation_bytes, 3 * HEADS);
}

static void scaled_scores_are_not_fused(void **state) {
    (void)state;
    uint32_t x = heads();
    uint32_t s = toy_op(graph, "Mul", product(x, false), toy_weight(graph, 1), FT_NONE, scores());
    toy_finish(graph, attend(s, x), 1, 1);
    assert_true(plan().saved_bytes >= SCORES);
}

static void a_table_of_biases_does_not_prevent_fusion(void **state) {
    (void)state;
    uint32_t x = heads();
    uint32_t s = toy_op(graph, "Add", product(x, true), toy_weight(graph, 4, 100, 100), FT_NONE, scores());
    toy_finish(graph, attend(s, x), 1, 1);
    assert_int_equal(plan().saved_bytes, 2 * HEADS);
}

static void a_bias_that_depends_on_the_data_is_kept(void **state) {
    (void)state;
    uint32_t x = heads(), bias = toy_op(graph, "Neg", product(x, false), FT_NONE, FT_NONE, scores());
    uint32_t s = toy_op(graph, "Add", product(x, true), bias, FT_NONE, scores());
    toy_finish(graph, attend(s, x), 1, 1);
    assert_int_equal(plan().saved_bytes, 3 * HEADS + SCORES); /* and the keys that the bias is made of */
}

/* One layer masks its windows, the other does not: neither is fused. */
static void reshaped_scores_are_not_fused(void **state) {
    (void)state;
    uint32_t x = heads();
    uint32_t s = toy_op(graph, "Add", product(x, true), toy_weight(graph, 4, 100, 100), FT_NONE, scores());
    uint32_t y = attend(s, x);
    s = toy_op(graph, "Add", product(y, true), toy_weight(graph, 4, 100, 100), FT_NONE, scores());
    s = toy_op(graph, "Reshape", s, toy_weight(graph, 4), FT_NONE, toy_value(graph, 2, 2, 100, 100));
    s = toy_op(graph, "Add", s, toy_weight(graph, 2, 1, 100, 100), FT_NONE, toy_value(graph, 2, 2, 100, 100));
    s = toy_op(graph, "Reshape", s, toy_weight(graph, 3), FT_NONE, scores());
    toy_finish(graph, attend(s, y), 1, 1);
    assert_true(plan().saved_bytes >= 2 * SCORES);
}

static void five_dimensions_are_not_fused(void **state) {
    (void)state;
    uint32_t x = toy_op(graph, "MatMul", toy_input(graph, 2, 1, 2, 10, 8), toy_weight(graph, 8, 8), FT_NONE,
                        toy_value(graph, 2, 1, 2, 10, 8));
    uint32_t keys = toy_op(graph, "MatMul", x, toy_weight(graph, 8, 8), FT_NONE, toy_value(graph, 2, 1, 2, 8, 10));
    uint32_t s = toy_op(graph, "MatMul", x, keys, FT_NONE, toy_value(graph, 2, 1, 2, 10, 10));
    uint32_t p = toy_op(graph, "Softmax", s, FT_NONE, FT_NONE, toy_value(graph, 2, 1, 2, 10, 10));
    toy_finish(graph, toy_op(graph, "MatMul", p, x, FT_NONE, toy_value(graph, 2, 1, 2, 10, 8)), 1, 1);
    arena memory;
    param_marks params;
    patterns found;
    arena_init(&memory, 1 << 20);
    assert_true(params_mark(graph, &memory, &params));
    assert_true(patterns_find(graph, &options, &params, &memory, &found));
    assert_false(found.is_score[s]);
    assert_false(found.is_score[p]);
    arena_free(&memory);
}

static bool is_fused(uint32_t tensor) {
    arena memory;
    param_marks params;
    patterns found;
    arena_init(&memory, 1 << 20);
    assert_true(params_mark(graph, &memory, &params));
    assert_true(patterns_find(graph, &options, &params, &memory, &found));
    bool is_score = found.is_score[tensor];
    arena_free(&memory);
    return is_score;
}

/* Scores are products of data with data, on both sides of the softmax. */
static void products_with_weights_are_not_attention(void **state) {
    (void)state;
    for (int i = 0; i < 5; i++) {
        ft_graph_free(graph);
        graph = toy_graph(FT_FORMAT_ONNX, FT_NCHW);
        uint32_t x = toy_input(graph, 4, 100, 8), k = toy_input(graph, 4, 8, 100), s = scores(), p = scores();
        toy_op(graph, "MatMul", i == 1 ? toy_weight(graph, 4, 100, 8) : x, i == 2 ? toy_weight(graph, 4, 8, 100) : k,
               FT_NONE, s);
        toy_op(graph, "Softmax", s, FT_NONE, FT_NONE, p);
        uint32_t v = i == 3 ? toy_weight(graph, 4, 100, 8) : x, y = toy_value(graph, 4, 100, 8);
        toy_op(graph, "MatMul", p, v, FT_NONE, y);
        if (i == 4) y = toy_op(graph, "Neg", p, FT_NONE, FT_NONE, scores()); /* another reader of the scores */
        toy_finish(graph, y, 1, 1);
        assert_int_equal(is_fused(s), i == 0);
        assert_int_equal(is_fused(p), i == 0);
    }
}

/* Up to seven steps lie between a product and the softmax. */
static void a_long_way_to_the_softmax_is_not_fused(void **state) {
    (void)state;
    for (int steps = 7; steps <= 8; steps++) {
        ft_graph_free(graph);
        graph = toy_graph(FT_FORMAT_ONNX, FT_NCHW);
        uint32_t x = heads(), s = product(x, false), first = s;
        for (int i = 0; i < steps; i++) s = toy_op(graph, "Neg", s, FT_NONE, FT_NONE, scores());
        toy_finish(graph, attend(s, x), 1, 1);
        assert_int_equal(is_fused(first), steps == 7);
    }
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, begin, end)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(a_fused_kernel_never_stores_its_scores),
        TEST(scaled_scores_are_not_fused),
        TEST(a_table_of_biases_does_not_prevent_fusion),
        TEST(a_bias_that_depends_on_the_data_is_kept),
        TEST(reshaped_scores_are_not_fused),
        TEST(five_dimensions_are_not_fused),
        TEST(products_with_weights_are_not_attention),
        TEST(a_long_way_to_the_softmax_is_not_fused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
