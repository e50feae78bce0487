/* Records of TVM's auto-scheduler, field by field. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "read/ansor.h"

static ansor_record record;

static ft_status read_line(const char *line, bool *is_record, ft_error *error) {
    return ansor_read(line, strlen(line), &record, is_record, error);
}

static void expect_record(const char *line) {
    ft_error error;
    bool is_record = false;
    if (read_line(line, &is_record, &error) != FT_OK) fail_msg("%s", error.message);
    assert_true(is_record);
}

static void expect_error(const char *line, ft_status status, const char *part) {
    ft_error error = {.message = ""};
    bool is_record = true;
    assert_int_equal(read_line(line, &is_record, &error), status);
    assert_false(is_record);
    if (strstr(error.message, part) == NULL) fail_msg("%s: %s", line, error.message);
}

static void blank_lines_and_comments_are_no_records(void **state) {
    (void)state;
    static const char *const lines[] = {"", " ", " \t\n", "# a comment", "  # {"};
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        bool is_record = true;
        assert_int_equal(read_line(lines[i], &is_record, NULL), FT_OK);
        assert_false(is_record);
        assert_int_equal(record.text_length, 0);
    }
}

static void fields_are_read(void **state) {
    (void)state;
    expect_record(
        "{\"i\":[[\"[\\\"matmul_layer\\\", 8, 16, "
        "4]\",\"cuda\",[1,2,3,4,5,6,7,8],\"\",0,[]],[[],[[\"SP\",1,2,3,[4,5],1],"
        "[\"AN\",6,7,8],[\"PR\",9,10,\"auto_unroll_max_step$16\"],[\"CHW\",11,\"local\"],[\"CA\",12,13,14],"
        "[\"FSP\",1,2,3,4],[\"RE\",5,[3,2,1]]]]],\"r\":[[0.5,0.25],0,7.5,1234567],\"v\":\"v0.6\",\"fused\":\"_add\"}");
    assert_string_equal(record.workload, "[\"matmul_layer\", 8, 16, 4]");
    assert_string_equal(record.target, "cuda");
    assert_string_equal(record.fused, "_add");
    assert_string_equal(record.version, "v0.6");
    assert_true(record.has_hardware && record.hardware[0] == 1 && record.hardware[7] == 8);
    assert_int_equal(record.cost_count, 2);
    assert_true(record.costs[0] == 0.5 && record.costs[1] == 0.25);
    assert_int_equal(record.error_no, 0);
    assert_int_equal(record.timestamp, 1234567);
    /* Strings are stored one after the other, each with its terminator. */
    assert_int_equal(record.text_length, 26 + 1 + 4 + 1 + 23 + 1 + 5 + 1 + 4 + 1 + 4 + 1);
    const ansor_step *s = record.steps;
    assert_int_equal(record.step_count, 7);
    assert_int_equal(s[0].kind, ANSOR_SPLIT);
    assert_true(s[0].stage == 1 && s[0].iter == 2 && s[0].extent == 3 && s[0].is_inner_to_outer && s[0].count == 2);
    assert_true(s[0].list[0] == 4 && s[0].list[1] == 5);
    assert_true(s[1].stage == 6 && s[1].iter == 7 && s[1].annotation == 8 && s[1].count == 0);
    assert_true(s[2].stage == 9 && s[2].iter == 10);
    assert_string_equal(s[2].text, "auto_unroll_max_step$16");
    assert_string_equal(s[3].text, "local");
    assert_true(s[4].stage == 12 && s[4].target_stage == 13 && s[4].iter == 14);
    assert_true(s[5].stage == 1 && s[5].iter == 2 && s[5].source_step == 3 && s[5].parts == 4);
    assert_true(s[6].count == 3 && s[6].list[0] == 3 && s[6].list[2] == 1 && s[6].list == s[0].list + 2);
    assert_int_equal(record.number_count, 5);
    double seconds;
    assert_int_equal(ansor_mean_seconds(&record, &seconds, NULL), FT_OK);
    assert_true(seconds == 0.375);
    /* Nothing of it is left in the next record. */
    expect_record("{\"i\":[[\"w\"],[[],[]]],\"r\":[[1],3],\"v\":\"v0.5\"}");
    assert_string_equal(record.workload, "w");
    assert_string_equal(record.target, "");
    assert_string_equal(record.fused, "");
    assert_true(record.step_count == 0 && record.cost_count == 1 && record.number_count == 0 && !record.has_hardware);
    assert_true(record.error_no == 3 && record.timestamp == 0 && record.text_length == 2 + 5);
}

static void short_hardware_is_no_hardware(void **state) {
    (void)state;
    expect_record("{\"i\":[[\"w\",\"t\",[1,2,3,4,5,6,7]],[[],[]]],\"r\":[[1],0],\"v\":\"v0.6\"}");
    assert_false(record.has_hardware);
    expect_record("{\"i\":[[\"w\",\"t\",[1,2,3,4,5,6,7,8,9]],[[],[]]],\"r\":[[1],0],\"v\":\"v0.6\"}");
    assert_true(record.has_hardware);
}

static void wrong_records_are_errors(void **state) {
    (void)state;
    expect_error("[]", FT_ERR_DAMAGED, "");
    expect_error("{\"r\":[[1],0],\"v\":\"v0.6\"}", FT_ERR_DAMAGED, "\"i\" is missing");
    expect_error("{\"i\":[[\"w\"],[[],[]]],\"v\":\"v0.6\"}", FT_ERR_DAMAGED, "\"r\" is missing");
    expect_error("{\"i\":[[\"w\"],[[],[]]],\"r\":[[1],0],\"v\":\"v0.4\"}", FT_ERR_UNSUPPORTED, "\"v0.4\"");
    expect_error("{\"i\":[[\"w\"],[[],[[\"XX\",1]]]],\"r\":[[1],0],\"v\":\"v0.6\"}", FT_ERR_UNSUPPORTED,
                 "step 0: unknown kind of step \"XX\"");
    expect_error("{\"i\":[[\"w\"],[[],[[\"AN\",1,2]]]],\"r\":[[1],0],\"v\":\"v0.6\"}", FT_ERR_DAMAGED,
                 "AN needs 3 arguments");
    expect_error("{\"i\":[[\"w\"],[[],[]]],\"r\":[[1],0],\"v\":\"v0.6\"} x", FT_ERR_DAMAGED, "");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blank_lines_and_comments_are_no_records),
        cmocka_unit_test(fields_are_read),
        cmocka_unit_test(short_hardware_is_no_hardware),
        cmocka_unit_test(wrong_records_are_errors),
    };
    return cmocka_run_group_tests_name("read/ansor", tests, NULL, NULL);
}
