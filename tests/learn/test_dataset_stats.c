/* Tests of logarithmic histograms. test_extrapolation.c tests the statistics of data sets. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>

#include "learn/evaluate/dataset_stats.h"

static log_histogram *spread_new(void) {
    log_histogram *s = calloc(1, sizeof *s);
    assert_non_null(s);
    return s;
}

static void test_quantiles(void **state) {
    (void)state;
    log_histogram *s = spread_new();
    assert_true(isnan(log_histogram_quantile(s, 0.5)));
    for (int i = 1; i <= 1001; i++) log_histogram_add(s, i * 1e6);
    assert_true(log_histogram_quantile(s, 0) == 1e6);
    assert_true(log_histogram_quantile(s, 1) == 1001e6);
    const double shares[] = {0.05, 0.25, 0.5, 0.95};
    for (int i = 0; i < 4; i++) assert_float_equal(log_histogram_quantile(s, shares[i]) / (shares[i] * 1e9), 1, 0.03);
    free(s);
}

/* Small integers are exact, values that are not positive and finite are ignored, and no value is too large. */
static void test_numbers(void **state) {
    (void)state;
    log_histogram *s = spread_new();
    for (int i = 0; i < 7; i++) log_histogram_add(s, 3);
    log_histogram_add(s, 0);
    log_histogram_add(s, -1);
    log_histogram_add(s, NAN);
    log_histogram_add(s, INFINITY);
    assert_int_equal(s->count, 7);
    assert_true(log_histogram_quantile(s, 0.5) == 3);
    log_histogram_add(s, 1e300);
    log_histogram_add(s, 1e-300);
    assert_int_equal(s->count, 9);
    assert_true(s->max == 1e300 && s->min == 1e-300);
    free(s);
}

static void test_outside(void **state) {
    (void)state;
    log_histogram *known = spread_new(), *s = spread_new();
    assert_true(isnan(log_histogram_outside(s, known)));
    for (int i = 100; i <= 200; i++) log_histogram_add(known, i);
    for (int i = 0; i < 30; i++) log_histogram_add(s, 50);
    for (int i = 0; i < 60; i++) log_histogram_add(s, 150);
    for (int i = 0; i < 10; i++) log_histogram_add(s, 1000);
    assert_float_equal(log_histogram_outside(s, known), 0.4, 1e-9);
    assert_float_equal(log_histogram_share(s, 100, 200), 0.6, 1e-9);
    assert_true(log_histogram_outside(known, known) < 0.03);
    free(known);
    free(s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_quantiles),
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_outside),
    };
    return cmocka_run_group_tests_name("learn/dataset_stats", tests, NULL, NULL);
}
