/* Tests of the errors of a trial: means and root mean squares. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "learn/adapt/adapt_trial.h"

enum { RECORDS = 4 };

static adapt_errors errors_of(double *off, adjust_case *cases) {
    return adapt_trial_plain(&(adapt_trial){.count = RECORDS, .off = off, .cases = cases});
}

/* The same mean, with one model far off or all of them a little. */
static void squares_tell_what_means_do_not(void **state) {
    (void)state;
    adjust_case cases[RECORDS] = {{.weight = 1}, {.weight = 1}, {.weight = 1}, {.weight = 1}};
    double one[RECORDS] = {0, 0, 0, -log(1.2)}, all[RECORDS] = {-log(1.05), -log(1.05), -log(0.95), -log(0.95)};
    adapt_errors far = errors_of(one, cases), near = errors_of(all, cases);
    assert_true(fabs(far.mape - 5) < 1e-9 && fabs(near.mape - 5) < 1e-9);
    assert_true(fabs(far.rmspe - 10) < 1e-9 && fabs(near.rmspe - 5) < 1e-9);
}

/* A model that was measured twice counts once. */
static void models_count_once(void **state) {
    (void)state;
    adjust_case cases[RECORDS] = {{.weight = 0.5}, {.weight = 0.5}, {.weight = 1}, {.weight = 1}};
    double off[RECORDS] = {-log(1.3), -log(1.3), 0, 0};
    adapt_errors errors = errors_of(off, cases);
    assert_true(fabs(errors.mape - 10) < 1e-9 && fabs(errors.rmspe - 30 / sqrt(3)) < 1e-9);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(squares_tell_what_means_do_not),
                                       cmocka_unit_test(models_count_once)};
    return cmocka_run_group_tests_name("learn/adapt_trial", tests, NULL, NULL);
}
