/* Tests of the arena. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdalign.h>
#include <string.h>

#include "base/arena.h"

static void test_blocks(void **state) {
    (void)state;
    arena a;
    arena_init(&a, 1 << 20);
    char *before = NULL;
    for (size_t size = 0; size < 300; size++) {
        char *block = arena_alloc(&a, size);
        assert_non_null(block);
        assert_int_equal((uintptr_t)block % alignof(max_align_t), 0);
        assert_ptr_not_equal(block, size > 1 ? before : NULL);
        for (size_t i = 0; i < size; i++) assert_int_equal(block[i], 0);
        memset(block, 0xff, size);
        before = block;
    }
    arena_free(&a);
    assert_int_equal(a.used, 0);
    assert_non_null(arena_alloc(&a, 8)); /* it can be used again */
    arena_free(&a);
}

/* Large blocks have chunks of their own and do not waste the rest of the current one. */
static void test_large_blocks(void **state) {
    (void)state;
    arena a;
    arena_init(&a, UINT64_C(64) << 20);
    char *small = arena_alloc(&a, 16);
    char *large = arena_alloc(&a, 10 << 20);
    char *next = arena_alloc(&a, 16);
    assert_non_null(large);
    large[0] = large[(10 << 20) - 1] = 1;
    assert_ptr_equal(next, small + 16);
    arena_free(&a);
}

static void test_limit(void **state) {
    (void)state;
    arena a;
    arena_init(&a, 100000);
    size_t taken = 0;
    while (arena_alloc(&a, 1000) != NULL) taken += 1000;
    assert_in_range(taken, 50000, 100000);
    assert_true(a.used <= 100000);
    assert_null(arena_alloc(&a, 1000));
    arena_free(&a);
    arena_init(&a, 0);
    assert_null(arena_alloc(&a, 1));
    arena_free(&a);
}

static void test_sizes_that_overflow(void **state) {
    (void)state;
    arena a;
    arena_init(&a, UINT64_MAX);
    assert_null(arena_alloc(&a, SIZE_MAX));
    assert_null(arena_alloc(&a, SIZE_MAX - 8));
    assert_null(arena_array(&a, SIZE_MAX / 2, 3));
    assert_null(arena_string(&a, "", SIZE_MAX));
    arena_free(&a);
}

/* The largest chunk is kept and used again; its bytes go on counting against the limit. */
static void test_reset(void **state) {
    (void)state;
    arena a;
    arena_init(&a, UINT64_MAX);
    arena_reset(&a);
    assert_true(a.used == 0 && a.chunks == NULL);
    void *first = arena_alloc(&a, 100);
    assert_non_null(first);
    uint64_t used = a.used;
    arena_reset(&a);
    assert_true(a.used == used);
    assert_ptr_equal(arena_alloc(&a, 100), first);
    assert_true(a.used == used);
    for (int i = 0; i < 1000; i++) assert_non_null(arena_alloc(&a, 1000));
    uint64_t all = a.used;
    arena_reset(&a);
    assert_true(a.used >= used && a.used < all); /* one chunk is left, the largest */
    uint64_t kept = a.used;
    arena_reset(&a);
    assert_true(a.used == kept);
    arena_free(&a);
}

static void test_copies(void **state) {
    (void)state;
    arena a;
    arena_init(&a, 1 << 20);
    assert_string_equal(arena_string(&a, "abcdef", 3), "abc");
    assert_string_equal(arena_string(&a, NULL, 0), "");
    assert_memory_equal(arena_copy(&a, "\0\1\2", 3), "\0\1\2", 3);
    assert_non_null(arena_copy(&a, NULL, 0));
    assert_string_equal(arena_format(&a, "%d-%s", 7, "x"), "7-x");
    arena_free(&a);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_blocks), cmocka_unit_test(test_large_blocks),
        cmocka_unit_test(test_limit),  cmocka_unit_test(test_sizes_that_overflow),
        cmocka_unit_test(test_reset),  cmocka_unit_test(test_copies),
    };
    return cmocka_run_group_tests_name("base/arena", tests, NULL, NULL);
}
