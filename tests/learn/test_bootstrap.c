/* Tests of intervals by drawing again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>

#include "base/rng.h"
#include "learn/score/bootstrap.h"
#include "support/failing.h"

enum { COUNT = 400 };

static bootstrap_result run(const double *values, const uint32_t *groups, uint32_t group_count, uint64_t seed) {
    bootstrap_result result;
    ft_error error;
    assert_int_equal(bootstrap(values, groups, group_count, seed, 3, &result, &error), FT_OK);
    return result;
}

/* Of 400 normal values with deviation 1, the mean is known to +-1.96 / 20. */
static void test_width(void **state) {
    (void)state;
    double values[COUNT], sum = 0;
    rng generator;
    rng_init(&generator, 5, 0);
    for (int i = 0; i < COUNT; i++) sum += values[i] = 2 + rng_normal(&generator);
    const uint32_t group = COUNT;
    bootstrap_result r = run(values, &group, 1, 1);
    assert_true(fabs(r.mean - sum / COUNT) < 1e-12);
    assert_true(fabs((r.mean - r.lo) - 0.098) < 0.015 && fabs((r.hi - r.mean) - 0.098) < 0.015);
}

static void test_same_seed(void **state) {
    (void)state;
    const double values[] = {1, 5, 2, 8, 3, 9};
    const uint32_t group = 6;
    bootstrap_result a = run(values, &group, 1, 1), b = run(values, &group, 1, 1), c = run(values, &group, 1, 2);
    assert_true(a.lo == b.lo && a.hi == b.hi && a.mean == b.mean);
    assert_true(a.lo != c.lo || a.hi != c.hi);
}

/* Groups weigh the same, however large; within groups that are all the same, there is nothing to be unsure of. */
static void test_groups(void **state) {
    (void)state;
    const double values[] = {1, 1, 1, 1, 3};
    const uint32_t groups[] = {4, 1};
    bootstrap_result r = run(values, groups, 2, 1);
    assert_true(r.mean == 2 && r.lo == 2 && r.hi == 2);
}

static void test_no_memory(void **state) {
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
        cmocka_unit_test(test_width),
        cmocka_unit_test(test_same_seed),
        cmocka_unit_test(test_groups),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests_name("learn/bootstrap", tests, NULL, NULL);
}
