/* Tests of the 164 features of a store, for a nest whose features can be computed by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "support/folder.h"
#include "support/program_features.h"

/* C[8, 4] += A[8, 16] B[16, 4] with loops x, y, k and nothing else. */
static void test_matmul_features(void **state) {
    (void)state;
    FILE *file = fopen("log.jsonl", "w");
    assert_non_null(file);
    fputs("{\"i\":[[\"[\\\"matmul_layer\\\", 8, 16, 4]\",\"cuda\"],[[],[]]],\"r\":[[0.001],0,1,1],\"v\":\"v0.6\"}\n",
          file);
    fclose(file);
    const lowered s = lower_record("log.jsonl", 1);
    const ft_program_features f = s.f;
    assert_true(ft_program_flops(s.program) == 2 * 8 * 16 * 4);
    /* root, x, y, init, k, update */
    static const int32_t tree[] = {0, 1, 2, 3, -1, 4, 5, -1, -1, -1, -1, -1};
    assert_int_equal(f.tree_length, sizeof tree / sizeof tree[0]);
    assert_memory_equal(f.tree, tree, sizeof tree);
    assert_int_equal(f.leaf_count, 2);
    assert_int_equal(f.node_ids[1], 5);
    expect_log(feature(&f, 0, "outer_prod"), 32);
    expect_log(feature(&f, 1, "outer_prod"), 512);
    expect_log(feature(&f, 1, "num_loops"), 3);
    expect_log(feature(&f, 1, "float_mul"), 512);
    expect_log(feature(&f, 1, "float_addsub"), 512);
    assert_true(feature(&f, 1, "float_mad") == 0 && feature(&f, 1, "is_gpu") == 0);
    /* Sorted by cache lines: k moves B by a row of 4 (a quarter of a line), A by 1, C not at all. */
    assert_true(feature(&f, 1, "B0.acc_type.read") == 1);
    expect_log(feature(&f, 1, "B0.stride"), 4);
    expect_log(feature(&f, 1, "B0.lines"), 512 * 4 * 4 / 64.0);
    expect_log(feature(&f, 1, "B0.unique_bytes"), 16 * 4 * 4);
    assert_true(feature(&f, 1, "B0.reuse.loop") == 1);
    expect_log(feature(&f, 1, "B0.reuse_dis_iter"), 16 * 4);
    expect_log(feature(&f, 1, "B0.reuse_ct"), 8);
    expect_log(feature(&f, 1, "B1.stride"), 1);
    expect_log(feature(&f, 1, "B1.lines"), 512 * 4 / 64.0);
    expect_log(feature(&f, 1, "B1.reuse_ct"), 4);
    assert_true(feature(&f, 1, "B2.acc_type.readwrite") == 1);
    expect_log(feature(&f, 1, "B2.lines"), 512 / 16 * 4 / 64.0);
    assert_true(feature(&f, 1, "B2.stride") == 0 && feature(&f, 1, "B3.bytes") == 0);
    close_program(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_matmul_features, folder_enter, folder_leave),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
