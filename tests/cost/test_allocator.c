/* The model of the caching allocator: rounding, reuse, fragmentation. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cost/allocator.h"
#include "support/failing.h"
#include "support/growth.h"

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

static void allocate(uint32_t id, uint64_t bytes) {
    assert_true(allocator_allocate(a, id, bytes));
}

static void segments_have_three_sizes(void **state) {
    (void)state;
    allocate(0, 0);
    assert_int_equal(allocator_peak_reserved(a), 0);
    allocate(1, 1);
    assert_int_equal(allocator_peak_allocated(a), 512);
    assert_int_equal(allocator_peak_reserved(a), 2 * MIB);
    allocate(2, MIB); /* still fits the small segment */
    assert_int_equal(allocator_peak_reserved(a), 2 * MIB);
    allocate(3, MIB + 1);
    assert_int_equal(allocator_peak_reserved(a), 22 * MIB);
    allocate(4, 9 * MIB); /* in the same segment */
    assert_int_equal(allocator_peak_reserved(a), 22 * MIB);
    allocate(5, 10 * MIB); /* from 10 MiB on, a segment of its own */
    assert_int_equal(allocator_peak_reserved(a), 32 * MIB);
    allocate(6, 11 * MIB);
    assert_int_equal(allocator_peak_reserved(a), 44 * MIB);
}

static void free_blocks_are_reused(void **state) {
    (void)state;
    allocate(1, 30 * MIB);
    allocate(2, 20 * MIB);
    allocator_deallocate(a, 1);
    allocator_deallocate(a, 2);
    allocate(3, 18 * MIB); /* the smallest that holds it: that of 20 */
    allocate(4, 25 * MIB);
    assert_int_equal(allocator_peak_reserved(a), 50 * MIB);
    allocator_deallocate(a, 7); /* not allocated */
}

/* Two segments do not make a larger one; two blocks of one segment do. */
static void segments_are_not_merged(void **state) {
    (void)state;
    allocate(1, 12 * MIB);
    allocate(2, 12 * MIB);
    allocator_deallocate(a, 1);
    allocator_deallocate(a, 2);
    allocate(3, 24 * MIB);
    assert_int_equal(allocator_peak_reserved(a), 48 * MIB);
    allocator_deallocate(a, 3);
    allocate(4, 10 * MIB);
    allocate(5, 10 * MIB);
    allocate(6, 8 * MIB); /* these three leave no other block of 20 */
    allocator_deallocate(a, 4);
    allocator_deallocate(a, 6);
    allocator_deallocate(a, 5);
    allocate(7, 24 * MIB);
    assert_int_equal(allocator_peak_reserved(a), 48 * MIB);
}

/* A rest of up to 1 MiB stays with a large block. */
static void small_rests_are_not_split_off(void **state) {
    (void)state;
    allocate(1, 12 * MIB);
    allocator_deallocate(a, 1);
    allocate(2, 11 * MIB);
    assert_int_equal(allocator_peak_allocated(a), 12 * MIB);
    allocator_deallocate(a, 2);
    allocate(3, 8 * MIB);
    allocate(4, 4 * MIB);
    assert_int_equal(allocator_peak_reserved(a), 12 * MIB);
}

static void an_allocation_can_be_renamed(void **state) {
    (void)state;
    allocate(1, 12 * MIB);
    allocator_rename(a, 2, 1);
    allocator_deallocate(a, 1);
    allocate(3, 12 * MIB);
    assert_int_equal(allocator_peak_reserved(a), 24 * MIB);
    allocator_deallocate(a, 2);
    allocate(4, 12 * MIB);
    assert_int_equal(allocator_peak_reserved(a), 24 * MIB);
}

static void free_segments_are_released_near_the_limit(void **state) {
    (void)state;
    allocate(1, 600 * MIB);
    allocator_deallocate(a, 1);
    allocate(2, 100 * KIB);
    allocate(3, 700 * MIB);
    assert_false(allocator_is_exhausted(a));
    assert_int_equal(allocator_peak_reserved(a), 702 * MIB); /* the first 600 were released */
    allocate(4, 400 * MIB);
    assert_true(allocator_is_exhausted(a));
    allocator_deallocate(a, 4);
    allocator_empty_cache(a);
    allocate(5, 10 * MIB);
    assert_int_equal(allocator_peak_reserved(a), 1102 * MIB); /* the peak */
}

/* Scratch counts for the peak, and leaves no allocation. */
static void scratch_is_freed_at_once(void **state) {
    (void)state;
    assert_true(allocator_allocate_scratch(a, 0));
    assert_int_equal(allocator_peak_reserved(a), 0);
    allocate(1, 12 * MIB);
    assert_true(allocator_allocate_scratch(a, 30 * MIB));
    assert_int_equal(allocator_peak_allocated(a), 42 * MIB);
    assert_int_equal(allocator_peak_reserved(a), 42 * MIB);
    allocate(2, 10 * MIB);
    allocate(3, 20 * MIB); /* both are where it was */
    assert_int_equal(allocator_peak_reserved(a), 42 * MIB);
    allocator_deallocate(a, 3);
    assert_true(allocator_allocate_scratch(a, 19 * MIB + 512 * KIB)); /* a rest of up to 1 MiB stays with it */
    assert_int_equal(allocator_peak_allocated(a), 42 * MIB);
}

/* A step that reserves no segment and keeps no allocation is stable. */
static void repeated_steps_become_stable(void **state) {
    (void)state;
    allocate(40, 3 * MIB);
    assert_false(allocator_is_stable(a));
    for (int step = 0; step < 3; step++) {
        for (uint32_t i = 0; i < 8; i++) allocate(i, (i + 1) * 3 * MIB);
        allocator_deallocate_below(a, 8);
        assert_int_equal(allocator_is_stable(a), step > 0);
    }
    allocate(8, 1 * MIB);
    allocator_deallocate_below(a, 8);
    assert_false(allocator_is_stable(a)); /* a new segment */
    allocate(9, 2 * MIB);
    assert_false(allocator_is_stable(a)); /* more is allocated */
    allocator_deallocate_below(a, 41);
    allocator_empty_cache(a);
    assert_false(allocator_is_stable(a));
    assert_true(allocator_is_stable(a));
}

/* Sums of absurd sizes do not overflow. */
static void absurd_sizes_are_capped(void **state) {
    (void)state;
    for (uint32_t i = 0; i < 64; i++) allocate(i, UINT64_MAX);
    assert_true(allocator_peak_reserved(a) >= (uint64_t)1 << 50);
}

static void out_of_memory_is_an_error(void **state) {
    (void)state;
    for (long n = 0;; n++) {
        failing_start(n);
        allocator *own = allocator_new(700, UINT64_MAX);
        bool is_good = own != NULL;
        for (uint32_t i = 0; i < 600 && is_good; i++) is_good = allocator_allocate(own, i, (i + 1) * 300 * KIB);
        for (uint32_t i = 0; i < 600 && is_good; i += 2) allocator_deallocate(own, i);
        if (is_good) is_good = allocator_allocate(own, 600, 1);
        bool has_failed = failing_stop();
        allocator_free(own);
        assert_int_equal(is_good, !has_failed);
        if (!has_failed) break;
    }
    allocator_free(NULL);
}

/* --- Against the same rules, written for reading ------------------------------------------------------------- */

enum { PIECES = 60, MAX_BLOCKS = 4 * PIECES };

typedef struct plain_block {
    uint64_t size;
    int segment, id; /* id: -1 when free */
    bool is_small;
} plain_block;

typedef struct plain {
    plain_block blocks[MAX_BLOCKS]; /* in order of place */
    int count, segments;
    uint64_t reserved, reserved_peak, taken, taken_peak;
} plain;

static void plain_remove(plain *p, int at) {
    for (int i = at; i + 1 < p->count; i++) p->blocks[i] = p->blocks[i + 1];
    p->count--;
}

static void plain_take(plain *p, int id, uint64_t bytes) {
    uint64_t size = (bytes + 511) / 512 * 512;
    int best = -1;
    for (int i = 0; i < p->count; i++) {
        const plain_block *b = &p->blocks[i];
        bool fits = b->id < 0 && b->is_small == (size <= MIB) && b->size >= size;
        if (fits && (best < 0 || b->size < p->blocks[best].size)) best = i;
    }
    if (best < 0) {
        uint64_t own = (size + 2 * MIB - 1) / (2 * MIB) * 2 * MIB;
        uint64_t segment = size <= MIB ? 2 * MIB : size < 10 * MIB ? 20 * MIB : own;
        best = p->count++;
        assert_true(p->count < MAX_BLOCKS);
        p->blocks[best] = (plain_block){.size = segment, .segment = p->segments++, .is_small = size <= MIB};
        p->reserved += segment;
        if (p->reserved > p->reserved_peak) p->reserved_peak = p->reserved;
    }
    plain_block *b = &p->blocks[best];
    uint64_t rest = b->size - size;
    if (b->is_small ? rest >= 512 : rest > MIB) {
        for (int i = p->count++; i > best; i--) p->blocks[i] = p->blocks[i - 1];
        assert_true(p->count < MAX_BLOCKS);
        p->blocks[best + 1].size = rest;
        p->blocks[best + 1].id = -1;
        b->size = size;
    }
    b->id = id;
    p->taken += b->size;
    if (p->taken > p->taken_peak) p->taken_peak = p->taken;
}

static void plain_give(plain *p, int id) {
    int at = 0;
    while (p->blocks[at].id != id) at++;
    p->blocks[at].id = -1;
    p->taken -= p->blocks[at].size;
    for (int i = at + 1; i >= at; i--) {
        if (i == 0 || i >= p->count) continue;
        plain_block *x = &p->blocks[i - 1], *y = &p->blocks[i];
        if (x->segment != y->segment || x->id >= 0 || y->id >= 0) continue;
        x->size += y->size;
        plain_remove(p, i);
    }
}

static void plain_release(plain *p) {
    for (int i = p->count - 1; i >= 0; i--) {
        const plain_block *b = &p->blocks[i];
        bool is_whole = (i == 0 || b[-1].segment != b->segment) && (i + 1 == p->count || b[1].segment != b->segment);
        if (b->id >= 0 || !is_whole) continue;
        p->reserved -= b->size;
        plain_remove(p, i);
    }
}

static void random_orders_match_a_simple_model(void **state) {
    (void)state;
    static plain p;
    bool is_taken[PIECES] = {false};
    uint32_t random = 1;
    allocator *own = allocator_new(PIECES, UINT64_MAX);
    assert_non_null(own);
    p = (plain){0};
    for (int i = 0; i < 20000; i++) {
        random = random * 1664525 + 1013904223;
        uint32_t id = random / 7 % PIECES;
        uint64_t bytes = (uint64_t)1 << (8 + random / 64 % 18); /* few sizes, so that many are alike */
        bytes += random / 1024 % 3 * bytes / 4;
        if (is_taken[id]) {
            allocator_deallocate(own, id);
            plain_give(&p, (int)id);
        } else {
            assert_true(allocator_allocate(own, id, bytes));
            plain_take(&p, (int)id, bytes);
        }
        is_taken[id] = !is_taken[id];
        if (random / 16 % 500 == 0) {
            allocator_empty_cache(own);
            plain_release(&p);
        }
        assert_int_equal(allocator_peak_reserved(own), p.reserved_peak);
        assert_int_equal(allocator_peak_allocated(own), p.taken_peak);
    }
    assert_true(p.segments > 10);
    allocator_free(own);
}

/* --- Growth -------------------------------------------------------------------------------------------------- */

/* Every second block of a size is freed, from the first to the last, so that none has a free neighbour. */
static double free_every_second(void *user, uint32_t size) {
    allocator *own = allocator_new(size, UINT64_MAX);
    assert_non_null(own);
    double started = growth_clock();
    for (uint32_t i = 0; i < size; i++) assert_true(allocator_allocate(own, i, *(uint64_t *)user));
    for (uint32_t i = 0; i < size; i += 2) allocator_deallocate(own, i);
    for (uint32_t i = 0; i < size; i += 2) assert_true(allocator_allocate(own, i, *(uint64_t *)user));
    double seconds = growth_clock() - started;
    allocator_free(own);
    return seconds;
}

static void many_free_blocks_of_one_size_are_found_quickly(void **state) {
    (void)state;
    uint64_t sizes[] = {KIB, 3 * MIB};
    for (int i = 0; i < 2; i++) assert_true(growth_ratio(free_every_second, &sizes[i], 20000, 8) <= 8);
}

#define WITH_ONE(test) cmocka_unit_test_setup_teardown(test, begin, end)

int main(void) {
    const struct CMUnitTest tests[] = {
        WITH_ONE(segments_have_three_sizes),         WITH_ONE(free_blocks_are_reused),
        WITH_ONE(segments_are_not_merged),           WITH_ONE(small_rests_are_not_split_off),
        WITH_ONE(an_allocation_can_be_renamed),      WITH_ONE(free_segments_are_released_near_the_limit),
        WITH_ONE(absurd_sizes_are_capped),           WITH_ONE(scratch_is_freed_at_once),
        WITH_ONE(repeated_steps_become_stable),      cmocka_unit_test(random_orders_match_a_simple_model),
        cmocka_unit_test(out_of_memory_is_an_error), cmocka_unit_test(many_free_blocks_of_one_size_are_found_quickly),
    };
    return cmocka_run_group_tests_name("cost/allocator", tests, NULL, NULL);
}
