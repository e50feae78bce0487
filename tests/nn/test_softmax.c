/* Tests of the softmax and of the smooth maximum of rows. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support/gradient.h"

static tensor *softmax(tape *t, const void *user) {
    (void)user;
    return nn_softmax(t, tape_param(t, 0));
}

static void test_gradients(void **state) {
    (void)state;
    params p;
    gradient_params(&p, 0, 1, (const uint32_t[][2]){{4, 11}});
    gradient_check(&p, softmax, NULL, 1e-3);
    gradient_params(&p, 0, 1, (const uint32_t[][2]){{4, 11}});
    gradient_check_memory(&p, softmax, NULL);
}

static void test_values(void **state) {
    (void)state;
    params p;
    gradient_params(&p, 0, 1, (const uint32_t[][2]){{3, 9}});
    for (int i = 0; i < 9; i++) {
        p.values[i] = 1000 + (float)i;            /* would overflow */
        p.values[9 + i] = i == 4 ? 0 : -INFINITY; /* one is left */
        p.values[18 + i] = -INFINITY;             /* none is */
    }
    float *y = gradient_forward(&p, TAPE_INFER, softmax, NULL);
    double sum = 0;
    for (int i = 0; i < 9; i++) sum += exp(i - 8);
    for (int i = 0; i < 9; i++) {
        assert_float_equal(y[i], exp(i - 8) / sum, 1e-6);
        assert_true(y[9 + i] == (i == 4 ? 1 : 0));
        assert_true(y[18 + i] == 0);
    }
    free(y);
    params_free(&p);
}

static tensor *smooth_max(tape *t, const void *user) {
    return nn_smooth_max(t, tape_param(t, 0), *(const float *)user);
}

static void test_smooth_max_gradients(void **state) {
    (void)state;
    static const float sharpness[] = {0.5f, 1, 4};
    params p;
    for (size_t i = 0; i < 3; i++) {
        gradient_params(&p, 0, 1, (const uint32_t[][2]){{4, 9}});
        gradient_check(&p, smooth_max, &sharpness[i], 1e-3);
    }
    gradient_params(&p, 0, 1, (const uint32_t[][2]){{4, 9}});
    gradient_check_memory(&p, smooth_max, &sharpness[1]);
}

static void test_smooth_max_values(void **state) {
    (void)state;
    const float sharpness = 2;
    params p;
    gradient_params(&p, 0, 1, (const uint32_t[][2]){{3, 2}});
    memcpy(p.values, (float[]){0, 0, 1000, -1000, 1, 2}, 6 * sizeof(float));
    float *y = gradient_forward(&p, TAPE_INFER, smooth_max, &sharpness);
    assert_float_equal(y[0], log(2) / 2, 1e-6); /* two equal ones */
    assert_float_equal(y[1], 1000, 1e-6);       /* one alone */
    assert_float_equal(y[2], log(exp(2) + exp(4)) / 2, 1e-6);
    free(y);
    params_free(&p);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_gradients), cmocka_unit_test(test_values),
                                       cmocka_unit_test(test_smooth_max_gradients),
                                       cmocka_unit_test(test_smooth_max_values)};
    return cmocka_run_group_tests_name("nn/softmax", tests, NULL, NULL);
}
