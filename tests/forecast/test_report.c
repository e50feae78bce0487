/* test_report.c - results as documents: tables, JSON and CSV agree, missing values are left out, and the JSON matches
 * docs/schema/predict.schema.json. */
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

static example_results example;
static json_t *schema;

static ft_result_style style_of(ft_output output) {
    ft_result_style style = {.style = ft_style_default()};
    style.style.output = output;
    style.style.width = 200;
    return style;
}

static json_t *json_of(const ft_result_style *style, int count) {
    json_error_t error;
    char *text = example_report(&example, style, count);
    json_t *document = json_loads(text, JSON_REJECT_DUPLICATES, &error);
    if (document == NULL) fail_msg("line %d: %s", error.line, error.text);
    free(text);
    return document;
}

static double number(const json_t *object, const char *key) {
    const json_t *value = json_object_get(object, key);
    if (!json_is_number(value)) fail_msg("%s is no number", key);
    return json_number_value(value);
}

static const char *text_at(const json_t *object, const char *key) {
    const char *value = json_string_value(json_object_get(object, key));
    if (value == NULL) fail_msg("%s is no string", key);
    return value;
}

static void is_null(const json_t *object, const char *key) {
    if (!json_is_null(json_object_get(object, key))) fail_msg("%s is not null", key);
}

/* --- JSON ---------------------------------------------------------------------------------------------------- */

static void test_json_values(void **state) {
    (void)state;
    ft_result_style style = style_of(FT_JSON);
    json_t *document = json_of(&style, 2), *first = json_array_get(document, 0);
    assert_int_equal(json_array_size(document), 2 * EXAMPLE_RESULTS);
    assert_string_equal(text_at(first, "file"), "models/it's \"x\".onnx");
    assert_string_equal(text_at(first, "setting"), "compile=no;layout=nchw");
    assert_string_equal(text_at(first, "dtype"), "float16");
    is_null(first, "optimizer");
    assert_float_equal(number(first, "time_us"), 96, 0);
    assert_float_equal(number(first, "time_per_sample_us"), 12, 1e-12);
    assert_float_equal(number(first, "samples_per_s"), 8 / 96e-6, 1e-6);
    assert_int_equal(number(first, "params"), MODEL_PARAMS);
    assert_int_equal(number(first, "macs_per_sample"), MODEL_MACS);
    assert_float_equal(number(json_object_get(first, "memory"), "weights"), 6500, 0);
    assert_int_equal(json_object_size(json_object_get(first, "memory")), 2);
    json_t *sram = json_object_get(json_object_get(first, "others"), "sram_bytes");
    assert_float_equal(number(sram, "value"), 4096, 0);
    is_null(sram, "lo");
    assert_null(json_object_get(first, "layers"));
    json_t *third = json_array_get(document, 2);
    assert_string_equal(text_at(third, "mode"), "train");
    assert_string_equal(text_at(third, "optimizer"), "adam");
    json_decref(document);
}

static void test_json_of_a_run(void **state) {
    (void)state;
    ft_result_style style = style_of(FT_JSON);
    json_t *document = json_of(&style, 1);
    is_null(json_array_get(document, 0), "run_samples");
    is_null(json_array_get(document, 0), "run_s");
    json_decref(document);
    style.samples = 17; /* three steps of 8 */
    document = json_of(&style, 1);
    const json_t *first = json_array_get(document, 0), *second = json_array_get(document, 1);
    assert_int_equal(number(first, "run_samples"), 17);
    assert_float_equal(number(first, "run_s"), 3 * 96e-6, 1e-12);
    assert_float_equal(number(first, "run_hi_s"), 3e-6 * number(first, "time_hi_us"), 1e-12);
    is_null(second, "run_s");
    json_decref(document);
}

static void test_missing_values_are_null(void **state) {
    (void)state;
    ft_result_style style = style_of(FT_JSON);
    json_t *document = json_of(&style, 1), *second = json_array_get(document, 1);
    static const char *const absent[] = {"time_us",       "time_lo_us",     "time_hi_us", "time_per_sample_us",
                                         "samples_per_s", "coverage_ratio", "provenance", "bound",
                                         "bound_ratio",   "predictor",      "util_ratio", "peak_lo_bytes"};
    for (size_t i = 0; i < sizeof absent / sizeof absent[0]; i++) is_null(second, absent[i]);
    assert_string_equal(text_at(second, "time_reason"), "its data sheet lacks the bandwidth");
    assert_string_equal(text_at(second, "util_reason"), "it was not measured");
    assert_true(json_is_integer(json_object_get(second, "peak_bytes"))); /* not 2.5e+10 */
    json_decref(document);
}

static void test_layers_add_up(void **state) {
    (void)state;
    ft_result_style style = style_of(FT_JSON);
    style.has_layers = true;
    json_t *document = json_of(&style, 1), *layers = json_object_get(json_array_get(document, 0), "layers"), *layer;
    double sum = 0;
    size_t i;
    json_array_foreach(layers, i, layer) {
        assert_int_equal(number(layer, "index"), i);
        sum += number(layer, "time_us");
    }
    assert_int_equal(i, EXAMPLE_KERNELS);
    assert_float_equal(sum, 96, 1e-9);
    layer = json_array_get(layers, 0);
    assert_string_equal(json_string_value(json_array_get(json_object_get(layer, "op_types"), 1)), "Relu");
    assert_string_equal(json_string_value(json_array_get(json_object_get(layer, "operators"), 1)), "b");
    json_decref(document);
    style.top = 2;
    document = json_of(&style, 1);
    layers = json_object_get(json_array_get(document, 0), "layers");
    assert_int_equal(json_array_size(layers), 2);
    assert_string_equal(text_at(json_array_get(layers, 0), "kernel"), "mystery");
    assert_string_equal(text_at(json_array_get(layers, 1), "kernel"), "gemm");
    json_decref(document);
}

static void test_json_fits_schema(void **state) {
    (void)state;
    ft_result_style style = style_of(FT_JSON);
    style.has_layers = true;
    json_t *document = json_of(&style, 2), *first = json_array_get(document, 0);
    assert_true(schema_fits(document, schema, "the document"));
    json_object_set_new(first, "colour", json_string("red"));
    assert_false(schema_fits(document, schema, "a document with a key too many"));
    json_object_del(first, "colour");
    json_object_set_new(first, "peak_bytes", json_real(0.5));
    assert_false(schema_fits(document, schema, "a document with half a byte"));
    json_decref(document);
    schema_is_documented(schema, "docs/predict.md");
}

/* --- CSV ----------------------------------------------------------------------------------------------------- */

/* Splits a row into its cells and removes quotes. */
static uint32_t split_row(char *row, char **cells, uint32_t max_count) {
    uint32_t count = 0;
    for (char *at = row; count < max_count;) {
        char *out = at;
        cells[count++] = at;
        bool is_quoted = *at == '"';
        if (is_quoted) at++;
        while (*at != '\0' && (is_quoted || *at != ',')) {
            if (is_quoted && *at == '"' && *++at != '"') {
                is_quoted = false;
                continue;
            }
            *out++ = *at++;
        }
        bool is_last = *at == '\0';
        *out = '\0';
        if (is_last) break;
        at++;
    }
    return count;
}

/* Every number and text of the JSON is in the CSV under the same name. */
static void test_csv_matches_json(void **state) {
    (void)state;
    ft_result_style style = style_of(FT_CSV);
    char *text = example_report(&example, &style, 1), *rest = text, *names[64], *cells[64];
    uint32_t columns = split_row(strsep(&rest, "\n"), names, 64);
    style.style.output = FT_JSON;
    json_t *document = json_of(&style, 1), *object;
    size_t row;
    json_array_foreach(document, row, object) {
        assert_int_equal(split_row(strsep(&rest, "\n"), cells, 64), columns);
        for (uint32_t c = 0; c < columns; c++) {
            const json_t *value = json_object_get(object, names[c]);
            if (value == NULL) fail_msg("the JSON has no %s", names[c]);
            if (json_is_string(value)) assert_string_equal(cells[c], json_string_value(value));
            if (json_is_null(value)) assert_string_equal(cells[c], "");
            if (json_is_number(value)) assert_float_equal(strtod(cells[c], NULL), json_number_value(value), 0);
            if (row == 0 && strcmp(names[c], "memory") == 0)
                assert_string_equal(cells[c], "weights=6500;activations=2000");
            if (row == 0 && strcmp(names[c], "others") == 0)
                assert_string_equal(cells[c], "cycles=1234;cycles_lo=1000;cycles_hi=1500;sram_bytes=4096");
        }
    }
    assert_int_equal(json_object_size(json_array_get(document, 0)), columns);
    assert_string_equal(rest, "");
    json_decref(document);
    free(text);
}

static void test_csv_of_layers(void **state) {
    (void)state;
    ft_result_style style = style_of(FT_CSV);
    style.has_layers = true;
    char *text = example_report(&example, &style, 1), *rest = text, *cells[16];
    assert_string_equal(strsep(&rest, "\n"), "file,device,batch,mode,dtype,setting,index,kernel,op_types,time_us,"
                                             "share_ratio,bound,operators");
    assert_int_equal(split_row(strsep(&rest, "\n"), cells, 16), 13);
    assert_string_equal(cells[1], "rtx-4090");
    assert_string_equal(cells[8], "Conv+Relu");
    assert_string_equal(cells[9], "10");
    assert_string_equal(cells[11], "memory");
    free(text);
}

/* --- Tables -------------------------------------------------------------------------------------------------- */

static void has(const char *text, const char *part) {
    if (strstr(text, part) == NULL) fail_msg("'%s' is not in:\n%s", part, text);
}

static void test_table(void **state) {
    (void)state;
    ft_result_style style = style_of(FT_TABLE);
    style.has_layers = true;
    style.top = 1;
    char *text = example_report(&example, &style, 1);
    has(text, "1.55 K parameters, 5.33 K MACs a sample");
    has(text, "96.0 us");
    has(text, "80.0 - 120 us");
    has(text, "75 %");
    has(text, "compute");
    has(text, "7.8 - 8.8 KiB");
    has(text, "weights");
    has(text, "sram_bytes");
    has(text, "3 others");
    has(text, "no time: its data sheet lacks the bandwidth");
    has(text, "rtx-4090: a note, with \"quotes\"");
    has(text, "compile=no;layout=nchw");
    free(text);
}

/* At any width, no line is wider than it unless the narrowest columns are. */
static void test_table_is_no_wider_than_the_page(void **state) {
    (void)state;
    for (uint32_t width = 80; width < 240; width += 13) {
        ft_result_style style = style_of(FT_TABLE);
        style.style.width = width;
        char *text = example_report(&example, &style, 1), *rest = text;
        for (char *line; (line = strsep(&rest, "\n")) != NULL;)
            if (strlen(line) > width) fail_msg("%zu columns of %u: %s", strlen(line), width, line);
        free(text);
    }
}

/* The parts add up only when all are listed: the column Provenance is dropped before any of them. */
static void test_narrow_table_keeps_all_memory_parts(void **state) {
    (void)state;
    static const ft_part parts[] = {{.type = "weights", .value = 51e6},    {.type = "gradients", .value = 4.1e6},
                                    {.type = "optimizer", .value = 204e6}, {.type = "activations", .value = 1.4e9},
                                    {.type = "allocator", .value = 557e6}, {.type = "context", .value = 1.8e9}};
    const ft_results old = example.results;
    ft_metric_result *memory = &example.metrics[0][EXAMPLE_MEMORY];
    const ft_metric_result first = *memory;
    ft_result_style style = style_of(FT_TABLE);
    style.style.width = 80;
    memory->parts = parts;
    memory->part_count = 6;
    example.results.count = 1;
    char *text = example_report(&example, &style, 1);
    assert_non_null(strstr(text, "  weights  gradients  optimizer  activations  allocator  context\n"));
    free(text);
    *memory = first;
    example.results = old;
}

/* Devices whose memories have no part in common have a list each, so that no column is dropped. */
static void test_table_has_a_list_for_each_kind_of_memory(void **state) {
    (void)state;
    static const ft_part planned[] = {{.type = "sram", .value = 1e6}, {.type = "flash", .value = 2e6}};
    ft_metric_result *memory = &example.metrics[1][EXAMPLE_MEMORY];
    const ft_metric_result second = *memory;
    ft_result_style style = style_of(FT_TABLE);
    style.style.width = 80;
    memory->parts = planned;
    memory->part_count = 2;
    char *text = example_report(&example, &style, 1), *first = strstr(text, "Memory at the peak"), *other;
    assert_non_null(first);
    assert_null(strstr(first + 1, "Memory at the peak"));
    assert_non_null(strstr(first, "  Batch  weights  activations  Provenance\n"));
    assert_non_null(other = strstr(first, "  Batch       sram    flash  Provenance\n"));
    assert_non_null(strstr(other, "  976.6 KiB  1.9 MiB  extrapolated\n"));
    free(text);
    *memory = second;
}

static void test_list_has_one_heading(void **state) {
    (void)state;
    ft_result_style style = style_of(FT_TABLE);
    style.is_list = true;
    char *text = example_report(&example, &style, 3), *rest = text;
    uint32_t lines = 0;
    for (const char *line; (line = strsep(&rest, "\n")) != NULL && line[0] != '\0';) lines++;
    assert_int_equal(lines, 2 + 3 * EXAMPLE_RESULTS); /* one heading for all */
    free(text);
}

/* --- All ----------------------------------------------------------------------------------------------------- */

static void test_no_models_give_no_output(void **state) {
    (void)state;
    for (ft_output output = FT_TABLE; output <= FT_CSV; output++) {
        ft_result_style style = style_of(output);
        char *text = example_report(&example, &style, 0);
        assert_string_equal(text, "");
        free(text);
    }
}

static ft_status report_to(FILE *stream, const ft_result_style *style) {
    ft_result_report *report = NULL;
    ft_error error;
    ft_status status = ft_result_report_begin(stream, style, &report, &error);
    if (status != FT_OK) return status;
    status = ft_result_report_add(report, &example.entry, &error);
    ft_status end = ft_result_report_end(report, &error);
    return status != FT_OK ? status : end;
}

static void test_out_of_memory(void **state) {
    (void)state;
    FILE *stream = fopen("/dev/null", "w");
    assert_non_null(stream);
    setvbuf(stream, NULL, _IONBF, 0);
    for (ft_output output = FT_TABLE; output <= FT_CSV; output++) {
        ft_result_style style = style_of(output);
        style.has_layers = true;
        for (long n = 0;; n++) {
            failing_start(n);
            ft_status status = report_to(stream, &style);
            if (!failing_stop()) break;
            assert_int_equal(status, FT_ERR_NOMEM);
        }
    }
    fclose(stream);
}

static void test_full_disk(void **state) {
    (void)state;
    FILE *stream = fopen("/dev/full", "w");
    if (stream == NULL) skip();
    ft_result_style style = style_of(FT_JSON);
    assert_int_equal(report_to(stream, &style), FT_ERR_IO);
    fclose(stream);
}

static int set_up(void **state) {
    (void)state;
    example_results_init(&example);
    schema = schema_load("docs/schema/predict.schema.json");
    return schema == NULL;
}

static int tear_down(void **state) {
    (void)state;
    json_decref(schema);
    example_results_free(&example);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_json_values),
        cmocka_unit_test(test_json_of_a_run),
        cmocka_unit_test(test_missing_values_are_null),
        cmocka_unit_test(test_layers_add_up),
        cmocka_unit_test(test_json_fits_schema),
        cmocka_unit_test(test_csv_matches_json),
        cmocka_unit_test(test_csv_of_layers),
        cmocka_unit_test(test_table),
        cmocka_unit_test(test_table_is_no_wider_than_the_page),
        cmocka_unit_test(test_narrow_table_keeps_all_memory_parts),
        cmocka_unit_test(test_table_has_a_list_for_each_kind_of_memory),
        cmocka_unit_test(test_list_has_one_heading),
        cmocka_unit_test(test_no_models_give_no_output),
        cmocka_unit_test(test_out_of_memory),
        cmocka_unit_test(test_full_disk),
    };
    return cmocka_run_group_tests_name("forecast/report", tests, set_up, tear_down);
}
