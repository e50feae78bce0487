/* Tests of rank correlations: small ones by hand, larger ones against scipy 1.10 (spearmanr, kendalltau). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <time.h>

#include "learn/score/rank.h"
#include "support/failing.h"

/* cmocka compares floats; these are doubles. */
#define assert_near(value, expected, most) assert_true(fabs((value) - (expected)) <= (most))

static void check(const double *x, const double *y, uint32_t count, double rho, double tau) {
    ft_error error;
    double found_rho = 2, found_tau = 2;
    assert_int_equal(rank_spearman(x, y, count, &found_rho, &error), FT_OK);
    assert_int_equal(rank_kendall(x, y, count, &found_tau, &error), FT_OK);
    if (isnan(rho)) {
        assert_true(isnan(found_rho) && isnan(found_tau));
        return;
    }
    assert_near(found_rho, rho, 1e-12);
    assert_near(found_tau, tau, 1e-12);
}

static void test_by_hand(void **state) {
    (void)state;
    check((double[]){1, 2, 3}, (double[]){10, 20, 30}, 3, 1, 1);
    check((double[]){1, 2, 3}, (double[]){3, 2, 1}, 3, -1, -1);
    /* Two neighbours changed places twice: rho = 1 - 6 * 4 / (5 * 24), tau = (8 - 2) / 10. */
    check((double[]){1, 2, 3, 4, 5}, (double[]){2, 1, 4, 3, 5}, 5, 0.8, 0.6);
    /* Ranks 1 2.5 2.5 4 and 1 2 3.5 3.5: rho = 3.75 / 4.5. Of six pairs one is tied on each side, four agree: 4 / 5. */
    check((double[]){1, 2, 2, 3}, (double[]){1, 2, 3, 3}, 4, 3.75 / 4.5, 0.8);
}

/* x 1 1 2 3, y 4 3 2 1: five of six pairs differ in x, all discordant. Ranks of x are 1.5 1.5 3 4, of y 4 3 2 1:
 * covariance -1 * 1.5 - 1 * 0.5 + 0.5 * -0.5 + 1.5 * -1.5 = -4.5, squares 4.5 and 5. */
static void test_ties_on_one_side(void **state) {
    (void)state;
    check((double[]){1, 1, 2, 3}, (double[]){4, 3, 2, 1}, 4, -4.5 / sqrt(4.5 * 5), -5 / sqrt(5 * 6.0));
    check((double[]){4, 3, 2, 1}, (double[]){1, 1, 2, 3}, 4, -4.5 / sqrt(4.5 * 5), -5 / sqrt(5 * 6.0));
    /* a pair that is tied on both sides is no evidence either way */
    check((double[]){1, 1, 2}, (double[]){5, 5, 6}, 3, 1, 1);
}

static void test_no_order(void **state) {
    (void)state;
    check(NULL, NULL, 0, (double)NAN, (double)NAN);
    check((double[]){1}, (double[]){1}, 1, (double)NAN, (double)NAN);
    check((double[]){1, 2, 3}, (double[]){7, 7, 7}, 3, (double)NAN, (double)NAN);
    check((double[]){7, 7, 7}, (double[]){1, 2, 3}, 3, (double)NAN, (double)NAN);
}

/* x from a linear congruential generator, y = x + the same again; the smaller the modulus, the more ties. */
static void make_series(uint32_t count, uint32_t modulus, double *x, double *y) {
    uint32_t seed = 12345;
    for (uint32_t i = 0; i < 2 * count; i++) {
        seed = (seed * 1103515245u + 12345u) & 0x7fffffffu;
        double value = (seed >> 8) % modulus + 1;
        if (i < count)
            x[i] = value;
        else
            y[i - count] = x[i - count] + value;
    }
}

static void test_as_scipy(void **state) {
    (void)state;
    double x[1000], y[1000];
    make_series(200, 1000, x, y);
    check(x, y, 200, 0.7095297007901608, 0.5095653525760794);
    make_series(200, 7, x, y);
    check(x, y, 200, 0.7431613599096796, 0.5900746555547054);
    make_series(1000, 50, x, y);
    check(x, y, 1000, 0.7049056813847535, 0.5140087572647082);
}

/* Comparing all pairs of a hundred thousand would take half a minute. */
static void test_many(void **state) {
    (void)state;
    enum { COUNT = 100000 };
    double *x = calloc(COUNT, sizeof *x), *y = calloc(COUNT, sizeof *y);
    assert_true(x != NULL && y != NULL);
    for (uint32_t i = 0; i < COUNT; i++) {
        x[i] = i;
        y[i] = COUNT - i;
    }
    clock_t start = clock();
    check(x, y, COUNT, -1, -1);
    assert_true((double)(clock() - start) / CLOCKS_PER_SEC < 1.5);
    free(x);
    free(y);
}

static double pairs_apart(const double *x, const double *y, uint32_t count, double ratio) {
    ft_error error;
    double share = 2;
    assert_int_equal(rank_pairs_apart(x, y, count, ratio, &share, &error), FT_OK);
    return share;
}

static void test_pairs_apart(void **state) {
    (void)state;
    const double x[] = {102, 100, 300, 200}, y[] = {1, 2, 4, 4};
    /* 100 and 102 are the wrong way round, 200 and 300 are tied. */
    assert_near(pairs_apart(x, y, 4, 1), 4.5 / 6, 1e-12);
    assert_near(pairs_apart(x, y, 4, 1.05), 4.5 / 5, 1e-12);
    assert_near(pairs_apart(x, y, 4, 1.6), 1, 1e-12);
    assert_near(pairs_apart(x, y, 4, 2.95), 1, 1e-12); /* 100 and 300 alone */
    assert_true(isnan(pairs_apart(x, y, 4, 3)));       /* exactly as far is not further */
    assert_true(isnan(pairs_apart(x, y, 1, 1)) && isnan(pairs_apart(NULL, NULL, 0, 1)));
}

static void test_pairs_apart_as_counted(void **state) {
    (void)state;
    enum { COUNT = 300 };
    static const double ratios[] = {1, 1.05, 1.5, 10};
    double x[COUNT], y[COUNT];
    for (uint32_t modulus = 5; modulus < 1000; modulus *= 4) {
        make_series(COUNT, modulus, x, y);
        for (size_t r = 0; r < sizeof ratios / sizeof ratios[0]; r++) {
            double pairs = 0, kept = 0;
            for (uint32_t i = 0; i < COUNT; i++)
                for (uint32_t k = 0; k < COUNT; k++) {
                    if (!(x[i] * ratios[r] < x[k])) continue;
                    pairs++;
                    kept += y[i] < y[k] ? 1 : y[i] == y[k] ? 0.5 : 0;
                }
            if (pairs > 0) assert_near(pairs_apart(x, y, COUNT, ratios[r]), kept / pairs, 1e-12);
        }
    }
}

static ft_status all_of_them(const double *x, const double *y, uint32_t count) {
    ft_error error;
    double found;
    ft_status status = rank_spearman(x, y, count, &found, &error);
    if (status == FT_OK) status = rank_kendall(x, y, count, &found, &error);
    return status != FT_OK ? status : rank_pairs_apart(x, y, count, 1, &found, &error);
}

static void test_no_memory(void **state) {
    (void)state;
    const double x[] = {3, 1, 2}, y[] = {1, 2, 3};
    for (long n = 0;; n++) {
        failing_start(n);
        ft_status status = all_of_them(x, y, 3);
        if (!failing_stop()) break;
        assert_int_equal(status, FT_ERR_NOMEM);
        assert_true(n < 100);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_by_hand),     cmocka_unit_test(test_ties_on_one_side),
        cmocka_unit_test(test_no_order),    cmocka_unit_test(test_as_scipy),
        cmocka_unit_test(test_many),        cmocka_unit_test(test_no_memory),
        cmocka_unit_test(test_pairs_apart), cmocka_unit_test(test_pairs_apart_as_counted),
    };
    return cmocka_run_group_tests_name("learn/rank", tests, NULL, NULL);
}
