/* Tests of checked and saturating arithmetic. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/num.h"

static void test_checked(void **state) {
    (void)state;
    size_t size;
    int64_t number;
    assert_true(num_mul_size(SIZE_MAX / 3, 3, &size));
    assert_int_equal(size, SIZE_MAX / 3 * 3);
    assert_false(num_mul_size(SIZE_MAX / 3 + 1, 3, &size));
    assert_true(num_add_size(SIZE_MAX - 1, 1, &size));
    assert_false(num_add_size(SIZE_MAX, 1, &size));
    assert_true(num_mul_i64(INT64_MIN, 1, &number));
    assert_true(number == INT64_MIN);
    assert_false(num_mul_i64(INT64_MIN, -1, &number));
    assert_false(num_mul_i64(INT64_C(1) << 32, INT64_C(1) << 31, &number));
    assert_true(num_add_i64(INT64_MAX, INT64_MIN, &number));
    assert_int_equal(number, -1);
    assert_false(num_add_i64(INT64_MAX, 1, &number));
    assert_false(num_add_i64(INT64_MIN, -1, &number));
}

static void test_saturating(void **state) {
    (void)state;
    assert_true(num_mul_sat(UINT64_C(1) << 40, UINT64_C(1) << 23) == UINT64_C(1) << 63);
    assert_true(num_mul_sat(UINT64_C(1) << 40, UINT64_C(1) << 24) == UINT64_MAX);
    assert_true(num_mul_sat(UINT64_MAX, 0) == 0);
    assert_true(num_add_sat(UINT64_MAX - 1, 1) == UINT64_MAX);
    assert_true(num_add_sat(UINT64_MAX, UINT64_MAX) == UINT64_MAX);
    assert_true(num_add_sat(2, 3) == 5);
}

static void test_scaling(void **state) {
    (void)state;
    assert_true(num_scale_sat(10, 3, 4) == 7);
    assert_true(num_scale_sat(UINT64_MAX, 7, 7) == UINT64_MAX);
    assert_true(num_scale_sat(UINT64_MAX - 1, 5, 5) == UINT64_MAX - 1); /* the product would not fit */
    assert_true(num_scale_sat(UINT64_MAX / 2, 3, 1) == UINT64_MAX);
    assert_true(num_scale_sat(0, 9, 2) == 0);
    assert_true(num_div_up(0, 4) == 0);
    assert_true(num_div_up(8, 4) == 2);
    assert_true(num_div_up(9, 4) == 3);
    assert_true(num_div_up(UINT64_MAX, 2) == UINT64_C(1) << 63);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_checked),
        cmocka_unit_test(test_saturating),
        cmocka_unit_test(test_scaling),
    };
    return cmocka_run_group_tests_name("base/num", tests, NULL, NULL);
}
