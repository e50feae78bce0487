/* Tests of what rows hear from their neighbours. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>

#include "support/gradient.h"

typedef struct operation {
    tensor *(*op)(tape *t, tensor *x, neighbours n);
} operation;

/* Row 1 hears nobody, row 3 one row twice; nobody hears row 2. */
static const uint32_t starts[] = {0, 2, 2, 3, 6}, from[] = {1, 4, 0, 3, 3, 0};
static const neighbours edges = {4, starts, from};

static tensor *apply(tape *t, const void *user) {
    return ((const operation *)user)->op(t, tape_param(t, 0), edges);
}

static const operation all[] = {{nn_neighbour_sum}, {nn_neighbour_mean}, {nn_neighbour_max}};

static void test_gradients(void **state) {
    (void)state;
    for (int i = 0; i < 3; i++) {
        params p;
        gradient_params(&p, 0, 1, (const uint32_t[][2]){{5, 11}});
        gradient_check(&p, apply, &all[i], 1e-3);
    }
}

static void test_values(void **state) {
    (void)state;
    const float expected[3][4] = {{-4, 0, 5, 11}, {-2, 0, 5, 11.0f / 3}, {2, 0, 5, 5}};
    for (int i = 0; i < 3; i++) {
        params p;
        gradient_params(&p, 0, 1, (const uint32_t[][2]){{5, 1}});
        const float x[] = {5, 2, 100, 3, -6};
        for (int k = 0; k < 5; k++) p.values[k] = x[k];
        float *y = gradient_forward(&p, TAPE_INFER, apply, &all[i]);
        for (int k = 0; k < 4; k++) assert_float_equal(y[k], expected[i][k], 1e-5);
        free(y);
        params_free(&p);
    }
}

static void test_memory(void **state) {
    (void)state;
    for (int i = 0; i < 3; i++) {
        params p;
        gradient_params(&p, 0, 1, (const uint32_t[][2]){{5, 3}});
        gradient_check_memory(&p, apply, &all[i]);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gradients),
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests_name("nn/neighbour", tests, NULL, NULL);
}
