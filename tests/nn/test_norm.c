/* Tests of layer norm, batch norm and L2 norm. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>

#include "nn/layer.h"
#include "nn/parallel.h"
#include "support/gradient.h"

/* --- Layer norm ---------------------------------------------------------------------------------------------- */

static tensor *norm(tape *t, const void *user) {
    (void)user;
    return nn_layer_norm(t, tape_param(t, 0), tape_param(t, 1), tape_param(t, 2));
}

static void layer_norm_gradients_match_finite_differences(void **state) {
    (void)state;
    params p;
    gradient_params(&p, 0.3f, 3, (const uint32_t[][2]){{4, 11}, {1, 11}, {1, 11}});
    gradient_check(&p, norm, NULL, 1e-3);
}

static void layer_norm_values_are_as_computed_by_hand(void **state) {
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

/* --- Batch norm ---------------------------------------------------------------------------------------------- */

typedef struct net {
    params p;
    param_id x;
    layer_batch_norm norm;
} net;

static void make(net *n, uint32_t rows, uint32_t cols, bool is_affine) {
    params_init(&n->p);
    n->x = params_add(&n->p, rows, cols, PARAM_NORMAL, "x");
    n->norm = layer_batch_norm_add(&n->p, "norm", cols, is_affine);
    assert_int_equal(params_finish(&n->p, 3, NULL), FT_OK);
    if (!is_affine) return;
    for (uint32_t i = 0; i < cols; i++) params_values(&n->p, n->norm.gain)[i] = 0.5f + (float)i / 4;
}

static tensor *forward(tape *t, const void *user) {
    const net *n = user;
    return layer_batch_norm_apply(t, &n->norm, tape_param(t, n->x));
}

static void batch_norm_gradients_match_finite_differences(void **state) {
    (void)state;
    for (int affine = 0; affine < 2; affine++) {
        net n;
        make(&n, 7, 3, affine);
        gradient_check_train_only(&n.p, forward, &n, 1e-3);
    }
}

static void test_statistics_of_the_batch(void **state) {
    (void)state;
    net n;
    make(&n, 50, 2, false);
    for (int i = 0; i < 100; i++) n.p.values[i] = n.p.values[i] * 3 + 10;
    float *y = gradient_forward(&n.p, TAPE_TRAIN, forward, &n);
    for (int c = 0; c < 2; c++) {
        double sum = 0, square = 0;
        for (int i = c; i < 100; i += 2) {
            sum += y[i];
            square += y[i] * y[i];
        }
        assert_float_equal(sum / 50, 0, 1e-5);
        assert_float_equal(square / 50, 1, 1e-4);
    }
    free(y);
    params_free(&n.p);
}

static tensor *loss(void *user, tape *t, uint32_t part) {
    (void)part;
    return nn_sum(t, forward(t, user));
}

/* Running values go a tenth of the way with each step, whatever the number of parts; inference uses them. */
static void test_running_statistics(void **state) {
    (void)state;
    net n;
    parallel *p = NULL;
    make(&n, 4, 1, false);
    const float x[4] = {1, 2, 3, 6}; /* mean 3, variance of a sample 14 / 3 */
    for (int i = 0; i < 4; i++) n.p.values[i] = x[i];
    assert_int_equal(parallel_new(&n.p, 3, NULL, 1 << 20, &p, NULL), FT_OK);
    double mean = 0, variance = 1, total;
    for (uint32_t parts = 1; parts < 9; parts += 3) {
        assert_int_equal(parallel_train(p, parts, loss, &n, 0, &total, NULL), FT_OK);
        parallel_update_state(p, n.p.values);
        mean += 0.1 * (3 - mean);
        variance += 0.1 * (14.0 / 3 - variance);
        assert_float_equal(params_values(&n.p, n.norm.mean)[0], mean, 1e-5);
        assert_float_equal(params_values(&n.p, n.norm.variance)[0], variance, 1e-5);
    }
    float *y = gradient_forward(&n.p, TAPE_INFER, forward, &n);
    for (int i = 0; i < 4; i++) assert_float_equal(y[i], (x[i] - mean) / sqrt(variance + 1e-5), 1e-5);
    free(y);
    parallel_free(p);
    gradient_check_memory(&n.p, forward, &n);
}

/* --- L2 norm ------------------------------------------------------------------------------------------------- */

static tensor *unit(tape *t, const void *user) {
    (void)user;
    return nn_l2_normalize(t, tape_param(t, 0));
}

static void l2_norm_gradients_match_finite_differences(void **state) {
    (void)state;
    params p;
    gradient_params(&p, 0, 1, (const uint32_t[][2]){{4, 11}});
    gradient_check(&p, unit, NULL, 1e-3);
}

static void l2_norm_values_are_as_computed_by_hand(void **state) {
    (void)state;
    params p;
    gradient_params(&p, 0, 1, (const uint32_t[][2]){{3, 2}});
    const float x[] = {3, -4, 0, 0, 1e-9f, 0}, expected[] = {0.6f, -0.8f, 0, 0, 1e-3f, 0};
    for (int i = 0; i < 6; i++) p.values[i] = x[i];
    float *y = gradient_forward(&p, TAPE_INFER, unit, NULL);
    for (int i = 0; i < 6; i++) assert_float_equal(y[i], expected[i], 1e-6);
    free(y);
    gradient_check_memory(&p, unit, NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layer_norm_gradients_match_finite_differences),
        cmocka_unit_test(layer_norm_values_are_as_computed_by_hand),
        cmocka_unit_test(batch_norm_gradients_match_finite_differences),
        cmocka_unit_test(test_statistics_of_the_batch),
        cmocka_unit_test(test_running_statistics),
        cmocka_unit_test(l2_norm_gradients_match_finite_differences),
        cmocka_unit_test(l2_norm_values_are_as_computed_by_hand),
    };
    return cmocka_run_group_tests_name("nn/norm", tests, NULL, NULL);
}
