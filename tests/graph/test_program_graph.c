/* A program is a graph of one operator, which gives its text back, packed or not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "graph/program_graph.h"
#include "support/failing.h"
#include "support/toy.h"

static void the_text_comes_back(void **state) {
    (void)state;
    ft_graph *graph = NULL, *bound = NULL;
    assert_int_equal(program_graph_new("for i in 3", &graph, NULL), FT_OK);
    assert_string_equal(program_graph_text(graph), "for i in 3");
    assert_int_equal(ft_graph_bind(graph, &(ft_binding){.batch = 1}, &bound, NULL), FT_OK);
    assert_string_equal(program_graph_text(bound), "for i in 3");
    ft_graph_free(bound);
    ft_graph_free(graph);
}

static void models_are_no_programs(void **state) {
    (void)state;
    ft_graph *graph = toy_graph(FT_FORMAT_ONNX, FT_NCHW);
    uint32_t x = toy_input(graph, 1, 4, 8, 8);
    toy_finish(graph, toy_op(graph, "Relu", x, FT_NONE, FT_NONE, toy_value(graph, 1, 4, 8, 8)), 1, 1);
    assert_null(program_graph_text(graph));
    ft_graph_free(graph);
}

static void memory_may_run_out(void **state) {
    (void)state;
    for (long n = 0;; n++) {
        ft_graph *graph = NULL;
        failing_start(n);
        ft_status status = program_graph_new("text", &graph, NULL);
        bool has_failed = failing_stop();
        assert_int_equal(status, has_failed ? FT_ERR_NOMEM : FT_OK);
        ft_graph_free(graph);
        if (!has_failed) break;
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_text_comes_back),
        cmocka_unit_test(models_are_no_programs),
        cmocka_unit_test(memory_may_run_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
