/* Tests of conformal quantiles (rank, devices, pooling of few rows, coverage on new rows) and of the bootstrap. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>

#include "base/rng.h"
#include "learn/score/intervals.h"
#include "support/failing.h"

static void calibration_quantile_is_a_rank(void **state) {
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

static void calibration_devices_have_their_own(void **state) {
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

static void calibration_few_rows_share(void **state) {
    (void)state;
    enum { MANY = 200, FEW = CALIBRATE_MIN_ROWS - 1 };
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

static void calibration_exact_predictions_keep_an_interval(void **state) {
    (void)state;
    calibrate_row row = make_row(0, 0, 0.1);
    double q90 = 0;
    ft_error error;
    assert_int_equal(calibrate(&row, 1, 1, &q90, &error), FT_OK);
    assert_true(q90 == 1e-6);
}

/* The 47th of 50 scores, ceil(51 * 0.905): from CALIBRATE_MIN_ROWS on, a device has its own quantile. */
static void calibration_enough_rows_stand_alone(void **state) {
    (void)state;
    calibrate_row rows[2 * CALIBRATE_MIN_ROWS];
    for (uint32_t i = 0; i < CALIBRATE_MIN_ROWS; i++) {
        rows[i] = make_row(0, -0.01 * (i + 1), 1);
        rows[CALIBRATE_MIN_ROWS + i] = make_row(1, 5, 2);
    }
    double q90[2];
    ft_error error;
    assert_int_equal(CALIBRATE_MIN_ROWS, 50);
    assert_int_equal(calibrate(rows, 2 * CALIBRATE_MIN_ROWS, 2, q90, &error), FT_OK);
    assert_true(fabs(q90[0] - 0.47) < 1e-12);
    assert_true(fabs(q90[1] - 2.5) < 1e-12);
}

/* Of 9 rows the rank ceil((n + 1) * 0.905) exceeds n: the largest score. Of 10 rows it is the tenth of ten, too; of
 * 20 rows the 20th, ceil(19.005), and of 21 the 20th, ceil(19.91). */
static void calibration_of_few_rows_takes_the_largest(void **state) {
    (void)state;
    calibrate_row rows[21];
    ft_error error;
    for (uint32_t i = 0; i < 21; i++) rows[i] = make_row(0, 0.01 * (i + 1), 1);
    for (uint32_t n = 9; n <= 21; n++) {
        double q90, rank = n < 21 ? n : 20;
        if (n > 10 && n < 20) continue;
        assert_int_equal(calibrate(rows, n, 1, &q90, &error), FT_OK);
        assert_true(fabs(q90 - 0.01 * rank) < 1e-12);
    }
}

/* The largest of a few scores covers too little: intervals from three to eight rows cover nine of ten new ones. */
static void calibration_of_fewer_than_nine_covers(void **state) {
    (void)state;
    enum { DRAWS = 4000 };
    rng r;
    ft_error error;
    rng_init(&r, 3, 0);
    for (uint32_t n = 2; n <= 8; n++) {
        uint32_t covered = 0;
        for (uint32_t i = 0; i < DRAWS; i++) {
            calibrate_row rows[8];
            double q90;
            for (uint32_t k = 0; k < n; k++) rows[k] = make_row(0, 0.1 * rng_normal(&r), 1);
            assert_int_equal(calibrate(rows, n, 1, &q90, &error), FT_OK);
            covered += fabs(0.1 * rng_normal(&r)) <= q90;
        }
        if (covered < 0.89 * DRAWS) fail_msg("%u rows: %u of %d", n, covered, DRAWS);
    }
}

/* Normal errors, and those of which one in twelve is large: intervals of few scores hold about 90 %. */
static void few_scores_cover(void **state) {
    (void)state;
    enum { DRAWS = 4000 };
    rng r;
    rng_init(&r, 4, 0);
    for (uint32_t n = 9; n < 30; n += 4) {
        for (uint32_t has_outliers = 0; has_outliers < 2; has_outliers++) {
            uint32_t covered = 0;
            for (uint32_t i = 0; i < DRAWS; i++) {
                interval_score scores[30];
                for (uint32_t k = 0; k <= n; k++) {
                    double scale = has_outliers != 0 && rng_below(&r, 12) == 0 ? 10 : 1;
                    scores[k] = (interval_score){fabs(scale * rng_normal(&r)), 1};
                }
                double next = scores[n].value;
                covered += next <= interval_quantile(scores, n, 0);
            }
            double share = (double)covered / DRAWS;
            if (share < 0.86 || share > 0.94) fail_msg("%u scores: %g", n, share);
        }
    }
}

static void calibration_bad_rows_are_refused(void **state) {
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
    calibrate(&bad[2], 1, 1, &q90, &error);
    assert_string_equal(error.message,
                        "calibration: predicted -1 with spread 1, measured 1: values and spreads must be positive");
    assert_int_equal(calibrate(bad, 0, 1, &q90, &error), FT_ERR_INTERNAL);
    assert_float_equal(q90, 7, 0);
}

/* Errors that grow with a spread which the predictor knows: the promise holds for the narrow and the wide half. */
static void calibration_new_rows_are_covered(void **state) {
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

static void calibration_no_memory(void **state) {
    (void)state;
    calibrate_row row = make_row(0, 0.1, 0.1);
    double q90;
    failing_start(0);
    ft_status status = calibrate(&row, 1, 1, &q90, NULL);
    assert_true(failing_stop());
    assert_int_equal(status, FT_ERR_NOMEM);
}

enum { VALUES = 400 };

static bootstrap_result resample(const double *values, const uint32_t *groups, uint32_t group_count, uint64_t seed) {
    bootstrap_result result;
    ft_error error;
    assert_int_equal(bootstrap(values, groups, group_count, seed, 3, &result, &error), FT_OK);
    return result;
}

/* Of 400 normal values with deviation 1, the mean is known to +-1.96 / 20. */
static void bootstrap_width_is_that_of_the_normal_approximation(void **state) {
    (void)state;
    double values[VALUES], sum = 0;
    rng generator;
    rng_init(&generator, 5, 0);
    for (int i = 0; i < VALUES; i++) sum += values[i] = 2 + rng_normal(&generator);
    const uint32_t group = VALUES;
    bootstrap_result r = resample(values, &group, 1, 1);
    assert_true(fabs(r.mean - sum / VALUES) < 1e-12);
    assert_true(fabs((r.mean - r.lo) - 0.098) < 0.015 && fabs((r.hi - r.mean) - 0.098) < 0.015);
}

static void bootstrap_repeats_for_a_seed(void **state) {
    (void)state;
    const double values[] = {1, 5, 2, 8, 3, 9};
    const uint32_t group = 6;
    bootstrap_result a = resample(values, &group, 1, 1), b = resample(values, &group, 1, 1),
                     c = resample(values, &group, 1, 2);
    assert_true(a.lo == b.lo && a.hi == b.hi && a.mean == b.mean);
    assert_true(a.lo != c.lo || a.hi != c.hi);
}

/* Resamples repeated here: 1000 of them, whose 26th smallest and 26th largest means end the interval. */
static void bootstrap_ends_are_quantiles_of_the_means(void **state) {
    (void)state;
    enum { DRAWS = 1000 };
    const double values[] = {1, 5, 2, 8, 10, 30};
    const uint32_t groups[] = {4, 2};
    double means[DRAWS];
    uint32_t below = 0, above = 0, at_lo = 0, at_hi = 0;
    rng random;
    rng_init(&random, 7, 3);
    for (uint32_t i = 0; i < DRAWS; i++) {
        double first = 0, second = 0;
        for (uint32_t k = 0; k < 4; k++) first += values[rng_below(&random, 4)];
        for (uint32_t k = 0; k < 2; k++) second += values[4 + rng_below(&random, 2)];
        means[i] = (first / 4 + second / 2) / 2;
    }
    bootstrap_result r = resample(values, groups, 2, 7);
    assert_true(r.mean == (4.0 + 20) / 2);
    for (uint32_t i = 0; i < DRAWS; i++) {
        below += means[i] < r.lo;
        at_lo += means[i] == r.lo;
        above += means[i] > r.hi;
        at_hi += means[i] == r.hi;
    }
    assert_true(below <= 25 && below + at_lo > 25);
    assert_true(above <= 25 && above + at_hi > 25);
}

/* Groups weigh the same, however large; within groups that are all the same, there is nothing to be unsure of. */
static void bootstrap_groups_weigh_the_same(void **state) {
    (void)state;
    const double values[] = {1, 1, 1, 1, 3};
    const uint32_t groups[] = {4, 1};
    bootstrap_result r = resample(values, groups, 2, 1);
    assert_true(r.mean == 2 && r.lo == 2 && r.hi == 2);
}

static void bootstrap_reports_lack_of_memory(void **state) {
    (void)state;
    const double value = 1;
    const uint32_t group = 1;
    bootstrap_result r;
    ft_error error;
    failing_start(0);
    ft_status status = bootstrap(&value, &group, 1, 1, 1, &r, &error);
    assert_true(failing_stop());
    assert_int_equal(status, FT_ERR_NOMEM);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calibration_quantile_is_a_rank),
        cmocka_unit_test(calibration_devices_have_their_own),
        cmocka_unit_test(calibration_few_rows_share),
        cmocka_unit_test(calibration_exact_predictions_keep_an_interval),
        cmocka_unit_test(calibration_enough_rows_stand_alone),
        cmocka_unit_test(calibration_of_few_rows_takes_the_largest),
        cmocka_unit_test(calibration_of_fewer_than_nine_covers),
        cmocka_unit_test(few_scores_cover),
        cmocka_unit_test(calibration_bad_rows_are_refused),
        cmocka_unit_test(calibration_new_rows_are_covered),
        cmocka_unit_test(calibration_no_memory),
        cmocka_unit_test(bootstrap_width_is_that_of_the_normal_approximation),
        cmocka_unit_test(bootstrap_repeats_for_a_seed),
        cmocka_unit_test(bootstrap_ends_are_quantiles_of_the_means),
        cmocka_unit_test(bootstrap_groups_weigh_the_same),
        cmocka_unit_test(bootstrap_reports_lack_of_memory),
    };
    return cmocka_run_group_tests_name("learn/intervals", tests, NULL, NULL);
}
