/* Forward work of single operators: FLOPs, bytes, types, scaling, loops, and unknown operators. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cost/work.h"
#include "support/toy.h"

static ft_graph *graph;
static arena memory;
static param_marks params;
static ft_cost_options options;

static int begin(void **state) {
    (void)state;
    graph = toy_graph(FT_FORMAT_ONNX, FT_NCHW);
    arena_init(&memory, 1 << 24);
    options = ft_cost_options_default();
    return 0;
}

static int end(void **state) {
    (void)state;
    ft_graph_free(graph);
    arena_free(&memory);
    return 0;
}

/* Finishes the graph and gives the work of operator `op`. */
static ft_work work_at(uint32_t op, bool *is_estimated) {
    work_env env;
    assert_true(params_mark(graph, &memory, &params));
    assert_true(work_prepare(graph, &options, &params, &memory, &env));
    return work_forward(&env, &graph->ops[op], is_estimated);
}

static ft_work known_work(uint32_t op) {
    bool is_estimated;
    ft_work work = work_at(op, &is_estimated);
    assert_false(is_estimated);
    return work;
}

static void check(ft_work work, uint64_t macs, uint64_t flops, uint64_t read_bytes, uint64_t write_bytes) {
    assert_int_equal(work.macs, macs);
    assert_int_equal(work.flops, flops);
    assert_int_equal(work.read_bytes, read_bytes);
    assert_int_equal(work.write_bytes, write_bytes);
}

static void conv_counts_products_bias_and_bytes(void **state) {
    (void)state;
    uint32_t y = toy_op(graph, "Conv", toy_input(graph, 1, 8, 10, 10), toy_weight(graph, 16, 8, 3, 3),
                        toy_weight(graph, 16), toy_value(graph, 1, 16, 8, 8));
    toy_finish(graph, y, 1, 1);
    uint64_t macs = 16 * 64 * 72;
    check(known_work(0), macs, 2 * macs + 16 * 64, 4 * (800 + 16 * 72 + 16), 4 * 1024);
    options.dtype = FT_FLOAT16;
    check(known_work(0), macs, 2 * macs + 16 * 64, 2 * (800 + 16 * 72 + 16), 2 * 1024);
}

static void a_tensor_read_twice_counts_once(void **state) {
    (void)state;
    uint32_t x = toy_input(graph, 10, 10);
    toy_finish(graph, toy_op(graph, "Mul", x, x, FT_NONE, toy_value(graph, 10, 10)), 1, 1);
    check(known_work(0), 0, 100, 400, 400);
}

static void views_and_dropout_at_inference_are_free(void **state) {
    (void)state;
    uint32_t x = toy_input(graph, 4, 25), a = toy_value(graph, 100), b = toy_value(graph, 100);
    toy_op(graph, "Flatten", x, FT_NONE, FT_NONE, a);
    toy_finish(graph, toy_op(graph, "Dropout", a, FT_NONE, FT_NONE, b), 1, 1);
    check(known_work(0), 0, 0, 0, 0);
    check(known_work(1), 0, 0, 0, 0);
    options.mode = FT_TRAIN;
    check(known_work(0), 0, 0, 0, 0);
    check(known_work(1), 0, 200, 400, 400);
}

static void gather_reads_only_its_rows(void **state) {
    (void)state;
    uint32_t ids = toy_tensor(graph, FT_INPUT, FT_INT64, 1, 16, TOY_END);
    uint32_t y = toy_op(graph, "Gather", toy_weight(graph, 30000, 64), ids, FT_NONE, toy_value(graph, 1, 16, 64));
    toy_finish(graph, y, 1, 1);
    check(known_work(0), 0, 0, 16 * 64 * 4 + 16 * 8, 16 * 64 * 4);
}

static void auxiliary_inputs_move_no_bytes(void **state) {
    (void)state;
    uint32_t starts = toy_tensor(graph, FT_CONSTANT, FT_INT64, 2, TOY_END);
    uint32_t y = toy_op(graph, "Slice", toy_input(graph, 100, 100), starts, starts, toy_value(graph, 10, 100));
    toy_finish(graph, y, 1, 1);
    check(known_work(0), 0, 0, 4000, 4000);
}

static void pools_reductions_and_activations(void **state) {
    (void)state;
    uint32_t x = toy_input(graph, 1, 4, 8, 8), p = toy_value(graph, 1, 4, 4, 4), m = toy_value(graph, 1, 4, 1, 1);
    toy_op(graph, "MaxPool", x, FT_NONE, FT_NONE, p);
    ft_attr attrs[] = {toy_ints(graph, "kernel_shape", 3, 3), toy_ints(graph, "strides", 2, 2)};
    toy_attrs(graph, attrs, 2);
    toy_op(graph, "ReduceMean", p, FT_NONE, FT_NONE, m);
    toy_finish(graph, toy_op(graph, "Relu", m, FT_NONE, FT_NONE, toy_value(graph, 1, 4, 1, 1)), 1, 1);
    check(known_work(0), 0, 64 * 9, 1024, 256);
    check(known_work(1), 0, 64, 256, 16);
    check(known_work(2), 0, 4, 16, 16);
}

static void sums_of_many_operands(void **state) {
    (void)state;
    uint32_t x = toy_input(graph, 50), z = toy_input(graph, 50), w = toy_input(graph, 50);
    toy_finish(graph, toy_op(graph, "Sum", x, z, w, toy_value(graph, 50)), 1, 1);
    check(known_work(0), 0, 100, 600, 200);
}

static void resize_by_mode(void **state) {
    (void)state;
    uint32_t x = toy_input(graph, 1, 2, 4, 4);
    static const char *const modes[] = {"nearest", "linear", "cubic"};
    static const uint64_t flops[] = {0, 8, 32};
    uint32_t y = FT_NONE;
    for (int i = 0; i < 3; i++) {
        ft_attr mode = {0};
        ft_error error;
        y = toy_op(graph, "Resize", x, FT_NONE, FT_NONE, toy_value(graph, 1, 2, 8, 8));
        assert_int_equal(graph_attr_string(graph, &mode, "mode", modes[i], &error), FT_OK);
        toy_attrs(graph, &mode, 1);
    }
    toy_finish(graph, y, 1, 1);
    for (uint32_t i = 0; i < 3; i++) assert_int_equal(known_work(i).flops, flops[i] * 128);
}

static void sorting_takes_n_log_n(void **state) {
    (void)state;
    uint32_t k = toy_tensor(graph, FT_CONSTANT, FT_INT64, 1, TOY_END);
    toy_finish(graph, toy_op(graph, "TopK", toy_input(graph, 3, 1000), k, FT_NONE, toy_value(graph, 3, 5)), 1, 1);
    assert_int_equal(known_work(0).flops, 3000 * 10); /* log2 1000, rounded up */
}

static void sorting_follows_its_axis(void **state) {
    (void)state;
    static const int64_t axes[] = {0, 1, -1, -2, 5, -5}, steps[] = {4, 10, 10, 4, 10, 10};
    uint32_t k = toy_tensor(graph, FT_CONSTANT, FT_INT64, 1, TOY_END), x = toy_input(graph, 16, 1000), y = 0;
    for (int i = 0; i < 6; i++) {
        y = toy_op(graph, "TopK", x, k, FT_NONE, toy_value(graph, 16, 5));
        ft_attr axis = toy_int(graph, "axis", axes[i]);
        toy_attrs(graph, &axis, 1);
    }
    toy_finish(graph, y, 1, 1);
    for (uint32_t i = 0; i < 6; i++) assert_int_equal(known_work(i).flops, 16000 * steps[i]);
}

static void sorting_one_element_is_one_step(void **state) {
    (void)state;
    uint32_t k = toy_tensor(graph, FT_CONSTANT, FT_INT64, 1, TOY_END);
    uint32_t y = toy_op(graph, "TopK", toy_input(graph, 1000, 1), k, FT_NONE, toy_value(graph, 1000, 1));
    y = toy_op(graph, "TopK", toy_input(graph, 1000, 2), k, FT_NONE, toy_value(graph, 1000, 1));
    y = toy_op(graph, "TopK", toy_input(graph, 1000, 3), k, FT_NONE, toy_value(graph, 1000, 1));
    toy_finish(graph, y, 1, 1);
    assert_int_equal(known_work(0).flops, 1000);
    assert_int_equal(known_work(1).flops, 2000);
    assert_int_equal(known_work(2).flops, 3000 * 2);
}

/* Every arena that is too small is reported. */
static void lack_of_memory_is_reported(void **state) {
    (void)state;
    uint32_t x = toy_input(graph, 50);
    for (int i = 0; i < 2000; i++) x = toy_op(graph, "Add", x, x, FT_NONE, toy_value(graph, 50));
    toy_finish(graph, x, 1, 1);
    assert_true(params_mark(graph, &memory, &params));
    bool is_done = false;
    for (uint64_t limit = 1; !is_done; limit *= 2) {
        arena small;
        work_env env;
        arena_init(&small, limit);
        is_done = work_prepare(graph, &options, &params, &small, &env);
        assert_false(is_done && limit < 2000 * 10);
        arena_free(&small);
    }
}

/* 3 frames of 64 samples, 33 bins each: the transform has the length of the window, or of the frame that is given. */
static void transforms_of_frames(void **state) {
    (void)state;
    uint32_t signal = toy_input(graph, 2, 128, 1), step = toy_tensor(graph, FT_CONSTANT, FT_INT64, TOY_END), y = 0;
    for (int i = 0; i < 2; i++) {
        uint32_t frame = toy_tensor(graph, FT_CONSTANT, FT_INT64, TOY_END);
        int64_t *values;
        graph->tensors[frame].value = graph_value_ints(graph, 1, &values);
        values[0] = 32;
        uint32_t inputs[] = {signal, step, toy_weight(graph, 64), frame};
        y = toy_value(graph, 2, 3, 33, 2);
        toy_op_full(graph, &(ft_op){.name = "",
                                    .type = "STFT",
                                    .inputs = inputs,
                                    .input_count = i == 0 ? 3 : 4,
                                    .outputs = &y,
                                    .output_count = 1});
    }
    toy_finish(graph, y, 1, 1);
    assert_int_equal(known_work(0).flops, 5 * 2 * 3 * 64 * 6);
    assert_int_equal(known_work(1).flops, 5 * 2 * 3 * 32 * 5);
}

/* Work is estimated when the shape of any operand or of the result is unknown. */
static void any_unknown_shape_makes_an_estimate(void **state) {
    (void)state;
    uint32_t t[3] = {toy_input(graph, 50), toy_input(graph, 50), toy_value(graph, 50)};
    toy_finish(graph, toy_op(graph, "Add", t[0], t[1], FT_NONE, t[2]), 1, 1);
    known_work(0);
    for (int i = 0; i < 3; i++) {
        bool is_estimated = false;
        uint64_t elems = graph->elems[t[i]];
        graph->tensors[t[i]].rank = -1;
        graph->elems[t[i]] = 0;
        work_at(0, &is_estimated);
        assert_true(is_estimated);
        graph->tensors[t[i]].rank = 1;
        graph->elems[t[i]] = elems;
    }
    known_work(0);
}

static void fourier_transforms(void **state) {
    (void)state;
    toy_finish(graph, toy_op(graph, "DFT", toy_input(graph, 2, 256, 2), FT_NONE, FT_NONE, toy_value(graph, 2, 256, 2)),
               1, 1);
    assert_int_equal(known_work(0).flops, 5 * 2 * 256 * 8);
}

static void a_scaled_graph_scales_work_but_not_weights(void **state) {
    (void)state;
    uint32_t y =
        toy_op(graph, "MatMul", toy_input(graph, 1, 20), toy_weight(graph, 20, 10), FT_NONE, toy_value(graph, 1, 10));
    toy_finish(graph, y, 8, 1);
    check(known_work(0), 8 * 200, 16 * 200, 4 * (8 * 20 + 200), 4 * 80);
}

static void loops_repeat_the_work(void **state) {
    (void)state;
    uint32_t y = toy_op(graph, "Relu", toy_input(graph, 100), FT_NONE, FT_NONE, toy_value(graph, 100));
    toy_finish(graph, y, 1, 1);
    graph->ops[0].repeats = 7;
    check(known_work(0), 0, 700, 2800, 2800);
}

static void folded_operators_cost_nothing(void **state) {
    (void)state;
    uint32_t w = toy_op(graph, "Transpose", toy_weight(graph, 5, 6), FT_NONE, FT_NONE, toy_value(graph, 6, 5));
    toy_finish(graph, w, 1, 1);
    graph->ops[0].is_folded = true;
    check(known_work(0), 0, 0, 0, 0);
}

static void unknown_operators_are_estimated(void **state) {
    (void)state;
    bool is_estimated;
    toy_finish(graph, toy_op(graph, "Marvel", toy_input(graph, 30), FT_NONE, FT_NONE, toy_value(graph, 20)), 1, 1);
    check(work_at(0, &is_estimated), 0, 20, 120, 80);
    assert_true(is_estimated);
}

static void known_operators_without_shapes_are_estimated(void **state) {
    (void)state;
    bool is_estimated;
    uint32_t y = toy_value(graph, 20);
    graph->tensors[y].rank = -1;
    toy_finish(graph, toy_op(graph, "Relu", toy_input(graph, 30), FT_NONE, FT_NONE, y), 1, 1);
    check(work_at(0, &is_estimated), 0, 0, 120, 0);
    assert_true(is_estimated);
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, begin, end)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(conv_counts_products_bias_and_bytes),
        TEST(a_tensor_read_twice_counts_once),
        TEST(views_and_dropout_at_inference_are_free),
        TEST(gather_reads_only_its_rows),
        TEST(auxiliary_inputs_move_no_bytes),
        TEST(pools_reductions_and_activations),
        TEST(sums_of_many_operands),
        TEST(resize_by_mode),
        TEST(sorting_takes_n_log_n),
        TEST(sorting_follows_its_axis),
        TEST(any_unknown_shape_makes_an_estimate),
        TEST(sorting_one_element_is_one_step),
        TEST(lack_of_memory_is_reported),
        TEST(transforms_of_frames),
        TEST(fourier_transforms),
        TEST(a_scaled_graph_scales_work_but_not_weights),
        TEST(loops_repeat_the_work),
        TEST(folded_operators_cost_nothing),
        TEST(unknown_operators_are_estimated),
        TEST(known_operators_without_shapes_are_estimated),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
