/* Tests of traces: events on their tracks as the format wants them, and no file before all is written. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <jansson.h>
#include <string.h>
#include <unistd.h>

#include "report/trace.h"
#include "support/folder.h"

static void test_events(void **state) {
    (void)state;
    trace t = {0};
    ft_error error;
    assert_int_equal(trace_open("t.json", &t, &error), FT_OK);
    trace_label(&t, "process_name", (trace_track){2, 1}, "a \"device\"");
    trace_begin(&t, "conv", "X", (trace_track){2, 3}, 1.5);
    jsonw_pair_double(&t.json, "dur", 4);
    trace_end(&t); /* without arguments */
    trace_begin(&t, "memory", "C", (trace_track){2, 1}, 2);
    trace_args(&t);
    jsonw_pair_uint(&t.json, "bytes", 7);
    trace_end(&t);
    assert_int_not_equal(access("t.json", F_OK), 0);
    assert_int_equal(trace_commit(&t, &error), FT_OK);
    trace_free(&t);
    json_t *root = json_load_file("t.json", JSON_REJECT_DUPLICATES, NULL),
           *events = json_object_get(root, "traceEvents");
    assert_int_equal(json_array_size(events), 3);
    const json_t *label = json_object_get(json_array_get(events, 0), "args"), *conv = json_array_get(events, 1);
    assert_string_equal(json_string_value(json_object_get(label, "name")), "a \"device\"");
    assert_int_equal(json_integer_value(json_object_get(conv, "pid")), 2);
    assert_int_equal(json_integer_value(json_object_get(conv, "tid")), 3);
    assert_float_equal(json_number_value(json_object_get(conv, "ts")), 1.5, 0);
    assert_int_equal(json_integer_value(json_object_get(json_object_get(json_array_get(events, 2), "args"), "bytes")),
                     7);
    json_decref(root);
}

static void test_nothing_is_left(void **state) {
    (void)state;
    trace t = {0};
    ft_error error;
    assert_int_equal(trace_open("nowhere/t.json", &t, &error), FT_ERR_IO);
    trace_free(&t);
    assert_int_equal(trace_open("u.json", &t, &error), FT_OK);
    trace_label(&t, "thread_name", (trace_track){1, 1}, "kernels");
    trace_free(&t);
    assert_int_not_equal(access("u.json", F_OK), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_events), cmocka_unit_test(test_nothing_is_left)};
    return cmocka_run_group_tests(tests, folder_enter, folder_leave);
}
