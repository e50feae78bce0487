/* Memory of training with recomputed, sharded and accumulated parts, on a model of four layers that is walked by hand.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "cost/allocator.h"
#include "foretell/cost.h"
#include "support/toy.h"

/* A layer: x -> product -> relu = a -> product -> relu = the next x. Every result has 128 x 64 float32 elements. */
enum { LAYERS = 4, RESULT = 128 * 64 * 4, MATRIX = 64 * 64 * 4, MATRICES = 2 * LAYERS };

static ft_graph *graph;
static ft_cost_options options;
static char names[MATRICES][32];

static int begin(void **state) {
    (void)state;
    graph = toy_graph(FT_FORMAT_ONNX, FT_NCHW);
    options = ft_cost_options_default();
    options.mode = FT_TRAIN;
    return 0;
}

static int end(void **state) {
    (void)state;
    ft_graph_free(graph);
    return 0;
}

static void make_layers(uint32_t replicas) {
    uint32_t x = toy_input(graph, 128, 64);
    for (int i = 0; i < MATRICES; i++) {
        uint32_t w = toy_weight(graph, 64, 64);
        snprintf(names[i], sizeof names[i], "model.layers.%d.w%d", i / 2, i % 2);
        graph->tensors[w].name = names[i];
        graph->tensors[w].replicas = replicas;
        x = toy_op(graph, "MatMul", x, w, FT_NONE, toy_value(graph, 128, 64));
        x = toy_op(graph, "Relu", x, FT_NONE, FT_NONE, toy_value(graph, 128, 64));
    }
    toy_finish(graph, x, 1, 1);
}

static ft_memory plan(void) {
    ft_memory m;
    ft_error error;
    if (ft_memory_plan(graph, &options, &m, NULL, NULL, &error) != FT_OK) fail_msg("%s", error.message);
    assert_int_equal(m.weight_bytes + m.gradient_bytes + m.optimizer_bytes + m.gathered_bytes + m.activation_bytes +
                         m.workspace_bytes,
                     m.peak_bytes);
    return m;
}

/* The allocator sees the same blocks: it never needs less than the timeline, and frees what the timeline frees. */
static void check_replay(const ft_memory *m) {
    allocator_replay r;
    ft_error error;
    assert_int_equal(allocator_replay_steps(graph, NULL, &options, UINT64_MAX, &r, &error), FT_OK);
    assert_true(r.allocated_bytes >= m->peak_bytes && r.allocated_bytes < m->peak_bytes + m->peak_bytes / 10);
}

static void everything_is_kept_without_recomputation(void **state) {
    (void)state;
    make_layers(1);
    ft_memory m = plan();
    assert_int_equal(m.saved_bytes, 8 * RESULT); /* a and x of each layer */
    /* At the second product of the last layer: input, 4 a, 4 x, two gradients, and that of its matrix. */
    assert_int_equal(m.activation_bytes, 11 * RESULT);
    assert_int_equal(m.gradient_bytes, MATRIX);
    assert_int_equal(m.peak_op, 14);
    check_replay(&m);
}

static void full_recomputation_keeps_inputs_of_layers(void **state) {
    (void)state;
    make_layers(1);
    options.recompute = FT_RECOMPUTE_FULL;
    ft_memory m = plan();
    assert_int_equal(m.saved_bytes, 4 * RESULT); /* each x */
    /* At the last relu of the third layer: input, 4 x, its a again, two gradients; the last layer has both its own. */
    assert_int_equal(m.activation_bytes, 8 * RESULT);
    assert_int_equal(m.gradient_bytes, 2 * MATRIX);
    assert_int_equal(m.peak_op, 11);
    check_replay(&m);
}

/* Of the two products of a layer the first keeps its result, from which the relu is computed again. */
static void selective_recomputation_keeps_every_second_product(void **state) {
    (void)state;
    make_layers(1);
    options.recompute = FT_RECOMPUTE_SELECTIVE;
    ft_memory m = plan();
    assert_int_equal(m.saved_bytes, 8 * RESULT); /* each x, and the result of each first product */
    check_replay(&m);
}

static void ranks_share_what_the_sharding_says(void **state) {
    (void)state;
    make_layers(4);
    options.sharding = FT_SHARD_OPTIMIZER;
    ft_memory m = plan();
    assert_int_equal(m.weight_bytes, MATRICES * MATRIX);
    assert_int_equal(m.optimizer_bytes, MATRICES * MATRIX / 4);
    assert_int_equal(m.gathered_bytes, 0);
    assert_int_equal(m.activation_bytes, 11 * RESULT);
    options.sharding = FT_SHARD_GRADIENTS;
    m = plan();
    assert_int_equal(m.weight_bytes, MATRICES * MATRIX);
    assert_int_equal(m.gathered_bytes, 2 * MATRIX); /* gradients of a layer until they are reduced */
    options.sharding = FT_SHARD_WEIGHTS;
    m = plan();
    assert_int_equal(m.weight_bytes, MATRICES * MATRIX / 4);
    assert_int_equal(m.optimizer_bytes, MATRICES * MATRIX / 4);
    /* At the second product of the last layer: its weights, those of the layer before, and its gradients. */
    assert_int_equal(m.gathered_bytes, 6 * MATRIX);
    assert_int_equal(m.gradient_bytes, 0);
    assert_int_equal(m.activation_bytes, 11 * RESULT);
    assert_int_equal(m.peak_op, 14);
    check_replay(&m);
}

static void a_pipeline_keeps_weights_and_gradients_whole(void **state) {
    (void)state;
    make_layers(4);
    options.sharding = FT_SHARD_WEIGHTS;
    options.keeps_gathered = true;
    ft_memory m = plan();
    assert_int_equal(m.gathered_bytes, 2 * MATRICES * MATRIX);
    assert_int_equal(m.gradient_bytes, 0);
    check_replay(&m);
}

static void micro_batches_in_flight_keep_their_activations(void **state) {
    (void)state;
    make_layers(1);
    options.in_flight = 3;
    ft_memory m = plan();
    assert_int_equal(m.activation_bytes, (11 + 2 * 9) * RESULT); /* 8 saved and an input of each of two others */
    check_replay(&m);
}

static void gradients_of_earlier_micro_batches_are_there(void **state) {
    (void)state;
    make_layers(1);
    options.has_accumulation = true;
    ft_memory m = plan();
    assert_int_equal(m.gradient_bytes, MATRICES * MATRIX);
    assert_int_equal(m.activation_bytes, 11 * RESULT + MATRIX); /* one that is added to the sum */
    assert_int_equal(m.peak_op, 14);
    check_replay(&m);
}

static void frozen_weights_have_neither_gradient_nor_state(void **state) {
    (void)state;
    make_layers(1);
    for (uint32_t i = 0; i < graph->tensor_count; i++) graph->tensors[i].is_frozen = graph->tensors[i].name[0] != '\0';
    ft_memory m = plan();
    assert_int_equal(m.weight_bytes, MATRICES * MATRIX);
    assert_int_equal(m.gradient_bytes + m.optimizer_bytes + m.saved_bytes, 0);
}

static void options_out_of_range_are_errors(void **state) {
    (void)state;
    make_layers(1);
    ft_memory m;
    ft_error error;
    const ft_cost_options usual = options;
    options.recompute = (ft_recompute)9;
    assert_int_equal(ft_memory_plan(graph, &options, &m, NULL, NULL, &error), FT_ERR_USAGE);
    options = usual;
    options.sharding = (ft_sharding)9;
    assert_int_equal(ft_memory_plan(graph, &options, &m, NULL, NULL, &error), FT_ERR_USAGE);
    options = usual;
    options.in_flight = UINT32_MAX;
    assert_int_equal(ft_memory_plan(graph, &options, &m, NULL, NULL, &error), FT_ERR_USAGE);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(everything_is_kept_without_recomputation, begin, end),
        cmocka_unit_test_setup_teardown(full_recomputation_keeps_inputs_of_layers, begin, end),
        cmocka_unit_test_setup_teardown(selective_recomputation_keeps_every_second_product, begin, end),
        cmocka_unit_test_setup_teardown(ranks_share_what_the_sharding_says, begin, end),
        cmocka_unit_test_setup_teardown(a_pipeline_keeps_weights_and_gradients_whole, begin, end),
        cmocka_unit_test_setup_teardown(micro_batches_in_flight_keep_their_activations, begin, end),
        cmocka_unit_test_setup_teardown(gradients_of_earlier_micro_batches_are_there, begin, end),
        cmocka_unit_test_setup_teardown(frozen_weights_have_neither_gradient_nor_state, begin, end),
        cmocka_unit_test_setup_teardown(options_out_of_range_are_errors, begin, end),
    };
    return cmocka_run_group_tests_name("cost/recompute", tests, NULL, NULL);
}
