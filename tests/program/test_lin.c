/* Tests of index expressions: sums built by splits, fusions and substitutions have the value of plain arithmetic and
 * lie within the computed range. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/rng.h"
#include "program/lin.h"

enum { LOOPS = 4 };

typedef struct bench {
    arena memory;
    lin_atom atoms[LIN_MAX_ATOMS];
    lin_space space;
    uint32_t loops[LOOPS];
    int64_t extents[LOOPS];
} bench;

static bench shared;

static bench *fresh(rng *random) {
    bench *b = &shared;
    arena_init(&b->memory, 1 << 24);
    lin_space_init(&b->space, &b->memory, b->atoms);
    for (int i = 0; i < LOOPS; i++) {
        b->extents[i] = 2 + rng_below(random, 5);
        b->loops[i] = lin_new_loop(&b->space, b->extents[i]);
    }
    return b;
}

/* Advances to the next point of the loops; false after the last. */
static bool go_on(const bench *b, int64_t at[static LOOPS]) {
    int i = 0;
    while (i < LOOPS && ++at[i] == b->extents[i]) at[i++] = 0;
    return i < LOOPS;
}

/* Every point of the loops, many at a time; `expected` has one value per point. */
static void check_points(const bench *b, lin a, const int64_t *expected) {
    int64_t at[LOOPS] = {0}, stood[LOOPS][LIN_MAX_TRIPS], values[LIN_MAX_TRIPS], min, max;
    lin_range(&b->space, a, &min, &max);
    for (bool is_more = true; is_more; expected += LIN_MAX_TRIPS) {
        lin_trips trips = {0};
        for (int i = 0; i < LOOPS; i++) {
            trips.of[b->space.atoms[b->loops[i]].loop] = stood[i];
            lin_mask_add(&trips.varying, b->space.atoms[b->loops[i]].loop);
        }
        for (; is_more && trips.count < LIN_MAX_TRIPS; trips.count++, is_more = go_on(b, at))
            for (int i = 0; i < LOOPS; i++) stood[i][trips.count] = at[i];
        lin_values(&b->space, a, &trips, values);
        for (uint32_t i = 0; i < trips.count; i++) {
            assert_int_equal(values[i], expected[i]);
            assert_true(values[i] >= min && values[i] <= max);
        }
    }
}

static void test_random_sums(void **state) {
    (void)state;
    rng random;
    rng_init(&random, 5, 0);
    for (int round = 0; round < 300; round++) {
        bench *b = fresh(&random);
        lin sum = lin_constant(0);
        static int64_t expected[6 * 6 * 6 * 6];
        int64_t factors[LOOPS];
        for (int i = 0; i < LOOPS; i++) {
            factors[i] = rng_below(&random, 13);
            sum = lin_add(&b->space, sum, lin_from_atom(&b->space, b->loops[i]), factors[i]);
        }
        int64_t base = rng_below(&random, 9);
        sum.base += base;
        /* A chain of divisions and remainders, each also done by hand. */
        uint32_t points = 0;
        for (int64_t at[LOOPS] = {0};; points++) {
            expected[points] = base;
            for (int i = 0; i < LOOPS; i++) expected[points] += factors[i] * at[i];
            int i = 0;
            while (i < LOOPS && ++at[i] == b->extents[i]) at[i++] = 0;
            if (i == LOOPS) break;
        }
        check_points(b, sum, expected);
        for (int step = 0; step < 4; step++) {
            int64_t n = 1 + rng_below(&random, 12);
            uint32_t what = rng_below(&random, 3);
            sum = what == 0 ? lin_divide(&b->space, sum, n)
                  : what == 1
                      ? lin_modulo(&b->space, sum, n)
                      : lin_add(&b->space, lin_scale(&b->space, sum, n), lin_from_atom(&b->space, b->loops[0]), 1);
            uint32_t point = 0;
            for (int64_t at[LOOPS] = {0};; point++) {
                expected[point] = what == 0   ? expected[point] / n
                                  : what == 1 ? expected[point] % n
                                              : expected[point] * n + at[0];
                int i = 0;
                while (i < LOOPS && ++at[i] == b->extents[i]) at[i++] = 0;
                if (i == LOOPS) break;
            }
            check_points(b, sum, expected);
        }
        assert_false(b->space.is_too_large);
        arena_free(&b->memory);
    }
}

/* Fusing the parts of a split cancels it. */
static void test_simplifies(void **state) {
    (void)state;
    rng random;
    rng_init(&random, 1, 0);
    bench *b = fresh(&random);
    lin outer = lin_from_atom(&b->space, lin_new_loop(&b->space, 5)),
        inner = lin_from_atom(&b->space, lin_new_loop(&b->space, 12));
    lin fused = lin_add(&b->space, inner, outer, 12);
    assert_true(lin_equal(lin_divide(&b->space, fused, 12), outer));
    assert_true(lin_equal(lin_modulo(&b->space, fused, 12), inner));
    assert_true(
        lin_equal(lin_divide(&b->space, fused, 4), lin_add(&b->space, lin_divide(&b->space, inner, 4), outer, 3)));
    /* (x / 3) / 4 is x / 12, and (x / 3) mod 4 of x = 12 o + i is (i / 3). */
    lin third = lin_divide(&b->space, fused, 3);
    assert_true(lin_equal(lin_divide(&b->space, third, 4), outer));
    assert_true(lin_equal(lin_modulo(&b->space, third, 4), lin_divide(&b->space, inner, 3)));
    int64_t apart;
    assert_true(lin_same_terms(lin_add(&b->space, fused, lin_constant(7), 1), fused, &apart));
    assert_int_equal(apart, 7);
    arena_free(&b->memory);
}

static void test_replaces(void **state) {
    (void)state;
    rng random;
    rng_init(&random, 2, 0);
    bench *b = fresh(&random);
    uint32_t axis = lin_new_axis(&b->space, 60);
    lin loop = lin_from_atom(&b->space, lin_new_loop(&b->space, 60));
    lin quotient = lin_divide(&b->space, lin_from_atom(&b->space, axis), 7);
    lin replaced = lin_substitute(&b->space, lin_add(&b->space, lin_constant(3), quotient, 2), axis, 1, &loop);
    assert_true(lin_equal(replaced, lin_add(&b->space, lin_constant(3), lin_divide(&b->space, loop, 7), 2)));
    arena_free(&b->memory);
}

static void test_too_large(void **state) {
    (void)state;
    rng random;
    rng_init(&random, 3, 0);
    bench *b = fresh(&random);
    lin huge = lin_scale(&b->space, lin_from_atom(&b->space, b->loops[0]), INT64_MAX / 2);
    lin_scale(&b->space, huge, 3);
    assert_true(b->space.is_too_large);
    arena_free(&b->memory);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_sums),
        cmocka_unit_test(test_simplifies),
        cmocka_unit_test(test_replaces),
        cmocka_unit_test(test_too_large),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
