/* Multiply-accumulates of every kind of product, against counts computed by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cost/macs.h"
#include "graph/geometry.h"
#include "support/toy.h"

static ft_graph *graph;

static int begin(void **state) {
    (void)state;
    graph = toy_graph(FT_FORMAT_ONNX, FT_NCHW);
    return 0;
}

static int end(void **state) {
    (void)state;
    ft_graph_free(graph);
    return 0;
}

static op_macs last(void) {
    op_macs macs;
    assert_true(conv_geometries_cache(graph));
    assert_true(macs_of(graph, &graph->ops[graph->op_count - 1], &macs));
    return macs;
}

static bool last_is_unknown(void) {
    op_macs macs;
    return conv_geometries_cache(graph) && !macs_of(graph, &graph->ops[graph->op_count - 1], &macs);
}

static void convolutions(void **state) {
    (void)state;
    /* The first layer of ResNet: 64 x 112 x 112 outputs of 3 x 7 x 7 each. */
    toy_op(graph, "Conv", toy_input(graph, 1, 3, 224, 224), toy_weight(graph, 64, 3, 7, 7), FT_NONE,
           toy_value(graph, 1, 64, 112, 112));
    assert_int_equal(last().with_weights, 118013952);
    assert_int_equal(last().extra_flops, 0);
    /* Depthwise, with a bias. */
    toy_op(graph, "Conv", toy_input(graph, 2, 32, 10, 10), toy_weight(graph, 32, 1, 3, 3), toy_weight(graph, 32),
           toy_value(graph, 2, 32, 10, 10));
    assert_int_equal(last().with_weights, 2 * 32 * 100 * 9);
    assert_int_equal(last().extra_flops, 2 * 32 * 100);
    /* Transposed: every input position spreads over 5 channels of 2 x 2. */
    toy_op(graph, "ConvTranspose", toy_input(graph, 1, 8, 7, 7), toy_weight(graph, 8, 5, 2, 2), FT_NONE,
           toy_value(graph, 1, 5, 14, 14));
    assert_int_equal(last().with_weights, 8 * 49 * 5 * 4);
}

static void deformable_convolution_also_samples(void **state) {
    (void)state;
    toy_op(graph, "DeformConv", toy_input(graph, 1, 4, 6, 6), toy_weight(graph, 8, 4, 3, 3),
           toy_input(graph, 1, 18, 6, 6), toy_value(graph, 1, 8, 6, 6));
    assert_int_equal(last().with_weights, 8 * 36 * 4 * 9);
    assert_int_equal(last().extra_flops, 36 * 4 * 9 * 8);
}

static void matrix_products(void **state) {
    (void)state;
    toy_op(graph, "MatMul", toy_input(graph, 2, 12, 197, 64), toy_input(graph, 2, 12, 64, 197), FT_NONE,
           toy_value(graph, 2, 12, 197, 197));
    assert_int_equal(last().with_weights, UINT64_C(24) * 197 * 197 * 64);
    toy_op(graph, "Gemm", toy_input(graph, 3, 20), toy_weight(graph, 20, 10), toy_weight(graph, 10),
           toy_value(graph, 3, 10));
    assert_int_equal(last().with_weights, 600);
    assert_int_equal(last().extra_flops, 30);
}

static void einsum(const char *equation, uint32_t a, uint32_t b) {
    toy_op(graph, "Einsum", a, b, FT_NONE, toy_value(graph, 1));
    ft_attr attr = {0};
    ft_error error;
    assert_int_equal(graph_attr_string(graph, &attr, "equation", equation, &error), FT_OK);
    toy_attrs(graph, &attr, 1);
}

static void einsum_multiplies_the_index_space(void **state) {
    (void)state;
    uint32_t q = toy_input(graph, 2, 3, 5, 7), k = toy_input(graph, 2, 3, 11, 7);
    einsum("bhid, bhjd -> bhij", q, k);
    assert_int_equal(last().with_weights, 2 * 3 * 5 * 11 * 7);
    einsum("...id,...jd->...ij", q, k);
    assert_int_equal(last().with_weights, 2 * 3 * 5 * 11 * 7);
    einsum("bhid,bhjd", q, k); /* implicit: i and j stay, b, h and d are summed */
    assert_int_equal(last().with_weights, 2 * 3 * 5 * 11 * 7);
    einsum("bhid,bhid->bhid", q, q); /* elementwise: nothing is summed */
    assert_int_equal(last().with_weights, 0);
    assert_int_equal(last().extra_flops, 2 * 3 * 5 * 7);
    einsum("bhid->bh", q, FT_NONE);
    assert_int_equal(last().with_weights, 0);
    assert_int_equal(last().extra_flops, 2 * 3 * 5 * 7);
    einsum("bhid->bhdi", q, FT_NONE);
    assert_int_equal(last().extra_flops, 0);
}

static void bad_equations_are_refused(void **state) {
    (void)state;
    static const char *const bad[] = {
        "", "bh,bh->b", "bhidx,bhjd->bhij", "bhid", "b..id,bhjd->bij", "....,bhjd->j", "1234,bhjd"};
    uint32_t q = toy_input(graph, 2, 3, 5, 7), k = toy_input(graph, 2, 3, 11, 7);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        einsum(bad[i], q, k);
        assert_true(last_is_unknown());
    }
}

static void recurrent_layers(void **state) {
    (void)state;
    /* 20 steps, batch 3, 10 inputs, 16 units, both directions: 4 gates of (10 + 16) x 16. */
    toy_op(graph, "LSTM", toy_input(graph, 20, 3, 10), toy_weight(graph, 2, 64, 10), toy_weight(graph, 2, 64, 16),
           toy_value(graph, 20, 2, 3, 16));
    assert_int_equal(last().with_weights, 20 * 3 * 2 * 4 * (10 + 16) * 16);
    assert_int_equal(last().extra_flops, 20 * 3 * 2 * 64 * 8);
    /* A sequence has at least two dimensions. */
    toy_op(graph, "LSTM", toy_input(graph, 10), toy_weight(graph, 2, 64, 10), toy_weight(graph, 2, 64, 16),
           toy_value(graph, 20, 2, 3, 16));
    assert_true(last_is_unknown());
}

static void attention_of_queries_keys_values(void **state) {
    (void)state;
    /* batch 2, 10 queries, 12 keys, width 64, in 8 heads. */
    toy_op(graph, "MultiHeadAttention", toy_input(graph, 2, 10, 64), toy_input(graph, 2, 12, 64),
           toy_input(graph, 2, 12, 64), toy_value(graph, 2, 10, 64));
    ft_attr heads = toy_int(graph, "num_heads", 8);
    toy_attrs(graph, &heads, 1);
    assert_int_equal(last().between_data, 2 * 10 * 12 * (64 + 64));
    assert_int_equal(last().with_weights, 0);
    assert_int_equal(last().extra_flops, 2 * 8 * 10 * 12 * 8);
    /* The same by ONNX's own operator, heads apart. */
    toy_op(graph, "Attention", toy_input(graph, 2, 8, 10, 8), toy_input(graph, 2, 8, 12, 8),
           toy_input(graph, 2, 8, 12, 8), toy_value(graph, 2, 8, 10, 8));
    assert_int_equal(last().between_data, 2 * 10 * 12 * (64 + 64));
    assert_int_equal(last().extra_flops, 2 * 8 * 10 * 12 * 8);
}

/* batch 2, 3 queries, 4 heads of 5, with queries, keys and values in one tensor. */
static void attention_of_one_packed_tensor(void **state) {
    (void)state;
    toy_op(graph, "MultiHeadAttention", toy_input(graph, 2, 3, 4, 3, 5), FT_NONE, FT_NONE, toy_value(graph, 2, 3, 20));
    assert_int_equal(last().between_data, 2 * 3 * 3 * (20 + 20));
    assert_int_equal(last().extra_flops, 2 * 4 * 3 * 3 * 8);
    toy_op(graph, "MultiHeadAttention", toy_input(graph, 2, 20), FT_NONE, FT_NONE, toy_value(graph, 2, 20));
    assert_true(last_is_unknown());
}

static void attention_with_its_projection(void **state) {
    (void)state;
    toy_op(graph, "Attention", toy_input(graph, 2, 10, 32), toy_weight(graph, 32, 96), toy_weight(graph, 96),
           toy_value(graph, 2, 10, 32));
    assert_int_equal(last().with_weights, 2 * 10 * 32 * 96);
    assert_int_equal(last().between_data, 2 * 10 * 10 * (32 + 32));
}

static void attention_of_grouped_queries_with_a_cache(void **state) {
    (void)state;
    /* 8 query heads on 2 key heads of 16, packed; one new token after 99 in the cache. */
    uint32_t inputs[] = {toy_input(graph, 3, 1, 192), FT_NONE, FT_NONE, toy_input(graph, 3, 2, 99, 16)};
    uint32_t outputs[] = {toy_value(graph, 3, 1, 128), toy_value(graph, 3, 2, 100, 16)};
    ft_op op = {.name = "", .type = "GroupQueryAttention", .inputs = inputs, .outputs = outputs};
    op.input_count = 4;
    op.output_count = 2;
    toy_op_full(graph, &op);
    ft_attr heads = toy_int(graph, "num_heads", 8);
    toy_attrs(graph, &heads, 1);
    assert_int_equal(last().between_data, 3 * 1 * 100 * (128 + 128));
    assert_int_equal(last().extra_flops, 3 * 8 * 100 * 8);
}

/* 8 heads of 16 (12 + 4 rotated), values of 10, rows of 16 + 4; `past` rows in the cache. */
static uint64_t latent_macs(int64_t queries, int64_t past) {
    uint32_t inputs[] = {toy_input(graph, 2, queries, 128), toy_input(graph, 2, queries, 176),
                         toy_input(graph, 2, queries, 20), toy_input(graph, 2, 1, past, 20)};
    uint32_t outputs[] = {toy_value(graph, 2, queries, 80), toy_value(graph, 2, 1, past + queries, 20)};
    ft_op op = {.name = "", .type = "MultiHeadLatentAttention", .inputs = inputs, .outputs = outputs};
    op.input_count = 4;
    op.output_count = 2;
    toy_op_full(graph, &op);
    ft_attr attrs[] = {toy_int(graph, "num_heads", 8), toy_int(graph, "kv_num_heads", 1),
                       toy_int(graph, "v_head_size", 10), toy_int(graph, "kv_rank", 16)};
    toy_attrs(graph, attrs, 4);
    return last().between_data;
}

/* A prompt attends to expanded keys; a token after many attends to the rows themselves. */
static void latent_attention_does_what_costs_less(void **state) {
    (void)state;
    assert_int_equal(latent_macs(5, 0), 2 * 8 * 5 * 5 * (16 + 10));
    assert_int_equal(latent_macs(1, 99), 2 * 8 * 100 * (20 + 16));
}

static void products_without_shapes_have_no_count(void **state) {
    (void)state;
    uint32_t x = toy_input(graph, 1, 3, 8, 8), w = toy_weight(graph, 4, 3, 3, 3), y = toy_value(graph, 1, 4, 6, 6);
    graph->tensors[y].rank = -1;
    toy_op(graph, "Conv", x, w, FT_NONE, y);
    assert_true(last_is_unknown());
    toy_op(graph, "Relu", x, FT_NONE, FT_NONE, toy_value(graph, 1, 3, 8, 8));
    assert_true(last_is_unknown());
}

static void absurd_sizes_saturate(void **state) {
    (void)state;
    uint32_t a = toy_input(graph, 1), b = toy_weight(graph, 1), y = toy_value(graph, 1);
    ft_tensor *t = graph->tensors;
    t[a].rank = t[b].rank = t[y].rank = 2;
    t[a].dims[0] = t[b].dims[1] = INT64_C(1) << 40;
    t[a].dims[1] = t[b].dims[0] = 64;
    t[y].dims[0] = t[y].dims[1] = INT64_C(1) << 23;
    toy_op(graph, "MatMul", a, b, FT_NONE, y);
    assert_true(last().with_weights == UINT64_MAX);
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, begin, end)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(convolutions),
        TEST(deformable_convolution_also_samples),
        TEST(matrix_products),
        TEST(einsum_multiplies_the_index_space),
        TEST(bad_equations_are_refused),
        TEST(recurrent_layers),
        TEST(attention_of_queries_keys_values),
        TEST(attention_with_its_projection),
        TEST(attention_of_one_packed_tensor),
        TEST(attention_of_grouped_queries_with_a_cache),
        TEST(latent_attention_does_what_costs_less),
        TEST(products_without_shapes_have_no_count),
        TEST(absurd_sizes_saturate),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
