/* Tests of statuses and error texts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "base/error.h"

static void test_fail(void **state) {
    (void)state;
    ft_error error;
    assert_int_equal(ft_fail(&error, FT_ERR_IO, "%s: %d", "x", 7), FT_ERR_IO);
    assert_int_equal(error.status, FT_ERR_IO);
    assert_string_equal(error.message, "x: 7");
    assert_int_equal(ft_fail(NULL, FT_ERR_GRAPH, "not reported"), FT_ERR_GRAPH);
    assert_int_equal(ft_fail_prefix(NULL, FT_ERR_GRAPH, "not reported"), FT_ERR_GRAPH);
}

static void test_prefix(void **state) {
    (void)state;
    ft_error error;
    ft_fail(&error, FT_ERR_DAMAGED, "line 3");
    assert_int_equal(ft_fail_prefix(&error, FT_ERR_DAMAGED, "%s", "model.csv"), FT_ERR_DAMAGED);
    assert_string_equal(error.message, "model.csv: line 3");
    ft_fail_prefix(&error, FT_ERR_LIMIT, "a");
    assert_string_equal(error.message, "a: model.csv: line 3");
    assert_int_equal(error.status, FT_ERR_LIMIT);
}

static void test_file(void **state) {
    (void)state;
    ft_error error;
    assert_int_equal(ft_fail_file(&error, "a/b.csv", "cannot write", EACCES), FT_ERR_IO);
    assert_int_equal(error.status, FT_ERR_IO);
    assert_string_equal(error.message, "a/b.csv: cannot write: Permission denied");
    ft_fail_file(&error, "b.csv", "cannot write", ENOSPC);
    assert_string_equal(error.message,
                        "b.csv: cannot write: No space left on device; free space, or choose another path");
    ft_fail_file(&error, "b.csv", "cannot write", 0); /* a system that does not say why */
    assert_string_equal(error.message, "b.csv: cannot write: Input/output error");
    ft_fail_file(&error, NULL, "cannot write it", EPIPE);
    assert_string_equal(error.message, "cannot write it: Broken pipe");
    assert_int_equal(ft_fail_file(NULL, "b.csv", "cannot write", EACCES), FT_ERR_IO);
}

/* Texts of any length fit, cut; control characters from a hostile file do not reach the terminal. */
static void test_long_and_hostile(void **state) {
    (void)state;
    ft_error error;
    char text[2 * sizeof error.message];
    memset(text, 'n', sizeof text);
    text[sizeof text - 1] = '\0';
    ft_fail(&error, FT_ERR_IO, "%s", text);
    assert_int_equal(strlen(error.message), sizeof error.message - 1);
    for (size_t length = 0; length < sizeof text; length += 7) {
        ft_fail(&error, FT_ERR_IO, "%s", text);
        ft_fail_prefix(&error, FT_ERR_IO, "%s", text + sizeof text - 1 - length);
        assert_true(strlen(error.message) <= sizeof error.message - 1);
    }
    ft_fail(&error, FT_ERR_IO, "a\033[31mb\nc\x7f\xc3\xa9");
    assert_string_equal(error.message, "a?[31mb?c?\xc3\xa9");
    ft_fail_prefix(&error, FT_ERR_IO, "p\r");
    assert_string_equal(error.message, "p?: a?[31mb?c?\xc3\xa9");
}

/* A prefix that leaves no room for the message is dropped; the longest that does is kept. */
static void test_long_prefixes(void **state) {
    (void)state;
    ft_error error;
    char prefix[sizeof error.message + 1];
    for (size_t length = sizeof error.message - 4; length <= sizeof error.message; length++) {
        memset(prefix, 'p', length);
        prefix[length] = '\0';
        ft_fail(&error, FT_ERR_IO, "rest");
        ft_fail_prefix(&error, FT_ERR_IO, "%s", prefix);
        assert_int_equal(error.message[0], length < sizeof error.message - 2 ? 'p' : ':');
        if (length >= sizeof error.message - 2) assert_string_equal(error.message, ": rest");
        assert_true(strlen(error.message) < sizeof error.message);
    }
}

static void test_names(void **state) {
    (void)state;
    assert_string_equal(ft_status_name(FT_OK), "FT_OK");
    assert_string_equal(ft_status_name(FT_ERR_REFUSED), "FT_ERR_REFUSED");
    assert_string_equal(ft_status_text(FT_ERR_NOMEM), "out of memory");
    assert_string_equal(ft_status_text((ft_status)99), "unknown status");
    assert_string_equal(ft_status_name((ft_status)99), "unknown status");
    /* Pinned for ever: they are exit codes. */
    assert_int_equal(FT_ERR_USAGE, 2);
    assert_int_equal(FT_ERR_IO, 3);
    assert_int_equal(FT_ERR_FORMAT, 4);
    assert_int_equal(FT_ERR_DAMAGED, 5);
    assert_int_equal(FT_ERR_PARTIAL, 13);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fail),          cmocka_unit_test(test_prefix),
        cmocka_unit_test(test_file),          cmocka_unit_test(test_long_and_hostile),
        cmocka_unit_test(test_long_prefixes), cmocka_unit_test(test_names),
    };
    return cmocka_run_group_tests_name("base/error", tests, NULL, NULL);
}
