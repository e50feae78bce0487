/* Memory of language models that are served, against bytes computed by hand and against loads that were measured. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "foretell/forecast.h"
#include "support/flops_file.h"
#include "support/folder.h"

/* A layer: 36,864 numbers in matrices and two norms of 64. Two layers, two tables of 96 x 64, a norm. A token has
 * 2 layers x (key and value) x 2 heads x 16 numbers in the cache. */
static const char small[] =
    "{\"model_type\": \"llama\", \"hidden_size\": 64, \"num_hidden_layers\": 2, \"num_attention_heads\": 4,"
    "\"num_key_value_heads\": 2, \"intermediate_size\": 128, \"vocab_size\": 96, \"torch_dtype\": \"bfloat16\","
    "\"max_position_embeddings\": 4096}";
/* A common projection of 32 + 16 numbers a token and layer. */
static const char latent[] =
    "{\"model_type\": \"deepseek_v3\", \"hidden_size\": 64, \"num_hidden_layers\": 2, \"num_attention_heads\": 4,"
    "\"num_key_value_heads\": 4, \"intermediate_size\": 128, \"vocab_size\": 96, \"torch_dtype\": \"bfloat16\","
    "\"q_lora_rank\": 48, \"kv_lora_rank\": 32, \"qk_rope_head_dim\": 16, \"qk_nope_head_dim\": 16, \"v_head_dim\": 16,"
    "\"n_routed_experts\": 8, \"num_experts_per_tok\": 2, \"n_shared_experts\": 1, \"moe_intermediate_size\": 32,"
    "\"first_k_dense_replace\": 1, \"n_group\": 1, \"topk_group\": 1, \"max_position_embeddings\": 4096}";

enum { PARAMS = 86336, MATRICES = 2 * 36864, CACHE = 256 };

static const double MIB = 1024.0 * 1024, GIB = 1024.0 * 1024 * 1024;

static ft_graph *model;
static ft_predictor_set *set;
static ft_results results;
static ft_error error;

static int begin(void **state) {
    (void)state;
    flops_file_write("m.ftm", "peak_bytes", 1000, 1);
    const char *files[] = {"m.ftm"};
    assert_int_equal(ft_predictor_set_open(files, 1, &set, &error), FT_OK);
    return 0;
}

static int end(void **state) {
    (void)state;
    ft_results_free(&results);
    ft_graph_free(model);
    model = NULL;
    ft_predictor_set_free(set);
    return 0;
}

static void read_model(const char *config) {
    ft_graph_free(model);
    if (ft_graph_read_memory(config, strlen(config), "config.json", &model, &error) != FT_OK)
        fail_msg("%s", error.message);
}

static void serve(const ft_request *request) {
    ft_results_free(&results);
    if (ft_predict(set, model, NULL, request, 1, &results, &error) != FT_OK) fail_msg("%s", error.message);
    const ft_metric_result *m = ft_result_memory(&results.items[0]);
    double sum = 0;
    for (uint32_t i = 0; i < m->part_count; i++) sum += m->parts[i].value;
    assert_true(fabs(sum - m->value) <= 1e-9 * m->value);
    assert_true(m->lo <= m->value && m->value <= m->hi);
}

static double part(const char *name) {
    const ft_metric_result *m = ft_result_memory(&results.items[0]);
    for (uint32_t i = 0; i < m->part_count; i++)
        if (strcmp(m->parts[i].type, name) == 0) return m->parts[i].value;
    return 0;
}

static double metric(const char *name) {
    const ft_metric_result *m = ft_result_metric(&results.items[0], name);
    return m != NULL ? m->value : NAN;
}

static ft_request usual(void) {
    return (ft_request){.device = "h100-sxm", .batch = 4, .serving = {.context_tokens = 1024, .runtime = "vllm"}};
}

static void weights_and_cache_are_exact(void **state) {
    (void)state;
    ft_request r = usual();
    read_model(small);
    serve(&r);
    assert_true(part("weights") == 2 * PARAMS);
    assert_true(part("kv_cache") == 4.0 * 1024 * CACHE);
    assert_true(metric("kv_bytes_per_token") == CACHE);
    r.serving.weights = "q8_0";
    r.serving.kv_format = "fp8";
    serve(&r);
    assert_true(part("weights") == (PARAMS - 320) * 8.5 / 8 + 320 * 2);
    assert_true(part("kv_cache") == 4.0 * 1024 * CACHE / 2);
    r.serving.weights = "int4";
    serve(&r);
    assert_true(part("weights") == MATRICES * (4 + 20.0 / 128) / 8 + (PARAMS - MATRICES) * 2.0);
    r.serving.weights = NULL;
    r.dtype = FT_FLOAT32;
    serve(&r);
    assert_true(part("weights") == 4 * PARAMS);
}

static void ranks_keep_one_head_at_least(void **state) {
    (void)state;
    ft_request r = usual();
    read_model(small);
    r.parallel.tensor = 2;
    serve(&r);
    assert_true(metric("kv_bytes_per_token") == CACHE / 2);
    assert_true(part("weights") == 2 * ((PARAMS - 320) / 2 + 320));
    assert_true(part("exchange") > 0);
    r.parallel.tensor = 4;
    serve(&r);
    assert_true(metric("kv_bytes_per_token") == CACHE / 2);
    r.parallel = (ft_parallel){.pipeline = 2};
    serve(&r);
    assert_true(part("kv_cache") == 4.0 * 1024 * CACHE / 2);
}

static void a_latent_cache_is_whole_on_every_rank(void **state) {
    (void)state;
    ft_request r = usual();
    read_model(latent);
    for (uint32_t ranks = 1; ranks <= 4; ranks *= 2) {
        r.parallel.tensor = ranks;
        serve(&r);
        assert_true(metric("kv_bytes_per_token") == 2 * (32 + 16) * 2);
    }
    double whole = part("weights");
    r.parallel.expert = 4;
    serve(&r);
    assert_true(part("weights") == whole);
}

static void the_result_says_what_it_was_predicted_with(void **state) {
    (void)state;
    ft_request r = {.device = "h100-sxm"};
    read_model(small);
    serve(&r);
    const ft_request *used = &results.items[0].request;
    assert_int_equal(used->batch, 1);
    assert_int_equal(used->dtype, FT_BFLOAT16);
    assert_int_equal(used->serving.context_tokens, 4096);
    assert_string_equal(used->serving.runtime, "vllm");
    assert_true(used->serving.utilization_ratio == 0.9);
    assert_non_null(strstr(used->setting, "context=4096;kv=bfloat16"));
    r.serving.prompt_tokens = 100;
    r.serving.output_tokens = 28;
    serve(&r);
    assert_int_equal(results.items[0].request.serving.context_tokens, 128);
    r.device = "cortex-a76";
    serve(&r);
    assert_string_equal(results.items[0].request.serving.runtime, "llama.cpp");
    assert_true(part("weights") == 2 * PARAMS);
    r.device = "a40"; /* the words are in host memory */
    r.serving.runtime = "llama.cpp";
    serve(&r);
    assert_true(part("weights") == 2 * (PARAMS - 96 * 64));
}

static void assumed_parts_are_marked(void **state) {
    (void)state;
    ft_request r = usual();
    read_model(small);
    serve(&r);
    const ft_metric_result *m = ft_result_memory(&results.items[0]);
    double assumed = 0;
    for (uint32_t i = 0; i < m->part_count; i++)
        if (m->parts[i].is_assumed) assumed += m->parts[i].value;
    assert_true(assumed == part("graphs") + part("context"));
    assert_true(fabs(m->shares[FT_ASSUMED] - assumed / m->value) < 1e-9);
    r.serving.has_no_graphs = true;
    serve(&r);
    assert_true(part("graphs") == 0);
}

/* An encoder's input of 1500 places, whatever the prompt; the decoder has 64 numbers a token and layer, keys and
 * values.
 */
static void an_encoder_of_fixed_size_has_a_cache_of_that_size(void **state) {
    (void)state;
    static const char whisper[] =
        "{\"model_type\": \"whisper\", \"d_model\": 64, \"encoder_layers\": 2, \"decoder_layers\": 2,"
        "\"encoder_attention_heads\": 4, \"decoder_attention_heads\": 4, \"encoder_ffn_dim\": 128,"
        "\"decoder_ffn_dim\": 128, \"vocab_size\": 96, \"num_mel_bins\": 80, \"max_source_positions\": 1500,"
        "\"max_target_positions\": 448, \"torch_dtype\": \"float16\"}";
    ft_request r = usual();
    r.serving.context_tokens = 100;
    r.serving.runtime = "torch";
    read_model(whisper);
    serve(&r);
    assert_true(part("kv_cache") == 4.0 * (100 + 1500) * 2 * 2 * 64 * 2);
}

/* --- Measured loads ---------------------------------------------------------------------------------------------- */

static const char qwen_235b[] =
    "{\"model_type\": \"qwen3_moe\", \"hidden_size\": 4096, \"num_hidden_layers\": 94, \"num_attention_heads\": 64,"
    "\"num_key_value_heads\": 4, \"head_dim\": 128, \"intermediate_size\": 12288, \"vocab_size\": 151936,"
    "\"num_experts\": 128, \"num_experts_per_tok\": 8, \"moe_intermediate_size\": 1536, \"torch_dtype\": \"bfloat16\","
    "\"max_position_embeddings\": 40960}";
static const char qwen_27b[] =
    "{\"model_type\": \"qwen3_5_text\", \"hidden_size\": 5120, \"num_hidden_layers\": 64, \"num_attention_heads\": 24,"
    "\"num_key_value_heads\": 4, \"head_dim\": 256, \"intermediate_size\": 17408, \"vocab_size\": 248320,"
    "\"full_attention_interval\": 4, \"linear_num_key_heads\": 16, \"linear_num_value_heads\": 48,"
    "\"linear_key_head_dim\": 128, \"linear_value_head_dim\": 128, \"linear_conv_kernel_dim\": 4,"
    "\"dtype\": \"bfloat16\", \"max_position_embeddings\": 262144, \"tie_word_embeddings\": false}";
static const char gpt_oss_20b[] =
    "{\"model_type\": \"gpt_oss\", \"hidden_size\": 2880, \"num_hidden_layers\": 24, \"num_attention_heads\": 64,"
    "\"num_key_value_heads\": 8, \"head_dim\": 64, \"intermediate_size\": 2880, \"vocab_size\": 201088,"
    "\"num_local_experts\": 32, \"num_experts_per_tok\": 4, \"sliding_window\": 128, \"torch_dtype\": \"bfloat16\","
    "\"max_position_embeddings\": 131072, \"attention_bias\": true, \"tie_word_embeddings\": false}";
static const char gemma_1b[] =
    "{\"model_type\": \"gemma3_text\", \"hidden_size\": 1152, \"num_hidden_layers\": 26, \"num_attention_heads\": 4,"
    "\"num_key_value_heads\": 1, \"head_dim\": 256, \"intermediate_size\": 6912, \"vocab_size\": 262144,"
    "\"sliding_window\": 512, \"sliding_window_pattern\": 6, \"torch_dtype\": \"bfloat16\","
    "\"max_position_embeddings\": 32768}";

static void near(double value, double measured, double tolerance_ratio) {
    if (fabs(value / measured - 1) > tolerance_ratio) fail_msg("%.1f, measured %.1f", value, measured);
}

static double reserved(void) {
    return part("kv_cache") + part("kv_unused");
}

static void caches_are_those_that_runtimes_log(void **state) {
    (void)state;
    ft_request r = usual();
    read_model(qwen_235b);
    r.parallel.tensor = 4;
    serve(&r);
    near(metric("kv_bytes_per_token"), 48681, 0.02); /* vLLM: 8.11 GiB are 178,880 tokens */
    r = (ft_request){
        .device = "a40", .batch = 4, .dtype = FT_FLOAT16, .serving = {.context_tokens = 65536, .runtime = "llama.cpp"}};
    read_model(qwen_27b);
    serve(&r);
    near(reserved(), 16384 * MIB, 1e-6);
    near(part("states"), 598.5 * MIB, 1e-3);
    r = (ft_request){.device = "h100-sxm", .batch = 32, .serving = {.context_tokens = 8192, .runtime = "vllm"}};
    read_model(gpt_oss_20b);
    serve(&r);
    near(reserved(), 12.00 * GIB, 1e-6);
    near(part("kv_cache"), 6.09 * GIB, 0.002);
    r = (ft_request){.device = "a40", .batch = 1, .serving = {.context_tokens = 32768, .runtime = "torch"}};
    read_model(gemma_1b);
    serve(&r);
    near(reserved(), 139 * MIB, 1e-6);
    r.serving.runtime = "vllm";
    serve(&r);
    near(reserved(), 832 * MIB, 1e-6);
}

static void a_whole_load_is_that_of_the_driver(void **state) {
    (void)state;
    ft_request r = {
        .device = "a40",
        .batch = 1,
        .serving = {.context_tokens = 65536, .runtime = "llama.cpp", .weights = "q4_k_m", .kv_format = "q8_0"}};
    read_model(qwen_27b);
    serve(&r);
    near(ft_result_memory(&results.items[0])->value, 17.6 * GIB, 0.12);
}

/* --- What fits --------------------------------------------------------------------------------------------------- */

static ft_fit fit_of(ft_request r, int64_t batch, int64_t context, double free_bytes) {
    r.batch = batch;
    r.serving.context_tokens = context;
    serve(&r);
    return ft_result_fit(&results.items[0], free_bytes);
}

static void capacities_agree_with_predictions(void **state) {
    (void)state;
    const ft_request r = usual();
    const double room = 1.6 * GIB;
    ft_capacity c;
    bool is_served = false;
    read_model(small);
    if (ft_serving_capacity(set, model, NULL, &r, room, &c, &is_served, &error) != FT_OK) fail_msg("%s", error.message);
    assert_true(is_served && c.certain_sequences > 1 && c.certain_sequences <= c.possible_sequences);
    assert_int_equal(c.max_context, 4096);
    assert_int_equal(fit_of(r, c.certain_sequences, 1024, room), FT_FITS);
    assert_int_not_equal(fit_of(r, c.certain_sequences + 1, 1024, room), FT_FITS);
    assert_int_equal(fit_of(r, 4, c.certain_context, room), FT_FITS);
    ft_request many = r;
    many.batch = c.certain_sequences;
    if (ft_serving_capacity(set, model, NULL, &many, room, &c, &is_served, &error) != FT_OK)
        fail_msg("%s", error.message);
    assert_true(c.certain_context >= 1024 && c.certain_context < 4096);
    assert_int_equal(fit_of(r, many.batch, c.certain_context, room), FT_FITS);
    assert_int_not_equal(fit_of(r, many.batch, c.certain_context + 1, room), FT_FITS);
    const ft_batch_search search = {.free_bytes = room, .max_batch = 1 << 20};
    ft_max_batch_result found;
    assert_int_equal(ft_max_batch(set, model, NULL, &r, &search, &found, &error), FT_OK);
    assert_int_equal(found.certain, c.certain_sequences);
}

static void memory_never_falls(void **state) {
    (void)state;
    double before = 0;
    read_model(latent);
    for (int64_t batch = 1; batch < 70; batch += 3) {
        ft_request r = usual();
        r.batch = batch;
        r.parallel.pipeline = 2;
        serve(&r);
        assert_true(ft_result_memory(&results.items[0])->value >= before);
        before = ft_result_memory(&results.items[0])->value;
    }
}

/* --- Errors ------------------------------------------------------------------------------------------------------ */

static void fails_with(const ft_request *r, const char *text) {
    ft_results made;
    assert_int_not_equal(ft_predict(set, model, NULL, r, 1, &made, &error), FT_OK);
    if (strstr(error.message, text) == NULL) fail_msg("'%s' is not in: %s", text, error.message);
}

static void what_cannot_be_is_an_error(void **state) {
    (void)state;
    ft_request r = usual();
    read_model(small);
    r.parallel.tensor = 3;
    fails_with(&r, "cannot be divided between 3");
    r = usual();
    r.parallel.expert = 2;
    fails_with(&r, "no experts");
    r = usual();
    r.parallel.context = 2;
    fails_with(&r, "cp:");
    r = usual();
    r.serving.context_tokens = 5000;
    fails_with(&r, "more than the 4096");
    r.serving.context_tokens = -1;
    fails_with(&r, "context: -1");
    r = usual();
    r.serving.prompt_tokens = 1000;
    r.serving.output_tokens = 25;
    fails_with(&r, "no room");
    r = usual();
    r.serving.runtime = "a runtime";
    fails_with(&r, "vllm, trtllm");
    r = usual();
    r.serving.weights = "q99";
    fails_with(&r, "q4_k_m");
    r = usual();
    r.serving.kv_format = "q6_k";
    fails_with(&r, "q8_0");
    r = usual();
    r.serving.utilization_ratio = 1.5;
    fails_with(&r, "1.5");
    r.serving.utilization_ratio = NAN;
    fails_with(&r, "gpu_memory_utilization");
    r = usual();
    r.dtype = FT_INT8;
    fails_with(&r, "--weights");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(weights_and_cache_are_exact, begin, end),
        cmocka_unit_test_setup_teardown(ranks_keep_one_head_at_least, begin, end),
        cmocka_unit_test_setup_teardown(a_latent_cache_is_whole_on_every_rank, begin, end),
        cmocka_unit_test_setup_teardown(the_result_says_what_it_was_predicted_with, begin, end),
        cmocka_unit_test_setup_teardown(assumed_parts_are_marked, begin, end),
        cmocka_unit_test_setup_teardown(an_encoder_of_fixed_size_has_a_cache_of_that_size, begin, end),
        cmocka_unit_test_setup_teardown(caches_are_those_that_runtimes_log, begin, end),
        cmocka_unit_test_setup_teardown(a_whole_load_is_that_of_the_driver, begin, end),
        cmocka_unit_test_setup_teardown(capacities_agree_with_predictions, begin, end),
        cmocka_unit_test_setup_teardown(memory_never_falls, begin, end),
        cmocka_unit_test_setup_teardown(what_cannot_be_is_an_error, begin, end),
    };
    return cmocka_run_group_tests_name("forecast/serving", tests, folder_enter, folder_leave);
}
