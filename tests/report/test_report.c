/* Tests that the three renderings show the same, and that parts add up to totals. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/units.h"
#include "support/failing.h"
#include "support/report_model.h"
#include "support/toy.h"

static ft_inspect_options options_for(ft_output output) {
    ft_inspect_options options = ft_inspect_options_default();
    options.style.output = output;
    return options;
}

static json_t *json_report(const ft_inspect_options *options, int count) {
    char *text = model_report(options, count);
    json_error_t error;
    json_t *document = json_loads(text, JSON_REJECT_DUPLICATES, &error);
    if (document == NULL) fail_msg("line %d: %s", error.line, error.text);
    free(text);
    return document;
}

static json_t *summary_of(json_t *document) {
    return json_object_get(json_array_get(document, 0), "summary");
}

static json_int_t integer(json_t *object, const char *key) {
    json_t *value = json_object_get(object, key);
    if (!json_is_integer(value)) fail_msg("%s is not an integer", key);
    return json_integer_value(value);
}

/* --- Values -------------------------------------------------------------------------------------------------- */

static void test_values_by_hand(void **state) {
    (void)state;
    ft_inspect_options options = options_for(FT_JSON);
    json_t *document = json_report(&options, 1), *summary = summary_of(document);
    json_t *model = json_array_get(document, 0);
    assert_int_equal(integer(summary, "params"), MODEL_PARAMS);
    assert_int_equal(integer(summary, "macs"), MODEL_MACS);
    assert_int_equal(integer(summary, "op_count"), MODEL_OPS);
    assert_int_equal(integer(summary, "op_type_count"), MODEL_OPS);
    assert_int_equal(integer(summary, "estimated_op_count"), 1);
    assert_int_equal(integer(summary, "batch"), 1);
    assert_string_equal(json_string_value(json_object_get(model, "name")), "a \"model\", small");
    assert_string_equal(json_string_value(json_object_get(model, "file")), "models/it's \"x\".onnx");
    json_t *estimate = json_array_get(json_object_get(model, "estimated"), 0);
    assert_string_equal(json_string_value(json_object_get(estimate, "type")), "Mystery");
    assert_string_equal(json_string_value(json_object_get(estimate, "reason")), "unknown operator");
    json_t *symbol = json_array_get(json_object_get(model, "symbols"), 0);
    assert_string_equal(json_string_value(json_object_get(symbol, "name")), "N");
    assert_int_equal(integer(symbol, "value"), 1);
    json_t *shape = json_object_get(json_array_get(json_object_get(model, "outputs"), 0), "shape");
    assert_int_equal(json_integer_value(json_array_get(shape, 1)), 10);
    json_decref(document);
}

static void test_batch_scales_work_not_params(void **state) {
    (void)state;
    ft_inspect_options options = options_for(FT_JSON);
    options.binding.batch = 7;
    json_t *document = json_report(&options, 1), *summary = summary_of(document);
    assert_int_equal(integer(summary, "params"), MODEL_PARAMS);
    assert_int_equal(integer(summary, "macs"), 7 * MODEL_MACS);
    assert_int_equal(integer(summary, "batch"), 7);
    json_decref(document);
}

/* --- Sums ---------------------------------------------------------------------------------------------------- */

static json_int_t sum_over(json_t *rows, const char *key) {
    json_int_t sum = 0;
    size_t i;
    json_t *row;
    json_array_foreach(rows, i, row) sum += integer(row, key);
    return sum;
}

static void test_parts_add_up(void **state) {
    (void)state;
    ft_inspect_options options = options_for(FT_JSON);
    options.has_nodes = true;
    json_t *document = json_report(&options, 1), *summary = summary_of(document);
    json_t *types = json_object_get(json_array_get(document, 0), "by_type");
    json_t *nodes = json_object_get(json_array_get(document, 0), "nodes");
    static const char *const keys[] = {"params",      "macs",        "flops",           "read_bytes",
                                       "write_bytes", "moved_bytes", "activation_elems"};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        assert_int_equal(sum_over(types, keys[i]), integer(summary, keys[i]));
        assert_int_equal(sum_over(nodes, keys[i]), integer(summary, keys[i]));
    }
    assert_int_equal(sum_over(types, "count"), integer(summary, "op_count"));
    assert_int_equal(sum_over(nodes, "backward_flops"), integer(summary, "backward_flops"));
    assert_int_equal(integer(summary, "peak_infer_bytes"), integer(summary, "peak_infer_weight_bytes") +
                                                               integer(summary, "peak_infer_activation_bytes") +
                                                               integer(summary, "peak_infer_workspace_bytes"));
    assert_int_equal(integer(summary, "peak_train_bytes"), integer(summary, "peak_train_weight_bytes") +
                                                               integer(summary, "peak_train_gradient_bytes") +
                                                               integer(summary, "peak_train_optimizer_bytes") +
                                                               integer(summary, "peak_train_activation_bytes") +
                                                               integer(summary, "peak_train_workspace_bytes"));
    assert_true(json_real_value(json_object_get(json_array_get(types, 0), "share_ratio")) > 0.5);
    json_t *last = json_array_get(types, json_array_size(types) - 1);
    assert_true(json_number_value(json_object_get(last, "cumulative_ratio")) == 1.0);
    json_decref(document);
}

/* A stored table that reaches an output without any operator that runs, as the anchors of a detector do: a buffer, or
 * its parameters would belong to no operator of the list. */
static void test_table_to_output_is_a_buffer(void **state) {
    (void)state;
    ft_graph *graph = toy_graph(FT_FORMAT_ONNX, FT_NCHW), *bound = NULL;
    ft_error error;
    ft_cost cost = {0};
    ft_cost_options options = ft_cost_options_default();
    double *elements;
    uint32_t x = toy_input(graph, 1, 4), table = toy_weight(graph, 2, 2);
    graph->tensors[table].value = graph_value_floats(graph, 4, &elements);
    uint32_t copy = toy_op(graph, "Identity", table, FT_NONE, FT_NONE, toy_value(graph, 2, 2));
    uint32_t y = toy_op(graph, "Relu", x, FT_NONE, FT_NONE, toy_value(graph, 1, 4));
    assert_int_equal(graph_add_output(graph, y, &error), FT_OK);
    assert_int_equal(graph_add_output(graph, copy, &error), FT_OK);
    assert_int_equal(graph_finish(graph, &error), FT_OK);
    assert_int_equal(ft_graph_bind(graph, NULL, &bound, &error), FT_OK);
    assert_int_equal(ft_cost_compute(bound, &options, &cost, &error), FT_OK);
    assert_int_equal(cost.total.params, 0);
    assert_int_equal(cost.buffers, 4);
    ft_cost_free(&cost);
    ft_graph_free(bound);
    ft_graph_free(graph);
}

/* --- CSV ----------------------------------------------------------------------------------------------------- */

enum { CELLS_MAX = 128 };

/* Splits one record of RFC 4180 in place; returns where the next begins. */
static char *split_record(char *text, char **cells, size_t *count) {
    *count = 0;
    for (;;) {
        assert_true(*count < CELLS_MAX);
        char *out = text;
        cells[(*count)++] = out;
        bool is_quoted = *text == '"';
        if (is_quoted) text++;
        while (is_quoted ? *text != '"' || text[1] == '"' : *text != ',' && *text != '\n') {
            assert_true(*text != '\0');
            if (is_quoted && *text == '"') text++;
            *out++ = *text++;
        }
        if (is_quoted) text++;
        char end = *text++;
        *out = '\0';
        if (end == '\n') return text;
        assert_int_equal(end, ',');
    }
}

/* What CSV writes for a JSON value: lists are joined. */
static void check_cell(const char *cell, json_t *value, const char *key) {
    char expected[256] = "";
    if (json_is_integer(value)) {
        snprintf(expected, sizeof expected, "%lld", (long long)json_integer_value(value));
    } else if (json_is_real(value)) {
        assert_true(strtod(cell, NULL) == json_real_value(value));
        return;
    } else if (json_is_boolean(value)) {
        snprintf(expected, sizeof expected, "%s", json_is_true(value) ? "true" : "false");
    } else if (json_is_array(value)) {
        const char *joint = strstr(key, "shape") != NULL ? "x" : "+";
        size_t i;
        json_t *item;
        json_array_foreach(value, i, item) {
            size_t used = strlen(expected);
            if (json_is_integer(item))
                snprintf(expected + used, sizeof expected - used, "%s%lld", i > 0 ? joint : "",
                         (long long)json_integer_value(item));
            else
                snprintf(expected + used, sizeof expected - used, "%s%s", i > 0 ? joint : "", json_string_value(item));
        }
    } else if (json_is_string(value)) {
        if (strstr(json_string_value(value), "\xef\xbf\xbd") != NULL) return; /* CSV keeps the bytes as they are */
        snprintf(expected, sizeof expected, "%s", json_string_value(value));
    } else {
        assert_true(json_is_null(value));
    }
    if (strcmp(cell, expected) != 0) fail_msg("%s: CSV says '%s', JSON '%s'", key, cell, expected);
}

/* Compares the rows of a CSV with JSON objects. Columns before `first` say which model it is. */
static void compare_rows(const ft_inspect_options *csv_options, json_t *rows, size_t first) {
    char *text = model_report(csv_options, 1), *next;
    char *keys[CELLS_MAX], *cells[CELLS_MAX];
    size_t key_count, cell_count, i;
    json_t *row;
    next = split_record(text, keys, &key_count);
    json_array_foreach(rows, i, row) {
        next = split_record(next, cells, &cell_count);
        assert_int_equal(cell_count, key_count);
        size_t compared = 0;
        for (size_t c = first; c < key_count; c++) {
            json_t *value = json_object_get(row, keys[c]);
            if (value == NULL) continue; /* inputs, outputs: compared as texts elsewhere */
            check_cell(cells[c], value, keys[c]);
            compared++;
        }
        assert_int_equal(compared, json_object_size(row)); /* every key of JSON is a column */
    }
    assert_string_equal(next, "");
    free(text);
}

static void test_csv_agrees_with_json(void **state) {
    (void)state;
    ft_rules *rules = NULL;
    ft_error error;
    assert_int_equal(ft_rules_open("torch-compile", &rules, &error), FT_OK);
    ft_inspect_options json = options_for(FT_JSON), csv = options_for(FT_CSV);
    json_t *document = json_report(&json, 1), *rows = json_array();
    json_array_append(rows, summary_of(document));
    compare_rows(&csv, rows, 3);
    json_decref(rows);
    json_decref(document);

    json.has_nodes = true;
    json.rules = rules;
    json.sort = csv.sort = FT_SORT_BYTES;
    document = json_report(&json, 1);
    csv.has_nodes = true;
    assert_int_equal(json_array_size(json_object_get(json_array_get(document, 0), "nodes")), MODEL_OPS);
    compare_rows(&csv, json_object_get(json_array_get(document, 0), "nodes"), 2);
    csv.has_nodes = false;
    csv.rules = rules;
    compare_rows(&csv, json_object_get(json_array_get(document, 0), "kernels"), 2);
    json_decref(document);
    ft_rules_free(rules);
}

static void test_csv_lists_inputs(void **state) {
    (void)state;
    ft_inspect_options options = options_for(FT_CSV);
    char *text = model_report(&options, 1), *cells[CELLS_MAX] = {NULL};
    size_t count = 0;
    char *rest = split_record(text, cells, &count);
    size_t inputs = 0;
    while (inputs < count && strcmp(cells[inputs], "inputs") != 0) inputs++;
    assert_true(inputs + 4 <= count);
    split_record(rest, cells, &count);
    assert_string_equal(cells[inputs], "in,put=1x3x8x8");
    assert_string_equal(cells[inputs + 1], "y=1x10");
    assert_string_equal(cells[inputs + 2], "N=1");
    assert_string_equal(cells[inputs + 3], "Mystery=1");
    free(text);
}

static void test_csv_refuses_two_kinds_of_rows(void **state) {
    (void)state;
    ft_rules *rules = NULL;
    ft_error error;
    ft_report *report = NULL;
    assert_int_equal(ft_rules_open("torch-eager", &rules, &error), FT_OK);
    ft_inspect_options options = options_for(FT_CSV);
    options.has_nodes = true;
    options.rules = rules;
    assert_int_equal(ft_report_begin(stdout, &options, &report, &error), FT_ERR_USAGE);
    assert_null(report);
    ft_rules_free(rules);
}

/* --- Tables -------------------------------------------------------------------------------------------------- */

/* The line of a table that begins with a label holds the rounded value of a key of the summary. */
static void check_line(const char *table, const char *label, json_t *summary, const char *key, bool is_bytes) {
    char value[UNIT_TEXT_SIZE];
    if (is_bytes)
        unit_bytes((uint64_t)integer(summary, key), value);
    else
        unit_count((uint64_t)integer(summary, key), value);
    const char *line = strstr(table, label);
    assert_non_null(line);
    line++; /* the label begins with the end of the line before */
    const char *end = strchr(line, '\n'), *found = strstr(line, value);
    if (found == NULL || found > end) fail_msg("the line '%.*s' lacks %s (%s)", (int)(end - line), line, value, key);
}

static void test_table_agrees_with_json(void **state) {
    (void)state;
    ft_inspect_options json = options_for(FT_JSON), table = options_for(FT_TABLE);
    json_t *document = json_report(&json, 1), *summary = summary_of(document);
    char *text = model_report(&table, 1);
    check_line(text, "\n  Parameters ", summary, "params", false);
    check_line(text, "\n  Weights ", summary, "weight_bytes", true);
    check_line(text, "\n  MACs ", summary, "macs", false);
    check_line(text, "\n  FLOPs ", summary, "flops", false);
    check_line(text, "\n  FLOPs ", summary, "train_flops", false);
    check_line(text, "\n  Moved ", summary, "moved_bytes", true);
    check_line(text, "\n  Activations ", summary, "activation_elems", false);
    check_line(text, "\n  Operators ", summary, "op_count", false);
    check_line(text, "\n  peak ", summary, "peak_infer_bytes", true);
    check_line(text, "\n  peak ", summary, "peak_train_bytes", true);
    check_line(text, "\n  gradients ", summary, "peak_train_gradient_bytes", true);
    check_line(text, "\n  optimizer state ", summary, "peak_train_optimizer_bytes", true);
    check_line(text, "\n  Total ", summary, "flops", false);
    assert_non_null(strstr(text, "! Mystery (1): unknown operator, cost from bytes"));
    free(text);
    json_decref(document);
}

/* No line is wider than asked for, at any width that leaves room for the numbers, and nothing hostile gets through. */
static void test_tables_fit(void **state) {
    (void)state;
    for (uint32_t width = 64; width <= 130; width++) {
        ft_inspect_options options = options_for(FT_TABLE);
        options.style.width = width;
        options.has_nodes = true;
        char *text = model_report(&options, 1);
        for (char *line = text; *line != '\0'; line = strchr(line, '\n') + 1) {
            size_t length = strcspn(line, "\n");
            if (length > width) fail_msg("at %u columns: %.*s", width, (int)length, line);
            for (size_t i = 0; i < length; i++) assert_in_range(line[i], 0x20, 0x7e);
        }
        free(text);
    }
}

/* --- Documents ----------------------------------------------------------------------------------------------- */

static void test_documents_of_any_length(void **state) {
    (void)state;
    for (int count = 0; count < 4; count++) {
        ft_inspect_options options = options_for(FT_JSON);
        json_t *document = json_report(&options, count);
        assert_int_equal(json_array_size(document), count);
        json_decref(document);
        options = options_for(FT_CSV);
        char *text = model_report(&options, count);
        int lines = 0;
        for (const char *c = text; *c != '\0'; c++) lines += *c == '\n';
        assert_int_equal(lines, 1 + count);
        free(text);
    }
}

static void test_top_and_sort(void **state) {
    (void)state;
    ft_inspect_options options = options_for(FT_JSON);
    options.has_nodes = true;
    options.top = 2;
    options.sort = FT_SORT_PARAMS;
    json_t *document = json_report(&options, 1), *nodes = json_object_get(json_array_get(document, 0), "nodes");
    assert_int_equal(json_array_size(nodes), 2);
    assert_int_equal(integer(json_array_get(nodes, 0), "params"), 1440);
    assert_int_equal(integer(json_array_get(nodes, 1), "params"), 108);
    assert_string_equal(json_string_value(json_object_get(json_array_get(document, 0), "share_of")), "params");
    json_decref(document);
    options.top = 0;
    options.sort = FT_SORT_AUTO;
    document = json_report(&options, 1);
    nodes = json_object_get(json_array_get(document, 0), "nodes");
    for (int i = 0; i < MODEL_OPS; i++) assert_int_equal(integer(json_array_get(nodes, (size_t)i), "index"), i);
    assert_string_equal(json_string_value(json_object_get(json_array_get(nodes, 1), "name")), "b");
    json_decref(document);
}

static void test_full_disk_is_told(void **state) {
    (void)state;
    FILE *stream = fopen("/dev/full", "w");
    if (stream == NULL) skip();
    ft_inspect_options options = options_for(FT_JSON);
    ft_report *report = NULL;
    ft_error error;
    ft_graph *graph = model_new();
    assert_int_equal(ft_report_begin(stream, &options, &report, &error), FT_OK);
    assert_int_equal(ft_report_model(report, "x", graph, &error), FT_ERR_IO);
    assert_non_null(strstr(error.message, "No space left"));
    assert_int_equal(ft_report_end(report, &error), FT_ERR_IO);
    ft_graph_free(graph);
    fclose(stream);
}

/* One whole report; every allocation of it fails once. Half a report must never pass for a whole one. */
static ft_status try_report(FILE *stream, const ft_inspect_options *options, const ft_graph *graph) {
    ft_report *report = NULL;
    ft_error error;
    ft_status status = ft_report_begin(stream, options, &report, &error);
    if (status != FT_OK) return status;
    status = ft_report_model(report, "x", graph, &error);
    ft_status end = ft_report_end(report, &error);
    return status != FT_OK ? status : end;
}

static void test_memory_runs_out(void **state) {
    (void)state;
    ft_rules *rules = NULL;
    ft_error error;
    ft_graph *graph = model_new();
    assert_int_equal(ft_rules_open("torch-compile", &rules, &error), FT_OK);
    FILE *stream = fopen("/dev/null", "w");
    assert_non_null(stream);
    setvbuf(stream, NULL, _IONBF, 0);
    for (ft_output output = FT_TABLE; output <= FT_CSV; output++) {
        ft_inspect_options options = options_for(output);
        options.has_nodes = output != FT_CSV;
        options.rules = rules;
        long n = 0;
        for (;; n++) {
            failing_start(n);
            ft_status status = try_report(stream, &options, graph);
            if (!failing_stop()) break;
            if (status != FT_ERR_NOMEM) fail_msg("%s: allocation %ld fails unseen", ft_output_name(output), n);
        }
        assert_true(n > 10);
    }
    fclose(stream);
    ft_rules_free(rules);
    ft_graph_free(graph);
}

static void test_names(void **state) {
    (void)state;
    ft_sort sort;
    ft_output output;
    assert_true(ft_sort_parse("bytes", &sort) && sort == FT_SORT_BYTES);
    assert_false(ft_sort_parse("colour", &sort));
    assert_true(ft_output_parse("csv", &output) && output == FT_CSV);
    assert_false(ft_output_parse("xml", &output));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values_by_hand),
        cmocka_unit_test(test_batch_scales_work_not_params),
        cmocka_unit_test(test_parts_add_up),
        cmocka_unit_test(test_table_to_output_is_a_buffer),
        cmocka_unit_test(test_csv_agrees_with_json),
        cmocka_unit_test(test_csv_lists_inputs),
        cmocka_unit_test(test_csv_refuses_two_kinds_of_rows),
        cmocka_unit_test(test_table_agrees_with_json),
        cmocka_unit_test(test_tables_fit),
        cmocka_unit_test(test_documents_of_any_length),
        cmocka_unit_test(test_top_and_sort),
        cmocka_unit_test(test_full_disk_is_told),
        cmocka_unit_test(test_memory_runs_out),
        cmocka_unit_test(test_names),
    };
    return cmocka_run_group_tests_name("report/report", tests, NULL, NULL);
}
