/* test_tflite_call.c - sub-graphs of TFLite models: calls, branches and loops are inlined, recursion is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/tflite_model.h"

/* Numbers of the schema. */
enum { T_INT32 = 2, T_BOOL = 6 };
enum { O_CALL = 16, O_IF = 92, O_WHILE = 93 };
enum { ADD = 0, CALL = 31, LESS = 58, IF = 118, WHILE = 119, CALL_ONCE = 129, COMPOSITE = 206, CASE = 209 };

/* Main: y = call(x). Sub-graph 1: one ADD of its input to itself. Sub-graph 2: two of them. */
#define ONE_ADD                                                                                                        \
    {                                                                                                                  \
        LITE_TENSORS({.name = "p", .rank = 1, .dims = {4}}, {.name = "q", .rank = 1, .dims = {4}}), LITE_IN(0),        \
            LITE_OUT(1), LITE_OPS({.code = 0, LITE_IN(0, 0), LITE_OUT(1)})                                             \
    }
#define TWO_ADDS                                                                                                       \
    {                                                                                                                  \
        LITE_TENSORS({.name = "p", .rank = 1, .dims = {4}}, {.name = "q", .rank = 1, .dims = {4}},                     \
                     {.name = "r", .rank = 1, .dims = {4}}),                                                           \
            LITE_IN(0), LITE_OUT(2),                                                                                   \
            LITE_OPS({.code = 0, LITE_IN(0, 0), LITE_OUT(1)}, {.code = 0, LITE_IN(1, 1), LITE_OUT(2)})                 \
    }
#define MAIN_CALLS(...)                                                                                                \
    {                                                                                                                  \
        LITE_TENSORS({.name = "x", .rank = 1, .dims = {4}}, {.name = "c", .type = T_BOOL, .has_rank = true},           \
                     {.name = "y", .rank = 1, .dims = {4}}, {.name = "z", .rank = 1, .dims = {4}}),                    \
            LITE_IN(0, 1), LITE_OUT(3), LITE_OPS(__VA_ARGS__, {.code = 0, LITE_IN(2, 0), LITE_OUT(3)})                 \
    }

static void calls_are_inlined(void **state) {
    (void)state;
    ft_graph *graph = lite_read(&(lite_model){.version = 3,
                                              LITE_CODES({.builtin = ADD}, {.builtin = CALL}),
                                              LITE_BUFFERS({NULL, 0, false, 0}),
                                              LITE_SUBGRAPHS(MAIN_CALLS({.code = 1,
                                                                         LITE_IN(0),
                                                                         LITE_OUT(2),
                                                                         .options = O_CALL,
                                                                         .field_count = 1,
                                                                         .fields = {{0, 4, 2, 0, NULL, 0}}}),
                                                             ONE_ADD, TWO_ADDS)});
    assert_int_equal(ft_graph_op_count(graph), 3);
    const ft_op *ops = ft_graph_ops(graph);
    assert_string_equal(ops[0].name, "CALL_0/q");
    assert_int_equal(ops[0].inputs[0], ft_graph_inputs(graph)[0]);
    assert_int_equal(ops[2].inputs[0], ops[1].outputs[0]);
    assert_int_equal(ops[0].loop, 0);
    assert_string_equal(ft_graph_meta(graph, "subgraphs"), "3");
    assert_string_equal(ft_graph_meta(graph, "skipped_subgraphs"), "1");
    ft_graph_free(graph);
}

static void the_longer_branch_counts(void **state) {
    (void)state;
    for (int swapped = 0; swapped < 2; swapped++) {
        ft_graph *graph = lite_read(&(lite_model){
            .version = 3,
            LITE_CODES({.builtin = ADD}, {.builtin = IF}),
            LITE_BUFFERS({NULL, 0, false, 0}),
            LITE_SUBGRAPHS(MAIN_CALLS({.code = 1,
                                       LITE_IN(1, 0),
                                       LITE_OUT(2),
                                       .options = O_IF,
                                       .field_count = 2,
                                       .fields = {{0, 4, 1 + swapped, 0, NULL, 0}, {1, 4, 2 - swapped, 0, NULL, 0}}}),
                           ONE_ADD, TWO_ADDS)});
        assert_int_equal(ft_graph_op_count(graph), 3);
        assert_string_equal(ft_graph_ops(graph)[1].name, "IF_0/r");
        ft_graph_free(graph);
    }
}

static void composites_and_cases_are_inlined(void **state) {
    (void)state;
    static const int32_t branches[] = {1, 2, 1};
    ft_graph *graph = lite_read(&(lite_model){
        .version = 3,
        LITE_CODES({.builtin = ADD}, {.builtin = COMPOSITE}, {.builtin = CASE}, {.builtin = CALL_ONCE}),
        LITE_BUFFERS({NULL, 0, false, 0}),
        LITE_SUBGRAPHS(
            {LITE_TENSORS({.name = "x", .rank = 1, .dims = {4}}, {.name = "c", .type = T_INT32, .has_rank = true},
                          {.name = "y", .rank = 1, .dims = {4}}, {.name = "z", .rank = 1, .dims = {4}}),
             LITE_IN(0, 1), LITE_OUT(3),
             LITE_OPS({.code = 3, .options = 103},
                      {.code = 1,
                       LITE_IN(0),
                       LITE_OUT(2),
                       .options = 21,
                       .is_second = true,
                       .field_count = 1,
                       .fields = {{1, 4, 1, 0, NULL, 0}}},
                      {.code = 2,
                       LITE_IN(1, 2),
                       LITE_OUT(3),
                       .options = 23,
                       .is_second = true,
                       .field_count = 1,
                       .fields = {{0, 4, 0, 0, branches, 3}}})},
            ONE_ADD, TWO_ADDS)});
    assert_int_equal(ft_graph_op_count(graph), 3);
    assert_string_equal(ft_graph_ops(graph)[0].name, "STABLEHLO_COMPOSITE_1/q");
    assert_string_equal(ft_graph_ops(graph)[2].name, "STABLEHLO_CASE_2/r");
    ft_graph_free(graph);
}

/* i = 0; while (i < 5) { x = x + x; i = i + step; } */
static ft_graph *read_loop(const int32_t *step) {
    static const int32_t zero = 0, five = 5;
    return lite_read(&(lite_model){
        .version = 3,
        LITE_CODES({.builtin = ADD}, {.builtin = WHILE}, {.builtin = LESS}),
        LITE_BUFFERS({NULL, 0, false, 0}, {&zero, 4, false, 0}, {&five, 4, false, 0}, {step, 4, false, 0}),
        LITE_SUBGRAPHS(
            {LITE_TENSORS({.name = "i", .type = T_INT32, .has_rank = true, .buffer = 1},
                          {.name = "x", .rank = 1, .dims = {4}}, {.name = "end", .type = T_INT32, .has_rank = true},
                          {.name = "y", .rank = 1, .dims = {4}}),
             LITE_IN(1), LITE_OUT(3),
             LITE_OPS({.code = 1,
                       LITE_IN(0, 1),
                       LITE_OUT(2, 3),
                       .options = O_WHILE,
                       .field_count = 2,
                       .fields = {{0, 4, 1, 0, NULL, 0}, {1, 4, 2, 0, NULL, 0}}})},
            {LITE_TENSORS({.name = "i", .type = T_INT32, .has_rank = true}, {.name = "x", .rank = 1, .dims = {4}},
                          {.name = "limit", .type = T_INT32, .has_rank = true, .buffer = 2},
                          {.name = "more", .type = T_BOOL, .has_rank = true}),
             LITE_IN(0, 1), LITE_OUT(3), LITE_OPS({.code = 2, LITE_IN(0, 2), LITE_OUT(3)})},
            {LITE_TENSORS({.name = "i", .type = T_INT32, .has_rank = true}, {.name = "x", .rank = 1, .dims = {4}},
                          {.name = "step", .type = T_INT32, .has_rank = true, .buffer = 3},
                          {.name = "next", .type = T_INT32, .has_rank = true},
                          {.name = "twice", .rank = 1, .dims = {4}}),
             LITE_IN(0, 1), LITE_OUT(3, 4),
             LITE_OPS({.code = 0, LITE_IN(0, 2), LITE_OUT(3)}, {.code = 0, LITE_IN(1, 1), LITE_OUT(4)})})});
}

static void loops_count_when_they_can(void **state) {
    (void)state;
    static const int32_t one = 1, two = 2;
    ft_graph *graph = read_loop(&one), *bound = NULL;
    /* Two variables that change, the comparison, two additions. */
    assert_int_equal(ft_graph_op_count(graph), 5);
    assert_string_equal(ft_graph_ops(graph)[0].type, "LOOP_CARRY");
    assert_int_equal(ft_graph_ops(graph)[4].loop, 1);
    assert_int_equal(ft_graph_bind(graph, NULL, &bound, NULL), FT_OK);
    assert_int_equal(ft_graph_ops(bound)[4].repeats, 5);
    assert_false(ft_graph_ops(bound)[3].is_folded); /* the counter starts with a constant, but is not constant */
    ft_graph_free(bound);
    ft_graph_free(graph);
    graph = read_loop(&two);
    assert_int_equal(ft_graph_bind(graph, NULL, &bound, NULL), FT_OK);
    assert_int_equal(ft_graph_ops(bound)[4].repeats, 1);
    ft_graph_free(bound);
    ft_graph_free(graph);
}

/* Sub-graph `i` calls sub-graph `i + 1` twice; the last one calls `last` twice, or does nothing when that is -1. */
static void check_tower(uint32_t height, int last, ft_status status, const char *text) {
    enum { TALLEST = 100 };
    static const lite_tensor tensors[] = {{.name = "p", .rank = 1, .dims = {4}}, {.name = "q", .rank = 1, .dims = {4}}};
    static const int32_t first[] = {0}, second[] = {1}, none[] = {-1};
    static lite_op ops[2 * TALLEST];
    static lite_subgraph subgraphs[TALLEST];
    assert_true(height <= TALLEST);
    for (uint32_t i = 0; i < height; i++) {
        bool is_last = i + 1 == height;
        lite_op call = {.inputs = first, .input_count = 1, .outputs = second, .output_count = 1, .options = O_CALL};
        call.fields[call.field_count++] = (lite_field){.width = 4, .number = is_last ? last : (int64_t)i + 1};
        ops[2 * i] = ops[2 * i + 1] = call;
        ops[2 * i + 1].outputs = none;
        subgraphs[i] = (lite_subgraph){.tensors = tensors,
                                       .tensor_count = 2,
                                       .ops = &ops[2 * i],
                                       .op_count = 2,
                                       .inputs = first,
                                       .input_count = 1,
                                       .outputs = second,
                                       .output_count = 1};
        if (is_last && last == -1) {
            subgraphs[i].op_count = 0;
            subgraphs[i].outputs = first;
        }
    }
    lite_fails(&(lite_model){.version = 3,
                             LITE_CODES({.builtin = CALL}),
                             LITE_BUFFERS({NULL, 0, false, 0}),
                             .subgraphs = subgraphs,
                             .subgraph_count = height},
               status, text);
}

static void endless_and_huge_calls_are_refused(void **state) {
    (void)state;
    check_tower(1, 0, FT_ERR_GRAPH, "sub-graph 0, operator 0 (CALL): sub-graph 0 calls itself");
    check_tower(3, 1, FT_ERR_GRAPH, "sub-graph 2, operator 0 (CALL): sub-graph 1 calls itself, directly or through");
    check_tower(3, 99, FT_ERR_DAMAGED, "calls sub-graph 99, but there are only 3");
    check_tower(100, 99, FT_ERR_LIMIT, "nested more than 64 deep");
    /* 2^40 calls, if all were inlined. */
    check_tower(41, -1, FT_ERR_LIMIT, "the model has more than");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_are_inlined),
        cmocka_unit_test(the_longer_branch_counts),
        cmocka_unit_test(composites_and_cases_are_inlined),
        cmocka_unit_test(loops_count_when_they_can),
        cmocka_unit_test(endless_and_huge_calls_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
