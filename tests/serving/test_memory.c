/* Memory of a rank in closed form: pages, windows, slots, pools. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "serving/serving.h"

/* 100 bytes a token in layers without a window, 50 in layers that look back over 128 tokens. */
static const serving_rank rank = {.weight_bytes = 1e6,
                                  .caches = {{.window = 0, .token_bytes = 100}, {.window = 128, .token_bytes = 50}},
                                  .cache_count = 2,
                                  .state_bytes = 7000,
                                  .step_token_bytes = 10,
                                  .logit_bytes = 400,
                                  .layers = 3};

static serving_memory memory;

static double part(const char *name) {
    for (uint32_t i = 0; i < memory.part_count; i++)
        if (strcmp(memory.parts[i].name, name) == 0) return memory.parts[i].bytes;
    return 0;
}

static void serve(const char *runtime, int64_t sequences, int64_t context) {
    const serving_runtime *r = serving_runtime_find(runtime);
    const serving_load load = {.sequences = sequences,
                               .prompt_tokens = context,
                               .context_tokens = context,
                               .batched_tokens = r->batched_tokens,
                               .ranks = 1,
                               .has_graphs = true};
    serving_memory_of(&rank, r, &load, &memory);
    double sum = 0;
    for (uint32_t i = 0; i < memory.part_count; i++) sum += memory.parts[i].bytes;
    assert_true(fabs(sum - memory.bytes) < 1e-3);
    assert_true(memory.lo_bytes <= memory.bytes && memory.bytes <= memory.hi_bytes);
}

static void a_window_needs_no_more_than_its_tokens(void **state) {
    (void)state;
    serve("torch", 2, 1000);
    assert_true(part("kv_cache") == 2 * (100 * 1000 + 50 * 128));
    assert_true(part("kv_unused") == 0);
    assert_true(part("states") == 14000);
    assert_true(part("graphs") == 0);
    serve("torch", 2, 100);
    assert_true(part("kv_cache") == 2 * 150 * 100);
}

static void vllm_reserves_pages_for_all_layers_alike(void **state) {
    (void)state;
    serve("vllm", 2, 1000);
    assert_true(part("kv_cache") == 2 * (100 * 1000 + 50 * 128));
    assert_true(part("kv_cache") + part("kv_unused") == 2 * 150 * 1008.0);
    assert_true(part("graphs") == 3 * serving_runtime_find("vllm")->graph_bytes);
}

static void llama_cpp_honours_windows_with_tokens_of_a_step_more(void **state) {
    (void)state;
    serve("llama.cpp", 1, 4096);
    assert_true(part("kv_cache") + part("kv_unused") == 100 * 4096 + 50 * 768.0);
    serve("llama.cpp", 1, 256);
    assert_true(part("kv_cache") + part("kv_unused") == 150 * 256.0);
}

static void trtllm_leaves_a_tenth_of_its_cache_free(void **state) {
    (void)state;
    serve("trtllm", 1, 3200);
    assert_true(fabs(part("kv_cache") + part("kv_unused") - 150 * 3200 / 0.9) < 1e-3);
}

static void prompts_share_a_step_up_to_the_limit_of_the_runtime(void **state) {
    (void)state;
    serve("sglang", 1, 1000);
    assert_true(part("activations") == 10 * 1000);
    serve("sglang", 4, 4000);
    assert_true(part("activations") == 10 * 8192);
    serve("vllm", 4, 4000); /* logits of 256 positions have room */
    assert_true(part("activations") == 400 * 256);
    serve("torch", 4, 4000);
    assert_true(part("activations") == 10 * 16000);
    serve("vllm", 1000, 1); /* logits of so many sequences take more than their activations */
    assert_true(part("activations") == 400 * 1000);
}

static void memory_never_falls(void **state) {
    (void)state;
    for (uint32_t i = 0; ft_serving_runtime_name(i) != NULL; i++) {
        double before = 0, lo = 0, hi = 0;
        for (int64_t n = 1; n < 400; n++) {
            serve(ft_serving_runtime_name(i), n, 777);
            assert_true(memory.bytes >= before && memory.lo_bytes >= lo && memory.hi_bytes >= hi);
            before = memory.bytes;
            lo = memory.lo_bytes;
            hi = memory.hi_bytes;
        }
        before = 0;
        for (int64_t context = 1; context < 3000; context++) {
            serve(ft_serving_runtime_name(i), 3, context);
            assert_true(memory.bytes >= before);
            before = memory.bytes;
        }
        assert_non_null(ft_serving_runtime_text(i));
    }
    assert_null(ft_serving_runtime_text(1000));
    assert_null(serving_runtime_find("a runtime"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_window_needs_no_more_than_its_tokens),
        cmocka_unit_test(vllm_reserves_pages_for_all_layers_alike),
        cmocka_unit_test(llama_cpp_honours_windows_with_tokens_of_a_step_more),
        cmocka_unit_test(trtllm_leaves_a_tenth_of_its_cache_free),
        cmocka_unit_test(prompts_share_a_step_up_to_the_limit_of_the_runtime),
        cmocka_unit_test(memory_never_falls),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
