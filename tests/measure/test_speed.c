/* Tests of the speed of the machine, and of the data sheet that is made of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "foretell/foretell.h"
#include "support/folder.h"

static ft_machine_speed made_up(void) {
    ft_machine_speed s = {.threads = 2, .count = 2, .instructions = "AVX2", .l2_bytes = NAN, .cache_bytes = 4194304};
    s.points[0] = (ft_speed_point){16384, 9e10, 8e10, 7e10};
    s.points[1] = (ft_speed_point){32768, 3e10, 2e10, 1e10};
    s.peak_float32_flops = 1e11;
    s.peak_float64_flops = 5e10;
    return s;
}

static void test_this_machine_has_bandwidth_and_peaks(void **state) {
    (void)state;
    ft_machine_speed s;
    ft_error error;
    if (ft_machine_speed_measure(1, 0.05, &s, &error) != FT_OK) fail_msg("%s", error.message);
    assert_int_equal(s.count, FT_SPEED_POINTS);
    assert_true(s.points[0].bytes == 16384 && s.points[FT_SPEED_POINTS - 1].bytes == 1 << 28);
    for (uint32_t i = 0; i < s.count; i++) {
        const ft_speed_point *p = &s.points[i];
        assert_true(p->read_bytes_per_s > 1e6 && p->write_bytes_per_s > 1e6 && p->copy_bytes_per_s > 1e6);
    }
    assert_true(s.peak_float32_flops > 1e7 && s.peak_float64_flops > 1e7);
}

static void test_wrong_arguments_are_refused(void **state) {
    (void)state;
    ft_machine_speed s = {0};
    ft_style style = ft_style_default();
    ft_error error;
    assert_int_equal(ft_machine_speed_measure(0, 1, &s, &error), FT_ERR_USAGE);
    assert_int_equal(ft_machine_speed_measure(100000, 1, &s, &error), FT_ERR_USAGE);
    assert_int_equal(ft_machine_speed_measure(1, NAN, &s, &error), FT_ERR_USAGE);
    assert_int_equal(ft_machine_speed_measure(1, 1, NULL, &error), FT_ERR_USAGE);
    s.count = 0;
    assert_int_equal(ft_report_machine_speed(stdout, &style, &s, &error), FT_ERR_USAGE);
    assert_int_equal(ft_machine_speed_sheet(stdout, "here", &s, &error), FT_ERR_USAGE);
}

static void test_the_data_sheet_is_a_device(void **state) {
    (void)state;
    ft_machine_speed s = made_up();
    ft_device *device;
    ft_error error;
    FILE *stream = fopen("here.json", "w");
    assert_int_equal(ft_machine_speed_sheet(stream, "here", &s, NULL), FT_OK);
    fclose(stream);
    if (ft_device_open("here.json", &device, &error) != FT_OK) fail_msg("%s", error.message);
    assert_string_equal(ft_device_name(device), "here");
    assert_string_equal(ft_device_kind(device), "cpu");
    ft_device_free(device);
}

static void test_speed_is_written_as_csv(void **state) {
    (void)state;
    ft_machine_speed s = made_up();
    ft_style style = ft_style_default();
    for (int i = 0; i < 3; i++) {
        FILE *stream = fopen("s.txt", "w");
        style.output = (ft_output)i;
        assert_int_equal(ft_report_machine_speed(stream, &style, &s, NULL), FT_OK);
        fclose(stream);
    }
    folder_expect("s.txt", "bytes,read_bytes_per_s,write_bytes_per_s,copy_bytes_per_s\n"
                           "16384,90000000000,80000000000,70000000000\n"
                           "32768,30000000000,20000000000,10000000000\n");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_this_machine_has_bandwidth_and_peaks),
        cmocka_unit_test(test_wrong_arguments_are_refused),
        cmocka_unit_test_setup_teardown(test_the_data_sheet_is_a_device, folder_enter, folder_leave),
        cmocka_unit_test_setup_teardown(test_speed_is_written_as_csv, folder_enter, folder_leave),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
