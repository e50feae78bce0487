/* Interned byte strings: equal ones have one index, also after the table has grown. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "data/intern.h"

static uint32_t add(intern_table *t, const char *text) {
    return intern_add(t, text, strlen(text));
}

static void equal_strings_have_one_index(void **state) {
    (void)state;
    intern_table t = {0};
    assert_int_equal(add(&t, "one"), 0);
    assert_int_equal(add(&t, "two"), 1);
    assert_int_equal(add(&t, "one"), 0);
    assert_int_equal(add(&t, ""), 2);
    assert_int_equal(add(&t, "on"), 3); /* a prefix is another string */
    assert_int_equal(add(&t, ""), 2);
    assert_int_equal(t.count, 4);
    assert_int_equal(t.bytes.length, 3 + 3 + 0 + 2);
    assert_int_equal(t.starts[1], 3);
    assert_int_equal(t.starts[4], 8);
    intern_clear(&t);
    assert_int_equal(t.count, 0);
    assert_int_equal(add(&t, "two"), 0);
    assert_int_equal(t.bytes.length, 3);
    intern_free(&t);
}

static void indices_survive_growth(void **state) {
    (void)state;
    enum { STRINGS = 5000 };
    intern_table t = {0};
    char text[16];
    for (int round = 0; round < 2; round++)
        for (uint32_t i = 0; i < STRINGS; i++) {
            snprintf(text, sizeof text, "%u", i * 7);
            assert_int_equal(add(&t, text), i);
        }
    assert_int_equal(t.count, STRINGS);
    assert_false(t.failed);
    intern_free(&t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_strings_have_one_index),
        cmocka_unit_test(indices_survive_growth),
    };
    return cmocka_run_group_tests_name("data/intern", tests, NULL, NULL);
}
