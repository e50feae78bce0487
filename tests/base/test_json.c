/* JSON parsing: values, positions of errors, repeated keys. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/json.h"
#include "support/failing.h"

static void values_are_parsed(void **state) {
    (void)state;
    json_t *root = NULL;
    ft_error error;
    assert_int_equal(json_parse("{\"a\": [1, 2.5]}", 15, &root, &error), FT_OK);
    assert_int_equal(json_array_size(json_object_get(root, "a")), 2);
    json_decref(root);
}

static void errors_have_line_and_column(void **state) {
    (void)state;
    json_t *root = NULL;
    ft_error error;
    const char *const wrong[] = {"", "{\n  \"a\": }", "{\"a\": 1, \"a\": 2}", "{} x", "[1", "\x01"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        assert_int_equal(json_parse(wrong[i], strlen(wrong[i]), &root, &error), FT_ERR_DAMAGED);
        assert_non_null(strstr(error.message, i == 1 ? "line 2, column " : "line 1, column "));
    }
}

static void depth_is_limited(void **state) {
    (void)state;
    static char deep[100000];
    json_t *root = NULL;
    ft_error error;
    memset(deep, '[', sizeof deep);
    assert_int_equal(json_parse(deep, sizeof deep, &root, &error), FT_ERR_DAMAGED);
}

static void strings_with_a_nul_are_errors(void **state) {
    (void)state;
    json_t *value = json_stringn("a\0b", 3);
    const char *text = NULL;
    ft_error error;
    assert_non_null(value);
    assert_int_equal(json_read_string(value, &text, &error), FT_ERR_DAMAGED);
    assert_string_equal(error.message, "contains a NUL character");
    assert_null(text);
    json_decref(value);
}

static void values_are_checked(void **state) {
    (void)state;
    json_t *root = NULL;
    ft_error error;
    const char *text = "[\"a\", 7, 2.5, true, {}, null, []]", *taken = NULL;
    double number = 0;
    int64_t whole = 0;
    assert_int_equal(json_parse(text, strlen(text), &root, &error), FT_OK);
    const char *const kinds[] = {"a string", "a number", "a number", "a boolean", "an object", "null", "a list"};
    for (size_t i = 0; i < 7; i++) assert_string_equal(json_kind(json_array_get(root, i)), kinds[i]);
    assert_string_equal(json_kind(NULL), "absent");
    assert_int_equal(json_read_string(json_array_get(root, 0), &taken, &error), FT_OK);
    assert_string_equal(taken, "a");
    assert_int_equal(json_read_string(json_array_get(root, 1), &taken, &error), FT_ERR_DAMAGED);
    assert_string_equal(error.message, "is a number, but a string is expected");
    assert_int_equal(json_read_number(json_array_get(root, 2), 0, 3, &number, &error), FT_OK);
    assert_true(number == 2.5);
    assert_int_equal(json_read_number(json_array_get(root, 1), 0, 3, &number, &error), FT_ERR_DAMAGED);
    assert_string_equal(error.message, "is 7, but must be from 0 to 3");
    for (size_t i = 0; i < 7; i++) { /* no other kind is a number, even where 0 is allowed */
        bool is_number = i == 1 || i == 2;
        assert_int_equal(json_read_number(json_array_get(root, i), 0, 9, &number, &error),
                         is_number ? FT_OK : FT_ERR_DAMAGED);
        assert_int_equal(json_read_int(json_array_get(root, i), 0, 9, &whole, &error), i == 1 ? FT_OK : FT_ERR_DAMAGED);
    }
    assert_int_equal(json_read_number(json_array_get(root, 2), 2.5, 2.5, &number, &error), FT_OK);
    assert_int_equal(json_read_int(json_array_get(root, 1), 8, 9, &whole, &error), FT_ERR_DAMAGED);
    assert_int_equal(json_read_int(json_array_get(root, 1), 0, 6, &whole, &error), FT_ERR_DAMAGED);
    assert_int_equal(json_read_int(json_array_get(root, 1), 7, 7, &whole, &error), FT_OK);
    assert_int_equal(whole, 7);
    assert_int_equal(json_read_int(json_array_get(root, 1), 8, 9, &whole, &error), FT_ERR_DAMAGED);
    assert_int_equal(json_read_int(json_array_get(root, 2), 0, 9, &whole, &error), FT_ERR_DAMAGED);
    assert_int_equal(json_read_int(NULL, 0, 9, &whole, &error), FT_ERR_DAMAGED);
    assert_string_equal(error.message, "is absent, but a whole number is expected");
    json_decref(root);
}

static void values_are_written_back(void **state) {
    (void)state;
    const char *text = "{\n  \"a\": [\n    1,\n    0.1,\n    [true, false, null, {\"b\": \"c\\n\"}]\n  ],\n"
                       "  \"z\": {},\n  \"d\": -1e+300\n}";
    json_t *root = NULL;
    ft_error error;
    assert_int_equal(json_parse(text, strlen(text), &root, &error), FT_OK);
    buf out = {0};
    json_writer writer;
    jsonw_init(&writer, &out);
    jsonw_json(&writer, root);
    assert_string_equal(out.data, text);
    buf_free(&out);
    json_decref(root);
}

/* jansson's parser is the reference where memory suffices. */
static void texts_are_accepted_as_by_jansson(void **state) {
    (void)state;
    static const char *const texts[] = {
        "{\"a\": [1, -0, 0.5, 1e5, 1E-5, -1.25e+3], \"b\": {\"c\": null}}",
        "[true, false, null, [], {}, [[[]]]]",
        "[\"\\u00e9\\n\\t\\b\\f\\r\\/\\\\\\\"\", \"\\ud83d\\ude00\", \"\xc3\xa9\", \"\xf0\x9f\x98\x80\"]",
        " \t\r\n{ \"\" : 9223372036854775807 } ",
        "[9223372036854775808]",
        "[-9223372036854775808]",
        "[01]",
        "[1.]",
        "[.5]",
        "[+1]",
        "[1e]",
        "[1e400]",
        "[1e-400]",
        "[NaN]",
        "[Infinity]",
        "[tru]",
        "[1,]",
        "{\"a\":1,}",
        "{\"a\" 1}",
        "{a: 1}",
        "{\"a\": 1, \"a\": 1}",
        "[\"\\ud83d\"]",
        "[\"\\ude00\"]",
        "[\"\\u0000\"]",
        "[\"\\x\"]",
        "[\"\xc3\"]",
        "[\"\xff\"]",
        "[\"\xed\xa0\x80\"]",
        "[\"a\nb\"]",
        "[\"a",
        "[1 2]",
        "{}{}",
        "3",
        "\"a\"",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        size_t size = strlen(texts[i]);
        json_t *root = NULL, *expected = json_loadb(texts[i], size, JSON_REJECT_DUPLICATES, NULL);
        ft_error error;
        ft_status status = json_parse(texts[i], size, &root, &error);
        if (status != (expected != NULL ? FT_OK : FT_ERR_DAMAGED)) fail_msg("%s: %d", texts[i], (int)status);
        if (expected != NULL) assert_true(json_equal(root, expected));
        json_decref(root);
        json_decref(expected);
    }
}

/* jansson's allocations, through the functions that tests let fail. */
static void *take(size_t size) {
    return malloc(size);
}

static void give_back(void *memory) {
    free(memory);
}

static int let_jansson_fail(void **state) {
    (void)state;
    json_set_alloc_funcs(take, give_back);
    return 0;
}

/* A text in which every token outgrows small buffers: jansson's parser loses a byte of one when memory is short. */
static void exhausted_memory_never_changes_a_value(void **state) {
    (void)state;
    const char *text = "{\"a key of more than sixteen bytes\": [\"a text of more than sixteen bytes\", "
                       "1234567890123456789, 0.12345678901234567], \"b\": {\"c\": [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]}}";
    json_t *expected = NULL;
    ft_error error;
    assert_int_equal(json_parse(text, strlen(text), &expected, &error), FT_OK);
    for (long n = 0;; n++) {
        json_t *root = NULL;
        failing_start(n);
        ft_status status = json_parse(text, strlen(text), &root, &error);
        bool has_failed = failing_stop();
        assert_int_equal(status, has_failed ? FT_ERR_NOMEM : FT_OK);
        assert_true(has_failed ? root == NULL : json_equal(root, expected));
        json_decref(root);
        if (!has_failed) break;
    }
    for (long n = 0;; n++) {
        failing_start(n);
        json_t *copy = json_clone(expected);
        bool has_failed = failing_stop();
        assert_true(has_failed ? copy == NULL : json_equal(copy, expected));
        json_decref(copy);
        if (!has_failed) break;
    }
    json_decref(expected);
}

static void values_under_construction_pass_a_failure_on(void **state) {
    (void)state;
    for (long n = 0;; n++) {
        failing_start(n);
        json_t *list = json_list_with(json_list_with(json_array(), json_string("one")), json_real(2));
        json_t *object = json_with(json_with(json_object(), "list", list), "three", json_integer(3));
        bool has_failed = failing_stop();
        if (has_failed) assert_null(object);
        if (has_failed) continue;
        assert_int_equal(json_object_size(object), 2);
        assert_int_equal(json_array_size(json_object_get(object, "list")), 2);
        assert_false(json_put(NULL, "a", json_null()));
        assert_false(json_put(object, "a", NULL));
        assert_false(json_merge(object, NULL));
        json_decref(object);
        break;
    }
}

static void plain_text_is_a_string(void **state) {
    (void)state;
    json_t *value = NULL;
    ft_error error;
    assert_int_equal(json_parse_plain("log", 3, &value, &error), FT_OK);
    assert_string_equal(json_string_value(value), "log");
    json_decref(value);
    assert_int_equal(json_parse_plain("3,", 1, &value, &error), FT_OK);
    assert_int_equal(json_integer_value(value), 3);
    json_decref(value);
    assert_int_equal(json_parse_plain("\xff", 1, &value, &error), FT_ERR_USAGE);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_parsed),
        cmocka_unit_test(errors_have_line_and_column),
        cmocka_unit_test(depth_is_limited),
        cmocka_unit_test(strings_with_a_nul_are_errors),
        cmocka_unit_test(values_are_checked),
        cmocka_unit_test(values_are_written_back),
        cmocka_unit_test(texts_are_accepted_as_by_jansson),
        cmocka_unit_test(exhausted_memory_never_changes_a_value),
        cmocka_unit_test(values_under_construction_pass_a_failure_on),
        cmocka_unit_test(plain_text_is_a_string),
    };
    return cmocka_run_group_tests_name("base/json", tests, let_jansson_fail, NULL);
}
