/* Tests of sums and products of elements. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/gradient.h"

typedef tensor *binary(tape *t, tensor *x, tensor *y);

typedef struct operation {
    binary *op;
} operation;

static tensor *apply(tape *t, const void *user) {
    return ((const operation *)user)->op(t, tape_param(t, 0), tape_param(t, 1));
}

static tensor *with_itself(tape *t, const void *user) {
    return ((const operation *)user)->op(t, tape_param(t, 0), tape_param(t, 0));
}

static tensor *scale(tape *t, const void *user) {
    (void)user;
    return nn_scale(t, tape_param(t, 0), -2.5f);
}

static tensor *sum(tape *t, const void *user) {
    (void)user;
    return nn_sum(t, tape_param(t, 0));
}

static void test_same_shape(void **state) {
    (void)state;
    const operation all[] = {{nn_add}, {nn_sub}, {nn_mul}};
    for (int i = 0; i < 3; i++) {
        params p;
        gradient_params(&p, 0.2f, 2, (const uint32_t[][2]){{3, 11}, {3, 11}});
        gradient_check(&p, apply, &all[i], 1e-3);
        if (all[i].op == nn_sub) continue; /* is 0 */
        gradient_params(&p, 0.2f, 1, (const uint32_t[][2]){{5, 2}});
        gradient_check(&p, with_itself, &all[i], 1e-3);
    }
}

static void test_rows_and_columns(void **state) {
    (void)state;
    const operation rows[] = {{nn_add_row}, {nn_mul_row}};
    params p;
    for (int i = 0; i < 2; i++) {
        gradient_params(&p, 0.2f, 2, (const uint32_t[][2]){{4, 11}, {1, 11}});
        gradient_check(&p, apply, &rows[i], 1e-3);
    }
    gradient_params(&p, 0.2f, 2, (const uint32_t[][2]){{4, 11}, {4, 1}});
    gradient_check(&p, apply, &(operation){nn_mul_column}, 1e-3);
}

static void test_one(void **state) {
    (void)state;
    params p;
    gradient_params(&p, 0.2f, 1, (const uint32_t[][2]){{4, 11}});
    gradient_check(&p, scale, NULL, 1e-3);
    gradient_params(&p, 0.2f, 1, (const uint32_t[][2]){{4, 11}});
    gradient_check(&p, sum, NULL, 1e-3);
}

static void test_memory(void **state) {
    (void)state;
    const operation all[] = {{nn_add}, {nn_sub}, {nn_mul}, {nn_mul_row}, {nn_mul_column}, {nn_add_row}};
    for (int i = 0; i < 6; i++) {
        params p;
        gradient_params(&p, 0, 2, (const uint32_t[][2]){{1, 1}, {1, 1}});
        gradient_check_memory(&p, apply, &all[i]);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same_shape),
        cmocka_unit_test(test_rows_and_columns),
        cmocka_unit_test(test_one),
        cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests_name("nn/elementwise", tests, NULL, NULL);
}
