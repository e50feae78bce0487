/* Tests of programs from a log: what is wrong with a line is said with its number, the rest goes on; features of a
 * nest that can be worked out by hand; memory that runs out. */
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
#include "support/program_seen.h"

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

/* What the only line of a log gives, without the path before it. */
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
    expect_error(RECORD(MATMUL, "[\"SP\",2,0]"), FT_ERR_DAMAGED,
                 ":1: step 0: SP needs 5 arguments; some are missing");
}

static void test_workloads(void **state) {
    (void)state;
    expect_error(
        RECORD("[\\\"0123456789abcdef0123456789abcdef\\\", 1]", ""), FT_ERR_UNSUPPORTED,
        ":1: the workload is the hash of a graph (0123456789abcdef0123456789abcdef), which the log does not contain");
    expect_error(
        RECORD("[\\\"gemm\\\", 1]", ""), FT_ERR_UNSUPPORTED,
        ":1: unknown workload \"gemm\"; supported are matmul_layer, dense_layer, batch_matmul_layer, "
        "batch_matmul_nt_layer, conv2d_layer, depthwise_conv2d_layer, pool_layer, reduction_layer, relu_layer, "
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

/* A length that does not divide makes the loops longer; done again and again on three of them, fused at the end, that
 * is more turns than a number can tell. */
static void test_too_many_turns(void **state) {
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

/* A log goes on behind a damaged line, and tells of times that are none. */
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
    const char *const whys[] = {
        "invalid time 0 s", "not measured: the run failed (error 4)",
        "invalid time nan s", "invalid time 1e+10 s"};
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

/* --- Features ------------------------------------------------------------------------------------------------ */

/* C[8, 4] += A[8, 16] B[16, 4] with loops x, y, k and nothing else. */
static void test_matmul_features(void **state) {
    (void)state;
    write_log(RECORD(MATMUL, ""));
    const seen s = see_record(path, 1);
    const ft_program_features f = s.f;
    assert_true(ft_program_flops(s.program) == 2 * 8 * 16 * 4);
    /* root, x, y, init, k, update */
    static const int32_t tree[] = {0, 1, 2, 3, -1, 4, 5, -1, -1, -1, -1, -1};
    assert_int_equal(f.tree_length, sizeof tree / sizeof tree[0]);
    assert_memory_equal(f.tree, tree, sizeof tree);
    assert_int_equal(f.leaf_count, 2);
    assert_int_equal(f.node_ids[1], 5);
    expect_log(feature(&f, 0, "outer_prod"), 32);
    expect_log(feature(&f, 1, "outer_prod"), 512);
    expect_log(feature(&f, 1, "num_loops"), 3);
    expect_log(feature(&f, 1, "float_mul"), 512);
    expect_log(feature(&f, 1, "float_addsub"), 512);
    assert_true(feature(&f, 1, "float_mad") == 0 && feature(&f, 1, "is_gpu") == 0);
    /* By lines: B moves by a row of 4 (a quarter of a line each), A by 1, C not at all with k. */
    assert_true(feature(&f, 1, "B0.acc_type.read") == 1);
    expect_log(feature(&f, 1, "B0.stride"), 4);
    expect_log(feature(&f, 1, "B0.lines"), 512 * 4 * 4 / 64.0);
    expect_log(feature(&f, 1, "B0.unique_bytes"), 16 * 4 * 4);
    assert_true(feature(&f, 1, "B0.reuse.loop") == 1);
    expect_log(feature(&f, 1, "B0.reuse_dis_iter"), 16 * 4);
    expect_log(feature(&f, 1, "B0.reuse_ct"), 8);
    expect_log(feature(&f, 1, "B1.stride"), 1);
    expect_log(feature(&f, 1, "B1.lines"), 512 * 4 / 64.0);
    expect_log(feature(&f, 1, "B1.reuse_ct"), 4);
    assert_true(feature(&f, 1, "B2.acc_type.readwrite") == 1);
    expect_log(feature(&f, 1, "B2.lines"), 512 / 16 * 4 / 64.0);
    assert_true(feature(&f, 1, "B2.stride") == 0 && feature(&f, 1, "B3.bytes") == 0);
    float position[FT_PROGRAM_FEATURES];
    ft_program_position_encoding(3, position);
    assert_true(fabs(position[0] - sin(3)) < 1e-6 && fabs(position[1] - cos(3 / pow(10000, 2.0 / 164))) < 1e-6);
    forget(&s);
}

/* A T4 as CDMPP has it, and a device of which nothing is known. */
static void test_device(void **state) {
    (void)state;
    static const float expected[FT_PROGRAM_DEVICE_FEATURES] = {1,      0.795F, 0.667F, 0.750F,
                                                               0.333F, 0.750F, 0.757F, 0.678F};
    const ft_program_sheet t4 = {.clock_hz = 1590e6,
                                 .memory_bytes = 16.0 * (1 << 30),
                                 .shared_bytes = 64 * 1024,
                                 .l2_bytes = 4 << 20,
                                 .l1_bytes = 64 * 1024,
                                 .bandwidth_bytes_per_s = 320e9,
                                 .peak_float32_flops = 8.141e12};
    float row[FT_PROGRAM_DEVICE_FEATURES];
    ft_program_device_features(&t4, row);
    for (int i = 0; i < FT_PROGRAM_DEVICE_FEATURES; i++) assert_true(fabsf(row[i] - expected[i]) < 6e-4F);
    ft_program_device_features(&(ft_program_sheet){0}, row);
    for (int i = 1; i < FT_PROGRAM_DEVICE_FEATURES; i++) assert_true(row[i] == 0);
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

/* The same log gives the same numbers, whatever the memory held before. */
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

/* The first of the made-up schedules: blocks, 6 virtual threads, 3 threads; a convolution from shared memory. */
static void test_gpu(void **state) {
    (void)state;
    const seen s = see_record("tests/program/schedules.jsonl", 1);
    const ft_program_features f = s.f;
    assert_int_equal(f.leaf_count, 5);
    /* Three threads fill three elements each: 48 bytes of one row, 16 apart, lie in two sectors. */
    expect_log(feature(&f, 1, "global.read.accesses"), 2 * 2 * 11 * 3 * 3);
    expect_log(feature(&f, 1, "global.read.repeats"), 2);
    expect_log(feature(&f, 1, "global.read.requests"), 2 * 2 * 11 * 2);
    expect_log(feature(&f, 1, "shared.write.repeats"), 1);
    expect_log(feature(&f, 1, "shared.write.requests"), 2 * 2 * 11);
    /* The reduction reads two buffers; under the three loops inside of their life, 5 x 3 and 3 elements. */
    expect_log(feature(&f, 3, "blocks"), 2);
    expect_log(feature(&f, 3, "threads"), 3);
    expect_log(feature(&f, 3, "vthreads"), 6);
    assert_true(fabs(feature(&f, 3, "warp_fill") - 3.0 / 32) < 1e-6);
    expect_log(feature(&f, 3, "shared_bytes"), 4 * (99 + 6));
    expect_log(feature(&f, 3, "local_bytes"), 4 * 9 * 6);
    expect_log(feature(&f, 3, "thread_turns"), 2 * 27 * 6);
    assert_true(fabs(feature(&f, 3, "unroll_room") - (log2(65) - log2(55))) < 1e-4);
    expect_log(feature(&f, 3, "shared.read.accesses"), 2 * 1944);
    expect_log(feature(&f, 3, "shared.read.requests"), 2 * 1944 / 3);
    expect_log(feature(&f, 3, "shared.read.kept"), 1944 / 27 * (15 + 3));
    expect_log(feature(&f, 3, "local.read.kept"), 1944 / 54 * 9);
    /* Six virtual threads read three images with two filters. All 2 x 27 turns of each read 5 x 4 elements of the
     * images and 3 x 2 of the filters, and add to 9. */
    assert_true(fabs(feature(&f, 3, "window4.loads") - log2((3 + 2) / 6.0)) < 1e-5);
    assert_true(fabs(feature(&f, 3, "window1024.loads") - log2((3 * 20 + 2 * 6) / (6.0 * 54))) < 1e-5);
    assert_true(fabs(feature(&f, 3, "window1024.registers") - log2(6 * 9)) < 1e-5);
    expect_log(feature(&f, 3, "rounds"), 2);
    expect_log(feature(&f, 3, "round_turns"), 27);
    expect_log(feature(&f, 1, "global.unique"), 3 * 11 * 4);
    assert_true(feature(&f, 3, "is_update") == 1 && feature(&f, 0, "is_start") == 1);
    /* TVM may write out 64 stores: 54 of the initialisation, 11 and 2 that fill memory, 6 copies of two loops of three
     * turns, but not of the third loop. A compiler writes that out, and even both rounds, and what stores the sums. */
    expect_log(feature(&f, 3, "unrolled.turns"), 6 * 27 * 2);
    expect_log(feature(&f, 3, "unrolled.left"), 1);
    expect_log(feature(&f, 3, "unrolled.code"), 54 + 2 * (11 + 2 + 6 * 27) + 6 * 9);
    expect_log(feature(&f, 1, "unrolled.turns"), 11 * 3 * 2);
    for (uint32_t i = 0; i < f.leaf_count; i++)
        assert_true(feature(&f, i, "unrolled.moving") == 0 && feature(&f, i, "unrolled.moves") == 0);
    assert_true(fabs(feature(&f, 3, "unrolled.loads") - log2((3 * 20 + 2 * 6) / (6.0 * 54))) < 1e-5);
    assert_true(fabs(feature(&f, 3, "unrolled.registers") - log2(6 * 9)) < 1e-5);
    assert_true(feature(&f, 3, "global.read.accesses") == 0);
    forget(&s);
}

/* The thirty-second: two virtual threads, inside of five loops of three turns. A compiler writes out all but the
 * outermost, which moves the sums: each is in a register for the three turns that add to it and moved then. */
static void test_sums_moved(void **state) {
    (void)state;
    const seen s = see_record("tests/program/schedules.jsonl", 32);
    const ft_program_features f = s.f;
    expect_log(feature(&f, 3, "unrolled.turns"), 2 * 81);
    expect_log(feature(&f, 3, "unrolled.left"), 3);
    expect_log(feature(&f, 3, "unrolled.body"), 2 * 81);
    expect_log(feature(&f, 3, "unrolled.moving"), 3 - 1);
    expect_log(feature(&f, 3, "unrolled.moves"), 256.0 / 3);
    assert_true(feature(&f, 0, "unrolled.moves") == 0 && feature(&f, 4, "unrolled.moves") == 0);
    forget(&s);
}

/* The seventeenth: each of two virtual threads reads 9 channels of 3 filters; both read every other one of 3 columns,
 * in 9 channels: two columns, not three. */
static void test_every_other(void **state) {
    (void)state;
    const seen s = see_record("tests/program/schedules.jsonl", 17);
    assert_true(fabs(feature(&s.f, 3, "window1024.loads") - log2((2 * 27 + 9 * 2) / (2 * 54.0))) < 1e-5);
    forget(&s);
}

/* The sixth: two columns of a window and two turns beside them are four elements side by side; of 18 weights two are at
 * a time, as four would not come out even. What is stored is two in a row. */
static void test_side_by_side(void **state) {
    (void)state;
    const seen s = see_record("tests/program/schedules.jsonl", 6);
    assert_true(feature(&s.f, 3, "merged.read.most") == 2 && feature(&s.f, 3, "merged.read.least") == 1);
    assert_true(feature(&s.f, 3, "merged.write") == 0 && feature(&s.f, 4, "merged.write") == 1);
    forget(&s);
}

/* 42 blocks of a pool, each a row of 5 of the 7 x 5 of one of 6 images, whose windows are 3 rows high: 64 blocks at a
 * time load each of the 378 elements once, one at a time would load 3 rows each. */
static void test_waves(void **state) {
    (void)state;
    const seen s = see_record("tests/program/schedules.jsonl", 37);
    expect_log(feature(&s.f, 0, "wave64.sectors"), 2 * 3 * 7 * 5 / 8.0);
    expect_log(feature(&s.f, 0, "wave1024.sectors"), 2 * 3 * 7 * 5 / 8.0);
    double all = exp2(feature(&s.f, 1, "wave64.sectors")) - 1, some = exp2(feature(&s.f, 1, "wave16.sectors")) - 1;
    assert_true(fabs(all - (2 * 3 * 9 * 7 + 2 * 3 * 7 * 5) / 8.0) < 0.01);
    assert_true(some > all && some < 42 * (3 * 7 + 5) / 8.0);
    forget(&s);
}

/* The fifth: three threads read shared memory 2 x 64 words apart, all from the same bank. */
static void test_busy_banks(void **state) {
    (void)state;
    const seen s = see_record("tests/program/schedules.jsonl", 5);
    expect_log(feature(&s.f, 3, "shared.read.repeats"), 3);
    /* A thread reads 384 elements of the images, four with a command, and 16 of the filters, two with a command, which
     * all threads read at once. */
    assert_true(fabs(feature(&s.f, 3, "window1024.cycles") - log2((384 * 3 / 4.0 + 16 / 2.0) / (6 * 128))) < 1e-5);
    forget(&s);
}

/* The nineteenth: four threads take five turns for 36 elements, two with a command, which a guard keeps to that. What
 * they read lies side by side though its indices are quotients and rests: one sector, and no bank is asked twice. */
static void test_vectors(void **state) {
    (void)state;
    const seen s = see_record("tests/program/schedules.jsonl", 19);
    expect_log(feature(&s.f, 2, "outer_prod"), 2 * 40);
    expect_log(feature(&s.f, 2, "global.read.accesses"), 2 * 36);
    expect_log(feature(&s.f, 2, "global.read.requests"), 2 * 36 / 8);
    expect_log(feature(&s.f, 2, "shared.write.requests"), 2 * 36 / 8);
    forget(&s);
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, folder_enter, folder_leave)

int main(void) {
    const struct CMUnitTest tests[] = {
        IN_FOLDER(test_lines),
        IN_FOLDER(test_workloads),
        IN_FOLDER(test_steps),
        IN_FOLDER(test_too_many_turns),
        IN_FOLDER(test_times),
        IN_FOLDER(test_matmul_features),
        cmocka_unit_test(test_memory_runs_out),
        cmocka_unit_test(test_same_again),
        cmocka_unit_test(test_device),
        cmocka_unit_test(test_gpu),
        cmocka_unit_test(test_sums_moved),
        cmocka_unit_test(test_busy_banks),
        cmocka_unit_test(test_vectors),
        cmocka_unit_test(test_every_other),
        cmocka_unit_test(test_side_by_side),
        cmocka_unit_test(test_waves),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
