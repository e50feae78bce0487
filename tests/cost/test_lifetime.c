/* Storages: tensors that share memory, lifetimes, and tensors saved for backward. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cost/lifetime.h"
#include "support/toy.h"

static ft_graph *graph;
static arena memory;
static ft_cost_options options;
static param_marks params;
static lifetimes lives;

static int begin(void **state) {
    (void)state;
    graph = toy_graph(FT_FORMAT_ONNX, FT_NCHW);
    arena_init(&memory, 1 << 20);
    options = ft_cost_options_default();
    return 0;
}

static int end(void **state) {
    (void)state;
    ft_graph_free(graph);
    arena_free(&memory);
    return 0;
}

static void find(void) {
    assert_true(params_mark(graph, &memory, &params));
    assert_true(lifetimes_find(graph, &options, &params, &memory, &lives));
}

static uint32_t unary(const char *type, uint32_t x) {
    return toy_op(graph, type, x, FT_NONE, FT_NONE, toy_value(graph, 4, 16));
}

static void chains_of_views_share_one_storage(void **state) {
    (void)state;
    uint32_t a = unary("Exp", toy_input(graph, 4, 16)), b = unary("Identity", a), c = unary("Dropout", b);
    uint32_t d = unary("Exp", c);
    toy_finish(graph, d, 1, 1);
    find();
    assert_int_equal(lives.storage[b], a);
    assert_int_equal(lives.storage[c], a);
    assert_int_equal(lives.storage[d], d);
    assert_int_equal(lives.last_use[a], 3);
    assert_true(lives.last_use[d] == LIFETIME_WHOLE);
    options.mode = FT_TRAIN; /* dropout is active and writes */
    find();
    assert_int_equal(lives.storage[c], c);
    assert_int_equal(lives.last_use[a], 2);
}

static void constants_and_folded_operators_have_no_storage(void **state) {
    (void)state;
    uint32_t w = toy_weight(graph, 16, 4), t = toy_value(graph, 4, 16);
    toy_op(graph, "Transpose", w, FT_NONE, FT_NONE, t);
    uint32_t v = toy_op(graph, "Identity", w, FT_NONE, FT_NONE, toy_value(graph, 16, 4));
    graph->ops[0].is_folded = true;
    toy_finish(graph, toy_op(graph, "Add", toy_input(graph, 4, 16), t, FT_NONE, toy_value(graph, 4, 16)), 1, 1);
    find();
    assert_true(lives.storage[w] == FT_NONE);
    assert_true(lives.storage[t] == FT_NONE);
    assert_true(lives.storage[v] == FT_NONE); /* a view of a constant */
}

static void only_dying_storages_are_overwritten(void **state) {
    (void)state;
    uint32_t x = toy_input(graph, 4, 16), a = unary("Relu", x), b = unary("Relu", a), c = unary("Relu", a);
    uint32_t d = toy_op(graph, "Add", b, c, FT_NONE, toy_value(graph, 4, 16));
    toy_finish(graph, unary("Relu", d), 1, 1);
    find();
    assert_true(lifetimes_inplace(graph, &options, &lives, 0) == FT_NONE); /* the caller's input */
    assert_true(lifetimes_inplace(graph, &options, &lives, 1) == FT_NONE); /* read again later */
    assert_int_equal(lifetimes_inplace(graph, &options, &lives, 2), a);
    assert_int_equal(lifetimes_inplace(graph, &options, &lives, 3), b);
    assert_int_equal(lifetimes_inplace(graph, &options, &lives, 4), d);
    options.has_inplace = false;
    assert_true(lifetimes_inplace(graph, &options, &lives, 4) == FT_NONE);
}

static void a_smaller_operand_is_not_overwritten(void **state) {
    (void)state;
    uint32_t small = toy_op(graph, "Exp", toy_input(graph, 1, 16), FT_NONE, FT_NONE, toy_value(graph, 1, 16));
    toy_finish(graph, toy_op(graph, "Add", small, toy_input(graph, 4, 16), FT_NONE, toy_value(graph, 4, 16)), 1, 1);
    find();
    assert_true(lifetimes_inplace(graph, &options, &lives, 1) == FT_NONE);
}

static void backward_keeps_operands_whose_partner_is_trained(void **state) {
    (void)state;
    uint32_t x = toy_input(graph, 4, 16);
    uint32_t a = toy_op(graph, "MatMul", x, toy_weight(graph, 16, 16), FT_NONE, toy_value(graph, 4, 16));
    uint32_t b =
        toy_op(graph, "Mul", a, toy_weight(graph, 1), FT_NONE, toy_value(graph, 4, 16)); /* a formula's constant */
    uint32_t c = toy_op(graph, "Mul", b, toy_weight(graph, 16), FT_NONE, toy_value(graph, 4, 16)); /* a trained scale */
    uint32_t d = unary("Sigmoid", c);
    toy_finish(graph, d, 1, 1);
    options.mode = FT_TRAIN;
    find();
    assert_int_equal(lives.first_saver[x], 0);
    assert_true(lives.first_saver[a] == FT_NONE);
    assert_int_equal(lives.first_saver[b], 2);
    assert_true(lives.first_saver[c] == FT_NONE);
    assert_int_equal(lives.first_saver[d], 3);
    options.mode = FT_INFER;
    find();
    assert_true(lives.first_saver[b] == FT_NONE);
}

static void masks_and_indexes_are_kept(void **state) {
    (void)state;
    uint32_t x = toy_input(graph, 1, 3, 8, 8), w = toy_weight(graph, 4, 3, 3, 3);
    uint32_t a = toy_op(graph, "Conv", x, w, FT_NONE, toy_value(graph, 1, 4, 6, 6));
    uint32_t p = toy_op(graph, "MaxPool", a, FT_NONE, FT_NONE, toy_value(graph, 1, 4, 3, 3));
    toy_finish(graph, toy_op(graph, "Dropout", p, FT_NONE, FT_NONE, toy_value(graph, 1, 4, 3, 3)), 1, 1);
    options.mode = FT_TRAIN;
    find();
    assert_int_equal(lives.kept_bytes[1], 36 * 8);
    assert_int_equal(lives.kept_bytes[2], 36);
}

static uint32_t split_in_two(uint32_t x, uint32_t *second) {
    uint32_t outputs[] = {toy_value(graph, 4, 8), toy_value(graph, 4, 8)};
    toy_op_full(graph, &(ft_op){.name = "split",
                                .type = "Split",
                                .inputs = (uint32_t[]){x},
                                .input_count = 1,
                                .outputs = outputs,
                                .output_count = 2});
    *second = outputs[1];
    return outputs[0];
}

static void parts_and_repetitions_are_views(void **state) {
    (void)state;
    uint32_t a = unary("Exp", toy_input(graph, 4, 16)), second, first = split_in_two(a, &second);
    uint32_t wide = toy_op(graph, "Expand", first, FT_NONE, FT_NONE, toy_value(graph, 3, 4, 8));
    toy_finish(graph, toy_op(graph, "Mul", wide, second, FT_NONE, toy_value(graph, 3, 4, 8)), 1, 1);
    find();
    assert_int_equal(lives.storage[first], a);
    assert_int_equal(lives.storage[second], a);
    assert_int_equal(lives.storage[wide], a);
    assert_int_equal(lives.last_use[a], 3);
}

static void products_copy_parts_they_read(void **state) {
    (void)state;
    uint32_t a = unary("Exp", toy_input(graph, 4, 16)), second, first = split_in_two(a, &second);
    uint32_t turned = toy_op(graph, "Transpose", second, FT_NONE, FT_NONE, toy_value(graph, 8, 4));
    toy_finish(graph, toy_op(graph, "MatMul", first, turned, FT_NONE, toy_value(graph, 4, 4)), 1, 1);
    find();
    assert_int_equal(lives.storage[first], first);
    assert_int_equal(lives.storage[turned], second);
    assert_int_equal(lives.storage[second], second);
}

/* Only a malformed file has such a product; it must not read beyond the tables. */
static void a_product_may_lack_its_first_operand(void **state) {
    (void)state;
    uint32_t x = unary("Exp", toy_input(graph, 2, 4, 8)), part = toy_value(graph, 2, 4, 4);
    toy_op_full(
        graph,
        &(ft_op){
            .name = "split", .type = "Split", .inputs = &x, .input_count = 1, .outputs = &part, .output_count = 1});
    toy_finish(graph, toy_op(graph, "MatMul", FT_NONE, part, FT_NONE, toy_value(graph, 2, 4, 4)), 1, 1);
    find();
    assert_int_equal(lives.storage[part], part);
}

static void a_product_keeps_expanded_operands(void **state) {
    (void)state;
    uint32_t x = toy_input(graph, 2, 3, 4, 8), shared = toy_input(graph, 2, 1, 8, 5);
    uint32_t a = toy_op(graph, "Mul", shared, toy_weight(graph, 5), FT_NONE, toy_value(graph, 2, 1, 8, 5));
    toy_finish(graph, toy_op(graph, "MatMul", x, a, FT_NONE, toy_value(graph, 2, 3, 4, 5)), 1, 1);
    options.mode = FT_TRAIN;
    find();
    assert_int_equal(lives.kept_bytes[1], 2 * 3 * 8 * 5 * 4);
}

/* Also when it is the first operand; without a batch of its own it is not expanded. */
static void either_operand_may_be_expanded(void **state) {
    (void)state;
    uint32_t x = toy_input(graph, 2, 3, 8, 5), shared = toy_input(graph, 2, 1, 4, 8), plain = toy_input(graph, 4, 8);
    uint32_t a = toy_op(graph, "Mul", shared, toy_weight(graph, 8), FT_NONE, toy_value(graph, 2, 1, 4, 8));
    uint32_t b = toy_op(graph, "Mul", plain, toy_weight(graph, 8), FT_NONE, toy_value(graph, 4, 8));
    uint32_t y = toy_op(graph, "MatMul", a, x, FT_NONE, toy_value(graph, 2, 3, 4, 5));
    uint32_t z = toy_op(graph, "MatMul", b, x, FT_NONE, toy_value(graph, 2, 3, 4, 5));
    toy_finish(graph, toy_op(graph, "Add", y, z, FT_NONE, toy_value(graph, 2, 3, 4, 5)), 1, 1);
    options.mode = FT_TRAIN;
    find();
    assert_int_equal(lives.kept_bytes[2], 2 * 3 * 4 * 8 * 4);
    assert_int_equal(lives.kept_bytes[3], 0);
}

/* A chain of operators, operator i in loops[i]; returns the tensor that the first one makes, the others follow. */
static uint32_t chain_in_loops(const uint32_t *parents, uint32_t loop_count, const uint32_t *loops, uint32_t op_count) {
    ft_error error;
    uint32_t index, x = toy_input(graph, 4, 16), first = FT_NONE;
    for (uint32_t i = 0; i < loop_count; i++) {
        graph_loop loop = {.parent = parents[i], .trip_tensor = FT_NONE, .scan_tensor = FT_NONE};
        assert_int_equal(graph_add_loop(graph, &loop, &index, &error), FT_OK);
        assert_int_equal(index, i + 1);
    }
    for (uint32_t i = 0; i < op_count; i++) {
        x = unary("Exp", x);
        if (i == 0) first = x;
        graph->ops[i].loop = loops[i];
    }
    return first;
}

/* A loop reads what was made outside of it in every trip: until the end of the outermost loop that the maker is not
 * in. Loop 2 is inside loop 1, loop 3 comes after it. */
static void tensors_from_outside_live_until_the_loop_ends(void **state) {
    (void)state;
    static const uint32_t parents[] = {0, 1, 0}, loops[] = {0, 1, 2, 2, 1, 3, 3, 0};
    uint32_t a = chain_in_loops(parents, 3, loops, 8);
    toy_finish(graph, a + 7, 1, 1);
    find();
    assert_int_equal(lives.last_use[a], 4);     /* read in loop 1, whose last operator is 4 */
    assert_int_equal(lives.last_use[a + 1], 3); /* made in loop 1, read in loop 2 */
    assert_int_equal(lives.last_use[a + 2], 3); /* both in loop 2 */
    assert_int_equal(lives.last_use[a + 3], 4); /* made in loop 2, read in the loop around it */
    assert_int_equal(lives.last_use[a + 4], 6); /* made in loop 1, read in loop 3 */
    assert_int_equal(lives.last_use[a + 5], 6);
    assert_int_equal(lives.last_use[a + 6], 7); /* read after all loops */
    assert_true(lives.last_use[a + 7] == LIFETIME_WHOLE);
}

/* Loop 3 is inside 2, which is inside 1: a loop ends with the last operator of the loops inside it. */
static void loops_end_after_the_loops_inside_them(void **state) {
    (void)state;
    static const uint32_t parents[] = {0, 1, 2}, loops[] = {0, 1, 3, 2, 3, 0};
    uint32_t a = chain_in_loops(parents, 3, loops, 6);
    toy_finish(graph, a + 5, 1, 1);
    find();
    assert_int_equal(lives.last_use[a], 4);
    assert_int_equal(lives.last_use[a + 1], 4); /* until loop 2 ends, which loop 3 ends */
    assert_int_equal(lives.last_use[a + 2], 3); /* read in the same trip of loop 2, which is not over after it */
    assert_int_equal(lives.last_use[a + 3], 4);
    assert_int_equal(lives.last_use[a + 4], 5);
}

static void folded_operators_do_not_prolong_loops(void **state) {
    (void)state;
    static const uint32_t parents[] = {0}, loops[] = {0, 1, 1, 1, 0};
    uint32_t a = chain_in_loops(parents, 1, loops, 5);
    graph->ops[3].is_folded = true;
    toy_finish(graph, a + 4, 1, 1);
    find();
    assert_int_equal(lives.last_use[a], 2);
    assert_int_equal(lives.last_use[a + 2], 2); /* its reader does not run */
    assert_true(lives.storage[a + 3] == FT_NONE);
}

/* Storages die with their last use, or in backward after the operator that needs them first. */
static void deaths_are_listed_where_they_happen(void **state) {
    (void)state;
    uint32_t x = toy_input(graph, 4, 16), a = unary("Exp", x), b = unary("Neg", a), c = unary("Neg", a);
    uint32_t d = toy_op(graph, "Add", b, c, FT_NONE, toy_value(graph, 4, 16));
    toy_finish(graph, unary("Neg", d), 1, 1);
    find();
    assert_true(lives.dies_forward[0] == FT_NONE && lives.dies_forward[1] == FT_NONE);
    assert_int_equal(lives.dies_forward[2], a);
    assert_int_equal(lives.dies_forward[3], c);
    assert_int_equal(lives.next_dead[c], b);
    assert_true(lives.next_dead[b] == FT_NONE);
    assert_int_equal(lives.dies_forward[4], d);
    for (uint32_t k = 0; k < 5; k++) assert_true(lives.dies_backward[k] == FT_NONE);
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, begin, end)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(chains_of_views_share_one_storage),
        TEST(constants_and_folded_operators_have_no_storage),
        TEST(only_dying_storages_are_overwritten),
        TEST(a_smaller_operand_is_not_overwritten),
        TEST(backward_keeps_operands_whose_partner_is_trained),
        TEST(masks_and_indexes_are_kept),
        TEST(parts_and_repetitions_are_views),
        TEST(products_copy_parts_they_read),
        TEST(a_product_may_lack_its_first_operand),
        TEST(a_product_keeps_expanded_operands),
        TEST(either_operand_may_be_expanded),
        TEST(tensors_from_outside_live_until_the_loop_ends),
        TEST(loops_end_after_the_loops_inside_them),
        TEST(folded_operators_do_not_prolong_loops),
        TEST(deaths_are_listed_where_they_happen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
