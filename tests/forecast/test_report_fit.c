/* test_report_fit.c - the documents of fits and max-batch: verdict, margin, and JSON that matches its schema. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/example_results.h"
#include "support/failing.h"
#include "support/schema.h"

static example_results example; /* needs 8500 bytes, from 8000 to 9000 */

static ft_style style_of(ft_output output) {
    ft_style style = ft_style_default();
    style.output = output;
    style.width = 120;
    return style;
}

static char *fit_text(ft_output output, double free_bytes, bool is_whole) {
    char *text = NULL;
    size_t size;
    ft_error error;
    ft_style style = style_of(output);
    FILE *stream = open_memstream(&text, &size);
    const ft_results one = {.items = example.items, .count = 1};
    ft_model_results view = example.entry;
    view.results = &one;
    if (ft_report_fit(stream, &style, &view, &free_bytes, is_whole, &error) != FT_OK) fail_msg("%s", error.message);
    fclose(stream);
    return text;
}

static char *fits_text(ft_output output, const double *free_bytes) {
    char *text = NULL;
    size_t size;
    ft_error error;
    ft_style style = style_of(output);
    FILE *stream = open_memstream(&text, &size);
    if (ft_report_fit(stream, &style, &example.entry, free_bytes, true, &error) != FT_OK) fail_msg("%s", error.message);
    fclose(stream);
    return text;
}

static char *batch_text(ft_output output, ft_max_batch_result largest) {
    largest.free_bytes = 1e6;
    largest.max_batch = 64;
    char *text = NULL;
    size_t size;
    ft_error error;
    ft_style style = style_of(output);
    FILE *stream = open_memstream(&text, &size);
    if (ft_report_max_batch(stream, &style, &example.entry, &largest, true, &error) != FT_OK)
        fail_msg("%s", error.message);
    fclose(stream);
    return text;
}

static void has(char *text, const char *part) {
    if (strstr(text, part) == NULL) fail_msg("'%s' is not in:\n%s", part, text);
    free(text);
}

static void test_verdicts(void **state) {
    (void)state;
    has(fit_text(FT_TABLE, 9000, false), "on rtx-4090: yes, it fits");
    has(fit_text(FT_TABLE, 8999, false), "uncertain, it may or may not fit");
    has(fit_text(FT_TABLE, 8000, false), "uncertain");
    has(fit_text(FT_TABLE, 7999, false), "no, it does not fit");
    has(fit_text(FT_TABLE, 7500, false), "-1000 B, from -1.5 KiB to -500 B");
    has(fit_text(FT_TABLE, 9000, true), "data sheet");
    has(batch_text(FT_TABLE, (ft_max_batch_result){.certain = 8, .possible = 12}), "rtx-4090: batch 8\n");
    has(batch_text(FT_TABLE, (ft_max_batch_result){.certain = 8, .possible = 12}), "up to 12");
    has(batch_text(FT_TABLE, (ft_max_batch_result){.certain = 64, .possible = 64}), "batch 64 and maybe more");
    has(batch_text(FT_TABLE, (ft_max_batch_result){.certain = 0}), "no batch fits");
    has(batch_text(FT_TABLE, (ft_max_batch_result){.possible = 3}), "no batch surely fits");
}

static json_t *parsed(char *text) {
    json_error_t error;
    json_t *document = json_loads(text, JSON_REJECT_DUPLICATES, &error);
    if (document == NULL) fail_msg("line %d: %s in %s", error.line, error.text, text);
    free(text);
    return document;
}

static void check_schema(json_t *document, const char *path) {
    json_t *schema = schema_load(path);
    assert_non_null(schema);
    assert_true(schema_fits(document, schema, path));
    schema_is_documented(schema, "docs/predict.md");
    json_decref(schema);
}

static void test_json(void **state) {
    (void)state;
    json_t *list = parsed(fit_text(FT_JSON, 7500, false)), *document = json_incref(json_array_get(list, 0));
    check_schema(list, "docs/schema/fits.schema.json");
    assert_int_equal(json_array_size(list), 1);
    json_decref(list);
    assert_string_equal(json_string_value(json_object_get(document, "fits")), "no");
    assert_int_equal(json_integer_value(json_object_get(document, "margin_bytes")), -1000);
    assert_int_equal(json_integer_value(json_object_get(document, "margin_lo_bytes")), -1500);
    assert_int_equal(json_integer_value(json_object_get(document, "margin_hi_bytes")), -500);
    json_decref(document);
    document = parsed(batch_text(FT_JSON, (ft_max_batch_result){.certain = 8, .possible = 12}));
    check_schema(document, "docs/schema/max_batch.schema.json");
    assert_int_equal(json_integer_value(json_object_get(document, "possible_batch")), 12);
    json_decref(document);
}

static void test_csv(void **state) {
    (void)state;
    has(fit_text(FT_CSV, 9000, false), "file,device,batch,mode,dtype,setting,optimizer,free_bytes,free_from,fits,");
    has(fit_text(FT_CSV, 9000, false),
        "\"models/it's \"\"x\"\".onnx\",rtx-4090,8,infer,float16,compile=no;layout=nchw,,"
        "9000,given,yes,500,0,1000,8500,8000,9000,learned,set/memory.ftm,,,,,\n");
    has(batch_text(FT_CSV, (ft_max_batch_result){.certain = 8, .possible = 12}), ",8,12,64,8,8500,");
}

static void test_several_devices_have_a_row_each(void **state) {
    (void)state;
    const double free_bytes[EXAMPLE_RESULTS] = {9000, 1, NAN};
    has(fits_text(FT_TABLE, free_bytes), "batch 8, inference\n");
    has(fits_text(FT_TABLE, free_bytes), "rtx-4090    yes  ");
    has(fits_text(FT_TABLE, free_bytes), "unknown");
    json_t *list = parsed(fits_text(FT_JSON, free_bytes));
    check_schema(list, "docs/schema/fits.schema.json");
    static const char *const verdicts[] = {"yes", "no", "uncertain"}, *const from[] = {"data sheet", "data sheet",
                                                                                       "unknown"};
    assert_int_equal(json_array_size(list), EXAMPLE_RESULTS);
    for (size_t i = 0; i < EXAMPLE_RESULTS; i++) {
        const json_t *one = json_array_get(list, i);
        assert_string_equal(json_string_value(json_object_get(one, "fits")), verdicts[i]);
        assert_string_equal(json_string_value(json_object_get(one, "free_from")), from[i]);
    }
    json_decref(list);
    char *csv = fits_text(FT_CSV, free_bytes);
    size_t lines = 0;
    for (const char *at = csv; (at = strchr(at, '\n')) != NULL; at++) lines++;
    assert_int_equal(lines, 1 + EXAMPLE_RESULTS);
    free(csv);
}

static void test_out_of_memory(void **state) {
    (void)state;
    FILE *stream = fopen("/dev/null", "w");
    assert_non_null(stream);
    const double free_bytes[EXAMPLE_RESULTS] = {1e9, 1e9, 1e9};
    setvbuf(stream, NULL, _IONBF, 0);
    for (ft_output output = FT_TABLE; output <= FT_CSV; output++) {
        ft_style style = style_of(output);
        for (long n = 0;; n++) {
            failing_start(n);
            ft_status status = ft_report_fit(stream, &style, &example.entry, free_bytes, true, NULL);
            if (!failing_stop()) break;
            assert_int_equal(status, FT_ERR_NOMEM);
        }
    }
    fclose(stream);
}

static int set_up(void **state) {
    (void)state;
    example_results_init(&example);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    example_results_free(&example);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_verdicts),      cmocka_unit_test(test_json),
        cmocka_unit_test(test_csv),           cmocka_unit_test(test_several_devices_have_a_row_each),
        cmocka_unit_test(test_out_of_memory),
    };
    return cmocka_run_group_tests_name("forecast/report_fit", tests, set_up, tear_down);
}
