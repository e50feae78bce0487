/* Lowering: operators become passes, aliases of tensors or CPU steps, in the order of Vela. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "npu/lower.h"
#include "support/npu_model.h"
#include "support/onnx_model.h"

#define NO_BUFFERS LITE_BUFFERS({NULL, 0, false, 0})
#define MAP(letter, ...)                                                                                               \
    {                                                                                                                  \
        .name = letter, .type = T_INT8, .rank = 4, .dims = { __VA_ARGS__ }                                             \
    }

static void activations_join_the_pass_before(void **state) {
    (void)state;
    const lite_model model = {
        .version = 3,
        LITE_CODES({.builtin = B_ADD}, {.builtin = B_LOGISTIC}),
        NO_BUFFERS,
        LITE_SUBGRAPHS(
            {LITE_TENSORS(MAP("x", 1, 8, 8, 16), MAP("a", 1, 8, 8, 16), MAP("b", 1, 8, 8, 16), MAP("c", 1, 8, 8, 16)),
             LITE_IN(0), LITE_OUT(3),
             LITE_OPS({.code = 0, LITE_IN(0, 0), LITE_OUT(1)}, {.code = 1, LITE_IN(1), LITE_OUT(2)},
                      {.code = 1, LITE_IN(2), LITE_OUT(3)})}),
    };
    npu_model m = npu_model_read(&model);
    assert_int_equal(m.net.pass_count, 2); /* a pass has one activation */
    assert_int_equal(m.net.passes[0].activation, ACTIVATION_TABLE);
    assert_true(m.net.passes[0].has_table);
    assert_int_equal(m.net.passes[1].math, MATH_ADD);
    assert_true(m.net.tensors[m.net.passes[1].ifm2].is_scalar);
    npu_model_free(&m);
}

static void a_clamp_of_another_scale_stays_alone(void **state) {
    (void)state;
    static const float one[] = {1}, two[] = {2};
    for (int is_same = 0; is_same < 2; is_same++) {
        const lite_model model = {
            .version = 3,
            LITE_CODES({.builtin = B_ADD}, {.builtin = B_RELU}),
            NO_BUFFERS,
            LITE_SUBGRAPHS(
                {LITE_TENSORS(
                     MAP("x", 1, 8, 8, 16),
                     {.name = "a", .type = T_INT8, .rank = 4, .dims = {1, 8, 8, 16}, .scales = 1, .scale_values = one},
                     {.name = "b",
                      .type = T_INT8,
                      .rank = 4,
                      .dims = {1, 8, 8, 16},
                      .scales = 1,
                      .scale_values = is_same ? one : two}),
                 LITE_IN(0), LITE_OUT(2),
                 LITE_OPS({.code = 0, LITE_IN(0, 0), LITE_OUT(1)}, {.code = 1, LITE_IN(1), LITE_OUT(2)})}),
        };
        npu_model m = npu_model_read(&model);
        assert_int_equal(m.net.pass_count, is_same ? 1 : 2);
        assert_int_equal(m.net.passes[m.net.pass_count - 1].activation, ACTIVATION_CLAMP);
        npu_model_free(&m);
    }
}

static void concatenations_are_copies_into_the_output(void **state) {
    (void)state;
    const lite_model model = {
        .version = 3,
        LITE_CODES({.builtin = B_ADD}, {.builtin = B_CONCATENATION}),
        NO_BUFFERS,
        LITE_SUBGRAPHS(
            {LITE_TENSORS(MAP("x", 1, 8, 8, 24), MAP("a", 1, 8, 8, 24), MAP("b", 1, 8, 8, 48), MAP("c", 1, 8, 8, 48)),
             LITE_IN(0), LITE_OUT(3),
             LITE_OPS({.code = 0, LITE_IN(0, 0), LITE_OUT(1)},
                      {.code = 1,
                       LITE_IN(1, 0),
                       LITE_OUT(2),
                       .options = O_CONCAT,
                       .field_count = 1,
                       .fields = {{0, 4, 3, 0, NULL, 0}}},
                      {.code = 0, LITE_IN(2, 2), LITE_OUT(3)})}),
    };
    npu_model m = npu_model_read(&model);
    assert_int_equal(m.net.pass_count, 4);
    const npu_pass *first = &m.net.passes[1], *second = &m.net.passes[2];
    assert_int_equal(first->block, BLOCK_POOL);
    assert_int_equal(first->ofm, second->ofm);
    assert_int_equal(first->write.c, 24);
    assert_int_equal(first->ofm_shape.c, 48);
    assert_true(!first->is_unaligned_write && second->is_unaligned_write); /* 24 channels are a brick and a half */
    npu_choose_formats(&m.net, false);
    assert_true(m.net.tensors[first->ofm].is_linear);
    assert_int_equal(m.net.tensors[first->ofm].producers, 2);
    npu_model_free(&m);
}

static void floats_are_left_to_the_cpu(void **state) {
    (void)state;
    const lite_model model = {
        .version = 3,
        LITE_CODES({.builtin = B_ADD}, {.builtin = B_QUANTIZE}),
        NO_BUFFERS,
        LITE_SUBGRAPHS({LITE_TENSORS({.name = "x", .type = T_FLOAT32, .rank = 4, .dims = {1, 8, 8, 16}},
                                     MAP("a", 1, 8, 8, 16), MAP("b", 1, 8, 8, 16)),
                        LITE_IN(0), LITE_OUT(2),
                        LITE_OPS({.code = 1, LITE_IN(0), LITE_OUT(1)}, {.code = 0, LITE_IN(1, 1), LITE_OUT(2)})}),
    };
    npu_model m = npu_model_read(&model);
    assert_int_equal(m.net.pass_count, 1);
    assert_int_equal(m.net.cpu_ops, 1);
    assert_int_equal(m.net.types, TYPES_QUANTISED);
    assert_int_equal(m.net.step_count, 2);
    assert_true(m.net.steps[0].is_cpu);
    assert_true(m.net.tensors[m.net.passes[0].ifm].is_external);
    npu_model_free(&m);
}

static void a_float_network_is_lowered_as_quantised(void **state) {
    (void)state;
    const lite_model model = {
        .version = 3,
        LITE_CODES({.builtin = B_ADD}),
        NO_BUFFERS,
        LITE_SUBGRAPHS({LITE_TENSORS({.name = "x", .type = T_FLOAT32, .rank = 4, .dims = {1, 8, 8, 16}},
                                     {.name = "y", .type = T_FLOAT32, .rank = 4, .dims = {1, 8, 8, 16}}),
                        LITE_IN(0), LITE_OUT(1), LITE_OPS({.code = 0, LITE_IN(0, 0), LITE_OUT(1)})}),
    };
    npu_model m = npu_model_read(&model);
    assert_int_equal(m.net.pass_count, 1);
    assert_int_equal(m.net.types, TYPES_FLOAT);
    assert_int_equal(m.net.tensors[m.net.passes[0].ofm].bytes, 1);
    npu_model_free(&m);
}

/* Runtimes fold DEQUANTIZE of stored weights, so the convolutions that read it have constant weights. */
static void weights_behind_dequantize_are_constants(void **state) {
    (void)state;
    npu_net nets[2];
    npu_model m[2];
    for (int is_half = 0; is_half < 2; is_half++) {
        ft_error error;
        m[is_half].graph = npu_float_head(is_half);
        assert_int_equal(ft_graph_bind(m[is_half].graph, NULL, &m[is_half].bound, &error), FT_OK);
        arena_init(&m[is_half].memory, UINT64_MAX);
        if (npu_lower(m[is_half].bound, &m[is_half].memory, &nets[is_half], &error) != FT_OK)
            fail_msg("%s", error.message);
        assert_int_equal(nets[is_half].pass_count, 3); /* RELU6 of the convolution, then RELU */
        assert_int_equal(nets[is_half].cpu_ops, 0);
        assert_int_equal(nets[is_half].types, TYPES_FLOAT);
    }
    for (uint32_t i = 0; i < 3; i++) {
        const npu_pass *a = &nets[0].passes[i], *b = &nets[1].passes[i];
        assert_true(a->has_weights == b->has_weights && a->has_weights == (i != 1));
        assert_int_equal(a->weights, b->weights);
        assert_int_equal(a->block, b->block);
        assert_int_equal(a->activation, b->activation);
    }
    for (int i = 0; i < 2; i++) npu_model_free(&m[i]);
}

/* Floats between QuantizeLinear and DequantizeLinear are the integers that a converter makes of them. */
static void pairs_of_quantisers_take_no_passes(void **state) {
    (void)state;
    onnx_model *m = onnx_model_new();
    onnx_input(m, m->graph, "x", ONNX_FLOAT, "1,16,8,8");
    onnx_initializer(m, m->graph, "s", ONNX_FLOAT, "");
    onnx_initializer(m, m->graph, "z", ONNX_INT8, "");
    onnx_initializer(m, m->graph, "w", ONNX_INT8, "16,16,1,1");
    onnx_node(m, m->graph, "QuantizeLinear", "x s z", "q");
    onnx_node(m, m->graph, "DequantizeLinear", "q s z", "d");
    onnx_node(m, m->graph, "DequantizeLinear", "w s z", "v");
    onnx_node(m, m->graph, "Conv", "d v", "c");
    onnx_node(m, m->graph, "Relu", "c", "r");
    onnx_node(m, m->graph, "QuantizeLinear", "r s z", "p");
    onnx_node(m, m->graph, "DequantizeLinear", "p s z", "y");
    onnx_output(m, m->graph, "y", ONNX_FLOAT, NULL);
    npu_model made = {.graph = onnx_model_read(m)};
    ft_error error;
    assert_int_equal(ft_graph_bind(made.graph, NULL, &made.bound, &error), FT_OK);
    arena_init(&made.memory, UINT64_MAX);
    assert_int_equal(npu_lower(made.bound, &made.memory, &made.net, &error), FT_OK);
    assert_int_equal(made.net.types, TYPES_PAIRS);
    assert_int_equal(made.net.cpu_ops, 0);
    assert_int_equal(made.net.pass_count, 1);
    assert_int_equal(made.net.passes[0].activation, ACTIVATION_CLAMP);
    assert_int_equal(made.net.tensors[made.net.passes[0].ofm].bytes, 1);
    npu_model_free(&made);
    onnx_model_free(m);
}

/* A reshape is free when no other operator reads its input; a reshape of the network's input is a copy. */
static void reshapes_are_free_or_copies(void **state) {
    (void)state;
    static const int32_t shape[] = {1, 1024};
    const lite_model model = {
        .version = 3,
        LITE_CODES({.builtin = B_ADD}, {.builtin = B_RESHAPE}),
        LITE_BUFFERS({NULL, 0, false, 0}, {shape, sizeof shape, false, 0}),
        LITE_SUBGRAPHS(
            {LITE_TENSORS(MAP("x", 1, 8, 8, 16), {.name = "s", .type = T_INT32, .rank = 1, .dims = {2}, .buffer = 1},
                          {.name = "v", .type = T_INT8, .rank = 2, .dims = {1, 1024}}, MAP("a", 1, 8, 8, 16),
                          {.name = "w", .type = T_INT8, .rank = 2, .dims = {1, 1024}},
                          {.name = "y", .type = T_INT8, .rank = 2, .dims = {1, 1024}}),
             LITE_IN(0), LITE_OUT(5),
             LITE_OPS({.code = 1, LITE_IN(0, 1), LITE_OUT(2)}, {.code = 0, LITE_IN(0, 0), LITE_OUT(3)},
                      {.code = 1, LITE_IN(3, 1), LITE_OUT(4)}, {.code = 0, LITE_IN(2, 4), LITE_OUT(5)})}),
    };
    npu_model m = npu_model_read(&model);
    assert_int_equal(m.net.pass_count, 3);
    uint32_t copies = 0;
    for (uint32_t i = 0; i < 3; i++) copies += m.net.passes[i].block == BLOCK_COPY;
    assert_int_equal(copies, 1);
    assert_int_equal(m.net.tensor_of[ft_graph_ops(m.bound)[2].outputs[0]],
                     m.net.tensor_of[ft_graph_ops(m.bound)[1].outputs[0]]);
    npu_model_free(&m);
}

/* What the first input of the last pass needs runs right before it. */
static void branches_run_as_late_as_possible(void **state) {
    (void)state;
    const lite_model model = {
        .version = 3,
        LITE_CODES({.builtin = B_ADD}),
        NO_BUFFERS,
        LITE_SUBGRAPHS({LITE_TENSORS(MAP("x", 1, 8, 8, 16), MAP("left", 1, 8, 8, 16), MAP("right", 1, 8, 8, 16),
                                     MAP("y", 1, 8, 8, 16)),
                        LITE_IN(0), LITE_OUT(3),
                        LITE_OPS({.code = 0, LITE_IN(0, 0), LITE_OUT(1)}, {.code = 0, LITE_IN(0, 0), LITE_OUT(2)},
                                 {.code = 0, LITE_IN(1, 2), LITE_OUT(3)})}),
    };
    npu_model m = npu_model_read(&model);
    assert_int_equal(m.net.pass_count, 3);
    assert_int_equal(m.net.passes[0].op, 1);
    assert_int_equal(m.net.passes[1].op, 0);
    assert_int_equal(m.net.passes[2].op, 2);
    npu_model_free(&m);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(activations_join_the_pass_before),
        cmocka_unit_test(a_clamp_of_another_scale_stays_alone),
        cmocka_unit_test(concatenations_are_copies_into_the_output),
        cmocka_unit_test(floats_are_left_to_the_cpu),
        cmocka_unit_test(a_float_network_is_lowered_as_quantised),
        cmocka_unit_test(weights_behind_dequantize_are_constants),
        cmocka_unit_test(pairs_of_quantisers_take_no_passes),
        cmocka_unit_test(reshapes_are_free_or_copies),
        cmocka_unit_test(branches_run_as_late_as_possible),
    };
    return cmocka_run_group_tests_name("npu/lower", tests, NULL, NULL);
}
