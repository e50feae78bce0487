/* Tests of evaluating a predictor whose errors are known: it is right on one device and 20 % too low on the other. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "foretell/learn.h"
#include "predictor/core/file.h"
#include "predictor/core/predictor.h"
#include "support/failing.h"
#include "support/folder.h"
#include "support/synth_data.h"

enum { NETWORKS = 9 };

static const char *const devices[] = {"adreno-640", "cortex-a76"};

static double flops_of(const ft_graph *bound) {
    return (double)synth_cost(bound).forward.flops;
}

static double rule(const ft_graph *bound, const char *device) {
    return strcmp(device, devices[0]) == 0 ? 10 + 0.5 * flops_of(bound) : (20 + 0.25 * flops_of(bound)) * 1.25;
}

#define HEAD                                                                                                           \
    "{\"format\": \"foretell predictor\", \"family\": \"flops\", \"schema\": \"flops/1\", \"metric\": \"time_us\", "   \
    "\"params\": {}, \"calibration\": {\"adreno-640\": {\"q90\": 0.25, \"n\": 9}}"
#define BOTH ", \"devices\": [\"adreno-640\", \"cortex-a76\"]"

static ft_predictor *open_with(const char *header) {
    static const float block[] = {10, 0.5F, 20, 0.25F};
    json_t *root = NULL;
    ft_error error;
    buf bytes = {0};
    ft_predictor *predictor = NULL;
    if (json_parse(header, strlen(header), &root, &error) != FT_OK) fail_msg("%s: %s", header, error.message);
    size_t count = 2 * json_array_size(json_object_get(root, "devices"));
    assert_int_equal(predictor_file_encode(root, block, count, &bytes, &error), FT_OK);
    json_decref(root);
    if (ft_predictor_open_memory(bytes.data, bytes.length, "my.ftm", &predictor, &error) != FT_OK)
        fail_msg("%s", error.message);
    buf_free(&bytes);
    return predictor;
}

static ft_evaluation evaluate(const ft_predictor *predictor, const ft_dataset *data,
                              const ft_evaluate_options *options) {
    ft_error error;
    ft_evaluation e;
    if (ft_evaluate(predictor, data, options, &e, &error) != FT_OK) fail_msg("%s", error.message);
    return e;
}

static void test_errors_are_found(void **state) {
    (void)state;
    ft_dataset *data = synth_data("d", NETWORKS, devices, 2, rule);
    ft_predictor *predictor = open_with(HEAD BOTH "}");
    ft_evaluation e = evaluate(predictor, data, &(ft_evaluate_options){0});
    assert_int_equal(e.case_count, 2 * NETWORKS);
    assert_int_equal(e.left_out, 0);
    assert_string_equal(e.predictor_family, "flops");
    assert_string_equal(e.data_hash, ft_dataset_hash(data));
    assert_null(e.split);
    for (uint32_t i = 0; i < e.case_count; i++) {
        const ft_record *record = &ft_dataset_records(data)[e.cases[i].record];
        assert_int_equal(e.cases[i].record, i);
        assert_string_equal(e.cases[i].device, record->device);
        assert_string_equal(e.cases[i].family, record->family);
        assert_true(e.cases[i].measured == record->metrics[0]);
    }
    assert_int_equal(e.score_count, 2 * 5);
    assert_string_equal(e.scores[0].device, "adreno-640");
    assert_string_equal(e.scores[0].family, "all");
    assert_string_equal(e.scores[1].family, "mean");
    assert_string_equal(e.scores[2].family, "one");
    assert_true(e.scores[0].mape < 1e-4 && e.scores[0].acc5 == 100 && e.scores[0].coverage90 == 100);
    assert_true(fabs(e.scores[0].width90 - 100 * (exp(0.25) - exp(-0.25))) < 1e-3);
    assert_string_equal(e.scores[5].device, "cortex-a76");
    assert_true(fabs(e.scores[5].mape - 20) < 1e-4 && fabs(e.scores[5].bias + 20) < 1e-4);
    assert_true(e.scores[5].acc10 == 0 && isnan(e.scores[5].coverage90)); /* not calibrated */
    ft_evaluation_free(&e);
    ft_evaluation_free(&e);
    ft_evaluation_free(NULL);
    ft_predictor_free(predictor);
    ft_dataset_free(data);
}

static void test_any_number_of_threads(void **state) {
    (void)state;
    ft_dataset *data = synth_data("d", NETWORKS, devices, 2, rule);
    ft_predictor *predictor = open_with(HEAD BOTH "}");
    ft_evaluation a = evaluate(predictor, data, &(ft_evaluate_options){.threads = 1});
    ft_evaluation b = evaluate(predictor, data, &(ft_evaluate_options){.threads = 3});
    assert_int_equal(a.case_count, b.case_count);
    for (uint32_t i = 0; i < a.case_count; i++)
        assert_true(a.cases[i].record == b.cases[i].record && a.cases[i].predicted == b.cases[i].predicted);
    assert_true(a.scores[5].mape == b.scores[5].mape && a.scores[5].rmse == b.scores[5].rmse);
    ft_evaluation_free(&a);
    ft_evaluation_free(&b);
    ft_predictor_free(predictor);
    ft_dataset_free(data);
}

static void test_parts_devices_and_families(void **state) {
    (void)state;
    ft_error error;
    ft_dataset *data = synth_data("d", NETWORKS, devices, 2, rule);
    ft_predictor *predictor = open_with(HEAD BOTH "}");
    ft_split split;
    assert_int_equal(ft_split_make(data, "family:two", 3, &split, &error), FT_OK);
    ft_evaluation e = evaluate(predictor, data, &(ft_evaluate_options){.split = &split, .part = FT_PART_TEST});
    assert_int_equal(e.case_count, 2 * 3);
    for (uint32_t i = 0; i < e.case_count; i++) assert_string_equal(e.cases[i].family, "two");
    assert_string_equal(e.split, "family:two");
    assert_string_equal(e.split_hash, split.hash);
    assert_int_equal(e.seed, 3);
    ft_split_free(&split);
    ft_evaluation_free(&e);
    const char *const device = "adreno640gpu_tflite21", *const families[] = {"three", "one"};
    e = evaluate(
        predictor, data,
        &(ft_evaluate_options){.devices = &device, .device_count = 1, .families = families, .family_count = 2});
    assert_int_equal(e.case_count, 6);
    assert_int_equal(e.score_count, 4);
    assert_string_equal(e.scores[0].device, "adreno-640");
    ft_evaluation_free(&e);
    ft_predictor_free(predictor);
    ft_dataset_free(data);
}

/* A predictor that knows one of two devices is evaluated on that one. */
static void test_what_is_not_known_is_left_out(void **state) {
    (void)state;
    ft_dataset *data = synth_data("d", NETWORKS, devices, 2, rule);
    ft_predictor *predictor = open_with(HEAD ", \"devices\": [\"adreno-640\"]}");
    ft_evaluation e = evaluate(predictor, data, &(ft_evaluate_options){.setting = ";", .has_mode = true});
    assert_int_equal(e.case_count, NETWORKS);
    assert_int_equal(e.left_out, NETWORKS);
    ft_evaluation_free(&e);
    ft_predictor_free(predictor);
    ft_dataset_free(data);
}

static void refuses(const ft_dataset *data, const char *header, const ft_evaluate_options *options, ft_status status,
                    const char *words) {
    ft_error error = {.message = ""};
    ft_evaluation e = {.case_count = 77};
    ft_predictor *predictor = open_with(header);
    ft_status found = ft_evaluate(predictor, data, options, &e, &error);
    if (found != status || strstr(error.message, words) == NULL)
        fail_msg("status %d \"%s\" instead of %d \"%s\"", found, error.message, status, words);
    assert_int_equal(e.case_count, 77);
    ft_predictor_free(predictor);
}

static void test_refused(void **state) {
    (void)state;
    ft_error error;
    ft_dataset *data = synth_data("d", NETWORKS, devices, 2, rule);
    ft_split split;
    assert_int_equal(ft_split_make(data, "all", 1, &split, &error), FT_OK);
    const char *const other = "myriad-vpu", *const family = "four";
    refuses(data, HEAD ", \"devices\": [\"mine\"]}", &(ft_evaluate_options){0}, FT_ERR_UNSUPPORTED,
            "none of 18 records is of a device that the predictor supports: mine");
    refuses(data, HEAD BOTH "}", &(ft_evaluate_options){.metric = "peak_bytes"}, FT_ERR_UNSUPPORTED,
            "does not predict 'peak_bytes', but 'time_us'");
    refuses(data, HEAD BOTH "}", &(ft_evaluate_options){.split = &split, .part = FT_PART_TEST}, FT_ERR_USAGE,
            "the test part of the split 'all' is empty");
    refuses(data, HEAD BOTH "}", &(ft_evaluate_options){.devices = &other, .device_count = 1}, FT_ERR_USAGE,
            "it supports adreno-640, cortex-a76");
    refuses(data, HEAD BOTH "}", &(ft_evaluate_options){.families = &family, .family_count = 1}, FT_ERR_USAGE,
            "has no family 'four'; it has one, three, two");
    refuses(data, HEAD BOTH "}", &(ft_evaluate_options){.setting = "layout=nhwc"}, FT_ERR_USAGE, "no record matches");
    refuses(data, HEAD BOTH "}", &(ft_evaluate_options){.has_mode = true, .mode = FT_TRAIN}, FT_ERR_USAGE,
            "no record matches");
    refuses(data, HEAD BOTH ", \"modes\": [\"train\"]}", &(ft_evaluate_options){0}, FT_ERR_UNSUPPORTED,
            "one is for training and the other for inference");
    ft_split_free(&split);
    ft_dataset_free(data);
}

static void test_metric_is_missing(void **state) {
    (void)state;
    static const char *const metrics[] = {"peak_bytes", "time_std_us"};
    ft_error error;
    builder *b;
    assert_int_equal(builder_new("d", metrics, 2, &b, &error), FT_OK);
    ft_graph *graph = synth_network(1);
    ft_record record = {
        .name = "m", .family = "", .device = "adreno-640", .setting = "", .part = "", .batch = 1, .dtype = FT_FLOAT32};
    record.metrics = (const double[]){5, 1};
    builder_outcome outcome;
    assert_int_equal(builder_add_graph(b, graph, &record.graph, &error), FT_OK);
    assert_int_equal(builder_add_record(b, &record, &outcome, &error), FT_OK);
    ft_graph_free(graph);
    ft_dataset *data = synth_end(b, "d");
    refuses(data, HEAD BOTH "}", &(ft_evaluate_options){0}, FT_ERR_UNSUPPORTED,
            "no metric 'time_us'; it has peak_bytes, time_std_us");
    ft_dataset_free(data);
}

static bool stop(void *user, uint64_t done, uint64_t total, const char *what) {
    uint32_t *calls = user;
    assert_true(done <= total && total == 2 * NETWORKS);
    assert_string_equal(what, "predicting");
    ++*calls;
    return false;
}

static void test_stopped(void **state) {
    (void)state;
    uint32_t calls = 0;
    ft_dataset *data = synth_data("d", NETWORKS, devices, 2, rule);
    refuses(data, HEAD BOTH "}", &(ft_evaluate_options){.progress = stop, .user = &calls}, FT_ERR_CANCELLED, "");
    assert_true(calls > 0);
    ft_dataset_free(data);
}

/* --- The split that it was trained with ---------------------------------------------------------------------- */

static ft_status split_of(const ft_dataset *data, const char *dataset, const char *hash, ft_split *split,
                          bool *is_found, ft_error *error) {
    char header[1024];
    snprintf(header, sizeof header,
             HEAD BOTH ", \"trained_on\": {\"dataset\": \"%s\", \"split\": \"random:50/25/25\", \"seed\": 5, "
                       "\"split_hash\": \"%s\"}}",
             dataset, hash);
    ft_predictor *predictor = open_with(header);
    ft_status status = ft_predictor_split(predictor, data, split, is_found, error);
    ft_predictor_free(predictor);
    return status;
}

static void test_own_split(void **state) {
    (void)state;
    ft_error error;
    bool is_found;
    ft_dataset *data = synth_data("d", NETWORKS, devices, 2, rule);
    ft_split wanted, found = {0};
    assert_int_equal(ft_split_make(data, "random:50/25/25", 5, &wanted, &error), FT_OK);
    assert_int_equal(split_of(data, ft_dataset_hash(data), wanted.hash, &found, &is_found, &error), FT_OK);
    assert_true(is_found);
    assert_string_equal(found.hash, wanted.hash);
    assert_memory_equal(found.parts, wanted.parts, ft_dataset_record_count(data));
    ft_split_free(&found);
    assert_int_equal(split_of(data, "00", wanted.hash, &found, &is_found, &error), FT_OK);
    assert_false(is_found);
    assert_int_equal(split_of(data, ft_dataset_hash(data), "00", &found, &is_found, &error), FT_ERR_UNSUPPORTED);
    ft_predictor *predictor = open_with(HEAD BOTH "}");
    assert_int_equal(ft_predictor_split(predictor, data, &found, &is_found, &error), FT_OK);
    assert_false(is_found);
    ft_predictor_free(predictor);
    ft_split_free(&wanted);
    ft_dataset_free(data);
}

static void test_no_memory(void **state) {
    (void)state;
    ft_dataset *data = synth_data("d", 2, devices, 2, rule);
    ft_predictor *predictor = open_with(HEAD BOTH "}");
    const ft_evaluate_options options = {.threads = 1};
    for (long n = 0;; n++) {
        ft_error error;
        ft_evaluation e = {0};
        failing_start(n);
        ft_status status = ft_evaluate(predictor, data, &options, &e, &error);
        bool has_failed = failing_stop();
        ft_evaluation_free(&e);
        if (!has_failed) break;
        assert_int_equal(status, FT_ERR_NOMEM);
    }
    ft_predictor_free(predictor);
    ft_dataset_free(data);
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, folder_enter, folder_leave)

int main(void) {
    const struct CMUnitTest tests[] = {
        IN_FOLDER(test_errors_are_found),
        IN_FOLDER(test_any_number_of_threads),
        IN_FOLDER(test_parts_devices_and_families),
        IN_FOLDER(test_what_is_not_known_is_left_out),
        IN_FOLDER(test_refused),
        IN_FOLDER(test_metric_is_missing),
        IN_FOLDER(test_stopped),
        IN_FOLDER(test_own_split),
        IN_FOLDER(test_no_memory),
    };
    return cmocka_run_group_tests_name("learn/evaluate", tests, NULL, NULL);
}
