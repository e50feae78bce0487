/* Tests of operators written as text. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "data/kernels/operator_text.h"
#include "foretell/cost.h"
#include "graph/graph.h"

static ft_graph *make(const char *op, const char *inputs, const char *attributes) {
    ft_graph *graph;
    ft_error error;
    if (operator_text_graph(&(operator_text){op, inputs, attributes}, &graph, &error) != FT_OK)
        fail_msg("%s", error.message);
    return graph;
}

static void refuses(const char *op, const char *inputs, const char *attributes, const char *text) {
    ft_graph *graph;
    ft_error error = {0};
    assert_int_not_equal(operator_text_graph(&(operator_text){op, inputs, attributes}, &graph, &error), FT_OK);
    if (strstr(error.message, text) == NULL) fail_msg("'%s' does not contain '%s'", error.message, text);
}

static uint64_t macs_of(const ft_graph *graph, int64_t batch) {
    ft_graph *bound;
    ft_cost cost = {0};
    ft_cost_options options = ft_cost_options_default();
    ft_error error;
    assert_int_equal(ft_graph_bind(graph, &(ft_binding){.batch = batch}, &bound, &error), FT_OK);
    assert_int_equal(ft_cost_compute(bound, &options, &cost, &error), FT_OK);
    uint64_t macs = cost.total.forward.macs;
    ft_cost_free(&cost);
    ft_graph_free(bound);
    return macs;
}

static void convolution_with_open_batch(void **state) {
    (void)state;
    ft_graph *graph = make("Conv", "Nx8x10x10;4x8x3x3:weight", "strides=2x2;pads=1x1x1x1");
    assert_int_equal(graph->op_count, 1);
    assert_int_equal(graph->tensors[1].role, FT_CONSTANT);
    assert_int_equal(macs_of(graph, 1), 5 * 5 * 4 * 8 * 9);
    assert_int_equal(macs_of(graph, 7), 7 * 5 * 5 * 4 * 8 * 9);
    ft_graph_free(graph);
}

static void kinds_of_attributes(void **state) {
    (void)state;
    ft_graph *graph = make("Softmax", "Nx8", "axis=-1;epsilon=0.5;list=1x-2x;word=tanh");
    const ft_op *op = &graph->ops[0];
    uint32_t count;
    assert_int_equal(op->attr_count, 4);
    assert_int_equal(op_attr_int(op, "axis", 0), -1);
    assert_true(op_attr_float(op, "epsilon", 0) == 0.5);
    const int64_t *list = op_attr_ints(op, "list", &count);
    assert_int_equal(count, 2);
    assert_int_equal(list[1], -2);
    assert_string_equal(op_attr_string(op, "word", ""), "tanh");
    ft_graph_free(graph);
}

static void types_and_absent_inputs(void **state) {
    (void)state;
    ft_graph *graph = make("GroupQueryAttention", "Nx1x64;Nx1x64;Nx1x64;;", "num_heads=4;kv_num_heads=4");
    assert_int_equal(graph->ops[0].inputs[3], FT_NONE);
    ft_graph_free(graph);
    graph = make("Attention", "Nx4x1x16;Nx4x32x16:float8;Nx4x32x16:float8", "");
    assert_int_equal(graph->tensors[1].dtype, FT_FLOAT8);
    assert_int_equal(macs_of(graph, 2), 2 * 4 * 32 * 16 * 2);
    ft_graph_free(graph);
    graph = make("Gather", "100x8:weight;Nx5:int64", "");
    assert_int_equal(graph->tensors[1].dtype, FT_INT64);
    ft_graph_free(graph);
}

static void errors_name_the_reason(void **state) {
    (void)state;
    refuses("Frobnicate", "Nx8", "", "unknown operator 'Frobnicate'");
    refuses("Relu", "Nx0", "", "'0' is not a size");
    refuses("Relu", "Nx8x", "", "'' is not a size");
    refuses("Relu", "8y8", "", "'8y8' is not a size");
    refuses("Relu", "99999999999999999999", "", "is not a size");
    refuses("Relu", "1x1x1x1x1x1x1x1x1", "", "more than 8 dimensions");
    refuses("Relu", "8:half:wheat", "", "expected 'weight' or an element type");
    refuses("Gemm", "4x4;Nx4:weight", "", "the shape of a weight contains N");
    refuses("Relu", "", "", "no input that is computed");
    refuses("Softmax", "4", "axis", "is not NAME=VALUE");
    refuses("MatMul", "4x4;5x5", "", "");
    refuses("Sum", "1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1", "", "more than 32 inputs");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(convolution_with_open_batch),
        cmocka_unit_test(kinds_of_attributes),
        cmocka_unit_test(types_and_absent_inputs),
        cmocka_unit_test(errors_name_the_reason),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
