/* Tests of the losses: values by hand, gradients against finite differences. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>

#include "support/gradient.h"

enum { N = 6 };

static const float target[N] = {1, 2, 0.5f, 4, 1.5f, 3}, weights[N] = {1, 2, 0, 0.5f, 1, 3};

static tensor *loss(tape *t, const void *user) {
    return nn_loss(t, tape_param(t, 0), target, user);
}

static void set(params *p) {
    const float x[N] = {1.5f, 0.8f, 0.8f, 6.5f, 1.4f, 3.2f};
    gradient_params(p, 0, 1, (const uint32_t[][2]){{N, 1}});
    for (int i = 0; i < N; i++) p->values[i] = x[i];
}

static void test_gradients(void **state) {
    (void)state;
    for (loss_kind kind = LOSS_MSE; kind < LOSS_COUNT; kind++) {
        params p;
        set(&p);
        gradient_check(&p, loss, &(loss_options){.kind = kind, .scale = 1.0f / N}, 1e-3);
        set(&p);
        loss_options weighted = {
            .kind = kind, .scale = 0.2f, .weights = weights, .delta = 0.35f, .mse_weight = 3, .mape_weight = 0.5f};
        gradient_check(&p, loss, &weighted, 1e-3);
    }
}

static void expect(loss_kind kind, double expected) {
    params p;
    set(&p);
    float *y = gradient_forward(&p, TAPE_INFER, loss, &(loss_options){.kind = kind, .scale = 1.0f / N});
    assert_float_equal(y[0], expected, 1e-5 * fmax(1, fabs(expected)));
    free(y);
    params_free(&p);
}

/* Errors: .5, -1.2, .3, 2.5, -.1, .2 */
static void test_values(void **state) {
    (void)state;
    double mse = (0.25 + 1.44 + 0.09 + 6.25 + 0.01 + 0.04) / N,
           mape = (0.5 + 0.6 + 0.6 + 0.625 + 0.2 / 3 + 0.2 / 3) / N;
    expect(LOSS_MSE, mse);
    expect(LOSS_MAE, 4.8 / N);
    expect(LOSS_HUBER, (0.125 + 0.7 + 0.045 + 2 + 0.005 + 0.02) / N);
    expect(LOSS_MAPE, mape);
    expect(LOSS_HYBRID, 1000 * mse + mape);
    expect(LOSS_RELATIVE, (0.25 + 0.36 + 0.36 + 0.390625 + 2 * 0.04 / 9) / N);
    double logs = 0;
    const double x[N] = {1.5, 0.8, 0.8, 6.5, 1.4, 3.2};
    for (int i = 0; i < N; i++) logs += pow(log(x[i] / target[i]), 2);
    expect(LOSS_LOG, logs / N);
}

static void test_weights(void **state) {
    (void)state;
    params p;
    set(&p);
    loss_options o = {.kind = LOSS_MAE, .scale = 1, .weights = weights};
    float *y = gradient_forward(&p, TAPE_INFER, loss, &o);
    assert_float_equal(y[0], 0.5 + 2.4 + 0 + 1.25 + 0.1 + 0.6, 1e-5);
    free(y);
    gradient_check_memory(&p, loss, &o);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gradients),
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_weights),
    };
    return cmocka_run_group_tests_name("nn/loss", tests, NULL, NULL);
}
