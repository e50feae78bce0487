/* Caches and figures of language models, against values computed by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cost/cache.h"
#include "foretell/language.h"
#include "support/onnx_model.h"

enum { WORDS = 100, WIDTH = 32, HEADS = 4, KV = 2, SIZE = 8, EXPERTS = 4, CHOSEN = 1, INNER = 64 };

static const char *text(onnx_model *m, const char *format, int layer) {
    char name[64];
    snprintf(name, sizeof name, format, layer);
    return arena_string(&m->memory, name, strlen(name));
}

static void product(onnx_model *m, const char *x, const char *weight, const char *shape, const char *y) {
    char inputs[128];
    onnx_initializer(m, m->graph, weight, ONNX_FLOAT16, shape);
    snprintf(inputs, sizeof inputs, "%s %s", x, weight);
    onnx_node(m, m->graph, "MatMul", inputs, y);
}

/* A layer of attention over `x`, with keys and values of 2 heads of 8 that are cached; window 0: none. */
static void attention(onnx_model *m, int layer, int window, const char *past) {
    char shape[64];
    snprintf(shape, sizeof shape, "B,%d,%s,%d", KV, past, SIZE);
    const char *keys = text(m, "past_key_values.%d.key", layer), *values = text(m, "past_key_values.%d.value", layer);
    onnx_input(m, m->graph, keys, ONNX_FLOAT16, shape);
    onnx_input(m, m->graph, values, ONNX_FLOAT16, shape);
    product(m, "x", text(m, "q%d.w", layer), "32,32", text(m, "q%d", layer));
    product(m, "x", text(m, "k%d.w", layer), "32,16", text(m, "k%d", layer));
    product(m, "x", text(m, "v%d.w", layer), "32,16", text(m, "v%d", layer));
    char inputs[256], outputs[128];
    snprintf(inputs, sizeof inputs, "q%d k%d v%d %s %s lengths", layer, layer, layer, keys, values);
    snprintf(outputs, sizeof outputs, "y%d present.%d.key present.%d.value", layer, layer, layer);
    Onnx__NodeProto *node = onnx_node(m, m->graph, "GroupQueryAttention", inputs, outputs);
    node->domain = "com.microsoft";
    onnx_attr_int(m, node, "num_heads", HEADS);
    onnx_attr_int(m, node, "kv_num_heads", KV);
    if (window > 0) onnx_attr_int(m, node, "local_window_size", window);
    onnx_output(m, m->graph, text(m, "present.%d.key", layer), ONNX_FLOAT16, NULL);
    onnx_output(m, m->graph, text(m, "present.%d.value", layer), ONNX_FLOAT16, NULL);
    onnx_output(m, m->graph, text(m, "y%d", layer), ONNX_FLOAT16, NULL);
}

static onnx_model *embedding(const char *sequence) {
    onnx_model *m = onnx_model_new();
    char shape[32];
    snprintf(shape, sizeof shape, "B,%s", sequence);
    onnx_input(m, m->graph, "input_ids", ONNX_INT64, shape);
    onnx_input(m, m->graph, "attention_mask", ONNX_INT64, "B,T");
    onnx_input(m, m->graph, "lengths", ONNX_INT32, "B");
    onnx_initializer(m, m->graph, "words", ONNX_FLOAT16, "100,32");
    onnx_node(m, m->graph, "Gather", "words input_ids", "x");
    return m;
}

static ft_language language_of(onnx_model *m, const ft_binding *binding) {
    ft_language language;
    ft_error error;
    ft_graph *graph = onnx_model_read(m);
    if (ft_language_of(graph, binding, &language, &error) != FT_OK) fail_msg("%s", error.message);
    ft_graph_free(graph);
    onnx_model_free(m);
    return language;
}

/* Two heads of 8 in 16 bits: 64 bytes a token and layer, keys and values. */
static void the_cache_counts_keys_and_values_of_all_layers(void **state) {
    (void)state;
    onnx_model *m = embedding("S");
    for (int i = 0; i < 3; i++) attention(m, i, 0, "P");
    ft_language l = language_of(m, NULL);
    assert_true(l.has_cache);
    assert_int_equal(l.run, FT_RUN_BOTH);
    assert_int_equal(l.attention_layers, 3);
    assert_int_equal(l.window_layers, 0);
    assert_int_equal(l.kv_bytes_per_token, 3 * 2 * KV * SIZE * 2);
    assert_int_equal(l.context_tokens, 2048);
    assert_int_equal(l.kv_needed_bytes, 2048 * l.kv_bytes_per_token);
    assert_int_equal(l.params, WORDS * WIDTH + 3 * WIDTH * (WIDTH + 2 * 16));
    assert_int_equal(l.active_params, l.params);
}

static void windows_bound_what_is_needed_but_not_what_is_reserved(void **state) {
    (void)state;
    onnx_model *m = embedding("S");
    attention(m, 0, 128, "P");
    attention(m, 1, 0, "P");
    ft_shape_binding shapes[] = {{.name = "S", .rank = 1, .dims = {1}}, {.name = "P", .rank = 1, .dims = {999}}};
    ft_language l = language_of(m, &(ft_binding){.shapes = shapes, .shape_count = 2});
    assert_int_equal(l.window_layers, 1);
    assert_int_equal(l.window_tokens, 128);
    assert_int_equal(l.kv_window_bytes_per_token, 64);
    assert_int_equal(l.context_tokens, 1000);
    assert_int_equal(l.kv_needed_bytes, 64 * (128 + 1000));
    assert_int_equal(l.kv_reserved_bytes, 64 * 2000);
}

/* A token after 99 others: two products a weight, and two a key for queries and for values of 4 heads of 8. */
static void a_decoded_token_reads_weights_and_cache(void **state) {
    (void)state;
    onnx_model *m = embedding("S");
    attention(m, 0, 0, "P");
    ft_shape_binding shapes[] = {{.name = "S", .rank = 1, .dims = {1}}, {.name = "P", .rank = 1, .dims = {99}}};
    ft_language l = language_of(m, &(ft_binding){.shapes = shapes, .shape_count = 2});
    double products = 2.0 * WIDTH * (WIDTH + 32), scores = 100.0 * HEADS;
    assert_true(fabs(l.decode_flops_per_token - (products + scores * (2 * 16 + 8))) < 0.5); /* 8: softmax */
    assert_true(l.decode_bytes_per_token > 2.0 * WIDTH * (WIDTH + 32) + 99 * 64.0);
    assert_true(l.decode_bytes_per_token < 2.0 * WIDTH * (WIDTH + 32) + 99 * 64.0 + 2000);
    assert_int_equal(l.prompt_tokens, 99); /* which filled the cache */
}

/* Lengths that the caller gives by the shape of an input. */
static void shapes_of_inputs_set_the_lengths(void **state) {
    (void)state;
    onnx_model *m = embedding("S");
    attention(m, 0, 0, "P");
    ft_shape_binding shape = {.name = "input_ids", .rank = 2, .dims = {3, 300}};
    ft_language l = language_of(m, &(ft_binding){.shapes = &shape, .shape_count = 1});
    assert_int_equal(l.prompt_tokens, 300);
    assert_int_equal(l.context_tokens, 300);
    assert_false(isnan(l.prefill_flops_per_token));
    assert_false(isnan(l.decode_flops_per_token));
}

static void a_graph_for_one_token_decodes_only(void **state) {
    (void)state;
    onnx_model *m = embedding("1");
    attention(m, 0, 0, "P");
    ft_language l = language_of(m, NULL);
    assert_int_equal(l.run, FT_RUN_DECODE);
    assert_true(isnan(l.prefill_flops_per_token));
    assert_false(isnan(l.decode_flops_per_token));
    assert_int_equal(l.context_tokens, 2048);
}

/* The prefill half of an export in two files has the cache among its outputs only. */
static void a_graph_without_a_past_prefills_only(void **state) {
    (void)state;
    onnx_model *m = embedding("S");
    onnx_initializer(m, m->graph, "axes", ONNX_INT64, "1");
    product(m, "x", "k.w", "32,16", "present.0.flat");
    onnx_node(m, m->graph, "Relu", "present.0.flat", "present.0.key");
    onnx_output(m, m->graph, "present.0.key", ONNX_FLOAT16, "B,S,16");
    ft_language l = language_of(m, NULL);
    assert_true(l.has_cache);
    assert_int_equal(l.run, FT_RUN_PREFILL);
    assert_int_equal(l.kv_bytes_per_token, 32);
    assert_true(isnan(l.decode_flops_per_token));
}

static void a_model_without_a_cache_has_no_summary(void **state) {
    (void)state;
    onnx_model *m = embedding("S");
    onnx_output(m, m->graph, "x", ONNX_FLOAT16, NULL);
    assert_false(language_of(m, NULL).has_cache);
}

static void idle_experts_are_not_active(void **state) {
    (void)state;
    onnx_model *m = embedding("S");
    attention(m, 0, 0, "P");
    product(m, "x", "router.w", "32,4", "router");
    onnx_initializer(m, m->graph, "up", ONNX_FLOAT16, "4,64,32");
    onnx_initializer(m, m->graph, "down", ONNX_FLOAT16, "4,32,64");
    Onnx__NodeProto *node = onnx_node(m, m->graph, "MoE", "x router up - down", "z");
    node->domain = "com.microsoft";
    onnx_attr_int(m, node, "k", CHOSEN);
    onnx_output(m, m->graph, "z", ONNX_FLOAT16, NULL);
    ft_language l = language_of(m, NULL);
    uint64_t expert = 2 * INNER * WIDTH;
    assert_int_equal(l.params - l.active_params, (EXPERTS - CHOSEN) * expert);
}

/* Keys and values of an encoder grow with its input, and are not part of what a new token adds. */
static void caches_of_an_encoder_are_counted_apart(void **state) {
    (void)state;
    onnx_model *m = embedding("S");
    attention(m, 0, 0, "P");
    onnx_input(m, m->graph, "past_key_values.0.encoder.key", ONNX_FLOAT16, "B,4,E,8");
    onnx_node(m, m->graph, "Relu", "past_key_values.0.encoder.key", "w");
    onnx_output(m, m->graph, "w", ONNX_FLOAT16, NULL);
    ft_language l = language_of(m, NULL);
    assert_int_equal(l.kv_bytes_per_token, 64);
    assert_int_equal(l.input_kv_bytes_per_token, 64);
    assert_true(isnan(l.decode_flops_per_token)); /* the length of the encoder's input is open */
}

/* A recurrence keeps a state of fixed size: 2 heads of 8 x 16 floats. */
static void states_do_not_grow(void **state) {
    (void)state;
    onnx_model *m = embedding("S");
    onnx_input(m, m->graph, "past_states.0", ONNX_FLOAT, "B,2,8,16");
    product(m, "x", "q.w", "32,16", "q");
    product(m, "x", "k.w", "32,16", "k");
    product(m, "x", "v.w", "32,32", "v");
    Onnx__NodeProto *node = onnx_node(m, m->graph, "LinearAttention", "q k v past_states.0", "y present_states.0");
    node->domain = "com.microsoft";
    onnx_attr_int(m, node, "q_num_heads", 2);
    onnx_attr_int(m, node, "kv_num_heads", 2);
    onnx_output(m, m->graph, "y", ONNX_FLOAT16, NULL);
    onnx_output(m, m->graph, "present_states.0", ONNX_FLOAT, NULL);
    ft_language l = language_of(m, NULL);
    assert_int_equal(l.state_layers, 1);
    assert_int_equal(l.state_bytes, 2 * 8 * 16 * 4);
    assert_int_equal(l.kv_bytes_per_token, 0);
    assert_int_equal(l.kv_needed_bytes, l.state_bytes);
}

static void a_bound_graph_is_refused(void **state) {
    (void)state;
    onnx_model *m = embedding("S");
    attention(m, 0, 0, "P");
    ft_graph *graph = onnx_model_read(m), *bound = NULL;
    ft_shape_binding shapes[] = {{.name = "S", .rank = 1, .dims = {1}},
                                 {.name = "P", .rank = 1, .dims = {9}},
                                 {.name = "T", .rank = 1, .dims = {10}}};
    ft_binding binding = {.batch = 1, .shapes = shapes, .shape_count = 3};
    ft_language language;
    ft_error error;
    assert_int_equal(ft_graph_bind(graph, &binding, &bound, &error), FT_OK);
    assert_int_equal(ft_language_of(bound, NULL, &language, &error), FT_ERR_USAGE);
    ft_graph_free(bound);
    ft_graph_free(graph);
    onnx_model_free(m);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_cache_counts_keys_and_values_of_all_layers),
        cmocka_unit_test(windows_bound_what_is_needed_but_not_what_is_reserved),
        cmocka_unit_test(a_decoded_token_reads_weights_and_cache),
        cmocka_unit_test(shapes_of_inputs_set_the_lengths),
        cmocka_unit_test(a_graph_for_one_token_decodes_only),
        cmocka_unit_test(a_graph_without_a_past_prefills_only),
        cmocka_unit_test(a_model_without_a_cache_has_no_summary),
        cmocka_unit_test(idle_experts_are_not_active),
        cmocka_unit_test(caches_of_an_encoder_are_counted_apart),
        cmocka_unit_test(states_do_not_grow),
        cmocka_unit_test(a_bound_graph_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
