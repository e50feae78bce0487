/* Tests of npu/usage.c: sums and peaks over ranges of time equal those of a plain array. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/rng.h"
#include "npu/usage.h"

enum { MAX_TIMES = 70, STEPS = 4000 };

static int64_t plain_peak(const int64_t *bytes, uint32_t first, uint32_t last) {
    int64_t peak = 0;
    for (uint32_t t = first; t <= last; t++) peak = bytes[t] > peak ? bytes[t] : peak;
    return peak;
}

static void peaks_are_those_of_an_array(void **state) {
    (void)state;
    static const uint32_t lengths[] = {1, 2, 3, 31, 32, 33, MAX_TIMES};
    rng random;
    rng_init(&random, 5, 0);
    for (size_t k = 0; k < sizeof lengths / sizeof lengths[0]; k++) {
        uint32_t times = lengths[k];
        int64_t bytes[MAX_TIMES];
        arena memory;
        npu_usage usage;
        arena_init(&memory, UINT64_MAX);
        for (uint32_t t = 0; t < times; t++) bytes[t] = (int64_t)rng_below(&random, 1000) - 100;
        assert_true(npu_usage_make(&memory, bytes, times, &usage));
        for (int step = 0; step < STEPS; step++) {
            uint32_t a = rng_below(&random, times), b = rng_below(&random, times);
            uint32_t first = a < b ? a : b, last = a < b ? b : a;
            int64_t added = (int64_t)rng_below(&random, 401) - 200;
            npu_usage_add(&usage, first, last, added);
            for (uint32_t t = first; t <= last; t++) bytes[t] += added;
            a = rng_below(&random, times);
            b = a + rng_below(&random, times - a);
            assert_int_equal(npu_usage_peak(&usage, a, b), plain_peak(bytes, a, b));
        }
        npu_usage_add(&usage, 1, 0, 1000); /* no time */
        assert_int_equal(npu_usage_peak(&usage, 0, times - 1), plain_peak(bytes, 0, times - 1));
        assert_int_equal(npu_usage_peak(&usage, 1, 0), 0);
        arena_free(&memory);
    }
}

static void a_tree_needs_memory(void **state) {
    (void)state;
    const int64_t bytes[4] = {1, 2, 3, 4};
    arena memory;
    npu_usage usage;
    arena_init(&memory, 16);
    assert_false(npu_usage_make(&memory, bytes, 4, &usage));
    arena_free(&memory);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(peaks_are_those_of_an_array),
        cmocka_unit_test(a_tree_needs_memory),
    };
    return cmocka_run_group_tests_name("npu/usage", tests, NULL, NULL);
}
