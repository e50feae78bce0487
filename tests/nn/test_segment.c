/* Tests of sum, mean, maximum, softmax and broadcast of segments. One segment is empty, one has a single row. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>

#include "support/gradient.h"

typedef struct operation {
    tensor *(*op)(tape *t, tensor *x, segments s);
} operation;

static const uint32_t starts[] = {0, 3, 3, 4, 9};
static const segments four = {4, starts};

static tensor *apply(tape *t, const void *user) {
    return ((const operation *)user)->op(t, tape_param(t, 0), four);
}

static void test_gradients(void **state) {
    (void)state;
    const operation all[] = {{nn_segment_sum}, {nn_segment_mean}, {nn_segment_max}, {nn_segment_softmax}};
    for (int i = 0; i < 4; i++) {
        params p;
        gradient_params(&p, 0, 1, (const uint32_t[][2]){{9, 3}});
        gradient_check(&p, apply, &all[i], 1e-3);
    }
    params p;
    gradient_params(&p, 0, 1, (const uint32_t[][2]){{4, 11}});
    gradient_check(&p, apply, &(operation){nn_segment_broadcast}, 1e-3);
}

static void test_values(void **state) {
    (void)state;
    params p;
    gradient_params(&p, 0, 1, (const uint32_t[][2]){{9, 1}});
    for (int i = 0; i < 9; i++) p.values[i] = (float)((i * 5) % 9) - 6; /* -6 -1 -5 | | 0 | -4 1 -3 2 -2 */
    const float sum[] = {-12, 0, 0, -6}, mean[] = {-4, 0, 0, -1.2f}, most[] = {-1, 0, 0, 2};
    float *y = gradient_forward(&p, TAPE_INFER, apply, &(operation){nn_segment_sum});
    for (int i = 0; i < 4; i++) assert_float_equal(y[i], sum[i], 1e-6);
    free(y);
    y = gradient_forward(&p, TAPE_INFER, apply, &(operation){nn_segment_mean});
    for (int i = 0; i < 4; i++) assert_float_equal(y[i], mean[i], 1e-6);
    free(y);
    y = gradient_forward(&p, TAPE_INFER, apply, &(operation){nn_segment_max});
    for (int i = 0; i < 4; i++) assert_float_equal(y[i], most[i], 1e-6);
    free(y);
    y = gradient_forward(&p, TAPE_INFER, apply, &(operation){nn_segment_softmax});
    assert_float_equal(y[0] + y[1] + y[2], 1, 1e-6);
    assert_float_equal(y[1] / y[2], 54.59815, 1e-3);
    assert_float_equal(y[3], 1, 1e-6);
    free(y);
    params_free(&p);
}

static void test_memory(void **state) {
    (void)state;
    const operation all[] = {{nn_segment_sum}, {nn_segment_mean}, {nn_segment_max}, {nn_segment_softmax}};
    for (int i = 0; i < 4; i++) {
        params p;
        gradient_params(&p, 0, 1, (const uint32_t[][2]){{9, 3}});
        gradient_check_memory(&p, apply, &all[i]);
    }
    params p;
    gradient_params(&p, 0, 1, (const uint32_t[][2]){{4, 2}});
    gradient_check_memory(&p, apply, &(operation){nn_segment_broadcast});
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gradients),
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests_name("nn/segment", tests, NULL, NULL);
}
