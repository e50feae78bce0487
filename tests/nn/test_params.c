/* Tests of parameters and of blocks of floats. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "nn/params.h"
#include "support/failing.h"

/* --- Params -------------------------------------------------------------------------------------------------- */

static void test_layout(void **state) {
    (void)state;
    params p;
    params_init(&p);
    param_id w = params_add(&p, 4, 3, PARAM_XAVIER, "layer%d.weight", 1);
    param_id mean = params_add_state(&p, 1, 3, PARAM_ZEROS, "mean");
    param_id gain = params_add(&p, 1, 3, PARAM_ONES, "gain");
    assert_int_equal(params_finish(&p, 5, NULL), FT_OK);
    assert_int_equal(p.trained_count, 15);
    assert_int_equal(p.total_count, 18);
    assert_int_equal(p.items[w].offset, 0);
    assert_int_equal(p.items[gain].offset, 12);
    assert_int_equal(p.items[mean].offset, 15); /* state is last */
    assert_true(params_values(&p, gain)[2] == 1 && params_values(&p, mean)[2] == 0);
    assert_ptr_equal(params_find(&p, "layer1.weight"), &p.items[w]);
    assert_null(params_find(&p, "layer1"));
    params_free(&p);
    params_free(NULL);
}

static void test_initial_values(void **state) {
    (void)state;
    params p;
    params_init(&p);
    param_id x = params_add(&p, 50, 40, PARAM_XAVIER, "x"), f = params_add(&p, 100, 20, PARAM_FAN_IN, "f");
    param_id n = params_add(&p, 50, 40, PARAM_NORMAL, "n");
    assert_int_equal(params_finish(&p, 5, NULL), FT_OK);
    float most_x = 0, most_f = 0;
    double square = 0;
    for (int i = 0; i < 2000; i++) {
        most_x = fmaxf(most_x, fabsf(params_values(&p, x)[i]));
        most_f = fmaxf(most_f, fabsf(params_values(&p, f)[i]));
        square += pow(params_values(&p, n)[i], 2);
    }
    assert_true(most_x <= sqrtf(6.0f / 90) && most_x > 0.95f * sqrtf(6.0f / 90));
    assert_true(most_f <= 0.1f && most_f > 0.095f);
    assert_true(fabs(square / 2000 - 1) < 0.15);
    params_free(&p);
}

/* Initial values depend on seed and name, not on other parameters. */
static void test_order_does_not_matter(void **state) {
    (void)state;
    params p, q;
    params_init(&p);
    params_init(&q);
    param_id a = params_add(&p, 3, 3, PARAM_NORMAL, "a"), b = params_add(&p, 2, 2, PARAM_NORMAL, "b");
    param_id b2 = params_add(&q, 2, 2, PARAM_NORMAL, "b"), a2 = params_add(&q, 3, 3, PARAM_NORMAL, "a");
    assert_int_equal(params_finish(&p, 7, NULL), FT_OK);
    assert_int_equal(params_finish(&q, 7, NULL), FT_OK);
    assert_memory_equal(params_values(&p, a), params_values(&q, a2), 9 * sizeof(float));
    assert_memory_equal(params_values(&p, b), params_values(&q, b2), 4 * sizeof(float));
    params_initialize(&q, 8);
    assert_memory_not_equal(params_values(&p, a), params_values(&q, a2), 9 * sizeof(float));
    params_free(&p);
    params_free(&q);
}

static ft_status build(void) {
    params p;
    params_init(&p);
    for (int i = 0; i < 70; i++) params_add(&p, 2, 2, PARAM_ZEROS, "p%d", i);
    ft_status status = params_finish(&p, 1, NULL);
    params_free(&p);
    return status;
}

static void test_out_of_memory(void **state) {
    (void)state;
    for (long n = 0;; n++) {
        failing_start(n);
        ft_status status = build();
        if (!failing_stop()) {
            assert_int_equal(status, FT_OK);
            assert_true(n > 3);
            break;
        }
        assert_int_equal(status, FT_ERR_NOMEM);
    }
    params p;
    params_init(&p);
    params_add(&p, UINT32_MAX, UINT32_MAX, PARAM_ZEROS, "large");
    assert_int_equal(params_finish(&p, 1, NULL), FT_ERR_NOMEM);
    params_free(&p);
}

/* For values that are read from a file. */
static void test_zeroed(void **state) {
    (void)state;
    params p;
    params_init(&p);
    param_id n = params_add(&p, 5, 4, PARAM_NORMAL, "n"), gain = params_add(&p, 1, 3, PARAM_ONES, "gain");
    assert_int_equal(params_finish(&p, PARAMS_ZEROED, NULL), FT_OK);
    assert_int_equal(p.total_count, 23);
    for (int i = 0; i < 20; i++) assert_true(params_values(&p, n)[i] == 0);
    assert_true(params_values(&p, gain)[2] == 0);
    params_free(&p);
}

/* --- Block --------------------------------------------------------------------------------------------------- */

static void test_norm_and_clip(void **state) {
    (void)state;
    float x[3000];
    for (int i = 0; i < 3000; i++) x[i] = i % 2 ? 2 : -2;
    double norm = 2 * sqrt(3000.0);
    assert_float_equal(block_norm(x, 3000), norm, 1e-6);
    assert_float_equal(block_clip(x, 3000, 1000), norm, 1e-6);
    assert_true(x[0] == -2);
    assert_float_equal(block_clip(x, 3000, 0), norm, 1e-6);
    assert_true(x[0] == -2);
    assert_float_equal(block_clip(x, 3000, 10), norm, 1e-6);
    assert_float_equal(block_norm(x, 3000), 10, 1e-4);
    x[5] = INFINITY;
    assert_true(isinf(block_clip(x, 3000, 10)));
    assert_true(isfinite(x[0]) && x[0] != 0);
    assert_true(block_norm(x, 0) == 0);
}

static void test_average(void **state) {
    (void)state;
    float average[9] = {0}, x[9];
    for (int i = 0; i < 9; i++) x[i] = (float)i;
    for (int i = 0; i < 3; i++) block_average(average, x, 9, 0.5);
    for (int i = 0; i < 9; i++) assert_float_equal(average[i], 0.875 * i, 1e-6);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_layout),        cmocka_unit_test(test_initial_values),
        cmocka_unit_test(test_zeroed),        cmocka_unit_test(test_order_does_not_matter),
        cmocka_unit_test(test_out_of_memory), cmocka_unit_test(test_norm_and_clip),
        cmocka_unit_test(test_average),
    };
    return cmocka_run_group_tests_name("nn/params", tests, NULL, NULL);
}
