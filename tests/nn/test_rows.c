/* Tests of gather, scatter, slices and concatenation. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>

#include "support/gradient.h"

static const uint32_t index_of[] = {2, 0, 0, 3, 2, 2};

static tensor *gather(tape *t, const void *user) {
    (void)user;
    return nn_gather(t, tape_param(t, 0), index_of, 6);
}

static tensor *scatter(tape *t, const void *user) {
    (void)user;
    return nn_scatter(t, tape_param(t, 0), index_of, 5);
}

static tensor *rows(tape *t, const void *user) {
    (void)user;
    tensor *x = tape_param(t, 0);
    return nn_mul(t, nn_slice_rows(t, x, 1, 3), nn_slice_rows(t, x, 2, 3)); /* they overlap */
}

static tensor *columns(tape *t, const void *user) {
    (void)user;
    tensor *x = tape_param(t, 0);
    return nn_mul(t, nn_slice_columns(t, x, 0, 2), nn_slice_columns(t, x, 1, 2));
}

static tensor *concat(tape *t, const void *user) {
    (void)user;
    tensor *x = tape_param(t, 0), *y = tape_param(t, 1);
    return nn_concat_columns(t, 3, (tensor *[]){x, y, x});
}

static void test_gather(void **state) {
    (void)state;
    params p;
    gradient_params(&p, 0, 1, (const uint32_t[][2]){{4, 3}});
    float *y = gradient_forward(&p, TAPE_INFER, gather, NULL);
    for (int i = 0; i < 18; i++) assert_true(y[i] == p.values[index_of[i / 3] * 3 + (uint32_t)i % 3]);
    free(y);
    gradient_check(&p, gather, NULL, 1e-3);
}

static void test_scatter(void **state) {
    (void)state;
    params p;
    gradient_params(&p, 0, 1, (const uint32_t[][2]){{6, 2}});
    float *y = gradient_forward(&p, TAPE_INFER, scatter, NULL), *x = p.values;
    assert_float_equal(y[0], x[2] + x[4], 1e-6);
    assert_true(y[2] == 0 && y[8] == 0); /* no row is scattered to it */
    assert_float_equal(y[5], x[1] + x[9] + x[11], 1e-6);
    free(y);
    gradient_check(&p, scatter, NULL, 1e-3);
}

static void test_slices(void **state) {
    (void)state;
    params p;
    gradient_params(&p, 0.3f, 1, (const uint32_t[][2]){{5, 3}});
    gradient_check(&p, rows, NULL, 1e-3);
    gradient_params(&p, 0.3f, 1, (const uint32_t[][2]){{5, 3}});
    gradient_check(&p, columns, NULL, 1e-3);
}

static tensor *stack(tape *t, const void *user) {
    (void)user;
    return nn_concat_rows(t, tape_param(t, 0), nn_slice_rows(t, tape_param(t, 0), 1, 2));
}

static void test_concat_rows(void **state) {
    (void)state;
    params p;
    gradient_params(&p, 0, 1, (const uint32_t[][2]){{3, 2}});
    float *y = gradient_forward(&p, TAPE_INFER, stack, NULL);
    for (int i = 0; i < 10; i++) assert_true(y[i] == p.values[i < 6 ? i : i - 4]);
    free(y);
    gradient_check(&p, stack, NULL, 1e-3);
}

static void test_concat_columns(void **state) {
    (void)state;
    params p;
    gradient_params(&p, 0, 2, (const uint32_t[][2]){{3, 2}, {3, 1}});
    float *y = gradient_forward(&p, TAPE_INFER, concat, NULL);
    for (int i = 0; i < 15; i++)
        assert_true(y[i] == (i % 5 == 2 ? p.values[6 + i / 5] : p.values[i / 5 * 2 + i % 5 % 3]));
    free(y);
    gradient_check(&p, concat, NULL, 1e-3);
}

static void test_memory(void **state) {
    (void)state;
    gradient_case *const all[] = {gather, scatter, rows, columns, concat};
    for (int i = 0; i < 5; i++) {
        params p;
        gradient_params(&p, 0, 2, (const uint32_t[][2]){{6, 3}, {6, 2}});
        gradient_check_memory(&p, all[i], NULL);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gather),         cmocka_unit_test(test_scatter),     cmocka_unit_test(test_slices),
        cmocka_unit_test(test_concat_columns), cmocka_unit_test(test_concat_rows), cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests_name("nn/rows", tests, NULL, NULL);
}
