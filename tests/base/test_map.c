/* Tests of the map from strings to numbers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/map.h"

static void test_set_and_get(void **state) {
    (void)state;
    arena a;
    map m;
    uint32_t value = 99;
    arena_init(&a, 1 << 20);
    map_init(&m, &a);
    assert_false(map_get(&m, "a", &value));
    assert_true(map_set(&m, "a", 1));
    assert_true(map_set(&m, "", 2));
    assert_true(map_set(&m, "a", 3));
    assert_int_equal(m.count, 2);
    assert_true(map_get(&m, "a", &value));
    assert_int_equal(value, 3);
    assert_true(map_get(&m, "", &value));
    assert_int_equal(value, 2);
    assert_false(map_get(&m, "b", &value));
    assert_int_equal(value, 2);
    arena_free(&a);
}

static void test_add_keeps_the_first(void **state) {
    (void)state;
    arena a;
    map m;
    uint32_t found = 99;
    arena_init(&a, 1 << 20);
    map_init(&m, &a);
    assert_true(map_add(&m, "a", 1, &found));
    assert_int_equal(found, 1);
    assert_true(map_add(&m, "a", 2, &found));
    assert_int_equal(found, 1);
    assert_int_equal(m.count, 1);
    arena_free(&a);
}

static void test_many_keys(void **state) {
    (void)state;
    enum { COUNT = 50000 };
    arena a;
    map m;
    arena_init(&a, UINT64_C(64) << 20);
    map_init(&m, &a);
    for (uint32_t i = 0; i < COUNT; i++) {
        const char *key = arena_format(&a, "tensor_%u/out", i);
        assert_non_null(key);
        assert_true(map_set(&m, key, i));
    }
    assert_int_equal(m.count, COUNT);
    for (uint32_t i = 0; i < COUNT; i++) {
        uint32_t value;
        assert_true(map_get(&m, arena_format(&a, "tensor_%u/out", i), &value));
        assert_int_equal(value, i);
    }
    arena_free(&a);
}

static void test_reserve(void **state) {
    (void)state;
    arena a;
    map m;
    arena_init(&a, 1 << 20);
    map_init(&m, &a);
    assert_true(map_reserve(&m, 1000));
    assert_false(map_reserve(&m, (size_t)UINT32_MAX / 4 + 1)); /* more than 32 bits can index */
    uint32_t capacity = m.capacity;
    assert_in_range(capacity, 1000, 1 << 20);
    for (uint32_t i = 0; i < 1000; i++) assert_true(map_set(&m, arena_format(&a, "%u", i), i));
    assert_int_equal(m.capacity, capacity);
    arena_free(&a);
}

/* Keys of pairs of words, each pair with or without a change that a multiplying and folding hash does not see: the
 * highest bit of the first word, and what it becomes one step later in the second. */
static void test_crafted_keys_do_not_collide(void **state) {
    (void)state;
    enum { PAIRS = 12, COUNT = 1 << PAIRS };
    arena a;
    map m;
    arena_init(&a, UINT64_C(64) << 20);
    map_init(&m, &a);
    for (uint32_t i = 0; i < COUNT; i++) {
        char *key = arena_alloc(&a, PAIRS * 16 + 1);
        assert_non_null(key);
        memset(key, 'k', PAIRS * 16);
        for (uint32_t pair = 0; pair < PAIRS; pair++) {
            if (!(i >> pair & 1)) continue;
            key[pair * 16 + 7] ^= (char)0x80;
            key[pair * 16 + 11] ^= (char)0x80;
            key[pair * 16 + 15] ^= (char)0x80;
        }
        assert_true(map_set(&m, key, i));
    }
    assert_int_equal(m.count, COUNT);
    uint32_t misplaced = 0; /* far from where their hash wants them */
    for (uint32_t i = 0; i < m.capacity; i++) {
        if (m.slots[i].key != NULL) misplaced += ((i - m.slots[i].hash) & (m.capacity - 1)) > 200;
    }
    assert_int_equal(misplaced, 0);
    arena_free(&a);
}

static void test_no_memory(void **state) {
    (void)state;
    arena a;
    map m;
    uint32_t value;
    arena_init(&a, 0);
    map_init(&m, &a);
    assert_false(map_set(&m, "a", 1));
    assert_false(map_get(&m, "a", &value));
    assert_false(map_reserve(&m, 1000));
    arena_free(&a);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_set_and_get),
        cmocka_unit_test(test_add_keeps_the_first),
        cmocka_unit_test(test_many_keys),
        cmocka_unit_test(test_reserve),
        cmocka_unit_test(test_crafted_keys_do_not_collide),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests_name("base/map", tests, NULL, NULL);
}
