/* Reading JSON: what is right, where it is wrong, and that names do not repeat. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/json.h"

static void reads_a_value(void **state) {
    (void)state;
    json_t *root = NULL;
    ft_error error;
    assert_int_equal(json_parse("{\"a\": [1, 2.5]}", 15, &root, &error), FT_OK);
    assert_int_equal(json_array_size(json_object_get(root, "a")), 2);
    json_decref(root);
}

static void tells_where_it_is_wrong(void **state) {
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

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_a_value),
        cmocka_unit_test(tells_where_it_is_wrong),
        cmocka_unit_test(depth_is_limited),
    };
    return cmocka_run_group_tests_name("base/json", tests, NULL, NULL);
}
