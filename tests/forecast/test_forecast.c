/* test_forecast.c - results of requests: where each metric comes from, its provenance, notes and errors. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "foretell/forecast.h"
#include "support/failing.h"
#include "support/flops_file.h"
#include "support/folder.h"
#include "support/toy.h"

enum { MACS = 16 * 8 };

/* Metrics that every result has: time, memory, utilisation. Others follow. */
enum { OTHERS = 3 };

static ft_predictor_set *set;
static ft_graph *model;

/* A product of 1x16 by 16x8 and an activation, not bound yet. */
static ft_graph *make_model(void) {
    ft_graph *graph = toy_graph(FT_FORMAT_ONNX, FT_NCHW);
    uint32_t x = toy_input(graph, 1, 16), w = toy_weight(graph, 16, 8);
    uint32_t product = toy_op(graph, "MatMul", x, w, FT_NONE, toy_value(graph, 1, 8));
    toy_finish(graph, toy_op(graph, "Relu", product, FT_NONE, FT_NONE, toy_value(graph, 1, 8)), 1, 1);
    graph->is_bound = false;
    return graph;
}

static int set_up(void **state) {
    if (folder_enter(state) != 0) return 1;
    flops_file_write("times.ftm", "time_us", 10, 0.5F);
    flops_file_write("more.ftm", "cycles", 100, 2);
    const char *files[] = {"times.ftm", "more.ftm"}, *bundle[] = {"both.ftm"};
    if (ft_predictor_bundle(files, 2, "both.ftm", NULL) != FT_OK ||
        ft_predictor_set_open(bundle, 1, &set, NULL) != FT_OK)
        return 1;
    model = make_model();
    return 0;
}

static int tear_down(void **state) {
    ft_graph_free(model);
    ft_predictor_set_free(set);
    return folder_leave(state);
}

static ft_results predict(ft_request request) {
    ft_results results = {0};
    ft_error error;
    if (ft_predict(set, model, NULL, &request, 1, &results, &error) != FT_OK) fail_msg("%s", error.message);
    assert_int_equal(results.count, 1);
    return results;
}

static bool has_note(const ft_result *result, const char *part) {
    for (uint32_t i = 0; i < result->note_count; i++)
        if (strstr(result->notes[i], part) != NULL) return true;
    return false;
}

static double sum_of(const ft_part *parts, uint32_t count) {
    double sum = 0;
    for (uint32_t i = 0; i < count; i++) sum += parts[i].value;
    return sum;
}

static void trained_device_is_learned(void **state) {
    (void)state;
    ft_results results = predict((ft_request){.device = "adreno640gpu", .batch = 4, .setting = "layout=nhwc"});
    const ft_result *result = &results.items[0];
    assert_string_equal(result->request.device, "adreno-640");
    assert_string_equal(result->request.setting, "layout=nhwc");
    assert_int_equal(result->request.dtype, FT_FLOAT32);
    assert_int_equal(result->request.batch, 4);
    double expected = 10 + 0.5 * (4 * (2 * MACS + 8));
    assert_true(ft_result_time(result)->value == expected);
    assert_true(fabs(ft_result_time(result)->hi - 2 * expected) < 1e-6 &&
                fabs(ft_result_time(result)->lo - expected / 2) < 1e-6);
    assert_string_equal(ft_result_time(result)->predictor, "both.ftm");
    assert_true(has_note(result, "the setting 'layout=nhwc' is ignored"));
    assert_null(ft_result_time(result)->missing_reason);
    assert_non_null(ft_result_metric(result, "util_ratio")->missing_reason);
    assert_int_equal(result->metric_count, OTHERS + 1);
    assert_string_equal(result->metrics[OTHERS].metric, "cycles");
    assert_true(result->metrics[OTHERS].value == 100 + 2 * (4 * (2 * MACS + 8)));
    /* Without a predictor of memory: the timeline. */
    assert_string_equal(ft_result_memory(result)->predictor, "timeline");
    assert_int_equal(ft_result_memory(result)->provenance, FT_EXTRAPOLATED);
    assert_true(isnan(ft_result_memory(result)->lo) && ft_result_memory(result)->value >= 4 * (16 * 8 + 4 * (16 + 8)));
    assert_true(sum_of(ft_result_memory(result)->parts, ft_result_memory(result)->part_count) ==
                ft_result_memory(result)->value);
    /* Few operations a byte: bound by memory. */
    assert_int_equal(result->bound, FT_BOUND_MEMORY);
    assert_true(result->bound_ratio == 1);
    ft_results_free(&results);
    ft_results_free(&results);
    ft_results_free(NULL);
}

/* A predictor without data of a type extrapolates by the size of its numbers. */
static void unmeasured_type_is_extrapolated(void **state) {
    (void)state;
    ft_results results = predict((ft_request){.device = "adreno-640", .dtype = FT_INT8});
    const ft_result *result = &results.items[0];
    assert_true(ft_result_time(result)->value > 0 && isnan(ft_result_time(result)->lo) &&
                isnan(ft_result_time(result)->hi));
    assert_int_equal(ft_result_time(result)->provenance, FT_EXTRAPOLATED);
    assert_true(result->coverage_ratio == 0);
    assert_int_equal(result->metric_count, OTHERS + 1);
    assert_true(result->metrics[OTHERS].provenance == FT_EXTRAPOLATED && isnan(result->metrics[OTHERS].hi));
    assert_true(has_note(result, "int8 was not measured on adreno-640"));
    ft_results_free(&results);
    results = predict((ft_request){.device = "adreno-640", .dtype = FT_FLOAT32});
    assert_int_equal(ft_result_time(&results.items[0])->provenance, FT_LEARNED);
    assert_int_equal(results.items[0].note_count, 0);
    ft_results_free(&results);
}

/* Whatever type the request has. */
static void quantised_model_has_the_type_of_its_weights(void **state) {
    (void)state;
    ft_graph *saved = model;
    model = make_model();
    for (uint32_t i = 0; i < ft_graph_tensor_count(model); i++) model->tensors[i].dtype = FT_UINT8;
    ft_results results = predict((ft_request){.device = "adreno-640"});
    assert_int_equal(ft_result_time(&results.items[0])->provenance, FT_EXTRAPOLATED);
    assert_true(strncmp(results.items[0].notes[0], "int8 was not", 12) == 0); /* uint8 counts as int8 */
    assert_true(has_note(&results.items[0], "int8 was not measured on adreno-640"));
    ft_results_free(&results);
    ft_graph_free(model);
    model = saved;
}

/* From the predictor of util_ratio in the same file, clamped to 1. */
static void utilisation_is_at_most_1(void **state) {
    (void)state;
    flops_file_write("util.ftm", "util_ratio", 0.5F, 1);
    const char *files[] = {"times.ftm", "util.ftm"}, *bundle[] = {"busy.ftm"};
    ft_predictor_set *saved = set;
    assert_int_equal(ft_predictor_bundle(files, 2, "busy.ftm", NULL), FT_OK);
    assert_int_equal(ft_predictor_set_open(bundle, 1, &set, NULL), FT_OK);
    ft_results results = predict((ft_request){.device = "adreno-640"});
    const ft_result *result = &results.items[0];
    assert_null(ft_result_metric(result, "util_ratio")->missing_reason);
    assert_int_equal(result->metric_count, OTHERS);
    const ft_metric_result *util = ft_result_metric(result, "util_ratio");
    assert_true(util->value == 1 && util->hi == 1);
    ft_results_free(&results);
    ft_predictor_set_free(set);
    set = saved;
}

/* The peak memory is the sum of the predicted memories of the device, and so are the ends of its interval. */
static void memories_of_the_device_add_up(void **state) {
    (void)state;
    flops_file_write("flash.ftm", "flash_bytes", 1000, 1);
    flops_file_write("sram.ftm", "sram_bytes", 100, 2);
    const char *files[] = {"times.ftm", "flash.ftm", "sram.ftm"}, *bundle[] = {"planned.ftm"};
    ft_predictor_set *saved = set;
    assert_int_equal(ft_predictor_bundle(files, 3, "planned.ftm", NULL), FT_OK);
    assert_int_equal(ft_predictor_set_open(bundle, 1, &set, NULL), FT_OK);
    ft_results results = predict((ft_request){.device = "adreno-640"});
    const ft_result *result = &results.items[0];
    double work = 2 * MACS + 8, expected = 1100 + 3 * work;
    assert_true(ft_result_memory(result)->value == expected);
    assert_true(fabs(ft_result_memory(result)->lo - expected / 2) < 1e-6 &&
                fabs(ft_result_memory(result)->hi - 2 * expected) < 1e-6);
    assert_string_equal(ft_result_memory(result)->predictor, "planned.ftm");
    assert_int_equal(ft_result_memory(result)->provenance, FT_LEARNED);
    assert_int_equal(ft_result_memory(result)->part_count, 2);
    assert_string_equal(ft_result_memory(result)->parts[0].type, "sram");
    assert_true(ft_result_memory(result)->parts[0].value == 100 + 2 * work);
    assert_string_equal(ft_result_memory(result)->parts[1].type, "flash");
    assert_int_equal(result->metric_count, OTHERS + 2);
    ft_results_free(&results);
    ft_predictor_set_free(set);
    set = saved;
}

static void device_without_data_sheet_has_no_bound(void **state) {
    (void)state;
    ft_results results = predict((ft_request){.device = "mine"});
    const ft_result *result = &results.items[0];
    assert_string_equal(result->request.device, "mine");
    assert_true(ft_result_time(result)->value == 10 + 0.5 * (2 * MACS + 8) && isnan(ft_result_time(result)->lo));
    assert_int_equal(result->bound, FT_BOUND_UNKNOWN);
    ft_results_free(&results);
}

static void untrained_device_has_the_roofline(void **state) {
    (void)state;
    ft_results results = predict((ft_request){.device = "rtx-3090", .batch = 1024});
    const ft_result *result = &results.items[0];
    assert_string_equal(ft_result_time(result)->predictor, "roofline");
    assert_int_equal(ft_result_time(result)->provenance, FT_ASSUMED);
    assert_int_equal(result->request.dtype, FT_FLOAT16);
    assert_true(ft_result_time(result)->value > 0 && isnan(ft_result_time(result)->hi));
    assert_true(fabs(sum_of(ft_result_time(result)->parts, ft_result_time(result)->part_count) -
                     ft_result_time(result)->value) < 1e-9 * ft_result_time(result)->value);
    assert_int_not_equal(ft_result_time(result)->parts[0].bound, FT_BOUND_UNKNOWN);
    assert_true(has_note(result, "no predictor covers inference on rtx-3090"));
    ft_results_free(&results);
}

static void untrained_mode_has_the_roofline(void **state) {
    (void)state;
    ft_results results = predict((ft_request){.device = "adreno-640", .mode = FT_TRAIN, .optimizer = FT_ADAM});
    const ft_result *result = &results.items[0];
    assert_string_equal(ft_result_time(result)->predictor, "roofline");
    assert_true(has_note(result, "training on adreno-640"));
    ft_results plain = predict((ft_request){.device = "adreno-640", .mode = FT_TRAIN, .optimizer = FT_SGD});
    assert_true(ft_result_memory(result)->value > ft_result_memory(&plain.items[0])->value);
    ft_results_free(&plain);
    ft_results_free(&results);
    /* Without predictor and data sheet there is no time. */
    results = predict((ft_request){.device = "mine", .mode = FT_TRAIN});
    assert_true(isnan(ft_result_time(&results.items[0])->value));
    assert_non_null(ft_result_time(&results.items[0])->missing_reason);
    ft_results_free(&results);
}

static void requests_together_are_as_alone(void **state) {
    (void)state;
    ft_request requests[6];
    for (int i = 0; i < 6; i++)
        requests[i] = (ft_request){.device = i % 2 == 0 ? "adreno-640" : "mine", .batch = 1 + i / 2};
    ft_results results;
    ft_error error;
    if (ft_predict(set, model, NULL, requests, 6, &results, &error) != FT_OK) fail_msg("%s", error.message);
    for (int i = 0; i < 6; i++) {
        ft_results alone = predict(requests[i]);
        assert_true(ft_result_time(&alone.items[0])->value == ft_result_time(&results.items[i])->value);
        assert_true(ft_result_memory(&alone.items[0])->value == ft_result_memory(&results.items[i])->value);
        ft_results_free(&alone);
    }
    ft_results_free(&results);
}

static void invalid_requests_are_errors(void **state) {
    (void)state;
    ft_results results = {0};
    ft_error error;
    assert_int_equal(ft_predict(set, model, NULL, &(ft_request){.device = "abacus"}, 1, &results, &error),
                     FT_ERR_USAGE);
    assert_non_null(strstr(error.message, "abacus"));
    assert_int_equal(ft_predict(set, model, NULL, &(ft_request){0}, 1, &results, &error), FT_ERR_USAGE);
    assert_int_not_equal(
        ft_predict(set, model, NULL, &(ft_request){.device = "mine", .batch = -3}, 1, &results, &error), FT_OK);
    assert_null(results.owner);
}

static void out_of_memory_is_an_error(void **state) {
    (void)state;
    const ft_request requests[] = {{.device = "adreno-640"}, {.device = "rtx-3090", .batch = 2}};
    for (long n = 0;; n++) {
        ft_results results = {0};
        failing_start(n);
        ft_status status = ft_predict(set, model, NULL, requests, 2, &results, NULL);
        bool has_failed = failing_stop();
        ft_results_free(&results);
        if (!has_failed) break;
        assert_int_not_equal(status, FT_OK);
    }
}

/* --- Bounds -------------------------------------------------------------------------------------------------- */

/* A product of 512x512 weights and an activation; at batch 512: 2 * 512^3 FLOPs over 12 * 512^2 bytes, 85 FLOPs a byte,
 * where the data sheet of the Adreno 640 has 26. The activation alone would be bound by memory. */
static void large_product_is_bound_by_compute(void **state) {
    (void)state;
    ft_graph *saved = model;
    model = toy_graph(FT_FORMAT_ONNX, FT_NCHW);
    uint32_t x = toy_input(model, 1, 512), w = toy_weight(model, 512, 512);
    uint32_t product = toy_op(model, "MatMul", x, w, FT_NONE, toy_value(model, 1, 512));
    toy_finish(model, toy_op(model, "Relu", product, FT_NONE, FT_NONE, toy_value(model, 1, 512)), 1, 1);
    model->is_bound = false;
    ft_results results = predict((ft_request){.device = "adreno-640", .batch = 512});
    assert_int_equal(ft_result_time(&results.items[0])->part_count, 0);
    assert_int_equal(results.items[0].bound, FT_BOUND_COMPUTE);
    assert_true(results.items[0].bound_ratio == 1);
    ft_results_free(&results);
    ft_graph_free(model);
    model = saved;
}

static ft_predictor_set *open_times(const char *path, float start, float slope) {
    ft_predictor_set *opened = NULL;
    flops_file_write(path, "time_us", start, slope);
    assert_int_equal(ft_predictor_set_open(&path, 1, &opened, NULL), FT_OK);
    return opened;
}

/* However short. */
static void time_below_a_microsecond_has_a_bound(void **state) {
    (void)state;
    ft_predictor_set *saved = set;
    set = open_times("short.ftm", 0.5F, 0);
    ft_results results = predict((ft_request){.device = "adreno-640"});
    assert_true(ft_result_time(&results.items[0])->value == 0.5);
    assert_int_equal(results.items[0].bound, FT_BOUND_MEMORY);
    assert_true(results.items[0].bound_ratio == 1);
    ft_results_free(&results);
    ft_predictor_set_free(set);
    set = saved;
}

/* The roofline of a data sheet of 1000 FLOPs and 100 bytes a second, by kernel. Eager PyTorch runs the product alone:
 * 2 * 128 FLOPs in 0.256 s, 4 * (16 + 128 + 8) bytes in 6.08 s; and the activation: 64 bytes in 0.64 s. */
static void roofline_is_that_of_the_data_sheet(void **state) {
    (void)state;
    FILE *file = fopen("slow.json", "w");
    assert_non_null(file);
    fputs("{\"foretell_device\": 1, \"name\": \"slow\", \"kind\": \"cpu\", \"runtime\": \"torch-eager\", "
          "\"peak_float32_flops\": 1000, \"bandwidth_bytes_per_s\": 100}",
          file);
    assert_int_equal(fclose(file), 0);
    ft_device *sheet = NULL;
    ft_error error;
    if (ft_device_open("slow.json", &sheet, &error) != FT_OK) fail_msg("%s", error.message);
    ft_results results = predict((ft_request){.sheet = sheet});
    const ft_result *result = &results.items[0];
    const ft_metric_result *time = ft_result_time(result);
    assert_string_equal(time->predictor, "roofline");
    assert_int_equal(result->request.dtype, FT_FLOAT32);
    assert_int_equal(time->part_count, 2);
    assert_true(fabs(time->parts[0].value - 6.08e6) < 1 && fabs(time->parts[1].value - 0.64e6) < 1);
    assert_true(fabs(time->value - 6.72e6) < 1);
    assert_int_equal(time->parts[0].bound, FT_BOUND_MEMORY);
    assert_true(time->shares[FT_ASSUMED] == 1 && isnan(time->lo));
    ft_results_free(&results);
    ft_device_free(sheet);
}

/* --- Types --------------------------------------------------------------------------------------------------- */

/* Two products of one sample, with `quantised` MACs in int8 and `plain` in float32. */
static ft_provenance provenance_of(int quantised, int plain) {
    ft_graph *saved = model;
    model = toy_graph(FT_FORMAT_ONNX, FT_NCHW);
    uint32_t x = toy_input(model, 1, 1), w = toy_tensor(model, FT_CONSTANT, FT_INT8, 1, quantised, TOY_END);
    uint32_t v = toy_weight(model, 1, plain);
    uint32_t y = toy_op(model, "MatMul", x, w, FT_NONE, toy_value(model, 1, quantised));
    assert_int_equal(graph_add_output(model, y, NULL), FT_OK);
    toy_finish(model, toy_op(model, "MatMul", x, v, FT_NONE, toy_value(model, 1, plain)), 1, 1);
    model->is_bound = false;
    ft_results results = predict((ft_request){.device = "adreno-640"});
    ft_provenance provenance = ft_result_time(&results.items[0])->provenance;
    ft_results_free(&results);
    ft_graph_free(model);
    model = saved;
    return provenance;
}

static void type_is_that_of_more_than_half_of_the_macs(void **state) {
    (void)state;
    assert_int_equal(provenance_of(2, 1), FT_EXTRAPOLATED); /* int8 was not measured */
    assert_int_equal(provenance_of(2, 2), FT_LEARNED);
    assert_int_equal(provenance_of(1, 2), FT_LEARNED);
}

/* --- Memory -------------------------------------------------------------------------------------------------- */

/* The timeline by ft_memory_plan, and that of a result, whose parts are all above zero. */
static void check_timeline(ft_mode mode, ft_dtype dtype, bool is_mixed) {
    ft_graph *bound = NULL;
    ft_memory plan;
    ft_cost_options options = ft_cost_options_default();
    options.mode = mode;
    options.dtype = dtype;
    options.is_mixed = is_mixed;
    assert_int_equal(ft_graph_bind(model, &(ft_binding){.batch = 4}, &bound, NULL), FT_OK);
    assert_int_equal(ft_memory_plan(bound, &options, &plan, NULL, NULL, NULL), FT_OK);
    ft_graph_free(bound);
    ft_results results = predict(
        (ft_request){.device = "adreno-640", .batch = 4, .mode = mode, .dtype = dtype, .optimizer = options.optimizer});
    const ft_metric_result *memory = ft_result_memory(&results.items[0]);
    assert_true(memory->value == (double)plan.peak_bytes);
    for (uint32_t i = 0; i < memory->part_count; i++) assert_true(memory->parts[i].value > 0);
    ft_results_free(&results);
}

static void training_in_16_bits_is_mixed(void **state) {
    (void)state;
    check_timeline(FT_TRAIN, FT_FLOAT16, true);
    check_timeline(FT_TRAIN, FT_FLOAT32, false);
    check_timeline(FT_INFER, FT_FLOAT16, false);
}

static void a_single_memory_of_the_device_is_enough(void **state) {
    (void)state;
    flops_file_write("only.ftm", "sram_bytes", 100, 2);
    const char *files[] = {"times.ftm", "only.ftm"}, *bundle[] = {"single.ftm"};
    ft_predictor_set *saved = set;
    assert_int_equal(ft_predictor_bundle(files, 2, "single.ftm", NULL), FT_OK);
    assert_int_equal(ft_predictor_set_open(bundle, 1, &set, NULL), FT_OK);
    ft_results results = predict((ft_request){.device = "adreno-640"});
    assert_true(ft_result_memory(&results.items[0])->value == 100 + 2 * (2 * MACS + 8));
    assert_int_equal(ft_result_memory(&results.items[0])->part_count, 1);
    ft_results_free(&results);
    ft_predictor_set_free(set);
    set = saved;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(trained_device_is_learned),
        cmocka_unit_test(unmeasured_type_is_extrapolated),
        cmocka_unit_test(quantised_model_has_the_type_of_its_weights),
        cmocka_unit_test(utilisation_is_at_most_1),
        cmocka_unit_test(memories_of_the_device_add_up),
        cmocka_unit_test(device_without_data_sheet_has_no_bound),
        cmocka_unit_test(untrained_device_has_the_roofline),
        cmocka_unit_test(untrained_mode_has_the_roofline),
        cmocka_unit_test(requests_together_are_as_alone),
        cmocka_unit_test(invalid_requests_are_errors),
        cmocka_unit_test(out_of_memory_is_an_error),
        cmocka_unit_test(large_product_is_bound_by_compute),
        cmocka_unit_test(time_below_a_microsecond_has_a_bound),
        cmocka_unit_test(roofline_is_that_of_the_data_sheet),
        cmocka_unit_test(type_is_that_of_more_than_half_of_the_macs),
        cmocka_unit_test(training_in_16_bits_is_mixed),
        cmocka_unit_test(a_single_memory_of_the_device_is_enough),
    };
    return cmocka_run_group_tests_name("forecast/forecast", tests, set_up, tear_down);
}
