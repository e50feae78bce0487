/* Tests of programs from a log: errors name the line and later lines are still read; features are deterministic;
 * running out of memory is reported. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "foretell/program.h"
#include "support/failing.h"
#include "support/folder.h"
#include "support/program_features.h"

static const char path[] = "log.jsonl";

static void write_log(const char *text) {
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

#define RECORD(workload, steps) RECORD_TIMES(workload, steps, "[0.001],0")
#define RECORD_TIMES(workload, steps, times)                                                                           \
    "{\"i\":[[\"" workload "\",\"cuda\"],[[],[" steps "]]],\"r\":[" times ",1,1],\"v\":\"v0.6\"}\n"
#define MATMUL "[\\\"matmul_layer\\\", 8, 16, 4]"

/* The error of a log of one line, without the path before it. */
static void expect_error(const char *text, ft_status expected, const char *message) {
    ft_program_log *log = NULL;
    ft_program *program = NULL;
    ft_program_record record;
    ft_error error = {0};
    write_log(text);
    assert_int_equal(ft_program_log_open(path, &log, &error), FT_OK);
    assert_int_equal(ft_program_new(&program, &error), FT_OK);
    ft_status status = ft_program_log_next(log, &record, &error);
    if (status == FT_OK) status = ft_program_lower(program, log, &error);
    assert_int_equal(status, expected);
    assert_memory_equal(error.message, path, strlen(path));
    assert_string_equal(error.message + strlen(path), message);
    ft_program_free(program);
    ft_program_log_close(log);
}

static void test_lines(void **state) {
    (void)state;
    expect_error("{]\n", FT_ERR_DAMAGED, ":1: invalid record: a string is expected");
    expect_error("# a comment\n\n[1]\n", FT_ERR_DAMAGED, ":3: invalid record: an object is expected");
    expect_error("{\"v\": \"v0.6\"}\n", FT_ERR_DAMAGED, ":1: invalid record: \"i\" is missing");
    expect_error("{\"i\":[[\"[]\"],[[],[]]],\"r\":[[1],0],\"v\":\"v0.2\"}\n", FT_ERR_UNSUPPORTED,
                 ":1: record version \"v0.2\" is not supported; v0.5 and v0.6 are");
    expect_error(RECORD(MATMUL, "[\"XX\",1]"), FT_ERR_UNSUPPORTED, ":1: step 0: unknown kind of step \"XX\"");
    expect_error(RECORD(MATMUL, "[\"SP\",2,0]"), FT_ERR_DAMAGED, ":1: step 0: SP needs 5 arguments; some are missing");
}

static void test_workloads(void **state) {
    (void)state;
    expect_error(
        RECORD("[\\\"0123456789abcdef0123456789abcdef\\\", 1]", ""), FT_ERR_UNSUPPORTED,
        ":1: the workload is the hash of a graph (0123456789abcdef0123456789abcdef), which the log does not contain");
    expect_error(RECORD("[\\\"gemm\\\", 1]", ""), FT_ERR_UNSUPPORTED,
                 ":1: unknown workload \"gemm\"; supported are matmul_layer, dense_layer, batch_matmul_layer, "
                 "batch_matmul_nt_layer, batch_matmul_tn_layer, batch_matmul_tt_layer, conv2d_layer, "
                 "depthwise_conv2d_layer, pool_layer, reduction_layer, relu_layer, "
                 "tanh_layer, sigmoid_layer, add_layer, mul_layer, biasadd_layer, transpose_layer");
    expect_error(RECORD("[\\\"conv2d_layer\\\", 1, 1, 4, 4, 1, 7, 7, 1, \\\"VALID\\\"]", ""), FT_ERR_DAMAGED,
                 ":1: workload \"conv2d_layer\": the window is larger than the image");
    expect_error(RECORD("[\\\"matmul_layer\\\", 8, 16]", ""), FT_ERR_DAMAGED,
                 ":1: argument 3 of workload \"matmul_layer\" is not there");
    expect_error(RECORD("[\\\"matmul_layer\\\", 8, -1, 3]", ""), FT_ERR_DAMAGED,
                 ":1: argument 2 of workload \"matmul_layer\" is not a size from 1 to 2^30");
    expect_error(RECORD("[\\\"pool_layer\\\", \\\"min\\\", 1, 1, 4, 4, 2, 2, 1, 0]", ""), FT_ERR_DAMAGED,
                 ":1: argument 1 of workload \"pool_layer\" is not \"avg\" or \"max\"");
}

static void test_steps(void **state) {
    (void)state;
    expect_error(RECORD(MATMUL, "[\"SP\",7,0,8,[2],1]"), FT_ERR_DAMAGED,
                 ":1: step 0 (SP): there is no stage 7; the program has 3 stages");
    expect_error(RECORD(MATMUL, "[\"SP\",0,0,8,[2],1]"), FT_ERR_DAMAGED,
                 ":1: step 0 (SP): stage 0 (A) is an input and has no loops");
    expect_error(RECORD(MATMUL, "[\"SP\",2,3,8,[2],1]"), FT_ERR_DAMAGED,
                 ":1: step 0 (SP): stage compute has no iterator 3; it has 3");
    expect_error(RECORD(MATMUL, "[\"SP\",2,0,8,[2,0],1]"), FT_ERR_DAMAGED,
                 ":1: step 0 (SP): length 0 is not from 1 to 2^30");
    expect_error(
        RECORD(MATMUL, "[\"SP\",2,0,8,[2,3],1]"), FT_ERR_DAMAGED,
        ":1: step 0 (SP): the product of the lengths, 6, does not divide the extent 8 of axis x of stage compute");
    expect_error(RECORD(MATMUL, "[\"SP\",2,0,9,[3],1]"), FT_ERR_DAMAGED,
                 ":1: step 0 (SP): the extent of axis x of stage compute is given as 9, but is 8");
    expect_error(RECORD(MATMUL, "[\"FU\",2,[1,2]]"), FT_ERR_DAMAGED,
                 ":1: step 0 (FU): a reduced iterator cannot be fused with one that is not reduced");
    expect_error(RECORD(MATMUL, "[\"FU\",2,[0,2]]"), FT_ERR_DAMAGED, ":1: step 0 (FU): the iterators are not adjacent");
    expect_error(RECORD(MATMUL, "[\"RE\",2,[0,0,1]]"), FT_ERR_DAMAGED,
                 ":1: step 0 (RE): iterator 0 is in the order twice");
    expect_error(RECORD(MATMUL, "[\"FSP\",2,0,5,2]"), FT_ERR_DAMAGED,
                 ":1: step 0 (FSP): step 5, which it follows, is not an earlier split");
    expect_error(RECORD(MATMUL, "[\"AN\",2,0,77]"), FT_ERR_DAMAGED, ":1: step 0 (AN): unknown annotation 77");
    expect_error(RECORD(MATMUL, "[\"CI\",2]"), FT_ERR_DAMAGED,
                 ":1: step 0 (CI): stage compute is the output and cannot be inlined");
    expect_error(RECORD(MATMUL, "[\"CHR\",0,\"texture\",[2]]"), FT_ERR_UNSUPPORTED,
                 ":1: step 0 (CHR): unknown scope \"texture\"");
    expect_error(RECORD(MATMUL, "[\"CA\",2,2,0]"), FT_ERR_DAMAGED,
                 ":1: step 0 (CA): stage compute is the output and cannot be computed at another stage");
    expect_error(RECORD(MATMUL, "[\"PR\",2,0,\"tensor_core$1\"]"), FT_ERR_UNSUPPORTED,
                 ":1: step 0 (PR): unknown pragma \"tensor_core$1\"");
}

/* A length that does not divide makes a loop longer; repeated on three loops that are then fused, the iterations
 * overflow. */
static void test_too_many_iterations(void **state) {
    (void)state;
    static char text[16384];
    int length = snprintf(text, sizeof text,
                          "{\"i\":[[\"[\\\"matmul_layer\\\", 8, 1073741824, 4]\",\"cuda\"],[[],["
                          "[\"SP\",2,2,1073741824,[1024,1024],1]");
    for (int leaf = 2; leaf < 5; leaf++) {
        for (int round = 0, trips = 1024; round < 16; round++, trips = 2 * trips - 2)
            length += snprintf(text + length, sizeof text - (size_t)length,
                               ",[\"SP\",2,%d,%d,[%d],1],[\"FU\",2,[%d,%d]]", leaf, trips, trips - 1, leaf, leaf + 1);
    }
    snprintf(text + length, sizeof text - (size_t)length,
             ",[\"FU\",2,[2,3,4]],[\"RF\",2,2,2]]]],\"r\":[[0.001],0,1,1],\"v\":\"v0.6\"}\n");
    expect_error(text, FT_ERR_LIMIT, ":1: step 98 (RF): stage compute has too many iterations");
}

/* Reading continues after a damaged line, and unusable times have a reason. */
static void test_times(void **state) {
    (void)state;
    ft_program_log *log = NULL;
    ft_program_record record;
    ft_error error = {0};
    write_log(RECORD_TIMES(MATMUL, "", "[0.5,1.5],0") "damaged\n" RECORD_TIMES(MATMUL, "", "[0],0") RECORD_TIMES(
        MATMUL, "", "[1e10],4") RECORD_TIMES(MATMUL, "", "[NaN],0") RECORD_TIMES(MATMUL, "", "[1e10],0"));
    assert_int_equal(ft_program_log_open(path, &log, &error), FT_OK);
    assert_int_equal(ft_program_log_next(log, &record, &error), FT_OK);
    assert_true(record.seconds == 1 && record.time_missing_reason == NULL && record.line == 1);
    assert_int_equal(ft_program_log_next(log, &record, &error), FT_ERR_DAMAGED);
    const char *const whys[] = {"invalid time 0 s", "not measured: the run failed (error 4)", "invalid time nan s",
                                "invalid time 1e+10 s"};
    for (uint64_t i = 0; i < 4; i++) {
        assert_int_equal(ft_program_log_next(log, &record, &error), FT_OK);
        assert_int_equal(record.line, 3 + i);
        assert_true(isnan(record.seconds));
        assert_string_equal(record.time_missing_reason, whys[i]);
    }
    assert_int_equal(ft_program_log_next(log, &record, &error), FT_OK);
    assert_int_equal(record.line, 0);
    ft_program_log_close(log);
}

/* --- Memory -------------------------------------------------------------------------------------------------- */

static ft_status read_all(ft_error *error) {
    ft_program_log *log = NULL;
    ft_program *program = NULL;
    ft_program_record record = {.line = 1};
    ft_program_features f;
    FILE *nowhere = fopen("/dev/null", "w");
    ft_status status = ft_program_log_open("tests/program/schedules.jsonl", &log, error);
    if (status == FT_OK) status = ft_program_new(&program, error);
    for (int i = 0; status == FT_OK && i < 2 && record.line > 0; i++) {
        status = ft_program_log_next(log, &record, error);
        if (status == FT_OK) status = ft_program_lower(program, log, error);
        if (status == FT_OK) status = ft_program_extract_features(program, &f, error);
        if (status == FT_OK && nowhere != NULL) status = ft_program_write(program, nowhere, error);
    }
    if (nowhere != NULL) fclose(nowhere);
    ft_program_free(program);
    ft_program_log_close(log);
    return status;
}

static void test_memory_runs_out(void **state) {
    (void)state;
    for (long n = 0;; n++) {
        ft_error error;
        failing_start(n);
        ft_status status = read_all(&error);
        if (!failing_stop()) break;
        assert_true(status == FT_ERR_NOMEM || status == FT_OK);
    }
}

/* The same log gives the same features, whatever the reused memory held before. */
static void test_same_again(void **state) {
    (void)state;
    ft_program_log *log = NULL;
    ft_program *first = NULL, *second = NULL;
    ft_program_record record = {0};
    ft_program_features a, b;
    ft_error error = {0};
    assert_int_equal(ft_program_log_open("tests/program/schedules.jsonl", &log, &error), FT_OK);
    assert_int_equal(ft_program_new(&first, &error), FT_OK);
    uint32_t count = 0;
    for (;; count++) {
        assert_int_equal(ft_program_log_next(log, &record, &error), FT_OK);
        if (record.line == 0) break;
        assert_int_equal(ft_program_lower(first, log, &error), FT_OK);
        assert_int_equal(ft_program_extract_features(first, &a, &error), FT_OK);
        assert_int_equal(ft_program_new(&second, &error), FT_OK);
        assert_int_equal(ft_program_lower(second, log, &error), FT_OK);
        assert_int_equal(ft_program_extract_features(second, &b, &error), FT_OK);
        assert_int_equal(a.leaf_count, b.leaf_count);
        assert_memory_equal(a.leaves, b.leaves, a.leaf_count * FT_PROGRAM_FEATURES * sizeof *a.leaves);
        for (uint32_t i = 0; i < a.leaf_count * FT_PROGRAM_FEATURES; i++) assert_true(isfinite(a.leaves[i]));
        ft_program_free(second);
    }
    assert_int_equal(count, 55);
    ft_program_free(first);
    ft_program_log_close(log);
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, folder_enter, folder_leave)

int main(void) {
    const struct CMUnitTest tests[] = {
        IN_FOLDER(test_lines),
        IN_FOLDER(test_workloads),
        IN_FOLDER(test_steps),
        IN_FOLDER(test_too_many_iterations),
        IN_FOLDER(test_times),
        cmocka_unit_test(test_memory_runs_out),
        cmocka_unit_test(test_same_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
