/* Tests of text for a terminal: hostile names, wide characters, shortening. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "report/grid.h"

static const ft_style ascii = {.width = 80};
static const ft_style utf8 = {.width = 80, .has_utf8 = true};

static void check(const char *text, uint32_t columns, const ft_style *style, const char *expected) {
    char fitted[64];
    text_fit(text, columns, style, fitted, sizeof fitted);
    assert_string_equal(fitted, expected);
    assert_true(text_columns(fitted) <= columns);
}

static void test_what_fits_stays(void **state) {
    (void)state;
    check("", 5, &ascii, "");
    check("abcde", 5, &ascii, "abcde");
    check("gr\xc3\xb6\xc3\x9f\x65", 5, &utf8, "gr\xc3\xb6\xc3\x9f\x65");
}

static void test_middle_gives_way(void **state) {
    (void)state;
    check("abcdefghij", 7, &ascii, "ab..hij");
    check("abcdefghij", 7, &utf8, "abc\xe2\x80\xa6hij");
    check("abcdefghij", 3, &ascii, "..j");
    check("abcdefghij", 2, &ascii, "ab");
    check("abcdefghij", 1, &utf8, "a");
    check("abcdefghij", 0, &utf8, "");
}

static void test_wide_characters_take_two_columns(void **state) {
    (void)state;
    assert_int_equal(text_columns("\xe4\xb8\xad\xe6\x96\x87"), 4);
    assert_int_equal(text_columns("e\xcc\x81"), 1); /* a combining accent takes none */
    check("\xe4\xb8\xad\xe6\x96\x87\xe4\xb8\xad\xe6\x96\x87", 5, &utf8, "\xe4\xb8\xad\xe2\x80\xa6\xe6\x96\x87");
}

static void test_hostile_names_are_cleaned(void **state) {
    (void)state;
    check("a\033[31mb\n\tc", 20, &utf8, "a?[31mb??c");
    check("a\x80\xff b", 20, &utf8, "a?? b");
    check("\xc2\x9b"
          "31m",
          20, &utf8, "?31m"); /* an 8-bit escape sequence */
    check("a\xe2\x80\xae"
          "b",
          20, &utf8, "a?b"); /* turns the writing direction */
    check("gr\xc3\xb6\xc3\x9f\x65", 20, &ascii, "gr??e");
}

static void test_long_text_keeps_to_its_buffer(void **state) {
    (void)state;
    char text[4001], fitted[64];
    memset(text, 'x', 4000);
    text[4000] = '\0';
    text_fit(text, UINT32_MAX, &utf8, fitted, sizeof fitted);
    assert_int_equal(text_columns(fitted), (sizeof fitted - 8) / 4);
}

static void test_paragraphs_are_cut_between_words(void **state) {
    (void)state;
    const ft_style narrow = {.width = 30};
    sink out = {0};
    text_paragraph("a line of words that goes on\tand\nsays more", 4, &narrow, &out);
    assert_string_equal(out.text.data, "    a line of words that goes\n    on?and?says more\n");
    out.text.length = 0;
    text_paragraph("", 4, &narrow, &out);
    assert_int_equal(out.text.length, 0);
    sink_free(&out);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_fits_stays),
        cmocka_unit_test(test_middle_gives_way),
        cmocka_unit_test(test_wide_characters_take_two_columns),
        cmocka_unit_test(test_hostile_names_are_cleaned),
        cmocka_unit_test(test_long_text_keeps_to_its_buffer),
        cmocka_unit_test(test_paragraphs_are_cut_between_words),
    };
    return cmocka_run_group_tests_name("report/text", tests, NULL, NULL);
}
