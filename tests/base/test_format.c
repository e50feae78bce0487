/* Tests of formatted text: byte for byte that of printf, for every conversion, size of the buffer, and double. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <float.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/format.h"
#include "base/json_writer.h"
#include "base/rng.h"

enum { DOUBLES = 50000 };

/* --- Text -------------------------------------------------------------------------------------------------------- */

static void check_text(const char *ours, size_t length, const char *expected, int expected_length, size_t size) {
    if (length != (size_t)expected_length || (size > 0 && strcmp(ours, expected) != 0))
        fail_msg("'%s' (%zu), not '%s' (%d)", ours, length, expected, expected_length);
}

/* The same call of both, into buffers of any size, bytes behind which stay as they were. */
#define SAME(...)                                                                                                      \
    do {                                                                                                               \
        for (size_t size = 0; size < 64; size++) {                                                                     \
            char ours[80], theirs[80];                                                                                 \
            memset(ours, 'x', sizeof ours);                                                                            \
            size_t length = format_text(ours, size, __VA_ARGS__);                                                      \
            int expected = snprintf(theirs, size, __VA_ARGS__);                                                        \
            check_text(ours, length, theirs, expected, size);                                                          \
            assert_int_equal(ours[size], 'x');                                                                         \
        }                                                                                                              \
    } while (0)

static void test_text_is_that_of_printf(void **state) {
    (void)state;
    static const long long wholes[] = {0, 1, -1, 9, 10, -10, 99, 100, INT_MAX, INT_MIN, LLONG_MAX, LLONG_MIN};
    SAME("plain");
    SAME("%s", "");
    SAME("%s%s,%s", "a", "bc", "def");
    SAME("%c%%%c", 'x', '\n');
    SAME("%.*s|%.*s|%.*s", 2, "abc", 0, "abc", -1, "abc");
    SAME("%.3s|%5s|%-5s|%05d|%+d|%x", "abcdef", "ab", "ab", 42, 42, 255u);
    SAME("%s then %g and %d", "a double", 0.1, 7);
    SAME("%d of %zu, %s", 3, (size_t)12, "after a size");
    SAME("%lld %llu %ld %lu %hu", 1LL, 2ULL, 3L, 4UL, (unsigned short)5);
    SAME("%*d|%.7g|%#x", 6, 12, 3.14159265358979, 16u);
    for (size_t i = 0; i < sizeof wholes / sizeof wholes[0]; i++) {
        SAME("%d", (int)wholes[i]);
        SAME("%u;", (unsigned)wholes[i]);
        SAME("<%lld>", wholes[i]);
        SAME("<%llu>", (unsigned long long)wholes[i]);
    }
}

static void test_absent_strings(void **state) {
    (void)state;
    char ours[32], theirs[32];
    const char *volatile none = NULL;
    format_text(ours, sizeof ours, "<%s>", none);
    snprintf(theirs, sizeof theirs, "<%s>", "(null)");
    assert_string_equal(ours, theirs);
}

/* --- Doubles ------------------------------------------------------------------------------------------------------ */

/* The definition: the first precision that is read back. */
static void slow_double(double value, char text[static FORMAT_DOUBLE_SIZE]) {
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(text, FORMAT_DOUBLE_SIZE, "%.*g", digits, value);
        if (strtod(text, NULL) == value) break;
    }
}

static uint32_t fast_count, all_count;

static void check_double(double value) {
    char ours[FORMAT_DOUBLE_SIZE] = "untouched", theirs[FORMAT_DOUBLE_SIZE];
    all_count++;
    if (!format_double(value, ours)) {
        assert_string_equal(ours, "untouched");
        return;
    }
    fast_count++;
    slow_double(value, theirs);
    if (strcmp(ours, theirs) != 0) fail_msg("'%s', not '%s'", ours, theirs);
}

static void check_around(double value) {
    check_double(value);
    check_double(-value);
    check_double(nextafter(value, INFINITY));
    check_double(nextafter(value, 0));
}

static void test_doubles_are_those_of_printf(void **state) {
    (void)state;
    rng r;
    rng_init(&r, 27, 0);
    for (int i = -320; i <= 308; i++) check_around(pow(10, i));
    for (int i = -1074; i <= 1023; i++) check_around(ldexp(1, i));
    for (int i = 0; i < DOUBLES; i++) {
        uint64_t bits = rng_next(&r);
        double any;
        memcpy(&any, &bits, sizeof any);
        check_double(any);
        double unit = rng_uniform(&r);
        check_around(unit * pow(10, (int)rng_below(&r, 24) - 10));        /* the sizes that metrics have */
        check_double((double)rng_below(&r, 1000000) / 1000);              /* short decimals */
        check_double((double)(bits >> rng_below(&r, 63)));                /* integers */
        check_double((double)(bits >> 40) * ldexp(1, -(int)(bits & 63))); /* ties */
    }
    check_double(0);
    check_double(-0.0);
    check_double(NAN);
    check_double(INFINITY);
}

/* Times and ratios, which fill data sets and reports, need no printf. */
static void test_common_doubles_are_fast(void **state) {
    (void)state;
#ifdef __SIZEOF_INT128__
    rng r;
    rng_init(&r, 28, 0);
    fast_count = all_count = 0;
    for (int i = 0; i < DOUBLES; i++) check_double(rng_uniform(&r) * pow(10, (int)rng_below(&r, 16) - 4));
    assert_int_equal(fast_count, all_count);
#endif
}

/* double_text has the definition for all values, also those that are not written fast. */
static void test_double_text(void **state) {
    (void)state;
    static const double values[] = {1e300, 5e-324, 1e22, 123456789012345680.0, 0.1, 1e-12, -2.5e-300, DBL_MAX};
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        char ours[DOUBLE_TEXT_SIZE], theirs[FORMAT_DOUBLE_SIZE];
        double_text(values[i], ours);
        slow_double(values[i], theirs);
        assert_string_equal(ours, theirs);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text_is_that_of_printf),
        cmocka_unit_test(test_absent_strings),
        cmocka_unit_test(test_doubles_are_those_of_printf),
        cmocka_unit_test(test_common_doubles_are_fast),
        cmocka_unit_test(test_double_text),
    };
    return cmocka_run_group_tests_name("base/format", tests, NULL, NULL);
}
