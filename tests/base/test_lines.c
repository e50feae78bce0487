/* Tests of lines: plain and gzip are equal, for all line ends; long lines, missing files. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "base/lines.h"
#include "support/folder.h"

static void expect_lines(lines *l) {
    static const char *const expected[] = {"first", "", "third"};
    const char *line;
    size_t length;
    ft_error error;
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(lines_next(l, &line, &length, &error), FT_OK);
        assert_non_null(line);
        assert_int_equal(length, strlen(expected[i]));
        assert_memory_equal(line, expected[i], length);
        assert_int_equal(l->number, i + 1);
    }
    for (int i = 0; i < 2; i++) {
        assert_int_equal(lines_next(l, &line, &length, &error), FT_OK);
        assert_null(line);
    }
    lines_close(l);
}

static void test_lines(void **state) {
    (void)state;
    static const char text[] = "first\r\n\nthird";
    const char *path = "lines.txt";
    lines l;
    ft_error error;
    assert_int_equal(lines_open_memory(text, strlen(text), "text", &l, &error), FT_OK);
    expect_lines(&l);
    for (int packed = 0; packed < 2; packed++) {
        gzFile file = gzopen(path, packed ? "wb" : "wbT");
        assert_true(gzwrite(file, text, (unsigned)strlen(text)) > 0);
        gzclose(file);
        assert_int_equal(lines_open(path, &l, &error), FT_OK);
        expect_lines(&l);
    }
}

/* A line that does not fit into the first buffer, between two that do. */
static void test_long(void **state) {
    (void)state;
    const char *path = "lines.txt";
    size_t size = 3 * 1024 * 1024, length;
    char *text = malloc(size);
    assert_non_null(text);
    memset(text, 'x', size);
    FILE *file = fopen(path, "w");
    fputs("a\n", file);
    fwrite(text, 1, size, file);
    fputs("\nb\n", file);
    fclose(file);
    free(text);
    lines l;
    ft_error error;
    const char *line;
    assert_int_equal(lines_open(path, &l, &error), FT_OK);
    assert_int_equal(lines_next(&l, &line, &length, &error), FT_OK);
    assert_int_equal(lines_next(&l, &line, &length, &error), FT_OK);
    assert_int_equal(length, size);
    assert_int_equal(lines_next(&l, &line, &length, &error), FT_OK);
    assert_true(length == 1 && line[0] == 'b');
    lines_close(&l);
}

static void test_errors(void **state) {
    (void)state;
    lines l;
    ft_error error;
    assert_int_equal(lines_open("/nowhere/at/all", &l, &error), FT_ERR_IO);
    assert_int_equal(lines_open("/tmp", &l, &error), FT_ERR_IO);
    assert_string_equal(error.message, "/tmp: is a folder");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines),
        cmocka_unit_test(test_long),
        cmocka_unit_test(test_errors),
    };
    return cmocka_run_group_tests(tests, folder_enter, folder_leave);
}
