/* Tests of the nn-Meter IR reader: texts written here, and the real file compared with the same model in the CG
 * tables. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "foretell/foretell.h"
#include "read/cg.h"
#include "read/read.h"

static ft_status read_text(const char *text, ft_graph **graph, ft_error *error) {
    const read_origin origin = {.path = "some/net.json"};
    return nnmeter_reader.read((const uint8_t *)text, strlen(text), &origin, graph, error);
}

static ft_graph *expect_graph(const char *text) {
    ft_graph *graph = NULL;
    ft_error error = {0};
    if (read_text(text, &graph, &error) != FT_OK) fail_msg("%s", error.message);
    return graph;
}

static void expect_error(const char *text, ft_status status, const char *message) {
    ft_graph *graph = NULL;
    ft_error error = {0};
    assert_int_equal(read_text(text, &graph, &error), status);
    assert_string_equal(error.message, message);
    assert_null(graph);
}

static void expect_shape(const ft_graph *graph, const ft_tensor *tensor, const char *expected) {
    char text[128];
    assert_non_null(tensor);
    assert_string_equal(shape_text(graph, tensor, text, sizeof text), expected);
}

#define NODE(name, in, type, shapes, options)                                                                          \
    "\"" name "\": {\"inbounds\": [" in "], \"outbounds\": [], \"attr\": {\"type\": \"" type "\", " shapes             \
    ", \"attr\": {" options "}}}"

/* --- TensorFlow names -------------------------------------------------------------------------------------------- */

static const char tensorflow[] = "{" NODE("in", "", "Placeholder", "\"output_shape\": [[1, 8, 8, 3]]", "") ", " NODE(
    "conv", "\"in\"", "Conv2D", "\"input_shape\": [[1, 8, 8, 3]], \"output_shape\": [[1, 4, 4, 6]]",
    "\"strides\": [1, 2, 2, 1], \"padding\": \"SAME\", \"kernel_shape\": [3, 3], \"weight_shape\": [3, 3, 3, 6], "
    "\"dilations\": [1, 1]") ", " NODE("bn", "\"conv\", \"bn/variance\"", "FusedBatchNorm",
                                       "\"output_shape\": [[1, 4, 4, 6]]",
                                       "") ", " NODE("three", "", "Const", "\"output_shape\": [[]]",
                                                     "\"constant\": [3.0]") ", " NODE("add", "\"bn\", \"three\"", "Add",
                                                                                      "\"output_shape\": [[1, 6]]",
                                                                                      "") ", " NODE("mean", "\"add\"",
                                                                                                    "Mean",
                                                                                                    "\"input_shape\": "
                                                                                                    "[[1, 6]], "
                                                                                                    "\"output_shape\": "
                                                                                                    "[[1, 6]]",
                                                                                                    "") "}";

static void test_tensorflow(void **state) {
    (void)state;
    ft_graph *g = expect_graph(tensorflow);
    assert_int_equal(ft_graph_format(g), FT_FORMAT_NNMETER);
    assert_int_equal(ft_graph_layout(g), FT_NHWC);
    assert_string_equal(ft_graph_name(g), "net");
    assert_int_equal(g->op_count, 4);
    assert_string_equal(g->ops[0].name, "conv");
    expect_shape(g, op_input(g, &g->ops[0], 1), "3x3x3x6");
    uint32_t count;
    assert_int_equal(op_attr_ints(&g->ops[0], "strides", &count)[0], 2);
    assert_int_equal(count, 2);
    assert_null(ft_op_attr(&g->ops[0], "dilations"));
    assert_int_equal(g->ops[1].input_count, 5);              /* an inbound that is not a node is dropped */
    expect_shape(g, op_output(g, &g->ops[2], 0), "1x4x4x6"); /* recorded as 1x6 */
    expect_shape(g, &g->tensors[g->outputs.items[0]], "1x6");
    ft_graph_free(g);
}

/* --- ONNX names -------------------------------------------------------------------------------------------------- */

/* IR that nn-Meter makes from ONNX has no input node, no weight shapes, and sometimes no attr. */
static const char onnx[] = "{" NODE(
    "dw", "", "Conv", "\"input_shape\": [[1, 8, 8, 4]], \"output_shape\": [[1, 8, 8, 4]]",
    "\"group\": 4, \"kernel_shape\": [3, 3], \"strides\": [1, 1], \"pads\": [1, 1, 1, "
    "1]") ", " NODE("pw", "\"dw\"", "Conv", "\"input_shape\": [[1, 8, 8, 4]], \"output_shape\": [[1, 8, 8, 6]]",
                    "\"group\": 2, \"kernel_shape\": [1, 1], \"strides\": [1, 1], "
                    "\"pads\": [0, 0, 0, 0]") ", " NODE("gap", "\"pw\"", "GlobalAveragePool",
                                                        "\"output_shape\": [[1, 1, 1, "
                                                        "6]]",
                                                        "") ", " NODE("flat", "\"gap\"", "Flatten",
                                                                      "\"output_"
                                                                      "shape\": [[1, "
                                                                      "6]]",
                                                                      "") ", " NODE("f"
                                                                                    "c",
                                                                                    "\""
                                                                                    "fl"
                                                                                    "at"
                                                                                    "\"",
                                                                                    "Ge"
                                                                                    "m"
                                                                                    "m",
                                                                                    "\""
                                                                                    "in"
                                                                                    "pu"
                                                                                    "t_"
                                                                                    "sh"
                                                                                    "ap"
                                                                                    "e"
                                                                                    "\""
                                                                                    ": "
                                                                                    "[["
                                                                                    "1,"
                                                                                    " 6"
                                                                                    "]]"
                                                                                    ", "
                                                                                    "\""
                                                                                    "ou"
                                                                                    "tp"
                                                                                    "ut"
                                                                                    "_s"
                                                                                    "ha"
                                                                                    "pe"
                                                                                    "\""
                                                                                    ": "
                                                                                    "[["
                                                                                    "1,"
                                                                                    " 1"
                                                                                    "0]"
                                                                                    "]",
                                                                                    "") ", \"end\": {\"inbounds\": "
                                                                                        "[\"fc\"], \"outbounds\": [], "
                                                                                        "\"attr\": {}}}";

/* MACs: 8*8*4*9 + 8*8*6*2 + 60. Parameters: 36 + 12 + 60 + 10. */
static void test_onnx_names(void **state) {
    (void)state;
    ft_graph *g = expect_graph(onnx), *bound = NULL;
    ft_cost cost = {0};
    ft_error error = {0};
    ft_cost_options options = ft_cost_options_default();
    assert_int_equal(g->op_count, 6);
    assert_string_equal(g->ops[0].type, "Conv");
    expect_shape(g, op_input(g, &g->ops[0], 0), "1x8x8x4");
    expect_shape(g, op_input(g, &g->ops[0], 1), "3x3x4x1");
    expect_shape(g, op_input(g, &g->ops[1], 1), "1x1x2x6");
    expect_shape(g, op_input(g, &g->ops[4], 2), "10");
    assert_int_equal(g->inputs.count, 1);
    if (ft_graph_bind(g, NULL, &bound, &error) != FT_OK) fail_msg("%s", error.message);
    assert_int_equal(ft_cost_compute(bound, &options, &cost, &error), FT_OK);
    assert_int_equal(cost.total.forward.macs, 2304 + 768 + 60);
    assert_int_equal(cost.total.params, 36 + 12 + 70);
    assert_int_equal(cost.estimated_ops, 1); /* the one without attr */
    ft_cost_free(&cost);
    ft_graph_free(bound);
    ft_graph_free(g);
}

/* --- What is wrong ----------------------------------------------------------------------------------------------- */

static void test_wrong_types(void **state) {
    (void)state;
    expect_error("{\"a\": 1}", FT_ERR_DAMAGED,
                 "some/net.json: node 'a' is not an object with inbounds, outbounds and attr");
    expect_error("{\"a\": {\"inbounds\": []}}", FT_ERR_DAMAGED, "some/net.json: node 'a': \"attr\" is not an object");
    expect_error("{\"a\": {\"attr\": {\"type\": 3}}}", FT_ERR_DAMAGED,
                 "some/net.json: node 'a': \"type\" is not a string");
    expect_error("{\"a\": {\"inbounds\": \"b\", \"attr\": {}}}", FT_ERR_DAMAGED,
                 "some/net.json: node 'a': \"inbounds\" is not a list of names");
    expect_error("{\"a\": {\"inbounds\": [1], \"attr\": {}}}", FT_ERR_DAMAGED,
                 "some/net.json: node 'a': \"inbounds\" is not a list of names");
    expect_error("{\"a\": {\"attr\": {\"output_shape\": [[1, \"x\"]]}}}", FT_ERR_DAMAGED,
                 "some/net.json: node 'a': \"output_shape\" is not a list of shapes");
    expect_error("{\"a\": {\"attr\": {\"output_shape\": [[1, -7]]}}}", FT_ERR_DAMAGED,
                 "some/net.json: node 'a': \"output_shape\" is not a list of valid shapes");
    expect_error("{\"a\": {\"attr\": {\"output_shape\": [[1,1,1,1,1,1,1,1,1]]}}}", FT_ERR_LIMIT,
                 "some/net.json: node 'a': \"output_shape\" has 9 dimensions; at most 8 are supported");
    expect_error("{\"a\": {\"attr\": {\"attr\": {\"strides\": [1.5, 2]}}}}", FT_ERR_DAMAGED,
                 "some/net.json: node 'a': \"strides\" is not a list of integers");
    expect_error("{\"a\": {\"attr\": {\"attr\": {\"ksize\": [3]}}}}", FT_ERR_DAMAGED,
                 "some/net.json: node 'a': \"ksize\" is not a list of two or four integers");
    expect_error("{\"a\": {\"attr\": {\"attr\": {\"group\": -2}}}}", FT_ERR_DAMAGED,
                 "some/net.json: node 'a': \"group\" is not a count");
    expect_error("{\"a\": {\"attr\": {\"output_shape\": [[99999999999999]]}}}", FT_ERR_LIMIT,
                 "some/net.json: tensor 'a': dimension 0 is 99999999999999, more than 2^40");
}

static void test_wrong_texts(void **state) {
    (void)state;
    ft_graph *graph = NULL;
    ft_error error;
    expect_error("[1]", FT_ERR_FORMAT, "some/net.json: is JSON, but not an object from node names to nodes");
    assert_int_equal(read_text("{\"a\": {\"attr\": ", &graph, &error), FT_ERR_DAMAGED);
    assert_non_null(strstr(error.message, "some/net.json: line 1, column "));
    assert_int_equal(read_text("{\"a\": {\"attr\": {}}, \"a\": {\"attr\": {}}}", &graph, &error), FT_ERR_DAMAGED);
    assert_non_null(strstr(error.message, "duplicate"));
    assert_int_equal(read_text("", &graph, &error), FT_ERR_DAMAGED);
    expect_error("{\"a\": {\"inbounds\": [\"b\"], \"attr\": {}}, \"b\": {\"inbounds\": [\"a\"], \"attr\": {}}}",
                 FT_ERR_GRAPH, "some/net.json: the graph has a cycle through operator 'a' (unknown)");
}

static void test_bombs(void **state) {
    (void)state;
    buf text = {0};
    ft_graph *graph = NULL;
    ft_error error;
    for (int i = 0; i < 1000; i++) buf_text(&text, "{\"a\":");
    assert_int_equal(read_text(text.data, &graph, &error), FT_ERR_LIMIT);
    assert_non_null(strstr(error.message, "nests deeper than 64"));
    buf_free(&text);
    buf_text(&text, "{\"a\": {\"attr\": {}, \"inbounds\": [");
    for (int i = 0; i < 4000001; i++) buf_text(&text, "0,");
    buf_text(&text, "0]}}");
    assert_false(text.failed);
    assert_int_equal(read_text(text.data, &graph, &error), FT_ERR_LIMIT);
    assert_non_null(strstr(error.message, "more than 4000000 values"));
    buf_free(&text);
}

static bool matches(const char *text) {
    return nnmeter_reader.matches((const uint8_t *)text, strlen(text));
}

static void test_matches(void **state) {
    (void)state;
    assert_true(matches(tensorflow));
    assert_true(matches(onnx));
    assert_true(matches(" \n{ \"a}\\\"{\" : { \"x\" : [{\"y\": 1}], \"outbounds\" : 1"));
    assert_false(matches(""));
    assert_false(matches("{"));
    assert_false(matches("{}"));
    assert_false(matches("[{\"a\": {\"attr\": 1}}]"));
    assert_false(matches("{\"a\": 1, \"b\": {\"attr\": {}}}"));
    assert_false(matches("{\"a\": {}, \"b\": {\"attr\": {}}}"));
    assert_false(matches("{\"a\": {\"x\": {\"attr\": 1}}, \"b\": {\"attr\": {}}}"));
    assert_false(matches("{\"a\": \"attr\"}"));
    assert_false(matches("{\"a\": {\"x\": \"attr\"}}"));
    assert_false(matches("{\"unclosed"));
    assert_false(matches("{\"a\": {\"b\\"));
}

/* --- The real file ----------------------------------------------------------------------------------------------- */

static ft_graph *find_in_cg(const char *name) {
    cg_set *set = NULL;
    ft_error error;
    ft_graph *graph = NULL;
    assert_int_equal(cg_open("../shared/data/cg/sample", &set, &error), FT_OK);
    for (;;) {
        assert_int_equal(cg_next(set, &graph, &error), FT_OK);
        if (graph == NULL || strcmp(ft_graph_name(graph), name) == 0) break;
        ft_graph_free(graph);
    }
    cg_close(set);
    return graph;
}

static void expect_same_op(const ft_graph *a, const ft_op *x, const ft_graph *b, const ft_op *y) {
    assert_string_equal(x->type, y->type);
    assert_ptr_equal(x->def, y->def);
    assert_int_equal(x->input_count, y->input_count);
    for (uint32_t k = 0; k < x->input_count; k++) {
        char one[128], other[128];
        const ft_tensor *p = op_input(a, x, k), *q = op_input(b, y, k);
        assert_int_equal(p->producer, q->producer);
        assert_int_equal(p->role, q->role);
        assert_string_equal(shape_text(a, p, one, sizeof one), shape_text(b, q, other, sizeof other));
    }
    assert_int_equal(x->attr_count, y->attr_count);
    for (uint32_t k = 0; k < x->attr_count; k++) {
        assert_string_equal(x->attrs[k].name, y->attrs[k].name);
        assert_int_equal(x->attrs[k].kind, y->attrs[k].kind);
        assert_int_equal(x->attrs[k].i, y->attrs[k].i);
        assert_int_equal(x->attrs[k].count, y->attrs[k].count);
        if (x->attrs[k].kind == FT_ATTR_STRING) assert_string_equal(x->attrs[k].s, y->attrs[k].s);
        if (x->attrs[k].kind == FT_ATTR_INTS)
            assert_memory_equal(x->attrs[k].ints, y->attrs[k].ints, x->attrs[k].count * sizeof(int64_t));
    }
}

static void test_same_as_in_cg(void **state) {
    (void)state;
    const char *path = "../shared/data/cg/nnmeter/mobilenetv3small_0.json";
    if (access(path, R_OK) != 0) {
        print_message("# %s is not available: only small texts are tested\n", path);
        skip();
    }
    ft_graph *ir = NULL, *row = find_in_cg("mobilenetv3small_0");
    ft_error error;
    assert_non_null(row);
    assert_int_equal(ft_graph_read(path, &ir, &error), FT_OK);
    assert_int_equal(ft_graph_format(ir), FT_FORMAT_NNMETER);
    assert_int_equal(ir->op_count, row->op_count);
    assert_int_equal(ir->tensor_count, row->tensor_count);
    assert_int_equal(ir->inputs.count, row->inputs.count);
    assert_int_equal(ir->outputs.count, row->outputs.count);
    for (uint32_t i = 0; i < ir->op_count; i++) {
        char one[128], other[128];
        expect_same_op(ir, &ir->ops[i], row, &row->ops[i]);
        assert_string_equal(shape_text(ir, op_output(ir, &ir->ops[i], 0), one, sizeof one),
                            shape_text(row, op_output(row, &row->ops[i], 0), other, sizeof other));
    }
    ft_graph_free(ir);
    ft_graph_free(row);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tensorflow),    cmocka_unit_test(test_onnx_names), cmocka_unit_test(test_wrong_types),
        cmocka_unit_test(test_wrong_texts),   cmocka_unit_test(test_bombs),      cmocka_unit_test(test_matches),
        cmocka_unit_test(test_same_as_in_cg),
    };
    return cmocka_run_group_tests_name("read/nnmeter", tests, NULL, NULL);
}
