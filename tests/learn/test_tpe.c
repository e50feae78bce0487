/* The estimator finds what it looks for sooner than chance does. */
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

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(beats_chance), cmocka_unit_test(is_the_same_for_the_same_seed),
                                       cmocka_unit_test(takes_points_with_gaps)};
    return cmocka_run_group_tests_name("learn/tpe", tests, NULL, NULL);
}
