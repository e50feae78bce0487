/* Tests of the AutoTVM reader: both versions, and lines that are not records. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "read/autotvm.h"

static autotvm_record record;

static void read_file(const char *path) {
    char line[4096];
    bool is_record;
    ft_error error = {0};
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    assert_non_null(fgets(line, sizeof line, file));
    fclose(file);
    if (autotvm_read(line, strlen(line), &record, &is_record, &error) != FT_OK) fail_msg("%s", error.message);
    assert_true(is_record);
}

static void test_new(void **state) {
    (void)state;
    read_file("fuzz/corpus/autotvm/v02.json");
    assert_string_equal(record.workload, "conv2d_nchw.cuda");
    assert_memory_equal(record.arguments, "[[\"TENSOR\", [1, 512, 7, 7]", 26);
    assert_int_equal(record.index, 1234);
    assert_int_equal(record.knob_count, 5);
    assert_string_equal(record.knobs[0].name, "tile_f");
    assert_int_equal(record.knobs[0].kind, AUTOTVM_SPLIT);
    assert_int_equal(record.knobs[0].count, 4);
    assert_int_equal(record.knobs[0].numbers[0], -1);
    assert_int_equal(record.knobs[0].numbers[2], 32);
    assert_int_equal(record.knobs[1].kind, AUTOTVM_REORDER);
    assert_int_equal(record.knobs[2].kind, AUTOTVM_ANNOTATE);
    assert_string_equal(record.knobs[2].text, "[\"none\", \"unroll\"]");
    assert_int_equal(record.knobs[3].numbers[0], 512);
    assert_string_equal(record.knobs[4].text, "\"NCHW\"");
    assert_int_equal(record.error_no, 0);
    assert_true(record.cost_count == 2 && fabs(record.costs[0] + record.costs[1] - 0.0006) < 1e-12);
}

static void test_old(void **state) {
    (void)state;
    read_file("fuzz/corpus/autotvm/v01.json");
    assert_true(record.version == 0.1);
    assert_string_equal(record.target, "llvm -device=arm_cpu");
    assert_int_equal(record.index, 7);
    assert_int_equal(record.knob_count, 2);
    assert_int_equal(record.knobs[0].numbers[1], 8);
    assert_string_equal(record.knobs[1].text, "true");
    assert_int_equal(record.error_no, 4);
}

static void expect_error(const char *line, ft_status status, const char *message) {
    bool is_record;
    ft_error error = {0};
    assert_int_equal(autotvm_read(line, strlen(line), &record, &is_record, &error), status);
    assert_string_equal(error.message, message);
    assert_false(is_record);
}

static void test_errors(void **state) {
    (void)state;
    expect_error("[]", FT_ERR_DAMAGED, "invalid record: an object is expected");
    expect_error("{\"version\": 0.2}", FT_ERR_DAMAGED, "invalid record: the input is missing");
    expect_error("{\"version\": 0.3}", FT_ERR_UNSUPPORTED, "record version 0.3 is not supported; 0.1 and 0.2 are");
    expect_error("{\"input\": [\"a\", \"b\"]}", FT_ERR_DAMAGED, "invalid record: a value is missing");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_new),
        cmocka_unit_test(test_old),
        cmocka_unit_test(test_errors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
