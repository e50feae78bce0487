/* Reports on models with open dimensions: what does not depend on them is counted, the rest is marked, and the options
 * that set them are listed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graph/graph.h"
#include "report/facts.h"
#include "support/failing.h"
#include "support/schema.h"

static uint32_t tensor(ft_graph *g, const char *name, ft_role role, int32_t rank, const int64_t *dims) {
    ft_tensor spec = {.name = name, .dtype = FT_FLOAT32, .role = role, .rank = rank};
    ft_error error;
    uint32_t index;
    for (int32_t i = 0; i < rank; i++) spec.dims[i] = dims[i];
    assert_int_equal(graph_add_tensor(g, &spec, &index, &error), FT_OK);
    return index;
}

static uint32_t op(ft_graph *g, const char *type, uint32_t a, uint32_t b) {
    uint32_t out = tensor(g, type, FT_ACTIVATION, -1, NULL), inputs[] = {a, b};
    ft_op spec = {.name = type, .type = type, .inputs = inputs, .input_count = b == FT_NONE ? 1 : 2};
    ft_error error;
    spec.outputs = &out;
    spec.output_count = 1;
    assert_int_equal(graph_add_op(g, &spec, &error), FT_OK);
    return out;
}

/* A product over `length` positions, their mean, and a product that does not depend on the length. */
static ft_graph *model(int64_t length, int32_t rank) {
    ft_graph *g = NULL;
    ft_error error;
    int64_t symbol;
    assert_int_equal(graph_new(FT_FORMAT_ONNX, FT_NCHW, "open", &g, &error), FT_OK);
    assert_int_equal(graph_symbol(g, "length", &symbol, &error), FT_OK);
    uint32_t x = tensor(g, "x", FT_INPUT, rank, (int64_t[]){1, 4, length == 0 ? symbol : length, 8});
    uint32_t w = tensor(g, "w", FT_CONSTANT, 2, (int64_t[]){8, 16});
    uint32_t v = tensor(g, "v", FT_CONSTANT, 2, (int64_t[]){1, 4});
    assert_int_equal(graph_add_input(g, x, &error), FT_OK);
    uint32_t pooled = op(g, "GlobalAveragePool", op(g, "MatMul", x, w), FT_NONE);
    assert_int_equal(graph_add_output(g, op(g, "MatMul", pooled, v), &error), FT_OK);
    assert_int_equal(graph_finish(g, &error), FT_OK);
    return g;
}

static char *report(const ft_graph *g, ft_output output, bool has_nodes) {
    char *text = NULL;
    size_t size;
    ft_error error;
    ft_report *r = NULL;
    ft_inspect_options options = ft_inspect_options_default();
    options.style.output = output;
    options.has_nodes = has_nodes;
    FILE *stream = open_memstream(&text, &size);
    assert_int_equal(ft_report_begin(stream, &options, &r, &error), FT_OK);
    if (ft_report_model(r, "open.onnx", g, &error) != FT_OK) fail_msg("%s", error.message);
    assert_int_equal(ft_report_end(r, &error), FT_OK);
    fclose(stream);
    return text;
}

static void has(const char *text, const char *part) {
    if (strstr(text, part) == NULL) fail_msg("'%s' is not in:\n%s", part, text);
}

static void test_what_does_not_depend_on_open_dimensions_is_counted(void **state) {
    (void)state;
    ft_graph *g = model(0, 4);
    json_error_t json_error;
    char *text = report(g, FT_JSON, true);
    json_t *document = json_loads(text, JSON_REJECT_DUPLICATES, &json_error), *one = json_array_get(document, 0);
    json_t *schema = schema_load("docs/schema/inspect.schema.json");
    assert_true(schema_fits(document, schema, "a report on an open model"));
    json_t *summary = json_object_get(one, "summary"), *nodes = json_object_get(one, "nodes");
    assert_int_equal(json_integer_value(json_object_get(summary, "open_op_count")), 2);
    assert_int_equal(json_integer_value(json_object_get(summary, "params")), 8 * 16 + 4);
    assert_int_equal(json_integer_value(json_object_get(summary, "macs")), 16);
    assert_true(json_is_null(json_object_get(summary, "peak_infer_bytes")));
    assert_true(json_is_null(json_object_get(json_array_get(nodes, 0), "macs")));
    assert_true(json_is_true(json_object_get(json_array_get(nodes, 0), "is_open")));
    assert_int_equal(json_integer_value(json_object_get(json_array_get(nodes, 1), "macs")), 0); /* at any length */
    assert_int_equal(json_integer_value(json_object_get(json_array_get(nodes, 2), "macs")), 16);
    assert_true(json_is_false(json_object_get(json_array_get(nodes, 2), "is_open")));
    json_t *open = json_array_get(json_object_get(one, "open"), 0);
    assert_string_equal(json_string_value(json_object_get(open, "flag")), "--shape length=N");
    assert_true(json_is_null(json_object_get(json_array_get(json_object_get(one, "symbols"), 0), "value")));
    json_decref(schema);
    json_decref(document);
    free(text);
    ft_graph_free(g);
}

static void test_tables_and_csv_mark_what_is_open(void **state) {
    (void)state;
    ft_graph *g = model(0, 4);
    char *table = report(g, FT_TABLE, true), *csv = report(g, FT_CSV, false);
    has(table, "1x4xlengthx8 float32  x");
    has(table, "length is open");
    has(table, "2 of 3 operators depend on open dimensions");
    has(table, "set length with --shape length=N");
    has(table, "MACs         16 + ?");
    has(table, "1x4xlengthx16");
    has(csv, "length=?");
    free(table);
    free(csv);
    ft_graph_free(g);
}

static void test_unnamed_dimensions_ask_for_a_shape(void **state) {
    (void)state;
    ft_graph *g = model(FT_DIM_UNKNOWN, 4);
    char *text = report(g, FT_TABLE, false);
    has(text, "1x4x?x8 float32  x");
    has(text, "set x with --shape x=1x4xNx8");
    free(text);
    ft_graph_free(g);
}

static void test_inputs_without_a_shape_are_reported_too(void **state) {
    (void)state;
    ft_graph *g = model(0, -1);
    char *text = report(g, FT_TABLE, true);
    has(text, "? float32  x");
    has(text, "set x with --shape x=...");
    has(text, "Parameters   132");
    free(text);
    ft_graph_free(g);
}

static void test_memory_runs_out(void **state) {
    (void)state;
    ft_graph *g = model(0, 4);
    ft_inspect_options options = ft_inspect_options_default();
    for (long n = 0;; n++) {
        facts f;
        failing_start(n);
        ft_status status = facts_gather("open.onnx", g, &options, &f, NULL);
        bool has_failed = failing_stop();
        if (status == FT_OK) facts_free(&f);
        if (!has_failed) break;
    }
    ft_graph_free(g);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_does_not_depend_on_open_dimensions_is_counted),
        cmocka_unit_test(test_tables_and_csv_mark_what_is_open),
        cmocka_unit_test(test_unnamed_dimensions_ask_for_a_shape),
        cmocka_unit_test(test_inputs_without_a_shape_are_reported_too),
        cmocka_unit_test(test_memory_runs_out),
    };
    return cmocka_run_group_tests_name("report/inspect_open", tests, NULL, NULL);
}
