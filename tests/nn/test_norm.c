/* Tests of layer norm. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>

#include "support/gradient.h"

static tensor *norm(tape *t, const void *user) {
    (void)user;
    return nn_layer_norm(t, tape_param(t, 0), tape_param(t, 1), tape_param(t, 2));
}

static void test_gradients(void **state) {
    (void)state;
    params p;
    gradient_params(&p, 0.3f, 3, (const uint32_t[][2]){{4, 11}, {1, 11}, {1, 11}});
    gradient_check(&p, norm, NULL, 1e-3);
}

static void test_values(void **state) {
    (void)state;
    params p;
    gradient_params(&p, 0.3f, 3, (const uint32_t[][2]){{3, 4}, {1, 4}, {1, 4}});
    for (int i = 0; i < 4; i++) {
        p.values[i] = (float)i;   /* mean 1.5, variance 1.25 */
        p.values[4 + i] = 7;      /* all the same: zeros */
        p.values[12 + i] = 2;     /* gain */
        p.values[16 + i] = 0.25f; /* offset */
    }
    float *y = gradient_forward(&p, TAPE_INFER, norm, NULL);
    for (int i = 0; i < 4; i++) {
        assert_float_equal(y[i], 2 * (i - 1.5) / sqrt(1.25) + 0.25, 1e-4);
        assert_float_equal(y[4 + i], 0.25, 1e-6);
    }
    free(y);
    gradient_check_memory(&p, norm, NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_gradients), cmocka_unit_test(test_values)};
    return cmocka_run_group_tests_name("nn/norm", tests, NULL, NULL);
}
