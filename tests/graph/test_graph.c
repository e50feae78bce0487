/* Building and validating graphs, and tensor programs as graphs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "graph/graph.h"
#include "support/failing.h"
#include "support/toy.h"

static ft_graph *new_graph(void) {
    ft_graph *g = NULL;
    ft_error error;
    assert_int_equal(graph_new(FT_FORMAT_ONNX, FT_NCHW, "g", &g, &error), FT_OK);
    return g;
}

static uint32_t add_tensor(ft_graph *g, const char *name, ft_role role) {
    ft_tensor t = {.name = name, .role = role, .dtype = FT_FLOAT32, .rank = 2, .dims = {2, 3}};
    ft_error error;
    uint32_t index;
    assert_int_equal(graph_add_tensor(g, &t, &index, &error), FT_OK);
    if (role == FT_INPUT) assert_int_equal(graph_add_input(g, index, &error), FT_OK);
    return index;
}

static void add_op(ft_graph *g, const char *name, uint32_t from, uint32_t to) {
    ft_op op = {.name = name, .type = "Relu", .inputs = &from, .input_count = 1, .outputs = &to, .output_count = 1};
    ft_error error;
    assert_int_equal(graph_add_op(g, &op, &error), FT_OK);
}

/* x -> a -> b -> c, added in the order c, a, b. */
static void operators_are_sorted(void **state) {
    (void)state;
    ft_graph *g = new_graph();
    ft_error error;
    uint32_t x = add_tensor(g, "x", FT_INPUT), t[3];
    for (int i = 0; i < 3; i++) t[i] = add_tensor(g, "", FT_ACTIVATION);
    add_op(g, "c", t[1], t[2]);
    add_op(g, "a", x, t[0]);
    add_op(g, "b", t[0], t[1]);
    assert_int_equal(graph_finish(g, &error), FT_OK);
    assert_string_equal(g->ops[0].name, "a");
    assert_string_equal(g->ops[1].name, "b");
    assert_string_equal(g->ops[2].name, "c");
    assert_int_equal(g->tensors[t[1]].producer, 1);
    assert_int_equal(g->tensors[t[1]].use_count, 1);
    assert_int_equal(g->tensors[t[1]].uses[0], 2);
    ft_graph_free(g);
}

/* Ready operators keep the order of the file: two independent chains, written interleaved and one of them backwards. */
static void sorting_is_stable(void **state) {
    (void)state;
    ft_graph *g = new_graph();
    ft_error error;
    uint32_t x = add_tensor(g, "x", FT_INPUT), t[4];
    for (int i = 0; i < 4; i++) t[i] = add_tensor(g, "", FT_ACTIVATION);
    add_op(g, "late", t[0], t[1]);
    add_op(g, "first", x, t[2]);
    add_op(g, "early", x, t[0]);
    add_op(g, "second", t[2], t[3]);
    assert_int_equal(graph_finish(g, &error), FT_OK);
    const char *wanted[] = {"first", "early", "late", "second"};
    for (int i = 0; i < 4; i++) assert_string_equal(g->ops[i].name, wanted[i]);
    ft_graph_free(g);
}

static void a_cycle_is_named(void **state) {
    (void)state;
    ft_graph *g = new_graph();
    ft_error error;
    uint32_t a = add_tensor(g, "a", FT_ACTIVATION), b = add_tensor(g, "b", FT_ACTIVATION);
    add_op(g, "forth", a, b);
    add_op(g, "back", b, a);
    assert_int_equal(graph_finish(g, &error), FT_ERR_GRAPH);
    assert_non_null(strstr(error.message, "cycle"));
    assert_non_null(strstr(error.message, "forth"));
    ft_graph_free(g);
}

static void a_dangling_input_is_named(void **state) {
    (void)state;
    ft_graph *g = new_graph();
    ft_error error;
    uint32_t a = add_tensor(g, "lost", FT_ACTIVATION), b = add_tensor(g, "b", FT_ACTIVATION);
    add_op(g, "reader", a, b);
    assert_int_equal(graph_finish(g, &error), FT_ERR_GRAPH);
    assert_non_null(strstr(error.message, "'reader'"));
    assert_non_null(strstr(error.message, "'lost'"));
    ft_graph_free(g);
}

static void a_tensor_has_one_producer(void **state) {
    (void)state;
    ft_graph *g = new_graph();
    ft_error error;
    uint32_t x = add_tensor(g, "x", FT_INPUT), y = add_tensor(g, "twice", FT_ACTIVATION);
    add_op(g, "one", x, y);
    add_op(g, "two", x, y);
    assert_int_equal(graph_finish(g, &error), FT_ERR_GRAPH);
    assert_non_null(strstr(error.message, "'twice'"));
    ft_graph_free(g);

    g = new_graph();
    uint32_t w = add_tensor(g, "stored", FT_CONSTANT);
    x = add_tensor(g, "x", FT_INPUT);
    add_op(g, "overwrites", x, w);
    assert_int_equal(graph_finish(g, &error), FT_ERR_GRAPH);
    assert_non_null(strstr(error.message, "stored constant"));
    ft_graph_free(g);
}

static void an_output_needs_a_producer(void **state) {
    (void)state;
    ft_graph *g = new_graph();
    ft_error error;
    uint32_t y = add_tensor(g, "y", FT_ACTIVATION);
    assert_int_equal(graph_add_output(g, y, &error), FT_OK);
    assert_int_equal(graph_finish(g, &error), FT_ERR_GRAPH);
    ft_graph_free(g);
}

static void shapes_are_limited(void **state) {
    (void)state;
    ft_graph *g = new_graph();
    ft_error error;
    uint32_t index;
    ft_tensor t = {.name = "t", .rank = FT_MAX_RANK + 1};
    assert_int_equal(graph_add_tensor(g, &t, &index, &error), FT_ERR_LIMIT);
    t = (ft_tensor){.name = "t", .rank = 1, .dims = {FT_MAX_DIM + 1}};
    assert_int_equal(graph_add_tensor(g, &t, &index, &error), FT_ERR_LIMIT);
    t = (ft_tensor){.name = "t", .rank = 2, .dims = {FT_MAX_DIM, FT_MAX_DIM}};
    assert_int_equal(graph_add_tensor(g, &t, &index, &error), FT_ERR_LIMIT);
    t = (ft_tensor){.name = "t", .rank = 1, .dims = {-5}};
    assert_int_equal(graph_add_tensor(g, &t, &index, &error), FT_ERR_GRAPH);
    t = (ft_tensor){.name = "t", .rank = 2, .dims = {INT64_C(1) << 23, INT64_C(1) << 23}};
    assert_int_equal(graph_add_tensor(g, &t, &index, &error), FT_OK); /* just 2^46 elements */
    t.dims[1]++;
    assert_int_equal(graph_add_tensor(g, &t, &index, &error), FT_ERR_LIMIT);
    ft_graph_free(g);
}

static void operators_refer_to_existing_tensors(void **state) {
    (void)state;
    ft_graph *g = new_graph();
    ft_error error;
    uint32_t absent = 7;
    ft_op op = {.name = "op", .type = "Relu", .inputs = &absent, .input_count = 1};
    assert_int_equal(graph_add_op(g, &op, &error), FT_ERR_GRAPH);
    ft_graph_free(g);
}

static void symbols_are_shared_by_name(void **state) {
    (void)state;
    ft_graph *g = new_graph();
    ft_error error;
    int64_t a, b, c, none;
    assert_int_equal(graph_symbol(g, "N", &a, &error), FT_OK);
    assert_int_equal(graph_symbol(g, "S", &b, &error), FT_OK);
    assert_int_equal(graph_symbol(g, "N", &c, &error), FT_OK);
    assert_int_equal(graph_symbol(g, "", &none, &error), FT_OK);
    assert_int_equal(a, c);
    assert_int_not_equal(a, b);
    assert_string_equal(ft_dim_symbol(g, b), "S");
    assert_true(none == FT_DIM_UNKNOWN);
    assert_null(ft_dim_symbol(g, none));
    assert_null(ft_dim_symbol(g, 5));
    char text[64];
    ft_tensor t = {.rank = 3, .dims = {a, 3, FT_DIM_UNKNOWN}};
    assert_string_equal(shape_text(g, &t, text, sizeof text), "Nx3x?");
    ft_graph_free(g);
}

static void an_unknown_operator_has_an_entry(void **state) {
    (void)state;
    ft_graph *g = new_graph();
    ft_error error;
    uint32_t x = add_tensor(g, "x", FT_INPUT);
    ft_op op = {.name = "op", .type = "UnknownOperator", .inputs = &x, .input_count = 1};
    assert_int_equal(graph_add_op(g, &op, &error), FT_OK);
    assert_false(ft_opdef_is_known(g->ops[0].def));
    assert_string_equal(g->ops[0].type, "UnknownOperator");
    ft_graph_free(g);
}

static void attributes_are_found_by_name_and_kind(void **state) {
    (void)state;
    ft_graph *g = new_graph();
    ft_error error;
    ft_attr attrs[3];
    int64_t list[] = {1, 2};
    assert_int_equal(graph_attr_int(g, &attrs[0], "axis", -1, &error), FT_OK);
    assert_int_equal(graph_attr_ints(g, &attrs[1], "pads", list, 2, &error), FT_OK);
    assert_int_equal(graph_attr_string(g, &attrs[2], "mode", "linear", &error), FT_OK);
    ft_op op = {.attrs = attrs, .attr_count = 3};
    uint32_t count;
    assert_int_equal(op_attr_int(&op, "axis", 9), -1);
    assert_int_equal(op_attr_int(&op, "pads", 9), 9);
    assert_int_equal(op_attr_int(&op, "none", 9), 9);
    assert_int_equal(op_attr_ints(&op, "pads", &count)[1], 2);
    assert_int_equal(op_attr_ints(&op, "axis", &count)[0], -1);
    assert_int_equal(count, 1);
    assert_null(op_attr_ints(&op, "mode", &count));
    assert_string_equal(op_attr_string(&op, "mode", ""), "linear");
    ft_graph_free(g);
}

/* --- Tensor programs as graphs --------------------------------------------------------------------------------- */

static void a_program_keeps_its_text(void **state) {
    (void)state;
    ft_graph *graph = NULL, *bound = NULL;
    assert_int_equal(graph_new_program("for i in 3", &graph, NULL), FT_OK);
    assert_string_equal(graph_program_text(graph), "for i in 3");
    assert_int_equal(ft_graph_bind(graph, &(ft_binding){.batch = 1}, &bound, NULL), FT_OK);
    assert_string_equal(graph_program_text(bound), "for i in 3");
    ft_graph_free(bound);
    ft_graph_free(graph);
}

static void models_are_not_programs(void **state) {
    (void)state;
    ft_graph *graph = toy_graph(FT_FORMAT_ONNX, FT_NCHW);
    uint32_t x = toy_input(graph, 1, 4, 8, 8);
    toy_finish(graph, toy_op(graph, "Relu", x, FT_NONE, FT_NONE, toy_value(graph, 1, 4, 8, 8)), 1, 1);
    assert_null(graph_program_text(graph));
    ft_graph_free(graph);
}

static void out_of_memory_is_an_error_for_programs(void **state) {
    (void)state;
    for (long n = 0;; n++) {
        ft_graph *graph = NULL;
        failing_start(n);
        ft_status status = graph_new_program("text", &graph, NULL);
        bool has_failed = failing_stop();
        assert_int_equal(status, has_failed ? FT_ERR_NOMEM : FT_OK);
        ft_graph_free(graph);
        if (!has_failed) break;
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operators_are_sorted),
        cmocka_unit_test(sorting_is_stable),
        cmocka_unit_test(a_cycle_is_named),
        cmocka_unit_test(a_dangling_input_is_named),
        cmocka_unit_test(a_tensor_has_one_producer),
        cmocka_unit_test(an_output_needs_a_producer),
        cmocka_unit_test(shapes_are_limited),
        cmocka_unit_test(operators_refer_to_existing_tensors),
        cmocka_unit_test(symbols_are_shared_by_name),
        cmocka_unit_test(an_unknown_operator_has_an_entry),
        cmocka_unit_test(attributes_are_found_by_name_and_kind),
        cmocka_unit_test(a_program_keeps_its_text),
        cmocka_unit_test(models_are_not_programs),
        cmocka_unit_test(out_of_memory_is_an_error_for_programs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
