/* Tests of models that GGUF files describe: parameters, caches and FLOPs against closed formulas and against
 * config.json of the same model; architectures that are not known; damaged metadata. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "foretell/foretell.h"
#include "foretell/language.h"

/* Of make_weights.py: two layers of width 32, 4 heads of 8, 2 of keys, MLP of 64, 40 words. */
enum { HIDDEN = 32, LAYERS = 2, KV = 16, INNER = 64, WORDS = 40, TABLE = WORDS * HIDDEN };
enum {
    ATTENTION = 2 * HIDDEN * HIDDEN + 2 * KV * HIDDEN,
    MLP = 3 * HIDDEN * INNER,
    PLAIN = LAYERS * (ATTENTION + MLP + 2 * HIDDEN) + HIDDEN + 2 * TABLE,
    CACHE = LAYERS * 2 * KV * 2
};

static buf load(const char *name) {
    char path[256];
    buf bytes = {0};
    snprintf(path, sizeof path, "fuzz/corpus/gguf/%s", name);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    for (int c; (c = getc(file)) != EOF;) buf_char(&bytes, (char)c);
    fclose(file);
    assert_false(bytes.failed);
    return bytes;
}

static ft_graph *read_bytes(const buf *bytes) {
    ft_graph *graph = NULL;
    ft_error error = {0};
    if (ft_graph_read_memory(bytes->data, bytes->length, "x.gguf", &graph, &error) != FT_OK)
        fail_msg("%s", error.message);
    return graph;
}

static ft_graph *read_corpus(const char *name) {
    buf bytes = load(name);
    ft_graph *graph = read_bytes(&bytes);
    buf_free(&bytes);
    return graph;
}

static ft_language language_of(ft_graph *graph) {
    ft_language found = {0};
    ft_error error = {0};
    if (ft_language_of(graph, NULL, &found, &error) != FT_OK) fail_msg("%s", error.message);
    return found;
}

static ft_language corpus_language(const char *name) {
    ft_graph *graph = read_corpus(name);
    ft_language found = language_of(graph);
    ft_graph_free(graph);
    return found;
}

static void check(const char *name, uint64_t params, uint64_t active, uint64_t cache) {
    ft_language l = corpus_language(name);
    if (!l.has_cache || l.params != params || l.active_params != active || l.kv_bytes_per_token != cache)
        fail_msg("%s: %llu parameters, %llu active, %llu bytes of cache a token", name, (unsigned long long)l.params,
                 (unsigned long long)l.active_params, (unsigned long long)l.kv_bytes_per_token);
}

/* Bytes of the weights in memory and in the file are those of the file's tensors. */
static void check_bytes(const char *name) {
    static const ft_shape_binding shapes[] = {{"sequence", 1, {4}}, {"past", 1, {0}}};
    ft_graph *graph = read_corpus(name), *bound = NULL;
    ft_cost_options options = ft_cost_options_default();
    ft_binding binding = {.batch = 1, .shapes = shapes, .shape_count = 2};
    ft_cost cost = {0};
    ft_error error = {0};
    const char *bytes = ft_graph_meta(graph, "weight_bytes"), *params = ft_graph_meta(graph, "parameters");
    assert_non_null(bytes);
    if (ft_graph_bind(graph, &binding, &bound, &error) != FT_OK) fail_msg("%s", error.message);
    assert_int_equal(ft_cost_compute(bound, &options, &cost, &error), FT_OK);
    assert_int_equal(cost.stored_bytes, strtoull(bytes, NULL, 10));
    assert_int_equal(cost.weight_bytes, strtoull(bytes, NULL, 10));
    assert_int_equal(cost.total.params, strtoull(params, NULL, 10));
    ft_cost_free(&cost);
    ft_graph_free(bound);
    ft_graph_free(graph);
}

/* --- Families ---------------------------------------------------------------------------------------------------- */

static void grouped_queries_have_a_cache(void **state) {
    (void)state;
    check("llama.gguf", PLAIN, PLAIN, CACHE);
    check("big-endian.gguf", PLAIN, PLAIN, CACHE);
    check("version2.gguf", PLAIN, PLAIN, CACHE);
    check_bytes("llama.gguf");
}

static void flops_are_those_of_a_config(void **state) {
    (void)state;
    static const char text[] = "{\"model_type\": \"llama\", \"hidden_size\": 32, \"num_hidden_layers\": 2, "
                               "\"num_attention_heads\": 4, \"num_key_value_heads\": 2, \"intermediate_size\": 64, "
                               "\"vocab_size\": 40, \"max_position_embeddings\": 2048, \"torch_dtype\": \"float16\"}";
    ft_graph *graph = NULL;
    ft_error error = {0};
    assert_int_equal(ft_graph_read_memory(text, strlen(text), "config.json", &graph, &error), FT_OK);
    ft_language expected = language_of(graph), found = corpus_language("llama.gguf");
    ft_graph_free(graph);
    assert_int_equal(found.kv_reserved_bytes, expected.kv_reserved_bytes);
    assert_int_equal(found.context_tokens, expected.context_tokens);
    /* Packed words are unpacked: two operations a number. */
    assert_true(found.prefill_flops_per_token - expected.prefill_flops_per_token <= 2 * HIDDEN);
    assert_true(found.prefill_flops_per_token >= expected.prefill_flops_per_token);
    assert_true(found.decode_bytes_per_token < expected.decode_bytes_per_token); /* 4 and 8 bits, not 16 */
}

static void experts_and_tied_words_are_counted_once(void **state) {
    (void)state;
    enum { EXPERT = 3 * HIDDEN * 64, NORMS = LAYERS * 2 * 8, ROUTER = LAYERS * 4 * HIDDEN };
    int others = PLAIN - TABLE - LAYERS * MLP + NORMS + ROUTER;
    check("experts.gguf", others + LAYERS * 4 * EXPERT, others + LAYERS * 2 * EXPERT, CACHE);
    check_bytes("experts.gguf");
}

static void layers_differ_by_lists(void **state) {
    (void)state;
    int params = PLAIN - TABLE + 2 * 16 * HIDDEN + 3 * HIDDEN * 32;
    check("layers.gguf", params, params, CACHE + 2 * 16 * 2);
}

static void latent_attention_caches_its_rank(void **state) {
    (void)state;
    enum { RANK = 32, ROPE = 8, NOPE = 8, VALUE = 8, HEADS = 4, EXPERT = 3 * HIDDEN * 32 };
    int attention = HIDDEN * HEADS * (NOPE + ROPE) + HIDDEN * (RANK + ROPE) + RANK + RANK * HEADS * (NOPE + VALUE) +
                    HEADS * VALUE * HIDDEN;
    int params = LAYERS * (attention + 2 * HIDDEN) + HIDDEN + 2 * TABLE + MLP + 5 * EXPERT + 4 * HIDDEN;
    check("latent.gguf", (uint64_t)params, (uint64_t)params - 2 * EXPERT, LAYERS * (RANK + ROPE) * 2);
    check_bytes("latent.gguf");
}

static void recurrent_layers_have_a_state(void **state) {
    (void)state;
    ft_language l = corpus_language("mamba.gguf");
    assert_int_equal(l.state_layers, LAYERS);
    assert_int_equal(l.kv_bytes_per_token, 0);
    assert_int_equal(l.state_bytes,
                     LAYERS * (64 * 8 * 4 + 64 * 3 * 2)); /* of float32, and the taps of the convolution */
    check_bytes("mamba.gguf");
}

/* --- What is not a model ------------------------------------------------------------------------------------------ */

static void check_note(ft_graph *graph, const char *params, const char *text) {
    const char *note = ft_graph_meta(graph, "note"), *found = ft_graph_meta(graph, "parameters");
    assert_non_null(note);
    if (strstr(note, text) == NULL) fail_msg("'%s' is not in: %s", text, note);
    assert_string_equal(found, params);
    assert_false(language_of(graph).has_cache);
    ft_graph_free(graph);
}

static size_t find(const buf *bytes, const char *text) {
    char *at = bytes->data != NULL ? memmem(bytes->data, bytes->length, text, strlen(text)) : NULL;
    assert_non_null(at);
    return (size_t)(at - bytes->data) + strlen(text);
}

/* Sets the number of a key of 32 bits. */
static void set_number(buf *bytes, const char *key, uint32_t number) {
    memcpy(bytes->data + find(bytes, key) + 4, &number, sizeof number);
}

static void unknown_architectures_are_weights(void **state) {
    (void)state;
    check_note(read_corpus("unknown.gguf"), "1312", "architecture \"novel\" is not known");
    buf bytes = load("llama.gguf");
    set_number(&bytes, "llama.feed_forward_length", 96); /* the weights say 64 */
    check_note(read_bytes(&bytes), "21152", "its weights are not those of its architecture");
    buf_free(&bytes);
}

static void check_failure(const char *key, uint32_t number, ft_status status, const char *message) {
    ft_graph *graph = NULL;
    ft_error error = {0};
    buf bytes = load("llama.gguf");
    set_number(&bytes, key, number);
    ft_status found = ft_graph_read_memory(bytes.data, bytes.length, "x.gguf", &graph, &error);
    buf_free(&bytes);
    if (found != status || strstr(error.message, message) == NULL) fail_msg("%s = %u: %s", key, number, error.message);
    assert_null(graph);
    assert_non_null(strstr(error.message, "x.gguf: "));
}

static void damage_names_the_key(void **state) {
    (void)state;
    check_failure("llama.attention.head_count", 0, FT_ERR_DAMAGED, "\"llama.attention.head_count\" is 0");
    check_failure("llama.attention.head_count", 5, FT_ERR_DAMAGED,
                  "\"llama.embedding_length\" does not divide by \"llama.attention.head_count\"");
    check_failure("llama.attention.head_count_kv", 3, FT_ERR_DAMAGED, "\"llama.attention.head_count_kv\" 3");
    check_failure("llama.block_count", 0, FT_ERR_DAMAGED, "\"llama.block_count\" is 0");
    check_failure("llama.block_count", 100000, FT_ERR_LIMIT, "\"llama.block_count\" is larger than the 1024");
    check_failure("llama.embedding_length", UINT32_MAX, FT_ERR_LIMIT, "\"llama.embedding_length\" is larger than");
    check_failure("llama.feed_forward_length", 0, FT_ERR_DAMAGED, "\"llama.feed_forward_length\" is missing");
}

static void rename_key(const buf *bytes, const char *key) {
    size_t end = find(bytes, key);
    if (bytes->data != NULL) bytes->data[end - 1] = 'x';
}

static void missing_keys_are_named(void **state) {
    (void)state;
    static const char *const keys[] = {"llama.block_count", "llama.embedding_length", "llama.feed_forward_length"};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        ft_graph *graph = NULL;
        ft_error error = {0};
        char message[128];
        buf bytes = load("llama.gguf");
        rename_key(&bytes, keys[i]);
        snprintf(message, sizeof message, "x.gguf: \"%s\" is missing", keys[i]);
        assert_int_equal(ft_graph_read_memory(bytes.data, bytes.length, "x.gguf", &graph, &error), FT_ERR_DAMAGED);
        if (strstr(error.message, message) == NULL) fail_msg("%s", error.message);
        buf_free(&bytes);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(grouped_queries_have_a_cache),
        cmocka_unit_test(flops_are_those_of_a_config),
        cmocka_unit_test(experts_and_tied_words_are_counted_once),
        cmocka_unit_test(layers_differ_by_lists),
        cmocka_unit_test(latent_attention_caches_its_rank),
        cmocka_unit_test(recurrent_layers_have_a_state),
        cmocka_unit_test(unknown_architectures_are_weights),
        cmocka_unit_test(damage_names_the_key),
        cmocka_unit_test(missing_keys_are_named),
    };
    return cmocka_run_group_tests_name("read/gguf_model", tests, NULL, NULL);
}
