/* test_report_trace.c - traces: kernels follow each other and add up, the times of the memory counter never decrease,
 * and failures leave no file. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <jansson.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "support/example_results.h"
#include "support/failing.h"
#include "support/folder.h"

static example_results example;

static json_t *trace_of(uint32_t index) {
    ft_error error;
    json_error_t json_error;
    if (ft_result_trace("trace.json", &example.entry, index, &error) != FT_OK) fail_msg("%s", error.message);
    json_t *document = json_load_file("trace.json", JSON_REJECT_DUPLICATES, &json_error);
    if (document == NULL) fail_msg("line %d: %s", json_error.line, json_error.text);
    return document;
}

static double number(const json_t *object, const char *key) {
    return json_number_value(json_object_get(object, key));
}

static bool is_kind(const json_t *event, const char *phase) {
    return strcmp(json_string_value(json_object_get(event, "ph")), phase) == 0;
}

/* The events of a kind by time; returns how many. */
static size_t events_of(const json_t *document, const char *phase, const json_t **events, size_t max_count) {
    size_t count = 0, i;
    const json_t *event;
    json_array_foreach(json_object_get(document, "traceEvents"), i, event) {
        if (!is_kind(event, phase)) continue;
        assert_true(count < max_count);
        size_t at = count++;
        for (; at > 0 && number(events[at - 1], "ts") > number(event, "ts"); at--) events[at] = events[at - 1];
        events[at] = event;
    }
    return count;
}

static double length_of(const json_t **events, size_t count) {
    double sum = 0;
    for (size_t i = 0; i < count; i++) {
        if (i > 0)
            assert_true(number(events[i], "ts") >= number(events[i - 1], "ts") + number(events[i - 1], "dur") - 1e-9);
        sum += number(events[i], "dur");
    }
    return sum;
}

static void test_inference(void **state) {
    (void)state;
    const json_t *events[32];
    json_t *document = trace_of(0);
    size_t count = events_of(document, "X", events, 32);
    assert_int_equal(count, EXAMPLE_KERNELS);
    assert_float_equal(length_of(events, count), 100, 1e-9); /* the correction of -4 has no length */
    assert_string_equal(json_string_value(json_object_get(events[0], "name")), "conv-relu");
    const json_t *args = json_object_get(events[0], "args");
    assert_int_equal(json_array_size(json_object_get(args, "operators")), 2);
    assert_string_equal(json_string_value(json_object_get(args, "bound")), "memory");
    json_decref(document);
}

static void test_training_has_both_passes(void **state) {
    (void)state;
    const json_t *events[32];
    json_t *document = trace_of(2);
    size_t count = events_of(document, "X", events, 32);
    assert_true(count > EXAMPLE_KERNELS);
    assert_float_equal(length_of(events, count), 100, 1e-9);
    assert_string_equal(json_string_value(json_object_get(events[0], "cat")), "forward");
    assert_string_equal(json_string_value(json_object_get(events[count - 2], "cat")), "backward");
    assert_string_equal(json_string_value(json_object_get(events[count - 2], "name")), "conv-relu");
    assert_string_equal(json_string_value(json_object_get(events[count - 1], "name")), "correction");
    json_decref(document);
}

typedef struct curve {
    uint64_t peak;
    size_t count;
} curve;

static void record_memory(void *user, ft_phase phase, uint32_t op, uint64_t live_bytes) {
    (void)phase;
    (void)op;
    curve *c = user;
    if (live_bytes > c->peak) c->peak = live_bytes;
    c->count++;
}

/* The counter is the memory timeline: as many steps, the same peak. */
static void test_memory(void **state) {
    (void)state;
    const json_t *events[64];
    ft_graph *bound;
    curve expected = {0};
    ft_memory plan;
    ft_cost_options options = ft_cost_options_default();
    options.dtype = FT_FLOAT16;
    assert_int_equal(ft_graph_bind(example.model, &(ft_binding){.batch = 8}, &bound, NULL), FT_OK);
    assert_int_equal(ft_memory_plan(bound, &options, &plan, record_memory, &expected, NULL), FT_OK);
    ft_graph_free(bound);
    json_t *document = trace_of(0);
    size_t count = events_of(document, "C", events, 64);
    double highest = 0, now = 0;
    assert_int_equal(count, expected.count);
    for (size_t i = 0; i < count; i++) {
        assert_true(number(events[i], "ts") >= now);
        now = number(events[i], "ts");
        highest = fmax(highest, number(json_object_get(events[i], "args"), "tensor_bytes"));
    }
    assert_int_equal((uint64_t)highest, expected.peak);
    json_decref(document);
}

static void test_failures_leave_no_file(void **state) {
    (void)state;
    ft_error error;
    assert_int_equal(ft_result_trace("none.json", &example.entry, 1, &error), FT_ERR_UNSUPPORTED);
    assert_non_null(strstr(error.message, "its data sheet lacks the bandwidth"));
    assert_int_not_equal(access("none.json", F_OK), 0);
    assert_int_equal(ft_result_trace("no/such/folder.json", &example.entry, 0, &error), FT_ERR_IO);
    for (long n = 0;; n++) {
        failing_start(n);
        ft_status status = ft_result_trace("none.json", &example.entry, 2, &error);
        if (!failing_stop()) break;
        assert_int_equal(status, FT_ERR_NOMEM);
        assert_int_not_equal(access("none.json", F_OK), 0);
    }
}

static int set_up(void **state) {
    example_results_init(&example);
    return folder_enter(state);
}

static int tear_down(void **state) {
    example_results_free(&example);
    return folder_leave(state);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_inference),
        cmocka_unit_test(test_training_has_both_passes),
        cmocka_unit_test(test_memory),
        cmocka_unit_test(test_failures_leave_no_file),
    };
    return cmocka_run_group_tests_name("forecast/report_trace", tests, set_up, tear_down);
}
