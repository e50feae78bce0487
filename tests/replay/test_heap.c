/* Tests of the heap: entries come out by group, then rank, then number, whatever order they went in. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/rng.h"
#include "replay/heap.h"

enum { ENTRIES = 300 };

static void test_order(void **state) {
    (void)state;
    heap_entry items[ENTRIES];
    for (uint64_t seed = 0; seed < 20; seed++) {
        heap h = {.items = items};
        rng r;
        rng_init(&r, seed, 0);
        for (uint32_t i = 0; i < ENTRIES; i++)
            heap_push(&h, (heap_entry){.group = rng_below(&r, 3), .rank = rng_below(&r, 10), .id = i});
        heap_entry before = heap_pop(&h);
        while (h.count > 0) {
            heap_entry next = heap_pop(&h);
            assert_true(heap_is_before(&before, &next));
            before = next;
        }
    }
}

static void test_in_and_out(void **state) {
    (void)state;
    heap_entry items[2];
    heap h = {.items = items};
    for (uint32_t i = 0; i < 10; i++) {
        heap_push(&h, (heap_entry){.rank = -1.0 * i, .id = i});
        heap_push(&h, (heap_entry){.rank = i, .id = i});
        assert_true(heap_pop(&h).rank <= 0);
        assert_true(heap_pop(&h).rank >= 0);
        assert_int_equal(h.count, 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_order), cmocka_unit_test(test_in_and_out)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
