/* Wrong arguments of measure.h and monitor.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>

#include "support/arguments.h"

static FILE *sink;
static ft_style style;
static ft_monitor *monitor;
static ft_monitor_sample samples[FT_MONITOR_DEVICES];
static double seconds;
static const ft_style other_styles[] = {{.output = (ft_output)99}};
static const ft_measured_row row = {.model = "m.onnx", .device = "here", .runtime = "onnxruntime-cpu", .shape = ""};
static const ft_machine machine = {.cores = 1, .free_cores = 1};
static ft_machine_speed speed = {.threads = 1, .count = 1, .instructions = "none"};

CALL(ft_machine_probe) {
    ft_machine found;
    return ft_machine_probe(REFUSED(double, 0.001, -1, NAN, INFINITY), REQUIRED(&found), ERROR);
}
CALL(ft_machine_speed_measure) {
    ft_machine_speed found;
    return ft_machine_speed_measure(REFUSED(uint32_t, 1, 0, UINT32_MAX), REFUSED(double, 0.001, 0, -1, NAN, INFINITY),
                                    REQUIRED(&found), ERROR);
}
CALL(ft_report_machine_speed) {
    return ft_report_machine_speed(REQUIRED(sink), REFUSED_OF(&style, other_styles, COUNT_OF(other_styles)),
                                   REQUIRED(&speed), ERROR);
}
CALL(ft_machine_speed_sheet) {
    return ft_machine_speed_sheet(REQUIRED(sink), REQUIRED("here"), REQUIRED(&speed), ERROR);
}
CALL(ft_measurements_csv_row) {
    return ft_measurements_csv_row(REQUIRED(sink), REQUIRED(&row), ERROR);
}
CALL(ft_report_measurements) {
    return ft_report_measurements(REQUIRED(sink), REFUSED_OF(&style, other_styles, COUNT_OF(other_styles)),
                                  REQUIRED(&machine), REQUIRED(&row), 1, ERROR);
}
CALL(ft_monitor_open) {
    static const ft_monitor_options options, others[] = {{.warm_up_s = -1}, {.warm_up_s = NAN}, {.window_s = -1}};
    ft_monitor *made = NULL;
    ft_status status = ft_monitor_open(ODD_OF(&options, others, COUNT_OF(others)), REQUIRED(&made), ERROR);
    ft_monitor_free(made);
    return status;
}
CALL(ft_monitor_take) {
    return ft_monitor_take(REQUIRED(monitor), REFUSED(double, ++seconds, -1, NAN), REQUIRED(samples), ERROR);
}
CALL(ft_monitor_summarize) {
    ft_monitor_summary all[FT_MONITOR_DEVICES];
    bool is_short;
    return ft_monitor_summarize(REQUIRED(monitor), REQUIRED(all), REQUIRED(&is_short), ERROR);
}
CALL(ft_monitor_csv_sample) {
    return ft_monitor_csv_sample(REQUIRED(sink), REQUIRED(monitor), 1, REQUIRED(samples), ERROR);
}
CALL(ft_report_monitor) {
    return ft_report_monitor(REQUIRED(sink), REFUSED_OF(&style, other_styles, COUNT_OF(other_styles)),
                             REQUIRED(monitor), ERROR);
}
GET(ft_monitor_device_count, ft_monitor_device_count(REQUIRED(monitor)) == 0)
GET(ft_monitor_device_id, ft_monitor_device_id(REQUIRED(monitor), REFUSED(uint32_t, 0, 1000, UINT32_MAX)) == NULL)
GET(ft_monitor_device_name, ft_monitor_device_name(REQUIRED(monitor), REFUSED(uint32_t, 0, 1000, UINT32_MAX)) == NULL)
GET(ft_monitor_memory_bytes, isnan(ft_monitor_memory_bytes(REQUIRED(monitor), REFUSED(uint32_t, 0, 1000, UINT32_MAX))))

static const argument_row rows[] = {
    ROW(ft_machine_probe),       ROW(ft_machine_speed_measure), ROW(ft_report_machine_speed),
    ROW(ft_machine_speed_sheet), ROW(ft_measurements_csv_row),  ROW(ft_report_measurements),
    ROW(ft_monitor_open),        ROW(ft_monitor_take),          ROW(ft_monitor_summarize),
    ROW(ft_monitor_csv_sample),  ROW(ft_report_monitor),        ROW(ft_monitor_device_count),
    ROW(ft_monitor_device_id),   ROW(ft_monitor_device_name),   ROW(ft_monitor_memory_bytes),
};

static int set_up(void **state) {
    static const ft_monitor_options options;
    (void)state;
    style = ft_style_default();
    sink = fopen("/dev/null", "w");
    return sink != NULL && ft_monitor_open(&options, &monitor, NULL) == FT_OK ? 0 : -1;
}

static int tear_down(void **state) {
    (void)state;
    ft_monitor_free(monitor);
    ft_monitor_free(NULL);
    ft_measurement_free(NULL);
    fclose(sink);
    return 0;
}

static void test_arguments(void **state) {
    (void)state;
    arguments_try(rows, COUNT_OF(rows));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test_setup_teardown(test_arguments, set_up, tear_down)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
