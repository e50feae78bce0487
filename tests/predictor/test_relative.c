/* Non-negative least squares of relative errors: exact solutions, small rows count as much as large ones. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "predictor/baseline/linear.h"

static void add(relative_nnls *r, double a, double b, double label) {
    const relative_nnls_entry entries[] = {{0, a}, {1, b}};
    relative_nnls_add(r, entries, 2, label);
}

static void consistent_equations_are_solved_exactly(void **state) {
    (void)state;
    relative_nnls r;
    float weights[2];
    assert_int_equal(relative_nnls_init(&r, 2, NULL), FT_OK);
    for (int i = 1; i < 9; i++) add(&r, 1, i * 1e9, 3 + 2e-9 * i * 1e9);
    assert_int_equal(relative_nnls_solve(&r, 0, weights, NULL), FT_OK);
    assert_true(fabsf(weights[0] - 3) < 1e-5F && fabsf(weights[1] - 2e-9F) < 1e-14F);
    assert_int_equal(r.rows, 8);
    relative_nnls_free(&r);
    relative_nnls_free(&r);
}

/* Ten percent off is as bad at 1 as at 1000. */
static void errors_are_relative(void **state) {
    (void)state;
    relative_nnls r;
    float weights[2];
    assert_int_equal(relative_nnls_init(&r, 2, NULL), FT_OK);
    relative_nnls_add(&r, &(relative_nnls_entry){0, 1}, 1, 1);
    relative_nnls_add(&r, &(relative_nnls_entry){0, 1000}, 1, 1100);
    assert_int_equal(relative_nnls_solve(&r, 0, weights, NULL), FT_OK);
    double x = 1, y = 1000.0 / 1100, best = (x + y) / (x * x + y * y);
    assert_true(fabs((double)weights[0] - best) < 1e-6);
    assert_true(weights[1] == 0); /* nothing was in its column */
    relative_nnls_free(&r);
}

static void weights_are_not_negative(void **state) {
    (void)state;
    relative_nnls r;
    float weights[2], ridged[2];
    assert_int_equal(relative_nnls_init(&r, 2, NULL), FT_OK);
    for (int i = 1; i < 9; i++) add(&r, 1, i, 10 - i);
    assert_int_equal(relative_nnls_solve(&r, 0, weights, NULL), FT_OK);
    assert_true(weights[0] > 0 && weights[1] == 0);
    assert_int_equal(relative_nnls_solve(&r, 1, ridged, NULL), FT_OK);
    assert_true(ridged[0] > 0 && ridged[0] < weights[0]);
    relative_nnls_free(&r);
}

static void columns_are_limited(void **state) {
    (void)state;
    relative_nnls r;
    ft_error error;
    assert_int_equal(relative_nnls_init(&r, 1000000, &error), FT_ERR_LIMIT);
    relative_nnls_free(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(consistent_equations_are_solved_exactly), cmocka_unit_test(errors_are_relative),
        cmocka_unit_test(weights_are_not_negative), cmocka_unit_test(columns_are_limited)};
    return cmocka_run_group_tests_name("predictor/relative", tests, NULL, NULL);
}
