/* Cached block configurations are those that a search finds, and are searched once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "npu/block.h"
#include "support/npu_model.h"

static void estimates_are_the_same_without_the_cache(void **state) {
    (void)state;
    npu_model cached = npu_model_read(&npu_mobilenet_head), plain = npu_model_read(&npu_mobilenet_head);
    plain.net.block_cache = NULL;
    for (int round = 0; round < 2; round++) {
        for (int a = 0; a < NPU_ARCHS; a++) {
            npu_estimate x = npu_model_estimate(&cached, npu_archs[a].name);
            npu_estimate y = npu_model_estimate(&plain, npu_archs[a].name);
            assert_memory_equal(&x.sum, &y.sum, sizeof x.sum);
            assert_memory_equal(x.passes, y.passes, cached.net.pass_count * sizeof *x.passes);
            assert_true(x.sram_bytes == y.sram_bytes && x.slow_arena_bytes == y.slow_arena_bytes);
        }
    }
    npu_model_free(&cached);
    npu_model_free(&plain);
}

static void accelerators_with_the_same_buffer_share_entries(void **state) {
    (void)state;
    npu_model m = npu_model_read(&npu_mobilenet_head);
    assert_int_equal(npu_block_cache_count(m.net.block_cache), 0);
    npu_model_estimate(&m, "ethos-u55-256");
    uint32_t first = npu_block_cache_count(m.net.block_cache);
    assert_in_range(first, 1, m.net.pass_count);
    npu_model_estimate(&m, "ethos-u55-256");
    assert_int_equal(npu_block_cache_count(m.net.block_cache), first);
    npu_model_estimate(&m, "ethos-u55-128");
    assert_in_range(npu_block_cache_count(m.net.block_cache), first + 1, 2 * first);
    npu_model_free(&m);
}

static npu_extent square(int64_t side) {
    return (npu_extent){.ofm = {1, side, side, 32}, .ifm = {1, side, side, 16}, .ifm_bytes = 1};
}

static void every_part_of_the_key_counts(void **state) {
    (void)state;
    arena memory;
    arena_init(&memory, UINT64_MAX);
    npu_block_cache *cache = npu_block_cache_new(&memory, 4);
    npu_pass p = {.block = BLOCK_CONV,
                  .kernel_w = 3,
                  .kernel_h = 3,
                  .stride_x = 1,
                  .stride_y = 1,
                  .dilation_x = 1,
                  .dilation_y = 1};
    npu_block_config a, b;
    npu_extent e = square(14);
    assert_non_null(cache);
    assert_true(npu_block_cache_find(cache, &npu_archs[1], &p, &e, &a));
    assert_true(npu_block_cache_find(cache, &npu_archs[3], &p, &e, &b)); /* the same buffer */
    assert_int_equal(npu_block_cache_count(cache), 1);
    assert_true(npu_shape_equal(a.ofm, b.ofm) && npu_shape_equal(a.ifm, b.ifm));
    p.stride_x = p.stride_y = 2;
    assert_true(npu_block_cache_find(cache, &npu_archs[1], &p, &e, &b));
    assert_int_equal(npu_block_cache_count(cache), 2);
    e.ifm_bytes = 2;
    assert_true(npu_block_cache_find(cache, &npu_archs[1], &p, &e, &b));
    assert_int_equal(npu_block_cache_count(cache), 3);
    assert_true(b.has_acc40 && !a.has_acc40);
    arena_free(&memory);
}

/* When the cache is full, results are still correct. */
static void a_full_cache_still_returns_correct_blocks(void **state) {
    (void)state;
    arena memory;
    arena_init(&memory, UINT64_MAX);
    npu_block_cache *cache = npu_block_cache_new(&memory, 0);
    npu_pass p = {.block = BLOCK_POOL,
                  .kernel_w = 2,
                  .kernel_h = 2,
                  .stride_x = 2,
                  .stride_y = 2,
                  .dilation_x = 1,
                  .dilation_y = 1};
    assert_non_null(cache);
    for (int round = 0; round < 2; round++) {
        for (int64_t side = 1; side <= 60; side++) {
            npu_extent e = square(side);
            npu_block_config found, expected;
            assert_true(npu_block_cache_find(cache, &npu_archs[0], &p, &e, &found));
            assert_true(npu_block_find(&npu_archs[0], &p, &e, &expected));
            assert_true(npu_shape_equal(found.ofm, expected.ofm) && npu_shape_equal(found.ifm, expected.ifm));
        }
    }
    assert_in_range(npu_block_cache_count(cache), 1, 59);
    arena_free(&memory);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(estimates_are_the_same_without_the_cache),
        cmocka_unit_test(accelerators_with_the_same_buffer_share_entries),
        cmocka_unit_test(every_part_of_the_key_counts),
        cmocka_unit_test(a_full_cache_still_returns_correct_blocks),
    };
    return cmocka_run_group_tests_name("npu/block_cache", tests, NULL, NULL);
}
