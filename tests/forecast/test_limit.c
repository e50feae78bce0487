/* test_limit.c - times that a data sheet does not allow are raised, and the result says so. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "forecast/job.h"
#include "support/flops_file.h"
#include "support/folder.h"
#include "support/toy.h"

/* A product of 1 x 1000 by 1000 x 1000 a sample: 2 MFLOP, 4 MB of weights. */
static ft_graph *product(void) {
    ft_graph *model = toy_graph(FT_FORMAT_ONNX, FT_NCHW);
    uint32_t x = toy_input(model, 1, 1000), w = toy_weight(model, 1000, 1000);
    toy_finish(model, toy_op(model, "MatMul", x, w, FT_NONE, toy_value(model, 1, 1000)), 1, 1);
    model->is_bound = false;
    return model;
}

static ft_device *device_of(const char *numbers) {
    ft_device *device = NULL;
    ft_error error;
    FILE *f = fopen("mine.json", "w");
    assert_non_null(f);
    fprintf(f, "{\"foretell_device\": 1, \"name\": \"mine\", %s}", numbers);
    assert_int_equal(fclose(f), 0);
    if (ft_device_open("./mine.json", &device, &error) != FT_OK) fail_msg("%s", error.message);
    return device;
}

typedef struct outcome {
    double value, lo, hi;
    bool has_note;
    ft_provenance provenance;
} outcome;

/* With a predictor whose times are `us` at every batch, and an interval of a factor of 2. */
static outcome predict(const char *device, const ft_device *sheet, float us, int64_t batch) {
    static const char *const files[] = {"time.ftm"};
    ft_predictor_set *set = NULL;
    ft_results results;
    ft_error error;
    ft_graph *model = product();
    flops_file_write("time.ftm", "time_us", us, 0);
    assert_int_equal(ft_predictor_set_open(files, 1, &set, &error), FT_OK);
    const ft_request request = {.device = device, .sheet = sheet, .batch = batch, .dtype = FT_FLOAT32};
    if (ft_predict(set, model, NULL, &request, 1, &results, &error) != FT_OK) fail_msg("%s", error.message);
    const ft_metric_result *time = ft_result_time(&results.items[0]);
    outcome o = {.value = time->value, .lo = time->lo, .hi = time->hi, .provenance = time->provenance};
    for (uint32_t i = 0; i < results.items[0].note_count; i++)
        o.has_note = o.has_note || strstr(results.items[0].notes[i], "is raised to") != NULL;
    ft_results_free(&results);
    ft_predictor_set_free(set);
    ft_graph_free(model);
    return o;
}

/* Adreno 640: float16 may be four times as fast as the 898.6 GFLOP/s of float32, so 2 GFLOP take 556 us. */
static void times_below_the_limit_are_raised(void **state) {
    (void)state;
    const double limit = 1024 * 2.0 / (4 * 898.6e9) * 1e12;
    outcome o = predict("adreno-640", NULL, 100, 1024);
    assert_true(fabs(o.value / limit - 1) < 1e-6 && o.has_note);
    assert_true(o.lo == o.value && o.hi == o.value);
    assert_int_equal(o.provenance, FT_ASSUMED);
    o = predict("adreno-640", NULL, (float)(1.5 * limit), 1024); /* only the lower end is below */
    assert_true(fabs(o.lo / limit - 1) < 1e-6 && fabs(o.value / (1.5 * limit) - 1) < 1e-6 && !o.has_note);
    o = predict("adreno-640", NULL, (float)(3 * limit), 1024);
    assert_true(fabs(o.lo / (1.5 * limit) - 1) < 1e-6 && !o.has_note);
}

static void sheets_without_rates_have_no_limit(void **state) {
    (void)state;
    ft_device *device = device_of("\"kind\": \"cpu\", \"runtime\": \"tflite-cpu\"");
    outcome o = predict(NULL, device, 0.001F, 1024);
    assert_true(fabs(o.value - 0.001) < 1e-6 && !o.has_note);
    ft_device_free(device);
}

/* 4 MB of weights less 1 MB of cache at 1 GB/s; the FLOPs take less. */
static void weights_beyond_the_cache_move(void **state) {
    (void)state;
    ft_device *device = device_of("\"kind\": \"cpu\", \"runtime\": \"tflite-cpu\", \"peak_float32_flops\": 1e15, "
                                  "\"bandwidth_bytes_per_s\": 1e9, \"cache_bytes\": 1e6");
    outcome o = predict(NULL, device, 1, 1);
    assert_true(fabs(o.value / 3000 - 1) < 1e-6 && o.has_note);
    ft_device_free(device);
}

static void missing_rates_are_assumed_to_be_high(void **state) {
    (void)state;
    ft_device *device = device_of("\"kind\": \"gpu\", \"runtime\": \"torch-eager\", \"peak_float32_flops\": 1e12, "
                                  "\"peak_tensorfloat32_flops\": 2e12");
    limit_rates rates = limit_rates_of(device);
    assert_true(rates.flops_per_s[LIMIT_BITS_32] == 2e12 && rates.flops_per_s[LIMIT_BITS_16] == 8e12);
    assert_true(rates.flops_per_s[LIMIT_BITS_8] == 32e12 && isnan(rates.bytes_per_s));
    ft_device_free(device);
    device =
        device_of("\"kind\": \"npu\", \"runtime\": \"vela\", \"peak_int8_ops\": 1e12, \"bandwidth_bytes_per_s\": 1");
    rates = limit_rates_of(device);
    assert_true(isnan(rates.flops_per_s[LIMIT_BITS_32]) && rates.flops_per_s[LIMIT_BITS_8] == 1e12);
    assert_true(isnan(rates.bytes_per_s)); /* activations stay in its own memory */
    ft_device_free(device);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(times_below_the_limit_are_raised),
        cmocka_unit_test(sheets_without_rates_have_no_limit),
        cmocka_unit_test(weights_beyond_the_cache_move),
        cmocka_unit_test(missing_rates_are_assumed_to_be_high),
    };
    return cmocka_run_group_tests_name("forecast/limit", tests, folder_enter, folder_leave);
}
