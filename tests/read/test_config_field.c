/* Tests of what files of different makers look like: where the language model is in them, how its type is named, and
 * values that no model has. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "foretell/foretell.h"
#include "foretell/language.h"

/* With ' for ". */
#define HEADS  "'num_attention_heads': 4, 'num_key_value_heads': 2, "
#define SIZES  "'hidden_size': 64, 'num_hidden_layers': 2, " HEADS "'intermediate_size': 96, 'vocab_size': 100"
#define LLAMA  "{'model_type': 'llama', " SIZES ", 'dtype': 'float16'}"
#define PARAMS 74560

static ft_status read_text(const char *text, ft_graph **graph, ft_error *error) {
    char quoted[2048];
    size_t size = strlen(text);
    assert_true(size < sizeof quoted);
    memcpy(quoted, text, size + 1);
    for (char *c = quoted; *c != '\0'; c++)
        if (*c == '\'') *c = '"';
    return ft_graph_read_memory(quoted, size, "config.json", graph, error);
}

static void check_params(const char *text, uint64_t params, const char *note) {
    ft_graph *graph = NULL;
    ft_error error = {0};
    ft_language l;
    if (read_text(text, &graph, &error) != FT_OK) fail_msg("%s", error.message);
    assert_int_equal(ft_language_of(graph, NULL, &l, &error), FT_OK);
    if (l.params != params) fail_msg("%s: %llu parameters", text, (unsigned long long)l.params);
    const char *found = ft_graph_meta(graph, "note");
    if ((found == NULL) != (note == NULL) || (note != NULL && strstr(found, note) == NULL))
        fail_msg("%s: the note is %s", text, found != NULL ? found : "not there");
    ft_graph_free(graph);
}

static void check_failure(const char *text, const char *message) {
    ft_graph *graph = NULL;
    ft_error error = {0};
    assert_int_not_equal(read_text(text, &graph, &error), FT_OK);
    assert_null(graph);
    if (strstr(error.message, message) == NULL) fail_msg("'%s' is not in: %s", message, error.message);
    if (strstr(error.message, "config.json: ") == NULL) fail_msg("no file: %s", error.message);
}

/* --- Where it is ------------------------------------------------------------------------------------------------- */

static void a_language_model_in_a_larger_one_is_found(void **state) {
    (void)state;
    check_params(LLAMA, PARAMS, NULL);
    check_params("{'model_type': 'llava', 'text_config': " LLAMA ", 'vision_config': {'hidden_size': 8}}", PARAMS,
                 NULL);
    check_params("{'model_type': 'omni', 'thinker_config': {'text_config': " LLAMA "}}", PARAMS, NULL);
    check_params("{'model_type': 'x', 'language_model': " LLAMA "}", PARAMS, NULL);
    check_params("{'model_type': 'x', 'llm_config': " LLAMA ", 'tie_word_embeddings': true}", PARAMS - 6400, NULL);
}

static void a_type_may_be_named_by_the_class_alone(void **state) {
    (void)state;
    check_params("{'architectures': ['LlamaForCausalLM'], " SIZES ", 'dtype': 'float16'}", PARAMS, NULL);
    check_params("{'architectures': ['Qwen2ForCausalLM'], " SIZES ", 'dtype': 'float16'}", PARAMS + 256, NULL);
    check_params("{'architectures': ['Newest'], " SIZES ", 'dtype': 'float16'}", PARAMS, "is not known");
}

static void fields_that_change_no_count_are_ignored(void **state) {
    (void)state;
    check_params("{'model_type': 'llama', " SIZES
                 ", 'torch_dtype': 'float16', 'rope_scaling': {'type': 'yarn', 'factor': "
                 "4.0}, 'rope_parameters': {'rope_theta': 1e6}, 'head_dim': null, 'pretraining_tp': 1}",
                 PARAMS, NULL);
}

static void whole_numbers_may_be_written_with_a_point(void **state) {
    (void)state;
    check_params("{'model_type': 'llama', " SIZES ", 'head_dim': 16.0, 'torch_dtype': 'torch.float16'}", PARAMS, NULL);
}

/* --- Values that no model has ------------------------------------------------------------------------------------ */

#define LAYERS(count) "{'model_type': 'llama', 'hidden_size': 64, 'num_hidden_layers': " count ", 'vocab_size': 9}"

static void wrong_values_name_field_and_file(void **state) {
    (void)state;
    static const char *const bad[][2] = {
        {LAYERS("1e308"), "'num_hidden_layers'"},
        {LAYERS("2.5"), "'num_hidden_layers'"},
        {LAYERS("-2"), "'num_hidden_layers': is -2"},
        {LAYERS("'two'"), "'num_hidden_layers': is a string"},
        {LAYERS("true"), "'num_hidden_layers': is a boolean"},
        {LAYERS("[2]"), "'num_hidden_layers': is a list"},
        {LAYERS("2000"), "'num_hidden_layers' is larger than the 1024"},
        {LAYERS("NaN"), "line 1"},
        {LAYERS("1e999"), "too large"},
        {"{'model_type': 'x', 'text_config': 'self'}", "'text_config' is not an object"},
        {"{'model_type': 'rwkv', 'hidden_size': 8}", "model type 'rwkv' is not known; read as"},
        {"{'model_type': 'llama', " SIZES ", 'num_hidden_layers': 1}", "duplicate key"},
        {"{'model_type': 'gemma3_text', " SIZES ", 'layer_types': ['full_attention']}",
         "'layer_types' is a list with fewer"},
        {"{'model_type': 'gemma3_text', " SIZES ", 'layer_types': 'full'}", "'layer_types' is not a list"},
        {"{'model_type': 'nemotron_h', " SIZES ", 'hybrid_override_pattern': 'MQ'}",
         "'hybrid_override_pattern' has a letter"},
        {"{'model_type': 'nemotron_h', " SIZES ", 'hybrid_override_pattern': 'M'}",
         "'hybrid_override_pattern' is missing or"},
        {"{'model_type': 'llama', " SIZES ", 'sliding_window': -1, 'head_dim': 0}", "'sliding_window'"},
        {"{'model_type': 'bert', 'num_attention_heads': 5}", "'hidden_size' does not divide"},
        {"{'model_type': 'vit', 'patch_size': 0}", "'patch_size' is 0"},
        {"{'model_type': 'whisper', 'encoder_attention_heads': 7}", "'encoder_attention_heads' does not divide"},
        {"{'model_type': 't5', 'num_layers': -1}", "'num_layers': is -1"},
        {"{'model_type': 'switch_transformers', 'num_sparse_encoder_layers': 99}",
         "'num_sparse_encoder_layers' is more"},
        {"{'model_type': 'llama', " SIZES ", 'torch_dtype': 'int7'}", "'torch_dtype' is not"},
        {"{'model_type': 'deepseek_v3', " SIZES ", 'qk_rope_head_dim': 'x'}", "'qk_rope_head_dim': is a string"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        char message[128];
        snprintf(message, sizeof message, "%s", bad[i][1]);
        for (char *c = message; *c != '\0'; c++)
            if (*c == '\'') *c = '"';
        check_failure(bad[i][0], message);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_language_model_in_a_larger_one_is_found),
        cmocka_unit_test(a_type_may_be_named_by_the_class_alone),
        cmocka_unit_test(fields_that_change_no_count_are_ignored),
        cmocka_unit_test(whole_numbers_may_be_written_with_a_point),
        cmocka_unit_test(wrong_values_name_field_and_file),
    };
    return cmocka_run_group_tests_name("read/config_field", tests, NULL, NULL);
}
