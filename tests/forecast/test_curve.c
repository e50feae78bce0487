/* test_curve.c - results as functions of the batch, with a predictor that returns any table of numbers. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/outfile.h"
#include "foretell/forecast.h"
#include "support/factor_model.h"
#include "support/folder.h"
#include "support/toy.h"

/* What the family predicts: `value` at batch 2^i and beyond, until the next. 0: it cannot predict. */
enum { STEPS = 6 };

static double values[STEPS], spreads[STEPS];
static uint32_t assumed_below; /* batches */

static uint32_t step_of(int64_t batch) {
    uint32_t step = 0;
    while (step + 1 < STEPS && INT64_C(1) << (step + 1) <= batch) step++;
    return step;
}

static ft_status predict_step(const void *model, const predict_input *in, model_output *out, ft_error *error) {
    (void)model;
    int64_t batch = ft_graph_batch(in->view->bound);
    uint32_t step = step_of(batch);
    if (values[step] == 0) return ft_fail(error, FT_ERR_LIMIT, "batch %lld is too large", (long long)batch);
    *out = (model_output){.value = values[step],
                          .spread = spreads[step],
                          .coverage_ratio = 1,
                          .provenance = batch < assumed_below ? FT_ASSUMED : FT_LEARNED};
    if (!in->has_parts) return FT_OK;
    out->parts = ARENA_ARRAY(in->memory, ft_part, 2);
    assert_non_null(out->parts);
    out->parts[0] = (ft_part){.type = "weights", .value = values[step] / 4};
    out->parts[1] = (ft_part){.type = "activations", .value = values[step] * 3 / 4};
    out->part_count = 2;
    return FT_OK;
}

static const family steps_family = {.name = "steps",
                                    .text = "a table",
                                    .schema = "steps/1",
                                    .capabilities = FAMILY_ANY_MODE | FAMILY_OWN_INTERVALS,
                                    .save = factor_save,
                                    .load = factor_load,
                                    .predict = predict_step,
                                    .free = factor_free};

static ft_predictor_set *set;
static ft_graph *model;

static void write_predictor(const char *path, const char *metric) {
    const float block[] = {0};
    ft_error error;
    buf bytes = {0};
    json_t *root = json_pack("{s:s, s:s, s:s, s:s, s:[s], s:[s], s:{}, s:{s:{s:f}}}", "format", "foretell predictor",
                             "family", "steps", "schema", "steps/1", "metric", metric, "devices", "mine", "modes",
                             "infer", "params", "calibration", "mine", "q90", 1.0);
    assert_non_null(root);
    assert_int_equal(predictor_file_encode(root, block, 1, &bytes, &error), FT_OK);
    assert_int_equal(outfile_write(path, bytes.data, bytes.length, &error), FT_OK);
    buf_free(&bytes);
    json_decref(root);
}

static int set_up(void **state) {
    static const char *const files[] = {"time.ftm", "memory.ftm"};
    ft_error error;
    if (folder_enter(state) != 0) return -1;
    use_only_family(&steps_family);
    write_predictor("time.ftm", "time_us");
    write_predictor("memory.ftm", "peak_bytes");
    if (ft_predictor_set_open(files, 2, &set, &error) != FT_OK) fail_msg("%s", error.message);
    model = toy_graph(FT_FORMAT_ONNX, FT_NCHW);
    uint32_t x = toy_input(model, 1, 16), w = toy_weight(model, 16, 8);
    toy_finish(model, toy_op(model, "MatMul", x, w, FT_NONE, toy_value(model, 1, 8)), 1, 1);
    model->is_bound = false;
    return 0;
}

static int tear_down(void **state) {
    ft_graph_free(model);
    ft_predictor_set_free(set);
    return folder_leave(state);
}

static void predict_table(const double *table, double spread) {
    for (int i = 0; i < STEPS; i++) {
        values[i] = table[i];
        spreads[i] = spread;
    }
    assumed_below = 0;
}

static ft_results at(int64_t batch) {
    ft_results results;
    ft_error error;
    const ft_request request = {.device = "mine", .batch = batch};
    if (ft_predict(set, model, NULL, &request, 1, &results, &error) != FT_OK) fail_msg("%s", error.message);
    return results;
}

static double memory_at(int64_t batch) {
    ft_results results = at(batch);
    double value = ft_result_memory(&results.items[0])->value;
    ft_results_free(&results);
    return value;
}

static void values_that_grow_stay_and_are_interpolated(void **state) {
    (void)state;
    predict_table((double[]){100, 200, 400, 800, 1600, 3200}, 0.1);
    for (int i = 0; i < STEPS; i++) assert_true(memory_at(1 << i) == values[i]);
    assert_true(memory_at(3) == 300);
    assert_true(memory_at(5) == 500);
    assert_true(memory_at(31) == 3100);
}

static void values_that_fall_are_those_of_smaller_batches(void **state) {
    (void)state;
    predict_table((double[]){100, 400, 300, 200, 500, 450}, 0.1);
    const double expected[] = {100, 400, 400, 400, 400, 400, 400, 400, 412.5, 425};
    for (int i = 0; i < 10; i++) assert_true(memory_at(i + 1) == expected[i]);
    assert_true(memory_at(1000) == 500);
}

static void intervals_never_fall(void **state) {
    (void)state;
    double lo = 0, hi = 0;
    predict_table((double[]){100, 110, 120, 130, 140, 150}, 0);
    for (int i = 0; i < STEPS; i++) spreads[i] = i % 2 == 0 ? 0.5 : 0.01;
    for (int64_t batch = 1; batch < 80; batch++) {
        ft_results results = at(batch);
        const ft_metric_result *m = ft_result_time(&results.items[0]);
        assert_true(m->lo >= lo && m->hi >= hi && m->lo <= m->value && m->value <= m->hi);
        lo = m->lo;
        hi = m->hi;
        ft_results_free(&results);
    }
}

static void parts_add_up_and_weights_stay(void **state) {
    (void)state;
    predict_table((double[]){100, 400, 300, 200, 500, 450}, 0.1);
    ft_results results = at(8);
    const ft_metric_result *m = ft_result_memory(&results.items[0]);
    assert_true(m->value == 400 && m->part_count == 2);
    assert_true(m->parts[0].value == 50 && m->parts[1].value == 350);
    ft_results_free(&results);
}

static void provenance_is_that_of_the_batch_whose_value_it_is(void **state) {
    (void)state;
    predict_table((double[]){500, 100, 200, 1000, 1000, 1000}, 0.1);
    assumed_below = 2;
    for (int64_t batch = 1; batch <= 8; batch *= 2) {
        ft_results results = at(batch);
        assert_int_equal(ft_result_memory(&results.items[0])->provenance, batch < 8 ? FT_ASSUMED : FT_LEARNED);
        ft_results_free(&results);
    }
}

/* Batches of 16 and more cannot be predicted: the line through 4 and 8 goes on. */
static void lines_go_on_beyond_the_last_batch(void **state) {
    (void)state;
    predict_table((double[]){100, 200, 400, 800, 0, 0}, 0.1);
    assert_true(memory_at(8) == 800);
    assert_true(memory_at(12) == 1200);
    assert_true(memory_at(15) == 1500);
}

static void fits_agrees_with_the_largest_batch(void **state) {
    (void)state;
    const ft_request request = {.device = "mine"};
    predict_table((double[]){100, 400, 300, 200, 500, 450}, 0.1);
    for (double bytes = 80; bytes < 700; bytes += 7) {
        ft_max_batch_result found;
        ft_error error;
        const ft_batch_search search = {.free_bytes = bytes, .max_batch = 60};
        assert_int_equal(ft_max_batch(set, model, NULL, &request, &search, &found, &error), FT_OK);
        for (int64_t batch = 1; batch <= 60; batch++) {
            ft_results results = at(batch);
            ft_fit fit = ft_result_fit(&results.items[0], bytes);
            assert_true((fit == FT_FITS) == (batch <= found.certain));
            assert_true((fit == FT_FITS_NOT) == (batch > found.possible));
            ft_results_free(&results);
        }
    }
}

/* Results do not depend on the other requests. */
static void requests_together_are_as_alone(void **state) {
    (void)state;
    ft_request requests[40];
    ft_results together;
    ft_error error;
    predict_table((double[]){100, 400, 300, 200, 500, 450}, 0.1);
    for (int i = 0; i < 40; i++) requests[i] = (ft_request){.device = "mine", .batch = 1 + i * 7 % 40};
    assert_int_equal(ft_predict(set, model, NULL, requests, 40, &together, &error), FT_OK);
    for (int i = 0; i < 40; i++)
        assert_true(ft_result_memory(&together.items[i])->value == memory_at(requests[i].batch));
    ft_results_free(&together);
}

/* Points of large models are evaluated one after the other, in memory of their own. */
static void large_models_have_the_same_curves(void **state) {
    (void)state;
    ft_results results;
    ft_error error;
    ft_graph *large = toy_graph(FT_FORMAT_ONNX, FT_NCHW);
    uint32_t x = toy_input(large, 1, 8);
    for (int i = 0; i < 5000; i++) x = toy_op(large, "Relu", x, FT_NONE, FT_NONE, toy_value(large, 1, 8));
    toy_finish(large, x, 1, 1);
    large->is_bound = false;
    predict_table((double[]){100, 400, 300, 200, 500, 450}, 0.1);
    ft_request requests[20];
    for (int i = 0; i < 20; i++) requests[i] = (ft_request){.device = "mine", .batch = i + 1};
    assert_int_equal(ft_predict(set, large, NULL, requests, 20, &results, &error), FT_OK);
    for (int i = 0; i < 20; i++) assert_true(ft_result_memory(&results.items[i])->value == memory_at(i + 1));
    ft_results_free(&results);
    ft_graph_free(large);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_that_grow_stay_and_are_interpolated),
        cmocka_unit_test(values_that_fall_are_those_of_smaller_batches),
        cmocka_unit_test(intervals_never_fall),
        cmocka_unit_test(parts_add_up_and_weights_stay),
        cmocka_unit_test(provenance_is_that_of_the_batch_whose_value_it_is),
        cmocka_unit_test(lines_go_on_beyond_the_last_batch),
        cmocka_unit_test(fits_agrees_with_the_largest_batch),
        cmocka_unit_test(requests_together_are_as_alone),
        cmocka_unit_test(large_models_have_the_same_curves),
    };
    return cmocka_run_group_tests_name("forecast/curve", tests, set_up, tear_down);
}
