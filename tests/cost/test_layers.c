/* Layers of a model, from the names of its weights. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "cost/layers.h"
#include "support/language_net.h"
#include "support/onnx_model.h"

static uint32_t layer_of(const ft_graph *graph, const model_layers *layers, const char *result) {
    return layers->of_op[tensor_named(graph, result)->producer];
}

static void numbers_in_names_are_layers(void **state) {
    (void)state;
    language_net net = language_net_usual();
    ft_graph *graph = language_net_graph(&net);
    model_layers layers;
    arena memory;
    arena_init(&memory, 1 << 20);
    assert_true(layers_find(graph, &memory, &layers));
    assert_int_equal(layers.count, 4);
    assert_int_equal(layer_of(graph, &layers, "x0"), 0);
    assert_int_equal(layer_of(graph, &layers, "n0"), 1);
    assert_int_equal(layer_of(graph, &layers, "h0"), 1);
    assert_int_equal(layer_of(graph, &layers, "n3"), 4);
    assert_int_equal(layer_of(graph, &layers, "d3"), 4);
    assert_int_equal(layer_of(graph, &layers, "logits"), 5);
    arena_free(&memory);
    ft_graph_free(graph);
}

static void a_model_without_numbers_has_no_layers(void **state) {
    (void)state;
    onnx_model *m = onnx_model_new();
    onnx_input(m, m->graph, "x", ONNX_FLOAT, "2,8");
    onnx_initializer(m, m->graph, "onnx::MatMul_12", ONNX_FLOAT, "8,8");
    onnx_node(m, m->graph, "MatMul", "x onnx::MatMul_12", "y");
    onnx_output(m, m->graph, "y", ONNX_FLOAT, NULL);
    ft_graph *graph = onnx_model_read(m);
    model_layers layers;
    arena memory;
    arena_init(&memory, 1 << 20);
    assert_true(layers_find(graph, &memory, &layers));
    assert_int_equal(layers.count, 0);
    assert_int_equal(layers.of_op[0], 0);
    arena_free(&memory);
    ft_graph_free(graph);
    onnx_model_free(m);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_in_names_are_layers),
        cmocka_unit_test(a_model_without_numbers_has_no_layers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
