/* Bytes and MACs of operators that touch only parts of their tensors, against values computed by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cost/macs.h"
#include "foretell/cost.h"
#include "support/toy.h"

static ft_graph *graph;
static ft_cost cost;

static int begin(void **state) {
    (void)state;
    graph = toy_graph(FT_FORMAT_ONNX, FT_NCHW);
    cost = (ft_cost){0};
    return 0;
}

static int end(void **state) {
    (void)state;
    ft_cost_free(&cost);
    ft_graph_free(graph);
    return 0;
}

#define HALF(...)  toy_tensor(graph, FT_INPUT, FT_FLOAT16, __VA_ARGS__, TOY_END)
#define TABLE(...) toy_tensor(graph, FT_CONSTANT, FT_FLOAT16, __VA_ARGS__, TOY_END)
#define BYTES(...) toy_tensor(graph, FT_CONSTANT, FT_UINT8, __VA_ARGS__, TOY_END)
#define INTS(...)  toy_tensor(graph, FT_INPUT, FT_INT32, __VA_ARGS__, TOY_END)
#define LONGS(...) toy_tensor(graph, FT_INPUT, FT_INT64, __VA_ARGS__, TOY_END)
#define MADE(...)  toy_tensor(graph, FT_ACTIVATION, FT_FLOAT16, __VA_ARGS__, TOY_END)

/* The work of one operator. */
static ft_work work_of(const char *type, const uint32_t *inputs, uint32_t input_count, const uint32_t *outputs,
                       uint32_t output_count, const ft_attr *attrs, uint32_t attr_count) {
    ft_op op = {.name = "", .type = type, .inputs = inputs, .outputs = outputs};
    op.input_count = input_count;
    op.output_count = output_count;
    toy_op_full(graph, &op);
    toy_attrs(graph, attrs, attr_count);
    toy_finish(graph, outputs[0], 1, 1);
    ft_cost_options options = ft_cost_options_default();
    ft_error error;
    if (ft_cost_compute(graph, &options, &cost, &error) != FT_OK) fail_msg("%s", error.message);
    assert_int_equal(cost.estimated_ops, 0);
    return cost.total.forward;
}

#define COUNT(list) (uint32_t)(sizeof(list) / sizeof(list)[0])

/* 8 query heads on 2 key heads of 16, batch 3, one token after 99: one row of each table of angles, not 4096; the cache
 * is extended in place. */
static void grouped_queries_read_one_row_of_the_angles(void **state) {
    (void)state;
    uint32_t in[] = {HALF(3, 1, 128), HALF(3, 1, 32), HALF(3, 1, 32), HALF(3, 2, 99, 16), HALF(3, 2, 99, 16),
                     INTS(3),         INTS(1),        TABLE(4096, 8), TABLE(4096, 8)};
    uint32_t out[] = {MADE(3, 1, 128), MADE(3, 2, 100, 16), MADE(3, 2, 100, 16)};
    ft_attr attrs[] = {toy_int(graph, "num_heads", 8), toy_int(graph, "kv_num_heads", 2),
                       toy_int(graph, "do_rotary", 1)};
    ft_work w = work_of("GroupQueryAttention", in, COUNT(in), out, COUNT(out), attrs, COUNT(attrs));
    assert_int_equal(w.macs, 3 * 8 * 100 * (16 + 16));
    assert_int_equal(w.flops, 2 * w.macs + 3 * 8 * 100 * 8 + 3 * 3 * (8 + 2) * 16);
    assert_int_equal(w.read_bytes, 2 * (3 * (128 + 32 + 32) + 2 * 3 * 2 * 99 * 16 + 2 * 8));
    assert_int_equal(w.write_bytes, 2 * (3 * 128 + 2 * 3 * 2 * 16));
    assert_int_equal(cost.total.params, 0);
    assert_int_equal(cost.buffers, 2 * 4096 * 8);
}

/* A buffer for 4096 tokens of which 100 are filled, as its operator knows. */
static void a_cache_is_read_as_far_as_it_is_filled(void **state) {
    (void)state;
    int64_t *total;
    uint32_t length = INTS(1);
    graph->tensors[length].value = graph_value_ints(graph, 1, &total);
    *total = 100;
    uint32_t in[] = {HALF(1, 1, 128),      HALF(1, 1, 32), HALF(1, 1, 32), HALF(1, 2, 4096, 16),
                     HALF(1, 2, 4096, 16), INTS(1),        length};
    uint32_t out[] = {MADE(1, 1, 128), MADE(1, 2, 4096, 16), MADE(1, 2, 4096, 16)};
    ft_attr attrs[] = {toy_int(graph, "num_heads", 8), toy_int(graph, "kv_num_heads", 2)};
    ft_work w = work_of("GroupQueryAttention", in, COUNT(in), out, COUNT(out), attrs, COUNT(attrs));
    assert_int_equal(w.macs, 8 * 100 * (16 + 16));
    assert_int_equal(w.read_bytes, 2 * (128 + 32 + 32 + 2 * 2 * 100 * 16));
    assert_int_equal(w.write_bytes, 2 * (128 + 2 * 2 * 16));
}

/* MultiHeadAttention copies its cache: past and present are two tensors. */
static void other_attention_writes_the_whole_cache(void **state) {
    (void)state;
    uint32_t in[] = {HALF(1, 1, 64), HALF(1, 1, 64), HALF(1, 1, 64),    FT_NONE,
                     FT_NONE,        FT_NONE,        HALF(1, 4, 9, 16), HALF(1, 4, 9, 16)};
    uint32_t out[] = {MADE(1, 1, 64), MADE(1, 4, 10, 16), MADE(1, 4, 10, 16)};
    ft_attr heads = toy_int(graph, "num_heads", 4);
    ft_work w = work_of("MultiHeadAttention", in, COUNT(in), out, COUNT(out), &heads, 1);
    assert_int_equal(w.macs, 4 * 10 * (16 + 16));
    assert_int_equal(w.write_bytes, 2 * (64 + 2 * 4 * 10 * 16));
}

/* Pages: 3 sequences of at most 6 pages of 16 keys, 20 tokens. */
static void paged_attention_reads_the_pages_of_its_sequences(void **state) {
    (void)state;
    uint32_t in[] = {HALF(20, 128),        HALF(20, 32), HALF(20, 32), HALF(500, 16, 2, 16),
                     HALF(500, 16, 2, 16), INTS(4),      INTS(3),      INTS(3, 6)};
    uint32_t out[] = {MADE(20, 128), MADE(500, 16, 2, 16), MADE(500, 16, 2, 16)};
    ft_attr attrs[] = {toy_int(graph, "num_heads", 8), toy_int(graph, "kv_num_heads", 2)};
    ft_work w = work_of("PagedAttention", in, COUNT(in), out, COUNT(out), attrs, COUNT(attrs));
    assert_int_equal(w.macs, 3 * 7 * 96 * 8 * (16 + 16)); /* 7 = 20 / 3, rounded up */
    assert_int_equal(w.read_bytes, 2 * (20 * (128 + 32 + 32) + 2 * 3 * 96 * 2 * 16));
    assert_int_equal(w.write_bytes, 2 * (20 * 128 + 2 * 20 * 2 * 16));
}

static void a_gather_reads_the_rows_it_gathers(void **state) {
    (void)state;
    uint32_t in[] = {TABLE(128256, 2048), LONGS(1, 3)}, out[] = {MADE(1, 3, 2048)};
    ft_work w = work_of("Gather", in, 2, out, 1, NULL, 0);
    assert_int_equal(w.read_bytes, 3 * 2048 * 2 + 3 * 8);
    assert_int_equal(w.write_bytes, 3 * 2048 * 2);
}

/* 4-bit rows of 64: 32 bytes, two scales, a byte of zero points. */
static void a_quantised_gather_reads_rows_scales_and_zero_points(void **state) {
    (void)state;
    uint32_t in[] = {BYTES(1000, 32), LONGS(2, 5), TABLE(1000, 2), BYTES(1000, 1)}, out[] = {MADE(2, 5, 64)};
    ft_attr attrs[] = {toy_int(graph, "bits", 4), toy_int(graph, "block_size", 32)};
    ft_work w = work_of("GatherBlockQuantized", in, COUNT(in), out, 1, attrs, COUNT(attrs));
    assert_int_equal(w.read_bytes, 10 * (32 + 2 * 2 + 1) + 10 * 8);
    assert_int_equal(w.flops, 2 * 10 * 64);
    assert_int_equal(cost.total.params, 64 * 1000);
    assert_int_equal(cost.weight_bytes, 1000 * (32 + 2 * 2 + 1));
}

/* 2 sequences of 9 words: 18 rows of words and segments, 9 of positions. */
static void embeddings_read_the_rows_of_their_words(void **state) {
    (void)state;
    uint32_t in[] = {INTS(2, 9), INTS(2, 9), TABLE(30522, 64), TABLE(512, 64), TABLE(2, 64), TABLE(64), TABLE(64)};
    uint32_t out[] = {MADE(2, 9, 64)};
    ft_work w = work_of("EmbedLayerNormalization", in, COUNT(in), out, 1, NULL, 0);
    assert_int_equal(w.read_bytes, 2 * (2 * 9 * 4) + 2 * 64 * (18 + 9 + 2 + 1 + 1));
    assert_int_equal(w.flops, 9 * 18 * 64);
    assert_int_equal(cost.total.params, 64 * (30522 + 512 + 2 + 1 + 1));
}

static void rotation_reads_the_angles_of_its_positions(void **state) {
    (void)state;
    uint32_t in[] = {HALF(2, 9, 64), LONGS(2, 9), TABLE(4096, 8), TABLE(4096, 8)}, out[] = {MADE(2, 9, 64)};
    ft_work w = work_of("RotaryEmbedding", in, COUNT(in), out, 1, NULL, 0);
    assert_int_equal(w.read_bytes, 2 * 18 * 64 + 8 * 18 + 2 * 2 * 9 * 8);
    assert_int_equal(w.flops, 3 * 18 * 64);
}

/* 3 tokens through 2 of 16 experts each: at most 6 experts are read. */
static void a_mixture_reads_the_experts_of_its_tokens(void **state) {
    (void)state;
    uint32_t in[] = {HALF(1, 3, 64), HALF(3, 16), TABLE(16, 128, 64), FT_NONE, TABLE(16, 64, 128)};
    uint32_t out[] = {MADE(1, 3, 64)};
    ft_attr chosen = toy_int(graph, "k", 2);
    ft_work w = work_of("MoE", in, COUNT(in), out, 1, &chosen, 1);
    assert_int_equal(w.macs, 3 * 2 * (128 * 64 + 64 * 128));
    assert_int_equal(w.flops, 2 * w.macs + 8 * 3 * 16 + 8 * 6 * 128);
    assert_int_equal(w.read_bytes, 2 * (3 * 64 + 3 * 16 + 6 * (128 * 64 + 64 * 128)));
    assert_int_equal(cost.total.params, 2 * 16 * 128 * 64);
}

/* The same in 4 bits, with one scale a row: as many parameters, a quarter of the bytes. */
static void a_quantised_mixture_has_packed_experts(void **state) {
    (void)state;
    uint32_t in[] = {HALF(100, 64), HALF(100, 16),     BYTES(16, 128, 32), TABLE(16, 128),
                     FT_NONE,       BYTES(16, 64, 64), TABLE(16, 64)};
    uint32_t out[] = {MADE(100, 64)};
    ft_attr attrs[] = {toy_int(graph, "k", 2), toy_int(graph, "expert_weight_bits", 4)};
    ft_work w = work_of("QMoE", in, COUNT(in), out, 1, attrs, COUNT(attrs));
    assert_int_equal(w.macs, 100 * 2 * (128 * 64 + 64 * 128));
    assert_int_equal(w.read_bytes, 2 * 100 * (64 + 16) + 16 * (128 * 32 + 64 * 64) + 2 * 16 * (128 + 64));
    assert_int_equal(cost.total.params, 2 * 16 * 128 * 64);
    assert_int_equal(cost.weight_bytes, 16 * (128 * 32 + 64 * 64) + 2 * 16 * (128 + 64));
}

/* Weights in blocks of 32 of which the last is padded: parameters are those of the matrix, bytes those stored. */
static void packed_products_read_scales_and_zero_points(void **state) {
    (void)state;
    uint32_t in[] = {HALF(2, 9, 80), BYTES(24, 3, 16), TABLE(24, 3), BYTES(24, 2)}, out[] = {MADE(2, 9, 24)};
    ft_attr attrs[] = {toy_int(graph, "K", 80), toy_int(graph, "N", 24), toy_int(graph, "bits", 4),
                       toy_int(graph, "block_size", 32)};
    ft_work w = work_of("MatMulNBits", in, COUNT(in), out, 1, attrs, COUNT(attrs));
    assert_int_equal(w.macs, 18 * 80 * 24);
    assert_int_equal(w.read_bytes, 2 * 18 * 80 + 24 * 3 * 16 + 2 * 24 * 3 + 24 * 2);
    assert_int_equal(cost.total.params, 80 * 24);
    assert_int_equal(cost.total.param_bytes, 24 * 3 * 16 + 2 * 24 * 3 + 24 * 2);
    assert_int_equal(cost.buffers, 0);
}

static void packed_products_of_three_count_as_one(void **state) {
    (void)state;
    uint32_t in[] = {HALF(1, 1, 64),   FT_NONE,      TABLE(64), BYTES(64, 2, 16), TABLE(64, 2), FT_NONE,
                     BYTES(16, 2, 16), TABLE(16, 2), FT_NONE,   BYTES(16, 2, 16), TABLE(16, 2)};
    uint32_t out[] = {MADE(1, 1, 64), MADE(1, 1, 16), MADE(1, 1, 16)};
    ft_attr attrs[] = {toy_int(graph, "K", 64), toy_int(graph, "Nq", 64), toy_int(graph, "Nkv", 16),
                       toy_int(graph, "bits", 4)};
    ft_work w = work_of("MatMulNBitsQkv", in, COUNT(in), out, COUNT(out), attrs, COUNT(attrs));
    assert_int_equal(w.macs, 64 * 96);
    assert_int_equal(cost.total.params, 64 * 96 + 64);
}

/* Windows of 4 to both sides, with a projection of 64 to 192. */
static void longformer_attends_to_its_window(void **state) {
    (void)state;
    uint32_t in[] = {HALF(2, 100, 64), TABLE(64, 192), TABLE(192)}, out[] = {MADE(2, 100, 64)};
    ft_attr attrs[] = {toy_int(graph, "num_heads", 4), toy_int(graph, "window", 4)};
    ft_work w = work_of("LongformerAttention", in, COUNT(in), out, 1, attrs, COUNT(attrs));
    assert_int_equal(w.macs, 2 * 100 * 64 * 192 + 2 * 100 * 9 * 4 * (16 + 16));
}

/* Queries of 9 words, keys and values of 7 others; both are projected inside. */
static void cross_attention_projects_both_sequences(void **state) {
    (void)state;
    uint32_t in[] = {HALF(9, 2, 64), HALF(7, 2, 64), TABLE(64, 64), TABLE(64, 128), TABLE(192)};
    uint32_t out[] = {MADE(9, 2, 64)};
    ft_attr heads = toy_int(graph, "num_heads", 4);
    ft_work w = work_of("DecoderAttention", in, COUNT(in), out, 1, &heads, 1);
    assert_int_equal(w.macs, 18 * 64 * 64 + 14 * 64 * 128 + 2 * 9 * 7 * 4 * (16 + 16));
}

/* 18 tokens, 4 states of 16 x 24: update, retrieval and read-out. */
static void linear_attention_updates_its_state(void **state) {
    (void)state;
    uint32_t in[] = {HALF(2, 9, 64), HALF(2, 9, 64), HALF(2, 9, 96)}, out[] = {MADE(2, 9, 96), MADE(2, 4, 16, 24)};
    ft_attr attrs[] = {toy_int(graph, "q_num_heads", 4), toy_int(graph, "kv_num_heads", 4)};
    ft_work w = work_of("LinearAttention", in, COUNT(in), out, COUNT(out), attrs, COUNT(attrs));
    assert_int_equal(w.macs, 18 * 3 * 4 * 16 * 24);
}

/* Scales are operands of neither sum nor product: an addition in 8 bits is one addition. */
static void quantised_sums_have_two_operands(void **state) {
    (void)state;
    uint32_t scale = TABLE(1), zero = BYTES(1);
    uint32_t in[] = {BYTES(2, 9), scale, zero, BYTES(2, 9), scale, zero, scale, zero}, out[] = {MADE(2, 9)};
    graph->tensors[in[0]].role = FT_INPUT;
    graph->tensors[in[3]].role = FT_INPUT;
    ft_work w = work_of("QLinearAdd", in, COUNT(in), out, 1, NULL, 0);
    assert_int_equal(w.flops, 8 * 18);
    assert_int_equal(w.read_bytes, 2 * 18);
}

static void convolutions_with_channels_last_count_alike(void **state) {
    (void)state;
    uint32_t in[] = {HALF(1, 56, 56, 32), TABLE(64, 32, 3, 3)}, out[] = {MADE(1, 54, 54, 64)};
    ft_work w = work_of("NhwcConv", in, 2, out, 1, NULL, 0);
    assert_int_equal(w.macs, UINT64_C(54) * 54 * 64 * 32 * 9);
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, begin, end)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(grouped_queries_read_one_row_of_the_angles),
        TEST(a_cache_is_read_as_far_as_it_is_filled),
        TEST(other_attention_writes_the_whole_cache),
        TEST(paged_attention_reads_the_pages_of_its_sequences),
        TEST(a_gather_reads_the_rows_it_gathers),
        TEST(a_quantised_gather_reads_rows_scales_and_zero_points),
        TEST(embeddings_read_the_rows_of_their_words),
        TEST(rotation_reads_the_angles_of_its_positions),
        TEST(a_mixture_reads_the_experts_of_its_tokens),
        TEST(a_quantised_mixture_has_packed_experts),
        TEST(packed_products_read_scales_and_zero_points),
        TEST(packed_products_of_three_count_as_one),
        TEST(longformer_attends_to_its_window),
        TEST(cross_attention_projects_both_sequences),
        TEST(linear_attention_updates_its_state),
        TEST(quantised_sums_have_two_operands),
        TEST(convolutions_with_channels_last_count_alike),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
