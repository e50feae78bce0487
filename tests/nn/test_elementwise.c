/* Tests of elementwise operations and dropout. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "support/gradient.h"

/* --- Elementwise --------------------------------------------------------------------------------------------- */

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

static void scale_activate_and_sum(void **state) {
    (void)state;
    params p;
    gradient_params(&p, 0.2f, 1, (const uint32_t[][2]){{4, 11}});
    gradient_check(&p, scale, NULL, 1e-3);
    gradient_params(&p, 0.2f, 1, (const uint32_t[][2]){{4, 11}});
    gradient_check(&p, sum, NULL, 1e-3);
}

static void elementwise_reports_failed_allocations(void **state) {
    (void)state;
    const operation all[] = {{nn_add}, {nn_sub}, {nn_mul}, {nn_mul_row}, {nn_mul_column}, {nn_add_row}};
    for (int i = 0; i < 6; i++) {
        params p;
        gradient_params(&p, 0, 2, (const uint32_t[][2]){{1, 1}, {1, 1}});
        gradient_check_memory(&p, apply, &all[i]);
    }
}

/* --- Dropout ------------------------------------------------------------------------------------------------- */

static tensor *dropout(tape *t, const void *user) {
    return nn_dropout(t, tape_param(t, 0), *(const float *)user);
}

static void dropout_gradients_match_finite_differences(void **state) {
    (void)state;
    const float rate = 0.4f;
    params p;
    gradient_params(&p, 0, 1, (const uint32_t[][2]){{5, 7}});
    gradient_check_train_only(&p, dropout, &rate, 1e-3);
    gradient_params(&p, 0, 1, (const uint32_t[][2]){{5, 7}});
    gradient_check_memory(&p, dropout, &rate);
}

static void dropout_rate_is_met(void **state) {
    (void)state;
    const float rate = 0.3f;
    params p;
    gradient_params(&p, 0, 1, (const uint32_t[][2]){{100, 101}});
    for (int i = 0; i < 10100; i++) p.values[i] = 1;
    float *y = gradient_forward(&p, TAPE_TRAIN, dropout, &rate),
          *again = gradient_forward(&p, TAPE_TRAIN, dropout, &rate);
    int dropped = 0;
    for (int i = 0; i < 10100; i++) {
        dropped += y[i] == 0;
        assert_true(y[i] == 0 || y[i] == 1 / (1 - rate));
    }
    assert_in_range(dropped, 2850, 3210);
    assert_memory_equal(y, again, 10100 * sizeof *y); /* same seed, same places */
    free(y);
    free(again);
    params_free(&p);
}

/* Each seed and stream drops other elements; nothing is dropped during inference. */
static void dropout_depends_on_seed_and_stream(void **state) {
    (void)state;
    params p;
    tape *t = NULL;
    gradient_params(&p, 5, 1, (const uint32_t[][2]){{8, 8}});
    assert_int_equal(tape_new(&p, 1 << 20, &t, NULL), FT_OK);
    float first[64];
    tape_begin(t, TAPE_TRAIN, 1, 1);
    memcpy(first, nn_dropout(t, tape_param(t, 0), 0.5f)->data, sizeof first);
    tape_begin(t, TAPE_TRAIN, 1, 2);
    assert_memory_not_equal(first, nn_dropout(t, tape_param(t, 0), 0.5f)->data, sizeof first);
    tape_begin(t, TAPE_TRAIN, 2, 1);
    assert_memory_not_equal(first, nn_dropout(t, tape_param(t, 0), 0.5f)->data, sizeof first);
    tape_begin(t, TAPE_INFER, 1, 1);
    assert_ptr_equal(nn_dropout(t, tape_param(t, 0), 0.5f), tape_param(t, 0));
    tape_free(t);
    params_free(&p);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same_shape),
        cmocka_unit_test(test_rows_and_columns),
        cmocka_unit_test(scale_activate_and_sum),
        cmocka_unit_test(elementwise_reports_failed_allocations),
        cmocka_unit_test(dropout_gradients_match_finite_differences),
        cmocka_unit_test(dropout_rate_is_met),
        cmocka_unit_test(dropout_depends_on_seed_and_stream),
    };
    return cmocka_run_group_tests_name("nn/elementwise", tests, NULL, NULL);
}
