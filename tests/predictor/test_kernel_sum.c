/* "kernel-sum" learns times of kernels from sums alone; rows, tables, scaling and correction have the expected values.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "predictor/kernel/kernel_correct.h"
#include "predictor/kernel/kernel_model.h"
#include "support/fitted.h"
#include "support/folder.h"
#include "support/toy.h"

#define QUICK "{\"hidden\": 8, \"members\": 2, \"steps\": 300, \"batch\": 32, \"rounds\": 5}"

/* A made-up time: a cost per multiply-accumulate and per byte. */
static double made_time(const ft_graph *bound, const char *device) {
    ft_work work = synth_cost(bound).forward;
    double bytes = (double)work.read_bytes + (double)work.write_bytes;
    double time = 1e-3 * (double)work.macs + 2e-3 * bytes;
    return device[0] == 'a' ? time : 7 * time;
}

static void kernels_are_learned_from_sums(void **state) {
    (void)state;
    fitted f = fit_synth("kernel-sum", made_time, QUICK);
    fitted_check(&f, 0.1);
    fitted_check_threads(&f, QUICK);
    fitted_check_refusals(&f);
    fitted_free(&f);
}

static void training_resumes_where_it_stopped(void **state) {
    (void)state;
    const char *config = "{\"hidden\": 4, \"members\": 2, \"steps\": 40, \"batch\": 16, \"rounds\": 3}";
    fitted f = fit_synth("kernel-sum", made_time, config);
    fitted_check_resume(&f, config, 12);
    fitted_free(&f);
}

static void changed_models_are_errors(void **state) {
    (void)state;
    fitted f = fit_synth("kernel-sum", made_time, "{\"hidden\": 4, \"members\": 1, \"steps\": 2, \"rounds\": 0}");
    fitted_refuses(&f, NULL, -1, "too short");
    fitted_refuses(&f, NULL, 1, "too long");
    fitted_refuses(&f, "{\"config\": {\"hidden\": 0}}", 0, "hidden");
    fitted_refuses(&f, "{}", 0, "config");
    fitted_free(&f);
}

/* --- Rows ---------------------------------------------------------------------------------------------------- */

/* The row of the only kernel of a bound graph, which is freed. */
static kernel_row only_row(ft_graph *bound, const char *runtime) {
    ft_rules *rules = NULL;
    model_view s;
    arena memory;
    kernel_row *rows = NULL, row;
    uint32_t count = 0;
    assert_int_equal(ft_rules_open(runtime, &rules, NULL), FT_OK);
    model_view_init(&s, bound, &(ft_request){0});
    arena_init(&memory, 1 << 20);
    assert_int_equal(kernel_rows_extract(&s, rules, &memory, &rows, &count, NULL), FT_OK);
    assert_int_equal(count, 1);
    row = rows[0];
    model_view_free(&s);
    arena_free(&memory);
    ft_rules_free(rules);
    ft_graph_free(bound);
    return row;
}

static void rows_count_work(void **state) {
    (void)state;
    ft_graph *graph = toy_graph(FT_FORMAT_ONNX, FT_NCHW);
    uint32_t x = toy_input(graph, 1, 4, 8, 8), w = toy_weight(graph, 6, 4, 3, 3);
    uint32_t y = toy_op(graph, "Conv", x, w, FT_NONE, toy_value(graph, 1, 6, 6, 6));
    toy_finish(graph, y, 1, 1);
    kernel_row row = only_row(graph, "tflite-cpu");
    assert_true(row.terms[TERM_LAUNCH] == 1);
    assert_true(row.terms[TERM_PRODUCT] == 6 * 6 * 6 * 4 * 9);
    assert_true(row.terms[TERM_DEPTHWISE] == 0 && row.terms[TERM_DENSE] == 0 && row.terms[TERM_WINDOW] == 0);
    assert_true(row.terms[TERM_WEIGHTS] == 6 * 4 * 9 * 4);
    assert_true(row.terms[TERM_MOVED] == 4 * (4 * 8 * 8 + 6 * 6 * 6));
    assert_true(row.terms[TERM_UNFOLDED] == 6 * 6 * 9 * 4);
    assert_true(row.features[FLAG_KIND] == 1 && row.features[FLAG_GROUP] == 1);
    assert_true(row.features[FEATURE_IN_CHANNELS] == 2 && row.features[FEATURE_IN_HEIGHT] == 3);
}

/* A convolution of 1 x 4 x 32 x 32 to `channels` channels, window 3. */
static kernel_row conv_row(int64_t channels, const char *runtime) {
    ft_graph *graph = toy_graph(FT_FORMAT_ONNX, FT_NCHW);
    uint32_t x = toy_input(graph, 1, 4, 32, 32), w = toy_weight(graph, channels, 4, 3, 3);
    uint32_t y = toy_op(graph, "Conv", x, w, FT_NONE, toy_value(graph, 1, channels, 30, 30));
    toy_finish(graph, y, 1, 1);
    return only_row(graph, runtime);
}

static void arrays_count_idle_multipliers(void **state) {
    (void)state;
    float pixels = 30 * 30;
    kernel_row array = conv_row(6, "openvino-vpu"), cores = conv_row(6, "tflite-cpu");
    assert_true(cores.terms[TERM_PRODUCT] == pixels * 6 * 4 * 9 && cores.terms[TERM_REREAD] == 0);
    assert_true(array.terms[TERM_PRODUCT] == pixels * 256 * (9 + 11)); /* four inputs at a time */
    assert_true(array.terms[TERM_UNFOLDED] == 0 && cores.terms[TERM_UNFOLDED] > 0);
    assert_true(array.terms[TERM_MOVED] == cores.terms[TERM_MOVED] && array.terms[TERM_REREAD] == 0);
    kernel_row large = conv_row(600, "openvino-vpu");
    float again = 600 * pixels / (1 << 18) - 1;
    assert_true(fabsf(large.terms[TERM_REREAD] / (large.terms[TERM_WEIGHTS] * again) - 1) < 1e-5F);
    assert_true(conv_row(600, "tflite-cpu").terms[TERM_REREAD] == 0);
}

static void pools_are_chains(void **state) {
    (void)state;
    ft_graph *graph = toy_graph(FT_FORMAT_ONNX, FT_NCHW);
    uint32_t x = toy_input(graph, 1, 4, 8, 8);
    toy_finish(graph, toy_op(graph, "GlobalAveragePool", x, FT_NONE, FT_NONE, toy_value(graph, 1, 4, 1, 1)), 1, 1);
    kernel_row row = only_row(graph, "tflite-gpu");
    assert_true(row.terms[TERM_WINDOW] == 4 * 64 && row.terms[TERM_CHAIN] == 64);
    assert_true(row.terms[TERM_PRODUCT] == 0);
}

/* --- Tables, scaling, mixes ---------------------------------------------------------------------------------- */

static void tables_hold_kernels_once(void **state) {
    (void)state;
    row_table table = {.size = sizeof(kernel_row)};
    kernel_models models = {.devices = 2};
    for (uint32_t i = 0; i < 3000; i++) {
        kernel_row row = {.terms = {(float)(i % 1000)}};
        uint32_t number;
        if (i % 10 == 0) assert_int_equal(kernel_models_open(&models, (double[]){i, NAN}, NULL), FT_OK);
        assert_int_equal(row_table_add(&table, &row, &number, NULL), FT_OK);
        assert_int_equal(number, i % 1000);
        assert_int_equal(kernel_models_launch(&models, number, NULL), FT_OK);
    }
    assert_int_equal(table.count, 1000);
    assert_int_equal(models.count, 300);
    assert_int_equal(models.start[300], 3000);
    assert_int_equal(models.index[models.start[299] + 9], 999);
    assert_true(models.labels[2 * 299] == 2990 && isnan(models.labels[2 * 299 + 1]));
    row_table_free(&table);
    kernel_models_free(&models);
}

static void scaling_covers_the_range_of_training(void **state) {
    (void)state;
    kernel_row rows[2] = {{.features = {[FEATURE_MOVED] = 4}}, {.features = {[FEATURE_MOVED] = 8, [FLAG_KIND] = 1}}};
    kernel_scaling scaling;
    float inputs[KERNEL_FEATURES];
    kernel_scaling_fit(rows, 2, &scaling);
    kernel_scaling_apply(&scaling, &rows[1], inputs);
    assert_true(fabsf(inputs[FEATURE_MOVED] - 1) < 1e-6F && inputs[FLAG_KIND] == 1);
    assert_true(inputs[FLAG_KIND + 1] == 0);
    kernel_row other = rows[0];
    assert_true(kernel_scaling_covers(&scaling, &other));
    other.features[FEATURE_MOVED] = 9;
    assert_false(kernel_scaling_covers(&scaling, &other));
    kernel_scaling_apply(&scaling, &other, inputs);
    assert_true(inputs[FEATURE_MOVED] <= 4);
    other = rows[0];
    other.features[FLAG_KIND + 1] = 1; /* a kind absent from training is ignored, and not covered */
    assert_false(kernel_scaling_covers(&scaling, &other));
    kernel_scaling_apply(&scaling, &other, inputs);
    assert_true(inputs[FLAG_KIND + 1] == 0);
}

static void mixes_are_shares_of_time(void **state) {
    (void)state;
    kernel_mix mix = {0};
    kernel_row conv = {.terms = {[TERM_PRODUCT] = 7}, .features = {[FLAG_KIND] = 1, [FEATURE_WINDOW] = 1.6F}};
    kernel_row other = {.terms = {1}, .features = {[FLAG_KIND + 3] = 1}};
    float features[MIX_FEATURES], *shares = features + KERNEL_KINDS, *sizes = shares + 2 * (MIX_WINDOWS + MIX_HEIGHTS);
    conv.features[FEATURE_OUT_HEIGHT] = 30; /* larger than any class */
    conv.features[FEATURE_IN_HEIGHT] = 4;
    kernel_mix_add(&mix, &conv, 15);
    kernel_mix_add(&mix, &other, 5);
    kernel_mix_finish(&mix, features);
    assert_true(features[0] == 0.75F && features[3] == 0.25F && features[1] == 0);
    assert_true(shares[0] == 0 && shares[1] == 0.75F && shares[MIX_WINDOWS + MIX_HEIGHTS - 1] == 0.75F);
    assert_true(sizes[FEATURE_IN_HEIGHT] == 3 && fabs(sizes[KERNEL_SIZES] - sqrt(3)) < 1e-6); /* 4, 4, 4 and 0 */
    assert_true(sizes[KERNEL_SIZES + MIX_SPREADS] == (float)log2(20));
    assert_true(features[MIX_FEATURES - 4] == 0.75F && features[MIX_FEATURES - 3] == 3);
}

static void mixes_add_up_amounts(void **state) {
    (void)state;
    kernel_mix mix = {0};
    kernel_row first = {.terms = {[TERM_PRODUCT] = 7, [TERM_MOVED] = 3, [TERM_WEIGHTS] = 2, [TERM_DENSE] = 4}};
    kernel_row depthwise = {.terms = {[TERM_DEPTHWISE] = 5, [TERM_MOVED] = 1}};
    depthwise.features[FEATURE_OUT_HEIGHT] = -1; /* as small as the smallest class */
    kernel_mix_add(&mix, &first, 15);
    kernel_mix_add(&mix, &depthwise, 5);
    assert_true(mix.total == 20 && mix.launches == 2 && mix.longest == 15);
    assert_true(mix.product == 12 && mix.moved == 4 && mix.weights == 6);
    assert_true(mix.by_height[0][0] == 15 && mix.by_height[1][0] == 5);
}

static void corrections_are_bounded(void **state) {
    (void)state;
    forest *f = NULL;
    kernel_mix mix = {0};
    kernel_row row = {.terms = {1}, .features = {[FLAG_KIND] = 1}};
    kernel_mix_add(&mix, &row, 5);
    assert_true(kernel_correct(NULL, &mix) == 1);
    assert_int_equal(forest_new(MIX_FEATURES, 3, &f, NULL), FT_OK); /* predicts a factor of 20 */
    assert_true(fabs(kernel_correct(f, &mix) - exp(0.1)) < 1e-9);
    forest_free(f);
}

/* Models of one kernel with a predicted time of 1, each tenth measured 12 % slower. The mean of the log-ratios is
 * 0.011, but the loss weights large residuals more. */
static void corrections_weight_large_residuals(void **state) {
    (void)state;
    kernel_side side = {.device_count = 1, .kernels.size = sizeof(kernel_row), .train.devices = 1, .valid.devices = 1};
    kernel_row row = {.terms = {1}, .features = {[FLAG_KIND] = 1}};
    kernel_config config = {.rounds = 200};
    fit_context context = {.seed = 1};
    double times[] = {1};
    forest *f = NULL;
    uint32_t number;
    assert_int_equal(row_table_add(&side.kernels, &row, &number, NULL), FT_OK);
    for (uint32_t i = 0; i < 400; i++) {
        double label = i % 10 == 0 ? 1.12 : 1;
        assert_int_equal(kernel_models_open(&side.train, &label, NULL), FT_OK);
        assert_int_equal(kernel_models_launch(&side.train, number, NULL), FT_OK);
    }
    assert_int_equal(kernel_correct_fit(&side, times, &config, &context, &f, NULL), FT_OK);
    kernel_mix mix = {0};
    kernel_mix_add(&mix, &row, 1);
    double factor = log(kernel_correct(f, &mix));
    assert_true(factor > 0.023 && factor < 0.033);
    forest_free(f);
    row_table_free(&side.kernels);
    kernel_models_free(&side.train);
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, folder_enter, folder_leave)

int main(void) {
    const struct CMUnitTest tests[] = {IN_FOLDER(kernels_are_learned_from_sums),
                                       IN_FOLDER(training_resumes_where_it_stopped),
                                       IN_FOLDER(changed_models_are_errors),
                                       cmocka_unit_test(rows_count_work),
                                       cmocka_unit_test(arrays_count_idle_multipliers),
                                       cmocka_unit_test(pools_are_chains),
                                       cmocka_unit_test(tables_hold_kernels_once),
                                       cmocka_unit_test(scaling_covers_the_range_of_training),
                                       cmocka_unit_test(mixes_are_shares_of_time),
                                       cmocka_unit_test(mixes_add_up_amounts),
                                       cmocka_unit_test(corrections_are_bounded),
                                       cmocka_unit_test(corrections_weight_large_residuals)};
    return cmocka_run_group_tests_name("predictor/kernel_sum", tests, NULL, NULL);
}
