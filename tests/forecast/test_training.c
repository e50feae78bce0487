/* Memory of training a language model, against bytes computed by hand. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "forecast/job.h"
#include "foretell/forecast.h"
#include "support/flops_file.h"
#include "support/folder.h"

/* A layer: queries and outputs 64 x 64, keys and values 64 x 32, three matrices 64 x 128, two norms: 36,992 parameters.
 * Two layers, two tables of 96 x 64, a norm: 86,336 parameters, of which 320 are norms. */
static const char config[] =
    "{\"model_type\": \"llama\", \"hidden_size\": 64, \"num_hidden_layers\": 2, \"num_attention_heads\": 4,"
    "\"num_key_value_heads\": 2, \"intermediate_size\": 128, \"vocab_size\": 96, \"torch_dtype\": \"bfloat16\"}";

enum { PARAMS = 86336, NORMS = 320 };

static const ft_shape_binding symbols[] = {{.name = "sequence", .rank = 1, .dims = {16}},
                                           {.name = "past", .rank = 1, .dims = {0}},
                                           {.name = "logits", .rank = 1, .dims = {16}}};
static const ft_binding shapes = {.shapes = symbols, .shape_count = 3};

static ft_graph *model;
static ft_predictor_set *set;
static ft_results results;
static ft_error error;

static int begin(void **state) {
    (void)state;
    flops_file_write("m.ftm", "peak_bytes", 1000, 1);
    const char *files[] = {"m.ftm"};
    assert_int_equal(ft_predictor_set_open(files, 1, &set, &error), FT_OK);
    if (ft_graph_read_memory(config, sizeof config - 1, "config.json", &model, &error) != FT_OK)
        fail_msg("%s", error.message);
    return 0;
}

static int end(void **state) {
    (void)state;
    ft_graph_free(model);
    ft_predictor_set_free(set);
    return 0;
}

static ft_request usual(void) {
    return (ft_request){
        .device = "a100-40gb", .batch = 2, .mode = FT_TRAIN, .dtype = FT_BFLOAT16, .optimizer = FT_ADAMW};
}

static ft_status predict(const ft_request *request) {
    return ft_predict(set, model, &shapes, request, 1, &results, &error);
}

static double part(const char *name) {
    const ft_metric_result *m = ft_result_memory(&results.items[0]);
    for (uint32_t i = 0; i < m->part_count; i++)
        if (strcmp(m->parts[i].type, name) == 0) return m->parts[i].value;
    return 0;
}

static void check_sum(void) {
    const ft_metric_result *m = ft_result_memory(&results.items[0]);
    double sum = 0;
    for (uint32_t i = 0; i < m->part_count; i++) sum += m->parts[i].value;
    assert_true(fabs(sum - m->value) < 1);
    assert_int_equal(m->provenance, FT_EXTRAPOLATED);
}

static bool has_note(const char *text) {
    for (uint32_t i = 0; i < results.items[0].note_count; i++)
        if (strstr(results.items[0].notes[i], text) != NULL) return true;
    return false;
}

static void run(const ft_request *request, double weights, double moments, double masters) {
    if (predict(request) != FT_OK) fail_msg("%s", error.message);
    check_sum();
    assert_true(part("weights") == weights);
    assert_true(part("optimizer") == moments);
    assert_true(part("master_weights") == masters);
}

static void mixed_precision_has_sixteen_bytes_a_parameter(void **state) {
    (void)state;
    ft_request r = usual();
    run(&r, 2 * PARAMS, 8 * PARAMS, 4 * PARAMS);
    ft_results_free(&results);
    r.training.precision = FT_PRECISION_PURE;
    run(&r, 2 * PARAMS, 4 * PARAMS, 0);
    ft_results_free(&results);
    r.optimizer = FT_ADAMW_8BIT_PAGED;
    run(&r, 2 * PARAMS, 0, 0);
    ft_results_free(&results);
}

static void ranks_share_weights_and_state(void **state) {
    (void)state;
    ft_request r = usual();
    r.parallel = (ft_parallel){.data = 4, .sharding = FT_SHARD_OPTIMIZER};
    run(&r, 2 * PARAMS, 8 * PARAMS / 4, 4 * PARAMS / 4);
    assert_true(isnan(ft_result_time(&results.items[0])->value));
    ft_results_free(&results);
    r.parallel.sharding = FT_SHARD_WEIGHTS;
    run(&r, 2 * PARAMS / 4, 8 * PARAMS / 4, 4 * PARAMS / 4);
    assert_true(part("gathered") > 0);
    ft_results_free(&results);
    /* Matrices and tables are divided by two; norms are whole. */
    r.parallel = (ft_parallel){.tensor = 2, .has_sequence = true};
    const double params = (PARAMS - NORMS) / 2.0 + NORMS;
    run(&r, 2 * params, 8 * params, 4 * params);
    ft_results_free(&results);
}

static uint64_t macs_in(ft_mode mode) {
    const ft_binding open = {.shapes = symbols, .shape_count = 2};
    forecast_context c;
    model_view *view;
    const ft_cost *cost;
    ft_request r = usual();
    r.mode = mode;
    r.setting = "";
    context_init(&c, set, model, &open);
    assert_int_equal(context_find_view(&c, &r, &view, NULL), FT_OK);
    assert_int_equal(model_view_cost(view, &cost, NULL), FT_OK);
    uint64_t macs = cost->total.forward.macs;
    context_free(&c);
    return macs;
}

/* Of 2 sequences of 16 tokens; a model that generates needs those of the last token alone. */
static void training_has_the_logits_of_all_positions(void **state) {
    (void)state;
    assert_int_equal(macs_in(FT_TRAIN) - macs_in(FT_INFER), 2 * 15 * 64 * 96);
}

/* They have no logits that a request could choose. */
static void encoders_are_trained(void **state) {
    (void)state;
    static const char bert[] =
        "{\"model_type\": \"bert\", \"hidden_size\": 64, \"num_hidden_layers\": 2, \"num_attention_heads\": 4,"
        "\"intermediate_size\": 128, \"vocab_size\": 96, \"max_position_embeddings\": 32}";
    const ft_binding open = {.shapes = symbols, .shape_count = 1};
    ft_graph *encoder;
    ft_request r = usual();
    assert_int_equal(ft_graph_read_memory(bert, sizeof bert - 1, "config.json", &encoder, &error), FT_OK);
    if (ft_predict(set, encoder, &open, &r, 1, &results, &error) != FT_OK) fail_msg("%s", error.message);
    assert_true(part("weights") > 0);
    ft_results_free(&results);
    ft_graph_free(encoder);
}

/* The first stage has the words, the second the norm and the head: 64 parameters more. */
static void the_worst_stage_is_the_result(void **state) {
    (void)state;
    ft_request r = usual();
    r.batch = 4;
    r.training.accumulation = 2;
    r.parallel.pipeline = 2;
    const double params = PARAMS / 2.0 + 32;
    if (predict(&r) != FT_OK) fail_msg("%s", error.message);
    check_sum();
    assert_true(part("weights") == 2 * params || part("weights") == 2 * (params - 64));
    assert_true(has_note("of 2; stages need"));
    assert_true(has_note("2 micro-batches of 2"));
    ft_results_free(&results);
}

/* Beside both value matrices 64 x 32: 4 x 64 and 4 x 32 parameters, without master weights. */
static void adapters_alone_have_state(void **state) {
    (void)state;
    enum { ADAPTERS = 2 * 4 * (64 + 32) };
    ft_request r = usual();
    r.training.lora_rank = 4;
    r.training.lora_targets = "v_proj";
    run(&r, 2 * (PARAMS + ADAPTERS), 4 * ADAPTERS, 0);
    ft_results_free(&results);
    /* The 73,728 elements of the layers' matrices: half a byte, a byte for 64 and 4 bytes for 64 x 256. */
    r.training.has_packed_base = true;
    const double matrices[] = {4096, 2048, 2048, 4096, 8192, 8192, 8192};
    double packed = 0;
    for (int i = 0; i < 7; i++) packed += 2 * (matrices[i] / 2 + matrices[i] / 64 + 4 * ceil(matrices[i] / 64 / 256));
    run(&r, packed + 2 * (PARAMS - 73728 + ADAPTERS), 4 * ADAPTERS, 0);
    ft_results_free(&results);
}

static void fails_with(const ft_request *request, const char *text) {
    assert_int_equal(predict(request), FT_ERR_USAGE);
    if (strstr(error.message, text) == NULL) fail_msg("'%s' is not in: %s", text, error.message);
}

static void sizes_that_do_not_divide_are_errors(void **state) {
    (void)state;
    ft_request r = usual();
    r.parallel.tensor = 3;
    fails_with(&r, "num_heads 4");
    r = usual();
    r.parallel.pipeline = 3;
    fails_with(&r, "3 pipeline stages");
    r = usual();
    r.parallel.context = 3;
    fails_with(&r, "cp: a sequence of 16");
    r = usual();
    r.training.lora_rank = 4;
    r.training.lora_targets = "query";
    fails_with(&r, "'query'");
    r = usual();
    r.training.has_packed_base = true;
    fails_with(&r, "rank of its adapters");
    r = usual();
    r.training.recompute = (ft_recompute)7;
    fails_with(&r, "recompute");
}

static void max_batch_agrees_with_fits(void **state) {
    (void)state;
    ft_request r = usual();
    r.parallel = (ft_parallel){.data = 2, .sharding = FT_SHARD_WEIGHTS};
    r.training.recompute = FT_RECOMPUTE_FULL;
    const ft_batch_search search = {.free_bytes = 1.3 * (1 << 30), .max_batch = 65536};
    ft_max_batch_result found;
    if (ft_max_batch(set, model, &shapes, &r, &search, &found, &error) != FT_OK) fail_msg("%s", error.message);
    assert_true(found.certain > 1 && found.certain < 65536);
    for (int64_t batch = found.certain; batch <= found.certain + 1; batch++) {
        r.batch = batch;
        assert_int_equal(predict(&r), FT_OK);
        assert_true((ft_result_fit(&results.items[0], search.free_bytes) == FT_FITS) == (batch == found.certain));
        ft_results_free(&results);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(mixed_precision_has_sixteen_bytes_a_parameter, begin, end),
        cmocka_unit_test_setup_teardown(ranks_share_weights_and_state, begin, end),
        cmocka_unit_test_setup_teardown(training_has_the_logits_of_all_positions, begin, end),
        cmocka_unit_test_setup_teardown(encoders_are_trained, begin, end),
        cmocka_unit_test_setup_teardown(the_worst_stage_is_the_result, begin, end),
        cmocka_unit_test_setup_teardown(adapters_alone_have_state, begin, end),
        cmocka_unit_test_setup_teardown(sizes_that_do_not_divide_are_errors, begin, end),
        cmocka_unit_test_setup_teardown(max_batch_agrees_with_fits, begin, end),
    };
    return cmocka_run_group_tests_name("forecast/training", tests, folder_enter, folder_leave);
}
