/* What frameworks run as one: activations, norms and attention spelled out keep no more than the real thing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cost/pattern.h"
#include "support/toy.h"

static ft_graph *graph;
static ft_cost_options options;

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

enum { BYTES = 4 * 16 * 4 };

static uint32_t value(void) {
    return toy_value(graph, 4, 16);
}

static uint32_t trained(uint32_t x) {
    return toy_op(graph, "MatMul", x, toy_weight(graph, 16, 16), FT_NONE, value());
}

static uint32_t unary(const char *type, uint32_t x) {
    return toy_op(graph, type, x, FT_NONE, FT_NONE, value());
}

/* Ends with another layer, which keeps its input. */
static void finish(uint32_t x) {
    toy_finish(graph, trained(x), 1, 1);
}

static void silu_keeps_its_input_alone(void **state) {
    (void)state;
    uint32_t x = trained(toy_input(graph, 4, 16));
    finish(toy_op(graph, "Mul", x, unary("Sigmoid", x), FT_NONE, value()));
    assert_int_equal(plan().saved_bytes, 2 * BYTES); /* x, and the next layer's input */
}

static void gelu_by_erf_keeps_its_input_alone(void **state) {
    (void)state;
    uint32_t x = trained(toy_input(graph, 4, 16));
    uint32_t e = unary("Erf", toy_op(graph, "Div", x, toy_weight(graph, 1), FT_NONE, value()));
    e = toy_op(graph, "Add", e, toy_weight(graph, 1), FT_NONE, value());
    e = toy_op(graph, "Mul", x, e, FT_NONE, value());
    finish(toy_op(graph, "Mul", e, toy_weight(graph, 1), FT_NONE, value()));
    assert_int_equal(plan().saved_bytes, 2 * BYTES);
}

static void products_of_different_things_keep_both(void **state) {
    (void)state;
    uint32_t x = trained(toy_input(graph, 4, 16)), gate = unary("Sigmoid", trained(x));
    finish(toy_op(graph, "Mul", x, gate, FT_NONE, value()));
    /* x for its product and the gate's layer, the gate, the next layer's input */
    assert_int_equal(plan().saved_bytes, 3 * BYTES);
}

static void a_part_that_others_read_is_still_kept_by_them(void **state) {
    (void)state;
    uint32_t x = trained(toy_input(graph, 4, 16)), s = unary("Sigmoid", x);
    uint32_t y = toy_op(graph, "Mul", x, s, FT_NONE, value());
    finish(toy_op(graph, "Add", y, trained(s), FT_NONE, value()));
    assert_int_equal(plan().saved_bytes, 3 * BYTES); /* x, s, the next layer's input */
}

static void group_norm_keeps_its_input_alone(void **state) {
    (void)state;
    uint32_t x = trained(toy_input(graph, 4, 16)), one = toy_weight(graph, 16), zero = toy_weight(graph, 16);
    uint32_t n = toy_op(graph, "InstanceNormalization", x, one, zero, value());
    n = toy_op(graph, "Mul", n, toy_weight(graph, 16), FT_NONE, value());
    finish(toy_op(graph, "Add", n, toy_weight(graph, 16), FT_NONE, value()));
    assert_int_equal(plan().saved_bytes, 2 * BYTES);
}

/* Scores of 4 x 100 x 100 between queries, keys and values of 100 x 8 a head. `bias` is added when there is one. */
static void attention(uint32_t bias) {
    uint32_t x = toy_op(graph, "MatMul", toy_input(graph, 4, 100, 8), toy_weight(graph, 8, 8), FT_NONE,
                        toy_value(graph, 4, 100, 8));
    uint32_t t = toy_op(graph, "Transpose", x, FT_NONE, FT_NONE, toy_value(graph, 4, 8, 100));
    uint32_t s = toy_op(graph, "MatMul", x, t, FT_NONE, toy_value(graph, 4, 100, 100));
    s = toy_op(graph, "Mul", s, toy_weight(graph, 1), FT_NONE, toy_value(graph, 4, 100, 100));
    if (bias != FT_NONE) s = toy_op(graph, "Add", s, bias, FT_NONE, toy_value(graph, 4, 100, 100));
    s = toy_op(graph, "Softmax", s, FT_NONE, FT_NONE, toy_value(graph, 4, 100, 100));
    toy_finish(graph, toy_op(graph, "MatMul", s, x, FT_NONE, toy_value(graph, 4, 100, 8)), 1, 1);
}

static void fused_attention_never_holds_its_scores(void **state) {
    (void)state;
    enum { SCORES = 4 * 100 * 100 * 4, HEADS = 4 * 100 * 8 * 4 };
    attention(FT_NONE);
    assert_int_equal(plan().saved_bytes, 2 * HEADS); /* queries that are also values, and keys */
    options.has_fused_attention = false;
    assert_int_equal(plan().saved_bytes, 2 * HEADS + SCORES); /* and the probabilities */
    options.mode = FT_INFER;
    assert_int_equal(plan().activation_bytes, SCORES + 3 * HEADS);
    options.has_fused_attention = true;
    assert_int_equal(plan().activation_bytes, 3 * HEADS);
}

static void a_transpose_for_a_product_is_a_view(void **state) {
    (void)state;
    uint32_t x = trained(toy_input(graph, 4, 16));
    uint32_t t = toy_op(graph, "Transpose", x, FT_NONE, FT_NONE, toy_value(graph, 16, 4));
    toy_finish(graph, toy_op(graph, "MatMul", x, t, FT_NONE, toy_value(graph, 4, 4)), 1, 1);
    assert_int_equal(plan().saved_bytes, BYTES); /* x, which is also its transpose */
    ft_attr perm = toy_ints(graph, "perm", 0, 1);
    graph->ops[1].attrs = &perm;
    graph->ops[1].attr_count = 1;
    assert_int_equal(plan().saved_bytes, 2 * BYTES); /* another permutation is a copy */
}

static void a_trained_bias_takes_the_long_way(void **state) {
    (void)state;
    attention(toy_weight(graph, 4, 100, 100));
    assert_true(plan().saved_bytes > 4 * 100 * 100 * 4);
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, begin, end)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(silu_keeps_its_input_alone),
        TEST(gelu_by_erf_keeps_its_input_alone),
        TEST(products_of_different_things_keep_both),
        TEST(a_part_that_others_read_is_still_kept_by_them),
        TEST(group_norm_keeps_its_input_alone),
        TEST(fused_attention_never_holds_its_scores),
        TEST(a_transpose_for_a_product_is_a_view),
        TEST(a_trained_bias_takes_the_long_way),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
