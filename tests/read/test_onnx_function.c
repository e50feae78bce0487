/* Local functions of ONNX models are inlined, within limits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "support/onnx_model.h"

static Onnx__NodeProto *call(onnx_model *m, const char *type, const char *inputs, const char *outputs) {
    Onnx__NodeProto *node = onnx_node(m, m->graph, type, inputs, outputs);
    node->domain = "local";
    return node;
}

static Onnx__NodeProto *inner_call(onnx_model *m, Onnx__FunctionProto *f, const char *type, const char *inputs,
                                   const char *outputs) {
    Onnx__NodeProto *node = onnx_function_node(m, f, type, inputs, outputs);
    node->domain = "local";
    return node;
}

static onnx_model *new_model(void) {
    onnx_model *m = onnx_model_new();
    onnx_input(m, m->graph, "x", ONNX_FLOAT, "4");
    onnx_output(m, m->graph, "y", ONNX_FLOAT, NULL);
    return m;
}

static void calls_are_replaced_by_bodies(void **state) {
    (void)state;
    onnx_model *m = new_model();
    Onnx__FunctionProto *f = onnx_function_add(m, "local", "Twice", "a b", "r");
    onnx_function_node(m, f, "Add", "a b", "t");
    Onnx__NodeProto *cast = onnx_function_node(m, f, "Cast", "t", "r");
    onnx_attr_ref(m, cast, "to", "type");
    onnx_attr_int(m, call(m, "Twice", "x x", "h"), "type", 7);
    m->graph->node[0]->name = "first";
    onnx_attr_int(m, call(m, "Twice", "h", "y"), "type", 9); /* b is left out */
    ft_graph *g = onnx_model_read(m);
    assert_string_equal(op_types(m, g), "Add Cast Add Cast");
    const ft_op *ops = ft_graph_ops(g);
    assert_int_equal(ft_op_attr(&ops[1], "to")->i, 7);
    assert_int_equal(ft_op_attr(&ops[3], "to")->i, 9);
    assert_int_equal(ops[2].inputs[1], FT_NONE);
    assert_string_equal(ops[0].name, "first/t");
    assert_string_equal(ft_graph_tensors(g)[ops[0].outputs[0]].name, "first/t");
    assert_string_equal(ft_graph_tensors(g)[ops[1].outputs[0]].name, "h");
    assert_string_equal(ft_graph_tensors(g)[ops[3].outputs[0]].name, "y");
    ft_graph_free(g);
    onnx_model_free(m);
}

static void references_go_through_nested_calls(void **state) {
    (void)state;
    onnx_model *m = new_model();
    Onnx__FunctionProto *inner = onnx_function_add(m, "local", "Inner", "a", "r");
    onnx_attr_ref(m, onnx_function_node(m, inner, "Softmax", "a", "r"), "axis", "dim");
    Onnx__FunctionProto *outer = onnx_function_add(m, "local", "Outer", "a", "r");
    onnx_attr_ref(m, inner_call(m, outer, "Inner", "a", "t"), "dim", "which");
    Onnx__NodeProto *plain = onnx_function_node(m, outer, "Softmax", "t", "r");
    onnx_attr_ref(m, plain, "axis", "not_given");
    onnx_attr_int(m, call(m, "Outer", "x", "y"), "which", -2);
    ft_graph *g = onnx_model_read(m);
    assert_string_equal(op_types(m, g), "Softmax Softmax");
    assert_int_equal(ft_op_attr(&ft_graph_ops(g)[0], "axis")->i, -2);
    assert_null(ft_op_attr(&ft_graph_ops(g)[1], "axis"));
    ft_graph_free(g);
    onnx_model_free(m);
}

/* FunctionProto.attribute_proto is encoded by hand, as an onnx.proto without that field decodes it. */
static void defaults_replace_omitted_attributes(void **state) {
    (void)state;
    static uint8_t axis_is_3[] = {10, 0x0a, 4, 'a', 'x', 'i', 's', 0x18, 3, 0xa0, 0x01, 2};
    axis_is_3[0] = sizeof axis_is_3 - 1;
    onnx_model *m = new_model();
    Onnx__FunctionProto *f = onnx_function_add(m, "local", "F", "a", "r");
    onnx_attr_ref(m, onnx_function_node(m, f, "Softmax", "a", "r"), "axis", "axis");
    ProtobufCMessageUnknownField field = {
        .tag = 11, .wire_type = PROTOBUF_C_WIRE_TYPE_LENGTH_PREFIXED, .len = sizeof axis_is_3, .data = axis_is_3};
    f->base.unknown_fields = &field;
    f->base.n_unknown_fields = 1;
    call(m, "F", "x", "h");
    onnx_attr_int(m, call(m, "F", "h", "y"), "axis", 1);
    ft_graph *g = onnx_model_read(m);
    assert_int_equal(ft_op_attr(&ft_graph_ops(g)[0], "axis")->i, 3);
    assert_int_equal(ft_op_attr(&ft_graph_ops(g)[1], "axis")->i, 1);
    ft_graph_free(g);
    onnx_model_free(m);
}

/* Overloads (IR 10) too. */
static void overloads_are_distinguished(void **state) {
    (void)state;
    static uint8_t one[] = {1, '1'}, two[] = {1, '2'};
    onnx_model *m = new_model();
    ProtobufCMessageUnknownField fields[4];
    const int types = PROTOBUF_C_WIRE_TYPE_LENGTH_PREFIXED;
    for (int i = 0; i < 4; i++)
        fields[i] = (ProtobufCMessageUnknownField){
            .tag = i < 2 ? 13 : 8, .wire_type = types, .len = 2, .data = i % 2 == 0 ? one : two};
    for (int i = 0; i < 2; i++) {
        Onnx__FunctionProto *f = onnx_function_add(m, "local", "F", "a", "r");
        onnx_function_node(m, f, i == 0 ? "Relu" : "Tanh", "a", "r");
        f->base.unknown_fields = &fields[i];
        f->base.n_unknown_fields = 1;
        Onnx__NodeProto *node = call(m, "F", i == 0 ? "x" : "h", i == 0 ? "h" : "y");
        node->base.unknown_fields = &fields[3 - i]; /* the second is called first */
        node->base.n_unknown_fields = 1;
    }
    ft_graph *g = onnx_model_read(m);
    assert_string_equal(op_types(m, g), "Tanh Relu");
    ft_graph_free(g);
    onnx_model_free(m);
}

static void functions_hold_sub_graphs_and_constants(void **state) {
    (void)state;
    onnx_model *m = new_model();
    onnx_input(m, m->graph, "c", ONNX_BOOL, "");
    Onnx__FunctionProto *f = onnx_function_add(m, "local", "F", "a c", "r");
    Onnx__NodeProto *constant = onnx_function_node(m, f, "Constant", "", "k");
    onnx_attr_ref(m, constant, "value_int", "number");
    Onnx__GraphProto *yes = onnx_graph(m, "yes"), *no = onnx_graph(m, "no");
    onnx_node(m, yes, "Add", "a k", "s"); /* both are names of the function */
    onnx_node(m, yes, "Relu", "s", "t");
    onnx_output(m, yes, "t", ONNX_FLOAT, NULL);
    onnx_node(m, no, "Neg", "a", "n");
    onnx_output(m, no, "n", ONNX_FLOAT, NULL);
    Onnx__NodeProto *node = onnx_function_node(m, f, "If", "c", "r");
    onnx_attr_graph(m, node, "then_branch", yes);
    onnx_attr_graph(m, node, "else_branch", no);
    onnx_attr_int(m, call(m, "F", "x c", "y"), "number", 12);
    ft_graph *g = onnx_model_read(m);
    assert_string_equal(op_types(m, g), "Add Relu Neg IfMerge");
    assert_int_equal(tensor_named(g, "y/k")->value->ints[0], 12);
    ft_graph_free(g);
    onnx_model_free(m);
}

static void check_fails(onnx_model *m, ft_status expected, const char *part) {
    ft_error error;
    struct timespec before, after;
    clock_gettime(CLOCK_MONOTONIC, &before);
    assert_int_equal(onnx_model_fails(m, &error), expected);
    clock_gettime(CLOCK_MONOTONIC, &after);
    assert_true(after.tv_sec - before.tv_sec < 5);
    if (strstr(error.message, part) == NULL) fail_msg("'%s' does not contain '%s'", error.message, part);
    onnx_model_free(m);
}

static void recursion_is_found(void **state) {
    (void)state;
    onnx_model *m = new_model();
    Onnx__FunctionProto *f = onnx_function_add(m, "local", "F", "a", "r");
    inner_call(m, f, "F", "a", "r");
    call(m, "F", "x", "y");
    check_fails(m, FT_ERR_GRAPH, "'F' calls itself");

    m = new_model();
    f = onnx_function_add(m, "local", "F", "a", "r");
    Onnx__FunctionProto *h = onnx_function_add(m, "local", "H", "a", "r");
    Onnx__GraphProto *body = onnx_graph(m, "body");
    onnx_node(m, body, "H", "a", "t")->domain = "local";
    onnx_output(m, body, "t", ONNX_FLOAT, NULL);
    Onnx__NodeProto *node = onnx_function_node(m, f, "If", "a", "r"); /* through a sub-graph */
    onnx_attr_graph(m, node, "then_branch", body);
    onnx_attr_graph(m, node, "else_branch", body);
    inner_call(m, h, "F", "a", "r");
    call(m, "F", "x", "y");
    check_fails(m, FT_ERR_GRAPH, "calls itself");
}

/* Level i calls level i+1 twice; the last level has `last` nodes, or returns its input. */
static onnx_model *tower(int levels, bool is_empty) {
    onnx_model *m = new_model();
    for (int i = 0; i < levels; i++) {
        char name[16], next[16];
        snprintf(name, sizeof name, "F%d", i);
        snprintf(next, sizeof next, "F%d", i + 1);
        bool is_last = i + 1 == levels;
        Onnx__FunctionProto *f = onnx_function_add(m, "local", name, "a", is_last && is_empty ? "a" : "r");
        if (is_last && is_empty) continue;
        if (is_last) {
            onnx_function_node(m, f, "Relu", "a", "r");
        } else {
            inner_call(m, f, next, "a", "t");
            inner_call(m, f, next, "t", "r");
        }
    }
    call(m, "F0", "x", "y");
    return m;
}

static void blow_ups_end_at_once(void **state) {
    (void)state;
    check_fails(tower(40, false), FT_ERR_LIMIT, "inlined");
    check_fails(tower(40, true), FT_ERR_LIMIT, "inlined"); /* not one operator, and 2^39 calls */
    check_fails(tower(80, false), FT_ERR_LIMIT, "");
    check_fails(tower(18, false), FT_ERR_LIMIT, "more than 103600 nodes"); /* 36 nodes in the file */

    onnx_model *m = tower(10, false);
    ft_graph *g = onnx_model_read(m);
    assert_int_equal(ft_graph_op_count(g), 512);
    ft_graph_free(g);
    onnx_model_free(m);
}

/* Each level calls the next one from both branches of an If: the longer branch alone would be short. */
static void blow_ups_through_branches_end_at_once(void **state) {
    (void)state;
    onnx_model *m = new_model();
    onnx_input(m, m->graph, "c", ONNX_BOOL, "");
    for (int i = 0; i < 25; i++) {
        char name[16], next[16];
        snprintf(name, sizeof name, "F%d", i);
        snprintf(next, sizeof next, "F%d", i + 1);
        Onnx__FunctionProto *f = onnx_function_add(m, "local", name, "a c", "r");
        Onnx__NodeProto *node = onnx_function_node(m, f, "If", "c", "r");
        for (int k = 0; k < 2; k++) {
            Onnx__GraphProto *branch = onnx_graph(m, "branch");
            onnx_node(m, branch, i < 24 ? next : "Sum", "a c", "b")->domain = i < 24 ? "local" : "";
            onnx_output(m, branch, "b", ONNX_FLOAT, NULL);
            onnx_attr_graph(m, node, k == 0 ? "then_branch" : "else_branch", branch);
        }
    }
    call(m, "F0", "x c", "y");
    check_fails(m, FT_ERR_LIMIT, "inlined");
}

static void deep_chains_end(void **state) {
    (void)state;
    onnx_model *m = new_model();
    for (int i = 0; i < 100; i++) {
        char name[16], next[16];
        snprintf(name, sizeof name, "F%d", i);
        snprintf(next, sizeof next, "F%d", i + 1);
        inner_call(m, onnx_function_add(m, "local", name, "a", "r"), next, "a", "r");
    }
    call(m, "F0", "x", "y");
    check_fails(m, FT_ERR_LIMIT, "nested");
}

static void refuses_calls_that_do_not_fit(void **state) {
    (void)state;
    onnx_model *m = new_model();
    onnx_function_node(m, onnx_function_add(m, "local", "F", "a", "r"), "Relu", "a", "r");
    call(m, "F", "x x", "y");
    check_fails(m, FT_ERR_GRAPH, "'F' has 1 inputs and 1 outputs");

    m = new_model();
    onnx_function_node(m, onnx_function_add(m, "local", "F", "a", "r"), "Relu", "x",
                       "r"); /* x is not defined in the function */
    call(m, "F", "x", "y");
    check_fails(m, FT_ERR_GRAPH, "'x'");

    m = new_model();
    onnx_function_node(m, onnx_function_add(m, "local", "F", "a", "r"), "Relu", "a", "a");
    call(m, "F", "x", "y");
    check_fails(m, FT_ERR_GRAPH, "'a'");

    m = new_model();
    onnx_function_node(m, onnx_function_add(m, "local", "F", "a", "r"), "Relu", "a", "r");
    onnx_attr_graph(m, call(m, "F", "x", "y"), "body", onnx_graph(m, "b"));
    check_fails(m, FT_ERR_UNSUPPORTED, "sub-graph");

    m = new_model();
    onnx_function_add(m, "local", "F", "a", "a");
    onnx_function_add(m, "local", "F", "a", "a");
    call(m, "F", "x", "y");
    check_fails(m, FT_ERR_GRAPH, "two functions have the name 'local::F:'");

    m = new_model();
    onnx_function_node(m, onnx_function_add(m, "local", "F", "a b", "b"), "Relu", "a", "r");
    call(m, "F", "x", "y"); /* returns an omitted input */
    check_fails(m, FT_ERR_GRAPH, "'y'");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_are_replaced_by_bodies),
        cmocka_unit_test(references_go_through_nested_calls),
        cmocka_unit_test(defaults_replace_omitted_attributes),
        cmocka_unit_test(overloads_are_distinguished),
        cmocka_unit_test(functions_hold_sub_graphs_and_constants),
        cmocka_unit_test(recursion_is_found),
        cmocka_unit_test(blow_ups_end_at_once),
        cmocka_unit_test(blow_ups_through_branches_end_at_once),
        cmocka_unit_test(deep_chains_end),
        cmocka_unit_test(refuses_calls_that_do_not_fit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
