/* Tests of the reader of HuggingFace's config.json: parameters and caches against closed formulas, defaults, damage. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "foretell/foretell.h"
#include "foretell/language.h"
#include "graph/graph.h"

#define COMMON                                                                                                         \
    "\"hidden_size\": 64, \"num_hidden_layers\": 2, \"num_attention_heads\": 4, \"num_key_value_heads\": 2, "          \
    "\"intermediate_size\": 96, \"vocab_size\": 100"

enum { HIDDEN = 64, LAYERS = 2, HEADS = 4, KV = 2, HEAD = 16, INNER = 96, WORDS = 100 };
/* Of the model above: projections of attention, gated MLP, two norms a layer. */
enum {
    ATTENTION = 2 * HIDDEN * HEADS * HEAD + 2 * HIDDEN * KV * HEAD,
    MLP = 3 * HIDDEN * INNER,
    TABLE = WORDS * HIDDEN,
    PLAIN = LAYERS * (ATTENTION + MLP + 2 * HIDDEN) + 2 * TABLE + HIDDEN,
    CACHE = LAYERS * 2 * KV * HEAD * 2
};

static ft_status read_text(const char *text, ft_graph **graph, ft_error *error) {
    return ft_graph_read_memory(text, strlen(text), "config.json", graph, error);
}

static ft_language language_of(const char *text, char note[256]) {
    ft_graph *graph = NULL;
    ft_error error = {0};
    ft_language found = {0};
    if (read_text(text, &graph, &error) != FT_OK) fail_msg("%s", error.message);
    if (ft_language_of(graph, NULL, &found, &error) != FT_OK) fail_msg("%s", error.message);
    const char *text_of_note = ft_graph_meta(graph, "note");
    if (note != NULL) snprintf(note, 256, "%s", text_of_note != NULL ? text_of_note : "");
    ft_graph_free(graph);
    return found;
}

static void check(const char *text, uint64_t params, uint64_t active, uint64_t cache) {
    ft_language l = language_of(text, NULL);
    if (l.params != params || l.active_params != active || l.kv_bytes_per_token != cache)
        fail_msg("%s: %llu parameters, %llu active, %llu bytes of cache a token", text, (unsigned long long)l.params,
                 (unsigned long long)l.active_params, (unsigned long long)l.kv_bytes_per_token);
}

static void check_failure(const char *text, ft_status status, const char *message) {
    ft_graph *graph = NULL;
    ft_error error = {0};
    if (read_text(text, &graph, &error) != status) fail_msg("%s: %s", text, error.message);
    assert_null(graph);
    if (strstr(error.message, message) == NULL) fail_msg("'%s' is not in: %s", message, error.message);
    assert_non_null(strstr(error.message, "config.json: "));
}

/* --- Families ---------------------------------------------------------------------------------------------------- */

static void test_llama(void **state) {
    (void)state;
    check("{\"model_type\": \"llama\", " COMMON "}", PLAIN, PLAIN, CACHE);
    check("{\"model_type\": \"llama\", " COMMON ", \"tie_word_embeddings\": true}", PLAIN - TABLE, PLAIN - TABLE,
          CACHE);
    int biases = LAYERS * (2 * HEADS * HEAD + 2 * KV * HEAD);
    check("{\"model_type\": \"llama\", " COMMON ", \"attention_bias\": true}", PLAIN + biases, PLAIN + biases, CACHE);
    int mlp = LAYERS * (2 * INNER + HIDDEN);
    check("{\"model_type\": \"llama\", " COMMON ", \"mlp_bias\": true}", PLAIN + mlp, PLAIN + mlp, CACHE);
}

static void test_head_dim(void **state) {
    (void)state;
    int more = LAYERS * ATTENTION; /* heads of twice the size */
    check("{\"model_type\": \"mistral\", " COMMON ", \"head_dim\": 32, \"sliding_window\": null}", PLAIN + more,
          PLAIN + more, 2 * CACHE);
}

static void test_qwen(void **state) {
    (void)state;
    int biases = LAYERS * (HEADS * HEAD + 2 * KV * HEAD), norms = LAYERS * 2 * HEAD;
    check("{\"model_type\": \"qwen2\", " COMMON "}", PLAIN + biases, PLAIN + biases, CACHE);
    check("{\"model_type\": \"qwen3\", \"head_dim\": 16, " COMMON "}", PLAIN + norms, PLAIN + norms, CACHE);
}

static void test_experts(void **state) {
    (void)state;
    int router = LAYERS * HIDDEN * 8, others = PLAIN - LAYERS * MLP + router;
    check("{\"model_type\": \"mixtral\", " COMMON ", \"num_local_experts\": 8, \"num_experts_per_tok\": 2}",
          others + LAYERS * 8 * MLP, others + LAYERS * 2 * MLP, CACHE);
}

static void test_shared_experts(void **state) {
    (void)state;
    int expert = 3 * HIDDEN * 32, sparse = 8 * expert + HIDDEN * 8, biases = LAYERS * (HEADS * HEAD + 2 * KV * HEAD);
    int shared = 3 * HIDDEN * 48 + HIDDEN, one_dense = PLAIN + biases - MLP;
    check("{\"model_type\": \"qwen2_moe\", " COMMON ", \"num_experts\": 8, \"num_experts_per_tok\": 3, "
          "\"moe_intermediate_size\": 32, \"shared_expert_intermediate_size\": 48, \"mlp_only_layers\": [0]}",
          one_dense + sparse + shared, one_dense + sparse + shared - 5 * expert, CACHE);
}

static void test_llama4(void **state) {
    (void)state;
    int expert = 3 * HIDDEN * INNER, dense = 3 * HIDDEN * 128, others = PLAIN - LAYERS * MLP;
    check("{\"model_type\": \"llama4\", \"text_config\": {\"model_type\": \"llama4_text\", \"head_dim\": 16, " COMMON
          ", \"intermediate_size_mlp\": 128, \"interleave_moe_layer_step\": 2, \"num_local_experts\": 4, "
          "\"num_experts_per_tok\": 1}}",
          others + dense + 5 * expert + HIDDEN * 4, others + dense + 2 * expert + HIDDEN * 4, CACHE);
}

static void test_windows(void **state) {
    (void)state;
    ft_language l = language_of("{\"model_type\": \"gpt_oss\", \"head_dim\": 16, " COMMON
                                ", \"num_local_experts\": 4, \"num_experts_per_tok\": 2, \"sliding_window\": 128}",
                                NULL);
    assert_int_equal(l.window_layers, 1);
    assert_int_equal(l.window_tokens, 128);
    assert_int_equal(l.kv_needed_bytes, CACHE / 2 * (2048 + 128));
    assert_int_equal(l.kv_reserved_bytes, CACHE * 2048);
}

/* Defaults of fields that are missing are those of the type; a field that is null has none. */
static void test_defaults(void **state) {
    (void)state;
    int wide = LAYERS * (ATTENTION * (128 / HEAD) + 2 * 128) - LAYERS * ATTENTION; /* heads of 128, not of 64 / 4 */
    check("{\"model_type\": \"qwen3\", " COMMON "}", PLAIN + wide, PLAIN + wide, CACHE * 128 / HEAD);
    check("{\"model_type\": \"qwen3\", \"head_dim\": null, " COMMON "}", PLAIN + LAYERS * 2 * HEAD,
          PLAIN + LAYERS * 2 * HEAD, CACHE);
    ft_language l = language_of("{\"model_type\": \"mistral\", " COMMON "}", NULL);
    assert_int_equal(l.window_tokens, 4096);
    l = language_of("{\"model_type\": \"mistral\", \"sliding_window\": null, " COMMON "}", NULL);
    assert_int_equal(l.window_layers, 0);
    l = language_of("{\"model_type\": \"gemma2\", " COMMON "}", NULL);
    assert_int_equal(l.window_layers, 1); /* of two */
}

/* One cached row a token for all heads, and keys of the indexer apart from it. */
static void test_latent(void **state) {
    (void)state;
    enum { RANK = 24, QUERY = 20, NOPE = 12, ROPE = 8, VALUE = 10, INDEX = 6 };
    enum {
        LATENT = HIDDEN * QUERY + QUERY + QUERY * HEADS * (NOPE + ROPE) + HIDDEN * (RANK + ROPE) + RANK +
                 RANK * HEADS * (NOPE + VALUE) + HEADS * VALUE * HIDDEN,
        INDEXER = QUERY * 2 * INDEX + HIDDEN * INDEX + 2 * INDEX + HIDDEN * 2,
        OTHERS = PLAIN - LAYERS * ATTENTION
    };
    static const char *const text =
        "{\"model_type\": \"deepseek_v3\", " COMMON ", \"first_k_dense_replace\": 2, \"q_lora_rank\": 20, "
        "\"kv_lora_rank\": 24, \"qk_nope_head_dim\": 12, \"qk_rope_head_dim\": 8, \"v_head_dim\": 10%s}";
    char plain[1024], indexed[1024];
    snprintf(plain, sizeof plain, text, "");
    snprintf(indexed, sizeof indexed, text, ", \"index_n_heads\": 2, \"index_head_dim\": 6, \"index_topk\": 128");
    check(plain, OTHERS + LAYERS * LATENT, OTHERS + LAYERS * LATENT, LAYERS * (RANK + ROPE) * 2);
    check(indexed, OTHERS + LAYERS * (LATENT + INDEXER), OTHERS + LAYERS * (LATENT + INDEXER),
          LAYERS * (RANK + ROPE) * 2);
    assert_int_equal(language_of(indexed, NULL).index_bytes_per_token, LAYERS * INDEX * 2);
}

/* Each layer adds an embedding of its own: a table, a projection, and in each layer a gate, a projection and a norm. */
static void test_layer_embedding(void **state) {
    (void)state;
    enum { WIDTH = 8, ROWS = 50 };
    enum {
        NORMS = LAYERS * (2 * HIDDEN + 2 * HEAD), /* two more a layer, and those of queries and keys */
        ADDED = LAYERS * WIDTH * (ROWS + HIDDEN) + WIDTH + LAYERS * (2 * HIDDEN * WIDTH + HIDDEN),
        ALL = PLAIN - TABLE + NORMS + ADDED
    };
    check("{\"model_type\": \"gemma4_text\", " COMMON ", \"head_dim\": 16, \"global_head_dim\": 16, "
          "\"hidden_size_per_layer_input\": 8, \"vocab_size_per_layer_input\": 50}",
          ALL, ALL, CACHE);
}

/* A type that is not known is read by its fields, and says so. */
static void test_unknown_type(void **state) {
    char note[256];
    (void)state;
    ft_language l = language_of("{\"model_type\": \"newest\", " COMMON ", \"torch_dtype\": \"bfloat16\"}", note);
    assert_int_equal(l.params, PLAIN);
    assert_string_equal(note, "model type \"newest\" is not known: read as one of Llama's kind");
}

/* --- Damage ------------------------------------------------------------------------------------------------------ */

static void test_damage(void **state) {
    (void)state;
    check_failure("{\"model_type\": \"llama\"}", FT_ERR_DAMAGED, "\"hidden_size\" is missing");
    check_failure("{\"model_type\": \"llama\", \"hidden_size\": \"64\"}", FT_ERR_DAMAGED,
                  "\"hidden_size\": is a string, but a whole number is expected");
    check_failure("{\"model_type\": \"llama\", " COMMON ", \"head_dim\": -1}", FT_ERR_DAMAGED, "\"head_dim\"");
    check_failure("{\"model_type\": \"llama\", " COMMON ", \"tie_word_embeddings\": 3}", FT_ERR_DAMAGED,
                  "\"tie_word_embeddings\" is not true or false");
    check_failure(
        "{\"model_type\": \"llama\", \"hidden_size\": 64, \"vocab_size\": 9, \"num_hidden_layers\": 1000000000, "
        "\"num_attention_heads\": 4, \"intermediate_size\": 8}",
        FT_ERR_LIMIT, "\"num_hidden_layers\"");
    check_failure("{\"model_type\": \"llama\", \"hidden_size\": 64, \"vocab_size\": 9, \"num_hidden_layers\": 1, "
                  "\"num_attention_heads\": 5, \"intermediate_size\": 8}",
                  FT_ERR_DAMAGED, "\"hidden_size\" does not divide by \"num_attention_heads\"");
    check_failure("{\"model_type\": \"llama\", \"hidden_size\": 64, \"vocab_size\": 9, \"num_hidden_layers\": 1, "
                  "\"num_attention_heads\": 4, \"num_key_value_heads\": 3, \"intermediate_size\": 8}",
                  FT_ERR_DAMAGED, "\"num_attention_heads\" 4 does not divide by \"num_key_value_heads\" 3");
    check_failure("{\"model_type\": \"mixtral\", " COMMON ", \"num_local_experts\": 2, \"num_experts_per_tok\": 3}",
                  FT_ERR_DAMAGED, "\"num_experts_per_tok\" 3 is more than the 2 experts");
}

/* --- Real files -------------------------------------------------------------------------------------------------- */

static bool find_config(const char *root, const char *name, char path[512]) {
    static const char *const folders[] = {"aiconfigurator", "inference-sim", "llmservingsim", "pipeweave"};
    for (size_t i = 0; i < 2 * sizeof folders / sizeof folders[0]; i++) {
        snprintf(path, 512, "%s/configs/%s/%s%s.json", root, folders[i / 2], name, i % 2 == 0 ? "" : "_config");
        if (access(path, R_OK) == 0) return true;
    }
    return false;
}

static void check_row(const char *root, const char *line) {
    char name[128], path[512];
    unsigned long long params, active, cache;
    if (sscanf(line, "%127[^,],%*[^,],%llu,%llu,%llu", name, &params, &active, &cache) != 4) return;
    ft_graph *graph = NULL;
    ft_error error = {0};
    ft_language l = {0};
    if (!find_config(root, name, path)) fail_msg("no file of %s", name);
    if (ft_graph_read(path, &graph, &error) != FT_OK) fail_msg("%s", error.message);
    assert_int_equal(ft_language_of(graph, NULL, &l, &error), FT_OK);
    if (l.params != params || l.active_params != active || l.kv_bytes_per_token != cache)
        fail_msg("%s: %llu parameters, %llu active, %llu bytes of cache a token", name, (unsigned long long)l.params,
                 (unsigned long long)l.active_params, (unsigned long long)l.kv_bytes_per_token);
    ft_graph_free(graph);
}

/* Published counts, where the files are beside the repository. */
static void test_published(void **state) {
    static const char root[] = "../shared/data/llm";
    char path[256], line[512];
    (void)state;
    snprintf(path, sizeof path, "%s/expected_counts.csv", root);
    FILE *file = fopen(path, "r");
    if (file == NULL) skip();
    while (fgets(line, sizeof line, file) != NULL) check_row(root, line);
    fclose(file);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_llama),     cmocka_unit_test(test_head_dim),        cmocka_unit_test(test_qwen),
        cmocka_unit_test(test_experts),   cmocka_unit_test(test_shared_experts),  cmocka_unit_test(test_llama4),
        cmocka_unit_test(test_windows),   cmocka_unit_test(test_unknown_type),    cmocka_unit_test(test_damage),
        cmocka_unit_test(test_published), cmocka_unit_test(test_layer_embedding), cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_latent),
    };
    return cmocka_run_group_tests_name("read/config", tests, NULL, NULL);
}
