/* Who goes on to the next rung, and with how much. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>

#include "learn/search/halving.h"

static void shares_grow_to_one(void **state) {
    (void)state;
    assert_true(halving_share(0, 1, 3) == 1);
    assert_true(halving_share(2, 3, 3) == 1);
    assert_true(fabs(halving_share(0, 3, 3) - 1.0 / 9) < 1e-15);
    assert_true(halving_share(1, 3, 4) == 0.25);
}

static void the_best_go_on(void **state) {
    (void)state;
    const double losses[] = {5, 1, NAN, 3, 2, 9, 8, 7, 6};
    bool goes_on[9];
    assert_int_equal(halving_promote(losses, 9, 3, goes_on), 3);
    for (int i = 0; i < 9; i++) assert_int_equal(goes_on[i], i == 1 || i == 3 || i == 4);
}

static void one_at_least_but_none_that_failed(void **state) {
    (void)state;
    const double two[] = {4, 3}, none[] = {NAN, NAN, NAN}, few[] = {NAN, NAN, NAN, NAN, NAN, NAN, 2, NAN, NAN};
    bool goes_on[9];
    assert_int_equal(halving_promote(two, 2, 3, goes_on), 1);
    assert_true(!goes_on[0] && goes_on[1]);
    assert_int_equal(halving_promote(none, 3, 3, goes_on), 0);
    assert_int_equal(halving_promote(few, 9, 3, goes_on), 1);
    assert_true(goes_on[6]);
    assert_int_equal(halving_promote(NULL, 0, 3, goes_on), 0);
}

static void of_equal_ones_the_first(void **state) {
    (void)state;
    const double same[] = {1, 1, 1, 1, 1, 1};
    bool goes_on[6];
    assert_int_equal(halving_promote(same, 6, 3, goes_on), 2);
    assert_true(goes_on[0] && goes_on[1] && !goes_on[2]);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(shares_grow_to_one), cmocka_unit_test(the_best_go_on),
                                       cmocka_unit_test(one_at_least_but_none_that_failed),
                                       cmocka_unit_test(of_equal_ones_the_first)};
    return cmocka_run_group_tests_name("learn/halving", tests, NULL, NULL);
}
