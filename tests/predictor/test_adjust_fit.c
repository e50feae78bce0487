/* Fitting corrections: medians, ridge regression and outliers, against values computed by hand. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "predictor/core/adjust_fit.h"

enum { MAX_CASES = 8 };

/* One measurement of a model with one piece and one term, whose time by the model is 1. */
typedef struct measurement {
    double log_measured, weight, flag;
} measurement;

/* Fits a correction with one flag of the setting; weights are bias, term, flag. */
static void fit_scale(const measurement *items, uint32_t count, double *bias, double *flag) {
    static double one = 1;
    adjustment *a = NULL;
    adjust_case cases[MAX_CASES];
    const adjust_case *list[MAX_CASES];
    double scaled[MAX_CASES], misfit = 1;
    assert_int_equal(adjust_new(0, NULL, 1, 0, 1, &a, NULL), FT_OK);
    for (uint32_t i = 0; i < count; i++) {
        scaled[i] = items[i].flag;
        cases[i] = (adjust_case){items[i].log_measured, items[i].weight, 1, 1, &one, &one, &scaled[i]};
        list[i] = &cases[i];
    }
    assert_int_equal(adjust_fit(a, ADJUST_SCALE, list, count, &misfit, NULL), FT_OK);
    assert_true(misfit == 0);
    *bias = a->weights[0];
    *flag = a->weights[2];
    adjust_free(a);
}

static bool is_near(double value, double expected) {
    return fabs(value - expected) < 2e-5;
}

/* Below ADJUST_MIN_REFIT measurements the bias is the median of log(measured / predicted). */
static void few_measurements_give_the_median(void **state) {
    (void)state;
    const measurement items[] = {{0.4, 1, 1}, {-0.2, 1, 0}, {0.1, 1, 0}, {3, 1, 1}};
    double bias, flag;
    fit_scale(items, 1, &bias, &flag);
    assert_true(is_near(bias, 0.4) && flag == 0);
    fit_scale(items, 2, &bias, &flag);
    assert_true(is_near(bias, 0.1) && flag == 0);
    fit_scale(items, 3, &bias, &flag);
    assert_true(is_near(bias, 0.1) && flag == 0);
    fit_scale(items, 4, &bias, &flag);
    assert_true(is_near(bias, 0.25) && flag == 0);
}

/* Means 0.12 without and 0.52 with the flag, the median of all is 0.32. With noise 0.0004 and prior variances 0.1 of
 * the bias b around the median and 0.03 of the flag w around 0: 7500 (0.12 - b) + 7500 (0.52 - b - w) = 10 (b - 0.32),
 * 7500 (0.52 - b - w) = w / 0.03 */
static void bias_and_flag_are_a_ridge_regression(void **state) {
    (void)state;
    const measurement items[] = {{0.10, 1, 0}, {0.12, 1, 0}, {0.14, 1, 0}, {0.50, 1, 1}, {0.52, 1, 1}, {0.54, 1, 1}};
    double bias, flag;
    fit_scale(items, 6, &bias, &flag);
    assert_true(is_near(bias, 0.1220249) && is_near(flag, 0.3962141));
}

/* Half the weight of those with the flag: 3750 instead of 7500 for them. */
static void weights_of_cases_count(void **state) {
    (void)state;
    const measurement items[] = {{0.10, 1, 0},   {0.12, 1, 0},   {0.14, 1, 0},
                                 {0.50, 0.5, 1}, {0.52, 0.5, 1}, {0.54, 0.5, 1}};
    double bias, flag;
    fit_scale(items, 6, &bias, &flag);
    assert_true(is_near(bias, 0.1220172) && is_near(flag, 0.3944763));
}

/* An outlier at 0.42 pulls like a residual of two deviations of the noise, 0.04, however far it is:
 *     7500 (0.12 - b) + 0.04 / 0.0004 + 7500 (0.52 - b - w) = 10 (b - 0.42) */
static void outliers_pull_by_two_deviations(void **state) {
    (void)state;
    const measurement items[] = {{0.10, 1, 0}, {0.12, 1, 0}, {0.14, 1, 0}, {0.42, 1, 0},
                                 {0.50, 1, 1}, {0.52, 1, 1}, {0.54, 1, 1}};
    double bias, flag;
    fit_scale(items, 7, &bias, &flag);
    assert_true(fabs(bias - 0.1354145) < 2e-4 && fabs(flag - 0.3828838) < 2e-4);
}

/* Sizes 1, 3 and 5, 7: mean 4, deviation sqrt(5); a size that is always 2 has no deviation and is scaled to 0. */
static void sizes_are_standardised_over_all_rows(void **state) {
    (void)state;
    const float first[] = {1, 2, 3, 2}, second[] = {5, 2, 7, 2};
    const explanation made_of[] = {{.row_count = 2, .features = first}, {.row_count = 2, .features = second}};
    adjustment *a = NULL;
    double scaled[2];
    assert_int_equal(adjust_new(0, NULL, 1, 2, 2, &a, NULL), FT_OK);
    adjust_fit_scaling(a, made_of, 2);
    assert_true(is_near((double)a->mean[0], 4) && is_near((double)a->inverse[0], 1 / sqrt(5)));
    assert_true(is_near((double)a->mean[1], 2) && a->inverse[1] == 0);
    adjust_scale(a, second, scaled);
    assert_true(is_near(scaled[0], 1 / sqrt(5)) && scaled[1] == 0);
    const float far[] = {1000, 3}, negative[] = {-1000, 3};
    adjust_scale(a, far, scaled);
    assert_true(scaled[0] == 5);
    adjust_scale(a, negative, scaled);
    assert_true(scaled[0] == -5);
    adjust_free(a);
}

/* exp(bias + feature weight * feature) * exp(term weight) for each term, the logarithms bounded by 8. */
static void corrections_multiply_terms(void **state) {
    (void)state;
    const double terms[] = {10, 100}, scaled[] = {2};
    double factors[ADJUST_MAX_TERMS], times[2];
    adjustment *a = NULL;
    assert_int_equal(adjust_new(0, NULL, 2, 0, 1, &a, NULL), FT_OK);
    a->weights[0] = 0.5F;
    a->weights[1] = 1;
    a->weights[2] = -9;
    a->weights[3] = 0.25F;
    adjust_factors(a, factors);
    assert_true(is_near(factors[0], exp(1)) && is_near(factors[1], exp(-8)));
    double sum = adjust_row(a, factors, terms, scaled, times);
    assert_true(is_near(times[0] / (10 * exp(2)), 1) && is_near(times[1] / (100 * exp(-7)), 1));
    assert_true(sum == times[0] + times[1]);
    adjust_free(a);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(few_measurements_give_the_median),
                                       cmocka_unit_test(bias_and_flag_are_a_ridge_regression),
                                       cmocka_unit_test(weights_of_cases_count),
                                       cmocka_unit_test(outliers_pull_by_two_deviations),
                                       cmocka_unit_test(sizes_are_standardised_over_all_rows),
                                       cmocka_unit_test(corrections_multiply_terms)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
