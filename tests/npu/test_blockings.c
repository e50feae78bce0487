/* Blockings that are kept are those that would be found, and are found once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "npu/blockings.h"
#include "support/npu_model.h"

static void estimates_are_the_same_with_and_without(void **state) {
    (void)state;
    npu_model kept = npu_model_read(&npu_mobilenet_head), plain = npu_model_read(&npu_mobilenet_head);
    plain.net.blockings = NULL;
    for (int round = 0; round < 2; round++) {
        for (int a = 0; a < NPU_ARCHS; a++) {
            npu_estimate x = npu_model_estimate(&kept, npu_archs[a].name);
            npu_estimate y = npu_model_estimate(&plain, npu_archs[a].name);
            assert_memory_equal(&x.sum, &y.sum, sizeof x.sum);
            assert_memory_equal(x.passes, y.passes, kept.net.pass_count * sizeof *x.passes);
            assert_true(x.sram_bytes == y.sram_bytes && x.slow_arena_bytes == y.slow_arena_bytes);
        }
    }
    npu_model_free(&kept);
    npu_model_free(&plain);
}

static void accelerators_with_the_same_buffer_share(void **state) {
    (void)state;
    npu_model m = npu_model_read(&npu_mobilenet_head);
    assert_int_equal(npu_blockings_count(m.net.blockings), 0);
    npu_model_estimate(&m, "ethos-u55-256");
    uint32_t first = npu_blockings_count(m.net.blockings);
    assert_in_range(first, 1, m.net.pass_count);
    npu_model_estimate(&m, "ethos-u55-256");
    assert_int_equal(npu_blockings_count(m.net.blockings), first);
    npu_model_estimate(&m, "ethos-u55-128");
    assert_in_range(npu_blockings_count(m.net.blockings), first + 1, 2 * first);
    npu_model_free(&m);
}

static npu_extent square(int64_t side) {
    return (npu_extent){.ofm = {1, side, side, 32}, .ifm = {1, side, side, 16}, .ifm_bytes = 1};
}

static void what_is_asked_tells_them_apart(void **state) {
    (void)state;
    arena memory;
    arena_init(&memory, UINT64_MAX);
    npu_blockings *kept = npu_blockings_new(&memory, 4);
    npu_pass p = {.block = BLOCK_CONV,
                  .kernel_w = 3,
                  .kernel_h = 3,
                  .stride_x = 1,
                  .stride_y = 1,
                  .dilation_x = 1,
                  .dilation_y = 1};
    npu_blocking a, b;
    npu_extent e = square(14);
    assert_non_null(kept);
    assert_true(npu_blockings_find(kept, &npu_archs[1], &p, &e, &a));
    assert_true(npu_blockings_find(kept, &npu_archs[3], &p, &e, &b)); /* the same buffer */
    assert_int_equal(npu_blockings_count(kept), 1);
    assert_true(npu_shape_equal(a.ofm, b.ofm) && npu_shape_equal(a.ifm, b.ifm));
    p.stride_x = p.stride_y = 2;
    assert_true(npu_blockings_find(kept, &npu_archs[1], &p, &e, &b));
    assert_int_equal(npu_blockings_count(kept), 2);
    e.ifm_bytes = 2;
    assert_true(npu_blockings_find(kept, &npu_archs[1], &p, &e, &b));
    assert_int_equal(npu_blockings_count(kept), 3);
    assert_true(b.has_sum40 && !a.has_sum40);
    arena_free(&memory);
}

/* Past what there is room for, answers are still right. */
static void the_last_ones_are_not_kept(void **state) {
    (void)state;
    arena memory;
    arena_init(&memory, UINT64_MAX);
    npu_blockings *kept = npu_blockings_new(&memory, 0);
    npu_pass p = {.block = BLOCK_POOL,
                  .kernel_w = 2,
                  .kernel_h = 2,
                  .stride_x = 2,
                  .stride_y = 2,
                  .dilation_x = 1,
                  .dilation_y = 1};
    assert_non_null(kept);
    for (int round = 0; round < 2; round++) {
        for (int64_t side = 1; side <= 60; side++) {
            npu_extent e = square(side);
            npu_blocking found, expected;
            assert_true(npu_blockings_find(kept, &npu_archs[0], &p, &e, &found));
            assert_true(npu_find_blocking(&npu_archs[0], &p, &e, &expected));
            assert_true(npu_shape_equal(found.ofm, expected.ofm) && npu_shape_equal(found.ifm, expected.ifm));
        }
    }
    assert_in_range(npu_blockings_count(kept), 1, 59);
    arena_free(&memory);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(estimates_are_the_same_with_and_without),
        cmocka_unit_test(accelerators_with_the_same_buffer_share),
        cmocka_unit_test(what_is_asked_tells_them_apart),
        cmocka_unit_test(the_last_ones_are_not_kept),
    };
    return cmocka_run_group_tests_name("npu/blockings", tests, NULL, NULL);
}
