/* Tests of GPU features: the launch, requests of warps, sectors and bank conflicts, computed by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>

#include "support/program_features.h"

/* Schedule 1: blocks, 6 virtual threads, 3 threads; a convolution from shared memory. */
static void test_gpu(void **state) {
    (void)state;
    const lowered s = lower_record("tests/program/schedules.jsonl", 1);
    const ft_program_features f = s.f;
    assert_int_equal(f.leaf_count, 5);
    /* Three threads fill three elements each: 48 bytes of one row, 16 apart, lie in two sectors. */
    expect_log(feature(&f, 1, "global.read.accesses"), 2 * 2 * 11 * 3 * 3);
    expect_log(feature(&f, 1, "global.read.repeats"), 2);
    expect_log(feature(&f, 1, "global.read.requests"), 2 * 2 * 11 * 2);
    expect_log(feature(&f, 1, "shared.write.repeats"), 1);
    expect_log(feature(&f, 1, "shared.write.requests"), 2 * 2 * 11);
    /* The reduction reads two buffers; under the three loops inside their lifetime, 5 x 3 and 3 elements. */
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
    /* Six virtual threads read three images with two filters. All 2 x 27 trips of each read 5 x 4 elements of the
     * images and 3 x 2 of the filters, and add to 9. */
    assert_true(fabs(feature(&f, 3, "window4.loads") - log2((3 + 2) / 6.0)) < 1e-5);
    assert_true(fabs(feature(&f, 3, "window1024.loads") - log2((3 * 20 + 2 * 6) / (6.0 * 54))) < 1e-5);
    assert_true(fabs(feature(&f, 3, "window1024.registers") - log2(6 * 9)) < 1e-5);
    expect_log(feature(&f, 3, "rounds"), 2);
    expect_log(feature(&f, 3, "round_turns"), 27);
    expect_log(feature(&f, 1, "global.unique"), 3 * 11 * 4);
    assert_true(feature(&f, 3, "is_update") == 1 && feature(&f, 0, "is_start") == 1);
    /* TVM may unroll 64 stores: 54 of the initialisation, 11 and 2 that fill shared memory, 6 copies of two loops of
     * three trips, but not of the third loop. The compiler unrolls that, and even both rounds, and the final stores. */
    expect_log(feature(&f, 3, "unrolled.turns"), 6 * 27 * 2);
    expect_log(feature(&f, 3, "unrolled.left"), 1);
    expect_log(feature(&f, 3, "unrolled.code"), 54 + 2 * (11 + 2 + 6 * 27) + 6 * 9);
    expect_log(feature(&f, 1, "unrolled.turns"), 11 * 3 * 2);
    for (uint32_t i = 0; i < f.leaf_count; i++)
        assert_true(feature(&f, i, "unrolled.moving") == 0 && feature(&f, i, "unrolled.moves") == 0);
    assert_true(fabs(feature(&f, 3, "unrolled.loads") - log2((3 * 20 + 2 * 6) / (6.0 * 54))) < 1e-5);
    assert_true(fabs(feature(&f, 3, "unrolled.registers") - log2(6 * 9)) < 1e-5);
    assert_true(feature(&f, 3, "global.read.accesses") == 0);
    close_program(&s);
}

/* Schedule 5: three threads read shared memory 2 x 64 words apart, all from the same bank. */
static void test_bank_conflicts(void **state) {
    (void)state;
    const lowered s = lower_record("tests/program/schedules.jsonl", 5);
    expect_log(feature(&s.f, 3, "shared.read.repeats"), 3);
    /* A thread reads 384 elements of the images, four per instruction, and 16 of the filters, two per instruction,
     * which are the same for all threads. */
    assert_true(fabs(feature(&s.f, 3, "window1024.cycles") - log2((384 * 3 / 4.0 + 16 / 2.0) / (6 * 128))) < 1e-5);
    close_program(&s);
}

/* Schedule 19: four threads have five trips for 36 elements, two per instruction; the rest is predicated off. They read
 * contiguous elements, although the indices are quotients and remainders: one sector, and no bank conflict. */
static void test_vectors_and_predicated_threads(void **state) {
    (void)state;
    const lowered s = lower_record("tests/program/schedules.jsonl", 19);
    expect_log(feature(&s.f, 2, "outer_prod"), 2 * 40);
    expect_log(feature(&s.f, 2, "global.read.accesses"), 2 * 36);
    expect_log(feature(&s.f, 2, "global.read.requests"), 2 * 36 / 8);
    expect_log(feature(&s.f, 2, "shared.write.requests"), 2 * 36 / 8);
    close_program(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gpu),
        cmocka_unit_test(test_bank_conflicts),
        cmocka_unit_test(test_vectors_and_predicated_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
