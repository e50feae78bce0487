/* test_structs.c - the layouts that bindings compare with their own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "foretell/foretell.h"

static const ft_struct *find(const char *name) {
    for (uint32_t i = 0; i < ft_struct_count(); i++)
        if (strcmp(ft_struct_at(i)->name, name) == 0) return ft_struct_at(i);
    fail_msg("%s is not listed", name);
    return NULL;
}

/* A field that is missing from the table would leave a gap wider than any padding. */
static void fields_follow_each_other_without_gaps(void **state) {
    (void)state;
    assert_true(ft_struct_count() > 0);
    for (uint32_t i = 0; i < ft_struct_count(); i++) {
        const ft_struct *s = ft_struct_at(i);
        uint32_t end = 0;
        for (uint32_t k = 0; k < s->field_count; k++) {
            assert_in_range(s->fields[k].offset, end, end + 7);
            end = s->fields[k].offset + s->fields[k].size;
        }
        assert_in_range(s->size, end, end + 7);
    }
}

static void sizes_are_those_of_the_compiler(void **state) {
    (void)state;
    const ft_struct *error = find("ft_error"), *options = find("ft_train_options");
    assert_int_equal(error->size, sizeof(ft_error));
    assert_string_equal(error->fields[1].name, "message");
    assert_int_equal(error->fields[1].offset, offsetof(ft_error, message));
    assert_int_equal(error->fields[1].size, 512);
    assert_int_equal(options->size, sizeof(ft_train_options));
    assert_int_equal(find("ft_adaptation")->size, sizeof(ft_adaptation));
}

static void beyond_the_last_there_is_none(void **state) {
    (void)state;
    assert_null(ft_struct_at(ft_struct_count()));
    assert_null(ft_struct_at(UINT32_MAX));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fields_follow_each_other_without_gaps),
        cmocka_unit_test(sizes_are_those_of_the_compiler),
        cmocka_unit_test(beyond_the_last_there_is_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
