/* Tests of bounded least squares: against all choices of sides on small problems, by the optimality conditions on large
 * ones, also where the equations do not determine the solution. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/rng.h"
#include "nn/math/linalg.h"
#include "nn/math/nnls.h"
#include "support/failing.h"

enum { MAX = 400 };

typedef struct sample {
    double gram[MAX * MAX], moment[MAX], ridge[MAX], prior[MAX], lower[MAX], upper[MAX];
    nnls_problem problem;
} sample;

/* `like` 0 .. 1: correlation of the columns; every seventh column is zero when `has_empty`. */
static sample *make(uint32_t count, uint32_t rows, double like, bool has_empty, uint64_t seed) {
    sample *s = calloc(1, sizeof *s);
    double *a = malloc((size_t)rows * count * sizeof *a), *b = malloc(rows * sizeof *b);
    rng r;
    rng_init(&r, seed, 0);
    for (uint32_t i = 0; i < rows; i++) {
        double common = rng_normal(&r);
        b[i] = 3 * common + rng_normal(&r);
        for (uint32_t j = 0; j < count; j++) {
            bool is_empty = has_empty && j % 7 == 3;
            a[i * count + j] = is_empty ? 0 : (like * common + (1 - like) * rng_normal(&r)) * exp((double)(j % 5));
            b[i] += j % 3 == 0 ? 0.5 * a[i * count + j] : 0;
        }
    }
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t j = 0; j < count; j++)
            for (uint32_t k = 0; k < rows; k++) s->gram[i * count + j] += a[k * count + i] * a[k * count + j];
        for (uint32_t k = 0; k < rows; k++) s->moment[i] += a[k * count + i] * b[k];
        s->ridge[i] = i % 4 == 0 ? 0 : rng_uniform(&r);
        s->prior[i] = rng_normal(&r);
        s->lower[i] = i % 6 == 5 ? -(double)INFINITY : -0.1 * rng_uniform(&r);
        s->upper[i] = i % 6 == 4 ? (double)INFINITY : 0.2 + 0.3 * rng_uniform(&r);
    }
    s->problem = (nnls_problem){.count = count,
                                .gram = s->gram,
                                .moment = s->moment,
                                .ridge = s->ridge,
                                .prior = s->prior,
                                .lower = s->lower,
                                .upper = s->upper};
    free(a);
    free(b);
    return s;
}

static double at(const double *items, uint32_t i, double otherwise) {
    return items != NULL ? items[i] : otherwise;
}

static double gradient(const nnls_problem *p, const double *x, uint32_t i) {
    double sum = -p->moment[i] + at(p->ridge, i, 0) * (x[i] - at(p->prior, i, 0));
    for (uint32_t j = 0; j < p->count; j++) sum += p->gram[i * p->count + j] * x[j];
    return sum;
}

static double loss(const nnls_problem *p, const double *x) {
    double sum = 0;
    for (uint32_t i = 0; i < p->count; i++) {
        double ridge = at(p->ridge, i, 0), prior = at(p->prior, i, 0);
        sum += x[i] * (gradient(p, x, i) - p->moment[i]) - ridge * prior * x[i] + ridge * prior * prior;
    }
    return sum;
}

static void solved(const nnls_problem *p, double *x) {
    ft_error error = {.message = ""};
    if (nnls_solve(p, x, &error) != FT_OK) fail_msg("%s", error.message);
}

/* Optimality: within bounds, gradient zero inside, and not pointing inwards at a bound. */
static void is_optimal(const nnls_problem *p, const double *x) {
    double largest = 0;
    for (uint32_t i = 0; i < p->count; i++)
        largest = fmax(largest, fabs(p->moment[i]) / sqrt(p->gram[i * p->count + i] + at(p->ridge, i, 0) + 1e-300));
    for (uint32_t i = 0; i < p->count; i++) {
        double lower = at(p->lower, i, 0), upper = at(p->upper, i, INFINITY), g = gradient(p, x, i);
        double diagonal = p->gram[i * p->count + i] + at(p->ridge, i, 0);
        if (diagonal > 0) g /= sqrt(diagonal);
        assert_true(x[i] >= lower && x[i] <= upper);
        if (x[i] > lower && g > 1e-7 * largest) fail_msg("variable %u would fall: %g", i, g);
        if (x[i] < upper && g < -1e-7 * largest) fail_msg("variable %u would rise: %g", i, g);
    }
}

/* --- Small problems, all choices ----------------------------------------------------------------------------- */

enum { SMALL = 5 };

/* The free variables of a choice solve their equations; by elimination. */
static bool try_choice(const nnls_problem *p, uint32_t choice, double *x) {
    double m[SMALL][SMALL + 1];
    uint32_t which[SMALL], count = 0;
    for (uint32_t i = 0; i < SMALL; i++, choice /= 3) {
        x[i] = choice % 3 == 0 ? 0 : choice % 3 == 1 ? p->lower[i] : p->upper[i];
        if (choice % 3 == 0) which[count++] = i;
        if (!isfinite(x[i])) return false;
    }
    for (uint32_t a = 0; a < count; a++) {
        m[a][count] = -gradient(p, x, which[a]);
        for (uint32_t b = 0; b < count; b++)
            m[a][b] = p->gram[which[a] * SMALL + which[b]] + (a == b ? p->ridge[which[a]] : 0);
    }
    for (uint32_t k = 0; k < count; k++) {
        for (uint32_t a = 0; a < count; a++) {
            double factor = a == k ? 0 : m[a][k] / m[k][k];
            for (uint32_t b = k; b <= count && a != k; b++) m[a][b] -= factor * m[k][b];
        }
    }
    for (uint32_t a = 0; a < count; a++) x[which[a]] = m[a][count] / m[a][a];
    for (uint32_t i = 0; i < SMALL; i++)
        if (!(x[i] >= p->lower[i] && x[i] <= p->upper[i])) return false;
    return true;
}

static void test_against_all_choices_of_sides(void **state) {
    (void)state;
    for (uint64_t seed = 0; seed < 60; seed++) {
        sample *s = make(SMALL, 8, (double)(seed % 3) * 0.45, false, seed);
        double x[SMALL], tried[SMALL], best = INFINITY;
        for (uint32_t choice = 0; choice < 243; choice++)
            if (try_choice(&s->problem, choice, tried)) best = fmin(best, loss(&s->problem, tried));
        solved(&s->problem, x);
        is_optimal(&s->problem, x);
        double found = loss(&s->problem, x);
        if (!(fabs(found - best) <= 1e-9 * (1 + fabs(best)))) fail_msg("seed %d: %g, not %g", (int)seed, found, best);
        free(s);
    }
}

static void test_defaults(void **state) {
    (void)state;
    /* (x0 - 3)^2 + (x1 + 2)^2: the second stops at 0. */
    const double gram[] = {1, 0, 0, 1}, moment[] = {3, -2};
    nnls_problem p = {.count = 2, .gram = gram, .moment = moment};
    double x[2], ridge[2] = {1, 0}, prior[2] = {5, 0}, upper[2] = {3.5, 9}, lower[2] = {0, -1};
    solved(&p, x);
    assert_true(fabs(x[0] - 3) < 1e-9 && x[1] == 0);
    p.ridge = ridge;
    p.prior = prior;
    solved(&p, x);
    assert_true(fabs(x[0] - 4) < 1e-9);
    p.upper = upper;
    p.lower = lower;
    solved(&p, x);
    assert_true(x[0] == 3.5 && x[1] == -1);
}

/* --- Large problems ------------------------------------------------------------------------------------------ */

static void test_large(void **state) {
    (void)state;
    static const double likes[] = {0, 0.9, 0.999};
    for (size_t k = 0; k < 3; k++) {
        sample *s = make(MAX / 2, 300, likes[k], true, k);
        double x[MAX], again[MAX];
        solved(&s->problem, x);
        is_optimal(&s->problem, x);
        solved(&s->problem, again);
        assert_memory_equal(x, again, s->problem.count * sizeof *x);
        s->problem.lower = NULL;
        s->problem.upper = NULL;
        solved(&s->problem, x);
        is_optimal(&s->problem, x);
        free(s);
    }
}

/* Fewer rows than variables and no ridge: many solutions; empty columns stay at their prior. */
static void test_undetermined_variables(void **state) {
    (void)state;
    sample *s = make(40, 12, 0.5, true, 4);
    double x[MAX];
    s->problem.ridge = NULL;
    s->problem.lower = NULL;
    s->problem.upper = NULL;
    solved(&s->problem, x);
    is_optimal(&s->problem, x);
    for (uint32_t i = 3; i < 40; i += 7) assert_true(fabs(x[i] - fmax(0, s->prior[i])) < 1e-9);
    /* Two equal columns share their coefficient. */
    const double gram[] = {2, 2, 2, 2}, moment[] = {4, 4};
    nnls_problem p = {.count = 2, .gram = gram, .moment = moment};
    solved(&p, x);
    assert_true(fabs(x[0] + x[1] - 2) < 1e-6 && x[0] >= 0 && x[1] >= 0);
    free(s);
}

static void test_cholesky(void **state) {
    (void)state;
    enum { COUNT = 150 };
    sample *s = make(COUNT, 200, 0, false, 9);
    double *a = malloc((size_t)COUNT * COUNT * sizeof *a), x[COUNT];
    for (uint32_t i = 0; i < COUNT; i++) s->gram[i * COUNT + i] += 1;
    memcpy(a, s->gram, (size_t)COUNT * COUNT * sizeof *a);
    memcpy(x, s->moment, sizeof x);
    cholesky_factor(a, COUNT, 0);
    cholesky_solve(a, COUNT, x);
    cholesky_solve(a, 0, x);
    for (uint32_t i = 0; i < COUNT; i++) {
        double sum = 0, size = 0;
        for (uint32_t j = 0; j < COUNT; j++) {
            sum += s->gram[i * COUNT + j] * x[j];
            size += fabs(s->gram[i * COUNT + j] * x[j]);
        }
        assert_true(fabs(sum - s->moment[i]) < 1e-12 * size);
    }
    free(a);
    free(s);
}

/* --- Bad input ----------------------------------------------------------------------------------------------- */

static void refuses(const nnls_problem *p, ft_status expected, const char *part) {
    double x[2] = {7, 7};
    ft_error error = {.message = ""};
    assert_int_equal(nnls_solve(p, x, &error), expected);
    if (strstr(error.message, part) == NULL) fail_msg("%s", error.message);
    assert_true(x[0] == 7 && x[1] == 7);
}

static void test_refuses(void **state) {
    (void)state;
    double gram[] = {1, 0, 0, 1}, moment[] = {3, -2}, lower[] = {0, 2}, upper[] = {1, 1};
    nnls_problem p = {.count = 0, .gram = gram, .moment = moment};
    refuses(&p, FT_ERR_LIMIT, "0 variables");
    p.count = NNLS_MAX_COUNT + 1;
    refuses(&p, FT_ERR_LIMIT, "8193 variables");
    p.count = 2;
    p.lower = lower;
    p.upper = upper;
    refuses(&p, FT_ERR_USAGE, "variable 1: no value between the bounds 2 and 1");
    lower[1] = NAN;
    refuses(&p, FT_ERR_USAGE, "variable 1");
    lower[1] = 0;
    gram[2] = INFINITY;
    refuses(&p, FT_ERR_DAMAGED, "variable 1: not a finite number");
    gram[2] = 0;
    gram[0] = -1;
    refuses(&p, FT_ERR_DAMAGED, "variable 0: a negative");
}

static void test_no_memory(void **state) {
    (void)state;
    const double gram[] = {1, 0, 0, 1}, moment[] = {3, -2};
    nnls_problem p = {.count = 2, .gram = gram, .moment = moment};
    double x[2];
    long n = 0;
    for (;; n++) {
        failing_start(n);
        ft_status status = nnls_solve(&p, x, NULL);
        if (!failing_stop()) break;
        assert_int_equal(status, FT_ERR_NOMEM);
    }
    assert_int_equal(n, 3);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defaults),  cmocka_unit_test(test_against_all_choices_of_sides),
        cmocka_unit_test(test_large),     cmocka_unit_test(test_undetermined_variables),
        cmocka_unit_test(test_cholesky),  cmocka_unit_test(test_refuses),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
