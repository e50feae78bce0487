/* Tests of the names of features, the position encoding and the features of a device. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "foretell/program.h"

/* sin(p / 10000^(2i / 164)) for even i, the cosine for odd i. */
static void test_position_encoding(void **state) {
    (void)state;
    float position[FT_PROGRAM_FEATURES];
    ft_program_position_encoding(3, position);
    assert_true(fabs(position[0] - sin(3)) < 1e-6 && fabs(position[1] - cos(3 / pow(10000, 2.0 / 164))) < 1e-6);
    assert_true(fabs(position[163] - cos(3 / pow(10000, 2 * 163 / 164.0))) < 1e-6);
}

static void test_names_are_unique(void **state) {
    (void)state;
    enum { COUNT = FT_PROGRAM_FEATURES + FT_PROGRAM_GPU_FEATURES };
    static char names[COUNT][32];
    for (uint32_t i = 0; i < COUNT; i++) {
        assert_ptr_equal(ft_program_feature_name(i, names[i]), names[i]);
        for (uint32_t k = 0; k < i; k++) assert_string_not_equal(names[k], names[i]);
    }
    assert_string_equal(names[2], "float_mul");
    assert_string_equal(names[14], "bool_op");
    assert_string_equal(names[48], "parallel_type.mixed");
    assert_string_equal(names[57 + 18 + 3], "B1.bytes");
    assert_string_equal(names[156], "arith_intensity_curve_9");
    assert_string_equal(names[163], "auto_unroll_max_step");
    assert_string_equal(names[164], "blocks");
    assert_string_equal(names[COUNT - 1], "unrolled.cycles");
}

/* A T4, with the values of CDMPP, and an unknown device. */
static void test_device(void **state) {
    (void)state;
    static const float expected[FT_PROGRAM_DEVICE_FEATURES] = {1,      0.795F, 0.667F, 0.750F,
                                                               0.333F, 0.750F, 0.757F, 0.678F};
    const ft_program_sheet t4 = {.clock_hz = 1590e6,
                                 .memory_bytes = 16.0 * (1 << 30),
                                 .shared_bytes = 64 * 1024,
                                 .l2_bytes = 4 << 20,
                                 .l1_bytes = 64 * 1024,
                                 .bandwidth_bytes_per_s = 320e9,
                                 .peak_float32_flops = 8.141e12};
    float row[FT_PROGRAM_DEVICE_FEATURES];
    ft_program_device_features(&t4, row);
    for (int i = 0; i < FT_PROGRAM_DEVICE_FEATURES; i++) assert_true(fabsf(row[i] - expected[i]) < 6e-4F);
    ft_program_device_features(&(ft_program_sheet){0}, row);
    for (int i = 1; i < FT_PROGRAM_DEVICE_FEATURES; i++) assert_true(row[i] == 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_position_encoding),
        cmocka_unit_test(test_names_are_unique),
        cmocka_unit_test(test_device),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
