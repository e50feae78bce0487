/* Tests of merged loads and stores: contiguous, aligned elements of the unrolled trips. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/program_features.h"

/* Schedule 6: two columns of a window and two trips beside them are four contiguous elements; of 18 weights two are
 * loaded at a time, as four would not be aligned. The stores move two. */
static void test_contiguous_elements(void **state) {
    (void)state;
    const lowered s = lower_record("tests/program/schedules.jsonl", 6);
    assert_true(feature(&s.f, 3, "merged.read.most") == 2 && feature(&s.f, 3, "merged.read.least") == 1);
    assert_true(feature(&s.f, 3, "merged.write") == 0 && feature(&s.f, 4, "merged.write") == 1);
    close_program(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_contiguous_elements),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
