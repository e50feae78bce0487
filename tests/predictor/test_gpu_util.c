/* Tests of the utilisation of GPUs: kernels of a step, arithmetic, and a family fitted to made-up trainings. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data/import.h"
#include "foretell/foretell.h"
#include "predictor/core/predictor.h"
#include "predictor/utilisation/util_model.h"
#include "support/folder.h"
#include "support/small_set.h"

enum { ROWS = 160 };

/* Trainings of two linear layers, busy as arithmetic with made-up constants says. */
static double busy_of(int width, int batch) {
    double kernels = 60 + 6.0 * batch * width * width / 1e6, loader = 500 + 3.0 * batch;
    return kernels / (kernels + loader);
}

static void write_trainings(void) {
    static char text[ROWS * 400];
    size_t used =
        (size_t)snprintf(text, sizeof text, "Filename,Activations-Params,Batch Size,Avg GPUTL,Avg SMACT,Avg SMOCC\n");
    for (int i = 0; i < ROWS; i++) {
        int width = 64 + 37 * (i % 40), batch = 8 + 61 * (i / 10);
        double busy = busy_of(width, batch);
        used +=
            (size_t)snprintf(text + used, sizeof text - used,
                             "input:%d_arch:%s_batch:%d.out,\"[('linear', %d, %d), ('ReLU', %d, 0), ('dropout', %d, "
                             "0), ('linear', %d, %d)]\",%d,%.6f,%.6f,%.6f\n",
                             width, i % 3 == 0 ? "one" : "two", batch, width, (width + 1) * width, width, width, width,
                             (width + 1) * width, batch, 100 * busy, 0.8 * busy, 0.3 * busy);
    }
    write_text("in.csv", text);
    ft_error error;
    if (ft_import("mlp", "in.csv", "set", NULL, NULL, &error) != FT_OK) fail_msg("%s", error.message);
}

static ft_predictor *trained(const char *run, uint32_t threads) {
    char path[64];
    ft_error error;
    ft_dataset *data = open_set("set");
    ft_predictor *predictor;
    ft_train_options options = ft_train_options_default();
    options.family = "gpu-util";
    options.metric = "gpu_util_ratio,sm_active_ratio,sm_occupancy_ratio";
    options.split = "random";
    options.config = "{\"rounds\": 20}";
    options.threads = threads;
    if (ft_train(data, run, &options, NULL, &error) != FT_OK) fail_msg("%s", error.message);
    ft_dataset_free(data);
    snprintf(path, sizeof path, "%s/predictor.ftm", run);
    if (ft_predictor_open(path, &predictor, &error) != FT_OK) fail_msg("%s", error.message);
    return predictor;
}

static ft_status ask(const ft_predictor *predictor, const ft_request *request, ft_result *result, ft_error *error) {
    ft_graph *graph, *bound = NULL;
    if (mlp_graph("[('linear', 512, 262656), ('ReLU', 512, 0), ('linear', 512, 262656)]", &graph, error) != FT_OK ||
        ft_graph_bind(graph, &(ft_binding){.batch = 256}, &bound, error) != FT_OK)
        fail_msg("%s", error->message);
    ft_status status = ft_predictor_predict(predictor, bound, request, result, error);
    ft_graph_free(bound);
    ft_graph_free(graph);
    return status;
}

static ft_metric_result metric_of(const ft_predictor *predictor, const ft_request *request, const char *metric) {
    ft_result result;
    ft_error error;
    if (ask(predictor, request, &result, &error) != FT_OK) fail_msg("%s", error.message);
    const ft_metric_result *found = ft_result_metric(&result, metric);
    assert_non_null(found);
    ft_metric_result copy = *found;
    ft_result_free(&result);
    return copy;
}

static void utilisation_is_learned(void **state) {
    (void)state;
    write_trainings();
    ft_predictor *p = trained("run", 1);
    const ft_request known = {.device = "a100", .mode = FT_TRAIN, .dtype = FT_FLOAT32, .setting = "loader=inline"};
    ft_metric_result busy = metric_of(p, &known, "gpu_util_ratio"), active = metric_of(p, &known, "sm_active_ratio");
    assert_true(fabs(busy.value - busy_of(512, 256)) < 0.06);
    assert_true(active.value < busy.value);
    assert_true(busy.lo < busy.value && busy.value < busy.hi);
    /* Batches that are ready were not measured; the GPU waits for its host. */
    ft_request ready = known;
    ready.setting = "loader=none;launch_us=1";
    ft_metric_result other = metric_of(p, &ready, "gpu_util_ratio");
    assert_true(other.hi / other.lo > 1 && other.provenance == FT_EXTRAPOLATED);
    ready.setting = "loader=none;launch_us=1000";
    ft_metric_result waiting = metric_of(p, &ready, "gpu_util_ratio");
    assert_true(waiting.value < 0.5 * other.value);
    ft_predictor_free(p);
}

static void unknown_devices_and_settings_are_refused(void **state) {
    (void)state;
    write_trainings();
    ft_predictor *p = trained("run", 1);
    ft_request request = {.device = "a100", .mode = FT_TRAIN, .dtype = FT_FLOAT32, .setting = "loader=slow"};
    ft_result result;
    ft_error error;
    assert_int_equal(ask(p, &request, &result, &error), FT_ERR_USAGE);
    assert_non_null(strstr(error.message, "'inline' or 'none'"));
    request = (ft_request){.device = "cortex-a76", .mode = FT_INFER};
    assert_int_equal(ask(p, &request, &result, &error), FT_ERR_UNSUPPORTED);
    request = (ft_request){.device = "h100-sxm", .mode = FT_INFER};
    assert_int_equal(ask(p, &request, &result, &error), FT_OK); /* by its data sheet */
    ft_result_free(&result);
    ft_predictor_free(p);
}

static void threads_do_not_change_the_file(void **state) {
    (void)state;
    write_trainings();
    ft_predictor_free(trained("one", 1));
    ft_predictor_free(trained("two", 3));
    FILE *a = fopen("one/predictor.ftm", "rb"), *b = fopen("two/predictor.ftm", "rb");
    assert_non_null(a);
    assert_non_null(b);
    int first, second;
    do {
        first = fgetc(a);
        second = fgetc(b);
        assert_int_equal(first, second);
    } while (first != EOF);
    fclose(a);
    fclose(b);
}

/* --- Kernels ------------------------------------------------------------------------------------------------- */

static util_totals totals_at(int64_t batch, ft_mode mode, const char *device) {
    ft_graph *graph, *bound;
    ft_rules *rules;
    ft_device *sheet;
    ft_error error;
    model_view view;
    util_step step;
    util_device rates;
    util_totals totals;
    const ft_request request = {.mode = mode, .dtype = FT_FLOAT32};
    assert_int_equal(mlp_graph("[('linear', 512, 262656), ('dropout', 512, 0)]", &graph, &error), FT_OK);
    assert_int_equal(ft_graph_bind(graph, &(ft_binding){.batch = batch}, &bound, &error), FT_OK);
    assert_int_equal(ft_rules_open("torch-eager", &rules, &error), FT_OK);
    assert_int_equal(ft_device_open(device, &sheet, &error), FT_OK);
    assert_int_equal(util_device_read(sheet, &rates, &error), FT_OK);
    model_view_init(&view, bound, &request);
    assert_int_equal(util_step_make(&view, rules, &step, &error), FT_OK);
    util_totals_of(&step, &rates, &totals);
    model_view_free(&view);
    ft_device_free(sheet);
    ft_rules_free(rules);
    ft_graph_free(bound);
    ft_graph_free(graph);
    return totals;
}

static void a_step_has_the_kernels_of_pytorch(void **state) {
    (void)state;
    util_totals t = totals_at(64, FT_TRAIN, "a100"), infer = totals_at(64, FT_INFER, "a100");
    const util_sums *forward = t.sums[UTIL_FORWARD], *backward = t.sums[UTIL_BACKWARD];
    assert_true(forward[UTIL_PRODUCT].launches == 1);
    assert_true(forward[UTIL_DROPOUT].launches == 1);
    assert_true(backward[UTIL_WEIGHT_GRADIENT].launches == 1);
    assert_true(backward[UTIL_DATA_GRADIENT].launches == 0); /* the input needs no gradient */
    assert_true(backward[UTIL_BIAS_GRADIENT].launches == 1);
    assert_true(t.sums[UTIL_UPDATE][UTIL_OPTIMIZER].launches > 0);
    assert_true(t.flops == 2 * 2.0 * 64 * 512 * 512);
    assert_true(infer.launches == 1 && infer.flops == t.flops / 2);
}

static void larger_products_fill_more_of_the_gpu(void **state) {
    (void)state;
    util_sums small = totals_at(32, FT_INFER, "a100").sums[UTIL_FORWARD][UTIL_PRODUCT];
    util_sums large = totals_at(65536, FT_INFER, "a100").sums[UTIL_FORWARD][UTIL_PRODUCT];
    assert_true(small.filled_launches < 1);
    assert_true(large.filled_launches > 0.9);
    assert_true(large.resident_launches > small.resident_launches);
    assert_true(large.time >= 2.0 * 65536 * 512 * 512 / 19.5e12); /* the peak of the data sheet */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(utilisation_is_learned, folder_enter, folder_leave),
        cmocka_unit_test_setup_teardown(unknown_devices_and_settings_are_refused, folder_enter, folder_leave),
        cmocka_unit_test_setup_teardown(threads_do_not_change_the_file, folder_enter, folder_leave),
        cmocka_unit_test(a_step_has_the_kernels_of_pytorch),
        cmocka_unit_test(larger_products_fill_more_of_the_gpu),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
