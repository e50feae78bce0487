/* Tests of the softmax of rows. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>

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

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_gradients), cmocka_unit_test(test_values)};
    return cmocka_run_group_tests_name("nn/softmax", tests, NULL, NULL);
}
