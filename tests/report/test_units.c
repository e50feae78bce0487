/* Tests of numbers for people, at the edges where they change their unit. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>

#include "report/units.h"

static void check(void (*format)(uint64_t, char *), uint64_t value, const char *expected) {
    char text[UNIT_TEXT_SIZE];
    format(value, text);
    assert_string_equal(text, expected);
}

static void count(uint64_t value, char *text) {
    unit_count(value, text);
}

static void bytes(uint64_t value, char *text) {
    unit_bytes(value, text);
}

static void test_counts(void **state) {
    (void)state;
    check(count, 0, "0");
    check(count, 999, "999");
    check(count, 1000, "1.00 K");
    check(count, 9994, "9.99 K");
    check(count, 9995, "10.0 K");
    check(count, 99949, "99.9 K");
    check(count, 99950, "100 K");
    check(count, 999499, "999 K");
    check(count, 999500, "1.00 M");
    check(count, 25557032, "25.6 M");
    check(count, 4089184256, "4.09 G");
    check(count, UINT64_MAX - 1, "18.4 E");
    check(count, UINT64_MAX, "> 18.4 E");
}

static void test_bytes(void **state) {
    (void)state;
    check(bytes, 0, "0 B");
    check(bytes, 1023, "1023 B");
    check(bytes, 1024, "1.0 KiB");
    check(bytes, 1048524, "1023.9 KiB");
    check(bytes, 1048525, "1.0 MiB"); /* 1023.95 KiB would round to 1024.0 */
    check(bytes, 107164468, "102.2 MiB");
    check(bytes, UINT64_MAX, "> 16.0 EiB");
}

static void check_fixed(double value, int decimals, const char *expected) {
    char text[UNIT_TEXT_SIZE];
    unit_fixed(value, decimals, text);
    assert_string_equal(text, expected);
}

static void test_fixed(void **state) {
    (void)state;
    check_fixed(0, 2, "0.00");
    check_fixed(2.005001, 2, "2.01");
    check_fixed(-0.996, 2, "-1.00");
    check_fixed(-0.004, 2, "0.00");
    check_fixed(99.96, 1, "100.0");
    check_fixed(0.00123456, 6, "0.001235");
    check_fixed(12345.6, 0, "12346");
    check_fixed((double)NAN, 2, "-");
    check_fixed((double)INFINITY, 2, "> 1e9");
    check_fixed(-1e300, 2, "< -1e9");
}

static void check_ratio(double ratio, const char *expected) {
    char text[UNIT_TEXT_SIZE];
    unit_ratio(ratio, text);
    assert_string_equal(text, expected);
}

static void test_ratios(void **state) {
    (void)state;
    check_ratio(0, "0.0 %");
    check_ratio(0.0001, "<0.1 %");
    check_ratio(0.0005, "0.1 %");
    check_ratio(0.5, "50.0 %");
    check_ratio(0.9994, "99.9 %");
    check_ratio(0.99999, ">99.9 %");
    check_ratio(1, "100.0 %");
}

static void check_number(double value, const char *expected) {
    char text[UNIT_TEXT_SIZE];
    unit_number(value, text);
    assert_string_equal(text, expected);
}

static void test_numbers(void **state) {
    (void)state;
    check_number(0, "0");
    check_number(0.001, "<0.01");
    check_number(0.25, "0.25");
    check_number(45.64, "45.6");
    check_number(999.4, "999");
    check_number(1234, "1.23 K");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_counts), cmocka_unit_test(test_bytes),   cmocka_unit_test(test_fixed),
        cmocka_unit_test(test_ratios), cmocka_unit_test(test_numbers),
    };
    return cmocka_run_group_tests_name("report/units", tests, NULL, NULL);
}
