/* Tests of activations: values beside libm, gradients beside differences. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>

#include "support/gradient.h"

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

static void test_values(void **state) {
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

static void test_not_a_number_stays(void **state) {
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

static void test_gradients(void **state) {
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

static void test_memory(void **state) {
    (void)state;
    activation act = ACT_TANH;
    params p;
    gradient_params(&p, 0, 1, (const uint32_t[][2]){{3, 13}});
    gradient_check_memory(&p, activate, &act);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_not_a_number_stays),
        cmocka_unit_test(test_gradients),
        cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests_name("nn/activation", tests, NULL, NULL);
}
