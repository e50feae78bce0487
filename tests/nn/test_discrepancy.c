/* Tests of the discrepancies of two distributions. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>

#include "support/gradient.h"

static tensor *cmd(tape *t, const void *user) {
    (void)user;
    return nn_cmd(t, tape_param(t, 0), tape_param(t, 1));
}

static tensor *mmd(tape *t, const void *user) {
    (void)user;
    return nn_mmd(t, tape_param(t, 0), tape_param(t, 1));
}

static const uint32_t shapes[][2] = {{5, 3}, {4, 3}};

static void test_gradients(void **state) {
    (void)state;
    params p;
    gradient_params(&p, 0, 2, shapes);
    gradient_check(&p, cmd, NULL, 2e-2);
    gradient_params(&p, 0, 2, shapes);
    gradient_check(&p, mmd, NULL, 2e-2);
}

static float value(const params *p, gradient_case *make) {
    float *found = gradient_forward(p, TAPE_INFER, make, NULL), one = found[0];
    free(found);
    return one;
}

/* Two rows of one column on either side: means 1 and 3, deviations 1 and 2. */
static void test_values(void **state) {
    (void)state;
    params p;
    gradient_params(&p, 0, 2, (const uint32_t[][2]){{2, 1}, {2, 1}});
    const float x[] = {0, 2, 1, 5};
    for (int i = 0; i < 4; i++) p.values[i] = x[i];
    assert_float_equal(value(&p, cmd), 2 + (4 - 1) + 0 + (16 - 1) + 0, 0.01);
    double expected = 0;
    for (int i = 0; i < 4; i++) {
        for (int k = 0; k < 4; k++) {
            double square = pow((double)x[i] - x[k], 2), sign = (i < 2) == (k < 2) ? 0.25 : -0.25;
            expected += sign * (exp(-square) + exp(-0.1 * square) + exp(-0.001 * square));
        }
    }
    assert_float_equal(value(&p, mmd), expected, 1e-5);
    gradient_check_memory(&p, cmd, NULL);
}

static void test_equal_samples_have_no_discrepancy(void **state) {
    (void)state;
    params p;
    gradient_params(&p, 0, 2, (const uint32_t[][2]){{4, 3}, {4, 3}});
    for (int i = 0; i < 12; i++) p.values[12 + i] = p.values[i];
    assert_float_equal(value(&p, cmd), 0, 0.01);
    assert_float_equal(value(&p, mmd), 0, 1e-5);
    gradient_check_memory(&p, mmd, NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_gradients), cmocka_unit_test(test_values),
                                       cmocka_unit_test(test_equal_samples_have_no_discrepancy)};
    return cmocka_run_group_tests_name("nn/discrepancy", tests, NULL, NULL);
}
