/* Tests of the growing buffer. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"

static void test_pieces(void **state) {
    (void)state;
    buf b = {0};
    assert_null(b.data);
    buf_text(&b, "one");
    buf_char(&b, ' ');
    buf_format(&b, "%d+%d", 1, 1);
    buf_add(&b, "\0x", 2);
    buf_add(&b, NULL, 0);
    assert_false(b.failed);
    assert_int_equal(b.length, 9);
    assert_memory_equal(b.data, "one 1+1\0x", 10); /* with the terminator */
    buf_free(&b);
    assert_null(b.data);
    assert_int_equal(b.length, 0);
}

static void test_growth(void **state) {
    (void)state;
    buf b = {0};
    for (int i = 0; i < 100000; i++) buf_char(&b, (char)('a' + i % 26));
    assert_false(b.failed);
    assert_int_equal(b.length, 100000);
    for (int i = 0; i < 100000; i++) assert_int_equal(b.data[i], 'a' + i % 26);
    assert_int_equal(b.data[100000], '\0');
    char *long_text = malloc(70001);
    assert_non_null(long_text);
    memset(long_text, 'x', 70000);
    long_text[70000] = '\0';
    buf_format(&b, "<%s>", long_text);
    assert_int_equal(b.length, 170002);
    assert_int_equal(b.data[170001], '>');
    free(long_text);
    buf_free(&b);
}

static void test_numbers(void **state) {
    (void)state;
    static const int64_t numbers[] = {0, 7, -7, 10, 99, 100, 1234567890123, INT64_MAX, INT64_MIN, INT64_MIN + 1};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        buf ours = {0}, theirs = {0};
        buf_int(&ours, numbers[i]);
        buf_format(&theirs, "%lld", (long long)numbers[i]);
        assert_string_equal(ours.data, theirs.data);
        buf_free(&ours);
        buf_free(&theirs);
    }
}

/* A failure is remembered, and nothing is added after it. */
static void test_failure_sticks(void **state) {
    (void)state;
    buf b = {0};
    buf_text(&b, "kept");
    buf_add(&b, "never read", SIZE_MAX / 2 + 1);
    assert_true(b.failed);
    buf_text(&b, "more");
    assert_int_equal(b.length, 4);
    assert_string_equal(b.data, "kept");
    buf_free(&b);
    assert_false(b.failed);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pieces),
        cmocka_unit_test(test_growth),
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_failure_sticks),
    };
    return cmocka_run_group_tests_name("base/buf", tests, NULL, NULL);
}
