/* Tests of TVM's graph.json as a model: operators from the names of functions, attributes from shapes by hand, and
 * functions that become one operator of their own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "foretell/cost.h"
#include "graph/graph.h"
#include "support/failing.h"

/* A function of inputs 0 to count - 1, whose shapes are listed before that of the result. */
static void write_json(char *text, size_t size, const char *function, int inputs, const char *shapes) {
    size_t length = (size_t)snprintf(text, size, "{\"nodes\": [");
    for (int i = 0; i < inputs; i++)
        length += (size_t)snprintf(text + length, size - length,
                                   "{\"op\": \"null\", \"name\": \"%s%d\", \"inputs\": []}, ", i > 0 ? "p" : "x", i);
    length += (size_t)snprintf(
        text + length, size - length,
        "{\"op\": \"tvm_op\", \"name\": \"y\", \"attrs\": {\"func_name\": \"%s\"}, \"inputs\": [", function);
    for (int i = 0; i < inputs; i++)
        length += (size_t)snprintf(text + length, size - length, "%s[%d, 0, 0]", i > 0 ? ", " : "", i);
    snprintf(text + length, size - length,
             "]}], \"heads\": [[%d, 0, 0]], \"attrs\": {\"shape\": [\"list_shape\", [%s]]}}", inputs, shapes);
}

static ft_graph *read_function(const char *function, int inputs, const char *shapes) {
    char text[4096];
    ft_graph *graph = NULL;
    ft_error error = {0};
    write_json(text, sizeof text, function, inputs, shapes);
    if (ft_graph_read_memory(text, strlen(text), "g.json", &graph, &error) != FT_OK) fail_msg("%s", error.message);
    assert_int_equal(ft_graph_format(graph), FT_FORMAT_EXECUTOR);
    return graph;
}

static void expect_ops(const char *function, int inputs, const char *shapes, const char *types) {
    ft_graph *graph = read_function(function, inputs, shapes);
    char found[512] = "";
    for (uint32_t i = 0; i < ft_graph_op_count(graph); i++) {
        strcat(found, i > 0 ? " " : "");
        strcat(found, ft_graph_ops(graph)[i].type);
    }
    if (strcmp(found, types) != 0) fail_msg("%s: '%s', not '%s'", function, found, types);
    ft_graph_free(graph);
}

/* Multiply-accumulates of the whole, bound: shapes and attributes agree. */
static double macs_of(const char *function, int inputs, const char *shapes) {
    ft_graph *graph = read_function(function, inputs, shapes), *bound = NULL;
    ft_cost_options options = ft_cost_options_default();
    ft_cost cost;
    ft_error error = {0};
    if (ft_graph_bind(graph, &(ft_binding){.batch = 0}, &bound, &error) != FT_OK) fail_msg("%s", error.message);
    if (ft_cost_compute(bound, &options, &cost, &error) != FT_OK) fail_msg("%s", error.message);
    double macs = (double)cost.total.forward.macs;
    ft_cost_free(&cost);
    ft_graph_free(bound);
    ft_graph_free(graph);
    return macs;
}

static void test_operators_by_name(void **state) {
    (void)state;
    expect_ops("tvmgen_default_fused_nn_conv2d_add_nn_relu_12", 3, "[1,8,9,9],[4,8,3,3],[4,1,1],[1,4,9,9]",
               "Conv Add Relu");
    expect_ops("fused_add", 2, "[1,8],[8],[1,8]", "Add");
    expect_ops("fused_multiply_tanh_exp_3", 2, "[1,8],[8],[1,8]", "Mul Tanh Exp");
    expect_ops("fused_multiply", 1, "[1,8],[1,8]", "Mul"); /* by a number of the function */
    expect_ops("fused_nn_dense_nn_bias_add", 3, "[2,8],[5,8],[5],[2,5]", "Gemm Add");
    expect_ops("__nop", 1, "[2,8],[16]", "Reshape");
    expect_ops("fused_nn_softmax", 1, "[2,8],[2,8]", "Softmax");
}

static void test_functions_as_a_whole(void **state) {
    (void)state;
    expect_ops("fused_nn_max_pool2d_2", 1, "[1,4,8,8],[1,4,4,4]", "nn_max_pool2d"); /* its window is not in the file */
    expect_ops("fused_nn_conv2d", 2, "[1,8,9,9],[4,3,3,3],[1,4,9,9]", "nn_conv2d"); /* 8 channels over 3 */
    expect_ops("fused_nn_conv2d", 2, "[1,8,9,9],[4,8,3,3],[1,4,30,30]", "nn_conv2d"); /* too many windows */
    expect_ops("fused_nn_contrib_conv2d_NCHWc", 2, "[1,1,9,9,8],[1,1,3,3,8,4],[1,1,9,9,4]", "nn_contrib_conv2d_NCHWc");
    expect_ops("fused_add", 3, "[8],[8],[8],[8]", "add"); /* an input too many */
    expect_ops("fused_nn_conv2d_nn_dense", 3, "[1,8],[4,8],[4,4],[1,4]", "nn_conv2d_nn_dense");
    expect_ops("custom", 0, "[8]", "custom");
}

static void test_work_by_hand(void **state) {
    (void)state;
    assert_true(macs_of("fused_nn_conv2d", 2, "[1,3,224,224],[64,3,7,7],[1,64,112,112]") == 64.0 * 112 * 112 * 3 * 49);
    assert_true(macs_of("fused_nn_conv2d", 2, "[1,64,56,56],[32,64,1,1],[1,32,28,28]") == 32.0 * 28 * 28 * 64);
    assert_true(macs_of("fused_nn_conv2d", 2, "[2,16,9,9],[16,1,3,3],[2,16,7,7]") ==
                2.0 * 16 * 7 * 7 * 9); /* depthwise */
    assert_true(macs_of("fused_nn_conv2d_add", 3, "[1,8,10,7],[6,4,2,3],[6,1,1],[1,6,9,7]") == 6.0 * 9 * 7 * 4 * 6);
    assert_true(macs_of("fused_nn_dense", 2, "[2,8],[5,8],[2,5]") == 2.0 * 8 * 5);
}

static void test_damaged(void **state) {
    (void)state;
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"{\"nodes\": [], \"heads\": []}", "g.json: none of its nodes runs a function"},
        {"{\"nodes\": [{\"op\": \"null\", \"name\": \"x\", \"inputs\": []}], \"heads\": [[0, 0, 0]]}",
         "g.json: none of its nodes runs a function"},
        {"{\"nodes\": [{\"op\": \"tvm_op\", \"name\": \"y\", \"attrs\": {\"func_name\": \"f\"}, \"inputs\": []}], "
         "\"heads\": "
         "[[0, 0, 0]], \"attrs\": {\"shape\": [[1,1,1,1,1,1,1,1,1]]}}",
         "g.json: a tensor has 9 dimensions; at most 8 are supported"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        ft_graph *graph = NULL;
        ft_error error = {0};
        assert_int_not_equal(ft_graph_read_memory(cases[i].text, strlen(cases[i].text), "g.json", &graph, &error),
                             FT_OK);
        assert_string_equal(error.message, cases[i].message);
    }
}

static void test_memory_runs_out(void **state) {
    (void)state;
    char text[4096];
    write_json(text, sizeof text, "fused_nn_conv2d_add_nn_relu", 3, "[1,8,9,9],[4,8,3,3],[4,1,1],[1,4,9,9]");
    for (long n = 0;; n++) {
        ft_graph *graph = NULL;
        failing_start(n);
        ft_status status = ft_graph_read_memory(text, strlen(text), "g.json", &graph, NULL);
        bool failed = failing_stop();
        ft_graph_free(graph);
        if (!failed) break;
        assert_int_equal(status, FT_ERR_NOMEM);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_operators_by_name), cmocka_unit_test(test_functions_as_a_whole),
        cmocka_unit_test(test_work_by_hand),      cmocka_unit_test(test_damaged),
        cmocka_unit_test(test_memory_runs_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
