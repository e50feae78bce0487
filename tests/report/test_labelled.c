/* Lines of a label and a text: aligned, wrapped below themselves, and an error when memory ran out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "report/labelled.h"

static void lines_are_aligned_and_wrapped(void **state) {
    (void)state;
    ft_style style = ft_style_default();
    sink out = {0};
    labelled l = {0};
    style.width = 30;
    buf_text(labelled_add(&l, "Batch"), "64");
    buf_text(labelled_add(&l, "Note"), "this is more than fits in one line");
    labelled_add(&l, "Empty");
    labelled_write(&l, &style, 2, &out);
    assert_string_equal(out.text.data, "  Batch  64\n"
                                       "  Note   this is more than\n"
                                       "         fits in one line\n"
                                       "  Empty\n");
    assert_int_equal(l.count, 0);
    sink_free(&out);
}

static void lost_texts_are_noticed(void **state) {
    (void)state;
    ft_style style = ft_style_default();
    sink out = {0};
    labelled l = {0};
    labelled_add(&l, "Batch")->failed = true;
    labelled_write(&l, &style, 2, &out);
    assert_true(out.text.failed);
    sink_free(&out);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_are_aligned_and_wrapped),
        cmocka_unit_test(lost_texts_are_noticed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
