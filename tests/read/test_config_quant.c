/* Tests of packed weights of a config.json: bytes of matrices and their scales by hand, modules that are left as they
 * are, the file beside it, and damage. Counts of parameters do not depend on how they are packed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "foretell/foretell.h"
#include "foretell/language.h"
#include "support/folder.h"

#define SIZES                                                                                                          \
    "\"hidden_size\": 64, \"num_hidden_layers\": 2, \"num_attention_heads\": 4, \"num_key_value_heads\": 2, "          \
    "\"head_dim\": 16, \"intermediate_size\": 96, \"vocab_size\": 100, \"torch_dtype\": \"bfloat16\""

enum { H = 64, KV = 32, INNER = 96, WORDS = 100, LAYERS = 2 };
enum {
    INPUTS = 2 * LAYERS * (H * H + 2 * H * KV) / 2, /* weights of q, k and v */
    OUTPUTS = LAYERS * H * H,
    MLPS = LAYERS * 3 * H * INNER,
    REST = 2 * WORDS * H + LAYERS * 2 * H + H, /* tables and norms */
    PARAMS = INPUTS + OUTPUTS + MLPS + REST
};

static uint64_t bytes_of(const ft_graph *graph, uint64_t *params) {
    const ft_shape_binding sizes[] = {{.name = "sequence", .rank = 1, .dims = {4}},
                                      {.name = "past", .rank = 1, .dims = {0}}};
    ft_graph *bound = NULL;
    ft_cost cost;
    ft_error error = {0};
    ft_binding binding = {.batch = 1, .shapes = sizes, .shape_count = 2};
    ft_cost_options options = ft_cost_options_default();
    if (ft_graph_bind(graph, &binding, &bound, &error) != FT_OK) fail_msg("%s", error.message);
    assert_int_equal(ft_cost_compute(bound, &options, &cost, &error), FT_OK);
    uint64_t bytes = cost.weight_bytes;
    *params = cost.total.params;
    ft_cost_free(&cost);
    ft_graph_free(bound);
    return bytes;
}

static void check_graph(const ft_graph *graph, const char *text, uint64_t params, uint64_t bytes) {
    uint64_t found_params, found = bytes_of(graph, &found_params);
    if (found != bytes || found_params != params)
        fail_msg("%s: %llu parameters in %llu bytes, not %llu in %llu", text, (unsigned long long)found_params,
                 (unsigned long long)found, (unsigned long long)params, (unsigned long long)bytes);
}

static void check(const char *model, const char *quant, uint64_t params, uint64_t bytes) {
    char text[2048];
    ft_graph *graph = NULL;
    ft_error error = {0};
    int size = snprintf(text, sizeof text, "{%s, %s, \"quantization_config\": {%s}}", model, SIZES, quant);
    if (ft_graph_read_memory(text, (size_t)size, "config.json", &graph, &error) != FT_OK) fail_msg("%s", error.message);
    assert_null(ft_graph_meta(graph, "note"));
    check_graph(graph, quant, params, bytes);
    ft_graph_free(graph);
}

static void check_llama(const char *quant, uint64_t bytes) {
    check("\"model_type\": \"llama\"", quant, PARAMS, bytes);
}

/* --- Methods ----------------------------------------------------------------------------------------------------- */

/* Scales of blocks of 32 x 32; of a whole matrix; of a row. */
static void floats_of_8_bits_have_scales_of_blocks_matrices_or_rows(void **state) {
    (void)state;
    enum { MATRICES = INPUTS + OUTPUTS + MLPS, PLAIN = MATRICES + 2 * REST };
    enum { BLOCKS = LAYERS * (4 + 2 * 2 + 4 + 3 * 6), ROWS = LAYERS * (64 + 2 * 32 + 64 + 2 * 96 + 64) };
    check_llama("\"quant_method\": \"fp8\", \"weight_block_size\": [32, 32]", PLAIN + 4 * BLOCKS);
    check_llama("\"quant_algo\": \"FP8\", \"kv_cache_quant_algo\": \"FP8\"", PLAIN + 4 * LAYERS * 7);
    check_llama("\"quant_method\": \"fbgemm_fp8\"", PLAIN + 4 * ROWS);
    check_llama("\"quant_method\": \"compressed-tensors\", \"config_groups\": {\"group_0\": {\"weights\": {\"type\": "
                "\"float\", \"num_bits\": 8, \"strategy\": \"channel\"}}}",
                PLAIN + 4 * ROWS);
}

static void numbers_of_4_bits_have_scales_of_groups(void **state) {
    (void)state;
    enum { MATRICES = INPUTS + OUTPUTS + MLPS, PLAIN = MATRICES / 2 + 2 * REST, GROUPS = MATRICES / 32 };
    enum { ZEROS = GROUPS / 2 + LAYERS * H / 2 }; /* rows of the last matrix have three of them in two bytes */
    check_llama("\"quant_algo\": \"NVFP4\", \"group_size\": 32", PLAIN + GROUPS);
    check_llama("\"quant_method\": \"awq\", \"bits\": 4, \"group_size\": 32", PLAIN + 2 * GROUPS + ZEROS);
    check_llama(
        "\"quant_method\": \"compressed-tensors\", \"config_groups\": {\"a\": {\"weights\": {\"type\": \"int\", "
        "\"num_bits\": 4, \"strategy\": \"group\", \"group_size\": 32, \"symmetric\": true}}}",
        PLAIN + 2 * GROUPS);
    check_llama("\"quant_method\": \"bitsandbytes\", \"load_in_4bit\": true, \"group_size\": 32", PLAIN + GROUPS);
}

/* --- What is left as it is --------------------------------------------------------------------------------------- */

static void modules_that_are_named_are_left_as_they_are(void **state) {
    (void)state;
    enum { PLAIN = 2 * (INPUTS + OUTPUTS) + MLPS + 2 * REST, SCALES = 4 * LAYERS * 3 };
    static const char *const lists[] = {
        "\"modules_to_not_convert\": [\"lm_head\", \"model.layers.*.self_attn\"]",
        "\"ignore\": [\"re:.*self_attn.*\", \"re:.*vision_tower.*\"]",
        "\"exclude_modules\": [\"model.layers.0.self_attn*\", \"model.layers.1.self_attn*\"]",
        "\"ignore\": [\"model.layers.0.self_attn.q_proj\", \"model.layers.0.self_attn.k_proj\", "
        "\"model.layers.1.self_attn.q_proj\", \"model.layers.0.self_attn.o_proj\", "
        "\"model.layers.1.self_attn.o_proj\"]",
    };
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
        char quant[512];
        snprintf(quant, sizeof quant, "\"quant_method\": \"fp8\", %s", lists[i]);
        check_llama(quant, PLAIN + SCALES);
    }
    check_llama("\"quant_method\": \"fp8\", \"ignore\": [\"re:.*mlp\\\\.(gate|up|down)_proj.*\"]",
                INPUTS + OUTPUTS + 2 * MLPS + 2 * REST + 4 * LAYERS * 4);
    check_llama("\"quant_method\": \"fp8\", \"ignore\": [\"model.layers.0.mlp.gate\", \"model.layers.1.mlp.gate\"]",
                INPUTS + OUTPUTS + MLPS + 2 * REST + 4 * LAYERS * 7);
}

/* gpt-oss packs its experts alone. */
static void experts_may_be_the_only_ones(void **state) {
    (void)state;
    enum { EXPERTS = LAYERS * 4 * 3 * H * INNER, ROUTERS = LAYERS * H * 4 };
    check("\"model_type\": \"mixtral\", \"num_local_experts\": 4", "\"quant_method\": \"mxfp4\"",
          INPUTS + OUTPUTS + REST + EXPERTS + ROUTERS,
          2 * (INPUTS + OUTPUTS + REST + ROUTERS) + EXPERTS / 2 + EXPERTS / 32);
}

/* --- The file beside ---------------------------------------------------------------------------------------------- */

static void write_text(const char *path, const char *text) {
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fputs(text, file) >= 0, 1);
    assert_int_equal(fclose(file), 0);
}

static void a_file_beside_the_config_says_how(void **state) {
    (void)state;
    static const char quant[] = "{\"quantization\": {\"quant_algo\": \"FP8\", \"kv_cache_quant_algo\": \"FP8\", "
                                "\"exclude_modules\": [\"lm_head\"]}}";
    enum { BYTES = INPUTS + OUTPUTS + MLPS + 2 * REST + 4 * LAYERS * 7 };
    static const char *const names[][2] = {{"config.json", "hf_quant_config.json"},
                                           {"A_config.json", "A_hf_quant_config.json"}};
    for (size_t i = 0; i < 2; i++) {
        ft_graph *graph = NULL;
        ft_error error = {0};
        write_text(names[i][0], "{\"model_type\": \"llama\", " SIZES "}");
        write_text(names[i][1], quant);
        assert_int_equal(ft_graph_read(names[i][0], &graph, &error), FT_OK);
        check_graph(graph, names[i][1], PARAMS, BYTES);
        assert_string_equal(ft_graph_meta(graph, "cache_dtype"), "float8");
        ft_graph_free(graph);
        write_text(names[i][1], "{\"quantization\"");
        assert_int_equal(ft_graph_read(names[i][0], &graph, &error), FT_ERR_DAMAGED);
        assert_non_null(strstr(error.message, "hf_quant_config.json: "));
    }
}

/* --- Damage ------------------------------------------------------------------------------------------------------ */

static ft_status read_quant(const char *quant, ft_graph **graph, ft_error *error) {
    char text[1024];
    int size =
        snprintf(text, sizeof text, "{\"model_type\": \"llama\", %s, \"quantization_config\": {%s}}", SIZES, quant);
    return ft_graph_read_memory(text, (size_t)size, "config.json", graph, error);
}

static void sizes_that_cannot_be_are_errors(void **state) {
    (void)state;
    static const char *const bad[][2] = {
        {"\"quant_method\": \"gptq\", \"bits\": 1000", "\"bits\" is not between 2 and 16"},
        {"\"quant_method\": \"gptq\", \"bits\": \"four\"", "\"bits\": is a string"},
        {"\"quant_method\": \"fp8\", \"weight_block_size\": [0, 128]", "\"weight_block_size\" is not two sizes"},
        {"\"quant_method\": \"fp8\", \"weight_block_size\": 128", "\"weight_block_size\" is not a list"},
        {"\"quant_method\": \"awq\", \"group_size\": 1e14", "\"group_size\" is absurdly large"},
        {"\"quant_method\": \"fp8\", \"ignore\": \"lm_head\"", "\"ignore\" is not a list"},
        {"\"quant_method\": 8", "\"quant_method\""},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        ft_graph *graph = NULL;
        ft_error error = {0};
        assert_int_not_equal(read_quant(bad[i][0], &graph, &error), FT_OK);
        if (strstr(error.message, bad[i][1]) == NULL) fail_msg("'%s' is not in: %s", bad[i][1], error.message);
    }
}

static void a_method_that_is_not_known_has_a_note(void **state) {
    (void)state;
    ft_graph *graph = NULL;
    ft_error error = {0};
    assert_int_equal(read_quant("\"quant_method\": \"newest\"", &graph, &error), FT_OK);
    assert_string_equal(ft_graph_meta(graph, "note"),
                        "weights are packed by \"newest\", which is not known: they count as not packed");
    check_graph(graph, "newest", PARAMS, 2 * PARAMS);
    ft_graph_free(graph);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(floats_of_8_bits_have_scales_of_blocks_matrices_or_rows),
        cmocka_unit_test(numbers_of_4_bits_have_scales_of_groups),
        cmocka_unit_test(modules_that_are_named_are_left_as_they_are),
        cmocka_unit_test(experts_may_be_the_only_ones),
        cmocka_unit_test_setup_teardown(a_file_beside_the_config_says_how, folder_enter, folder_leave),
        cmocka_unit_test(sizes_that_cannot_be_are_errors),
        cmocka_unit_test(a_method_that_is_not_known_has_a_note),
    };
    return cmocka_run_group_tests_name("read/config_quant", tests, NULL, NULL);
}
