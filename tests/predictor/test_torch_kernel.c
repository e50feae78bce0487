/* Kernels of PyTorch: types under autocast, views, and rows that do not depend on the batch. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "predictor/torch/torch_rows.h"
#include "support/toy.h"

/* The kernels of a graph, from an arena of the caller's; the graph is the caller's too. */
static torch_kernel *kernels_of(const ft_graph *bound, const char *runtime, arena *memory, uint32_t *count) {
    ft_rules *rules = NULL;
    model_view s;
    torch_kernel *kernels = NULL;
    ft_error error;
    assert_int_equal(ft_rules_open(runtime, &rules, NULL), FT_OK);
    model_view_init(&s, bound, &(ft_request){0});
    if (torch_kernels_of(&s, rules, memory, &kernels, count, &error) != FT_OK) fail_msg("%s", error.message);
    model_view_free(&s);
    ft_rules_free(rules);
    return kernels;
}

/* Convolution, norm over 32 bits, addition of both. */
static ft_graph *mixed_graph(int64_t batch) {
    ft_graph *g = toy_graph(FT_FORMAT_ONNX, FT_NCHW);
    uint32_t x = toy_input(g, 1, 8, 4, 16), w = toy_weight(g, 8, 8, 1, 1), gain = toy_weight(g, 16);
    uint32_t y = toy_op(g, "Conv", x, w, FT_NONE, toy_value(g, 1, 8, 4, 16));
    uint32_t n = toy_op(g, "LayerNormalization", y, gain, FT_NONE, toy_value(g, 1, 8, 4, 16));
    uint32_t z = toy_op(g, "Add", y, n, FT_NONE, toy_value(g, 1, 8, 4, 16));
    toy_finish(g, z, batch, 1);
    return g;
}

static void types_follow_autocast(void **state) {
    (void)state;
    arena memory;
    arena_init(&memory, 1 << 20);
    ft_graph *g = mixed_graph(1);
    uint32_t count = 0;
    const double elems = 8 * 4 * 16;
    const torch_kernel *k = kernels_of(g, "torch-eager", &memory, &count);
    assert_int_equal(count, 3);
    assert_int_equal(k[0].kind, TORCH_POINTWISE);
    assert_true(k[0].read32 == elems && k[0].cast == elems && k[0].write16 == elems && k[0].write32 == 0);
    assert_true(k[0].macs == elems * 8 && k[0].weights == 64);
    assert_int_equal(k[1].kind, TORCH_LAYER_NORM);
    assert_true(k[1].read16 == elems && k[1].cast == elems && k[1].write32 == elems && k[1].reduced == 16);
    assert_int_equal(k[2].kind, TORCH_ELEMENTWISE);
    assert_true(k[2].read16 == elems && k[2].read32 == elems && k[2].write32 == elems && k[2].cast == 0);
    ft_graph_free(g);
    arena_free(&memory);
}

static void rows_do_not_depend_on_the_batch(void **state) {
    (void)state;
    arena memory;
    arena_init(&memory, 1 << 20);
    ft_graph *one = mixed_graph(1), *many = mixed_graph(48);
    uint32_t count = 0;
    const torch_kernel *a = kernels_of(one, "torch-eager", &memory, &count);
    const torch_kernel *b = kernels_of(many, "torch-eager", &memory, &count);
    for (uint32_t i = 0; i < count; i++) {
        torch_row first, second;
        torch_row_of(&a[i], 1, (torch_precision){.is_mixed = true}, &first);
        torch_row_of(&b[i], 48, (torch_precision){.is_mixed = true}, &second);
        assert_memory_equal(&first, &second, sizeof first);
        torch_row_of(&a[i], 1, (torch_precision){.bytes = 4}, &second);
        assert_true(second.terms[TORCH_CASTS] == 0);
        assert_true(second.terms[TORCH_MOVED] >= first.terms[TORCH_MOVED]);
    }
    ft_graph_free(one);
    ft_graph_free(many);
    arena_free(&memory);
}

/* A reshape of a transposed tensor, and a relu behind it so that there is a kernel. */
static const torch_kernel *reshape_transposed(ft_graph *g, uint32_t x, uint32_t to, uint32_t result, arena *memory,
                                              uint32_t *count) {
    uint32_t shape = toy_weight(g, 3);
    uint32_t turned = toy_op(g, "Transpose", x, FT_NONE, FT_NONE, to);
    const int64_t order[] = {0, 2, 1};
    ft_attr perm;
    assert_int_equal(graph_attr_ints(g, &perm, "perm", order, 3, NULL), FT_OK);
    toy_attrs(g, &perm, 1);
    uint32_t y = toy_op(g, "Reshape", turned, shape, FT_NONE, result);
    ft_tensor copy = g->tensors[result];
    uint32_t relu;
    assert_int_equal(graph_add_tensor(g, &copy, &relu, NULL), FT_OK);
    toy_finish(g, toy_op(g, "Relu", y, FT_NONE, FT_NONE, relu), 1, 1);
    return kernels_of(g, "torch-eager", memory, count);
}

static void tokens_become_a_map_without_a_copy(void **state) {
    (void)state;
    arena memory;
    uint32_t count = 0;
    arena_init(&memory, 1 << 20);
    ft_graph *g = toy_graph(FT_FORMAT_ONNX, FT_NCHW);
    const torch_kernel *k = reshape_transposed(g, toy_input(g, 1, 49, 8), toy_value(g, 1, 8, 49),
                                               toy_value(g, 1, 8, 7, 7), &memory, &count);
    double launches = 0;
    for (uint32_t i = 0; i < count; i++) launches += k[i].launches;
    assert_true(launches == 1);
    assert_true(k[count - 1].kind == TORCH_ACTIVATION && k[count - 1].is_strided);
    ft_graph_free(g);
    g = toy_graph(FT_FORMAT_ONNX, FT_NCHW);
    k = reshape_transposed(g, toy_input(g, 1, 49, 8), toy_value(g, 1, 8, 49), toy_value(g, 1, 392), &memory, &count);
    launches = 0;
    for (uint32_t i = 0; i < count; i++) launches += k[i].launches;
    assert_true(launches == 2 && k[0].kind == TORCH_COPY && k[0].read32 == 392);
    ft_graph_free(g);
    arena_free(&memory);
}

/* A recurrent layer of both directions over 7 steps. */
static void recurrent_layers_are_loops(void **state) {
    (void)state;
    arena memory;
    uint32_t count = 0;
    arena_init(&memory, 1 << 20);
    ft_graph *g = toy_graph(FT_FORMAT_ONNX, FT_NCHW);
    uint32_t x = toy_input(g, 7, 1, 16), w = toy_weight(g, 2, 32, 16), r = toy_weight(g, 2, 32, 8);
    toy_finish(g, toy_op(g, "LSTM", x, w, r, toy_value(g, 7, 2, 1, 8)), 1, 1);
    const torch_kernel *k = kernels_of(g, "torch-compile", &memory, &count);
    assert_int_equal(k[0].kind, TORCH_RECURRENT);
    assert_true(k[0].launches == 14);
    ft_graph_free(g);
    arena_free(&memory);
}

static void rows_have_the_divisibility_of_channels(void **state) {
    (void)state;
    static const struct {
        double channels;
        float power;
    } cases[] = {{0, 0}, {1, 0}, {768, 8}, {1024, 10}, {1153, 0}, {1 << 20, 12}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        torch_kernel kernel = {.kind = TORCH_LINEAR, .in_channels = cases[i].channels, .out_channels = 4};
        torch_row row;
        torch_row_of(&kernel, 1, (torch_precision){.bytes = 4}, &row);
        assert_true(row.features[TORCH_SIZE_EVEN_IN] == cases[i].power);
        assert_true(row.features[TORCH_SIZE_EVEN_OUT] == 2);
        kernel.kind = TORCH_ATTENTION; /* tokens are not channels */
        torch_row_of(&kernel, 1, (torch_precision){.bytes = 4}, &row);
        assert_true(row.features[TORCH_SIZE_EVEN_IN] == 0 && row.features[TORCH_SIZE_EVEN_OUT] == 0);
    }
}

static void group_norms_are_as_long_as_a_group(void **state) {
    (void)state;
    for (int64_t groups = 0; groups <= 4; groups += 4) { /* 0, in a damaged file, counts as one group */
        arena memory;
        uint32_t count = 0;
        arena_init(&memory, 1 << 20);
        ft_graph *g = toy_graph(FT_FORMAT_ONNX, FT_NCHW);
        uint32_t x = toy_input(g, 1, 8, 4, 4), gain = toy_weight(g, 8), shift = toy_weight(g, 8);
        uint32_t y = toy_op(g, "GroupNormalization", x, gain, shift, toy_value(g, 1, 8, 4, 4));
        ft_attr attr = toy_int(g, "num_groups", groups);
        toy_attrs(g, &attr, 1);
        toy_finish(g, y, 1, 1);
        const torch_kernel *k = kernels_of(g, "torch-compile", &memory, &count);
        assert_true(k[0].kind == TORCH_GROUP_NORM && k[0].reduced == (groups > 0 ? 2 * 4 * 4 : 8 * 4 * 4));
        ft_graph_free(g);
        arena_free(&memory);
    }
}

/* Weights computed from others: exporters fold the computation, PyTorch repeats it in every step. */
static void computed_weights_are_counted_apart(void **state) {
    (void)state;
    arena memory;
    uint32_t count = 0;
    arena_init(&memory, 1 << 20);
    ft_graph *g = toy_graph(FT_FORMAT_ONNX, FT_NCHW);
    uint32_t x = toy_input(g, 1, 8, 4, 4), w = toy_weight(g, 8, 8, 1, 1), gain = toy_weight(g, 8, 1, 1, 1);
    uint32_t made = toy_op(g, "Mul", w, gain, FT_NONE, toy_value(g, 8, 8, 1, 1));
    g->ops[g->op_count - 1].is_folded = true;
    toy_finish(g, toy_op(g, "Conv", x, made, FT_NONE, toy_value(g, 1, 8, 4, 4)), 1, 1);
    const torch_kernel *k = kernels_of(g, "torch-compile", &memory, &count);
    assert_int_equal(count, 1);
    assert_true(k[0].kind == TORCH_POINTWISE && k[0].made == 64 && k[0].weights == 0);
    ft_graph_free(g);
    arena_free(&memory);
}

/* The enum constants index the right sizes. */
static void named_sizes_have_their_index(void **state) {
    (void)state;
    torch_kernel kernel = {.kind = TORCH_ELEMENTWISE, .read16 = 64, .write16 = 4096};
    torch_row row;
    torch_row_of(&kernel, 2, (torch_precision){.bytes = 4}, &row);
    assert_true(row.features[TORCH_SIZE_WRITTEN] == 11 && row.features[TORCH_SIZE_WIDE] == 1);
    torch_row_of(&kernel, 2, (torch_precision){.bytes = 2}, &row);
    assert_true(row.features[TORCH_SIZE_WIDE] == 0);
}

/* 8 channels to `cout`, a window of 3 by 5. */
static torch_kernel convolve(int64_t groups, int64_t cout, arena *memory) {
    ft_graph *g = toy_graph(FT_FORMAT_ONNX, FT_NCHW);
    uint32_t x = toy_input(g, 1, 8, 6, 10), w = toy_weight(g, cout, 8 / groups, 3, 5), count = 0;
    uint32_t y = toy_op(g, "Conv", x, w, FT_NONE, toy_value(g, 1, cout, 4, 6));
    ft_attr attrs[] = {toy_int(g, "group", groups), toy_ints(g, "kernel_shape", 3, 5)};
    toy_attrs(g, attrs, 2);
    toy_finish(g, y, 1, 1);
    torch_kernel k = kernels_of(g, "torch-eager", memory, &count)[0];
    assert_int_equal(count, 1);
    ft_graph_free(g);
    return k;
}

static void convolutions_are_of_three_kinds(void **state) {
    (void)state;
    arena memory;
    arena_init(&memory, 1 << 20);
    torch_kernel k = convolve(1, 16, &memory);
    assert_int_equal(k.kind, TORCH_CONV);
    assert_int_equal(k.holds, 1U << TORCH_CONV);
    assert_true(k.groups == 1 && k.depth == 8 * 15 && k.columns == 16 && k.height == 4 && k.width == 6);
    assert_true(k.in_channels == 8 && k.out_channels == 16 && k.window == 5 && k.stride == 1);
    assert_true(k.weights == 16 * 8 * 15 && k.macs == 16 * 24 * 8 * 15);
    k = convolve(2, 16, &memory);
    assert_int_equal(k.kind, TORCH_GROUPED);
    assert_int_equal(k.holds, 1U << TORCH_GROUPED);
    assert_true(k.groups == 2 && k.depth == 4 * 15 && k.columns == 8 && k.out_channels == 16);
    k = convolve(8, 8, &memory);
    assert_int_equal(k.kind, TORCH_DEPTHWISE);
    assert_true(k.groups == 8 && k.depth == 15 && k.columns == 1);
    arena_free(&memory);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(types_follow_autocast),
                                       cmocka_unit_test(rows_do_not_depend_on_the_batch),
                                       cmocka_unit_test(tokens_become_a_map_without_a_copy),
                                       cmocka_unit_test(recurrent_layers_are_loops),
                                       cmocka_unit_test(rows_have_the_divisibility_of_channels),
                                       cmocka_unit_test(group_norms_are_as_long_as_a_group),
                                       cmocka_unit_test(computed_weights_are_counted_apart),
                                       cmocka_unit_test(named_sizes_have_their_index),
                                       cmocka_unit_test(convolutions_are_of_three_kinds)};
    return cmocka_run_group_tests_name("predictor/torch_kernel", tests, NULL, NULL);
}
