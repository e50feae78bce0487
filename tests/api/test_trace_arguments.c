/* Wrong arguments of trace.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>

#include "support/arguments.h"
#include "support/folder.h"

static ft_trace *trace;
static FILE *sink;
static const ft_trace *list[1];
static ft_style style;

CALL(ft_trace_open) {
    ft_trace *made = NULL;
    ft_status status = ft_trace_open(REQUIRED("trace.json"), REQUIRED(&made), ERROR);
    ft_trace_free(made);
    return status;
}
GET(ft_trace_kernel_time_us, ft_trace_kernel_time_us(REQUIRED(trace)) == 0)
GET(ft_trace_kernel_count, ft_trace_kernel_count(REQUIRED(trace)) == 0)

CALL(ft_report_trace_summary) {
    static const ft_style others[] = {{.output = (ft_output)99}};
    static const ft_trace_summary_options options;
    return ft_report_trace_summary(REQUIRED(sink), REFUSED_OF(&style, others, COUNT_OF(others)), REQUIRED(list), 1,
                                   OPTIONAL(&options), ERROR);
}

CALL(ft_trace_merge) {
    ft_trace_merge_result result;
    return ft_trace_merge(REQUIRED(sink), REQUIRED(list), REFUSED(uint32_t, 1, 0), OPTIONAL(&result), ERROR);
}

static const argument_row rows[] = {
    ROW(ft_trace_open),           ROW(ft_trace_kernel_time_us), ROW(ft_trace_kernel_count),
    ROW(ft_report_trace_summary), ROW(ft_trace_merge),
};

static int set_up(void **state) {
    if (folder_enter(state) != 0) return -1;
    FILE *file = fopen("trace.json", "w");
    if (file == NULL) return -1;
    fputs("[{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"k\", \"pid\": 0, \"tid\": 7, \"ts\": 1, \"dur\": 2}]",
          file);
    fclose(file);
    style = ft_style_default();
    sink = fopen("/dev/null", "w");
    bool is_ok = sink != NULL && ft_trace_open("trace.json", &trace, NULL) == FT_OK;
    list[0] = trace;
    return is_ok ? 0 : -1;
}

static int tear_down(void **state) {
    ft_trace_free(trace);
    ft_trace_free(NULL);
    fclose(sink);
    return folder_leave(state);
}

static void test_arguments(void **state) {
    (void)state;
    arguments_try(rows, COUNT_OF(rows));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test_setup_teardown(test_arguments, set_up, tear_down)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
