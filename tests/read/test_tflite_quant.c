/* Tests of attributes derived from quantisation scales. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>

#include "support/tflite_model.h"

enum { T_INT8 = 9, FULLY_CONNECTED = 9, LEAKY_RELU = 98 };

static int64_t attr(const ft_op *op, const char *name) {
    return op_attr_int(op, name, INT64_MIN);
}

static ft_graph *dense(const float *scales, uint32_t count) {
    static const int8_t weights[4 * 8];
    const lite_model model = {
        .version = 3,
        LITE_CODES({.builtin = FULLY_CONNECTED}),
        LITE_BUFFERS({NULL, 0, false, 0}, {weights, sizeof weights, false, 0}),
        LITE_SUBGRAPHS({LITE_TENSORS({.name = "x", .type = T_INT8, .rank = 2, .dims = {1, 8}},
                                     {.name = "w",
                                      .type = T_INT8,
                                      .rank = 2,
                                      .dims = {4, 8},
                                      .buffer = 1,
                                      .scales = count,
                                      .scale_values = scales},
                                     {.name = "y", .type = T_INT8, .rank = 2, .dims = {1, 4}}),
                        LITE_IN(0), LITE_OUT(2), LITE_OPS({.code = 0, LITE_IN(0, 1), LITE_OUT(2)})}),
    };
    return lite_read(&model);
}

static void weight_scales_become_attributes(void **state) {
    (void)state;
    static const float some[] = {0.25F, 0.25F, 1e-9F, 0.0625F}, one[] = {0.5F};
    ft_graph *graph = dense(some, 4);
    assert_int_equal(attr(graph->ops, "weight_scales"), 4);
    assert_int_equal(attr(graph->ops, "weight_live_percent"), 75);
    assert_int_equal(attr(graph->ops, "weight_scale_level"), -11); /* four steps per octave of 2^(-8/3) */
    ft_graph_free(graph);
    graph = dense(one, 1);
    assert_int_equal(attr(graph->ops, "weight_scales"), 1);
    assert_int_equal(attr(graph->ops, "weight_live_percent"), 100);
    assert_int_equal(attr(graph->ops, "weight_scale_level"), -4);
    ft_graph_free(graph);
}

static void no_scale_no_attribute(void **state) {
    (void)state;
    static const float zeros[4] = {0}, endless[1] = {INFINITY};
    const float *const lists[] = {NULL, zeros, endless};
    const uint32_t counts[] = {0, 4, 1};
    for (int i = 0; i < 3; i++) {
        ft_graph *graph = dense(lists[i], counts[i]);
        assert_int_equal(attr(graph->ops, "weight_scales"), INT64_MIN);
        ft_graph_free(graph);
    }
}

static void activations_that_keep_the_scale_are_marked(void **state) {
    (void)state;
    static const float one[] = {1}, two[] = {2};
    for (int i = 0; i < 3; i++) { /* the same, another scale, another zero point */
        const lite_model model = {
            .version = 3,
            LITE_CODES({.builtin = LEAKY_RELU}),
            LITE_BUFFERS({NULL, 0, false, 0}),
            LITE_SUBGRAPHS(
                {LITE_TENSORS(
                     {.name = "x", .type = T_INT8, .rank = 2, .dims = {1, 8}, .scales = 1, .scale_values = one},
                     {.name = "y",
                      .type = T_INT8,
                      .rank = 2,
                      .dims = {1, 8},
                      .scales = 1,
                      .scale_values = i == 1 ? two : one,
                      .zero_point = i == 2 ? 3 : 0}),
                 LITE_IN(0), LITE_OUT(1), LITE_OPS({.code = 0, LITE_IN(0), LITE_OUT(1)})}),
        };
        ft_graph *graph = lite_read(&model);
        assert_int_equal(attr(graph->ops, "keeps_scale"), i == 0 ? 1 : INT64_MIN);
        ft_graph_free(graph);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(weight_scales_become_attributes),
        cmocka_unit_test(no_scale_no_attribute),
        cmocka_unit_test(activations_that_keep_the_scale_are_marked),
    };
    return cmocka_run_group_tests_name("read/tflite_quant", tests, NULL, NULL);
}
