/* Tests of scores, with values that can be computed by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "learn/score/metrics.h"
#include "support/failing.h"

/* cmocka compares floats; these are doubles. */
#define assert_near(value, expected, most) assert_true(fabs((value) - (expected)) <= (most))

#define NONE ((double)NAN)
#define CASE(number, m, p, low, high)                                                                                  \
    { .record = (number), .measured = (m), .predicted = (p), .lo = (low), .hi = (high) }

static ft_score score_of(const ft_case *cases, uint32_t count) {
    ft_score score = {.device = "d", .family = "f", .metric = "m"};
    ft_error error;
    assert_int_equal(metrics_score(cases, count, &score, &error), FT_OK);
    assert_string_equal(score.device, "d");
    assert_int_equal(score.n, count);
    return score;
}

/* Relative errors +10 %, -5 %, +1 %, -20 %. */
static void test_by_hand(void **state) {
    (void)state;
    const ft_case cases[] = {CASE(0, 100, 110, 90, 130), CASE(1, 200, 190, 180, 199), CASE(2, 300, 303, 300, 310),
                             CASE(3, 50, 40, 30, 50)};
    ft_score s = score_of(cases, 4);
    assert_near(s.mape, 9, 1e-12);
    assert_near(s.rmspe, 100 * sqrt((0.01 + 0.0025 + 0.0001 + 0.04) / 4), 1e-12);
    assert_near(s.acc5, 50, 0);
    assert_near(s.acc10, 75, 0);
    assert_near(s.acc20, 100, 0);
    assert_near(s.rmse, sqrt((100 + 100 + 9 + 100) / 4.0), 1e-12);
    assert_near(s.spearman, 1, 1e-12);
    assert_near(s.kendall, 1, 1e-12);
    assert_near(s.coverage90, 75, 0); /* 200 is above 199; the ends belong to the interval */
    assert_near(s.width90, 100 * (0.4 + 19.0 / 200 + 10.0 / 300 + 0.4) / 4, 1e-12);
    assert_near(s.bias, (1.0 - 5.0) / 2, 1e-12);
}

/* Exactly 5 and 10 % are within, however the numbers round. */
static void test_limits_are_within(void **state) {
    (void)state;
    const ft_case at[] = {{.measured = 1, .predicted = 1.05},
                          {.measured = 3, .predicted = 3.15},
                          {.measured = 100, .predicted = 105},
                          {.measured = 1, .predicted = 0.95}};
    assert_near(score_of(at, 4).acc5, 100, 0);
    const ft_case above[] = {{.measured = 1, .predicted = 1.0500001}, {.measured = 1, .predicted = 1.1}};
    assert_near(score_of(above, 2).acc5, 0, 0);
    assert_near(score_of(above, 2).acc10, 100, 0);
}

/* Errors -50 %, +20 %, 0: the median of an odd count is the middle one; both ends of an interval belong to it. */
static void test_three_by_hand(void **state) {
    (void)state;
    const ft_case cases[] = {CASE(0, 10, 5, 10, 12), CASE(1, 20, 24, 15, 20), CASE(2, 40, 40, 41, 45)};
    ft_score s = score_of(cases, 3);
    assert_near(s.mape, 70.0 / 3, 1e-12);
    assert_near(s.bias, 0, 0);
    assert_near(s.acc5, 100.0 / 3, 1e-12);
    assert_near(s.acc10, 100.0 / 3, 1e-12);
    assert_near(s.acc20, 200.0 / 3, 1e-12);
    assert_near(s.coverage90, 200.0 / 3, 1e-12);
    assert_near(s.width90, 100 * (0.2 + 0.25 + 0.1) / 3, 1e-12);
    assert_near(s.rmse, sqrt((25 + 16) / 3.0), 1e-12);
    const ft_case above[] = {{.measured = 1, .predicted = 1.2}, {.measured = 1, .predicted = 1.2000001}};
    assert_near(score_of(above, 2).acc20, 50, 0);
}

/* Each field reads and writes the member that its key names. */
static void test_fields(void **state) {
    (void)state;
    const ft_score s = {.mape = 1,
                        .rmspe = 2,
                        .acc5 = 3,
                        .acc10 = 4,
                        .acc20 = 5,
                        .rmse = 6,
                        .spearman = 7,
                        .kendall = 8,
                        .coverage90 = 9,
                        .width90 = 10,
                        .bias = 11};
    static const struct {
        const char *key;
        double value;
        score_aim aim;
    } expected[SCORE_FIELDS] = {
        {"mape", 1, AIM_LOW},     {"rmspe", 2, AIM_LOW},     {"acc5", 3, AIM_HIGH},    {"acc10", 4, AIM_HIGH},
        {"rmse", 6, AIM_LOW},     {"spearman", 7, AIM_HIGH}, {"kendall", 8, AIM_HIGH}, {"coverage90", 9, AIM_NINETY},
        {"width90", 10, AIM_LOW}, {"bias", 11, AIM_ZERO},    {"acc20", 5, AIM_HIGH},
    };
    ft_score copy = {0};
    for (uint32_t i = 0; i < SCORE_FIELDS; i++) {
        assert_string_equal(score_fields[i].key, expected[i].key);
        assert_true(score_value(&s, &score_fields[i]) == expected[i].value);
        assert_int_equal(score_fields[i].aim, expected[i].aim);
        score_set(&copy, &score_fields[i], expected[i].value);
    }
    assert_memory_equal(&copy, &s, sizeof s);
}

static void test_without_meaning(void **state) {
    (void)state;
    const ft_case one = CASE(0, 10, 11, NONE, NONE);
    ft_score s = score_of(&one, 1);
    assert_near(s.mape, 10, 1e-12);
    assert_near(s.bias, 10, 1e-12);
    assert_true(isnan(s.spearman) && isnan(s.kendall) && isnan(s.coverage90) && isnan(s.width90));
    s = score_of(NULL, 0);
    assert_true(isnan(s.mape) && isnan(s.rmspe) && isnan(s.acc5) && isnan(s.acc10) && isnan(s.rmse));
    assert_true(isnan(s.coverage90) && isnan(s.width90) && isnan(s.bias));
}

static void test_mean(void **state) {
    (void)state;
    const ft_score scores[] = {
        {.n = 3, .mape = 2, .acc10 = 90, .spearman = 0.5, .bias = -1, .coverage90 = NONE},
        {.n = 1, .mape = 4, .acc10 = 100, .spearman = NONE, .bias = 4, .coverage90 = NONE},
    };
    ft_score mean = {.family = "mean"};
    metrics_mean(scores, 2, &mean);
    assert_string_equal(mean.family, "mean");
    assert_int_equal(mean.n, 4);
    assert_near(mean.mape, 3, 1e-12);
    assert_near(mean.acc10, 95, 1e-12);
    assert_near(mean.spearman, 0.5, 1e-12);
    assert_near(mean.bias, 1.5, 1e-12);
    assert_true(isnan(mean.coverage90));
}

static void test_no_memory(void **state) {
    (void)state;
    const ft_case cases[] = {CASE(0, 100, 110, 90, 130), CASE(1, 200, 190, 180, 199)};
    for (long n = 0;; n++) {
        ft_score score = {.n = 77};
        ft_error error;
        failing_start(n);
        ft_status status = metrics_score(cases, 2, &score, &error);
        if (!failing_stop()) break;
        assert_int_equal(status, FT_ERR_NOMEM);
        assert_int_equal(score.n, 77);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_by_hand),         cmocka_unit_test(test_limits_are_within),
        cmocka_unit_test(test_three_by_hand),   cmocka_unit_test(test_fields),
        cmocka_unit_test(test_without_meaning), cmocka_unit_test(test_mean),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests_name("learn/metrics", tests, NULL, NULL);
}
