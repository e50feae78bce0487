/* Tests of inlining If, Loop, Scan and SequenceMap by the rules of docs/formats/onnx.md. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "graph/graph.h"
#include "support/onnx_model.h"

static Onnx__GraphProto *chain(onnx_model *m, const char *name, const char *types, const char *from, const char *to) {
    Onnx__GraphProto *g = onnx_graph(m, name);
    char copy[128], *rest = NULL, input[64], output[64];
    snprintf(copy, sizeof copy, "%s", types);
    snprintf(input, sizeof input, "%s", from);
    int i = 0;
    for (char *type = strtok_r(copy, " ", &rest); type != NULL; type = strtok_r(NULL, " ", &rest), i++) {
        snprintf(output, sizeof output, "%s_%d", name, i);
        onnx_node(m, g, type, input, output);
        snprintf(input, sizeof input, "%s", output);
    }
    onnx_node(m, g, "Identity", input, to);
    onnx_output(m, g, to, ONNX_FLOAT, NULL);
    return g;
}

/* The operators that run once the graph is bound. */
static const char *types_run(onnx_model *m, const ft_graph *g, int64_t batch) {
    ft_graph *bound = NULL;
    ft_error error;
    if (ft_graph_bind(g, &(ft_binding){.batch = batch}, &bound, &error) != FT_OK) fail_msg("%s", error.message);
    const char *types = "";
    for (uint32_t i = 0; i < bound->op_count; i++) {
        if (!bound->ops[i].is_folded)
            types = arena_format(&m->memory, "%s%s%s", types, types[0] != '\0' ? " " : "", bound->ops[i].type);
    }
    ft_graph_free(bound);
    return types;
}

static onnx_model *if_model(int condition) {
    onnx_model *m = onnx_model_new();
    onnx_input(m, m->graph, "x", ONNX_FLOAT, "2");
    if (condition < 0) {
        onnx_input(m, m->graph, "c", ONNX_BOOL, "");
    } else {
        uint8_t byte = (uint8_t)condition;
        onnx_raw(m, onnx_initializer(m, m->graph, "c", ONNX_BOOL, ""), &byte, 1);
    }
    onnx_node(m, m->graph, "Abs", "x", "a");
    Onnx__NodeProto *node = onnx_node(m, m->graph, "If", "c", "y");
    onnx_attr_graph(m, node, "then_branch", chain(m, "t", "Relu", "a", "t_out")); /* "a" is visible inside */
    onnx_attr_graph(m, node, "else_branch", chain(m, "e", "Tanh Sigmoid", "a", "e_out"));
    onnx_node(m, m->graph, "Neg", "y", "z");
    onnx_info(m, m->graph, "y", ONNX_FLOAT, "2");
    onnx_output(m, m->graph, "z", ONNX_FLOAT, NULL);
    return m;
}

static void if_selects_one_branch(void **state) {
    (void)state;
    const struct {
        int condition;
        const char *types;
    } cases[] = {
        {1, "Abs Relu Identity Neg"},
        {0, "Abs Tanh Sigmoid Identity Neg"},
        {-1, "Abs Tanh Sigmoid Identity IfMerge Neg"}, /* unknown before the run: the longer one */
    };
    for (int i = 0; i < 3; i++) {
        onnx_model *m = if_model(cases[i].condition);
        ft_graph *g = onnx_model_read(m);
        assert_string_equal(types_run(m, g, 0), cases[i].types);
        assert_int_equal(tensor_named(g, "y")->rank, 1); /* the result has the outer name and type */
        ft_graph_free(g);
        onnx_model_free(m);
    }
}

static void the_longer_branch_is_counted_deeply(void **state) {
    (void)state;
    onnx_model *m = onnx_model_new();
    onnx_input(m, m->graph, "x", ONNX_FLOAT, "2");
    onnx_input(m, m->graph, "c", ONNX_BOOL, "");
    Onnx__GraphProto *deep = onnx_graph(m, "deep");
    Onnx__NodeProto *inner = onnx_node(m, deep, "If", "c", "d");
    onnx_attr_graph(m, inner, "then_branch", chain(m, "dt", "Relu Relu Relu Relu", "x", "dt_out"));
    onnx_attr_graph(m, inner, "else_branch", chain(m, "de", "Relu", "x", "de_out"));
    onnx_output(m, deep, "d", ONNX_FLOAT, NULL);
    Onnx__NodeProto *node = onnx_node(m, m->graph, "If", "c", "y");
    onnx_attr_graph(m, node, "then_branch", chain(m, "flat", "Tanh Tanh", "x", "flat_out"));
    onnx_attr_graph(m, node, "else_branch", deep);
    onnx_output(m, m->graph, "y", ONNX_FLOAT, NULL);
    ft_graph *g = onnx_model_read(m);
    assert_string_equal(types_run(m, g, 0), "Relu Relu Relu Relu Identity IfMerge IfMerge");
    assert_true(tensor_named(g, "y")->is_output);
    ft_graph_free(g);
    onnx_model_free(m);
}

/* x.squeeze(0) of any batch, as PyTorch exports it: the condition depends on the shape, so binding selects the
 * branch. */
static void a_condition_on_shapes_is_decided_by_binding(void **state) {
    (void)state;
    onnx_model *m = onnx_model_new();
    onnx_input(m, m->graph, "x", ONNX_FLOAT, "N,8");
    onnx_raw(m, onnx_initializer(m, m->graph, "zero", ONNX_INT64, ""), (int64_t[]){0}, 8);
    onnx_raw(m, onnx_initializer(m, m->graph, "one", ONNX_INT64, ""), (int64_t[]){1}, 8);
    onnx_node(m, m->graph, "Shape", "x", "shape");
    onnx_node(m, m->graph, "Gather", "shape zero", "first");
    onnx_node(m, m->graph, "Equal", "first one", "c");
    Onnx__NodeProto *node = onnx_node(m, m->graph, "If", "c", "y");
    onnx_attr_graph(m, node, "then_branch", chain(m, "t", "Squeeze", "x", "t_out"));
    onnx_attr_graph(m, node, "else_branch", chain(m, "e", "Relu", "x", "e_out"));
    onnx_output(m, m->graph, "y", ONNX_FLOAT, NULL);
    ft_graph *g = onnx_model_read(m);
    assert_string_equal(types_run(m, g, 1), "Squeeze Identity IfMerge");
    assert_string_equal(types_run(m, g, 4), "Relu Identity IfMerge");
    ft_graph_free(g);
    onnx_model_free(m);
}

static void unsorted_results_are_copied(void **state) {
    (void)state;
    onnx_model *m = if_model(1);
    Onnx__NodeProto *neg = m->graph->node[2];
    m->graph->node[2] = m->graph->node[0];
    m->graph->node[0] = neg; /* now reads "y" before the If makes it */
    ft_graph *g = onnx_model_read(m);
    assert_string_equal(op_types(m, g), "Abs Relu Identity Identity Neg");
    ft_graph_free(g);
    onnx_model_free(m);
}

/* Body: (i, c, carried) -> (c, carried + 1, carried * i). */
static Onnx__GraphProto *loop_body(onnx_model *m) {
    Onnx__GraphProto *body = onnx_graph(m, "body");
    onnx_input(m, body, "i", ONNX_INT64, "");
    onnx_input(m, body, "c_in", ONNX_BOOL, "");
    onnx_input(m, body, "carried", ONNX_FLOAT, "4");
    onnx_raw(m, onnx_initializer(m, body, "one", ONNX_FLOAT, ""), (float[]){1.0f}, 4);
    onnx_node(m, body, "Identity", "c_in", "c_out");
    onnx_node(m, body, "Add", "carried one", "next");
    onnx_node(m, body, "Mul", "carried i", "piece");
    onnx_output(m, body, "c_out", ONNX_BOOL, "");
    onnx_output(m, body, "next", ONNX_FLOAT, "4");
    onnx_output(m, body, "piece", ONNX_FLOAT, "4");
    return body;
}

static void loops_appear_once_with_their_trip_count(void **state) {
    (void)state;
    onnx_model *m = onnx_model_new();
    onnx_input(m, m->graph, "x", ONNX_FLOAT, "4");
    onnx_raw(m, onnx_initializer(m, m->graph, "trips", ONNX_INT64, ""), (int64_t[]){5}, 8);
    Onnx__NodeProto *node = onnx_node(m, m->graph, "Loop", "trips - x", "last all");
    onnx_attr_graph(m, node, "body", loop_body(m));
    onnx_node(m, m->graph, "Relu", "all", "y");
    onnx_output(m, m->graph, "y", ONNX_FLOAT, NULL);
    onnx_output(m, m->graph, "last", ONNX_FLOAT, NULL);
    ft_graph *g = onnx_model_read(m);
    assert_string_equal(op_types(m, g), "LoopIndex Identity Add Mul LoopStack Relu");
    assert_int_equal(g->loop_count, 2);
    assert_string_equal(g->tensors[g->loops[1].trip_tensor].name, "trips");
    const ft_op *ops = ft_graph_ops(g);
    const uint32_t loops[] = {1, 1, 1, 1, 0, 0};
    for (int i = 0; i < 6; i++) assert_int_equal(ops[i].loop, loops[i]);
    assert_string_equal(g->tensors[ops[2].inputs[0]].name, "x"); /* carried begins as x */
    assert_int_equal(ft_op_attr(&ops[4], "body")->i, 1);
    assert_int_equal(tensor_named(g, "last")->producer, 2);
    ft_graph_free(g);

    ft_graph *bound = NULL;
    ft_error error;
    g = onnx_model_read(m);
    assert_int_equal(ft_graph_bind(g, NULL, &bound, &error), FT_OK);
    assert_int_equal(ft_graph_ops(bound)[2].repeats, 5);
    assert_int_equal(tensor_named(bound, "all")->rank, 2);
    assert_int_equal(tensor_named(bound, "all")->dims[0], 5);
    assert_int_equal(tensor_named(bound, "all")->dims[1], 4);
    ft_graph_free(bound);
    ft_graph_free(g);
    onnx_model_free(m);
}

static void scans_walk_along_an_axis(void **state) {
    (void)state;
    onnx_model *m = onnx_model_new();
    onnx_input(m, m->graph, "h0", ONNX_FLOAT, "8");
    onnx_input(m, m->graph, "x", ONNX_FLOAT, "3,7,8");
    Onnx__GraphProto *body = onnx_graph(m, "body");
    onnx_input(m, body, "h", ONNX_FLOAT, NULL);
    onnx_input(m, body, "step", ONNX_FLOAT, NULL);
    onnx_node(m, body, "Add", "h step", "sum");
    onnx_node(m, body, "Tanh", "sum", "out");
    onnx_output(m, body, "sum", ONNX_FLOAT, NULL);
    onnx_output(m, body, "out", ONNX_FLOAT, NULL);
    Onnx__NodeProto *node = onnx_node(m, m->graph, "Scan", "h0 x", "h_last ys");
    onnx_attr_graph(m, node, "body", body);
    onnx_attr_int(m, node, "num_scan_inputs", 1);
    onnx_attr_ints(m, node, "scan_input_axes", (int64_t[]){1}, 1);
    onnx_attr_ints(m, node, "scan_output_axes", (int64_t[]){-1}, 1);
    onnx_output(m, m->graph, "h_last", ONNX_FLOAT, NULL);
    onnx_output(m, m->graph, "ys", ONNX_FLOAT, NULL);
    ft_graph *g = onnx_model_read(m), *bound = NULL;
    ft_error error;
    assert_string_equal(op_types(m, g), "LoopSlice Add Tanh LoopStack");
    assert_string_equal(g->tensors[g->loops[1].scan_tensor].name, "x");
    assert_int_equal(g->loops[1].scan_axis, 1);
    assert_int_equal(ft_graph_bind(g, NULL, &bound, &error), FT_OK);
    assert_int_equal(ft_graph_ops(bound)[1].repeats, 7);
    assert_int_equal(tensor_named(bound, "h_last")->rank, 2); /* 8 + 3x8 */
    const ft_tensor *ys = tensor_named(bound, "ys");
    assert_int_equal(ys->rank, 3);
    assert_int_equal(ys->dims[0], 3);
    assert_int_equal(ys->dims[1], 8);
    assert_int_equal(ys->dims[2], 7);
    ft_graph_free(bound);
    ft_graph_free(g);
    onnx_model_free(m);
}

static void loops_nest(void **state) {
    (void)state;
    onnx_model *m = onnx_model_new();
    onnx_input(m, m->graph, "x", ONNX_FLOAT, "4");
    onnx_raw(m, onnx_initializer(m, m->graph, "trips", ONNX_INT64, ""), (int64_t[]){3}, 8);
    Onnx__GraphProto *outer = onnx_graph(m, "outer");
    onnx_input(m, outer, "oi", ONNX_INT64, "");
    onnx_input(m, outer, "oc", ONNX_BOOL, "");
    onnx_input(m, outer, "ov", ONNX_FLOAT, "4");
    Onnx__NodeProto *inner = onnx_node(m, outer, "Loop", "trips oc ov", "iv - ");
    onnx_attr_graph(m, inner, "body", loop_body(m));
    onnx_output(m, outer, "oc", ONNX_BOOL, "");
    onnx_output(m, outer, "iv", ONNX_FLOAT, "4");
    onnx_attr_graph(m, onnx_node(m, m->graph, "Loop", "trips - x", "y"), "body", outer);
    onnx_output(m, m->graph, "y", ONNX_FLOAT, NULL);
    ft_graph *g = onnx_model_read(m), *bound = NULL;
    ft_error error;
    assert_string_equal(op_types(m, g), "LoopIndex LoopIndex Identity Add Mul");
    assert_int_equal(g->loop_count, 3);
    assert_int_equal(g->loops[2].parent, 1);
    assert_int_equal(ft_graph_bind(g, NULL, &bound, &error), FT_OK);
    assert_int_equal(ft_graph_ops(bound)[3].repeats, 9);
    ft_graph_free(bound);
    ft_graph_free(g);
    onnx_model_free(m);
}

static void sequence_maps_apply_their_body(void **state) {
    (void)state;
    onnx_model *m = onnx_model_new();
    onnx_input(m, m->graph, "x", ONNX_FLOAT, "4");
    onnx_node(m, m->graph, "SequenceConstruct", "x x", "list");
    Onnx__GraphProto *body = onnx_graph(m, "body");
    onnx_input(m, body, "element", ONNX_FLOAT, "4");
    onnx_input(m, body, "same", ONNX_FLOAT, "4");
    onnx_node(m, body, "Add", "element same", "sum");
    onnx_output(m, body, "sum", ONNX_FLOAT, "4");
    onnx_attr_graph(m, onnx_node(m, m->graph, "SequenceMap", "list x", "y"), "body", body);
    onnx_output(m, m->graph, "y", ONNX_FLOAT, NULL);
    ft_graph *g = onnx_model_read(m);
    assert_string_equal(op_types(m, g), "SequenceConstruct LoopSlice Add LoopStack");
    assert_string_equal(g->tensors[ft_graph_ops(g)[2].inputs[1]].name, "x");
    ft_graph_free(g);
    onnx_model_free(m);
}

static void check_fails(onnx_model *m, ft_status expected, const char *part) {
    ft_error error;
    onnx_output(m, m->graph, "y", ONNX_FLOAT, NULL);
    assert_int_equal(onnx_model_fails(m, &error), expected);
    if (strstr(error.message, part) == NULL) fail_msg("'%s' does not contain '%s'", error.message, part);
    onnx_model_free(m);
}

static onnx_model *model_with(const char *type, const char *inputs, Onnx__NodeProto **node) {
    onnx_model *m = onnx_model_new();
    onnx_input(m, m->graph, "x", ONNX_FLOAT, "4");
    *node = onnx_node(m, m->graph, type, inputs, "y");
    (*node)->name = "ctl";
    return m;
}

static void refuses_bodies_that_do_not_fit(void **state) {
    (void)state;
    Onnx__NodeProto *node;
    onnx_model *m = model_with("If", "x", &node);
    onnx_attr_graph(m, node, "then_branch", onnx_graph(m, "t"));
    check_fails(m, FT_ERR_DAMAGED, "'ctl' (If) has no sub-graph 'else_branch'");

    m = model_with("If", "x", &node);
    onnx_attr_graph(m, node, "then_branch", onnx_graph(m, "t"));
    onnx_attr_graph(m, node, "else_branch", onnx_graph(m, "e"));
    check_fails(m, FT_ERR_GRAPH, "more outputs");

    m = model_with("If", "-", &node);
    onnx_attr_graph(m, node, "then_branch", onnx_graph(m, "t"));
    onnx_attr_graph(m, node, "else_branch", onnx_graph(m, "e"));
    check_fails(m, FT_ERR_GRAPH, "no condition");

    m = model_with("Loop", "x", &node);
    onnx_attr_graph(m, node, "body", loop_body(m));
    check_fails(m, FT_ERR_GRAPH, "'ctl' (Loop)");

    m = model_with("Loop", "- - -", &node);
    onnx_attr_graph(m, node, "body", loop_body(m));
    check_fails(m, FT_ERR_GRAPH, "no initial value");

    m = model_with("Scan", "x", &node);
    onnx_attr_graph(m, node, "body", onnx_graph(m, "b"));
    check_fails(m, FT_ERR_GRAPH, "'ctl' (Scan)");

    m = model_with("Scan", "x", &node);
    onnx_attr_graph(m, node, "body", loop_body(m));
    onnx_attr_int(m, node, "num_scan_inputs", INT64_MAX);
    check_fails(m, FT_ERR_GRAPH, "'ctl' (Scan)");

    m = model_with("SequenceMap", "x x", &node);
    onnx_attr_graph(m, node, "body", onnx_graph(m, "b"));
    check_fails(m, FT_ERR_GRAPH, "'ctl' (SequenceMap)");
}

/* An If that reads its own result cannot run. */
static void finds_cycles_through_bodies(void **state) {
    (void)state;
    onnx_model *m = onnx_model_new();
    onnx_input(m, m->graph, "c", ONNX_BOOL, "");
    Onnx__NodeProto *node = onnx_node(m, m->graph, "If", "c", "y");
    onnx_attr_graph(m, node, "then_branch", chain(m, "t", "Relu Relu", "y", "t_out"));
    onnx_attr_graph(m, node, "else_branch", chain(m, "e", "Tanh", "y", "e_out"));
    check_fails(m, FT_ERR_GRAPH, "cycle");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(if_selects_one_branch),
        cmocka_unit_test(the_longer_branch_is_counted_deeply),
        cmocka_unit_test(a_condition_on_shapes_is_decided_by_binding),
        cmocka_unit_test(unsorted_results_are_copied),
        cmocka_unit_test(loops_appear_once_with_their_trip_count),
        cmocka_unit_test(scans_walk_along_an_axis),
        cmocka_unit_test(loops_nest),
        cmocka_unit_test(sequence_maps_apply_their_body),
        cmocka_unit_test(refuses_bodies_that_do_not_fit),
        cmocka_unit_test(finds_cycles_through_bodies),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
