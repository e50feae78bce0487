/* Tests of strict number parsing. strtod, in the C locale, is the independent source for the doubles. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_writer.h"
#include "base/text.h"

static void expect_int(const char *text, bool is_valid, int64_t expected) {
    int64_t value = 77;
    assert_int_equal(text_int(text, strlen(text), &value), is_valid);
    if (is_valid) assert_true(value == expected);
}

static void test_ints(void **state) {
    (void)state;
    expect_int("0", true, 0);
    expect_int("-0", true, 0);
    expect_int("+17", true, 17);
    expect_int("00042", true, 42);
    expect_int("9223372036854775807", true, INT64_MAX);
    expect_int("-9223372036854775808", true, INT64_MIN);
    expect_int("000000000000000000000000000000000012", true, 12);
    expect_int("9223372036854775808", false, 0);
    expect_int("-9223372036854775809", false, 0);
    expect_int("99999999999999999999999", false, 0);
}

static void test_not_ints(void **state) {
    (void)state;
    const char *const texts[] = {"", "-", "+", " 1", "1 ", "1.0", "0x10", "1e3", "--1", "1-", "12a", "\xd9\xa1"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) expect_int(texts[i], false, 0);
}

static void test_doubles(void **state) {
    (void)state;
    const char *const texts[] = {"0",
                                 "-0.0",
                                 "1",
                                 "282594816",
                                 "31.932404999999996",
                                 "0.6077680300712234",
                                 ".5",
                                 "5.",
                                 "1e-3",
                                 "-1E+10",
                                 "1e308",
                                 "4.9e-324",
                                 "123456789012345678901234567890",
                                 "0.00000001",
                                 "1e-400",
                                 "2.2250738585072014e-308",
                                 "179769313486231570000e288"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        double value = 77, expected = strtod(texts[i], NULL);
        assert_true(text_double(texts[i], strlen(texts[i]), &value));
        assert_true(value == expected);
    }
}

static void test_exact_doubles(void **state) {
    (void)state;
    double value;
    /* What data sets hold: up to 17 digits and small exponents are read to the last bit. */
    assert_true(text_double("31.932404999999996", 18, &value));
    assert_true(value == 31.932404999999996);
    assert_true(text_double("148.164", 7, &value));
    assert_true(value == 148.164);
}

/* A number written with the fewest distinguishing digits is read back exactly. */
static void test_doubles_come_back(void **state) {
    (void)state;
    uint64_t bits = 1;
    for (int i = 0; i < 20000; i++) {
        char text[DOUBLE_TEXT_SIZE];
        double number, value;
        bits = bits * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        memcpy(&number, &bits, sizeof number);
        if (!isfinite(number)) continue;
        double_text(number, text);
        assert_true(text_double(text, strlen(text), &value));
        assert_true(value == number);
    }
}

static void test_not_doubles(void **state) {
    (void)state;
    const char *const texts[] = {
        "",      "-",     ".",  "e5", "1e", "1e+", "1 ", " 1", "nan", "inf", "0x1p3", "1,5", "1e99999999999999999999",
        "1e400", "1.2.3", "1d5"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        double value;
        assert_false(text_double(texts[i], strlen(texts[i]), &value));
    }
}

static void test_words(void **state) {
    (void)state;
    const char *list = "conv convtrans bn-relu bn";
    assert_true(text_has_word(list, "conv", 4));
    assert_true(text_has_word(list, "convtrans", 9));
    assert_true(text_has_word(list, "bn", 2));
    assert_true(text_has_word(list, "bn-add", 2)); /* the first two letters of it */
    assert_false(text_has_word(list, "con", 3));
    assert_false(text_has_word(list, "trans", 5));
    assert_false(text_has_word(list, "bn-", 3));
    assert_false(text_has_word(list, "", 0));
    assert_false(text_has_word("", "conv", 4));
}

static void test_values_of_settings(void **state) {
    (void)state;
    size_t length = 0;
    const char *list = "amp=yes;loader=none;empty=;amplitude=3";
    assert_ptr_equal(text_setting(list, "loader", &length), list + 15);
    assert_int_equal(length, 4);
    assert_ptr_equal(text_setting(list, "amp", &length), list + 4);
    assert_int_equal(length, 3);
    assert_ptr_equal(text_setting(list, "amplitude", &length), list + 37);
    assert_non_null(text_setting(list, "empty", &length));
    assert_int_equal(length, 0);
    assert_null(text_setting(list, "load", &length));
    assert_null(text_setting(list, "yes", &length));
    assert_null(text_setting("", "amp", &length));
    assert_null(text_setting(NULL, "amp", &length));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ints),          cmocka_unit_test(test_not_ints),
        cmocka_unit_test(test_doubles),       cmocka_unit_test(test_doubles_come_back),
        cmocka_unit_test(test_exact_doubles), cmocka_unit_test(test_not_doubles),
        cmocka_unit_test(test_words),         cmocka_unit_test(test_values_of_settings),
    };
    return cmocka_run_group_tests_name("base/text", tests, NULL, NULL);
}
