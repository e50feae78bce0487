/* Decomposed activations and norms, which save no more than the fused operator. */
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

static void silu_saves_only_its_input(void **state) {
    (void)state;
    uint32_t x = trained(toy_input(graph, 4, 16));
    finish(toy_op(graph, "Mul", x, unary("Sigmoid", x), FT_NONE, value()));
    assert_int_equal(plan().saved_bytes, 2 * BYTES); /* x, and the next layer's input */
}

static void gelu_by_erf_saves_only_its_input(void **state) {
    (void)state;
    uint32_t x = trained(toy_input(graph, 4, 16));
    uint32_t e = unary("Erf", toy_op(graph, "Div", x, toy_weight(graph, 1), FT_NONE, value()));
    e = toy_op(graph, "Add", e, toy_weight(graph, 1), FT_NONE, value());
    e = toy_op(graph, "Mul", x, e, FT_NONE, value());
    finish(toy_op(graph, "Mul", e, toy_weight(graph, 1), FT_NONE, value()));
    assert_int_equal(plan().saved_bytes, 2 * BYTES);
}

static void products_of_different_bases_save_both(void **state) {
    (void)state;
    uint32_t x = trained(toy_input(graph, 4, 16)), gate = unary("Sigmoid", trained(x));
    finish(toy_op(graph, "Mul", x, gate, FT_NONE, value()));
    /* x for its product and the gate's layer, the gate, the next layer's input */
    assert_int_equal(plan().saved_bytes, 3 * BYTES);
}

static void a_part_with_other_readers_is_still_saved(void **state) {
    (void)state;
    uint32_t x = trained(toy_input(graph, 4, 16)), s = unary("Sigmoid", x);
    uint32_t y = toy_op(graph, "Mul", x, s, FT_NONE, value());
    finish(toy_op(graph, "Add", y, trained(s), FT_NONE, value()));
    assert_int_equal(plan().saved_bytes, 3 * BYTES); /* x, s, the next layer's input */
}

static void group_norm_saves_only_its_input(void **state) {
    (void)state;
    uint32_t x = trained(toy_input(graph, 4, 16)), one = toy_weight(graph, 16), zero = toy_weight(graph, 16);
    uint32_t n = toy_op(graph, "InstanceNormalization", x, one, zero, value());
    n = toy_op(graph, "Mul", n, toy_weight(graph, 16), FT_NONE, value());
    finish(toy_op(graph, "Add", n, toy_weight(graph, 16), FT_NONE, value()));
    assert_int_equal(plan().saved_bytes, 2 * BYTES);
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

/* Only the last two axes may change places. */
static void permutations_that_swap_the_last_two_axes_are_views(void **state) {
    (void)state;
    static const struct {
        int64_t perm[4];
        size_t count;
        bool is_view;
    } cases[] = {{{1, 0}, 2, true},        {{0, 1}, 2, false},       {{0, 2, 1}, 3, true},    {{2, 1, 0}, 3, false},
                 {{1, 2, 0}, 3, false},    {{0, 1, 2}, 3, false},    {{0, 1, 3, 2}, 4, true}, {{1, 0, 3, 2}, 4, false},
                 {{0, 2, 3, 1}, 4, false}, {{0, 2, 1, 3}, 4, false}, {{0, 2, 2}, 3, false},   {{0}, 1, false}};
    uint32_t x = toy_input(graph, 2, 3, 4, 4), t = toy_value(graph, 2, 3, 4, 4);
    toy_op(graph, "Transpose", x, FT_NONE, FT_NONE, t);
    toy_finish(graph, toy_op(graph, "MatMul", x, t, FT_NONE, toy_value(graph, 2, 3, 4, 4)), 1, 1);
    assert_false(pattern_is_transposed_operand(graph, &graph->ops[0])); /* by default all axes are reversed */
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        ft_attr perm = {0};
        ft_error error;
        assert_int_equal(graph_attr_ints(graph, &perm, "perm", cases[i].perm, cases[i].count, &error), FT_OK);
        graph->ops[0].attrs = &perm;
        graph->ops[0].attr_count = 1;
        assert_int_equal(pattern_is_transposed_operand(graph, &graph->ops[0]), cases[i].is_view);
    }
}

static void a_transpose_with_other_readers_is_a_copy(void **state) {
    (void)state;
    uint32_t x = toy_input(graph, 4, 4), t = toy_value(graph, 4, 4);
    toy_op(graph, "Transpose", x, FT_NONE, FT_NONE, t);
    uint32_t y = toy_op(graph, "MatMul", x, t, FT_NONE, toy_value(graph, 4, 4));
    toy_finish(graph, toy_op(graph, "Add", y, t, FT_NONE, toy_value(graph, 4, 4)), 1, 1);
    assert_false(pattern_is_transposed_operand(graph, &graph->ops[0]));
}

/* An index of one element takes a part out of a tensor; one of a list copies rows. */
static void a_scalar_index_takes_a_part(void **state) {
    (void)state;
    uint32_t x = toy_input(graph, 3, 4), one = toy_tensor(graph, FT_CONSTANT, FT_INT64, TOY_END);
    uint32_t list = toy_tensor(graph, FT_CONSTANT, FT_INT64, 1, TOY_END);
    toy_op(graph, "Gather", x, one, FT_NONE, toy_value(graph, 4));
    toy_op(graph, "Gather", x, list, FT_NONE, toy_value(graph, 1, 4));
    toy_finish(graph, toy_op(graph, "Gather", toy_weight(graph, 3, 4), one, FT_NONE, toy_value(graph, 4)), 1, 1);
    assert_true(pattern_is_single_index(graph, &graph->ops[0]));
    assert_false(pattern_is_single_index(graph, &graph->ops[1]));
    assert_false(pattern_is_single_index(graph, &graph->ops[2])); /* of a table */
}

static void quick_gelu_is_not_one_function(void **state) {
    (void)state;
    uint32_t x = trained(toy_input(graph, 4, 16));
    uint32_t gate = unary("Sigmoid", toy_op(graph, "Mul", x, toy_weight(graph, 1), FT_NONE, value()));
    finish(toy_op(graph, "Mul", x, gate, FT_NONE, value()));
    assert_int_equal(plan().saved_bytes, 3 * BYTES); /* x, the gate, and the next layer's input */
}

static void only_an_average_pool_absorbs_its_pad(void **state) {
    (void)state;
    uint32_t x = toy_input(graph, 1, 3, 8, 8), p = toy_value(graph, 1, 3, 10, 10);
    toy_op(graph, "Pad", x, FT_NONE, FT_NONE, p);
    toy_op(graph, "AveragePool", p, FT_NONE, FT_NONE, toy_value(graph, 1, 3, 8, 8));
    uint32_t q = toy_op(graph, "Pad", x, FT_NONE, FT_NONE, toy_value(graph, 1, 3, 10, 10));
    toy_finish(graph, toy_op(graph, "MaxPool", q, FT_NONE, FT_NONE, toy_value(graph, 1, 3, 8, 8)), 1, 1);
    assert_true(pattern_is_pool_pad(graph, &graph->ops[0]));
    assert_false(pattern_is_pool_pad(graph, &graph->ops[1]));
    assert_false(pattern_is_pool_pad(graph, &graph->ops[2]));
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, begin, end)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(silu_saves_only_its_input),
        TEST(gelu_by_erf_saves_only_its_input),
        TEST(products_of_different_bases_save_both),
        TEST(a_part_with_other_readers_is_still_saved),
        TEST(group_norm_saves_only_its_input),
        TEST(a_transpose_for_a_product_is_a_view),
        TEST(quick_gelu_is_not_one_function),
        TEST(only_an_average_pool_absorbs_its_pad),
        TEST(permutations_that_swap_the_last_two_axes_are_views),
        TEST(a_transpose_with_other_readers_is_a_copy),
        TEST(a_scalar_index_takes_a_part),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
