/* Tests of the output of a run whose model predicts several metrics, and of test records that it does not support. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include <jansson.h>

#include "base/input.h"
#include "foretell/adapt.h"
#include "foretell/learn.h"
#include "support/failing.h"
#include "support/folder.h"
#include "support/toy.h"
#include "support/toy_data.h"

static const char *const settings[] = {"hidden=16", "steps=300", "check=50", "batch=16", "rate=0.01"};

static ft_train_options usual(const char *family, const char *metric) {
    ft_train_options options = ft_train_options_default();
    options.family = family;
    options.metric = metric;
    options.split = "family:three";
    options.settings = settings;
    options.setting_count = sizeof settings / sizeof settings[0];
    options.threads = 1;
    return options;
}

static ft_evaluation train(const ft_dataset *data, const char *folder, const ft_train_options *options) {
    ft_evaluation tested;
    ft_error error;
    if (ft_train(data, folder, options, &tested, &error) != FT_OK) fail_msg("%s", error.message);
    return tested;
}

static ft_predictor *open_predictor(const char *path) {
    ft_predictor *p = NULL;
    ft_error error;
    if (ft_predictor_open(path, &p, &error) != FT_OK) fail_msg("%s", error.message);
    return p;
}

static void expect_text(const char *path, const char *part) {
    input in;
    ft_error error;
    assert_int_equal(input_open(path, 1 << 20, &in, &error), FT_OK);
    assert_non_null(memmem(in.bytes, in.size, part, strlen(part)));
    input_close(&in);
}

/* Times are hundreds, bytes millions: an answer for the other metric is nowhere near. */
static void expect_both(const ft_evaluation *e) {
    static const char *const metrics[] = {"time_us", "peak_bytes"};
    for (uint32_t i = 0; i < 2; i++, e = e->next) {
        assert_non_null(e);
        assert_string_equal(e->metric, metrics[i]);
        assert_int_equal(e->case_count, 40);
        assert_string_equal(e->scores[0].metric, metrics[i]);
        assert_true(e->scores[0].mape < 40);
        for (uint32_t c = 0; c < e->case_count; c++)
            assert_true(e->cases[c].lo < e->cases[c].predicted && e->cases[c].predicted < e->cases[c].hi);
    }
    assert_null(e);
}

static void one_model_of_two_metrics(void **state) {
    (void)state;
    ft_dataset *data = toy_data_open("data", &(toy_data){.has_memory = true});
    const ft_train_options options = usual("seernet-multi", "time_us,peak_bytes");
    ft_evaluation tested = train(data, "run", &options), again, one;
    expect_both(&tested);
    expect_text("run/config.json", "\"metric\": \"time_us,peak_bytes\"");
    expect_text("run/metrics.json", "\"also\": [");
    ft_predictor *p = open_predictor("run/predictor.ftm");
    const ft_predictor *second = ft_predictor_next(p);
    assert_string_equal(ft_predictor_metric(p), "time_us");
    assert_ptr_equal(ft_predictor_find(p, "peak_bytes"), second);
    assert_null(ft_predictor_next(second));
    assert_ptr_equal(ft_predictor_header(p), ft_predictor_header(second));
    ft_error error;
    ft_split split = {0};
    bool is_found;
    assert_int_equal(ft_predictor_split(second, data, &split, &is_found, &error), FT_OK);
    assert_true(is_found);
    ft_evaluate_options wanted = {.split = &split, .part = FT_PART_TEST};
    assert_int_equal(ft_evaluate(p, data, &wanted, &again, &error), FT_OK);
    expect_both(&again);
    assert_true(again.next->scores[0].mape == tested.next->scores[0].mape);
    wanted.metric = "peak_bytes";
    assert_int_equal(ft_evaluate(p, data, &wanted, &one, &error), FT_OK);
    assert_string_equal(one.metric, "peak_bytes");
    assert_null(one.next);
    assert_true(one.scores[0].mape == tested.next->scores[0].mape);
    ft_evaluation_free(&one);
    ft_evaluation_free(&again);
    ft_evaluation_free(&tested);
    ft_split_free(&split);
    ft_predictor_free(p);
    ft_dataset_free(data);
}

static void results_have_both_metrics(void **state) {
    (void)state;
    ft_dataset *data = toy_data_open("data", &(toy_data){.has_memory = true});
    const ft_train_options options = usual("digraph", "peak_bytes,time_us");
    ft_evaluation tested = train(data, "run", &options);
    ft_evaluation_free(&tested);
    ft_predictor *p = open_predictor("run/predictor.ftm");
    ft_graph *graph = toy_graph(FT_FORMAT_ONNX, FT_NCHW);
    toy_finish(graph, toy_op(graph, "Relu", toy_input(graph, 1, 8), FT_NONE, FT_NONE, toy_value(graph, 1, 8)), 1, 1);
    ft_result answer;
    ft_error error;
    assert_int_equal(ft_predictor_predict(p, graph, &(ft_request){.device = "cortex-a76"}, &answer, &error), FT_OK);
    assert_int_equal(answer.metric_count, 2);
    assert_string_equal(answer.metrics[0].metric, "peak_bytes");
    assert_true(answer.metrics[0].value > 1e5);
    assert_string_equal(answer.metrics[1].metric, "time_us");
    assert_true(answer.metrics[1].value < 1e4);
    ft_result_free(&answer);
    ft_graph_free(graph);
    /* Either can be adapted, and the file keeps both. */
    ft_adapt_options adapting = {.budget = 8, .threads = 1};
    for (uint32_t i = 0; i < 2; i++) {
        ft_adaptation adapted;
        adapting.metric = i == 0 ? "time_us" : "peak_bytes";
        if (ft_adapt(p, data, &adapting, "new.ftm", &adapted, &error) != FT_OK) fail_msg("%s", error.message);
        assert_string_equal(adapted.after.metric, adapting.metric);
        ft_adaptation_free(&adapted);
        ft_predictor_free(p);
        p = open_predictor("new.ftm");
        assert_string_equal(ft_predictor_metric(p), "peak_bytes");
        assert_string_equal(ft_predictor_metric(ft_predictor_next(p)), "time_us");
    }
    ft_predictor_free(p);
    for (long n = 0;; n++) {
        p = NULL;
        failing_start(n);
        ft_status status = ft_predictor_open("run/predictor.ftm", &p, &error);
        if (!failing_stop()) break;
        assert_int_equal(status, FT_ERR_NOMEM);
    }
    assert_non_null(p);
    ft_predictor_free(p);
    ft_dataset_free(data);
}

static void families_of_one_metric(void **state) {
    (void)state;
    ft_dataset *data = toy_data_open("data", &(toy_data){.has_memory = true});
    ft_train_options options = ft_train_options_default();
    ft_evaluation tested;
    ft_error error;
    options.family = "flops";
    options.metric = "time_us,peak_bytes";
    assert_int_equal(ft_train(data, "run", &options, &tested, &error), FT_ERR_USAGE);
    assert_non_null(strstr(error.message, "'flops' learns one metric at a time"));
    assert_int_equal(folder_count("run"), -1);
    ft_dataset_free(data);
}

/* Of the family that is tested, every second model was measured with a setting that training has not. */
static void unsupported_records_are_counted(void **state) {
    (void)state;
    ft_dataset *data = toy_data_open("data", &(toy_data){.odd_every = 6});
    const ft_train_options options = usual("seernet", "time_us");
    ft_evaluation tested = train(data, "run", &options), all;
    assert_int_equal(tested.case_count, 20);
    assert_int_equal(tested.refused, 20);
    assert_int_equal(tested.left_out, 20);
    assert_non_null(strstr(tested.refusal, "setting 'odd=1'"));
    assert_non_null(strstr(tested.refusal, "it was on infer float32"));
    for (uint32_t i = 0; i < tested.case_count; i++) assert_true(tested.cases[i].predicted > 0);
    ft_evaluation_free(&tested);
    ft_predictor *p = open_predictor("run/predictor.ftm");
    ft_error error;
    const ft_evaluate_options odd = {.setting = "odd=1"};
    assert_int_equal(ft_evaluate(p, data, &odd, &all, &error), FT_ERR_UNSUPPORTED);
    assert_non_null(strstr(error.message, "none of 20 records can be predicted: seernet was not trained on"));
    ft_predictor_free(p);
    ft_dataset_free(data);
}

/* --- Folds --------------------------------------------------------------------------------------------------- */

static const char *const fold_runs[] = {"fold-1", "fold-2", "fold-3"};

static void train_folds(const ft_dataset *data, const char *family) {
    static const char *const splits[] = {"fold:name:3:1", "fold:name:3:2", "fold:name:3:3"};
    for (uint32_t i = 0; i < 3; i++) {
        ft_train_options options = usual(family, "time_us");
        options.split = splits[i];
        options.setting_count = 0;
        ft_evaluation tested = train(data, fold_runs[i], &options);
        ft_evaluation_free(&tested);
    }
}

static ft_status train_with(const ft_dataset *data, const char *family, const char *const *runs, uint32_t count,
                            ft_error *error) {
    ft_evaluation tested;
    ft_train_options options = usual(family, "time_us");
    options.setting_count = 0;
    options.folds = runs;
    options.fold_count = count;
    ft_status status = ft_train(data, "run", &options, &tested, error);
    if (status == FT_OK) ft_evaluation_free(&tested);
    return status;
}

/* Every record is scored by the run that did not learn from it, and the error is the mean of these runs' errors. */
static void folds_give_scores_and_intervals(void **state) {
    (void)state;
    ft_dataset *data = toy_data_open("data", &(toy_data){0});
    ft_error error;
    double sum = 0, count = 0;
    train_folds(data, "flops");
    for (uint32_t i = 0; i < 3; i++) {
        ft_split split;
        bool is_found;
        ft_evaluation found;
        char path[32];
        snprintf(path, sizeof path, "%s/predictor.ftm", fold_runs[i]);
        ft_predictor *p = open_predictor(path);
        assert_int_equal(ft_predictor_split(p, data, &split, &is_found, &error), FT_OK);
        const ft_evaluate_options options = {.split = &split, .part = FT_PART_TEST};
        assert_int_equal(ft_evaluate(p, data, &options, &found, &error), FT_OK);
        assert_string_equal(found.scores[0].device, "adreno-640");
        sum += found.scores[0].n * found.scores[0].mape;
        count += found.scores[0].n;
        ft_evaluation_free(&found);
        ft_split_free(&split);
        ft_predictor_free(p);
    }
    assert_int_equal(train_with(data, "flops", fold_runs, 3, &error), FT_OK);
    ft_predictor *p = open_predictor("run/predictor.ftm");
    json_t *header = json_loads(ft_predictor_header(p), 0, NULL);
    const json_t *rows = json_object_get(header, "accuracy"), *row;
    assert_int_equal(json_array_size(rows), 2);
    size_t i;
    json_array_foreach(rows, i, row) {
        assert_int_equal(json_integer_value(json_object_get(row, "folds")), 3);
        assert_string_equal(json_string_value(json_object_get(row, "held_out")), "architectures");
        assert_int_equal(json_integer_value(json_object_get(row, "n")), 60);
        assert_true(json_number_value(json_object_get(row, "coverage90")) > 80);
        if (strcmp(json_string_value(json_object_get(row, "device")), "adreno-640") == 0)
            assert_true(fabs(json_number_value(json_object_get(row, "mape")) - sum / count) < 1e-6);
    }
    const json_t *calibration = json_object_get(json_object_get(header, "calibration"), "adreno-640");
    if (calibration != NULL) assert_int_equal(json_integer_value(json_object_get(calibration, "n")), 60);
    json_decref(header);
    ft_predictor_free(p);
    expect_text("run/config.json", "\"folds\": [");
    ft_dataset_free(data);
}

static void folds_that_do_not_fit_are_refused(void **state) {
    (void)state;
    static const char *const twice[] = {"fold-1", "fold-2", "fold-1"};
    static const char *const missing[] = {"fold-1", "fold-9"};
    ft_dataset *data = toy_data_open("data", &(toy_data){0});
    ft_dataset *other = toy_data_open("other", &(toy_data){.factor = 2});
    ft_error error;
    train_folds(data, "flops");
    assert_int_equal(train_with(data, "flops", twice, 3, &error), FT_ERR_USAGE);
    assert_non_null(strstr(error.message, "fold-1: its test part has record"));
    assert_int_equal(train_with(data, "flops", twice, 1, &error), FT_ERR_USAGE);
    assert_non_null(strstr(error.message, "1 runs of folds: 2 to 64"));
    assert_int_equal(train_with(data, "flops", missing, 2, &error), FT_ERR_IO);
    assert_non_null(strstr(error.message, "fold-9"));
    assert_int_equal(train_with(data, "kernel-nnls", fold_runs, 3, &error), FT_ERR_USAGE);
    assert_non_null(strstr(error.message, "of the family 'flops', but 'kernel-nnls' is trained"));
    assert_int_equal(train_with(other, "flops", fold_runs, 3, &error), FT_ERR_USAGE);
    assert_non_null(strstr(error.message, "not trained on this data set"));
    ft_dataset_free(other);
    ft_dataset_free(data);
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, folder_enter, folder_leave)

int main(void) {
    const struct CMUnitTest tests[] = {
        IN_FOLDER(one_model_of_two_metrics),        IN_FOLDER(results_have_both_metrics),
        IN_FOLDER(families_of_one_metric),          IN_FOLDER(unsupported_records_are_counted),
        IN_FOLDER(folds_give_scores_and_intervals), IN_FOLDER(folds_that_do_not_fit_are_refused),
    };
    return cmocka_run_group_tests_name("learn/train_output", tests, NULL, NULL);
}
