/* Tests of conformal quantiles: the right rank, devices apart, too few rows together, coverage on new rows. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>

#include "base/rng.h"
#include "learn/score/calibrate.h"
#include "support/failing.h"

static void test_quantile_is_a_rank(void **state) {
    (void)state;
    double scores[200];
    for (uint32_t n = 1; n <= 200; n++) {
        for (uint32_t i = 0; i < n; i++) scores[i] = n - i; /* 1 to n, the wrong way round */
        uint32_t rank = (9 * (n + 1) + 9) / 10;             /* ceil, in whole numbers */
        assert_float_equal(calibrate_quantile(scores, n, 0.9), rank < n ? rank : n, 0);
    }
}

static calibrate_row make_row(uint32_t device, double error, double spread) {
    return (calibrate_row){.device = device, .measured = 10 * exp(error), .predicted = 10, .spread = spread};
}

static void test_devices_have_their_own(void **state) {
    (void)state;
    enum { COUNT = 99 };
    calibrate_row rows[2 * COUNT];
    for (uint32_t i = 0; i < COUNT; i++) {
        rows[2 * i] = make_row(0, (i % 2 != 0 ? -1e-3 : 1e-3) * (i + 1), 1);
        rows[2 * i + 1] = make_row(1, (i + 1) * 1e-2, 0.5);
    }
    double q90[2];
    ft_error error;
    assert_int_equal(calibrate(rows, 2 * COUNT, 2, q90, &error), FT_OK);
    assert_float_equal(q90[0], 0.091, 1e-9); /* 0.905 * 100, rounded up */
    assert_float_equal(q90[1], 1.82, 1e-9);
}

static void test_few_rows_share(void **state) {
    (void)state;
    enum { MANY = 200, FEW = CALIBRATE_LEAST_ROWS - 1 };
    calibrate_row rows[MANY + FEW];
    for (uint32_t i = 0; i < MANY; i++) rows[i] = make_row(0, 0.01, 1);
    for (uint32_t i = 0; i < FEW; i++) rows[MANY + i] = make_row(2, 0.5, 1);
    double q90[3];
    ft_error error;
    assert_int_equal(calibrate(rows, MANY + FEW, 3, q90, &error), FT_OK);
    assert_float_equal(q90[0], 0.01, 1e-9);
    assert_float_equal(q90[1], 0.5, 1e-9); /* no rows at all: that of all devices, of which a fifth is wide */
    assert_float_equal(q90[2], 0.5, 1e-9);
}

static void test_exact_predictions_keep_an_interval(void **state) {
    (void)state;
    calibrate_row row = make_row(0, 0, 0.1);
    double q90 = 0;
    ft_error error;
    assert_int_equal(calibrate(&row, 1, 1, &q90, &error), FT_OK);
    assert_true(q90 > 0 && q90 < 1e-3);
}

static void test_bad_rows_are_refused(void **state) {
    (void)state;
    const calibrate_row bad[] = {
        {.device = 1, .measured = 1, .predicted = 1, .spread = 1},
        {.measured = 0, .predicted = 1, .spread = 1},
        {.measured = 1, .predicted = -1, .spread = 1},
        {.measured = 1, .predicted = 1, .spread = 0},
        {.measured = 1, .predicted = (double)NAN, .spread = 1},
        {.measured = 1, .predicted = 1, .spread = (double)INFINITY},
    };
    double q90 = 7;
    ft_error error;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_int_equal(calibrate(&bad[i], 1, 1, &q90, &error), FT_ERR_INTERNAL);
    assert_int_equal(calibrate(bad, 0, 1, &q90, &error), FT_ERR_INTERNAL);
    assert_float_equal(q90, 7, 0);
}

/* Errors that grow with a spread which the predictor knows: the promise holds for the narrow and the wide half. */
static void test_new_rows_are_covered(void **state) {
    (void)state;
    enum { COUNT = 20000 };
    calibrate_row *rows = calloc(COUNT, sizeof *rows);
    rng r;
    rng_init(&r, 1, 0);
    for (uint32_t i = 0; i < COUNT; i++) {
        double spread = i % 2 != 0 ? 0.02 : 0.2;
        rows[i] = make_row(0, spread * rng_normal(&r), spread);
    }
    double q90;
    ft_error error;
    assert_int_equal(calibrate(rows, COUNT / 2, 1, &q90, &error), FT_OK);
    uint32_t inside[2] = {0};
    for (uint32_t i = COUNT / 2; i < COUNT; i++)
        inside[i % 2] += fabs(log(rows[i].measured / rows[i].predicted)) <= q90 * rows[i].spread;
    assert_in_range(inside[0], COUNT / 4 * 88 / 100, COUNT / 4 * 92 / 100);
    assert_in_range(inside[1], COUNT / 4 * 88 / 100, COUNT / 4 * 92 / 100);
    free(rows);
}

static void test_no_memory(void **state) {
    (void)state;
    calibrate_row row = make_row(0, 0.1, 0.1);
    double q90;
    failing_start(0);
    ft_status status = calibrate(&row, 1, 1, &q90, NULL);
    assert_true(failing_stop());
    assert_int_equal(status, FT_ERR_NOMEM);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_quantile_is_a_rank),
        cmocka_unit_test(test_devices_have_their_own),
        cmocka_unit_test(test_few_rows_share),
        cmocka_unit_test(test_exact_predictions_keep_an_interval),
        cmocka_unit_test(test_bad_rows_are_refused),
        cmocka_unit_test(test_new_rows_are_covered),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
