/* Requests and what is told of them. */
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

static ft_predictor_set *box;
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
        ft_predictor_set_open(bundle, 1, &box, NULL) != FT_OK)
        return 1;
    model = make_model();
    return 0;
}

static int tear_down(void **state) {
    ft_graph_free(model);
    ft_predictor_set_free(box);
    return folder_leave(state);
}

static ft_results ask(ft_request request) {
    ft_results answers = {0};
    ft_error error;
    if (ft_predict(box, model, NULL, &request, 1, &answers, &error) != FT_OK) fail_msg("%s", error.message);
    assert_int_equal(answers.count, 1);
    return answers;
}

static bool has_note(const ft_result *f, const char *part) {
    for (uint32_t i = 0; i < f->note_count; i++)
        if (strstr(f->notes[i], part) != NULL) return true;
    return false;
}

static double sum_of(const ft_part *parts, uint32_t count) {
    double sum = 0;
    for (uint32_t i = 0; i < count; i++) sum += parts[i].value;
    return sum;
}

static void a_device_that_is_known(void **state) {
    (void)state;
    ft_results answers = ask((ft_request){.device = "adreno640gpu", .batch = 4, .setting = "layout=nhwc"});
    const ft_result *f = &answers.items[0];
    assert_string_equal(f->request.device, "adreno-640");
    assert_string_equal(f->request.setting, "layout=nhwc");
    assert_int_equal(f->request.dtype, FT_FLOAT32);
    assert_int_equal(f->request.batch, 4);
    double expected = 10 + 0.5 * (4 * (2 * MACS + 8));
    assert_true(f->time.value == expected);
    assert_true(fabs(f->time.hi - 2 * expected) < 1e-6 && fabs(f->time.lo - expected / 2) < 1e-6);
    assert_string_equal(f->time_by, "both.ftm");
    assert_true(has_note(f, "the setting 'layout=nhwc' is not looked at"));
    assert_null(f->no_time);
    assert_non_null(f->no_util);
    assert_int_equal(f->other_count, 1);
    assert_string_equal(f->others[0].metric, "cycles");
    assert_true(f->others[0].value == 100 + 2 * (4 * (2 * MACS + 8)));
    /* Nobody predicts memory: it is the timeline. */
    assert_string_equal(f->memory_by, "timeline");
    assert_int_equal(f->memory.source, FT_ANALYTIC);
    assert_true(isnan(f->memory.lo) && f->memory.value >= 4 * (16 * 8 + 4 * (16 + 8)));
    assert_true(sum_of(f->memory_parts, f->memory_part_count) == f->memory.value);
    /* Few operations, and a byte for each: traffic. */
    assert_int_equal(f->bound, FT_BOUND_MEMORY);
    assert_true(f->bound_ratio == 1);
    ft_results_free(&answers);
    ft_results_free(&answers);
    ft_results_free(NULL);
}

/* A predictor that sees types by their sizes alone is not as sure of one that nobody measured. */
static void a_type_that_nobody_measured(void **state) {
    (void)state;
    ft_results answers = ask((ft_request){.device = "adreno-640", .dtype = FT_INT8});
    const ft_result *f = &answers.items[0];
    assert_true(f->time.value > 0 && isnan(f->time.lo) && isnan(f->time.hi));
    assert_int_equal(f->time.source, FT_ASSUMED);
    assert_true(f->coverage_ratio == 0);
    assert_true(f->other_count == 1 && f->others[0].source == FT_ASSUMED && isnan(f->others[0].hi));
    assert_true(has_note(f, "nobody measured int8 on adreno-640"));
    ft_results_free(&answers);
    answers = ask((ft_request){.device = "adreno-640", .dtype = FT_FLOAT32});
    assert_int_equal(answers.items[0].time.source, FT_LEARNED);
    assert_int_equal(answers.items[0].note_count, 0);
    ft_results_free(&answers);
}

/* Whatever its floats are held in. */
static void a_quantised_model(void **state) {
    (void)state;
    ft_graph *usual = model;
    model = make_model();
    for (uint32_t i = 0; i < ft_graph_tensor_count(model); i++) model->tensors[i].dtype = FT_UINT8;
    ft_results answers = ask((ft_request){.device = "adreno-640"});
    assert_int_equal(answers.items[0].time.source, FT_ASSUMED);
    assert_true(has_note(&answers.items[0], "nobody measured int8 on adreno-640"));
    ft_results_free(&answers);
    ft_graph_free(model);
    model = usual;
}

/* Told by a predictor of it in the same file; a share is never more than 1. */
static void utilisation_where_it_is_known(void **state) {
    (void)state;
    flops_file_write("util.ftm", "util_ratio", 0.5F, 1);
    const char *files[] = {"times.ftm", "util.ftm"}, *bundle[] = {"busy.ftm"};
    ft_predictor_set *usual = box;
    assert_int_equal(ft_predictor_bundle(files, 2, "busy.ftm", NULL), FT_OK);
    assert_int_equal(ft_predictor_set_open(bundle, 1, &box, NULL), FT_OK);
    ft_results answers = ask((ft_request){.device = "adreno-640"});
    const ft_result *f = &answers.items[0];
    assert_null(f->no_util);
    assert_int_equal(f->other_count, 1);
    assert_string_equal(f->others[0].metric, "util_ratio");
    assert_true(f->others[0].value == 1 && f->others[0].hi == 1);
    ft_results_free(&answers);
    ft_predictor_set_free(box);
    box = usual;
}

/* A predictor that tells each memory of the device tells the memory: they add up, the ends of their intervals too. */
static void memories_of_the_device_add_up(void **state) {
    (void)state;
    flops_file_write("flash.ftm", "flash_bytes", 1000, 1);
    flops_file_write("sram.ftm", "sram_bytes", 100, 2);
    const char *files[] = {"times.ftm", "flash.ftm", "sram.ftm"}, *bundle[] = {"planned.ftm"};
    ft_predictor_set *usual = box;
    assert_int_equal(ft_predictor_bundle(files, 3, "planned.ftm", NULL), FT_OK);
    assert_int_equal(ft_predictor_set_open(bundle, 1, &box, NULL), FT_OK);
    ft_results answers = ask((ft_request){.device = "adreno-640"});
    const ft_result *f = &answers.items[0];
    double work = 2 * MACS + 8, expected = 1100 + 3 * work;
    assert_true(f->memory.value == expected);
    assert_true(fabs(f->memory.lo - expected / 2) < 1e-6 && fabs(f->memory.hi - 2 * expected) < 1e-6);
    assert_string_equal(f->memory_by, "planned.ftm");
    assert_int_equal(f->memory.source, FT_LEARNED);
    assert_int_equal(f->memory_part_count, 2);
    assert_string_equal(f->memory_parts[0].type, "sram");
    assert_true(f->memory_parts[0].value == 100 + 2 * work);
    assert_string_equal(f->memory_parts[1].type, "flash");
    assert_int_equal(f->other_count, 2);
    ft_results_free(&answers);
    ft_predictor_set_free(box);
    box = usual;
}

static void a_device_of_the_predictor_alone(void **state) {
    (void)state;
    ft_results answers = ask((ft_request){.device = "mine"});
    const ft_result *f = &answers.items[0];
    assert_string_equal(f->request.device, "mine");
    assert_true(f->time.value == 10 + 0.5 * (2 * MACS + 8) && isnan(f->time.lo));
    assert_int_equal(f->bound, FT_BOUND_UNKNOWN);
    ft_results_free(&answers);
}

static void a_device_by_its_data_sheet(void **state) {
    (void)state;
    ft_results answers = ask((ft_request){.device = "rtx-3090", .batch = 1024});
    const ft_result *f = &answers.items[0];
    assert_string_equal(f->time_by, "roofline");
    assert_int_equal(f->time.source, FT_ANALYTIC);
    assert_int_equal(f->request.dtype, FT_FLOAT16);
    assert_true(f->time.value > 0 && isnan(f->time.hi));
    assert_true(fabs(sum_of(f->kernels, f->kernel_count) - f->time.value) < 1e-9 * f->time.value);
    assert_non_null(f->kernel_bounds);
    assert_true(has_note(f, "no predictor has seen inference on rtx-3090"));
    ft_results_free(&answers);
}

static void a_mode_that_nobody_measured(void **state) {
    (void)state;
    ft_results answers = ask((ft_request){.device = "adreno-640", .mode = FT_TRAIN, .optimizer = FT_ADAM});
    const ft_result *f = &answers.items[0];
    assert_string_equal(f->time_by, "roofline");
    assert_true(has_note(f, "training on adreno-640"));
    ft_results plain = ask((ft_request){.device = "adreno-640", .mode = FT_TRAIN, .optimizer = FT_SGD});
    assert_true(f->memory.value > plain.items[0].memory.value);
    ft_results_free(&plain);
    ft_results_free(&answers);
    /* Neither a predictor nor a data sheet. */
    answers = ask((ft_request){.device = "mine", .mode = FT_TRAIN});
    assert_true(isnan(answers.items[0].time.value));
    assert_non_null(answers.items[0].no_time);
    ft_results_free(&answers);
}

static void many_at_once(void **state) {
    (void)state;
    ft_request requests[6];
    for (int i = 0; i < 6; i++)
        requests[i] = (ft_request){.device = i % 2 == 0 ? "adreno-640" : "mine", .batch = 1 + i / 2};
    ft_results answers;
    ft_error error;
    if (ft_predict(box, model, NULL, requests, 6, &answers, &error) != FT_OK) fail_msg("%s", error.message);
    for (int i = 0; i < 6; i++) {
        ft_results alone = ask(requests[i]);
        assert_true(alone.items[0].time.value == answers.items[i].time.value);
        assert_true(alone.items[0].memory.value == answers.items[i].memory.value);
        ft_results_free(&alone);
    }
    ft_results_free(&answers);
}

static void what_cannot_be_answered(void **state) {
    (void)state;
    ft_results answers = {0};
    ft_error error;
    assert_int_equal(ft_predict(box, model, NULL, &(ft_request){.device = "abacus"}, 1, &answers, &error),
                     FT_ERR_USAGE);
    assert_non_null(strstr(error.message, "abacus"));
    assert_int_equal(ft_predict(box, model, NULL, &(ft_request){0}, 1, &answers, &error), FT_ERR_USAGE);
    assert_int_not_equal(
        ft_predict(box, model, NULL, &(ft_request){.device = "mine", .batch = -3}, 1, &answers, &error), FT_OK);
    assert_null(answers.owner);
}

static void memory_runs_out(void **state) {
    (void)state;
    const ft_request requests[] = {{.device = "adreno-640"}, {.device = "rtx-3090", .batch = 2}};
    for (long n = 0;; n++) {
        ft_results answers = {0};
        failing_start(n);
        ft_status status = ft_predict(box, model, NULL, requests, 2, &answers, NULL);
        bool has_failed = failing_stop();
        ft_results_free(&answers);
        if (!has_failed) break;
        assert_int_not_equal(status, FT_OK);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_device_that_is_known),
        cmocka_unit_test(a_type_that_nobody_measured),
        cmocka_unit_test(a_quantised_model),
        cmocka_unit_test(utilisation_where_it_is_known),
        cmocka_unit_test(memories_of_the_device_add_up),
        cmocka_unit_test(a_device_of_the_predictor_alone),
        cmocka_unit_test(a_device_by_its_data_sheet),
        cmocka_unit_test(a_mode_that_nobody_measured),
        cmocka_unit_test(many_at_once),
        cmocka_unit_test(what_cannot_be_answered),
        cmocka_unit_test(memory_runs_out),
    };
    return cmocka_run_group_tests_name("forecast/forecast", tests, set_up, tear_down);
}
