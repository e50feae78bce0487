/* JSON parsing: values, positions of errors, repeated keys. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/json.h"

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

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_parsed),  cmocka_unit_test(errors_have_line_and_column),
        cmocka_unit_test(depth_is_limited),   cmocka_unit_test(strings_with_a_nul_are_errors),
        cmocka_unit_test(values_are_checked), cmocka_unit_test(values_are_written_back),
    };
    return cmocka_run_group_tests_name("base/json", tests, NULL, NULL);
}
