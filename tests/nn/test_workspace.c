/* Tests of the workspace. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "nn/math/workspace.h"
#include "support/failing.h"

static void test_blocks(void **state) {
    (void)state;
    workspace w;
    workspace_init(&w, 64 << 20);
    char *last = NULL;
    for (size_t size = 0; size < 3000; size += 7) {
        char *block = workspace_alloc(&w, size);
        assert_non_null(block);
        assert_int_equal((uintptr_t)block % 64, 0);
        assert_true(size <= 7 || block != last);
        memset(block, 1, size);
        last = block;
    }
    workspace_free(&w);
}

/* The second step of the same size allocates nothing, and all its memory is one chunk. */
static void test_second_step_allocates_nothing(void **state) {
    (void)state;
    workspace w;
    workspace_init(&w, 64 << 20);
    for (int i = 0; i < 20; i++) assert_non_null(workspace_alloc(&w, 200000));
    workspace_reset(&w);
    assert_non_null(workspace_alloc(&w, 200000)); /* the chunks become one */
    workspace_reset(&w);
    size_t taken = w.taken;
    failing_start(0);
    char *first = workspace_alloc(&w, 200000), *next = first;
    for (int i = 1; i < 20; i++) next = workspace_alloc(&w, 200000);
    assert_false(failing_stop());
    assert_non_null(next);
    assert_int_equal(next - first, 19 * 200000);
    assert_int_equal(w.taken, taken);
    workspace_free(&w);
}

static void test_limit(void **state) {
    (void)state;
    workspace w;
    workspace_init(&w, 1 << 20);
    size_t taken = 0;
    while (workspace_alloc(&w, 10000) != NULL) taken += 10000;
    assert_in_range(taken, 900000, 1 << 20);
    assert_null(workspace_alloc(&w, SIZE_MAX));
    assert_null(workspace_alloc(&w, SIZE_MAX - 64));
    workspace_reset(&w);
    assert_non_null(workspace_alloc(&w, 1 << 20));
    workspace_free(&w);
}

static void test_out_of_memory(void **state) {
    (void)state;
    workspace w;
    workspace_init(&w, 1 << 20);
    failing_start(0);
    void *block = workspace_alloc(&w, 100);
    assert_true(failing_stop());
    assert_null(block);
    assert_non_null(workspace_alloc(&w, 100));
    workspace_free(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_blocks),
        cmocka_unit_test(test_second_step_allocates_nothing),
        cmocka_unit_test(test_limit),
        cmocka_unit_test(test_out_of_memory),
    };
    return cmocka_run_group_tests_name("nn/workspace", tests, NULL, NULL);
}
