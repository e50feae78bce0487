/* Tests of monitoring with a stand-in for NVML (standin/nvidia_ml.c) and made-up files of proc and sys. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "foretell/foretell.h"
#include "support/folder.h"

static char standin[PATH_MAX];

static void write_file(const char *path, const char *text) {
    char folder[PATH_MAX];
    snprintf(folder, sizeof folder, "%s", path);
    for (char *slash = strchr(folder, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(folder, 0777);
        *slash = '/';
    }
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0 && fclose(file) == 0);
}

#define CARD "root/sys/class/drm/card1/device/"

static int set_up(void **state) {
    char program[PATH_MAX - 64];
    if (folder_enter(state) != 0) return -1;
    ssize_t size = readlink("/proc/self/exe", program, sizeof program - 1);
    program[size] = '\0';
    for (int i = 0; i < 2; i++) *strrchr(program, '/') = '\0';
    snprintf(standin, sizeof standin, "%s/standin/libnvidia_ml_standin.so", program);
    write_file("root/proc/stat", "cpu  100 0 100 700 100 0 0 0 0 0\ncpu0 1 1\n");
    write_file("root/proc/meminfo", "MemTotal:       1000 kB\nMemFree: 5 kB\nMemAvailable:    400 kB\n");
    write_file("root/proc/cpuinfo", "processor\t: 0\nmodel name\t: Made-up CPU\n");
    write_file("root/sys/class/powercap/intel-rapl:0/energy_uj", "5000000\n");
    write_file("root/sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq", "2500000\n");
    return 0;
}

static int tear_down(void **state) {
    unsetenv("STANDIN_MODE");
    return folder_leave(state);
}

static ft_monitor *open_with(ft_monitor_options options) {
    ft_monitor *m = NULL;
    ft_error error;
    options.root = "root";
    if (options.nvml == NULL) options.nvml = "absent.so";
    if (ft_monitor_open(&options, &m, &error) != FT_OK) fail_msg("%s", error.message);
    return m;
}

static void take(ft_monitor *m, double seconds, ft_monitor_sample *samples) {
    ft_error error;
    if (ft_monitor_take(m, seconds, samples, &error) != FT_OK) fail_msg("%s", error.message);
}

static void test_processor_is_busy_between_samples(void **state) {
    (void)state;
    ft_monitor_sample s[FT_MONITOR_DEVICES];
    ft_monitor *m = open_with((ft_monitor_options){0});
    assert_int_equal(ft_monitor_device_count(m), 1);
    assert_string_equal(ft_monitor_device_id(m, 0), "cpu");
    assert_string_equal(ft_monitor_device_name(m, 0), "Made-up CPU");
    assert_true(ft_monitor_memory_bytes(m, 0) == 1000 * 1024);
    take(m, 0, s);
    assert_true(isnan(s[0].util_ratio) && isnan(s[0].power_w));
    write_file("root/proc/stat", "cpu  130 0 120 740 110 0 0 0 0 0\n"); /* 50 busy ticks, 50 idle ones */
    write_file("root/sys/class/powercap/intel-rapl:0/energy_uj", "25000000\n");
    take(m, 2, s);
    assert_true(s[0].util_ratio == 0.5 && s[0].power_w == 10 && s[0].memory_bytes == 600 * 1024);
    assert_true(s[0].clock_hz == 2.5e9 && isnan(s[0].memory_util_ratio));
    ft_error error;
    assert_int_equal(ft_monitor_take(m, 2, s, &error), FT_ERR_USAGE);
    write_file("root/proc/stat", "nothing\n");
    assert_int_equal(ft_monitor_take(m, 3, s, &error), FT_ERR_IO);
    ft_monitor_free(m);
}

static void test_nvml_reports_gpus(void **state) {
    (void)state;
    ft_monitor_sample s[FT_MONITOR_DEVICES];
    ft_monitor *m = open_with((ft_monitor_options){.nvml = standin});
    assert_int_equal(ft_monitor_device_count(m), 3);
    assert_string_equal(ft_monitor_device_id(m, 1), "gpu0");
    assert_string_equal(ft_monitor_device_name(m, 2), "Stand-in GPU 1");
    assert_string_equal(ft_monitor_note(m), "");
    assert_true(ft_monitor_memory_bytes(m, 1) == 8.0 * (1 << 30));
    take(m, 0, s);
    assert_true(s[1].util_ratio == 0.1 && s[1].memory_util_ratio == 0.05 && s[1].memory_bytes == 1 << 30);
    assert_true(s[1].power_w == 150.5 && s[1].clock_hz == 1.5e9 && isnan(s[2].power_w));
    ft_monitor_free(m);
}

static void test_a_driver_that_fails_is_a_note(void **state) {
    (void)state;
    setenv("STANDIN_MODE", "broken", 1);
    ft_monitor *m = open_with((ft_monitor_options){.nvml = standin});
    assert_int_equal(ft_monitor_device_count(m), 1);
    assert_string_equal(ft_monitor_note(m), "NVML: Driver Not Loaded (stand-in)");
    ft_monitor_free(m);
}

static void test_amd_cards_are_read_from_sysfs(void **state) {
    (void)state;
    write_file(CARD "vendor", "0x1002\n");
    write_file(CARD "product_name", "Made-up Radeon\n");
    write_file(CARD "gpu_busy_percent", "75\n");
    write_file(CARD "mem_busy_percent", "25\n");
    write_file(CARD "mem_info_vram_total", "1000\n");
    write_file(CARD "mem_info_vram_used", "300\n");
    write_file(CARD "hwmon/hwmon7/power1_average", "90000000\n");
    write_file(CARD "hwmon/hwmon7/freq1_input", "2000000000\n");
    write_file("root/sys/class/drm/card0/device/vendor", "0x8086\n");
    ft_monitor_sample s[FT_MONITOR_DEVICES];
    ft_monitor *m = open_with((ft_monitor_options){0});
    assert_int_equal(ft_monitor_device_count(m), 2);
    assert_string_equal(ft_monitor_device_name(m, 1), "Made-up Radeon");
    take(m, 0, s);
    assert_true(s[1].util_ratio == 0.75 && s[1].memory_util_ratio == 0.25 && s[1].memory_bytes == 300);
    assert_true(s[1].power_w == 90 && s[1].clock_hz == 2e9);
    ft_monitor_free(m);
}

/* The stand-in is 10, 20, ... percent busy: samples at 0, 1, ... 9 s. */
static void test_summary_is_about_the_window(void **state) {
    (void)state;
    ft_monitor_sample s[FT_MONITOR_DEVICES];
    ft_monitor_summary all[FT_MONITOR_DEVICES];
    bool is_short;
    ft_monitor *m = open_with((ft_monitor_options){.nvml = standin, .warm_up_s = 3, .window_s = 4});
    for (int i = 0; i < 3; i++) take(m, i, s);
    assert_int_equal(ft_monitor_summarize(m, all, &is_short, NULL), FT_OK);
    assert_true(is_short && all[1].samples == 3);
    assert_true(fabs(all[1].average.util_ratio - 0.2) < 1e-9);
    for (int i = 3; i < 10; i++) take(m, i, s);
    assert_int_equal(ft_monitor_summarize(m, all, &is_short, NULL), FT_OK);
    assert_true(!is_short && all[1].samples == 5);
    assert_true(fabs(all[1].average.util_ratio - 0.6) < 1e-9 && all[1].peak.util_ratio == 0.8);
    assert_true(all[1].average.memory_bytes == 6.0 * (1 << 30) && all[1].peak.memory_bytes == 8.0 * (1 << 30));
    assert_true(isnan(all[2].average.power_w) && isnan(all[2].peak.power_w));
    ft_monitor_free(m);
}

static void test_samples_and_summary_are_written(void **state) {
    (void)state;
    ft_monitor_sample s[FT_MONITOR_DEVICES];
    ft_monitor *m = open_with((ft_monitor_options){.nvml = standin});
    take(m, 0.5, s);
    FILE *stream = fopen("s.csv", "w");
    assert_int_equal(ft_monitor_csv_sample(stream, m, 0.5, s, NULL), FT_OK);
    fclose(stream);
    folder_expect("s.csv", "0.500,cpu,,,614400,,2500000000\n"
                           "0.500,gpu0,0.1,0.05,1073741824,150.5,1500000000\n"
                           "0.500,gpu1,0.1,0.05,1073741824,,1500000000\n");
    ft_style style = ft_style_default();
    for (int i = 0; i < 3; i++) {
        stream = fopen("s.txt", "w");
        style.output = (ft_output)i;
        assert_int_equal(ft_report_monitor(stream, &style, m, NULL), FT_OK);
        assert_true(ftell(stream) > 100);
        fclose(stream);
    }
    ft_monitor_free(m);
}

static void test_wrong_arguments_are_refused(void **state) {
    (void)state;
    ft_monitor *m;
    ft_monitor_options options = {.warm_up_s = NAN}, lost = {.root = "nowhere"};
    ft_error error;
    assert_int_equal(ft_monitor_open(&options, &m, &error), FT_ERR_USAGE);
    assert_int_equal(ft_monitor_open(&lost, &m, &error), FT_ERR_IO);
    assert_non_null(strstr(error.message, "nowhere/proc/stat"));
    assert_int_equal(ft_monitor_open(NULL, NULL, &error), FT_ERR_USAGE);
    assert_int_equal(ft_monitor_take(NULL, 0, NULL, &error), FT_ERR_USAGE);
    assert_null(ft_monitor_device_id(NULL, 0));
    assert_int_equal(ft_monitor_device_count(NULL), 0);
    assert_true(isnan(ft_monitor_memory_bytes(NULL, 0)));
    ft_monitor_free(NULL);
}

#define MONITOR_TEST(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        MONITOR_TEST(test_processor_is_busy_between_samples), MONITOR_TEST(test_nvml_reports_gpus),
        MONITOR_TEST(test_a_driver_that_fails_is_a_note),     MONITOR_TEST(test_amd_cards_are_read_from_sysfs),
        MONITOR_TEST(test_summary_is_about_the_window),       MONITOR_TEST(test_samples_and_summary_are_written),
        MONITOR_TEST(test_wrong_arguments_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
