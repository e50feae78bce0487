/* test_limit.c - the work that no algorithm avoids, against sums by hand. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cost/limit.h"
#include "support/toy.h"

static ft_cost_options options;

static int set_up(void **state) {
    (void)state;
    options = ft_cost_options_default();
    return 0;
}

/* The work, with at most two tensors. */
typedef struct outcome {
    limit_work work;
    limit_tensor tensors[4];
    double us; /* at 1 TFLOP/s of any type, 1 GB/s, and a cache of 1000 bytes */
} outcome;

static limit_rates usual_rates(void) {
    return (limit_rates){.flops_per_s = {1e12, 1e12, 1e12, 1e12}, .bytes_per_s = 1e9, .cache_bytes = 1000};
}

static outcome work_of(ft_graph *g) {
    outcome o;
    arena memory;
    ft_cost cost;
    ft_error error;
    const limit_rates rates = usual_rates();
    arena_init(&memory, 1 << 20);
    if (ft_cost_compute(g, &options, &cost, &error) != FT_OK) fail_msg("%s", error.message);
    assert_true(limit_work_make(g, &cost, &options, &memory, &o.work));
    assert_true(o.work.tensor_count <= 4);
    for (uint32_t i = 0; i < o.work.tensor_count; i++) o.tensors[i] = o.work.tensors[i];
    o.us = limit_us(&o.work, &rates);
    ft_cost_free(&cost);
    arena_free(&memory);
    ft_graph_free(g);
    return o;
}

static bool is_near(double value, double expected) {
    return fabs(value - expected) <= 1e-9 * fabs(expected);
}

/* 32 x 64 by 64 x 128, on a result of a Relu. */
static ft_graph *relu_and_product(int64_t batch) {
    ft_graph *g = toy_graph(FT_FORMAT_ONNX, FT_NCHW);
    uint32_t x = toy_input(g, 1, 32, 64), w = toy_weight(g, 64, 128);
    uint32_t r = toy_op(g, "Relu", x, FT_NONE, FT_NONE, toy_value(g, 1, 32, 64));
    toy_finish(g, toy_op(g, "MatMul", r, w, FT_NONE, toy_value(g, 1, 32, 128)), batch, 1);
    return g;
}

static void products_count_flops_and_bytes(void **state) {
    (void)state;
    outcome o = work_of(relu_and_product(1));
    assert_true(o.work.flops[LIMIT_BITS_32] == 2.0 * 32 * 64 * 128);
    assert_true(o.work.weight_bytes == 4 * 64 * 128 && o.work.weight_passes == 1);
    /* Written and read between Relu and product; then the input and the output. */
    assert_int_equal(o.work.tensor_count, 3);
    assert_true(o.tensors[0].bytes == 4 * 32 * 64 && o.tensors[0].passes == 2);
    assert_true(o.tensors[1].bytes == 4 * 32 * 64 && o.tensors[1].passes == 1);
    assert_true(o.tensors[2].bytes == 4 * 32 * 128 && o.tensors[2].passes == 1);
    assert_true(is_near(o.us, 1e-3 * ((32768 - 1000) + 3 * (8192 - 1000) + (16384 - 1000))));
}

static void the_longer_of_compute_and_traffic_counts(void **state) {
    (void)state;
    const double flops[LIMIT_TYPES] = {0, 0, 0, 1e9};
    limit_work work = {.weight_bytes = 3000, .weight_passes = 1};
    limit_rates rates = usual_rates();
    assert_true(is_near(limit_us(&work, &rates), 2));
    for (int i = 0; i < LIMIT_TYPES; i++) work.flops[i] = flops[i];
    assert_true(is_near(limit_us(&work, &rates), 1000));
    rates.flops_per_s[LIMIT_BITS_32] = NAN; /* not in the data sheet */
    assert_true(is_near(limit_us(&work, &rates), 2));
    rates.bytes_per_s = NAN;
    assert_true(limit_us(&work, &rates) == 0);
    rates = usual_rates();
    rates.cache_bytes = 5000; /* holds the weights from step to step */
    work.flops[LIMIT_BITS_32] = 0;
    assert_true(limit_us(&work, &rates) == 0);
}

/* All passes again for the backward pass, and twice the products in it. */
static void training_reads_again(void **state) {
    (void)state;
    options.mode = FT_TRAIN;
    outcome o = work_of(relu_and_product(1));
    assert_true(o.work.weight_passes == 2 && o.tensors[0].passes == 3);
    assert_true(o.work.flops[LIMIT_BITS_32] > 2 * 2.0 * 32 * 64 * 128 - 1);
}

static void types_have_rates_of_their_own(void **state) {
    (void)state;
    options.dtype = FT_FLOAT16;
    assert_true(work_of(relu_and_product(1)).work.flops[LIMIT_BITS_16] == 2.0 * 32 * 64 * 128);
    ft_graph *g = toy_graph(FT_FORMAT_ONNX, FT_NCHW);
    uint32_t x = toy_input(g, 32, 64), w = toy_tensor(g, FT_CONSTANT, FT_INT8, 64, 128, TOY_END);
    toy_finish(g, toy_op(g, "MatMul", x, w, FT_NONE, toy_value(g, 32, 128)), 1, 1);
    outcome o = work_of(g);
    assert_true(o.work.flops[LIMIT_BITS_8] == 2.0 * 32 * 64 * 128 && o.work.weight_bytes == 64 * 128);
}

static ft_graph *conv(int size, int kernel, int stride, int pad) {
    ft_graph *g = toy_graph(FT_FORMAT_ONNX, FT_NCHW);
    int out = (size + 2 * pad - kernel) / stride + 1;
    uint32_t x = toy_input(g, 1, 8, size, size), w = toy_weight(g, 16, 8, kernel, kernel);
    uint32_t y = toy_op(g, "Conv", x, w, FT_NONE, toy_value(g, 1, 16, out, out));
    ft_attr attrs[] = {toy_ints(g, "strides", stride, stride), {0}};
    ft_error error;
    const int64_t pads[] = {pad, pad, pad, pad};
    assert_int_equal(graph_attr_ints(g, &attrs[1], "pads", pads, 4, &error), FT_OK);
    toy_attrs(g, attrs, 2);
    toy_finish(g, y, 1, 1);
    return g;
}

static double conv_flops(int size, int kernel, int stride, int pad) {
    return work_of(conv(size, kernel, stride, pad)).work.flops[LIMIT_BITS_32];
}

static void convolutions_take_the_cheapest_algorithm(void **state) {
    (void)state;
    /* 1x1: no algorithm saves anything. */
    assert_true(is_near(conv_flops(20, 1, 1, 0), 2.0 * 16 * 8 * 400));
    /* 3x3: Winograd with tiles of 8 multiplies 64 times for 36 outputs of 9 products. */
    assert_true(is_near(conv_flops(20, 3, 1, 0), 2.0 * 16 * 8 * 324 * 9 * 64 / (36 * 9)));
    /* 7x7: a Fourier transform of 32x32 for 26x26 outputs of 49 products, complex and half of it redundant. */
    assert_true(is_near(conv_flops(20, 7, 1, 0), 2.0 * 16 * 8 * 196 * 49 * 1024 * 2 / (676.0 * 49)));
    /* With a stride neither works, but products with padding need not be done: 2 + 3 x 9 of 30 pairs a dimension. */
    assert_true(is_near(conv_flops(20, 3, 2, 1), 2.0 * 16 * 8 * 29 * 29));
}

/* Two products around a softmax; a mask, which may be causal, may hide half of the scores. */
static double attention_flops(bool has_mask) {
    ft_graph *g = toy_graph(FT_FORMAT_ONNX, FT_NCHW);
    uint32_t q = toy_input(g, 1, 4, 32, 16), k = toy_input(g, 1, 4, 16, 32), v = toy_input(g, 1, 4, 32, 16);
    uint32_t s = toy_op(g, "MatMul", q, k, FT_NONE, toy_value(g, 1, 4, 32, 32));
    if (has_mask) s = toy_op(g, "Add", s, toy_weight(g, 32, 32), FT_NONE, toy_value(g, 1, 4, 32, 32));
    s = toy_op(g, "Softmax", s, FT_NONE, FT_NONE, toy_value(g, 1, 4, 32, 32));
    toy_finish(g, toy_op(g, "MatMul", s, v, FT_NONE, toy_value(g, 1, 4, 32, 16)), 1, 1);
    return work_of(g).work.flops[LIMIT_BITS_32];
}

static void masks_may_hide_half_of_the_scores(void **state) {
    (void)state;
    assert_true(attention_flops(false) == 2 * 2.0 * 4 * 32 * 32 * 16);
    assert_true(attention_flops(true) == 2.0 * 4 * 32 * 32 * 16);
}

/* A tensor that several products read through views and transposes moves once. */
static void siblings_read_together(void **state) {
    (void)state;
    ft_graph *g = toy_graph(FT_FORMAT_ONNX, FT_NCHW);
    uint32_t x = toy_input(g, 32, 64);
    uint32_t r = toy_op(g, "Relu", x, FT_NONE, FT_NONE, toy_value(g, 32, 64));
    uint32_t t = toy_op(g, "Flatten", r, FT_NONE, FT_NONE, toy_value(g, 32, 64));
    uint32_t a = toy_op(g, "MatMul", r, toy_weight(g, 64, 8), FT_NONE, toy_value(g, 32, 8));
    uint32_t b = toy_op(g, "MatMul", t, toy_weight(g, 64, 8), FT_NONE, toy_value(g, 32, 8));
    toy_finish(g, toy_op(g, "Add", a, b, FT_NONE, toy_value(g, 32, 8)), 1, 1);
    outcome o = work_of(g);
    assert_int_equal(o.work.tensor_count, 3); /* r, the input, the output */
    assert_true(o.work.weight_bytes == 2 * 4 * 64 * 8);
}

static void limits_grow_with_the_batch(void **state) {
    (void)state;
    double before = 0;
    for (int64_t batch = 1; batch < 300; batch++) {
        double us = work_of(relu_and_product(batch)).us;
        assert_true(us >= before);
        before = us;
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(products_count_flops_and_bytes, set_up),
        cmocka_unit_test_setup(the_longer_of_compute_and_traffic_counts, set_up),
        cmocka_unit_test_setup(training_reads_again, set_up),
        cmocka_unit_test_setup(types_have_rates_of_their_own, set_up),
        cmocka_unit_test_setup(convolutions_take_the_cheapest_algorithm, set_up),
        cmocka_unit_test_setup(masks_may_hide_half_of_the_scores, set_up),
        cmocka_unit_test_setup(siblings_read_together, set_up),
        cmocka_unit_test_setup(limits_grow_with_the_batch, set_up),
    };
    return cmocka_run_group_tests_name("cost/limit", tests, NULL, NULL);
}
