/* Tests of windows: loads and registers of a thread that keeps what its last trips have loaded, cycles of shared
 * memory, and rounds in which shared memory is filled. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>

#include "support/program_features.h"

#define THREADS(count)  "// attr [iter_var(threadIdx.x, , threadIdx.x)] thread_extent = " #count "\n"
#define VTHREADS(count) "// attr [iter_var(vthread, , vthread)] virtual_thread = " #count "\n"

/* A row of features by size of the window: 4, 16, 64, 256, 1024. */
typedef struct row {
    double of[5];
} row;

static void expect_row(const lowered *s, uint32_t leaf, const char *what, row e) {
    for (int i = 0; i < 5; i++) {
        char name[32];
        snprintf(name, sizeof name, "window%d.%s", 4 << (2 * i), what);
        expect_feature(s, leaf, name, e.of[i]);
    }
}

static const row none = {{0, 0, 0, 0, 0}};

/* Four by four accumulators, eight trips of k. After j: 4 + 1 loads and 4 registers; after i: 4 + 4 and 16; after k:
 * 4 + 32 and 16. 64 trips are two thirds of the way from 16 to 128, in logarithms. */
static void test_loops_one_after_the_other(void **state) {
    (void)state;
    const lowered s = lower_text("// buffer A: float32[8, 4]\n// buffer B: float32[4]",
                                 "allocate X[float32 * 16], storage_scope = local\n"
                                 "for (k, 0, 8) { for (i, 0, 4) { for (j, 0, 4) {\n"
                                 "X[((i*4) + j)] = (X[((i*4) + j)] + (A[k, i]*B[j]))\n } } }");
    const double last = log2(36) - 7;
    expect_row(&s, 0, "loads", (row){{log2(5) - 2, 3 - 4, 3 + (log2(36) - 3) * 2 / 3 - 6, last, last}});
    expect_row(&s, 0, "registers", (row){{2, 4, 4, 4, 4}});
    expect_row(&s, 0, "cycles", none);
    /* All 128 trips are unrolled. */
    expect_feature(&s, 0, "unrolled.loads", last);
    expect_feature(&s, 0, "unrolled.registers", 4);
    expect_feature(&s, 0, "unrolled.cycles", 0);
    close_program(&s);
}

/* Threads read every other word of shared memory: two words of each bank, so two cycles for each of 8 loads. The outer
 * loop reads the same again. */
static void test_cycles_of_shared_memory(void **state) {
    (void)state;
    const lowered s =
        lower_text("// buffer S: float32[512]", THREADS(32) "allocate S[float32 * 512], storage_scope = shared\n"
                                                            "allocate X[float32 * 1], storage_scope = local\n"
                                                            "for (r, 0, 4) { for (k, 0, 8) {\n"
                                                            "X[0] = (X[0] + S[((k*64) + (threadIdx.x*2))])\n } }");
    expect_feature(&s, 0, "shared.read.repeats", log2(2 + 1));
    /* 4 trips: between 1 (one load, two cycles) and 8 (8 loads, 16 cycles); 16: between 8 and 32, which load as many.
     */
    expect_row(&s, 0, "loads", (row){{0, 3 - 4, 3 - 5, 3 - 5, 3 - 5}});
    expect_row(&s, 0, "cycles", (row){{1, 4 - 4, 4 - 5, 4 - 5, 4 - 5}});
    expect_row(&s, 0, "registers", none);
    expect_feature(&s, 0, "unrolled.loads", 3 - 5);
    expect_feature(&s, 0, "unrolled.cycles", 4 - 5);
    close_program(&s);
}

/* The trips of virtual threads come first; two of them at a time read the same. */
static void test_virtual_threads(void **state) {
    (void)state;
    const lowered four =
        lower_text("// buffer A: float32[64]",
                   VTHREADS(4) "allocate X[float32 * 4], storage_scope = local\n"
                               "for (k, 0, 8) { X[vthread] = (X[vthread] + A[((((vthread % 2)*8) + k) + 3)])\n }");
    /* 4 trips: 2 loads, 4 registers; all 32: 16 loads; 16 trips are two thirds of the way. */
    expect_row(&four, 0, "loads", (row){{1 - 2, 1 + 3 * 2 / 3.0 - 4, 4 - 5, 4 - 5, 4 - 5}});
    expect_row(&four, 0, "registers", (row){{2, 2, 2, 2, 2}});
    close_program(&four);
    /* Five virtual threads: 4 trips are between one trip, which has a fifth of the loads, and five. */
    const lowered five = lower_text("// buffer A: float32[64]\n// buffer B: float32[64]",
                                    VTHREADS(5) "B[vthread] = A[((vthread % 2)*8)]\n");
    expect_row(&five, 0, "loads", (row){{log2(2 / 5.0), log2(2 / 5.0), log2(2 / 5.0), log2(2 / 5.0), log2(2 / 5.0)}});
    expect_row(&five, 0, "registers", none);
    close_program(&five);
}

/* The same from shared memory into registers: a load takes one cycle, and each virtual thread has a register. */
static void test_virtual_threads_and_shared_memory(void **state) {
    (void)state;
    const lowered s = lower_text("", VTHREADS(5) "allocate S[float32 * 64], storage_scope = shared\n"
                                                 "allocate X[float32 * 5], storage_scope = local\n"
                                                 "X[vthread] = (X[vthread] + S[((vthread % 2)*8)])\n");
    const double all = log2(2 / 5.0), registers = log2(5);
    expect_row(&s, 0, "cycles", (row){{all, all, all, all, all}});
    expect_row(&s, 0, "registers", (row){{2, registers, registers, registers, registers}});
    close_program(&s);
    /* One cycle for 16 trips. */
    const lowered one = lower_text("", "allocate S[float32 * 64], storage_scope = shared\n"
                                       "allocate X[float32 * 1], storage_scope = local\n"
                                       "for (r, 0, 16) { X[0] = (X[0] + S[0])\n }");
    expect_row(&one, 0, "cycles", (row){{-2, -4, -4, -4, -4}});
    expect_row(&one, 0, "loads", (row){{-2, -4, -4, -4, -4}});
    close_program(&one);
}

/* Four trips are between one and six, 16 between six and 60. */
static void test_loops_that_are_no_powers_of_two(void **state) {
    (void)state;
    const lowered s = lower_text("// buffer A: float32[6]\n// buffer B: float32[6]",
                                 "for (k, 0, 10) { for (i, 0, 6) { B[i] = A[i]\n } }");
    const double last = log2(6 / 60.0);
    expect_row(&s, 0, "loads", (row){{0, log2(6) - 4, last, last, last}});
    close_program(&s);
}

/* Addresses of up to 64 virtual threads are compared; more count as different. */
static void test_many_virtual_threads(void **state) {
    (void)state;
    const lowered some = lower_text("// buffer A: float32[64]\n// buffer B: float32[64]",
                                    VTHREADS(64) "B[vthread] = A[(vthread % 2)]\n");
    expect_feature(&some, 0, "window64.loads", 1 - 6);
    close_program(&some);
    const lowered more = lower_text("// buffer A: float32[65]\n// buffer B: float32[65]",
                                    VTHREADS(65) "B[vthread] = A[(vthread % 2)]\n");
    expect_feature(&more, 0, "window64.loads", 0);
    close_program(&more);
    /* An access that does not depend on them has one address. */
    const lowered same =
        lower_text("// buffer A: float32[65]\n// buffer B: float32[65]", VTHREADS(65) "B[vthread] = A[7]\n");
    expect_feature(&same, 0, "window64.loads", -log2(65));
    expect_feature(&same, 0, "window1024.loads", -log2(65));
    close_program(&same);
}

/* Two dimensions of a tensor: different virtual threads differ in either. */
static void test_addresses_in_two_dimensions(void **state) {
    (void)state;
    const lowered s = lower_text("// buffer A: float32[4, 4]\n// buffer B: float32[16]",
                                 VTHREADS(16) "B[vthread] = A[(vthread/8), (vthread % 4)]\n");
    expect_feature(&s, 0, "window16.loads", 3 - 4);
    close_program(&s);
}

/* No more elements than trips: every other element of a row, and the diagonal of a matrix. */
static void test_elements_that_are_skipped(void **state) {
    (void)state;
    const lowered sparse =
        lower_text("// buffer A: float32[64]\n// buffer B: float32[64]", "for (i, 0, 8) { B[i] = A[(i*2)]\n }");
    expect_row(&sparse, 0, "loads", none); /* one load for each trip */
    close_program(&sparse);
    const lowered both = lower_text("// buffer A: float32[64]\n// buffer B: float32[64]",
                                    "for (i, 0, 8) { B[i] = (A[(i*2)] + A[((i*2) + 1)])\n }");
    expect_row(&both, 0, "loads", (row){{1, 1, 1, 1, 1}});
    close_program(&both);
    const lowered diagonal =
        lower_text("// buffer A: float32[8, 8]\n// buffer B: float32[64]", "for (i, 0, 8) { B[i] = A[i, i]\n }");
    expect_row(&diagonal, 0, "loads", none);
    close_program(&diagonal);
    /* A window slides: 8 trips of i and 3 of k read 10 elements. */
    const lowered sliding = lower_text("// buffer A: float32[64]\n// buffer B: float32[64]",
                                       "for (k, 0, 3) { for (i, 0, 8) { B[i] = A[(i + k)]\n } }");
    expect_feature(&sliding, 0, "window1024.loads", log2(10 / 24.0));
    close_program(&sliding);
}

/* Only the innermost loop is unrolled; the other is part of the windows. */
static void test_trips_that_are_unrolled(void **state) {
    (void)state;
    const lowered some = lower_text("// buffer A: float32[8]\n// buffer B: float32[64]",
                                    "for (k, 0, 2000) { for (i, 0, 8) { B[i] = A[i]\n } }");
    expect_feature(&some, 0, "unrolled.loads", 0);
    /* 1024 trips are between 8 and 16,000, which load the same 8. */
    expect_feature(&some, 0, "window1024.loads", 3 - 10);
    close_program(&some);
    /* Also when more trips are unrolled than the largest window has: 8192, of which two at a time load the same. */
    const lowered all = lower_text("// buffer A: float32[64, 64]\n// buffer B: float32[64, 64]",
                                   "unrolled (k, 0, 2) { unrolled (j, 0, 64) { unrolled (i, 0, 64) {\n"
                                   "B[j, i] = A[j, i]\n } } }");
    expect_feature(&all, 0, "unrolled.loads", -1);
    expect_feature(&all, 0, "window1024.loads", 0);
    close_program(&all);
}

static void test_stores_that_load_nothing(void **state) {
    (void)state;
    const lowered s = lower_text("// buffer B: float32[64]", "allocate X[float32 * 8], storage_scope = local\n"
                                                             "for (i, 0, 8) { B[i] = 1f\n }\n"
                                                             "for (j, 0, 8) { B[j] = X[j]\n }");
    for (uint32_t leaf = 0; leaf < 2; leaf++) {
        expect_row(&s, leaf, "loads", none);
        expect_row(&s, leaf, "registers", none);
        expect_feature(&s, leaf, "unrolled.registers", 0);
        expect_log_feature(&s, leaf, "round_turns", 8);
        expect_log_feature(&s, leaf, "global.unique", 8);
    }
    close_program(&s);
}

/* Loops around the lifetime of a shared buffer are rounds; a local buffer does not count. */
static void test_rounds(void **state) {
    (void)state;
    const lowered s = lower_text("// buffer A: float32[64]\n// buffer B: float32[64]",
                                 THREADS(4) "for (r, 0, 3) {\n"
                                            "allocate S[float32 * 16], storage_scope = shared\n"
                                            "for (f, 0, 5) { S[f] = A[((r*5) + f)]\n }\n"
                                            "for (q, 0, 2) {\n"
                                            "allocate X[float32 * 1], storage_scope = local\n"
                                            "for (k, 0, 7) { X[0] = (X[0] + S[k])\n }\n"
                                            "} }\n"
                                            "for (i, 0, 6) { B[((i*4) + threadIdx.x)] = A[i]\n }");
    expect_log_feature(&s, 0, "rounds", 3);
    expect_log_feature(&s, 0, "round_turns", 5);
    expect_log_feature(&s, 1, "rounds", 3);
    expect_log_feature(&s, 1, "round_turns", 14);
    expect_log_feature(&s, 2, "rounds", 1);
    expect_log_feature(&s, 2, "round_turns", 6);
    /* Elements of global memory, over all threads and loops: reads and writes. */
    expect_log_feature(&s, 0, "global.unique", 15);
    expect_log_feature(&s, 1, "global.unique", 0);
    expect_log_feature(&s, 2, "global.unique", 24 + 6);
    close_program(&s);
}

/* Schedule 17: each of two virtual threads reads 9 channels of 3 filters; both read every other one of 3 columns, in 9
 * channels: two columns, not three. */
static void test_schedule_with_skipped_columns(void **state) {
    (void)state;
    const lowered s = lower_record("tests/program/schedules.jsonl", 17);
    expect_feature(&s, 3, "window1024.loads", log2((2 * 27 + 9 * 2) / (2 * 54.0)));
    close_program(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_loops_one_after_the_other),
        cmocka_unit_test(test_cycles_of_shared_memory),
        cmocka_unit_test(test_virtual_threads),
        cmocka_unit_test(test_virtual_threads_and_shared_memory),
        cmocka_unit_test(test_loops_that_are_no_powers_of_two),
        cmocka_unit_test(test_many_virtual_threads),
        cmocka_unit_test(test_addresses_in_two_dimensions),
        cmocka_unit_test(test_elements_that_are_skipped),
        cmocka_unit_test(test_trips_that_are_unrolled),
        cmocka_unit_test(test_stores_that_load_nothing),
        cmocka_unit_test(test_rounds),
        cmocka_unit_test(test_schedule_with_skipped_columns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
