/* Tests of measuring with a library that takes the place of ONNX Runtime (standin/onnxruntime.c). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "foretell/foretell.h"
#include "support/folder.h"
#include "support/onnx_model.h"

static char standin[PATH_MAX];
static onnx_model *model;
static ft_graph *graph;

/* Beside the folder of the test program: build/tests/measure and build/standin. */
static void find_standin(void) {
    char program[PATH_MAX - 64];
    ssize_t size = readlink("/proc/self/exe", program, sizeof program - 1);
    assert_true(size > 0);
    program[size] = '\0';
    for (int i = 0; i < 2; i++) *strrchr(program, '/') = '\0';
    snprintf(standin, sizeof standin, "%s/standin/libonnxruntime_standin.so", program);
}

static int set_up(void **state) {
    if (folder_enter(state) != 0) return -1;
    find_standin();
    model = onnx_model_new();
    onnx_input(model, model->graph, "input", ONNX_FLOAT, "N,4");
    onnx_node(model, model->graph, "Relu", "input", "output");
    onnx_output(model, model->graph, "output", ONNX_FLOAT, NULL);
    graph = onnx_model_read(model);
    FILE *file = fopen("m.onnx", "w");
    if (file == NULL || fwrite(model->bytes, 1, model->size, file) != model->size) return -1;
    fclose(file);
    return setenv("FORETELL_ORT", standin, 1);
}

static int tear_down(void **state) {
    ft_graph_free(graph);
    onnx_model_free(model);
    unsetenv("FORETELL_ORT");
    unsetenv("STANDIN_MODE");
    return folder_leave(state);
}

static ft_status measure(int64_t batch, const ft_measure_options *options, ft_measurement *m, ft_error *error) {
    ft_binding binding = {.batch = batch};
    ft_graph *bound;
    assert_int_equal(ft_graph_bind(graph, &binding, &bound, error), FT_OK);
    ft_status status = ft_measure_model("m.onnx", bound, options, m, error);
    ft_graph_free(bound);
    return status;
}

static ft_measure_options quick(void) {
    ft_measure_options options = ft_measure_options_default();
    options.seconds = 0.05;
    return options;
}

static void test_a_model_is_measured(void **state) {
    (void)state;
    ft_measure_options options = quick();
    ft_measurement m;
    ft_error error;
    if (measure(8, &options, &m, &error) != FT_OK) fail_msg("%s", error.message);
    assert_int_equal(m.batch, 8);
    assert_true(m.runs >= 1 && m.cpu_us >= 190 && m.time_us >= m.cpu_us * 0.95);
    assert_true(m.time_median_us >= m.time_us && m.cpu_median_us >= m.cpu_us && m.resident_bytes > 0);
    assert_null(m.nodes);
    ft_measurement_free(&m);
}

static void test_nodes_come_from_the_profile(void **state) {
    (void)state;
    ft_measure_options options = quick();
    options.has_layers = true;
    ft_measurement m;
    ft_error error;
    if (measure(1, &options, &m, &error) != FT_OK) fail_msg("%s", error.message);
    assert_int_equal(m.node_count, 2);
    assert_string_equal(m.nodes[0].name, "first");
    assert_string_equal(m.nodes[0].op, "Conv");
    assert_true(m.nodes[0].time_us == 110 && m.nodes[1].time_us == 90);
    ft_measurement_free(&m);
}

static void expect(const char *mode, ft_status status, const char *message) {
    ft_measure_options options = quick();
    ft_measurement m;
    ft_error error;
    setenv("STANDIN_MODE", mode, 1);
    assert_int_equal(measure(1, &options, &m, &error), status);
    if (strstr(error.message, message) == NULL) fail_msg("%s: %s", mode, error.message);
}

static void test_failures_of_the_runtime_are_messages(void **state) {
    (void)state;
    expect("refuse", FT_ERR_UNSUPPORTED, "no kernel for the operator Nonsense");
    expect("memory", FT_ERR_NOMEM, "bad_alloc");
    expect("crash", FT_ERR_UNSUPPORTED, "ONNX Runtime crashed: Aborted");
    expect("killed", FT_ERR_NOMEM, "most likely because memory was exhausted");
    expect("old", FT_ERR_UNSUPPORTED, "is too old: 1.14 or later is needed");
}

static void test_outputs_without_numbers_are_noise(void **state) {
    (void)state;
    ft_measure_options options = quick();
    ft_measurement m;
    setenv("STANDIN_MODE", "nan", 1);
    assert_int_equal(measure(1, &options, &m, NULL), FT_OK);
    assert_int_equal(m.noise, FT_NOISE_NAN);
    ft_measurement_free(&m);
}

static void test_wrong_options_are_refused(void **state) {
    (void)state;
    ft_measure_options many = quick(), none = quick(), slow = quick(), absent = quick();
    ft_measurement m;
    ft_error error;
    many.threads = 100000;
    none.threads = 0;
    slow.seconds = NAN;
    absent.runtime = "absent.so";
    assert_int_equal(measure(1, &many, &m, &error), FT_ERR_USAGE);
    assert_non_null(strstr(error.message, "100000 threads cannot be measured"));
    assert_int_equal(measure(1, &none, &m, &error), FT_ERR_USAGE);
    assert_int_equal(measure(1, &slow, &m, &error), FT_ERR_USAGE);
    assert_int_equal(measure(1, &absent, &m, &error), FT_ERR_UNSUPPORTED);
    assert_non_null(strstr(error.message, "absent.so: no such file"));
    assert_int_equal(ft_measure_model("m.onnx", graph, &slow, &m, &error), FT_ERR_USAGE);
    assert_int_equal(ft_measure_model(NULL, graph, &slow, &m, &error), FT_ERR_USAGE);
    ft_measurement_free(NULL);
}

static void test_rows_are_whole_lines(void **state) {
    (void)state;
    ft_measured_row row = {.model = "a,b.onnx", .device = "here", .runtime = "onnxruntime-cpu", .shape = "length=3"};
    row.measurement = (ft_measurement){.batch = 2, .threads = 4, .runs = 9, .time_us = 1.5, .time_median_us = 2};
    row.measurement.cpu_us = row.measurement.cpu_median_us = 3;
    row.measurement.resident_bytes = 4096;
    FILE *stream = fopen("t.csv", "w");
    assert_int_equal(ft_measurements_csv_row(stream, &row, NULL), FT_OK);
    folder_expect("t.csv", "\"a,b.onnx\",here,2,infer,length=3,threads=4,1.500,2.000,3.000,3.000,4096,9,no\n");
    fclose(stream);
    stream = fopen("/dev/full", "w");
    ft_error error;
    assert_int_equal(ft_measurements_csv_row(stream, &row, &error), FT_ERR_IO);
    fclose(stream);
}

#define MEASURE_TEST(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        MEASURE_TEST(test_a_model_is_measured),
        MEASURE_TEST(test_nodes_come_from_the_profile),
        MEASURE_TEST(test_failures_of_the_runtime_are_messages),
        MEASURE_TEST(test_outputs_without_numbers_are_noise),
        MEASURE_TEST(test_wrong_options_are_refused),
        MEASURE_TEST(test_rows_are_whole_lines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
