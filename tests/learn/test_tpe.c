/* Tests of the Parzen estimator: densities by hand, choices that follow from them, and better results than random
 * search. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "learn/search/tpe.h"

enum { TRIALS = 40, SEEDS = 24 };

/* A valley in two numbers that only go together, a choice, and a number in ratios. */
static const char text[] = "{\"x\": \"real:-5..5\", \"y\": \"real:-5..5\", \"kind\": [\"bad\", \"good\", \"worse\"],"
                           " \"rate\": \"log-real:1e-5..1\"}";

static double loss_of(const double *v) {
    double x = v[0] - 1, y = v[1] - v[0], rate = log10(v[3] / 1e-2);
    return x * x + 2 * y * y + 3 * fabs(v[2] - 1) + 2 * rate * rate;
}

typedef struct seen {
    double values[SPACE_MAX_KEYS];
    double loss;
} seen;

/* The best of so many trials, chosen one at a time. */
static double search(const space *s, uint64_t seed, bool is_blind) {
    seen trials[TRIALS];
    const double *ranked[TRIALS];
    double best = INFINITY;
    for (uint32_t i = 0; i < TRIALS; i++) {
        rng random;
        seen now;
        rng_init(&random, seed, i);
        for (uint32_t k = 0; k < i; k++) ranked[k] = trials[k].values;
        if (is_blind)
            space_draw(s, &random, now.values);
        else
            tpe_suggest(s, ranked, i, 0, &random, now.values);
        now.loss = loss_of(now.values);
        best = fmin(best, now.loss);
        uint32_t at = i;
        for (; at > 0 && trials[at - 1].loss > now.loss; at--) trials[at] = trials[at - 1];
        trials[at] = now;
    }
    return best;
}

static void beats_chance(void **state) {
    (void)state;
    space s;
    ft_error error;
    double found = 0, by_chance = 0;
    uint32_t wins = 0;
    assert_int_equal(space_open(&s, &error), FT_OK);
    assert_int_equal(space_add_text(&s, text, strlen(text), &error), FT_OK);
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        double a = search(&s, seed, false), b = search(&s, seed, true);
        found += a / SEEDS;
        by_chance += b / SEEDS;
        wins += a < b;
    }
    print_message("mean of the best of %d: %.3f, by chance %.3f; better in %u of %d\n", TRIALS, found, by_chance, wins,
                  SEEDS);
    assert_true(found < 0.5 * by_chance);
    assert_true(wins >= SEEDS * 3 / 4);
    space_free(&s);
}

static void is_the_same_for_the_same_seed(void **state) {
    (void)state;
    space s;
    ft_error error;
    assert_int_equal(space_open(&s, &error), FT_OK);
    assert_int_equal(space_add_text(&s, text, strlen(text), &error), FT_OK);
    assert_true(search(&s, 5, false) == search(&s, 5, false));
    assert_true(search(&s, 5, false) != search(&s, 6, false));
    space_free(&s);
}

/* Keys that hang on others, and points that lack them. */
static void takes_points_with_gaps(void **state) {
    (void)state;
    static const char odd[] =
        "{\"kind\": [\"a\", \"b\"], \"x\": {\"range\": \"real:0..1\", \"when\": {\"kind\": \"b\"}},"
        " \"n\": \"int:3..3\"}";
    space s;
    ft_error error;
    double points[30][SPACE_MAX_KEYS];
    const double *ranked[30];
    rng random;
    assert_int_equal(space_open(&s, &error), FT_OK);
    assert_int_equal(space_add_text(&s, odd, strlen(odd), &error), FT_OK);
    rng_init(&random, 3, 0);
    for (int i = 0; i < 30; i++) {
        space_draw(&s, &random, points[i]);
        if (i % 7 == 0) points[i][0] = points[i][1] = NAN; /* defaults that are not in the space */
        ranked[i] = points[i];
    }
    for (int i = 0; i < 200; i++) {
        double v[SPACE_MAX_KEYS];
        tpe_suggest(&s, ranked, 26, 4, &random, v);
        assert_true(v[0] == 0 || v[0] == 1);
        assert_true(v[0] == 1 ? v[1] >= 0 && v[1] <= 1 : isnan(v[1]));
        assert_true(v[2] == 3);
    }
    space_free(&s);
}

/* assert_float_equal has the precision of a float. */
#define assert_near(value, expected) assert_true(fabs((value) - (expected)) < 1e-9)

static void open_space(space *s, const char *keys) {
    ft_error error;
    assert_int_equal(space_open(s, &error), FT_OK);
    assert_int_equal(space_add_text(s, keys, strlen(keys), &error), FT_OK);
}

/* A kernel has the deviation 0.25 / n^(1 / (keys + 4)) and is truncated to the range; the uniform part weighs as much
 * as one point. phi(0) = 0.3989422804014327; P(|z| < 2) = 0.9544997361036416; P(0 < z < 4) = 0.4999683287581669. */
static void densities_by_hand(void **state) {
    (void)state;
    const double middle = 0.5, edge = 0, far = 1;
    const double *const one[] = {&middle}, *const at_edge[] = {&edge};
    space s;
    open_space(&s, "{\"x\": \"real:0..1\"}");
    double peak = 0.3989422804014327 / 0.25 / 0.9544997361036416;
    assert_near(tpe_log_density(&s, one, 1, &middle), log((1 + peak) / 2));
    assert_near(tpe_log_density(&s, one, 1, &far), log((1 + peak * exp(-2)) / 2));
    assert_near(tpe_log_density(&s, at_edge, 1, &edge), log((1 + 0.3989422804014327 / 0.25 / 0.4999683287581669) / 2));
    assert_near(tpe_log_density(&s, NULL, 0, &middle), 0);
    space_free(&s);
}

/* With 32 points of one key the deviation is 0.25 / 32^(1/5) = 0.125; never below 0.02. P(|z| < 4) =
 * 0.9999366575163338. */
static void kernels_narrow_with_the_number_of_points(void **state) {
    (void)state;
    enum { MANY = 1 << 20 };
    static const double *points[MANY];
    const double middle = 0.5, off = 0.5 + 3 * 0.02;
    space s;
    open_space(&s, "{\"x\": \"real:0..1\"}");
    for (uint32_t i = 0; i < MANY; i++) points[i] = &middle;
    double peak = 0.3989422804014327 / 0.125 / 0.9999366575163338;
    assert_near(tpe_log_density(&s, points, 32, &middle), log((1 + 32 * peak) / 33));
    peak = 0.3989422804014327 / 0.02;
    assert_near(tpe_log_density(&s, points, MANY, &off), log((1 + MANY * peak * exp(-4.5)) / (MANY + 1.0)));
    space_free(&s);
}

/* A point's own choice has the density 0.25 + 0.75 * choices, any other 0.25. Keys multiply; one without a value is 1.
 */
static void choices_by_hand(void **state) {
    (void)state;
    const double a[] = {0, 1}, b[] = {2, 0}, c[] = {1, 1}, gap[] = {2, NAN};
    const double *const points[] = {a, b}, *const gaps[] = {gap};
    space s;
    open_space(&s, "{\"x\": [\"a\", \"b\", \"c\"], \"y\": [\"u\", \"v\"]}");
    assert_near(tpe_log_density(&s, points, 2, a), log((1 + 2.5 * 1.75 + 0.25 * 0.25) / 3));
    assert_near(tpe_log_density(&s, points, 2, c), log((1 + 0.25 * 1.75 + 0.25 * 0.25) / 3));
    assert_near(tpe_log_density(&s, gaps, 1, b), log((1 + 2.5) / 2));
    space_free(&s);
}

static double share_of_ones(const space *s, const double *const *points, uint32_t count, uint32_t waiting) {
    double ones = 0;
    for (uint64_t seed = 0; seed < 200; seed++) {
        double v[SPACE_MAX_KEYS];
        rng random;
        rng_init(&random, seed, 0);
        tpe_suggest(s, points, count, waiting, &random, v);
        ones += v[0];
    }
    return ones / 200;
}

/* Two good points with choice 1, six bad ones with choice 0, w waiting ones with choice 1. The ratio of the densities
 * is 1.5 / ((2.5 + 1.75 w) / (7 + w)) for choice 1 and 0.5 / ((11.5 + 0.25 w) / (7 + w)) for choice 0: 1 wins below w
 * = 32. */
static void waiting_points_count_as_bad(void **state) {
    (void)state;
    enum { SEEN = 8, WAITING = 40 };
    static const double one = 1, zero = 0;
    const double *points[SEEN + WAITING];
    space s;
    open_space(&s, "{\"kind\": [\"a\", \"b\"]}");
    for (uint32_t i = 0; i < SEEN + WAITING; i++) points[i] = i < 2 || i >= SEEN ? &one : &zero;
    assert_true(share_of_ones(&s, points, SEEN, 0) == 1);
    assert_true(share_of_ones(&s, points, SEEN, 31) == 1);
    assert_true(share_of_ones(&s, points, SEEN, 33) == 0);
    /* with fewer points than TPE_MIN_POINTS, it is a coin toss */
    double share = share_of_ones(&s, points, TPE_MIN_POINTS - 1, 0);
    assert_true(share > 0.4 && share < 0.6);
    space_free(&s);
}

/* The best fifth, rounded up, is good: 3 of 11, 2 of 10. The third and the fourth best point have choice 1, all others
 * choice 0. Of 11 points the ratio is (3.25 / 4) / (4.5 / 9) for choice 1 and (4.75 / 4) / (13.5 / 9) for choice 0; of
 * 10 points it is (1.5 / 3) / (6 / 9) and (4.5 / 3) / (12 / 9). */
static void the_best_fifth_is_good(void **state) {
    (void)state;
    static const double one = 1, zero = 0;
    const double *points[11];
    space s;
    open_space(&s, "{\"kind\": [\"a\", \"b\"]}");
    for (uint32_t i = 0; i < 11; i++) points[i] = i == 2 || i == 3 ? &one : &zero;
    assert_true(share_of_ones(&s, points, 11, 0) == 1);
    assert_true(share_of_ones(&s, points, 10, 0) == 0);
    space_free(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(densities_by_hand),
                                       cmocka_unit_test(kernels_narrow_with_the_number_of_points),
                                       cmocka_unit_test(choices_by_hand),
                                       cmocka_unit_test(waiting_points_count_as_bad),
                                       cmocka_unit_test(the_best_fifth_is_good),
                                       cmocka_unit_test(beats_chance),
                                       cmocka_unit_test(is_the_same_for_the_same_seed),
                                       cmocka_unit_test(takes_points_with_gaps)};
    return cmocka_run_group_tests_name("learn/tpe", tests, NULL, NULL);
}
