/* Steps of an array of multipliers are those that its compiler computes. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "predictor/core/kernel_rows.h"

static void full_arrays_take_one_step_for_256_products(void **state) {
    (void)state;
    assert_true(array_steps(256, 256, 1) == 256);
    assert_true(array_steps(256, 512, 1) == 512);
}

static void few_outputs_are_split_over_inputs(void **state) {
    (void)state;
    /* 64 outputs of 4 inputs at a time: 16 x 9 steps and 11 to add the four up. */
    assert_true(array_steps(64, 64, 9) == 16 * 9 + 11);
    /* 16 outputs of 16 inputs at a time are the most. */
    assert_true(array_steps(512, 16, 9) == 32 * 9 + 31);
}

static void idle_multipliers_take_as_long(void **state) {
    (void)state;
    assert_true(array_steps(256, 200, 1) == array_steps(256, 256, 1));
    assert_true(array_steps(3, 1, 49) >= 49);
    assert_true(array_steps(100, 257, 1) > array_steps(100, 256, 1));
}

static void large_kernels_are_taken_in_parts(void **state) {
    (void)state;
    /* 819 channels of 7x7 do not fit: 16 ways of 10 channels, 6 parts. */
    assert_true(array_steps(819, 16, 49) == 6 * (9 * 49 + 31));
    double huge = array_steps(1e6, 1e6, 225);
    assert_true(isfinite(huge) && huge > 0);
    assert_true(array_steps(0, 0, 0) == 0);
}

static void large_outputs_read_weights_again(void **state) {
    (void)state;
    assert_true(array_rereads(ARRAY_OUTPUTS / 2.0) == 0);
    assert_true(array_rereads(3.0 * ARRAY_OUTPUTS) == 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(full_arrays_take_one_step_for_256_products),
        cmocka_unit_test(few_outputs_are_split_over_inputs),
        cmocka_unit_test(idle_multipliers_take_as_long),
        cmocka_unit_test(large_kernels_are_taken_in_parts),
        cmocka_unit_test(large_outputs_read_weights_again),
    };
    return cmocka_run_group_tests_name("predictor/kernel_rows", tests, NULL, NULL);
}
