/* Tests of the JSON writer; jansson, an independent parser, reads back what it wrote. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <float.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_writer.h"

static void test_layout(void **state) {
    (void)state;
    buf out = {0};
    json_writer w;
    jsonw_init(&w, &out);
    jsonw_open_array(&w, JSON_BLOCK);
    jsonw_open_object(&w, JSON_BLOCK);
    jsonw_key(&w, "a");
    jsonw_uint(&w, UINT64_MAX);
    jsonw_key(&w, "shape");
    jsonw_open_array(&w, JSON_LINE);
    jsonw_int(&w, 1);
    jsonw_int(&w, -3);
    jsonw_close(&w);
    jsonw_key(&w, "empty");
    jsonw_open_array(&w, JSON_BLOCK);
    jsonw_close(&w);
    jsonw_key(&w, "line");
    jsonw_open_object(&w, JSON_LINE);
    jsonw_key(&w, "x");
    jsonw_open_object(&w, JSON_BLOCK); /* stays on the line it is in */
    jsonw_key(&w, "y");
    jsonw_bool(&w, true);
    jsonw_close(&w);
    jsonw_key(&w, "z");
    jsonw_string(&w, NULL);
    jsonw_close(&w);
    jsonw_close(&w);
    jsonw_close(&w);
    assert_string_equal(out.data, "[\n"
                                  "  {\n"
                                  "    \"a\": 18446744073709551615,\n"
                                  "    \"shape\": [1, -3],\n"
                                  "    \"empty\": [],\n"
                                  "    \"line\": {\"x\": {\"y\": true}, \"z\": null}\n"
                                  "  }\n"
                                  "]");
    buf_free(&out);
}

static void test_pairs(void **state) {
    (void)state;
    buf out = {0};
    json_writer w;
    jsonw_init(&w, &out);
    jsonw_open_object(&w, JSON_LINE);
    jsonw_pair_string(&w, "a", "b");
    jsonw_pair_uint(&w, "c", 3);
    jsonw_pair_double(&w, "d", 0.5);
    jsonw_close(&w);
    assert_string_equal(out.data, "{\"a\": \"b\", \"c\": 3, \"d\": 0.5}");
    buf_free(&out);
}

static void check_string(const char *text, const char *expected) {
    buf out = {0};
    json_writer w;
    jsonw_init(&w, &out);
    jsonw_open_array(&w, JSON_LINE);
    jsonw_string(&w, text);
    jsonw_close(&w);
    json_error_t error;
    json_t *array = json_loads(out.data, 0, &error);
    assert_non_null(array);
    assert_string_equal(json_string_value(json_array_get(array, 0)), expected);
    json_decref(array);
    buf_free(&out);
}

static void test_strings(void **state) {
    (void)state;
    check_string("", "");
    check_string("a\"b\\c/\n\r\t\x01\x1f\x7f", "a\"b\\c/\n\r\t\x01\x1f\x7f");
    check_string("gr\xc3\xb6\xc3\x9f\x65 \xe4\xb8\xad \xf0\x9f\x98\x80",
                 "gr\xc3\xb6\xc3\x9f\x65 \xe4\xb8\xad \xf0\x9f\x98\x80");
    /* lone continuation, cut sequence at the end, overlong slash, surrogate, past U+10FFFF */
    check_string("\x80x", "\xef\xbf\xbdx");
    check_string("x\xe4\xb8", "x\xef\xbf\xbd\xef\xbf\xbd");
    check_string("\xc0\xaf", "\xef\xbf\xbd\xef\xbf\xbd");
    check_string("\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
    check_string("\xf4\x90\x80\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
}

/* The first and the last character of each length, and their neighbours that are none. */
static void test_limits_of_utf8(void **state) {
    (void)state;
    static const struct {
        const char *bytes;
        size_t length;
    } all[] = {{"\x7f", 1},
               {"\x80", 0},
               {"\xc1\xbf", 0},
               {"\xc2\x80", 2},
               {"\xdf\xbf", 2},
               {"\xe0\x9f\xbf", 0},
               {"\xe0\xa0\x80", 3},
               {"\xed\x9f\xbf", 3},
               {"\xed\xa0\x80", 0},
               {"\xee\x80\x80", 3},
               {"\xef\xbf\xbf", 3},
               {"\xf0\x8f\xbf\xbf", 0},
               {"\xf0\x90\x80\x80", 4},
               {"\xf4\x8f\xbf\xbf", 4},
               {"\xf4\x90\x80\x80", 0},
               {"\xf5\x80\x80\x80", 0},
               {"\xc2", 0},
               {"\xc2\xc0", 0},
               {"\xe1\x80", 0},
               {"\xf1\x80\x80", 0}};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) assert_int_equal(utf8_length(all[i].bytes), all[i].length);
}

/* A level inside of a line stays on it, also at the top. */
static void test_lines_inside_lines(void **state) {
    (void)state;
    buf out = {0};
    json_writer w;
    jsonw_init(&w, &out);
    jsonw_open_array(&w, JSON_LINE);
    jsonw_open_array(&w, JSON_BLOCK);
    jsonw_int(&w, 1);
    jsonw_int(&w, 2);
    jsonw_close(&w);
    jsonw_open_object(&w, JSON_BLOCK);
    jsonw_key(&w, "a");
    jsonw_int(&w, 3);
    jsonw_close(&w);
    jsonw_close(&w);
    assert_string_equal(out.data, "[[1, 2], {\"a\": 3}]");
    buf_free(&out);
}

/* Every string of two bytes must come out as something a parser accepts. */
static void test_all_byte_pairs(void **state) {
    (void)state;
    buf out = {0};
    json_writer w;
    jsonw_init(&w, &out);
    jsonw_open_array(&w, JSON_BLOCK);
    for (int a = 1; a < 256; a++)
        for (int b = 1; b < 256; b++) jsonw_string(&w, (char[]){(char)a, (char)b, 0});
    jsonw_close(&w);
    json_error_t error;
    json_t *array = json_loads(out.data, 0, &error);
    assert_non_null(array);
    assert_int_equal(json_array_size(array), 255 * 255);
    json_decref(array);
    buf_free(&out);
}

static void check_double(double value, const char *expected) {
    char text[DOUBLE_TEXT_SIZE];
    double_text(value, text);
    assert_string_equal(text, expected);
    assert_true(strtod(text, NULL) == value);
}

static void test_doubles(void **state) {
    (void)state;
    check_double(0.0, "0");
    check_double(0.1, "0.1");
    check_double(1.0 / 3.0, "0.3333333333333333");
    check_double(0.1 + 0.2, "0.30000000000000004");
    check_double(1e22, "1e+22");
    check_double(-2.5, "-2.5");
    check_double(DBL_MAX, "1.7976931348623157e+308");
    check_double(DBL_TRUE_MIN, "4.94065645841247e-324");
}

static void test_not_finite_is_null(void **state) {
    (void)state;
    buf out = {0};
    json_writer w;
    jsonw_init(&w, &out);
    jsonw_open_array(&w, JSON_LINE);
    jsonw_double(&w, NAN);
    jsonw_double(&w, INFINITY);
    jsonw_double(&w, 0.5);
    jsonw_close(&w);
    assert_string_equal(out.data, "[null, null, 0.5]");
    buf_free(&out);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pairs),          cmocka_unit_test(test_layout),
        cmocka_unit_test(test_limits_of_utf8), cmocka_unit_test(test_lines_inside_lines),
        cmocka_unit_test(test_strings),        cmocka_unit_test(test_all_byte_pairs),
        cmocka_unit_test(test_doubles),        cmocka_unit_test(test_not_finite_is_null),
    };
    return cmocka_run_group_tests_name("base/json_writer", tests, NULL, NULL);
}
