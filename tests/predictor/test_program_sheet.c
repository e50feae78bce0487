/* Features of devices: missing numbers are those of the reference GPU, never infinite. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "device/device.h"
#include "predictor/program/program_sheet.h"

#define SHEET(numbers)                                                                                                 \
    "{\"foretell_device\": 1, \"name\": \"mine\", \"kind\": \"gpu\", \"runtime\": \"torch-eager\"" numbers "}"

static ft_status see(const char *text, float values[static PROGRAM_SHEET_VALUES], ft_error *error) {
    ft_device *device = NULL;
    assert_int_equal(device_parse(text, strlen(text), "mine.json", &device, error), FT_OK);
    ft_status status = program_sheet(device, values, error);
    ft_device_free(device);
    return status;
}

static void test_whole_sheets(void **state) {
    (void)state;
    float values[PROGRAM_SHEET_VALUES];
    ft_error error;
    assert_int_equal(
        see(SHEET(", \"peak_float32_flops\": 40e12, \"bandwidth_bytes_per_s\": 600e9, \"clock_hz\": 1.4e9, "
                  "\"units\": 60"),
            values, &error),
        FT_OK);
    assert_true(fabsf(values[0] - 1) < 1e-6F && values[1] == 0 && values[2] == 0 && values[3] == 0);
    assert_true(fabsf(values[6] - 1) < 1e-6F && fabsf(values[7] - 1) < 1e-6F);
}

static void test_thin_sheets(void **state) {
    (void)state;
    float values[PROGRAM_SHEET_VALUES];
    ft_error error;
    static const char *const thin[] = {
        SHEET(", \"peak_float32_flops\": 1e13, \"bandwidth_bytes_per_s\": 6e11"),
        SHEET(", \"peak_float32_flops\": 1e13, \"bandwidth_bytes_per_s\": 6e11, \"units\": 60"),
        SHEET(", \"peak_float32_flops\": 1e13, \"bandwidth_bytes_per_s\": 6e11, \"clock_hz\": 1.4e9"),
    };
    for (size_t i = 0; i < sizeof thin / sizeof thin[0]; i++) {
        assert_int_equal(see(thin[i], values, &error), FT_OK);
        for (uint32_t k = 0; k < PROGRAM_SHEET_VALUES; k++) assert_true(values[k] == 0);
    }
    assert_int_equal(see(SHEET(", \"units\": 60"), values, &error), FT_ERR_UNSUPPORTED);
    assert_non_null(strstr(error.message, "'mine' has no peak_float32_flops or no bandwidth_bytes_per_s"));
}

static void test_limits(void **state) {
    (void)state;
    enum { ALL = PROGRAM_SHEET_VALUES + PROGRAM_LIMIT_VALUES };
    float values[ALL];
    ft_device *device = NULL;
    ft_error error;
    assert_int_equal(ft_device_open("mi50", &device, &error), FT_OK);
    assert_int_equal(program_sheet_limits(device, values, &error), FT_OK);
    program_limits l = program_limits_of(values);
    assert_true(fabs(l.units - 60) < 1e-3 && fabs(l.clock_hz / 1725e6 - 1) < 1e-5);
    assert_true(fabs(l.bandwidth_bytes_per_s / 1024e9 - 1) < 1e-5 && fabs(l.unit_lanes - 64.25) < 0.01);
    assert_true(fabs(l.unit_threads - 2560) < 0.1 && fabs(l.unit_shared_bytes - 65536) < 1);
    assert_true(fabs(l.unit_registers - 65536) < 1 && fabs(l.warp_threads - 64) < 1e-3);
    assert_true(fabs(l.thread_registers - 64) < 1e-3);
    ft_device_free(device);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_whole_sheets), cmocka_unit_test(test_thin_sheets),
                                       cmocka_unit_test(test_limits)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
