/* What bounds a part. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "forecast/job.h"
#include "support/toy.h"

static void bounds(void **state) {
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

static void small_kernels_wait(void **state) {
    (void)state;
    ft_device *gpu = NULL, *phone = NULL;
    ft_error error;
    assert_int_equal(ft_device_open("rtx-4090", &gpu, &error), FT_OK);
    assert_int_equal(ft_device_open("adreno-640", &phone, &error), FT_OK);
    ft_part part = {.value = 30, .op_count = 1};
    assert_true(work_waits(&part, 4e-6));
    assert_false(work_waits(&part, 10e-6)); /* it is busy for a third of it */
    assert_true(work_can_wait(gpu));
    assert_false(work_can_wait(phone)); /* its runtime launches all at once */
    part.value = 1500;
    assert_false(work_waits(&part, 200e-6)); /* no launch takes so long */
    part.op_count = 20;
    assert_true(work_waits(&part, 200e-6)); /* but twenty do */
    ft_device_free(gpu);
    ft_device_free(phone);
}

static void limits_by_type(void **state) {
    (void)state;
    ft_device *device = NULL;
    ft_error error;
    assert_int_equal(ft_device_open("rtx-4090", &device, &error), FT_OK);
    assert_true(limits_of(device, FT_FLOAT16).flops_per_s == ft_device_number(device, "peak_float16_flops"));
    assert_true(limits_of(device, FT_FLOAT32).flops_per_s == ft_device_number(device, "peak_float32_flops"));
    ft_device_free(device);
    /* What has no figure for a type runs it as the next wider one. */
    assert_int_equal(ft_device_open("adreno-640", &device, &error), FT_OK);
    assert_true(limits_of(device, FT_INT8).flops_per_s == ft_device_number(device, "peak_float32_flops"));
    ft_device_free(device);
}

/* Two operators together keep the tensor between them to themselves. */
static void bytes_cross_the_border(void **state) {
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

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bounds),
        cmocka_unit_test(small_kernels_wait),
        cmocka_unit_test(limits_by_type),
        cmocka_unit_test(bytes_cross_the_border),
    };
    return cmocka_run_group_tests_name("forecast/work", tests, NULL, NULL);
}
