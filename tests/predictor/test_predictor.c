/* A predictor from its file to its result, and malformed headers. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "predictor/core/file.h"
#include "predictor/core/predictor.h"
#include "support/failing.h"
#include "support/folder.h"
#include "support/toy.h"

/* 256 FLOPs: a product of 1x16 by 16x8. */
static ft_graph *make_graph(void) {
    ft_graph *graph = toy_graph(FT_FORMAT_ONNX, FT_NCHW);
    uint32_t x = toy_input(graph, 1, 16), w = toy_weight(graph, 16, 8);
    toy_finish(graph, toy_op(graph, "MatMul", x, w, FT_NONE, toy_value(graph, 1, 8)), 1, 1);
    return graph;
}

#define HEAD                                                                                                           \
    "{\"format\": \"foretell predictor\", \"family\": \"flops\", \"schema\": \"flops/1\", \"metric\": \"time_us\""
#define TWO ", \"devices\": [\"adreno-640\", \"mine\"], \"params\": {}"

static buf bytes_of(const char *header, size_t count) {
    static const float block[] = {10, 0.5F, 3, 1};
    json_t *root = NULL;
    ft_error error;
    buf bytes = {0};
    if (json_parse(header, strlen(header), &root, &error) != FT_OK) fail_msg("%s: %s", header, error.message);
    assert_int_equal(predictor_file_encode(root, block, count, &bytes, &error), FT_OK);
    json_decref(root);
    return bytes;
}

static ft_status open_bytes(const char *header, size_t count, ft_predictor **predictor, ft_error *error) {
    buf bytes = bytes_of(header, count);
    ft_status status = ft_predictor_open_memory(bytes.data, bytes.length, "my.ftm", predictor, error);
    buf_free(&bytes);
    return status;
}

static ft_predictor *opened(const char *header) {
    ft_predictor *predictor = NULL;
    ft_error error;
    if (open_bytes(header, 4, &predictor, &error) != FT_OK) fail_msg("%s", error.message);
    return predictor;
}

static void refuses(const char *header, size_t count, ft_status status, const char *part) {
    ft_predictor *predictor = NULL;
    ft_error error = {.message = ""};
    ft_status found = open_bytes(header, count, &predictor, &error);
    if (found != status || strstr(error.message, part) == NULL || strncmp(error.message, "my.ftm: ", 8) != 0)
        fail_msg("%s: status %d \"%s\" instead of %d \"%s\"", header, found, error.message, status, part);
    assert_null(predictor);
}

static void results(void **state) {
    (void)state;
    ft_predictor *p = opened(HEAD TWO ", \"calibration\": {\"adreno-640\": {\"q90\": 0.25, \"n\": 9}}}");
    assert_string_equal(ft_predictor_family(p), "flops");
    assert_int_equal(ft_predictor_device_count(p), 2);
    assert_string_equal(ft_predictor_device(p, 1), "mine");
    assert_null(ft_predictor_device(p, 2));
    assert_non_null(strstr(ft_predictor_header(p), "calibration"));
    assert_string_equal(ft_predictor_metric(p), "time_us");
    ft_graph *graph = make_graph();
    ft_result answer;
    ft_error error;
    assert_int_equal(ft_predictor_predict(p, graph, &(ft_request){.device = "adreno-640"}, &answer, &error), FT_OK);
    assert_int_equal(answer.metric_count, 1);
    assert_string_equal(answer.metrics[0].metric, "time_us");
    assert_true(answer.metrics[0].value == 10 + 0.5 * 256);
    assert_true(fabs(answer.metrics[0].lo - 138 * exp(-0.25)) < 1e-9);
    assert_true(fabs(answer.metrics[0].hi - 138 * exp(0.25)) < 1e-9);
    assert_int_equal(answer.metrics[0].provenance, FT_LEARNED);
    assert_true(answer.coverage_ratio == 1);
    assert_null(answer.metrics[0].parts);
    ft_result_free(&answer);
    ft_result_free(&answer);
    ft_result_free(NULL);
    /* Another name of the device; and a device that was not calibrated. */
    assert_int_equal(ft_predictor_predict(p, graph, &(ft_request){.device = "adreno640gpu_tflite21"}, &answer, &error),
                     FT_OK);
    assert_true(answer.metrics[0].value == 138);
    ft_result_free(&answer);
    assert_int_equal(ft_predictor_predict(p, graph, &(ft_request){.device = "mine", .mode = FT_TRAIN}, &answer, &error),
                     FT_OK);
    assert_true(answer.metrics[0].value > 3 + 256 && isnan(answer.metrics[0].lo) && isnan(answer.metrics[0].hi));
    ft_result_free(&answer);
    ft_graph_free(graph);
    ft_predictor_free(p);
    ft_predictor_free(NULL);
}

static void unsupported_requests_are_refused(void **state) {
    (void)state;
    ft_predictor *p = opened(HEAD TWO ", \"modes\": [\"infer\"]}");
    ft_graph *graph = make_graph();
    ft_result answer = {0};
    ft_error error;
    assert_int_equal(ft_predictor_predict(p, graph, &(ft_request){.device = "abacus"}, &answer, &error),
                     FT_ERR_UNSUPPORTED);
    assert_non_null(strstr(error.message, "was not trained on the device 'abacus', but on 2 others: 'adreno-640'"));
    assert_int_equal(ft_predictor_predict(p, graph, &(ft_request){.device = "adreno-630"}, &answer, &error),
                     FT_ERR_UNSUPPORTED);
    assert_int_equal(ft_predictor_predict(p, graph, &(ft_request){0}, &answer, &error), FT_ERR_USAGE);
    assert_int_equal(ft_predictor_predict(p, graph, &(ft_request){.device = "mine", .mode = FT_TRAIN}, &answer, &error),
                     FT_ERR_UNSUPPORTED);
    assert_non_null(strstr(error.message, "inference only"));
    assert_null(answer.owner);
    ft_graph_free(graph);
    ft_predictor_free(p);
}

static void add_member(buf *bytes, const char *header) {
    buf one = bytes_of(header, 4);
    buf_add(bytes, one.data, one.length);
    buf_free(&one);
}

#define SRAM                                                                                                           \
    "{\"format\": \"foretell predictor\", \"family\": \"flops\", \"schema\": \"flops/1\", \"metric\": \"sram_bytes\""

static void several_in_one_file(void **state) {
    (void)state;
    buf bytes = {0};
    add_member(&bytes, HEAD TWO "}");
    add_member(&bytes, SRAM TWO "}");
    ft_predictor *p = NULL;
    ft_error error;
    if (ft_predictor_open_memory(bytes.data, bytes.length, "my.ftm", &p, &error) != FT_OK)
        fail_msg("%s", error.message);
    assert_string_equal(ft_predictor_metric(p), "time_us");
    assert_ptr_equal(ft_predictor_find(p, "sram_bytes"), ft_predictor_next(p));
    assert_null(ft_predictor_next(ft_predictor_next(p)));
    assert_null(ft_predictor_find(p, "joules"));
    ft_graph *graph = make_graph();
    ft_result answer;
    assert_int_equal(ft_predictor_predict(p, graph, &(ft_request){.device = "mine"}, &answer, &error), FT_OK);
    assert_int_equal(answer.metric_count, 2);
    assert_string_equal(answer.metrics[0].metric, "time_us");
    assert_string_equal(answer.metrics[1].metric, "sram_bytes");
    assert_true(answer.metrics[0].value == answer.metrics[1].value);
    ft_result_free(&answer);
    ft_graph_free(graph);
    ft_predictor_free(p);
    p = NULL;
    /* A third of a metric that is there, and something that is no predictor. */
    size_t two = bytes.length;
    add_member(&bytes, HEAD TWO "}");
    assert_int_equal(ft_predictor_open_memory(bytes.data, bytes.length, "my.ftm", &p, &error), FT_ERR_DAMAGED);
    assert_non_null(strstr(error.message, "two predictors of 'time_us'"));
    bytes.data[two] ^= 1;
    assert_int_equal(ft_predictor_open_memory(bytes.data, bytes.length, "my.ftm", &p, &error), FT_ERR_DAMAGED);
    assert_non_null(strstr(error.message, "should end after"));
    assert_null(p);
    buf_free(&bytes);
}

static void many_are_as_one_by_one(void **state) {
    (void)state;
    buf bytes = {0};
    add_member(&bytes, HEAD TWO "}");
    add_member(&bytes, SRAM ", \"devices\": [\"adreno-640\", \"other\"], \"params\": {}}");
    ft_predictor *p = NULL;
    ft_error error, errors[2];
    if (ft_predictor_open_memory(bytes.data, bytes.length, "my.ftm", &p, &error) != FT_OK)
        fail_msg("%s", error.message);
    ft_graph *one = make_graph(), *two = make_graph();
    const ft_graph *const both[] = {one, two};
    ft_result results[2];
    assert_int_equal(ft_predictor_predict_many(p, both, 2, &(ft_request){.device = "adreno-640"}, results, errors),
                     FT_OK);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(errors[i].status, FT_OK);
        assert_int_equal(results[i].metric_count, 2);
        assert_true(ft_result_time(&results[i])->value == 138);
        assert_ptr_equal(ft_result_metric(&results[i], "sram_bytes"), &results[i].metrics[1]);
        assert_null(ft_result_memory(&results[i]));
        ft_result_free(&results[i]);
    }
    /* A later predictor of the file without the device is left out; the first is needed. */
    assert_int_equal(ft_predictor_predict_many(p, both, 2, &(ft_request){.device = "mine"}, results, errors), FT_OK);
    assert_int_equal(results[1].metric_count, 1);
    ft_result_free(&results[0]);
    ft_result_free(&results[1]);
    assert_int_equal(ft_predictor_predict_many(p, both, 2, &(ft_request){.device = "abacus"}, results, errors),
                     FT_ERR_UNSUPPORTED);
    assert_int_equal(errors[0].status, FT_ERR_UNSUPPORTED);
    assert_int_equal(errors[1].status, FT_ERR_UNSUPPORTED);
    assert_non_null(strstr(errors[1].message, "abacus"));
    assert_null(results[1].owner);
    assert_int_equal(ft_predictor_predict_many(p, both, 0, &(ft_request){0}, results, errors), FT_OK);
    ft_graph_free(one);
    ft_graph_free(two);
    ft_predictor_free(p);
    buf_free(&bytes);
}

static void write_file(const char *path, const char *header) {
    buf bytes = bytes_of(header, 4);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes.data, 1, bytes.length, file), bytes.length);
    fclose(file);
    buf_free(&bytes);
}

static void files_are_bundled(void **state) {
    (void)state;
    const char *const both[] = {"a.ftm", "b.ftm"}, *const same[] = {"a.ftm", "a.ftm"};
    ft_predictor *p = NULL;
    ft_error error;
    write_file("a.ftm", HEAD TWO "}");
    write_file("b.ftm", SRAM TWO "}");
    assert_int_equal(ft_predictor_bundle(both, 2, "both.ftm", &error), FT_OK);
    assert_int_equal(ft_predictor_open("both.ftm", &p, &error), FT_OK);
    assert_string_equal(ft_predictor_metric(p), "time_us");
    assert_string_equal(ft_predictor_metric(ft_predictor_next(p)), "sram_bytes");
    ft_predictor_free(p);
    assert_int_equal(ft_predictor_bundle(both, 0, "none.ftm", &error), FT_ERR_USAGE);
    assert_int_equal(ft_predictor_bundle(same, 2, "none.ftm", &error), FT_ERR_DAMAGED);
    assert_non_null(strstr(error.message, "two predictors of 'time_us'"));
    unlink("b.ftm");
    assert_int_equal(ft_predictor_bundle(both, 2, "none.ftm", &error), FT_ERR_IO);
    assert_int_equal(access("none.ftm", F_OK), -1);
}

static void folders_are_no_predictors(void **state) {
    (void)state;
    ft_predictor *p = NULL;
    ft_error error;
    assert_int_equal(mkdir("run", 0777), 0);
    assert_int_equal(ft_predictor_open("run", &p, &error), FT_ERR_IO);
    assert_non_null(strstr(error.message, "run: is a folder, not a predictor file"));
    write_file("run/predictor.ftm", HEAD TWO "}");
    assert_int_equal(ft_predictor_open("run", &p, &error), FT_ERR_IO);
    assert_non_null(strstr(error.message, "run: is a run; its predictor is run/predictor.ftm"));
    assert_int_equal(ft_predictor_open("run/predictor.ftm", &p, &error), FT_OK);
    ft_predictor_free(p);
}

static void malformed_headers_are_refused(void **state) {
    (void)state;
    refuses("{}", 4, FT_ERR_DAMAGED, "'format': is absent");
    refuses("{\"format\": \"other\"}", 4, FT_ERR_FORMAT, "'other'");
    refuses("{\"format\": \"foretell predictor\", \"family\": \"oracle\"}", 4, FT_ERR_UNSUPPORTED,
            "'oracle', which this foretell does not have; it has");
    refuses("{\"format\": \"foretell predictor\", \"family\": \"flops\", \"schema\": \"flops/0\"}", 4,
            FT_ERR_UNSUPPORTED, "train it again");
    refuses("{\"format\": \"foretell predictor\", \"family\": \"flops\"}", 4, FT_ERR_DAMAGED, "'schema': is absent");
    refuses(HEAD "}", 4, FT_ERR_DAMAGED, "'devices'");
    refuses(HEAD ", \"devices\": []}", 4, FT_ERR_DAMAGED, "'devices': must be a list");
    refuses(HEAD ", \"devices\": [7]}", 4, FT_ERR_DAMAGED, "'devices': is a number");
    refuses(HEAD ", \"devices\": [\"a\", \"a\"]}", 4, FT_ERR_DAMAGED, "'a' twice");
    refuses(HEAD ", \"devices\": [\"a\"]}", 2, FT_ERR_DAMAGED, "'params': is absent");
    refuses(HEAD TWO ", \"modes\": [\"dream\"]}", 4, FT_ERR_DAMAGED, "'dream' is not a mode");
    refuses(HEAD TWO ", \"modes\": 1}", 4, FT_ERR_DAMAGED, "'modes': is a number");
    refuses(HEAD TWO ", \"dtypes\": [\"float7\"]}", 4, FT_ERR_DAMAGED, "'float7' is not a type");
    refuses(HEAD TWO ", \"dtypes\": 1}", 4, FT_ERR_DAMAGED, "'dtypes': is a number");
    refuses(HEAD TWO ", \"calibration\": 1}", 4, FT_ERR_DAMAGED, "'calibration': is a number");
    refuses(HEAD TWO ", \"calibration\": {\"mine\": {}}}", 4, FT_ERR_DAMAGED, "'mine': 'q90': is absent");
    refuses(HEAD TWO ", \"calibration\": {\"mine\": {\"q90\": -1}}}", 4, FT_ERR_DAMAGED, "'q90': is -1");
    refuses(HEAD TWO ", \"also\": 1}", 4, FT_ERR_DAMAGED, "'also' must be a list");
    refuses(HEAD TWO ", \"also\": [{}]}", 4, FT_ERR_DAMAGED, "'also': 1: 'metric': is absent");
    refuses(HEAD TWO ", \"also\": [{\"metric\": \"peak_bytes\"}]}", 4, FT_ERR_DAMAGED, "has one metric");
    refuses(HEAD TWO "}", 3, FT_ERR_DAMAGED, "model: has 3 numbers");
}

static void writes_and_opens(void **state) {
    (void)state;
    ft_predictor *p = opened(HEAD TWO "}"), *again = NULL;
    json_t *calibration = json_pack("{s:{s:f, s:i}}", "mine", "q90", 0.125, "n", 77);
    json_t *accuracy = json_pack("[{s:s, s:f}]", "part", "test", "mape", 2.5);
    const char *const devices[] = {"adreno-640", "mine"};
    predictor_description description = {
        .metric = {.name = "time_us", .modes = 1U << FT_INFER, .calibration = calibration},
        .devices = devices,
        .device_count = 2,
        .dtypes = 1U << FT_FLOAT16 | 1U << FT_INT8,
        .dataset_hash = "abc",
        .split_spec = "random",
        .seed = 7,
        .records = 1000,
        .accuracy = accuracy,
    };
    const char *path = "p.ftm";
    ft_error error = {.message = ""};
    if (predictor_write(path, &description, predictor_family(p), predictor_model(p), &error) != FT_OK)
        fail_msg("%s", error.message);
    if (ft_predictor_open(path, &again, &error) != FT_OK) fail_msg("%s", error.message);
    assert_true(isnan(predictor_q90(again, 0)));
    assert_true(predictor_q90(again, 1) == 0.125);
    assert_true(predictor_q90(again, FT_NONE) == 0.125); /* of a new device, that of the calibrated ones */
    assert_true(isnan(predictor_q90(p, FT_NONE)));
    assert_true(predictor_trained_on_dtype(again, FT_INT8, FT_FLOAT32));
    assert_false(predictor_trained_on_dtype(again, FT_FLOAT32, FT_FLOAT32));
    assert_true(predictor_trained_on_dtype(p, FT_FLOAT32, FT_FLOAT32)); /* it does not say: the usual one */
    assert_false(predictor_trained_on_dtype(p, FT_INT8, FT_FLOAT32));
    assert_non_null(strstr(ft_predictor_header(again), "\"mape\": 2.5"));
    assert_non_null(strstr(ft_predictor_header(again), "\"seed\": 7"));
    /* Written twice, the bytes are the same. */
    buf one = {0}, two = {0};
    assert_int_equal(predictor_encode(&description, predictor_family(p), predictor_model(p), &one, &error), FT_OK);
    assert_int_equal(predictor_encode(&description, predictor_family(p), predictor_model(again), &two, &error), FT_OK);
    assert_int_equal(one.length, two.length);
    assert_memory_equal(one.data, two.data, one.length);
    buf_free(&one);
    buf_free(&two);
    ft_predictor_free(again);
    ft_predictor_free(p);
    json_decref(calibration);
    json_decref(accuracy);
    unlink(path);
    assert_int_equal(ft_predictor_open(path, &again, &error), FT_ERR_IO);
}

static void memory_runs_out(void **state) {
    (void)state;
    buf bytes = bytes_of(HEAD TWO ", \"modes\": [\"infer\"], \"calibration\": {\"mine\": {\"q90\": 1}}}", 4);
    ft_graph *graph = make_graph();
    const char *const devices[] = {"adreno-640", "mine"};
    predictor_description description = {
        .metric = {.name = "time_us", .modes = 3}, .devices = devices, .device_count = 2};
    for (long n = 0;; n++) {
        ft_predictor *p = NULL;
        ft_result answer = {0};
        buf again = {0};
        failing_start(n);
        ft_status status = ft_predictor_open_memory(bytes.data, bytes.length, "my.ftm", &p, NULL);
        if (status == FT_OK) status = ft_predictor_predict(p, graph, &(ft_request){.device = "mine"}, &answer, NULL);
        if (status == FT_OK)
            status = predictor_encode(&description, predictor_family(p), predictor_model(p), &again, NULL);
        bool has_failed = failing_stop();
        ft_result_free(&answer);
        ft_predictor_free(p);
        buf_free(&again);
        if (!has_failed) break;
        assert_true(status == FT_ERR_NOMEM || status == FT_ERR_DAMAGED); /* jansson takes a failure for a wrong token */
    }
    ft_graph_free(graph);
    buf_free(&bytes);
}

static void families_are_listed(void **state) {
    (void)state;
    assert_true(ft_family_count() > 0);
    for (uint32_t i = 0; i < ft_family_count(); i++) {
        assert_ptr_equal(family_find(ft_family_name(i)), families[i]);
        assert_true(strlen(ft_family_text(i)) > 0);
    }
    assert_null(ft_family_name(ft_family_count()));
    assert_null(ft_family_text(ft_family_count()));
    assert_null(family_find("oracle"));
    assert_string_equal(ft_provenance_name(FT_ASSUMED), "assumed");
}

static void expect_shares(ft_provenance of, double coverage_ratio, ft_provenance provenance, double learned,
                          double extrapolated) {
    ft_metric_result m = {.shares = {7, 7, 7, 7}};
    metric_result_set_provenance(&m, of, coverage_ratio);
    assert_int_equal(m.provenance, provenance);
    assert_true(m.shares[FT_LEARNED] == learned);
    assert_true(m.shares[FT_EXTRAPOLATED] == extrapolated);
    assert_true(m.shares[FT_ASSUMED] == (of == FT_ASSUMED));
    assert_true(m.shares[FT_MEASURED] == (of == FT_MEASURED));
}

static void uncovered_shares_are_extrapolated(void **state) {
    (void)state;
    expect_shares(FT_LEARNED, 1, FT_LEARNED, 1, 0);
    expect_shares(FT_LEARNED, 0.75, FT_LEARNED, 0.75, 0.25);
    expect_shares(FT_LEARNED, 0.5, FT_LEARNED, 0.5, 0.5);
    expect_shares(FT_LEARNED, 0.25, FT_EXTRAPOLATED, 0.25, 0.75);
    expect_shares(FT_LEARNED, 2, FT_LEARNED, 1, 0);
    expect_shares(FT_LEARNED, -1, FT_EXTRAPOLATED, 0, 1);
    expect_shares(FT_EXTRAPOLATED, 0.75, FT_EXTRAPOLATED, 0, 1);
    expect_shares(FT_MEASURED, 0.25, FT_MEASURED, 0, 0);
    expect_shares(FT_ASSUMED, 0.25, FT_ASSUMED, 0, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(results),
        cmocka_unit_test(unsupported_requests_are_refused),
        cmocka_unit_test(uncovered_shares_are_extrapolated),
        cmocka_unit_test(several_in_one_file),
        cmocka_unit_test(many_are_as_one_by_one),
        cmocka_unit_test_setup_teardown(files_are_bundled, folder_enter, folder_leave),
        cmocka_unit_test_setup_teardown(folders_are_no_predictors, folder_enter, folder_leave),
        cmocka_unit_test(malformed_headers_are_refused),
        cmocka_unit_test(writes_and_opens),
        cmocka_unit_test(memory_runs_out),
        cmocka_unit_test(families_are_listed),
    };
    return cmocka_run_group_tests_name("predictor/predictor", tests, NULL, NULL);
}
