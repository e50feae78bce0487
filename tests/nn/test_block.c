/* Tests of what is done to whole blocks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>

#include "nn/block.h"

static void test_norm_and_clip(void **state) {
    (void)state;
    float x[3000];
    for (int i = 0; i < 3000; i++) x[i] = i % 2 ? 2 : -2;
    double norm = 2 * sqrt(3000.0);
    assert_float_equal(block_norm(x, 3000), norm, 1e-6);
    assert_float_equal(block_clip(x, 3000, 1000), norm, 1e-6);
    assert_true(x[0] == -2);
    assert_float_equal(block_clip(x, 3000, 0), norm, 1e-6);
    assert_true(x[0] == -2);
    assert_float_equal(block_clip(x, 3000, 10), norm, 1e-6);
    assert_float_equal(block_norm(x, 3000), 10, 1e-4);
    x[5] = INFINITY;
    assert_true(isinf(block_clip(x, 3000, 10)));
    assert_true(isfinite(x[0]) && x[0] != 0);
    assert_true(block_norm(x, 0) == 0);
}

static void test_average(void **state) {
    (void)state;
    float average[9] = {0}, x[9];
    for (int i = 0; i < 9; i++) x[i] = (float)i;
    for (int i = 0; i < 3; i++) block_average(average, x, 9, 0.5);
    for (int i = 0; i < 9; i++) assert_float_equal(average[i], 0.875 * i, 1e-6);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_norm_and_clip), cmocka_unit_test(test_average)};
    return cmocka_run_group_tests_name("nn/block", tests, NULL, NULL);
}
