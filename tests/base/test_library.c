/* Tests of libraries that are loaded on first use: functions work, and a missing file or function is named. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/library.h"

static void test_functions_are_found(void **state) {
    (void)state;
    double (*square_root)(double) = NULL, (*larger)(double, double) = NULL;
    const library_function functions[] = {{"sqrt", &square_root}, {"fmax", &larger}};
    assert_int_equal(library_load("libm.so.6", functions, 2, NULL), FT_OK);
    assert_true(square_root(16) == 4);
    assert_true(larger(1, 2) == 2);
}

static void test_missing_file_is_named(void **state) {
    (void)state;
    ft_error error;
    assert_int_equal(library_load("libabsent.so.7", NULL, 0, &error), FT_ERR_UNSUPPORTED);
    assert_non_null(strstr(error.message, "libabsent.so.7"));
}

static void test_missing_function_is_named(void **state) {
    (void)state;
    ft_error error;
    void (*absent)(void) = NULL;
    const library_function functions[] = {{"absent_function", &absent}};
    assert_int_equal(library_load("libm.so.6", functions, 1, &error), FT_ERR_UNSUPPORTED);
    assert_string_equal(error.message, "libm.so.6: no function absent_function");
    assert_null(absent);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_functions_are_found),
        cmocka_unit_test(test_missing_file_is_named),
        cmocka_unit_test(test_missing_function_is_named),
    };
    return cmocka_run_group_tests_name("base/library", tests, NULL, NULL);
}
