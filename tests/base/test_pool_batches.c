/* Batches: every item is read, worked on and taken once and in order, errors come where one thread would meet them, and
 * the steps overlap. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>

#include "base/error.h"
#include "base/pool.h"

enum { SIZE = 8, WAIT_S = 20 };

typedef struct scene {
    uint32_t items[2 * SIZE];
    atomic_bool is_worked[2 * SIZE];
    uint32_t total, read, taken;
    uint32_t bad_read, bad_take; /* items whose step fails */
    atomic_bool is_taking, is_working;
    bool must_overlap;
    atomic_uint overlaps;
} scene;

static ft_status read_items(void *user, uint32_t first, uint32_t *count, ft_error *error) {
    scene *s = user;
    assert_true(first == 0 || first == SIZE);
    for (; *count < SIZE && s->read < s->total; ++*count) {
        if (s->read == s->bad_read) return ft_fail(error, FT_ERR_DAMAGED, "item %u is damaged", s->read);
        atomic_store(&s->is_worked[first + *count], false);
        s->items[first + *count] = s->read++;
    }
    return FT_OK;
}

/* The first item of a batch waits for the batch before to be taken: both are done at the same time, or never. */
static void work(void *user, uint32_t item, uint32_t worker) {
    scene *s = user;
    assert_true(worker < 16);
    atomic_store(&s->is_working, true);
    time_t end = time(NULL) + WAIT_S;
    while (s->must_overlap && s->items[item] == SIZE && !atomic_load(&s->is_taking) && time(NULL) < end) continue;
    if (s->items[item] == SIZE) atomic_fetch_add(&s->overlaps, atomic_load(&s->is_taking));
    assert_false(atomic_exchange(&s->is_worked[item], true));
}

static ft_status take(void *user, uint32_t first, uint32_t count, ft_error *error) {
    scene *s = user;
    assert_true(count > 0);
    atomic_store(&s->is_taking, true);
    for (uint32_t i = first; i < first + count; i++) {
        assert_true(atomic_load(&s->is_worked[i]));
        if (s->items[i] == s->bad_take) return ft_fail(error, FT_ERR_LIMIT, "item %u is too large", s->items[i]);
        assert_int_equal(s->items[i], s->taken++);
    }
    return FT_OK;
}

static ft_status run(scene *s, uint32_t threads, ft_error *error) {
    static const batch_steps steps = {.size = SIZE, .read = read_items, .work = work, .take = take};
    pool *p = NULL;
    if (threads > 0) assert_int_equal(pool_new(threads, &p, NULL), FT_OK);
    ft_status status = batches_run(p, &steps, s, error);
    pool_free(p);
    return status;
}

static void all_items_are_taken_in_order(void **state) {
    (void)state;
    static const uint32_t totals[] = {0, 1, SIZE - 1, SIZE, SIZE + 1, 2 * SIZE, 2 * SIZE + 1, 3 * SIZE, 100 * SIZE + 3};
    for (uint32_t threads = 0; threads < 4; threads++) {
        for (size_t i = 0; i < sizeof totals / sizeof totals[0]; i++) {
            scene s = {.total = totals[i], .bad_read = UINT32_MAX, .bad_take = UINT32_MAX};
            assert_int_equal(run(&s, threads, NULL), FT_OK);
            assert_int_equal(s.taken, totals[i]);
        }
    }
}

/* Items before the damaged one are taken; of two errors, that of the earlier item is returned. */
static void errors_come_in_order(void **state) {
    (void)state;
    for (uint32_t threads = 0; threads < 4; threads++) {
        for (uint32_t bad = 0; bad < 4 * SIZE; bad++) {
            ft_error error;
            scene damaged = {.total = 5 * SIZE, .bad_read = bad, .bad_take = UINT32_MAX};
            assert_int_equal(run(&damaged, threads, &error), FT_ERR_DAMAGED);
            assert_int_equal(damaged.taken, bad);
            scene large = {.total = 5 * SIZE, .bad_read = bad + 1, .bad_take = bad};
            assert_int_equal(run(&large, threads, &error), FT_ERR_LIMIT);
            assert_int_equal(large.taken, bad);
            assert_non_null(strstr(error.message, "is too large"));
        }
    }
}

static void a_batch_is_worked_on_while_the_one_before_is_taken(void **state) {
    (void)state;
    scene s = {.total = 4 * SIZE, .bad_read = UINT32_MAX, .bad_take = UINT32_MAX, .must_overlap = true};
    assert_int_equal(run(&s, 2, NULL), FT_OK);
    assert_int_equal(s.overlaps, 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_items_are_taken_in_order),
        cmocka_unit_test(errors_come_in_order),
        cmocka_unit_test(a_batch_is_worked_on_while_the_one_before_is_taken),
    };
    return cmocka_run_group_tests_name("base/batches", tests, NULL, NULL);
}
