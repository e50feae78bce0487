/* Tests of the caching allocator: rounding, reuse, what stays in pieces. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cost/allocator.h"
#include "support/failing.h"

#define KIB ((uint64_t)1 << 10)
#define MIB ((uint64_t)1 << 20)

static allocator *a;

static int begin(void **state) {
    (void)state;
    a = allocator_new(64, 1000 * MIB);
    return a == NULL;
}

static int end(void **state) {
    (void)state;
    allocator_free(a);
    return 0;
}

static void take(uint32_t piece, uint64_t bytes) {
    assert_true(allocator_take(a, piece, bytes));
}

static void segments_have_three_sizes(void **state) {
    (void)state;
    take(0, 0);
    assert_int_equal(allocator_reserved(a), 0);
    take(1, 1);
    assert_int_equal(allocator_taken(a), 512);
    assert_int_equal(allocator_reserved(a), 2 * MIB);
    take(2, MIB); /* still fits the small segment */
    assert_int_equal(allocator_reserved(a), 2 * MIB);
    take(3, MIB + 1);
    assert_int_equal(allocator_reserved(a), 22 * MIB);
    take(4, 9 * MIB); /* beside it */
    assert_int_equal(allocator_reserved(a), 22 * MIB);
    take(5, 10 * MIB); /* from 10 MiB on, a segment of its own */
    assert_int_equal(allocator_reserved(a), 32 * MIB);
    take(6, 11 * MIB);
    assert_int_equal(allocator_reserved(a), 44 * MIB);
}

static void what_is_free_is_used_again(void **state) {
    (void)state;
    take(1, 30 * MIB);
    take(2, 20 * MIB);
    allocator_give(a, 1);
    allocator_give(a, 2);
    take(3, 18 * MIB); /* the smallest that holds it: that of 20 */
    take(4, 25 * MIB);
    assert_int_equal(allocator_reserved(a), 50 * MIB);
    allocator_give(a, 7); /* nobody has it */
}

/* Two segments do not make a larger one; two blocks of one segment do. */
static void segments_are_not_joined(void **state) {
    (void)state;
    take(1, 12 * MIB);
    take(2, 12 * MIB);
    allocator_give(a, 1);
    allocator_give(a, 2);
    take(3, 24 * MIB);
    assert_int_equal(allocator_reserved(a), 48 * MIB);
    allocator_give(a, 3);
    take(4, 10 * MIB);
    take(5, 10 * MIB);
    take(6, 8 * MIB); /* these three leave no other block of 20 */
    allocator_give(a, 4);
    allocator_give(a, 6);
    allocator_give(a, 5);
    take(7, 24 * MIB);
    assert_int_equal(allocator_reserved(a), 48 * MIB);
}

/* A rest of up to 1 MiB stays with a large piece. */
static void small_rests_are_not_split_off(void **state) {
    (void)state;
    take(1, 12 * MIB);
    allocator_give(a, 1);
    take(2, 11 * MIB);
    assert_int_equal(allocator_taken(a), 12 * MIB);
    allocator_give(a, 2);
    take(3, 8 * MIB);
    take(4, 4 * MIB);
    assert_int_equal(allocator_reserved(a), 12 * MIB);
}

static void a_piece_goes_by_another_number(void **state) {
    (void)state;
    take(1, 12 * MIB);
    allocator_pass_on(a, 2, 1);
    allocator_give(a, 1);
    take(3, 12 * MIB);
    assert_int_equal(allocator_reserved(a), 24 * MIB);
    allocator_give(a, 2);
    take(4, 12 * MIB);
    assert_int_equal(allocator_reserved(a), 24 * MIB);
}

static void near_the_limit_free_segments_go(void **state) {
    (void)state;
    take(1, 600 * MIB);
    allocator_give(a, 1);
    take(2, 100 * KIB);
    take(3, 700 * MIB);
    assert_false(allocator_is_over(a));
    assert_int_equal(allocator_reserved(a), 702 * MIB); /* the first 600 were given back */
    take(4, 400 * MIB);
    assert_true(allocator_is_over(a));
    allocator_give(a, 4);
    allocator_release(a);
    take(5, 10 * MIB);
    assert_int_equal(allocator_reserved(a), 1102 * MIB); /* the most there ever was */
}

/* Absurd sizes end nowhere near the end of the range. */
static void absurd_sizes_are_cut(void **state) {
    (void)state;
    for (uint32_t i = 0; i < 64; i++) take(i, UINT64_MAX);
    assert_true(allocator_reserved(a) >= (uint64_t)1 << 50);
}

static void memory_runs_out(void **state) {
    (void)state;
    for (long n = 0;; n++) {
        failing_start(n);
        allocator *own = allocator_new(700, UINT64_MAX);
        bool is_good = own != NULL;
        for (uint32_t i = 0; i < 600 && is_good; i++) is_good = allocator_take(own, i, (i + 1) * 300 * KIB);
        for (uint32_t i = 0; i < 600 && is_good; i += 2) allocator_give(own, i);
        if (is_good) is_good = allocator_take(own, 600, 1);
        bool has_failed = failing_stop();
        allocator_free(own);
        assert_int_equal(is_good, !has_failed);
        if (!has_failed) break;
    }
    allocator_free(NULL);
}

#define WITH_ONE(test) cmocka_unit_test_setup_teardown(test, begin, end)

int main(void) {
    const struct CMUnitTest tests[] = {
        WITH_ONE(segments_have_three_sizes),      WITH_ONE(what_is_free_is_used_again),
        WITH_ONE(segments_are_not_joined),        WITH_ONE(small_rests_are_not_split_off),
        WITH_ONE(a_piece_goes_by_another_number), WITH_ONE(near_the_limit_free_segments_go),
        WITH_ONE(absurd_sizes_are_cut),           cmocka_unit_test(memory_runs_out),
    };
    return cmocka_run_group_tests_name("cost/allocator", tests, NULL, NULL);
}
