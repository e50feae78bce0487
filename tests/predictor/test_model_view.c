/* A model view computes costs and kernels once, and caches data of families. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "predictor/core/model_view.h"
#include "support/toy.h"

static ft_graph *make_graph(void) {
    ft_graph *graph = toy_graph(FT_FORMAT_ONNX, FT_NCHW);
    uint32_t x = toy_input(graph, 1, 16), w = toy_weight(graph, 16, 8);
    uint32_t y = toy_op(graph, "MatMul", x, w, FT_NONE, toy_value(graph, 1, 8));
    uint32_t z = toy_op(graph, "Relu", y, FT_NONE, FT_NONE, toy_value(graph, 1, 8));
    toy_finish(graph, z, 1, 1);
    return graph;
}

static void costs_and_kernels_are_computed_once(void **state) {
    (void)state;
    ft_graph *graph = make_graph();
    ft_error error;
    ft_rules *eager = NULL, *cpu = NULL;
    assert_int_equal(ft_rules_open("torch-eager", &eager, &error), FT_OK);
    assert_int_equal(ft_rules_open("tflite-cpu", &cpu, &error), FT_OK);
    model_view s;
    model_view_init(&s, graph, &(ft_request){.device = "adreno-640", .mode = FT_TRAIN});
    assert_null(s.request.device);
    const ft_cost *cost = NULL, *cost_again = NULL;
    assert_int_equal(model_view_cost(&s, &cost, &error), FT_OK);
    assert_int_equal(model_view_cost(&s, &cost_again, &error), FT_OK);
    assert_ptr_equal(cost, cost_again);
    assert_int_equal(cost->total.forward.macs, 128);
    assert_true(cost->total.backward_weights.flops > 0); /* the request's mode */
    const ft_kernels *two = NULL, *one = NULL, *again = NULL;
    assert_int_equal(model_view_kernels(&s, eager, &two, &error), FT_OK);
    assert_int_equal(model_view_kernels(&s, cpu, &one, &error), FT_OK);
    assert_int_equal(model_view_kernels(&s, eager, &again, &error), FT_OK);
    assert_ptr_equal(two, again);
    assert_int_equal(two->count, 2);
    assert_int_equal(one->count, 1);
    assert_int_equal(s.runtime_count, 2);
    model_view_free(&s);
    model_view_free(&s); /* twice does no harm */
    ft_rules_free(eager);
    ft_rules_free(cpu);
    ft_graph_free(graph);
}

static void runtimes_are_limited(void **state) {
    (void)state;
    ft_graph *graph = make_graph();
    ft_error error;
    ft_rules *rules[MODEL_VIEW_MAX_RUNTIMES + 1] = {NULL};
    const ft_kernels *kernels = NULL;
    model_view s;
    model_view_init(&s, graph, &(ft_request){0});
    for (int i = 0; i <= MODEL_VIEW_MAX_RUNTIMES; i++) {
        assert_int_equal(ft_rules_open("torch-eager", &rules[i], &error), FT_OK);
        ft_status expected = i < MODEL_VIEW_MAX_RUNTIMES ? FT_OK : FT_ERR_LIMIT;
        assert_int_equal(model_view_kernels(&s, rules[i], &kernels, &error), expected);
    }
    model_view_free(&s);
    for (int i = 0; i <= MODEL_VIEW_MAX_RUNTIMES; i++) ft_rules_free(rules[i]);
    ft_graph_free(graph);
}

static void cached_data_is_found_again(void **state) {
    (void)state;
    ft_graph *graph = make_graph();
    char keys[MODEL_VIEW_MAX_CACHED + 1];
    model_view s;
    model_view_init(&s, graph, &(ft_request){0});
    assert_null(model_view_cached(&s, &keys[0]));
    for (int i = 0; i <= MODEL_VIEW_MAX_CACHED; i++) model_view_cache(&s, &keys[i], arena_alloc(&s.memory, 8));
    assert_non_null(model_view_cached(&s, &keys[MODEL_VIEW_MAX_CACHED - 1]));
    assert_ptr_not_equal(model_view_cached(&s, &keys[0]), model_view_cached(&s, &keys[1]));
    assert_null(model_view_cached(&s, &keys[MODEL_VIEW_MAX_CACHED])); /* no room */
    model_view_free(&s);
    ft_graph_free(graph);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(costs_and_kernels_are_computed_once),
                                       cmocka_unit_test(runtimes_are_limited),
                                       cmocka_unit_test(cached_data_is_found_again)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
