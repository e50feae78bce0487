/* Tests of rows of length 1. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>

#include "support/gradient.h"

static tensor *unit(tape *t, const void *user) {
    (void)user;
    return nn_l2_normalize(t, tape_param(t, 0));
}

static void test_gradients(void **state) {
    (void)state;
    params p;
    gradient_params(&p, 0, 1, (const uint32_t[][2]){{4, 11}});
    gradient_check(&p, unit, NULL, 1e-3);
}

static void test_values(void **state) {
    (void)state;
    params p;
    gradient_params(&p, 0, 1, (const uint32_t[][2]){{3, 2}});
    const float x[] = {3, -4, 0, 0, 1e-9f, 0}, expected[] = {0.6f, -0.8f, 0, 0, 1e-3f, 0};
    for (int i = 0; i < 6; i++) p.values[i] = x[i];
    float *y = gradient_forward(&p, TAPE_INFER, unit, NULL);
    for (int i = 0; i < 6; i++) assert_float_equal(y[i], expected[i], 1e-6);
    free(y);
    gradient_check_memory(&p, unit, NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_gradients), cmocka_unit_test(test_values)};
    return cmocka_run_group_tests_name("nn/unit", tests, NULL, NULL);
}
