/* Tests of networks as operator lists: sizes are consistent, and the counts equal the published ones where known. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "generate/net.h"
#include "support/failing.h"

static net build(uint64_t stream, bool is_unfolded, arena *memory) {
    rng random;
    arch a;
    net n;
    ft_error error;
    rng_init(&random, 5, stream);
    arch_draw(&random, &a);
    arena_init(memory, UINT64_MAX);
    assert_int_equal(net_build(&a, is_unfolded, memory, &n, &error), FT_OK);
    return n;
}

/* The stem at batch 128 has "282594816" bytes in the published data. */
static void test_stem(void **state) {
    (void)state;
    arena memory;
    net n = build(0, false, &memory);
    const net_node *stem = &n.nodes[0];
    assert_int_equal(stem->op, NET_CONV);
    assert_int_equal(4 * (128 * (net_in_elems(stem) + net_out_elems(stem)) + net_weights(stem)), 282594816);
    assert_int_equal(net_flops(stem), 2 * 32 * 112 * 112 * 27 + 2 * 32 * 112 * 112);
    arena_free(&memory);
}

static void check_node(const net *n, uint32_t at) {
    const net_node *node = &n->nodes[at];
    int64_t channels = 0;
    for (uint32_t k = 0; k < node->input_count; k++) {
        assert_true(node->inputs[k] < at);
        assert_int_equal(n->nodes[node->inputs[k]].side, node->in_side);
        channels += n->nodes[node->inputs[k]].channels;
    }
    if (at > 0) assert_int_equal(channels, node->in_channels);
    if (node->op == NET_CONV) {
        assert_int_equal(node->in_channels % node->groups, 0);
        assert_int_equal(node->channels % node->groups, 0);
    }
    assert_true(net_out_elems(node) > 0 && net_flops(node) >= 0);
}

static void test_sizes(void **state) {
    (void)state;
    uint32_t seen[NET_OP_COUNT] = {0};
    for (uint64_t i = 0; i < 60; i++) {
        arena memory;
        net n = build(i, false, &memory);
        for (uint32_t k = 0; k < n.count; k++) {
            check_node(&n, k);
            seen[n.nodes[k].op]++;
        }
        const net_node *pool = &n.nodes[n.count - 3], *last = &n.nodes[n.count - 1];
        assert_int_equal(pool->in_side, 7); /* halved five times */
        assert_int_equal(last->channels, NET_CLASSES);
        assert_int_equal(net_weights(last), (pool->channels + 1) * NET_CLASSES);
        arena_free(&memory);
    }
    for (int op = 0; op < NET_OP_COUNT; op++) assert_true(seen[op] > 0);
}

/* As a framework runs it: one normalisation more for each convolution, and nothing else. */
static void test_unfolded(void **state) {
    (void)state;
    arena a, b;
    net folded = build(7, false, &a), unfolded = build(7, true, &b);
    uint32_t convolutions = 0;
    for (uint32_t i = 0; i < folded.count; i++) convolutions += folded.nodes[i].op == NET_CONV;
    assert_int_equal(unfolded.count, folded.count + convolutions);
    for (uint32_t i = 0; i < unfolded.count; i++) {
        check_node(&unfolded, i);
        if (unfolded.nodes[i].op == NET_CONV) assert_int_equal(unfolded.nodes[i + 1].op, NET_NORM);
    }
    arena_free(&a);
    arena_free(&b);
}

static void test_out_of_memory(void **state) {
    (void)state;
    rng random;
    arch a;
    net n;
    ft_error error;
    rng_init(&random, 5, 0);
    arch_draw(&random, &a);
    for (long i = 0;; i++) {
        arena memory;
        arena_init(&memory, UINT64_MAX);
        failing_start(i);
        ft_status status = net_build(&a, false, &memory, &n, &error);
        bool has_failed = failing_stop();
        arena_free(&memory);
        if (!has_failed) break;
        assert_int_equal(status, FT_ERR_NOMEM);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stem),
        cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_unfolded),
        cmocka_unit_test(test_out_of_memory),
    };
    return cmocka_run_group_tests_name("generate/net", tests, NULL, NULL);
}
