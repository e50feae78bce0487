/* Tests of reading, connecting, summing up and merging recorded traces. */
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
#include <unistd.h>

#include "foretell/document.h"
#include "support/folder.h"
#include "trace/summary.h"

static char root[PATH_MAX]; /* of the project */

static ft_trace *open_path(const char *path) {
    ft_trace *t = NULL;
    ft_error error;
    if (ft_trace_open(path, &t, &error) != FT_OK) fail_msg("%s", error.message);
    return t;
}

static ft_trace *open_example(int rank) {
    char path[PATH_MAX + 64];
    snprintf(path, sizeof path, "%s/examples/measurements/trace-rank%d.json", root, rank);
    return open_path(path);
}

static void write_text(const char *path, const char *text) {
    FILE *stream = fopen(path, "w");
    assert_non_null(stream);
    assert_true(fputs(text, stream) >= 0 && fclose(stream) == 0);
}

static ft_trace *open_text(const char *text) {
    write_text("trace.json", text);
    return open_path("trace.json");
}

/* The status of a text that is no trace; the message goes to `error`. */
static ft_status refuse(const char *text, ft_error *error) {
    ft_trace *t = NULL;
    write_text("bad.json", text);
    ft_status status = ft_trace_open("bad.json", &t, error);
    assert_null(t);
    return status;
}

static const summary_item *item_of(const summary_items *items, const char *name) {
    for (uint32_t i = 0; i < items->count; i++)
        if (strcmp(items->items[i].name, name) == 0) return &items->items[i];
    fail_msg("no item %s", name);
    return NULL;
}

static summary sum(const ft_trace *t) {
    summary s;
    ft_error error;
    static const ft_trace *list[1];
    list[0] = t;
    if (summary_make(list, 1, &s, &error) != FT_OK) fail_msg("%s", error.message);
    return s;
}

/* --- Tests --------------------------------------------------------------------------------------------------- */

static void times_keep_nanoseconds(void **state) {
    (void)state;
    int64_t ns;
    assert_true(trace_parse_ns("1712195495505583.017", 20, &ns) && ns == INT64_C(1712195495505583017));
    assert_true(trace_parse_ns("12", 2, &ns) && ns == 12000);
    assert_true(trace_parse_ns("-1.5", 4, &ns) && ns == -1500);
    assert_true(trace_parse_ns("0.12345", 7, &ns) && ns == 123);
    assert_true(trace_parse_ns("1e3", 3, &ns) && ns == 1000000);
    assert_false(trace_parse_ns("", 0, &ns));
    assert_false(trace_parse_ns("-", 1, &ns));
    assert_false(trace_parse_ns("1.2.3", 5, &ns));
    assert_false(trace_parse_ns("99999999999999999999", 20, &ns));
    assert_false(trace_parse_ns("1e300", 5, &ns));
}

static void kernels_belong_to_the_innermost_operator(void **state) {
    (void)state;
    ft_trace *t = open_example(0);
    summary s = sum(t);
    assert_int_equal(s.kernel_count, 10);
    assert_true(item_of(&s.operators, "aten::cudnn_convolution")->time_us == 101);
    assert_int_equal(item_of(&s.operators, "aten::addmm")->calls, 2);
    assert_int_equal(item_of(&s.operators, "nccl:all_reduce")->count, 2);
    assert_int_equal(s.unlinked, 0);
    assert_int_equal(s.shapeless, 4);
    assert_int_equal(s.steps[0].steps, 2);
    assert_true(s.steps[0].time_us == 900 && s.steps[0].kernels == 5);
    summary_free(&s);
    ft_trace_free(t);
}

#define KERNEL(ts, dur, correlation)                                                                                   \
    "{\"ph\":\"X\",\"cat\":\"Kernel\",\"name\":\"k\",\"pid\":0,\"tid\":\"stream 7\",\"ts\":" #ts ",\"dur\":" #dur      \
    ",\"args\":{\"device\":0,\"correlation\":" #correlation "}}"
#define LAUNCH(ts, dur, correlation)                                                                                   \
    "{\"ph\":\"X\",\"cat\":\"Runtime\",\"name\":\"l\",\"pid\":5,\"tid\":\"5\",\"ts\":" #ts ",\"dur\":" #dur            \
    ",\"args\":{\"correlation\":" #correlation "}}"

static void gaps_are_late_until_the_launch_returns(void **state) {
    (void)state;
    /* Busy 10-20, 50-60, 58-70 and 80-90: of 30 idle microseconds, 24 passed before the second launch returned. */
    ft_trace *t = open_text("{\"traceEvents\":[" LAUNCH(0, 5, 1) "," LAUNCH(40, 4, 2) "," LAUNCH(45, 2, 3) "," LAUNCH(
        48, 2, 4) "," KERNEL(10, 10, 1) "," KERNEL(50, 10, 2) "," KERNEL(58, 12, 3) "," KERNEL(80, 10, 4) "]}");
    summary s = sum(t);
    assert_int_equal(s.device_count, 1);
    assert_true(s.devices[0].busy_us == 40 && s.devices[0].span_us == 80);
    assert_int_equal(s.devices[0].gaps, 2);
    assert_int_equal(s.devices[0].late_gaps, 1);
    assert_true(s.devices[0].late_us == 24 && s.devices[0].waiting_us == 16);
    assert_true(s.devices[0].launch_us == 3);
    assert_int_equal(s.unlinked, 4); /* no operator around the launches */
    summary_free(&s);
    ft_trace_free(t);
}

static void an_occupancy_of_zero_is_none(void **state) {
    (void)state;
    ft_trace *t = open_text("[{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"a\",\"ts\":1,\"dur\":2,\"args\":{\"est. "
                            "achieved occupancy %\":0}},"
                            "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"b\",\"ts\":4,\"dur\":2,\"args\":{\"est. "
                            "achieved occupancy %\":25}}]");
    assert_int_equal(t->count, 2);
    assert_true(isnan(t->events[0].occupancy));
    assert_true(t->events[1].occupancy == 0.25);
    ft_trace_free(t);
}

static void files_that_are_no_trace_are_refused(void **state) {
    (void)state;
    ft_error error;
    assert_int_equal(refuse("{\"traceEvents\":[]}", &error), FT_ERR_FORMAT);
    assert_non_null(strstr(error.message, "bad.json: has no kernel, launch or operator"));
    assert_int_equal(refuse("{}", &error), FT_ERR_FORMAT);
    assert_int_equal(refuse("[{\"ph\":\"X\"", &error), FT_ERR_DAMAGED);
    assert_non_null(strstr(error.message, "bad.json: byte 10: "));
    assert_int_equal(refuse("{\"traceEvents\":[3]} x", &error), FT_ERR_DAMAGED);
    assert_int_equal(refuse("3", &error), FT_ERR_DAMAGED);
}

static void odd_values_of_events_are_ignored(void **state) {
    (void)state;
    ft_trace *t = open_text("[1, null, {\"ph\":3,\"name\":[1],\"cat\":{}}, " KERNEL(1, -2, 1) "," KERNEL(
        "x", 2, 1) ",{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"\\u0041\",\"ts\":1,\"dur\":2,\"args\":7}]");
    assert_int_equal(t->count, 1);
    assert_string_equal(t->names[t->events[0].name], "A");
    assert_int_equal(t->ignored, 5);
    assert_int_equal(t->events[0].device, -1);
    ft_trace_free(t);
}

static ft_trace *merge(const ft_trace *const *list, uint32_t count, ft_trace_merge_result *result) {
    ft_error error;
    FILE *stream = fopen("merged.json", "w");
    assert_non_null(stream);
    if (ft_trace_merge(stream, list, count, result, &error) != FT_OK) fail_msg("%s", error.message);
    fclose(stream);
    return open_path("merged.json");
}

static void ranks_are_aligned_by_the_ends_of_collectives(void **state) {
    (void)state;
    ft_trace *a = open_example(0), *b = open_example(1);
    ft_trace_merge_result result;
    ft_trace *both = merge((const ft_trace *const[]){a, b}, 2, &result);
    assert_int_equal(result.aligned, 1);
    assert_int_equal(both->count, a->count + b->count);
    summary s = sum(both);
    assert_int_equal(s.device_count, 2);
    assert_int_equal(s.devices[1].number, 16);
    assert_string_equal(s.devices[1].name, "Tesla V100-SXM2-32GB");
    assert_true(s.devices[0].span_us == 1900 && s.devices[1].span_us == 1900);
    assert_true(item_of(&s.operators, "aten::cudnn_convolution")->time_us == 202); /* still connected */
    assert_int_equal(s.unlinked, 0);
    summary_free(&s);
    for (uint32_t i = 0; i < a->count; i++) {
        const trace_event *x = &both->events[i], *y = &both->events[a->count + i];
        if (trace_is_collective(both->names[x->name]) && x->kind == TRACE_KERNEL)
            assert_int_equal(trace_end_ns(x), trace_end_ns(y));
    }
    ft_trace_free(both);
    ft_trace_free(a);
    ft_trace_free(b);
}

static void traces_of_one_process_keep_their_clock(void **state) {
    (void)state;
    ft_trace *a = open_example(0);
    ft_trace_merge_result result;
    ft_trace *twice = merge((const ft_trace *const[]){a, a}, 2, &result);
    assert_int_equal(result.aligned, 0);
    assert_int_equal(twice->events[a->count].start_ns, a->events[0].start_ns);
    ft_trace_free(twice);
    ft_trace_free(a);
}

static void first_trace_of_resnet50_has_53_convolutions_a_step(void **state) {
    (void)state;
    char path[PATH_MAX + 128];
    snprintf(path, sizeof path,
             "%s/../shared/data/traces/tb_plugin_samples_resnet50_num_workers_0_worker0.1623143089861.pt.trace.json.gz",
             root);
    if (access(path, R_OK) != 0) {
        print_message("  skipped: %s is not there\n", path);
        return;
    }
    ft_trace *t = open_path(path);
    summary s = sum(t);
    assert_int_equal(s.steps[0].steps, 6);
    assert_int_equal(item_of(&s.operators, "aten::cudnn_convolution")->calls, 6 * 53);
    assert_true(fabs(ft_trace_kernel_time_us(t) - 591.5e3) < 50);
    assert_int_equal(ft_trace_kernel_count(t), 8772);
    assert_int_equal(s.unlinked, 0);
    assert_int_equal(s.shapeless, 0);
    summary_free(&s);
    ft_trace_free(t);
}

int main(void) {
    assert_non_null(getcwd(root, sizeof root));
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(times_keep_nanoseconds),
        cmocka_unit_test(kernels_belong_to_the_innermost_operator),
        cmocka_unit_test(gaps_are_late_until_the_launch_returns),
        cmocka_unit_test(an_occupancy_of_zero_is_none),
        cmocka_unit_test(files_that_are_no_trace_are_refused),
        cmocka_unit_test(odd_values_of_events_are_ignored),
        cmocka_unit_test(ranks_are_aligned_by_the_ends_of_collectives),
        cmocka_unit_test(traces_of_one_process_keep_their_clock),
        cmocka_unit_test(first_trace_of_resnet50_has_53_convolutions_a_step),
    };
    return cmocka_run_group_tests(tests, folder_enter, folder_leave);
}
