/* Files inside the library: found by each of their names, and nothing else is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/embedded.h"

static const embedded_file files[] = {{"one", "", "uno ein", ""}, {"two", "", "", ""}};

static void finds_by_name(void **state) {
    (void)state;
    assert_ptr_equal(embedded_find(files, 2, "one"), &files[0]);
    assert_ptr_equal(embedded_find(files, 2, "two"), &files[1]);
    assert_ptr_equal(embedded_find(files, 2, "uno"), &files[0]);
    assert_ptr_equal(embedded_find(files, 2, "ein"), &files[0]);
    const char *const none[] = {"", " ", "un", "in", "uno ein", "uno ", "three"};
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++) assert_null(embedded_find(files, 2, none[i]));
}

static void tells_what_there_is(void **state) {
    (void)state;
    ft_error error;
    assert_int_equal(embedded_fail(files, 2, "number", "three", &error), FT_ERR_USAGE);
    assert_string_equal(error.message, "there is no number 'three'; there are one, two");
    assert_int_equal(embedded_fail(files, 2, "number", "three", NULL), FT_ERR_USAGE);
}

static void knows_paths(void **state) {
    (void)state;
    assert_true(embedded_is_path("./x"));
    assert_true(embedded_is_path("x.json"));
    assert_false(embedded_is_path(".json"));
    assert_false(embedded_is_path("x"));
    assert_false(embedded_is_path(""));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_by_name),
        cmocka_unit_test(tells_what_there_is),
        cmocka_unit_test(knows_paths),
    };
    return cmocka_run_group_tests_name("base/embedded", tests, NULL, NULL);
}
