/* test_report_devices.c - the lists of devices and of predictors. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/outfile.h"
#include "foretell/forecast_report.h"
#include "predictor/core/file.h"
#include "support/failing.h"
#include "support/flops_file.h"
#include "support/folder.h"
#include "support/small_set.h"

static ft_predictor_set *set;

static ft_style style_of(ft_output output) {
    ft_style style = ft_style_default();
    style.output = output;
    return style;
}

static char *devices_text(ft_output output, const char *name) {
    char *text = NULL;
    size_t size;
    ft_error error;
    ft_style style = style_of(output);
    FILE *stream = open_memstream(&text, &size);
    if (ft_report_devices(stream, &style, set, &name, name != NULL, &error) != FT_OK) fail_msg("%s", error.message);
    fclose(stream);
    return text;
}

static void has(char *text, const char *part) {
    if (strstr(text, part) == NULL) fail_msg("'%s' is not in:\n%s", part, text);
    free(text);
}

static json_t *parsed(char *text) {
    json_error_t error;
    json_t *document = json_loads(text, JSON_REJECT_DUPLICATES, &error);
    if (document == NULL) fail_msg("line %d: %s in %s", error.line, error.text, text);
    free(text);
    return document;
}

static void test_all_devices_once(void **state) {
    (void)state;
    json_t *document = parsed(devices_text(FT_JSON, NULL)), *device;
    size_t i;
    assert_true(json_array_size(document) >= ft_device_count());
    json_array_foreach(document, i, device) {
        const char *name = json_string_value(json_object_get(device, "name"));
        for (size_t k = 0; k < i; k++)
            assert_string_not_equal(json_string_value(json_object_get(json_array_get(document, k), "name")), name);
    }
    const json_t *first = json_array_get(document, 0); /* devices of the predictors come first */
    assert_string_equal(json_string_value(json_object_get(first, "name")), ft_predictor_set_device(set, 0));
    assert_int_equal(json_array_size(json_object_get(first, "predictors")), 1);
    json_decref(document);
    has(devices_text(FT_CSV, NULL), "name,text,kind,runtime,predictors,threads,");
    has(devices_text(FT_TABLE, NULL), "times.ftm");
}

static void test_one_device(void **state) {
    (void)state;
    has(devices_text(FT_TABLE, "rtx4090"), "rtx-4090: NVIDIA GeForce RTX 4090");
    has(devices_text(FT_TABLE, "rtx4090"), "82.6 T");
    has(devices_text(FT_TABLE, "rtx4090"), "24.0 GiB");
    write_text("mine.json",
               "{\"foretell_device\": 1, \"name\": \"mine\", \"kind\": \"npu\", \"runtime\": \"tflite-cpu\", "
               "\"memory_bytes\": 2048}");
    has(devices_text(FT_TABLE, "mine.json"), "2.0 KiB");
    has(devices_text(FT_CSV, "mine.json"), "mine,,npu,tflite-cpu,times.ftm,");
}

/* What the command lists when the bundled predictors cannot be read. */
static void test_devices_without_predictors(void **state) {
    (void)state;
    char *text = NULL;
    size_t size;
    ft_error error;
    ft_style style = style_of(FT_CSV);
    FILE *stream = open_memstream(&text, &size);
    if (ft_report_devices(stream, &style, NULL, NULL, 0, &error) != FT_OK) fail_msg("%s", error.message);
    fclose(stream);
    uint32_t lines = 0;
    for (const char *c = text; *c != '\0'; c++) lines += *c == '\n';
    assert_int_equal(lines, ft_device_count() + 1);
    has(text, "rtx-4090,");
}

static void test_unknown_device(void **state) {
    (void)state;
    ft_error error;
    ft_style style = style_of(FT_TABLE);
    const char *name = "toaster";
    assert_int_equal(ft_report_devices(stdout, &style, set, &name, 1, &error), FT_ERR_USAGE);
    assert_non_null(strstr(error.message, "toaster"));
}

static char *predictors_text(ft_output output) {
    char *text = NULL;
    size_t size;
    ft_error error;
    ft_style style = style_of(output);
    FILE *stream = open_memstream(&text, &size);
    if (ft_report_predictors(stream, &style, set, &error) != FT_OK) fail_msg("%s", error.message);
    fclose(stream);
    return text;
}

static void test_predictors(void **state) {
    (void)state;
    has(predictors_text(FT_TABLE), "times.ftm: flops, ");
    has(predictors_text(FT_CSV),
        "file,bytes,family,metric,device,part,n,mape,acc10,coverage90,held_out,folds\ntimes.ftm,");
    json_t *document = parsed(predictors_text(FT_JSON)), *row;
    size_t i;
    assert_true(json_array_size(document) >= ft_predictor_set_device_count(set));
    json_array_foreach(document, i, row) {
        assert_string_equal(json_string_value(json_object_get(row, "metric")), "time_us");
        assert_true(json_integer_value(json_object_get(row, "bytes")) > 100);
        assert_true(json_is_null(json_object_get(row, "mape"))); /* it was not evaluated */
        assert_true(json_is_null(json_object_get(row, "held_out")));
    }
    json_decref(document);
    has(predictors_text(FT_TABLE), "\n  not evaluated\n");
}

/* The same predictor with scores in its header, and the split of its training. */
static void write_scored(const char *path, const char *schema, const char *split, const char *accuracy) {
    const float block[] = {10, 0.5F, 10, 0.5F};
    ft_error error;
    buf bytes = {0};
    json_t *rows;
    assert_int_equal(json_parse(accuracy, strlen(accuracy), &rows, &error), FT_OK);
    json_t *root = json_pack("{s:s, s:s, s:s, s:s, s:[s, s], s:{s:s}, s:{}, s:o}", "format", "foretell predictor",
                             "family", "flops", "schema", schema, "metric", "time_us", "devices", "adreno-640", "mine",
                             "trained_on", "split", split, "params", "accuracy", rows);
    assert_non_null(root);
    assert_int_equal(predictor_file_encode(root, block, 4, &bytes, &error), FT_OK);
    assert_int_equal(outfile_write(path, bytes.data, bytes.length, &error), FT_OK);
    buf_free(&bytes);
    json_decref(root);
}

static char *scored_text(ft_output output) {
    char *text = NULL;
    size_t size;
    ft_error error;
    ft_style style = style_of(output);
    const char *files[] = {"scored.ftm"};
    ft_predictor_set *scored = NULL;
    FILE *stream = open_memstream(&text, &size);
    assert_int_equal(ft_predictor_set_open(files, 1, &scored, &error), FT_OK);
    assert_int_equal(ft_report_predictors(stream, &style, scored, &error), FT_OK);
    fclose(stream);
    ft_predictor_set_free(scored);
    return text;
}

static void test_scores_name_what_was_held_out(void **state) {
    (void)state;
    /* A file of an earlier version: from its split. */
    write_scored("scored.ftm", "flops/1", "fold:name:50:1",
                 "[{\"part\": \"test\", \"device\": \"mine\", \"n\": 7, \"mape\": 5},"
                 " {\"part\": \"valid\", \"device\": \"adreno-640\", \"n\": 7, \"mape\": 5}]");
    has(scored_text(FT_TABLE), "  accuracy on unseen architectures\n");
    has(scored_text(FT_TABLE), "  accuracy on validation architectures, which intervals are calibrated on\n");
    has(scored_text(FT_CSV), ",test,7,5,,,architectures,0\n");
    /* The file's own word comes first. */
    write_scored("scored.ftm", "flops/1", "all",
                 "[{\"part\": \"test\", \"held_out\": \"tasks\", \"folds\": 5, \"device\": \"mine\", \"n\": 7}]");
    has(scored_text(FT_TABLE), "  accuracy on unseen tasks, by cross-validation (5 folds)\n");
    has(scored_text(FT_JSON), "\"held_out\": \"tasks\", \"folds\": 5}");
    /* What is in a file may be anything. */
    write_scored("scored.ftm", "flops/1", "?", "[{\"device\": \"mine\", \"n\": 7, \"folds\": 1e300, \"held_out\": 3}]");
    has(scored_text(FT_TABLE), "  accuracy on unseen records\n");
}

static void test_out_of_memory(void **state) {
    (void)state;
    FILE *stream = fopen("/dev/null", "w");
    assert_non_null(stream);
    setvbuf(stream, NULL, _IONBF, 0);
    const char *name = "rtx-4090";
    for (ft_output output = FT_TABLE; output <= FT_CSV; output++) {
        ft_style style = style_of(output);
        for (long n = 0;; n++) {
            failing_start(n);
            ft_status status = ft_report_devices(stream, &style, set, &name, 1, NULL);
            if (status == FT_OK) status = ft_report_predictors(stream, &style, set, NULL);
            if (!failing_stop()) break;
            assert_int_equal(status, FT_ERR_NOMEM);
        }
    }
    fclose(stream);
}

static int set_up(void **state) {
    if (folder_enter(state) != 0) return 1;
    flops_file_write("times.ftm", "time_us", 10, 0.5F);
    const char *files[] = {"times.ftm"};
    return ft_predictor_set_open(files, 1, &set, NULL) != FT_OK;
}

static int tear_down(void **state) {
    ft_predictor_set_free(set);
    return folder_leave(state);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_devices_once),
        cmocka_unit_test(test_one_device),
        cmocka_unit_test(test_devices_without_predictors),
        cmocka_unit_test(test_unknown_device),
        cmocka_unit_test(test_predictors),
        cmocka_unit_test(test_scores_name_what_was_held_out),
        cmocka_unit_test(test_out_of_memory),
    };
    return cmocka_run_group_tests_name("forecast/report_devices", tests, set_up, tear_down);
}
