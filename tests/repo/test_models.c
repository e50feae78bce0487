/* test_models.c - the whole way, file to cost, on networks whose numbers are public knowledge.
 *
 * tools/makemodel writes the networks. Parameter counts are those that the usual implementations report; MACs are
 * computed from the layers' sizes, with the sums beside them. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>
#include <foretell/foretell.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct counted {
    uint64_t params, macs, buffers, weight_bytes;
    bool is_scaled;
    double coverage_ratio;
} counted;

static ft_graph *read_model(const char *name) {
    const char *build = getenv("BUILD");
    char path[512], command[512];
    snprintf(command, sizeof command, "scripts/make-models %s", name);
    snprintf(path, sizeof path, "%s/models/%s.onnx", build ? build : "build", name);
    assert_int_equal(system(command), 0);
    ft_error error;
    ft_graph *model = NULL;
    if (ft_graph_read(path, &model, &error) != FT_OK) fail_msg("%s", error.message);
    return model;
}

static counted count(const char *name, const ft_binding *binding) {
    ft_graph *model = read_model(name), *bound = NULL;
    ft_cost cost = {0};
    ft_cost_options options = ft_cost_options_default();
    ft_error error;
    if (ft_graph_bind(model, binding, &bound, &error) != FT_OK) fail_msg("%s", error.message);
    if (ft_cost_compute(bound, &options, &cost, &error) != FT_OK) fail_msg("%s", error.message);
    counted c = {.params = cost.total.params,
                 .macs = cost.total.forward.macs,
                 .buffers = cost.buffers,
                 .weight_bytes = cost.weight_bytes,
                 .is_scaled = ft_graph_is_scaled(bound),
                 .coverage_ratio = cost.coverage_ratio};
    ft_cost_free(&cost);
    ft_graph_free(bound);
    ft_graph_free(model);
    return c;
}

static void resnet50_counts(void **state) {
    (void)state;
    counted c = count("resnet50", NULL);
    assert_int_equal(c.params, 25557032);
    assert_int_equal(c.macs, 4089184256);
    assert_int_equal(c.buffers, 53120); /* running mean and variance of 26,560 channels */
    assert_false(c.is_scaled);
    assert_true(c.coverage_ratio == 1.0);
    assert_int_equal(count("resnet50", &(ft_binding){.batch = 32}).macs, 32 * UINT64_C(4089184256));
}

static void mobilenet_v2_counts(void **state) {
    (void)state;
    counted c = count("mobilenet_v2", NULL);
    assert_int_equal(c.params, 3504872);
    assert_int_equal(c.macs, 300774272);
}

static void vit_base_counts(void **state) {
    (void)state;
    counted c = count("vit_base", NULL);
    /* 196 patches of 16 x 16 x 3, 197 tokens of 768, 12 heads, 12 layers */
    uint64_t patches = 196 * 768 * 768;
    uint64_t layer = UINT64_C(4) * 197 * 768 * 768 + UINT64_C(2) * 197 * 768 * 3072 + UINT64_C(2) * 197 * 197 * 768;
    assert_int_equal(c.params, 86567656);
    assert_int_equal(c.macs, patches + 12 * layer + 768 * 1000);
}

static void bert_base_counts(void **state) {
    (void)state;
    ft_shape_binding sequence = {.name = "sequence", .rank = 1, .dims = {128}};
    counted c = count("bert_base", &(ft_binding){.batch = 2, .shapes = &sequence, .shape_count = 1});
    uint64_t layer = UINT64_C(4) * 128 * 768 * 768 + UINT64_C(2) * 128 * 768 * 3072 + UINT64_C(2) * 128 * 128 * 768;
    assert_int_equal(c.params, 109482240);
    assert_int_equal(c.macs, 2 * (12 * layer + 768 * 768));
}

/* Llama 3.2 1B in 4 bits: 16 layers of width 2048, 32 heads on 8 key heads of 64, inner width 8192, 128,256 words. */
static void llama_counts(void **state) {
    (void)state;
    ft_shape_binding one[] = {{.name = "sequence", .rank = 1, .dims = {1}},
                              {.name = "past_sequence", .rank = 1, .dims = {511}},
                              {.name = "total_sequence", .rank = 1, .dims = {512}}};
    counted c = count("llama_1b_int4", &(ft_binding){.batch = 1, .shapes = one, .shape_count = 3});
    uint64_t linear = UINT64_C(2) * 2048 * 2048 + UINT64_C(2) * 2048 * 512 + UINT64_C(3) * 2048 * 8192;
    uint64_t attention = UINT64_C(2) * 512 * 2048, words = UINT64_C(128256) * 2048;
    assert_int_equal(c.macs, 16 * (linear + attention) + words); /* 1.27 G a token */
    assert_int_equal(c.macs, 1269301248);
    assert_int_equal(c.params, 16 * linear + 2 * words + 33 * 2048); /* embedding and output, 33 norms */
    assert_int_equal(c.buffers, 2 * 131072 * 32);                    /* angles of 131,072 positions */
    /* 4 bits a weight, a float16 scale and 4 bits of zero point for each 32; the rest in float16. */
    uint64_t packed = 16 * linear + words;
    assert_int_equal(c.weight_bytes, packed / 2 + packed / 32 * 2 + packed / 64 + 2 * (words + 33 * 2048 + c.buffers));
    assert_true(c.coverage_ratio == 1.0);
    /* A prompt of 512 tokens at batch 2: everything but the scores 1024 times. */
    ft_shape_binding prompt[] = {{.name = "sequence", .rank = 1, .dims = {512}},
                                 {.name = "past_sequence", .rank = 1, .dims = {0}},
                                 {.name = "total_sequence", .rank = 1, .dims = {512}}};
    c = count("llama_1b_int4", &(ft_binding){.batch = 2, .shapes = prompt, .shape_count = 3});
    assert_int_equal(c.macs, 1024 * (16 * (linear + attention) + words));
}

/* The same network as bert_base without its pooler, in fused operators. */
static void bert_optimized_counts(void **state) {
    (void)state;
    ft_shape_binding sequence = {.name = "sequence", .rank = 1, .dims = {128}};
    counted c = count("bert_optimized", &(ft_binding){.batch = 2, .shapes = &sequence, .shape_count = 1});
    uint64_t layer = UINT64_C(4) * 128 * 768 * 768 + UINT64_C(2) * 128 * 768 * 3072 + UINT64_C(2) * 128 * 128 * 768;
    assert_int_equal(c.macs, 2 * 12 * layer);
    assert_int_equal(c.params, 109482240 - 768 * 768 - 768);
    assert_true(c.coverage_ratio == 1.0);
}

static void lstm_counts(void **state) {
    (void)state;
    ft_shape_binding tokens = {.name = "tokens", .rank = 2, .dims = {10, 1}};
    counted c = count("lstm_tagger", &(ft_binding){.shapes = &tokens, .shape_count = 1});
    uint64_t first = 2 * 4 * 256 * (128 + 256), second = 2 * 4 * 256 * (512 + 256), tags = 512 * 32;
    assert_int_equal(c.params, 20000 * 128 + first + second + 2 * 2 * 8 * 256 + tags + 32);
    assert_int_equal(c.macs, 10 * (first + second + tags));
}

static void detector_is_covered(void **state) {
    (void)state;
    counted c = count("detector", NULL);
    assert_int_equal(c.params, 2053487); /* counted from the file by python3-onnx */
    assert_true(c.coverage_ratio == 1.0);
}

static void fixed_batch_is_scaled(void **state) {
    (void)state;
    uint64_t one = 16 * 16 * 9 * 3 * 32 + 8 * 8 * 9 * 32 * 64 + 64 * 8 * 8 * 10;
    assert_int_equal(count("fixed_batch", NULL).macs, one);
    counted c = count("fixed_batch", &(ft_binding){.batch = 16});
    assert_int_equal(c.macs, 16 * one);
    assert_int_equal(c.params, 60458);
    assert_true(c.is_scaled);
}

static void unknown_operator_lowers_coverage(void **state) {
    (void)state;
    counted c = count("custom_op", NULL);
    assert_true(c.coverage_ratio > 0.5 && c.coverage_ratio < 1.0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(resnet50_counts),       cmocka_unit_test(mobilenet_v2_counts),
        cmocka_unit_test(vit_base_counts),       cmocka_unit_test(bert_base_counts),
        cmocka_unit_test(llama_counts),          cmocka_unit_test(bert_optimized_counts),
        cmocka_unit_test(lstm_counts),           cmocka_unit_test(detector_is_covered),
        cmocka_unit_test(fixed_batch_is_scaled), cmocka_unit_test(unknown_operator_lowers_coverage),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
