/* Tests of activations, softmax and the smooth maximum. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support/gradient.h"

/* --- Activation ---------------------------------------------------------------------------------------------- */

static tensor *activate(tape *t, const void *user) {
    return nn_activate(t, tape_param(t, 0), *(const activation *)user);
}

static double expected(activation act, double x) {
    switch (act) {
    case ACT_RELU:
        return x > 0 ? x : 0;
    case ACT_GELU:
        return x * 0.5 * (1 + erf(x / sqrt(2)));
    case ACT_SILU:
        return x / (1 + exp(-x));
    case ACT_SOFTPLUS:
        return x > 30 ? x : log1p(exp(x));
    case ACT_TANH:
        return tanh(x);
    case ACT_SIGMOID:
        return 1 / (1 + exp(-x));
    case ACT_EXP:
        return exp(x);
    case ACT_LOG:
        return log(x);
    default:
        return x;
    }
}

static const float points[] = {-1e30f, -100,     -88,    -80,     -20, -5,    -2.5f, -1,   -0.3f,
                               -0.1f,  -0.0999f, -1e-3f, -1e-20f, 0,   1e-8f, 1e-3f, 0.1f, 0.5f,
                               0.999f, 1.7f,     3,      8,       30,  80,    88.5f, 1e3f};
enum { POINTS = sizeof points / sizeof points[0] };

static void activation_values_are_as_computed_by_hand(void **state) {
    (void)state;
    for (activation act = ACT_NONE; act < ACT_COUNT; act++) {
        params p;
        gradient_params(&p, 0, 1, (const uint32_t[][2]){{1, POINTS}});
        for (int i = 0; i < POINTS; i++) p.values[i] = act == ACT_LOG ? fabsf(points[i]) + 1e-10f : points[i];
        float *y = gradient_forward(&p, TAPE_INFER, activate, &act);
        for (int i = 0; i < POINTS; i++) {
            double right = expected(act, p.values[i]);
            double close = act == ACT_GELU ? 4e-7 * fmax(1, fabs((double)p.values[i])) : 4e-7 * fabs(right) + 1e-37;
            if (right > 3.4e38) {
                assert_true(isinf(y[i]));
                continue;
            }
            if (!(fabs(y[i] - right) <= close))
                fail_msg("activation %d of %g is %.9g, not %.9g", (int)act, (double)p.values[i], (double)y[i], right);
        }
        free(y);
        params_free(&p);
    }
}

static void nan_stays_nan(void **state) {
    (void)state;
    for (activation act = ACT_GELU; act < ACT_COUNT; act++) {
        params p;
        gradient_params(&p, 0, 1, (const uint32_t[][2]){{1, 1}});
        p.values[0] = NAN;
        float *y = gradient_forward(&p, TAPE_INFER, activate, &act);
        assert_true(isnan(y[0]));
        free(y);
        params_free(&p);
    }
}

static void activation_gradients_match_finite_differences(void **state) {
    (void)state;
    for (activation act = ACT_RELU; act < ACT_COUNT; act++) {
        params p;
        gradient_params(&p, 0, 1, (const uint32_t[][2]){{3, 13}});
        for (size_t i = 0; i < p.total_count; i++) { /* away from the kink of relu and the pole of log */
            float x = p.values[i] * 3;
            p.values[i] = act == ACT_LOG ? 0.5f + fabsf(x) : fabsf(x) < 0.1f ? 0.1f : x;
        }
        gradient_check(&p, activate, &act, 1e-3);
    }
}

static void activation_reports_failed_allocations(void **state) {
    (void)state;
    activation act = ACT_TANH;
    params p;
    gradient_params(&p, 0, 1, (const uint32_t[][2]){{3, 13}});
    gradient_check_memory(&p, activate, &act);
}

/* --- Softmax ------------------------------------------------------------------------------------------------- */

static tensor *softmax(tape *t, const void *user) {
    (void)user;
    return nn_softmax(t, tape_param(t, 0));
}

static void softmax_gradients_match_finite_differences(void **state) {
    (void)state;
    params p;
    gradient_params(&p, 0, 1, (const uint32_t[][2]){{4, 11}});
    gradient_check(&p, softmax, NULL, 1e-3);
    gradient_params(&p, 0, 1, (const uint32_t[][2]){{4, 11}});
    gradient_check_memory(&p, softmax, NULL);
}

static void softmax_values_are_as_computed_by_hand(void **state) {
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

static tensor *smooth_max(tape *t, const void *user) {
    return nn_smooth_max(t, tape_param(t, 0), *(const float *)user);
}

static void test_smooth_max_gradients(void **state) {
    (void)state;
    static const float sharpness[] = {0.5f, 1, 4};
    params p;
    for (size_t i = 0; i < 3; i++) {
        gradient_params(&p, 0, 1, (const uint32_t[][2]){{4, 9}});
        gradient_check(&p, smooth_max, &sharpness[i], 1e-3);
    }
    gradient_params(&p, 0, 1, (const uint32_t[][2]){{4, 9}});
    gradient_check_memory(&p, smooth_max, &sharpness[1]);
}

static void test_smooth_max_values(void **state) {
    (void)state;
    const float sharpness = 2;
    params p;
    gradient_params(&p, 0, 1, (const uint32_t[][2]){{3, 2}});
    memcpy(p.values, (float[]){0, 0, 1000, -1000, 1, 2}, 6 * sizeof(float));
    float *y = gradient_forward(&p, TAPE_INFER, smooth_max, &sharpness);
    assert_float_equal(y[0], log(2) / 2, 1e-6); /* two equal ones */
    assert_float_equal(y[1], 1000, 1e-6);       /* one alone */
    assert_float_equal(y[2], log(exp(2) + exp(4)) / 2, 1e-6);
    free(y);
    params_free(&p);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(activation_values_are_as_computed_by_hand),
        cmocka_unit_test(nan_stays_nan),
        cmocka_unit_test(activation_gradients_match_finite_differences),
        cmocka_unit_test(activation_reports_failed_allocations),
        cmocka_unit_test(softmax_gradients_match_finite_differences),
        cmocka_unit_test(softmax_values_are_as_computed_by_hand),
        cmocka_unit_test(test_smooth_max_gradients),
        cmocka_unit_test(test_smooth_max_values),
    };
    return cmocka_run_group_tests_name("nn/activation", tests, NULL, NULL);
}
