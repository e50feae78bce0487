/* Tests of unrolling: the limits of TVM and of the compiler, virtual threads, and accumulators that spill. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>

#include "support/program_features.h"

#define BUFFERS         "// buffer A: float32[100000]\n// buffer B: float32[100000]"
#define BLOCKS          "// attr [iter_var(blockIdx.x, , blockIdx.x)] thread_extent = 2\n"
#define VTHREADS(count) "// attr [iter_var(vthread, , vthread)] virtual_thread = " #count "\n"
#define PRAGMA(limit)   "// attr [iter_var()] pragma_auto_unroll_max_step = " #limit "\n"
#define COPY            "B[i] = A[i]\n"

/* Counts of unrolled.turns, .left, .body, .code, .moving and .moves. */
typedef struct counts {
    double trips, left, body, code, spill, moves;
} counts;

static void expect_counts(const lowered *s, uint32_t leaf, counts c) {
    expect_log_feature(s, leaf, "unrolled.turns", c.trips);
    expect_log_feature(s, leaf, "unrolled.left", c.left);
    expect_log_feature(s, leaf, "unrolled.body", c.body);
    expect_log_feature(s, leaf, "unrolled.code", c.code);
    expect_log_feature(s, leaf, "unrolled.moving", c.spill);
    expect_log_feature(s, leaf, "unrolled.moves", c.moves);
}

static void expect_program(const char *statements, uint32_t leaf, counts c) {
    const lowered s = lower_text(BUFFERS, statements);
    expect_counts(&s, leaf, c);
    close_program(&s);
}

static void test_tvm_unrolls_up_to_its_pragma(void **state) {
    (void)state;
    expect_program(BLOCKS PRAGMA(512) "for (i, 0, 512) {" COPY "}", 0, (counts){512, 1, 512, 512, 0, 0});
    expect_program(BLOCKS PRAGMA(511) "for (i, 0, 512) {" COPY "}", 0, (counts){1, 512, 1, 1, 0, 0});
}

static void test_a_compiler_unrolls_up_to_352_stores(void **state) {
    (void)state;
    expect_program(BLOCKS "for (i, 0, 352) {" COPY "}", 0, (counts){352, 1, 352, 352, 0, 0});
    expect_program(BLOCKS "for (i, 0, 353) {" COPY "}", 0, (counts){1, 353, 1, 1, 0, 0});
    /* Two stores in the body count both. */
    expect_program(BLOCKS "for (i, 0, 176) {" COPY "A[i] = 1f\n}", 0, (counts){176, 1, 352, 352, 0, 0});
    expect_program(BLOCKS "for (i, 0, 177) {" COPY "A[i] = 1f\n}", 1, (counts){1, 177, 2, 2, 0, 0});
}

static void test_annotated_loops_are_unrolled(void **state) {
    (void)state;
    expect_program(BLOCKS "unrolled (i, 0, 1000) {" COPY "}", 0, (counts){1000, 1, 1000, 1000, 0, 0});
    /* A vector is one store for all of its lanes. */
    expect_program(BLOCKS "vectorized (i, 0, 1000) {" COPY "}", 0, (counts){1000, 1, 1, 1, 0, 0});
}

/* The inner loop remains; the compiler unrolls the one around it, which makes four loops. Trips outside a loop that
 * remains are not unrolled side by side. */
static void test_loops_around_one_that_remains(void **state) {
    (void)state;
    expect_program(BLOCKS PRAGMA(1024) "for (j, 0, 4) { for (i, 0, 2000) {" COPY "} }", 0,
                   (counts){1, 8000, 1, 4, 0, 0});
    /* TVM unrolls no loop around one that remains, though 800 stores are within its limit. */
    expect_program(BLOCKS PRAGMA(1024) "for (j, 0, 400) { for (i, 0, 2000) {" COPY "} A[j] = 1f\n }", 1,
                   (counts){1, 400, 2, 2, 0, 0});
    expect_program(BLOCKS PRAGMA(1024) "for (j, 0, 400) { for (i, 0, 2) {" COPY "} A[j] = 1f\n }", 1,
                   (counts){1, 400, 3, 3, 0, 0});
    expect_program(BLOCKS PRAGMA(1200) "for (j, 0, 400) { for (i, 0, 2) {" COPY "} A[j] = 1f\n }", 1,
                   (counts){400, 1, 1200, 1200, 0, 0});
}

/* `count` nested loops of two trips; a store `before` stands beside the second loop. */
static void nest_loops(char *text, size_t size, int count, const char *before) {
    int used = snprintf(text, size, "%s", BLOCKS PRAGMA(2000));
    for (int i = 0; i < count; i++)
        used += snprintf(text + used, size - (size_t)used, "for (i%d, 0, 2) { %s", i, i == 0 ? before : "");
    used += snprintf(text + used, size - (size_t)used, "B[i0] = A[i0]\n");
    for (int i = 0; i < count; i++) used += snprintf(text + used, size - (size_t)used, "}");
}

static void test_tvm_unrolls_nine_levels(void **state) {
    (void)state;
    char text[2048];
    nest_loops(text, sizeof text, 9, "");
    expect_program(text, 0, (counts){512, 1, 512, 512, 0, 0});
    nest_loops(text, sizeof text, 10, "");
    expect_program(text, 0, (counts){512, 2, 512, 512, 0, 0});
    /* The deepest of the children counts, whichever comes first. */
    nest_loops(text, sizeof text, 10, "A[i0] = 1f\n");
    expect_program(text, 0, (counts){1, 2, 513, 513, 0, 0});
}

static void test_virtual_threads_are_copies(void **state) {
    (void)state;
    expect_program(BLOCKS VTHREADS(15) "B[vthread] = A[vthread]\n", 0, (counts){15, 1, 15, 15, 0, 0});
    /* From 16 copies on they are a loop; one of more than 352 trips remains, and its accumulators are in memory. */
    expect_program(BLOCKS VTHREADS(352) "B[vthread] = A[vthread]\n", 0, (counts){352, 1, 352, 352, 0, 0});
    expect_program(BLOCKS VTHREADS(353) "B[vthread] = A[vthread]\n", 0, (counts){1, 353, 1, 1, 352, 256});
    /* Two indices of virtual threads multiply. */
    expect_program(BLOCKS VTHREADS(3) "// attr [iter_var(vthread_1, , vthread)] virtual_thread = 4\n"
                                      "B[(vthread*4) + vthread_1] = 1f\n",
                   0, (counts){12, 1, 12, 12, 0, 0});
    /* The limit of 1 makes a loop of 16 copies, not of 15: TVM then unrolls no loop around it. */
    expect_program(BLOCKS PRAGMA(1024) VTHREADS(15) "for (j, 0, 40) {" PRAGMA(1) "B[(vthread*40) + j] = A[j]\n}", 0,
                   (counts){600, 1, 600, 600, 0, 0});
    expect_program(BLOCKS PRAGMA(1024) VTHREADS(16) "for (j, 0, 40) {" PRAGMA(1) "B[(vthread*40) + j] = A[j]\n}", 0,
                   (counts){16, 40, 16, 16, 0, 0});
}

/* All threads fill a shared buffer once: it has no copies. */
static void test_shared_buffers_have_no_copies(void **state) {
    (void)state;
    expect_program(BLOCKS VTHREADS(400) "allocate S[float32 * 8], storage_scope = shared\n"
                                        "for (i, 0, 8) { S[i] = A[i]\n }",
                   0, (counts){8, 1, 8, 8, 0, 0});
}

static void test_code_is_that_of_the_launch(void **state) {
    (void)state;
    const char *launches = "// attr [iter_var(blockIdx.x, , blockIdx.x)] thread_extent = 2 {\n"
                           "A[0] = 1f\n"
                           "// attr [iter_var(threadIdx.x, , threadIdx.x)] thread_extent = 2\n"
                           "A[1] = 1f\n}\n"
                           "// attr [iter_var(blockIdx.x, , blockIdx.x)] thread_extent = 2 {\n"
                           "for (i, 0, 5) {" COPY "}\n}\n";
    const lowered s = lower_text(BUFFERS, launches);
    expect_counts(&s, 0, (counts){1, 1, 2, 2, 0, 0});
    expect_counts(&s, 1, (counts){1, 1, 2, 2, 0, 0});
    expect_counts(&s, 2, (counts){5, 1, 5, 5, 0, 0});
    close_program(&s);
    /* Without threads there is no launch: the code is that of the store itself. */
    expect_program("for (i, 0, 3) {" COPY "}", 0, (counts){3, 1, 1, 1, 0, 0});
}

#define LOCAL BLOCKS "allocate X[float32 * 2000], storage_scope = local\n"

/* A loop that remains indexes local memory: its array is not in registers. */
static void test_remaining_loops_spill_what_they_index(void **state) {
    (void)state;
    expect_program(LOCAL "for (i, 0, 2000) { X[i] = A[i]\n }", 0, (counts){1, 2000, 1, 1, 1999, 256});
    expect_program(LOCAL "for (i, 0, 300) { X[i] = A[i]\n }", 0, (counts){300, 1, 300, 300, 0, 0});
    expect_program(LOCAL "for (i, 0, 2000) { X[0] = A[i]\n }", 0, (counts){1, 2000, 1, 1, 0, 0});
    /* An accumulator stays in a register for the three trips of the loop inside; those outside do not count. */
    expect_program(LOCAL "for (j, 0, 5) { for (i, 0, 2000) { for (k, 0, 3) { X[i] = (X[i] + A[((i*3) + k)])\n } } }", 0,
                   (counts){3, 10000, 3, 15, 1999, 256.0 / 3});
    /* Two trips are enough to spill. */
    expect_program(LOCAL "for (j, 0, 2) { unrolled (i, 0, 200) { X[((j*200) + i)] = A[i]\n } }", 0,
                   (counts){200, 2, 200, 200, 1, 256});
    /* Of two loops that spill, the trips multiply. */
    expect_program(LOCAL "for (j, 0, 400) { for (i, 0, 500) { X[((i*2) + j)] = A[i]\n } }", 0,
                   (counts){1, 200000, 1, 1, 199999, 256});
}

/* Schedule 32: two virtual threads inside five loops of three trips. A compiler unrolls all but the outermost, which
 * indexes the accumulators: each stays in a register for three trips and is then spilled. */
static void test_schedule_with_spills(void **state) {
    (void)state;
    const lowered s = lower_record("tests/program/schedules.jsonl", 32);
    expect_counts(&s, 3, (counts){2 * 81, 3, 2 * 81, exp2(feature(&s.f, 3, "unrolled.code")) - 1, 3 - 1, 256.0 / 3});
    expect_log_feature(&s, 0, "unrolled.moves", 0);
    expect_log_feature(&s, 4, "unrolled.moves", 0);
    close_program(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tvm_unrolls_up_to_its_pragma),
        cmocka_unit_test(test_a_compiler_unrolls_up_to_352_stores),
        cmocka_unit_test(test_annotated_loops_are_unrolled),
        cmocka_unit_test(test_loops_around_one_that_remains),
        cmocka_unit_test(test_tvm_unrolls_nine_levels),
        cmocka_unit_test(test_virtual_threads_are_copies),
        cmocka_unit_test(test_shared_buffers_have_no_copies),
        cmocka_unit_test(test_code_is_that_of_the_launch),
        cmocka_unit_test(test_remaining_loops_spill_what_they_index),
        cmocka_unit_test(test_schedule_with_spills),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
