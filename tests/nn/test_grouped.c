/* Tests of products by group of columns and by segment of rows. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "support/gradient.h"

static const uint32_t starts[] = {0, 3, 3, 4, 9};

static tensor *groups(tape *t, const void *user) {
    (void)user;
    return nn_mul_groups(t, tape_param(t, 0), tape_param(t, 1));
}

static tensor *products(tape *t, const void *user) {
    (void)user;
    return nn_segment_matmul(t, tape_param(t, 0), tape_param(t, 1), (segments){4, starts});
}

static void test_groups(void **state) {
    (void)state;
    params p;
    gradient_params(&p, 0.2f, 2, (const uint32_t[][2]){{5, 12}, {5, 3}});
    gradient_check(&p, groups, NULL, 1e-3);
    gradient_params(&p, 0.2f, 2, (const uint32_t[][2]){{5, 12}, {5, 3}});
    float *y = gradient_forward(&p, TAPE_INFER, groups, NULL);
    const float *x = params_values(&p, 0), *f = params_values(&p, 1);
    for (int i = 0; i < 60; i++) assert_float_equal(y[i], x[i] * f[i / 4], 1e-6);
    free(y);
    gradient_check_memory(&p, groups, NULL);
}

static void test_products(void **state) {
    (void)state;
    params p;
    gradient_params(&p, 0.2f, 2, (const uint32_t[][2]){{9, 3}, {12, 5}});
    gradient_check(&p, products, NULL, 1e-3);
    gradient_params(&p, 0.2f, 2, (const uint32_t[][2]){{9, 3}, {12, 5}});
    float *y = gradient_forward(&p, TAPE_INFER, products, NULL);
    const float *x = params_values(&p, 0), *w = params_values(&p, 1);
    for (uint32_t s = 0; s < 4; s++)
        for (uint32_t r = starts[s]; r < starts[s + 1]; r++)
            for (uint32_t c = 0; c < 5; c++) {
                double sum = 0;
                for (uint32_t k = 0; k < 3; k++) sum += (double)x[3 * r + k] * w[5 * (3 * s + k) + c];
                assert_float_equal(y[5 * r + c], sum, 1e-5);
            }
    free(y);
    gradient_check_memory(&p, products, NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_groups), cmocka_unit_test(test_products)};
    return cmocka_run_group_tests_name("nn/heads", tests, NULL, NULL);
}
