/* Tests of the CSV scanner. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "base/csv.h"

enum { MAX_FIELDS = 8 };

/* Reads all rows of a text and writes them as "[a][b]\n" with '!' for a row in error. */
static const char *dump(const char *text, char *out, size_t size) {
    csv c;
    csv_init(&c, "t.csv", text, strlen(text));
    size_t used = 0;
    out[0] = '\0';
    for (;;) {
        csv_field fields[MAX_FIELDS];
        uint32_t count;
        ft_error error;
        if (csv_row(&c, fields, MAX_FIELDS, &count, &error) != FT_OK) {
            used += (size_t)snprintf(out + used, size - used, "!\n");
            continue;
        }
        if (count == 0) return out;
        for (uint32_t i = 0; i < count; i++) {
            char field[64];
            used += (size_t)snprintf(out + used, size - used, "[%s]", csv_unquote(&fields[i], field, sizeof field));
        }
        used += (size_t)snprintf(out + used, size - used, "\n");
    }
}

static void expect_rows(const char *text, const char *expected) {
    char out[1024];
    assert_string_equal(dump(text, out, sizeof out), expected);
}

static void test_rows(void **state) {
    (void)state;
    expect_rows("", "");
    expect_rows("\n\r\n\n", "");
    expect_rows("a,b\n1,2\n", "[a][b]\n[1][2]\n");
    expect_rows("a,b\r\n1,2", "[a][b]\n[1][2]\n");
    expect_rows("a\r", "[a]\n");
    expect_rows("a\rb,c\n", "[a\rb][c]\n");
    expect_rows(",\n,,", "[][]\n[][][]\n");
    expect_rows("a,\nb", "[a][]\n[b]\n");
    expect_rows("a\n\n\nb\n", "[a]\n[b]\n");
}

static void test_quotes(void **state) {
    (void)state;
    expect_rows("\"a,b\",c\n", "[a,b][c]\n");
    expect_rows("\"say \"\"hi\"\"\",\"\"\n", "[say \"hi\"][]\n");
    expect_rows("\"two\nlines\",x\ny", "[two\nlines][x]\n[y]\n");
    expect_rows("a\"b,c\n", "[a\"b][c]\n");
    expect_rows("\"a\"tail,b\r\nc", "[a][b]\n[c]\n");
    expect_rows("\"a\"\r\nb", "[a]\n[b]\n");
    expect_rows("ok\n\"open,x\ny\n", "[ok]\n!\n");
    expect_rows("\"", "!\n");
}

static void test_too_many_fields(void **state) {
    (void)state;
    expect_rows("1,2,3,4,5,6,7,8\n1,2,3,4,5,6,7,8,9\nz\n", "[1][2][3][4][5][6][7][8]\n!\n[z]\n");
}

static void test_lines_in_messages(void **state) {
    (void)state;
    const char *text = "a\n\n\"x\ny\",1\r\nb,2\n\"open";
    csv c;
    csv_field fields[MAX_FIELDS];
    uint32_t count;
    int64_t value;
    ft_error error;
    csv_init(&c, "t.csv", text, strlen(text));
    assert_int_equal(csv_row(&c, fields, MAX_FIELDS, &count, &error), FT_OK);
    assert_int_equal(c.line, 1);
    assert_int_equal(csv_row(&c, fields, MAX_FIELDS, &count, &error), FT_OK);
    assert_int_equal(c.line, 3);
    assert_int_equal(csv_row(&c, fields, MAX_FIELDS, &count, &error), FT_OK);
    assert_int_equal(c.line, 5);
    assert_int_equal(csv_int(&c, &fields[1], "n", 0, 9, &value, &error), FT_OK);
    assert_int_equal(value, 2);
    assert_int_equal(csv_int(&c, &fields[1], "n", 3, 9, &value, &error), FT_ERR_DAMAGED);
    assert_string_equal(error.message, "t.csv: line 5: n is '2'; expected an integer from 3 to 9");
    assert_int_equal(csv_int(&c, &fields[0], "n", 0, 9, &value, &error), FT_ERR_DAMAGED);
    assert_int_equal(csv_row(&c, fields, MAX_FIELDS, &count, &error), FT_ERR_DAMAGED);
    assert_string_equal(error.message, "t.csv: line 6: unclosed quote");
    assert_int_equal(csv_row(&c, fields, MAX_FIELDS, &count, &error), FT_OK);
    assert_int_equal(count, 0);
}

static void test_skip(void **state) {
    (void)state;
    const char *text = "h\n1,2\n\n\"q\nq\",3\n4\n";
    csv c;
    csv_field fields[MAX_FIELDS];
    uint32_t count;
    csv_init(&c, "t.csv", text, strlen(text));
    assert_int_equal(csv_skip(&c, 3), 3);
    assert_int_equal(csv_row(&c, fields, MAX_FIELDS, &count, NULL), FT_OK);
    assert_int_equal(count, 1);
    assert_true(csv_field_is(&fields[0], "4"));
    assert_false(csv_field_is(&fields[0], "45"));
    assert_int_equal(csv_skip(&c, UINT64_MAX), 0);
}

static void test_unquote_cuts(void **state) {
    (void)state;
    csv_field field = {.text = "abcdef", .length = 6};
    char out[4];
    assert_string_equal(csv_unquote(&field, out, sizeof out), "abc");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_quotes),
        cmocka_unit_test(test_too_many_fields),
        cmocka_unit_test(test_lines_in_messages),
        cmocka_unit_test(test_skip),
        cmocka_unit_test(test_unquote_cuts),
    };
    return cmocka_run_group_tests_name("base/csv", tests, NULL, NULL);
}
