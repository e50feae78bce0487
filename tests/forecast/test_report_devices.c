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

#include "foretell/forecast_report.h"
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
    has(predictors_text(FT_CSV), "file,bytes,family,metric,device,part,n,mape,acc10,coverage90\ntimes.ftm,");
    json_t *document = parsed(predictors_text(FT_JSON)), *row;
    size_t i;
    assert_true(json_array_size(document) >= ft_predictor_set_device_count(set));
    json_array_foreach(document, i, row) {
        assert_string_equal(json_string_value(json_object_get(row, "metric")), "time_us");
        assert_true(json_integer_value(json_object_get(row, "bytes")) > 100);
        assert_true(json_is_null(json_object_get(row, "mape"))); /* it was not evaluated */
    }
    json_decref(document);
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
        cmocka_unit_test(test_all_devices_once), cmocka_unit_test(test_one_device),
        cmocka_unit_test(test_unknown_device),   cmocka_unit_test(test_predictors),
        cmocka_unit_test(test_out_of_memory),
    };
    return cmocka_run_group_tests_name("forecast/report_devices", tests, set_up, tear_down);
}
