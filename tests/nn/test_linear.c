/* Tests of linear layers and matrix products on the tape. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>

#include "support/gradient.h"

enum { ROWS = 7 };

static const float input[ROWS * 5] = {0.5f, -1, 2, 0.25f, 1, -0.5f, 1.5f, 0.75f, -2, 0.1f, 1, 1, -1, 0.3f, -0.7f, 0.9f};

static tensor *matmul(tape *t, const void *user) {
    (void)user;
    return nn_matmul(t, tape_param(t, 0), tape_param(t, 1));
}

static tensor *linear(tape *t, const void *user) {
    return nn_linear(t, tape_param(t, 0), tape_param(t, 1), tape_param(t, 2), *(const activation *)user);
}

static tensor *linear2(tape *t, const void *user) {
    return nn_linear2(t, tape_param(t, 0), tape_param(t, 1), tape_param(t, 2), tape_param(t, 3), tape_param(t, 4),
                      *(const activation *)user);
}

/* The input is the caller's: it needs no gradient, its weights do. */
static tensor *first_layer(tape *t, const void *user) {
    (void)user;
    tensor *x = tape_input(t, ROWS, 5, input);
    tensor *y = nn_linear(t, x, tape_param(t, 0), tape_param(t, 1), ACT_TANH);
    assert_true(x == NULL || x->grad == NULL);
    return y;
}

/* One tensor in both places: gradients add up. */
static tensor *twice(tape *t, const void *user) {
    (void)user;
    tensor *x = tape_param(t, 0), *w = tape_param(t, 1);
    return nn_linear2(t, x, w, nn_matmul(t, x, w), w, NULL, ACT_NONE);
}

static void test_matmul(void **state) {
    (void)state;
    params p;
    gradient_params(&p, 0, 2, (const uint32_t[][2]){{ROWS, 5}, {5, 19}});
    gradient_check(&p, matmul, NULL, 1e-3);
    gradient_params(&p, 0, 2, (const uint32_t[][2]){{1, 9}, {9, 3}}); /* one row: sgemv */
    gradient_check(&p, matmul, NULL, 1e-3);
    gradient_params(&p, 0, 2, (const uint32_t[][2]){{9, 4}, {4, 1}}); /* one column */
    gradient_check(&p, matmul, NULL, 1e-3);
}

static void test_linear(void **state) {
    (void)state;
    for (activation act = ACT_NONE; act <= ACT_SIGMOID; act++) {
        params p;
        gradient_params(&p, 0.1f, 3, (const uint32_t[][2]){{ROWS, 5}, {5, 17}, {1, 17}});
        /* far from the kink of relu */
        for (size_t i = 0; act == ACT_RELU && i < 17; i++) params_values(&p, 2)[i] = i % 3 == 0 ? -9 : 9;
        gradient_check(&p, linear, &act, 2e-3);
    }
}

static void test_linear2(void **state) {
    (void)state;
    activation act = ACT_NONE;
    for (int i = 0; i < 2; i++, act = ACT_SILU) {
        params p;
        gradient_params(&p, 0, 5, (const uint32_t[][2]){{ROWS, 3}, {3, 18}, {ROWS, 4}, {4, 18}, {1, 18}});
        gradient_check(&p, linear2, &act, 1e-3);
    }
}

static void test_first_layer(void **state) {
    (void)state;
    params p;
    gradient_params(&p, 0, 2, (const uint32_t[][2]){{5, 8}, {1, 8}});
    gradient_check(&p, first_layer, NULL, 1e-3);
}

static void test_shared_weights(void **state) {
    (void)state;
    params p;
    gradient_params(&p, 0, 2, (const uint32_t[][2]){{ROWS, 8}, {8, 8}});
    gradient_check(&p, twice, NULL, 1e-3);
}

/* Bias and relu of the two-product form, beside plain sums. */
static void test_values(void **state) {
    (void)state;
    params p;
    gradient_params(&p, 0, 5, (const uint32_t[][2]){{ROWS, 3}, {3, 18}, {ROWS, 4}, {4, 18}, {1, 18}});
    activation act = ACT_RELU;
    float *y = gradient_forward(&p, TAPE_INFER, linear2, &act);
    for (size_t i = 0; i < ROWS; i++)
        for (size_t j = 0; j < 18; j++) {
            double sum = params_values(&p, 4)[j];
            for (size_t k = 0; k < 3; k++) sum += params_values(&p, 0)[i * 3 + k] * params_values(&p, 1)[k * 18 + j];
            for (size_t k = 0; k < 4; k++) sum += params_values(&p, 2)[i * 4 + k] * params_values(&p, 3)[k * 18 + j];
            assert_float_equal(y[i * 18 + j], sum > 0 ? sum : 0, 1e-5);
        }
    free(y);
    params_free(&p);
}

static void test_memory(void **state) {
    (void)state;
    params p;
    activation act = ACT_GELU;
    gradient_params(&p, 0, 5, (const uint32_t[][2]){{ROWS, 3}, {3, 18}, {ROWS, 4}, {4, 18}, {1, 18}});
    gradient_check_memory(&p, linear2, &act);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_matmul),      cmocka_unit_test(test_linear),         cmocka_unit_test(test_linear2),
        cmocka_unit_test(test_first_layer), cmocka_unit_test(test_shared_weights), cmocka_unit_test(test_values),
        cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests_name("nn/linear", tests, NULL, NULL);
}
