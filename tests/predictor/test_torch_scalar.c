/* Loops that torch.compile does not vectorise on CPUs: group norms with few channels per group, masks of shifted
 * windows. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "predictor/torch/torch_kernel.h"
#include "support/toy.h"

/* All operators as one kernel. */
static double elems_of(const ft_graph *g, torch_kind kind, double scores) {
    uint32_t ops[8];
    assert_true(g->op_count <= sizeof ops / sizeof ops[0]);
    for (uint32_t i = 0; i < g->op_count; i++) ops[i] = i;
    const ft_kernel kernel = {.ops = ops, .op_count = g->op_count};
    return torch_scalar_elems(g, &kernel, &(torch_kernel){.kind = kind, .scores = scores});
}

/* A group norm as older exporters write it, of a square map. */
static double group_norm(int channels, int groups, int side, int64_t batch) {
    int rest = channels / groups * side * side;
    ft_graph *g = toy_graph(FT_FORMAT_ONNX, FT_NCHW);
    uint32_t x = toy_input(g, 1, channels, side, side), gain = toy_weight(g, groups), shift = toy_weight(g, groups);
    uint32_t flat = toy_op(g, "Reshape", x, FT_NONE, FT_NONE, toy_value(g, 1, groups, rest));
    uint32_t normed = toy_op(g, "InstanceNormalization", flat, gain, shift, toy_value(g, 1, groups, rest));
    toy_finish(g, toy_op(g, "Reshape", normed, FT_NONE, FT_NONE, toy_value(g, 1, channels, side, side)), batch, 1);
    double elems = elems_of(g, TORCH_GROUP_NORM, 0);
    ft_graph_free(g);
    return elems;
}

static void short_runs_are_scalar(void **state) {
    (void)state;
    /* 32 groups on 14 cores: three rounds of a group each. */
    assert_true(group_norm(64, 32, 56, 1) == 3 * 2 * 56 * 56);
    assert_true(group_norm(64, 32, 56, 4) == 4 * 3 * 2 * 56 * 56);
    /* Too little work to parallelise: one core has all of it. */
    assert_true(group_norm(256, 32, 14, 1) == 256 * 14 * 14);
    /* Groups of at least a vector. */
    assert_true(group_norm(512, 32, 56, 1) == 0);
    assert_true(group_norm(64, 1, 56, 1) == 0);
}

static void both_forms_of_group_norm_are_recognised(void **state) {
    (void)state;
    ft_graph *g = toy_graph(FT_FORMAT_ONNX, FT_NCHW);
    uint32_t x = toy_input(g, 1, 64, 56, 56), gain = toy_weight(g, 64), shift = toy_weight(g, 64);
    uint32_t y = toy_op(g, "GroupNormalization", x, gain, shift, toy_value(g, 1, 64, 56, 56));
    ft_attr groups = toy_int(g, "num_groups", 32);
    toy_attrs(g, &groups, 1);
    toy_finish(g, y, 1, 1);
    assert_true(elems_of(g, TORCH_GROUP_NORM, 0) == group_norm(64, 32, 56, 1));
    ft_graph_free(g);
}

static void norms_implemented_by_models_count(void **state) {
    (void)state;
    ft_graph *g = toy_graph(FT_FORMAT_ONNX, FT_NCHW);
    uint32_t x = toy_input(g, 1, 32, 4, 28, 28);
    toy_finish(g, toy_op(g, "ReduceMean", x, FT_NONE, FT_NONE, toy_value(g, 1, 32, 1, 1, 1)), 1, 1);
    assert_true(elems_of(g, TORCH_REDUCTION, 0) == 3 * 4 * 28 * 28);
    ft_graph_free(g);
}

static void window_masks_have_as_many_elements_as_scores(void **state) {
    (void)state;
    for (int windows = 1; windows <= 4; windows += 3) {
        ft_graph *g = toy_graph(FT_FORMAT_ONNX, FT_NCHW);
        uint32_t x = toy_input(g, 1, windows, 3, 49, 49), mask = toy_weight(g, 1, windows, 1, 49, 49);
        toy_finish(g, toy_op(g, "Add", x, mask, FT_NONE, toy_value(g, 1, windows, 3, 49, 49)), 1, 1);
        assert_true(elems_of(g, TORCH_ATTENTION, 1000) == (windows > 1 ? 1000 : 0));
        assert_true(elems_of(g, TORCH_ELEMENTWISE, 1000) == 0);
        ft_graph_free(g);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(short_runs_are_scalar),
                                       cmocka_unit_test(both_forms_of_group_norm_are_recognised),
                                       cmocka_unit_test(norms_implemented_by_models_count),
                                       cmocka_unit_test(window_masks_have_as_many_elements_as_scores)};
    return cmocka_run_group_tests_name("predictor/torch_scalar", tests, NULL, NULL);
}
