/* Tests of the pull parser: values in sequence, and texts that are not JSON. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/json_pull.h"

static json_pull pull_of(const char *text) {
    json_pull p;
    json_pull_init(&p, text, strlen(text));
    return p;
}

static void test_values(void **state) {
    (void)state;
    json_pull p =
        pull_of(" {\"a\": [1, -20, 3.5e2, NaN, \"x\\n\\u00e9\"], \"b\": {\"c\": [[], {}, null, true, false]}} ");
    json_text key, text;
    int64_t number;
    double real;
    char decoded[16];
    bool first = true, first_item = true;
    assert_true(json_pull_open(&p, '{') && json_pull_more(&p, '}', &first) && json_pull_key(&p, &key));
    assert_true(json_text_is(&key, "a") && json_pull_peek(&p) == '[' && json_pull_open(&p, '['));
    assert_true(json_pull_more(&p, ']', &first_item) && json_pull_int(&p, &number) && number == 1);
    assert_true(json_pull_more(&p, ']', &first_item) && json_pull_int(&p, &number) && number == -20);
    assert_true(json_pull_more(&p, ']', &first_item) && json_pull_double(&p, &real) && real == 350);
    assert_true(json_pull_more(&p, ']', &first_item) && json_pull_double(&p, &real) && isnan(real));
    assert_true(json_pull_more(&p, ']', &first_item) && json_pull_string(&p, &text) && text.has_escapes);
    assert_int_equal(json_text_decode(&text, decoded, sizeof decoded), 4);
    assert_string_equal(decoded, "x\n\xc3\xa9");
    assert_int_equal(json_text_decode(&text, decoded, 5), SIZE_MAX);
    assert_false(json_pull_more(&p, ']', &first_item));
    assert_true(json_pull_more(&p, '}', &first) && json_pull_key(&p, &key) && json_pull_skip(&p));
    assert_false(json_pull_more(&p, '}', &first));
    assert_true(json_pull_end(&p) && p.why == NULL);
}

/* Every digit, a sign and the names of numbers that are none begin a number. */
static void test_first_characters(void **state) {
    (void)state;
    static const struct {
        const char *text;
        char first;
    } all[] = {{"0", '0'},        {"1", '0'},    {"9", '0'}, {"-5", '0'}, {"NaN", '0'},
               {"Infinity", '0'}, {"/", '/'},    {":", ':'}, {"[", '['},  {"{", '{'},
               {"\"", '"'},       {"true", 't'}, {"", 0}};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        json_pull p = pull_of(all[i].text);
        assert_int_equal(json_pull_peek(&p), all[i].first);
    }
    int64_t number = 7;
    json_pull p = pull_of("0");
    assert_true(json_pull_int(&p, &number) && number == 0 && json_pull_end(&p));
    json_pull_init(&p, "1.5", 1); /* a text ends where its length says */
    assert_true(json_pull_int(&p, &number) && number == 1 && json_pull_end(&p));
    json_pull_init(&p, "12", 1);
    assert_true(json_pull_int(&p, &number) && number == 1 && json_pull_end(&p));
}

static void test_blanks(void **state) {
    (void)state;
    static const char *const blanks[] = {"", " ", "\t", "\n", "\r", " \t\n\r "};
    for (size_t i = 0; i < sizeof blanks / sizeof blanks[0]; i++) {
        char text[64];
        const char *b = blanks[i];
        snprintf(text, sizeof text, "%s[%s1%s,%s{%s\"a\"%s:%s2%s}%s]%s", b, b, b, b, b, b, b, b, b, b);
        json_pull p = pull_of(text);
        assert_true(json_pull_skip(&p) && json_pull_end(&p));
    }
    json_pull p = pull_of("\v1"); /* no blank of JSON */
    assert_false(json_pull_skip(&p) && json_pull_end(&p));
}

static void expect_bad(const char *text, const char *why) {
    json_pull p = pull_of(text);
    bool is_good = json_pull_skip(&p) && json_pull_end(&p);
    assert_false(is_good);
    assert_string_equal(p.why, why);
}

static void test_not_json(void **state) {
    (void)state;
    expect_bad("", "a value is expected");
    expect_bad("[1 2]", "a comma is expected between two items");
    expect_bad("[1,", "a value is expected");
    expect_bad("[1,]", "a value is expected");
    expect_bad("[1", "the text ends inside a list or an object");
    expect_bad("{\"a\" 1}", "a colon is expected after a key");
    expect_bad("{1: 2}", "a string is expected");
    expect_bad("\"abc", "the text ends inside a string");
    expect_bad("\"abc\\", "the text ends inside a string");
    expect_bad("tru", "a word that starts with t is not true");
    expect_bad("1 2", "unexpected text after the value");
    expect_bad("-", "a number is expected");
    char deep[100];
    memset(deep, '[', sizeof deep);
    deep[99] = '\0';
    expect_bad(deep, "lists and objects are nested too deeply");
}

static void test_numbers(void **state) {
    (void)state;
    int64_t number;
    json_pull p = pull_of("999999999999999999");
    assert_true(json_pull_int(&p, &number) && number == INT64_C(999999999999999999));
    p = pull_of("9999999999999999999999999999");
    assert_false(json_pull_int(&p, &number));
    assert_string_equal(p.why, "a whole number is too large");
    p = pull_of("1.5");
    assert_false(json_pull_int(&p, &number));
    assert_string_equal(p.why, "a number is not whole");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),   cmocka_unit_test(test_blanks),  cmocka_unit_test(test_first_characters),
        cmocka_unit_test(test_not_json), cmocka_unit_test(test_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
