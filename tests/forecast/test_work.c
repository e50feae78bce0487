/* test_work.c - limits of devices, work of parts, and what bounds it. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "forecast/job.h"
#include "support/toy.h"

static void largest_time_bounds_the_work(void **state) {
    (void)state;
    const device_limits l = {.flops_per_s = 1e9, .bytes_per_s = 1e8, .launch_s = 1e-3};
    double min_s;
    assert_int_equal(work_bound(&(part_work){5e6, 1e5}, &l, &min_s), FT_BOUND_COMPUTE);
    assert_true(fabs(min_s - 5e-3) < 1e-12);
    assert_int_equal(work_bound(&(part_work){5e6, 1e6}, &l, &min_s), FT_BOUND_MEMORY);
    assert_true(fabs(min_s - 1e-2) < 1e-12);
    assert_int_equal(work_bound(&(part_work){1, 1}, &l, &min_s), FT_BOUND_LAUNCH);
    assert_true(min_s == 1e-3);
    const device_limits unknown = limits_of(NULL, FT_FLOAT32);
    assert_false(limits_are_known(&unknown));
    assert_int_equal(work_bound(&(part_work){1, 1}, &unknown, &min_s), FT_BOUND_UNKNOWN);
    assert_string_equal(ft_bound_name(FT_BOUND_LAUNCH), "launch");
}

/* The launch bounds only work whose arithmetic and traffic are both shorter; arithmetic comes before equal traffic. */
static void ties_are_not_bound_by_the_launch(void **state) {
    (void)state;
    const device_limits l = {.flops_per_s = 1, .bytes_per_s = 1, .launch_s = 4};
    double min_s;
    assert_int_equal(work_bound(&(part_work){.flops = 3, .bytes = 5}, &l, &min_s), FT_BOUND_MEMORY);
    assert_int_equal(work_bound(&(part_work){.flops = 5, .bytes = 3}, &l, &min_s), FT_BOUND_COMPUTE);
    assert_int_equal(work_bound(&(part_work){.flops = 3, .bytes = 4}, &l, &min_s), FT_BOUND_MEMORY);
    assert_int_equal(work_bound(&(part_work){.flops = 4, .bytes = 3}, &l, &min_s), FT_BOUND_COMPUTE);
    assert_int_equal(work_bound(&(part_work){.flops = 5, .bytes = 5}, &l, &min_s), FT_BOUND_COMPUTE);
    assert_int_equal(work_bound(&(part_work){.flops = 3, .bytes = 3}, &l, &min_s), FT_BOUND_LAUNCH);
    assert_true(min_s == 4);
    const device_limits without_launch = {.flops_per_s = 1, .bytes_per_s = 1, .launch_s = NAN};
    assert_int_equal(work_bound(&(part_work){.flops = 0, .bytes = 1}, &without_launch, &min_s), FT_BOUND_MEMORY);
    assert_true(min_s == 1);
}

static void a_bound_needs_both_rates(void **state) {
    (void)state;
    assert_true(limits_are_known(&(device_limits){1, 1, NAN}));
    assert_false(limits_are_known(&(device_limits){1, NAN, 1}));
    assert_false(limits_are_known(&(device_limits){NAN, 1, 1}));
    assert_string_equal(ft_bound_name((ft_bound)9), "unknown");
}

static void short_kernels_wait_for_their_launch(void **state) {
    (void)state;
    ft_device *gpu = NULL, *phone = NULL;
    ft_error error;
    assert_int_equal(ft_device_open("rtx-4090", &gpu, &error), FT_OK);
    assert_int_equal(ft_device_open("adreno-640", &phone, &error), FT_OK);
    ft_part part = {.value = 30, .op_count = 1};
    assert_true(work_waits(&part, 4e-6));
    assert_false(work_waits(&part, 10e-6)); /* it runs for a third of the time */
    assert_true(work_can_wait(gpu));
    assert_false(work_can_wait(phone)); /* its runtime launches all kernels at once */
    part.value = 1500;
    assert_false(work_waits(&part, 200e-6)); /* no launch takes so long */
    part.op_count = 20;
    assert_true(work_waits(&part, 200e-6));        /* but twenty do */
    part = (ft_part){.value = 250, .op_count = 1}; /* the longest launch, and five times the shortest possible time */
    assert_true(work_waits(&part, 49e-6));
    assert_false(work_waits(&part, 50e-6));
    part.value = 251;
    assert_false(work_waits(&part, 1e-6));
    ft_device_free(gpu);
    ft_device_free(phone);
}

static void limits_depend_on_the_type(void **state) {
    (void)state;
    ft_device *device = NULL;
    ft_error error;
    assert_int_equal(ft_device_open("rtx-4090", &device, &error), FT_OK);
    assert_true(limits_of(device, FT_FLOAT16).flops_per_s == ft_device_number(device, "peak_float16_flops"));
    assert_true(limits_of(device, FT_FLOAT32).flops_per_s == ft_device_number(device, "peak_float32_flops"));
    ft_device_free(device);
    assert_int_equal(ft_device_open("ethos-u55-256", &device, &error), FT_OK);
    assert_true(limits_of(device, FT_INT8).flops_per_s == ft_device_number(device, "peak_int8_ops"));
    ft_device_free(device);
    /* A type without a peak rate runs as the next wider one. */
    assert_int_equal(ft_device_open("adreno-640", &device, &error), FT_OK);
    assert_true(limits_of(device, FT_INT8).flops_per_s == ft_device_number(device, "peak_float32_flops"));
    ft_device_free(device);
}

/* The tensor between two operators of one part is not counted. */
static void only_tensors_between_parts_are_counted(void **state) {
    (void)state;
    ft_graph *graph = toy_graph(FT_FORMAT_ONNX, FT_NCHW);
    uint32_t x = toy_input(graph, 1, 16), w = toy_weight(graph, 16, 8);
    uint32_t product = toy_op(graph, "MatMul", x, w, FT_NONE, toy_value(graph, 1, 8));
    toy_finish(graph, toy_op(graph, "Relu", product, FT_NONE, FT_NONE, toy_value(graph, 1, 8)), 1, 1);
    ft_cost_options options = ft_cost_options_default();
    ft_cost cost;
    ft_error error;
    assert_int_equal(ft_cost_compute(graph, &options, &cost, &error), FT_OK);
    const uint32_t ops[] = {0, 1};
    const ft_part apart[] = {{.ops = ops, .op_count = 1}, {.ops = ops + 1, .op_count = 1}},
                  together = {.ops = ops, .op_count = 2};
    arena memory;
    arena_init(&memory, 1 << 20);
    part_work *work;
    assert_true(work_of_parts(graph, &cost, &options, apart, 2, &memory, &work));
    assert_true(work[0].bytes == 4 * (16 + 16 * 8 + 8) && work[1].bytes == 4 * (8 + 8));
    assert_true(work[0].flops == 2 * 16 * 8);
    assert_true(work_of_parts(graph, &cost, &options, &together, 1, &memory, &work));
    assert_true(work[0].bytes == 4 * (16 + 16 * 8 + 8));
    options.dtype = FT_FLOAT16;
    assert_true(work_of_parts(graph, &cost, &options, &together, 1, &memory, &work));
    assert_true(work[0].bytes == 2 * (16 + 16 * 8 + 8));
    arena_free(&memory);
    ft_cost_free(&cost);
    ft_graph_free(graph);
}

/* A product of 1x16 by 16x8, an activation, and one that nothing uses. */
typedef struct small_model {
    ft_graph *graph;
    ft_cost_options options;
    ft_cost cost;
    arena memory;
} small_model;

static small_model make_small(ft_mode mode, bool has_two_outputs) {
    small_model m = {.graph = toy_graph(FT_FORMAT_ONNX, FT_NCHW), .options = ft_cost_options_default()};
    uint32_t x = toy_input(m.graph, 1, 16), w = toy_weight(m.graph, 16, 8);
    uint32_t product = toy_op(m.graph, "MatMul", x, w, FT_NONE, toy_value(m.graph, 1, 8));
    uint32_t relu = toy_op(m.graph, "Relu", product, FT_NONE, FT_NONE, toy_value(m.graph, 1, 8));
    toy_op(m.graph, "Sigmoid", relu, FT_NONE, FT_NONE, toy_value(m.graph, 1, 8));
    if (has_two_outputs) assert_int_equal(graph_add_output(m.graph, product, NULL), FT_OK);
    toy_finish(m.graph, relu, 1, 1);
    m.options.mode = mode;
    assert_int_equal(ft_cost_compute(m.graph, &m.options, &m.cost, NULL), FT_OK);
    arena_init(&m.memory, 1 << 20);
    return m;
}

static void free_small(small_model *m) {
    arena_free(&m->memory);
    ft_cost_free(&m->cost);
    ft_graph_free(m->graph);
}

static part_work work_of(small_model *m, const uint32_t *ops, uint32_t count) {
    const ft_part part = {.ops = ops, .op_count = count};
    part_work *work;
    assert_true(work_of_parts(m->graph, &m->cost, &m->options, &part, 1, &m->memory, &work));
    return work[0];
}

/* Outputs of the graph and tensors without a use are written, also when the part itself uses them. */
static void outputs_and_unused_tensors_are_counted(void **state) {
    (void)state;
    const uint32_t ops[] = {0, 1, 2};
    small_model m = make_small(FT_INFER, false);
    double read = 4 * (16 + 16 * 8);
    assert_true(work_of(&m, ops, 1).bytes == read + 4 * 8);
    assert_true(work_of(&m, ops, 2).bytes == read + 4 * 8);     /* the activation, which an operator outside uses */
    assert_true(work_of(&m, ops, 3).bytes == read + 4 * 2 * 8); /* and the one without a use */
    free_small(&m);
    m = make_small(FT_INFER, true);
    assert_true(work_of(&m, ops, 2).bytes == read + 4 * 2 * 8); /* the product and the activation */
    free_small(&m);
}

/* Backward of a product: two products as large as forward. Training moves three times the bytes. */
static void training_adds_backward_work(void **state) {
    (void)state;
    const uint32_t ops[] = {0};
    small_model m = make_small(FT_TRAIN, false);
    double bytes = 4 * (16 + 16 * 8 + 8);
    assert_true(m.cost.ops[0].backward_weights.flops == 2 * 16 * 8);
    double expected = 2 * 16 * 8 + (double)m.cost.ops[0].backward_data.flops + 2 * 16 * 8;
    assert_true(work_of(&m, ops, 1).flops == expected);
    assert_true(work_of(&m, ops, 1).bytes == 3 * bytes);
    m.options.mode = FT_INFER;
    assert_true(work_of(&m, ops, 1).flops == 2 * 16 * 8); /* also where the cost has backward */
    m.graph->ops[0].repeats = 5;
    assert_true(work_of(&m, ops, 1).bytes == 5 * bytes);
    free_small(&m);
}

static void an_arena_without_room_fails(void **state) {
    (void)state;
    const uint32_t ops[] = {0};
    const ft_part part = {.ops = ops, .op_count = 1};
    small_model m = make_small(FT_INFER, false);
    arena tiny;
    part_work *work;
    arena_init(&tiny, 0);
    assert_false(work_of_parts(m.graph, &m.cost, &m.options, &part, 1, &tiny, &work));
    arena_free(&tiny);
    free_small(&m);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(largest_time_bounds_the_work),
        cmocka_unit_test(short_kernels_wait_for_their_launch),
        cmocka_unit_test(limits_depend_on_the_type),
        cmocka_unit_test(only_tensors_between_parts_are_counted),
        cmocka_unit_test(ties_are_not_bound_by_the_launch),
        cmocka_unit_test(a_bound_needs_both_rates),
        cmocka_unit_test(outputs_and_unused_tensors_are_counted),
        cmocka_unit_test(training_adds_backward_work),
        cmocka_unit_test(an_arena_without_room_fails),
    };
    return cmocka_run_group_tests_name("forecast/work", tests, NULL, NULL);
}
