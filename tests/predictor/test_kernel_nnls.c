/* "kernel-nnls" recovers the unit costs that generated the times, and covers kernels that were not in training. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "predictor/baseline/kernel_nnls.h"
#include "predictor/core/model_view.h"
#include "predictor/core/predictor.h"
#include "support/fitted.h"
#include "support/folder.h"
#include "support/toy.h"

/* Launches of a kind cost by its name, convolutions besides by their FLOPs and the rest by their bytes. */
static double time_of(const ft_graph *bound, const char *device) {
    ft_rules *rules = NULL;
    ft_kernels kernels = {0};
    ft_cost_options options = ft_cost_options_default();
    ft_cost cost = {0};
    assert_int_equal(ft_rules_open(device[0] == 'a' ? "tflite-gpu" : "tflite-cpu", &rules, NULL), FT_OK);
    assert_int_equal(ft_cost_compute(bound, &options, &cost, NULL), FT_OK);
    assert_int_equal(ft_graph_fuse(bound, rules, &kernels, NULL), FT_OK);
    double sum = device[0] == 'a' ? 3 : 9;
    for (uint32_t i = 0; i < kernels.count; i++) {
        kind_row row;
        kind_row_of(bound, &cost, &kernels, i, &row);
        bool is_conv = strncmp(row.kind, "conv", 4) == 0;
        sum += (double)strlen(row.kind) + (is_conv ? 1e-4 * row.amounts[1] : 1e-3 * row.amounts[2]);
    }
    ft_kernels_free(&kernels);
    ft_cost_free(&cost);
    ft_rules_free(rules);
    return sum;
}

static void unit_costs_are_recovered(void **state) {
    (void)state;
    fitted f = fit_synth("kernel-nnls", time_of, "{\"ridge\": 1e-9}");
    fitted_check(&f, 1e-3);
    fitted_check_threads(&f, "{\"ridge\": 1e-9}");
    fitted_check_refusals(&f);
    fitted_free(&f);
}

static void kinds_have_windows(void **state) {
    (void)state;
    ft_graph *graph = synth_network(3), *bound = NULL; /* 3x3, 5x5, 1x1, 3x3 */
    ft_rules *rules = NULL;
    ft_kernels kernels = {0};
    ft_cost_options options = ft_cost_options_default();
    ft_cost cost = {0};
    assert_int_equal(ft_graph_bind(graph, NULL, &bound, NULL), FT_OK);
    assert_int_equal(ft_rules_open("tflite-cpu", &rules, NULL), FT_OK);
    assert_int_equal(ft_cost_compute(bound, &options, &cost, NULL), FT_OK);
    assert_int_equal(ft_graph_fuse(bound, rules, &kernels, NULL), FT_OK);
    const char *const expected[] = {"conv-relu:3", "conv:5", "conv-relu:1", "conv:3", "maxpool:2"};
    assert_true(kernels.count > 5);
    for (uint32_t i = 0; i < 5; i++) {
        kind_row row;
        kind_row_of(bound, &cost, &kernels, i, &row);
        assert_string_equal(row.kind, expected[i]);
        assert_true(row.amounts[0] == 1 && row.amounts[2] > 0);
        assert_int_equal(row.amounts[3] > 0, i < 4);
    }
    ft_kernels_free(&kernels);
    ft_cost_free(&cost);
    ft_rules_free(rules);
    ft_graph_free(bound);
    ft_graph_free(graph);
}

/* The kind of an average pool with this window over a map of 8x8. */
static void kind_of_pool(int window, char kind[KIND_BYTES]) {
    ft_graph *graph = toy_graph(FT_FORMAT_ONNX, FT_NCHW);
    uint32_t x = toy_input(graph, 1, 4, 8, 8);
    uint32_t y = toy_op(graph, "AveragePool", x, FT_NONE, FT_NONE, toy_value(graph, 1, 4, 9 - window, 9 - window));
    ft_attr attr = toy_ints(graph, "kernel_shape", window, window);
    toy_attrs(graph, &attr, 1);
    toy_finish(graph, y, 1, 1);
    ft_rules *rules = NULL;
    ft_kernels kernels = {0};
    ft_cost_options options = ft_cost_options_default();
    ft_cost cost = {0};
    kind_row row;
    assert_int_equal(ft_rules_open("tflite-cpu", &rules, NULL), FT_OK);
    assert_int_equal(ft_cost_compute(graph, &options, &cost, NULL), FT_OK);
    assert_int_equal(ft_graph_fuse(graph, rules, &kernels, NULL), FT_OK);
    kind_row_of(graph, &cost, &kernels, 0, &row);
    memcpy(kind, row.kind, KIND_BYTES);
    ft_kernels_free(&kernels);
    ft_cost_free(&cost);
    ft_rules_free(rules);
    ft_graph_free(graph);
}

static void a_pool_over_all_has_no_window(void **state) {
    (void)state;
    char kind[KIND_BYTES];
    kind_of_pool(3, kind);
    assert_string_equal(kind, "avgpool:3");
    kind_of_pool(8, kind);
    assert_string_equal(kind, "avgpool");
}

static double spread_of(const fitted *f, const ft_graph *bound) {
    model_view view;
    arena memory;
    model_output out;
    ft_error error;
    const target_device target = predictor_target(f->opened, predictor_device_index(f->opened, "cortex-a76"));
    arena_init(&memory, 1 << 20);
    model_view_init(&view, bound, &(ft_request){.mode = FT_INFER});
    const predict_input in = {.view = &view, .target = &target, .memory = &memory};
    assert_int_equal(predictor_predict(f->opened, &in, &out, &error), FT_OK);
    model_view_free(&view);
    arena_free(&memory);
    return out.spread;
}

static void unknown_kernels_have_pooled_unit_costs(void **state) {
    (void)state;
    fitted f = fit_synth("kernel-nnls", time_of, NULL);
    ft_graph *graph = toy_graph(FT_FORMAT_ONNX, FT_NCHW);
    uint32_t x = toy_input(graph, 64, 64);
    uint32_t y = toy_op(graph, "Softmax", x, FT_NONE, FT_NONE, toy_value(graph, 64, 64));
    toy_finish(graph, toy_op(graph, "Oracle", y, FT_NONE, FT_NONE, toy_value(graph, 64, 64)), 1, 1);
    ft_result answer;
    ft_error error;
    assert_int_equal(ft_predictor_predict(f.opened, graph, &(ft_request){.device = "cortex-a76"}, &answer, &error),
                     FT_OK);
    assert_true(answer.coverage_ratio == 0);
    assert_int_equal(answer.metrics[0].part_count, 3);
    assert_true(answer.metrics[0].parts[0].value > 0 && answer.metrics[0].parts[1].value > 0);
    assert_string_equal(answer.metrics[0].parts[2].type, "start");
    ft_result_free(&answer);
    assert_true(spread_of(&f, graph) == 26); /* times the interval of kernels like those of training */
    ft_graph_free(graph);
    ft_graph *network = synth_network(3), *known = NULL;
    assert_int_equal(ft_graph_bind(network, NULL, &known, &error), FT_OK);
    assert_true(spread_of(&f, known) == 1);
    ft_graph_free(known);
    ft_graph_free(network);
    fitted_free(&f);
}

static void damaged_models_are_refused(void **state) {
    (void)state;
    fitted f = fit_synth("kernel-nnls", time_of, NULL);
    fitted_refuses(&f, "{}", 0, "must have the parameters");
    fitted_refuses(&f, "{\"runtimes\": [\"tflite-cpu\"], \"kinds\": []}", 0, "'runtimes': must be a list of 2");
    fitted_refuses(&f, "{\"runtimes\": [\"tflite-cpu\", \"tflite-cpu\"], \"kinds\": 1}", 0, "'kinds': must be a list");
    fitted_refuses(&f, "{\"runtimes\": [\"tflite-cpu\", \"tflite-cpu\"], \"kinds\": [1]}", 0, "'kinds': item 1");
    fitted_refuses(&f, "{\"runtimes\": [\"tflite-cpu\", \"tflite-cpu\"], \"kinds\": [\"a\", \"a\"]}", 0, "twice");
    fitted_refuses(&f, "{\"runtimes\": [\"tflite-cpu\", \"tflite-cpu\"], \"kinds\": [\"a\"]}", 0,
                   "numbers; 10 for each");
    fitted_refuses(&f, NULL, 1, "numbers;");
    fitted_refuses(&f, NULL, -1, "numbers;");
    fitted_free(&f);
}

static void memory_runs_out(void **state) {
    (void)state;
    fitted_check_memory("kernel-nnls", time_of);
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, folder_enter, folder_leave)

int main(void) {
    const struct CMUnitTest tests[] = {IN_FOLDER(unit_costs_are_recovered),
                                       cmocka_unit_test(kinds_have_windows),
                                       cmocka_unit_test(a_pool_over_all_has_no_window),
                                       IN_FOLDER(unknown_kernels_have_pooled_unit_costs),
                                       IN_FOLDER(damaged_models_are_refused),
                                       IN_FOLDER(memory_runs_out)};
    return cmocka_run_group_tests_name("predictor/kernel_nnls", tests, NULL, NULL);
}
