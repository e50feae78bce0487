/* Tests of networks as operator lists: sizes are consistent, and the counts equal the published ones where known. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/hash.h"
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

/* Counts of the data set, by hand. */
static void work_of_each_operator(void **state) {
    (void)state;
    net_node n = {.op = NET_CONV, .kernel = 3, .stride = 1, .groups = 2, .in_channels = 8, .in_side = 6, .side = 5};
    n.channels = 4;
    assert_int_equal(net_in_elems(&n), 8 * 36);
    assert_int_equal(net_out_elems(&n), 4 * 25);
    assert_int_equal(net_weights(&n), 4 * 4 * 9 + 4);
    assert_int_equal(net_flops(&n), 2 * 100 * 4 * 9 + 2 * 100);
    static const struct {
        net_op op;
        int64_t weights, flops;
    } all[] = {{NET_RELU, 0, 100},   {NET_NORM, 16, 200}, {NET_CONCAT, 0, 0}, {NET_AVERAGE, 0, 900}, {NET_MAX, 0, 900},
               {NET_GLOBAL, 0, 288}, {NET_FLATTEN, 0, 0}, {NET_GEMM, 36, 64}, {NET_ADD, 0, 200}};
    n.input_count = 3;
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        n.op = all[i].op;
        assert_int_equal(net_weights(&n), all[i].weights);
        assert_int_equal(net_flops(&n), all[i].flops);
    }
    n.side = n.in_side = 0; /* not maps */
    assert_int_equal(net_in_elems(&n), 8);
    assert_int_equal(net_out_elems(&n), 4);
}

static void expect_node(const net *n, uint32_t at, net_op op, int kernel, int stride, int groups, int64_t channels,
                        int64_t side) {
    const net_node *node = &n->nodes[at];
    const int64_t found[] = {node->op, node->kernel, node->stride, node->groups, node->channels, node->side};
    const int64_t expected[] = {op, kernel, stride, groups, channels, side};
    for (int i = 0; i < 6; i++)
        if (found[i] != expected[i])
            fail_msg("node %u, number %d: %ld != %ld", at, i, (long)found[i], (long)expected[i]);
}

/* One block of each style: its operators, in order. */
static void blocks_of_each_style(void **state) {
    (void)state;
    arch a = {{{.style = STYLE_GOOGLENET, .depth = 1, .width = 64},
               {.style = STYLE_RESNEXT, .depth = 2, .width = 128, .groups = 4, .narrowing = 2},
               {.style = STYLE_DENSENET, .depth = 1, .width = 96, .growth = 12},
               {.style = STYLE_MOBILENET, .depth = 2, .width = 160, .halves_last = true}}};
    arena memory;
    net n;
    arena_init(&memory, UINT64_MAX);
    assert_int_equal(net_build(&a, false, &memory, &n, NULL), FT_OK);
    uint32_t i = 0;
    expect_node(&n, i++, NET_CONV, 3, 2, 1, 32, 112);
    expect_node(&n, i++, NET_RELU, 0, 0, 0, 32, 112);
    /* GoogLeNet: 64 = 16 + 32 + 8 + 8 */
    expect_node(&n, i++, NET_CONV, 1, 2, 1, 16, 56);
    expect_node(&n, i++, NET_RELU, 0, 0, 0, 16, 56);
    expect_node(&n, i++, NET_CONV, 1, 1, 1, 16, 112);
    expect_node(&n, i++, NET_RELU, 0, 0, 0, 16, 112);
    expect_node(&n, i++, NET_CONV, 3, 2, 1, 32, 56);
    expect_node(&n, i++, NET_RELU, 0, 0, 0, 32, 56);
    expect_node(&n, i++, NET_CONV, 1, 1, 1, 8, 112);
    expect_node(&n, i++, NET_RELU, 0, 0, 0, 8, 112);
    expect_node(&n, i++, NET_CONV, 5, 2, 1, 8, 56);
    expect_node(&n, i++, NET_RELU, 0, 0, 0, 8, 56);
    expect_node(&n, i++, NET_MAX, 3, 2, 0, 32, 56);
    expect_node(&n, i++, NET_CONV, 1, 1, 1, 8, 56);
    expect_node(&n, i++, NET_RELU, 0, 0, 0, 8, 56);
    expect_node(&n, i++, NET_CONCAT, 0, 0, 0, 64, 56);
    /* ResNeXt: a bottleneck of 64; the second block keeps size and channels and needs no convolution beside it. */
    for (int block = 0; block < 2; block++) {
        expect_node(&n, i++, NET_CONV, 1, 1, 1, 64, block == 0 ? 56 : 28);
        expect_node(&n, i++, NET_RELU, 0, 0, 0, 64, block == 0 ? 56 : 28);
        expect_node(&n, i++, NET_CONV, 3, block == 0 ? 2 : 1, 4, 64, 28);
        expect_node(&n, i++, NET_RELU, 0, 0, 0, 64, 28);
        expect_node(&n, i++, NET_CONV, 1, 1, 1, 128, 28);
        if (block == 0) expect_node(&n, i++, NET_CONV, 1, 2, 1, 128, 28);
        expect_node(&n, i++, NET_ADD, 0, 0, 0, 128, 28);
        expect_node(&n, i++, NET_RELU, 0, 0, 0, 128, 28);
    }
    /* DenseNet: a transition to 96 channels, then 12 more. */
    expect_node(&n, i++, NET_NORM, 0, 0, 0, 128, 28);
    expect_node(&n, i++, NET_RELU, 0, 0, 0, 128, 28);
    expect_node(&n, i++, NET_CONV, 1, 1, 1, 96, 28);
    expect_node(&n, i++, NET_AVERAGE, 2, 2, 0, 96, 14);
    expect_node(&n, i++, NET_NORM, 0, 0, 0, 96, 14);
    expect_node(&n, i++, NET_RELU, 0, 0, 0, 96, 14);
    expect_node(&n, i++, NET_CONV, 1, 1, 1, 48, 14);
    expect_node(&n, i++, NET_RELU, 0, 0, 0, 48, 14);
    expect_node(&n, i++, NET_CONV, 3, 1, 1, 12, 14);
    expect_node(&n, i++, NET_CONCAT, 0, 0, 0, 108, 14);
    /* MobileNet: the second block halves the map. */
    expect_node(&n, i++, NET_CONV, 3, 1, 108, 108, 14);
    expect_node(&n, i++, NET_RELU, 0, 0, 0, 108, 14);
    expect_node(&n, i++, NET_CONV, 1, 1, 1, 160, 14);
    expect_node(&n, i++, NET_RELU, 0, 0, 0, 160, 14);
    expect_node(&n, i++, NET_CONV, 3, 2, 160, 160, 7);
    expect_node(&n, i++, NET_RELU, 0, 0, 0, 160, 7);
    expect_node(&n, i++, NET_CONV, 1, 1, 1, 160, 7);
    expect_node(&n, i++, NET_RELU, 0, 0, 0, 160, 7);
    expect_node(&n, i++, NET_GLOBAL, 0, 0, 0, 160, 1);
    expect_node(&n, i++, NET_FLATTEN, 0, 0, 0, 160, 0);
    expect_node(&n, i++, NET_GEMM, 0, 0, 0, 1000, 0);
    assert_int_equal(n.count, i);
    arena_free(&memory);
}

/* Seeds name data sets: the same seed must draw the same networks in every version. */
static void seeds_draw_the_same_networks_in_every_version(void **state) {
    (void)state;
    static const char *const expected[] = {"29a2d08e4cdfdb4439abff20f7fe5377", "5aa6f15cd8f1cc3a5c20910aa38403b2",
                                           "a19b0482df657606b7160ba0aef292bc", "f07dbd6de0341529eb73957ecd7a60ce",
                                           "19740de6140e735d102a97caaf570e9f", "eb8d91e6713c6583918d99ee91a69b24"};
    for (uint64_t i = 0; i < 6; i++) {
        arena memory;
        ft_error error;
        buf out = {0};
        char text[HASH_TEXT];
        net n = build(i, i % 2 == 1, &memory);
        assert_int_equal(net_pickle(&n, (int64_t)1 << 4 * i, &memory, &out, &error), FT_OK);
        hash_text(hash_bytes(out.data, out.length), text);
        if (strcmp(text, expected[i]) != 0) fail_msg("network %d: %s", (int)i, text);
        buf_free(&out);
        arena_free(&memory);
    }
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
        cmocka_unit_test(work_of_each_operator),
        cmocka_unit_test(blocks_of_each_style),
        cmocka_unit_test(seeds_draw_the_same_networks_in_every_version),
        cmocka_unit_test(test_out_of_memory),
    };
    return cmocka_run_group_tests_name("generate/net", tests, NULL, NULL);
}
