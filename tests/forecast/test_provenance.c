/* test_provenance.c - provenance of the bundled predictors: shares add up on every bundled device, and nothing is
 * called learned on a device that the training data does not cover. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "foretell/forecast.h"
#include "support/folder.h"
#include "support/npu_model.h"
#include "support/onnx_model.h"

static const char *const files[] = {"predictors/ethos-u.ftm", "predictors/memory.ftm", "predictors/phone.ftm",
                                    "predictors/torch.ftm"};
static const ft_mode modes[] = {FT_INFER, FT_TRAIN};
static const int64_t batches[] = {1, 64};

static ft_predictor_set *set;
static ft_graph *model;

/* A convolution, an activation, a pool and a product. The activation may be an unknown operator. */
static ft_graph *make_model(const char *activation) {
    onnx_model *m = onnx_model_new();
    onnx_input(m, m->graph, "x", ONNX_FLOAT, "N,3,32,32");
    onnx_initializer(m, m->graph, "w", ONNX_FLOAT, "16,3,3,3");
    onnx_initializer(m, m->graph, "v", ONNX_FLOAT, "16,10");
    onnx_node(m, m->graph, "Conv", "x w", "c");
    onnx_info(m, m->graph, "r", ONNX_FLOAT, "N,16,30,30");
    onnx_node(m, m->graph, activation, "c", "r");
    onnx_node(m, m->graph, "GlobalAveragePool", "r", "p");
    onnx_node(m, m->graph, "Flatten", "p", "f");
    onnx_node(m, m->graph, "MatMul", "f v", "y");
    onnx_output(m, m->graph, "y", ONNX_FLOAT, NULL);
    ft_graph *graph = onnx_model_read(m);
    onnx_model_free(m);
    return graph;
}

static int set_up(void **state) {
    (void)state;
    ft_error error;
    if (ft_predictor_set_open(files, sizeof files / sizeof files[0], &set, &error) != FT_OK) {
        fprintf(stderr, "%s\n", error.message);
        return 1;
    }
    model = make_model("Relu");
    return folder_enter(state);
}

static int tear_down(void **state) {
    ft_graph_free(model);
    ft_predictor_set_free(set);
    return folder_leave(state);
}

typedef void check_metric(const ft_request *request, const ft_metric_result *m);

/* Predicts in both modes at both batches, and checks every metric that has a value. Returns how many times there are.
 */
static uint32_t check_device(ft_request request, check_metric *check) {
    uint32_t time_count = 0;
    for (size_t i = 0; i < 4; i++) {
        ft_results results = {0};
        ft_error error;
        request.mode = modes[i / 2];
        request.batch = batches[i % 2];
        if (ft_predict(set, model, NULL, &request, 1, &results, &error) != FT_OK) fail_msg("%s", error.message);
        const ft_result *result = &results.items[0];
        for (uint32_t k = 0; k < result->metric_count; k++)
            if (!isnan(result->metrics[k].value)) check(&result->request, &result->metrics[k]);
        time_count += !isnan(ft_result_time(result)->value);
        ft_results_free(&results);
    }
    return time_count;
}

static void check_shares(const ft_request *request, const ft_metric_result *m) {
    double sum = 0;
    for (int p = 0; p < FT_PROVENANCE_COUNT; p++) {
        sum += m->shares[p];
        if (m->shares[p] < 0 || m->shares[p] > m->shares[m->provenance])
            fail_msg("%s of %s at batch %lld: the share of %s is %g, but %s has %g", m->metric, request->device,
                     (long long)request->batch, ft_provenance_name((ft_provenance)p), m->shares[p],
                     ft_provenance_name(m->provenance), m->shares[m->provenance]);
    }
    if (fabs(sum - 1) > 1e-9)
        fail_msg("%s of %s at batch %lld, mode %d: shares add up to %.12g", m->metric, request->device,
                 (long long)request->batch, (int)request->mode, sum);
}

static void shares_add_up_on_every_bundled_device(void **state) {
    (void)state;
    uint32_t time_count = 0;
    for (uint32_t d = 0; d < ft_device_count(); d++)
        time_count += check_device((ft_request){.device = ft_device_name_at(d)}, check_shares);
    assert_true(time_count > 2 * ft_device_count());
}

static void check_not_learned(const ft_request *request, const ft_metric_result *m) {
    check_shares(request, m);
    if (m->provenance == FT_LEARNED || m->provenance == FT_MEASURED || m->shares[FT_LEARNED] > 0 ||
        m->shares[FT_MEASURED] > 0)
        fail_msg("%s of %s at batch %lld, mode %d: %s (%g learned), but no training data covers the device", m->metric,
                 request->device, (long long)request->batch, (int)request->mode, ft_provenance_name(m->provenance),
                 m->shares[FT_LEARNED]);
}

static bool has_note(const ft_result *result, const char *part) {
    for (uint32_t i = 0; i < result->note_count; i++)
        if (strstr(result->notes[i], part) != NULL) return true;
    return false;
}

static void expect_note(const ft_request *request, const char *present, const char *absent) {
    ft_results results = {0};
    ft_error error;
    if (ft_predict(set, model, NULL, request, 1, &results, &error) != FT_OK) fail_msg("%s", error.message);
    if (!has_note(&results.items[0], present)) fail_msg("no note has '%s'", present);
    if (has_note(&results.items[0], absent)) fail_msg("a note has '%s'", absent);
    ft_results_free(&results);
}

static void write_sheet(const char *path, const char *runtime) {
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fprintf(
        file,
        "{\"foretell_device\": 1, \"name\": \"imaginary-9000\", \"kind\": \"gpu\", \"runtime\": \"%s\", \"clock_hz\": "
        "2e9, \"units\": 100, \"peak_float32_flops\": 50e12, \"peak_float16_flops\": 200e12, \"memory_bytes\": 4e10, "
        "\"bandwidth_bytes_per_s\": 2e12, \"cache_bytes\": 5e7}",
        runtime);
    assert_int_equal(fclose(file), 0);
}

static void nothing_is_learned_on_an_imaginary_gpu(void **state) {
    (void)state;
    static const char *const runtimes[] = {"torch-eager", "torch-compile", "tflite-gpu"};
    for (size_t r = 0; r < sizeof runtimes / sizeof runtimes[0]; r++) {
        ft_device *sheet = NULL;
        ft_error error;
        write_sheet("imaginary.json", runtimes[r]);
        if (ft_device_open("imaginary.json", &sheet, &error) != FT_OK) fail_msg("%s", error.message);
        assert_int_equal(check_device((ft_request){.sheet = sheet}, check_not_learned), 4);
        assert_int_equal(check_device((ft_request){.sheet = sheet, .dtype = FT_FLOAT32}, check_not_learned), 4);
        expect_note(&(ft_request){.sheet = sheet}, "no measurements of imaginary-9000", "measured on imaginary-9000");
        ft_device_free(sheet);
    }
}

/* A device that was measured in the other mode only. */
static void notes_name_the_mode_without_measurements(void **state) {
    (void)state;
    expect_note(&(ft_request){.device = "adreno-640", .mode = FT_TRAIN}, "no measurements of training on adreno-640",
                "of adreno-640");
    expect_note(&(ft_request){.device = "rtx-4090"}, "", "no measurements");
}

/* Bundled data sheets of devices that no predictor of times was trained on. */
static void nothing_is_learned_on_devices_without_measurements(void **state) {
    (void)state;
    uint32_t checked = 0;
    for (uint32_t d = 0; d < ft_device_count(); d++) {
        bool is_trained = false;
        for (uint32_t f = 0; f < ft_predictor_set_count(set); f++)
            for (const ft_predictor *p = ft_predictor_set_at(set, f); p != NULL; p = ft_predictor_next(p))
                for (uint32_t i = 0; i < ft_predictor_device_count(p); i++)
                    is_trained |= strcmp(ft_predictor_device(p, i), ft_device_name_at(d)) == 0;
        if (is_trained) continue;
        check_device((ft_request){.device = ft_device_name_at(d)}, check_not_learned);
        checked++;
    }
    assert_true(checked > 0);
}

/* The note has the share of the time that comes from unknown kernels, on trained and on new devices alike. */
static void notes_have_the_share_of_unknown_kernels(void **state) {
    (void)state;
    static const char *const devices[] = {"adreno-640", "h100-sxm"};
    static const char *const endings[] = {"is extrapolated: no kernels like these were measured on adreno-640",
                                          "comes from kernels unlike those of the training data"};
    ft_graph *saved = model;
    model = make_model("Mystery");
    for (int i = 0; i < 2; i++) {
        const ft_request request = {.device = devices[i], .batch = 64};
        ft_results results = {0};
        char note[160];
        assert_int_equal(ft_predict(set, model, NULL, &request, 1, &results, NULL), FT_OK);
        double covered = results.items[0].coverage_ratio;
        assert_true(covered > 0 && covered < 0.9);
        snprintf(note, sizeof note, "%.0f %% of the time %s", 100 - 100 * covered, endings[i]);
        if (!has_note(&results.items[0], note)) fail_msg("no note '%s'", note);
        ft_results_free(&results);
        expect_note(&request, "1 of 5 operators are unknown", endings[1 - i]);
    }
    ft_graph_free(model);
    model = saved;
    expect_note(&(ft_request){.device = "h100-sxm", .batch = 64}, "no measurements of h100-sxm", endings[1]);
}

/* Kernels of a small model take less time than their launch. */
static void small_model_on_a_gpu_is_bound_by_launches(void **state) {
    (void)state;
    ft_results results = {0};
    const ft_request request = {.device = "rtx-4090", .batch = 1};
    assert_int_equal(ft_predict(set, model, NULL, &request, 1, &results, NULL), FT_OK);
    assert_int_equal(results.items[0].bound, FT_BOUND_LAUNCH);
    ft_results_free(&results);
}

/* A convolution that alone would take most of the overhead of its launch, then 20 small activations. */
static ft_graph *make_one_large_kernel(void) {
    onnx_model *m = onnx_model_new();
    char from[16] = "p", to[16];
    onnx_input(m, m->graph, "x", ONNX_FLOAT, "N,64,128,128");
    onnx_initializer(m, m->graph, "w", ONNX_FLOAT, "64,64,3,3");
    onnx_node(m, m->graph, "Conv", "x w", "c");
    onnx_node(m, m->graph, "GlobalAveragePool", "c", "p");
    for (int i = 0; i < 20; i++) {
        snprintf(to, sizeof to, "r%d", i);
        onnx_node(m, m->graph, "Sigmoid", from, to);
        memcpy(from, to, sizeof from);
    }
    onnx_output(m, m->graph, to, ONNX_FLOAT, NULL);
    ft_graph *graph = onnx_model_read(m);
    onnx_model_free(m);
    return graph;
}

/* A kernel waits for its launch when that takes most of its part of the step. */
static void assumed_overhead_is_bound_by_launches(void **state) {
    (void)state;
    ft_graph *graph = make_one_large_kernel();
    ft_results results = {0};
    const ft_request request = {.device = "rtx-3090", .batch = 1};
    assert_int_equal(ft_predict(set, graph, NULL, &request, 1, &results, NULL), FT_OK);
    const ft_metric_result *time = ft_result_time(&results.items[0]);
    assert_int_equal(time->provenance, FT_ASSUMED);
    assert_int_equal(time->part_count, 22);
    for (uint32_t i = 3; i < time->part_count; i++) { /* all but what the large kernel delays */
        assert_true(fabs(time->parts[i].value - time->parts[3].value) < 1e-6);
        assert_int_equal(time->parts[i].bound, FT_BOUND_LAUNCH);
    }
    assert_true(results.items[0].bound == FT_BOUND_LAUNCH && results.items[0].bound_ratio > 0.9);
    ft_results_free(&results);
    ft_graph_free(graph);
}

/* Every runtime of TFLite files folds DEQUANTIZE of stored weights. */
static void half_precision_weights_change_no_answer(void **state) {
    (void)state;
    ft_graph *graphs[2] = {npu_float_head(false), npu_float_head(true)};
    uint32_t checked = 0;
    for (uint32_t d = 0; d < ft_device_count(); d++) {
        const ft_request request = {.device = ft_device_name_at(d)};
        ft_device *sheet;
        ft_results results[2];
        assert_int_equal(ft_device_open(request.device, &sheet, NULL), FT_OK);
        bool runs_torch = strncmp(ft_device_runtime(sheet), "torch", 5) == 0; /* which reads no TFLite files */
        ft_device_free(sheet);
        if (runs_torch) continue;
        for (int i = 0; i < 2; i++)
            assert_int_equal(ft_predict(set, graphs[i], NULL, &request, 1, &results[i], NULL), FT_OK);
        const ft_result *a = &results[0].items[0], *b = &results[1].items[0];
        assert_int_equal(a->metric_count, b->metric_count);
        for (uint32_t k = 0; k < a->metric_count; k++) {
            if (fabs(a->metrics[k].value - b->metrics[k].value) > 1e-9 * a->metrics[k].value)
                fail_msg("%s of %s: %g with float32 weights, %g with float16", a->metrics[k].metric, request.device,
                         a->metrics[k].value, b->metrics[k].value);
            checked++;
        }
        assert_true(a->coverage_ratio == b->coverage_ratio);
        for (int i = 0; i < 2; i++) ft_results_free(&results[i]);
    }
    assert_true(checked > 20);
    for (int i = 0; i < 2; i++) ft_graph_free(graphs[i]);
}

static void check_assumed(const ft_request *request, const ft_metric_result *m) {
    if (request->mode == FT_INFER && strcmp(m->metric, "util_ratio") != 0 && m->provenance != FT_ASSUMED)
        fail_msg("%s of %s: %s", m->metric, request->device, ft_provenance_name(m->provenance));
}

/* An accelerator of integers says what it assumes of floats, and what it leaves to the CPU; it does not compute in
 * floats, and a model that it cannot run at all has no time. */
static void accelerators_of_integers_assume_them(void **state) {
    (void)state;
    const ft_request request = {.device = "ethos-u55-128"},
                     in_floats = {.device = "ethos-u55-128", .dtype = FT_FLOAT16};
    ft_results results = {0};
    assert_true(check_device(request, check_assumed) > 0);
    expect_note(&request, "not quantised: int8 weights and activations are assumed", "CPU");
    assert_int_equal(ft_predict(set, model, NULL, &in_floats, 1, &results, NULL), FT_OK);
    assert_non_null(strstr(ft_result_time(&results.items[0])->missing_reason, "networks of float16"));
    ft_results_free(&results);
    ft_graph *saved = model;
    model = make_model("Mystery");
    expect_note(&request, "1 operator runs on the CPU", "no kernels like these");
    ft_graph_free(model);
    onnx_model *m = onnx_model_new();
    onnx_input(m, m->graph, "x", ONNX_FLOAT, "1,16,8,8");
    onnx_node(m, m->graph, "CumSum", "x", "y");
    onnx_output(m, m->graph, "y", ONNX_FLOAT, "1,16,8,8");
    model = onnx_model_read(m);
    onnx_model_free(m);
    assert_int_equal(ft_predict(set, model, NULL, &request, 1, &results, NULL), FT_OK);
    assert_non_null(strstr(ft_result_time(&results.items[0])->missing_reason, "no operator of this model runs"));
    ft_results_free(&results);
    ft_graph_free(model);
    model = saved;
}

/* Fewer bits take no more time, on every device, except for the noise of networks far from their training data; a type
 * that was not measured is not learned, and has no coverage. */
static void narrower_types_are_no_slower(void **state) {
    (void)state;
    static const ft_dtype types[] = {FT_INT2, FT_INT4, FT_UINT4, FT_FLOAT4, FT_INT8, FT_FLOAT8};
    uint32_t checked = 0;
    for (uint32_t d = 0; d < ft_device_count(); d++) {
        double before = 0;
        for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
            const ft_request request = {.device = ft_device_name_at(d), .dtype = types[i], .batch = 64};
            ft_results results = {0};
            assert_int_equal(ft_predict(set, model, NULL, &request, 1, &results, NULL), FT_OK);
            const ft_metric_result *time = ft_result_time(&results.items[0]);
            if (time->value < 0.99 * before)
                fail_msg("%s takes %g us on %s, a narrower type %g", ft_dtype_name(types[i]), time->value,
                         request.device, before);
            bool is_ethos = strncmp(request.device, "ethos", 5) == 0; /* runs int8 */
            if (!isnan(time->value) && !is_ethos) {
                assert_true(time->shares[FT_LEARNED] == 0 && results.items[0].coverage_ratio == 0);
                before = time->value;
                checked++;
            }
            ft_results_free(&results);
        }
    }
    assert_true(checked > 6 * 20);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shares_add_up_on_every_bundled_device),
        cmocka_unit_test(nothing_is_learned_on_an_imaginary_gpu),
        cmocka_unit_test(nothing_is_learned_on_devices_without_measurements),
        cmocka_unit_test(notes_name_the_mode_without_measurements),
        cmocka_unit_test(notes_have_the_share_of_unknown_kernels),
        cmocka_unit_test(half_precision_weights_change_no_answer),
        cmocka_unit_test(accelerators_of_integers_assume_them),
        cmocka_unit_test(narrower_types_are_no_slower),
        cmocka_unit_test(small_model_on_a_gpu_is_bound_by_launches),
        cmocka_unit_test(assumed_overhead_is_bound_by_launches),
    };
    return cmocka_run_group_tests_name("forecast/provenance", tests, set_up, tear_down);
}
