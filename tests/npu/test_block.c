/* The search for a block configuration skips most blocks and still finds what an exhaustive search finds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/hash.h"
#include "base/rng.h"
#include "npu/block.h"

static int32_t draw(rng *r, int32_t least, int32_t most) {
    return least + (int32_t)rng_below(r, (uint32_t)(most - least + 1));
}

static npu_pass draw_pass(rng *r) {
    static const npu_block_type blocks[] = {BLOCK_CONV, BLOCK_CONV,   BLOCK_DEPTHWISE,  BLOCK_VECTOR,
                                            BLOCK_POOL, BLOCK_REDUCE, BLOCK_ELEMENTWISE};
    npu_pass p = {.block = blocks[draw(r, 0, 6)], .kernel_w = 1, .kernel_h = 1};
    bool has_kernel = p.block == BLOCK_CONV || p.block == BLOCK_DEPTHWISE || p.block == BLOCK_POOL;
    if (has_kernel) {
        p.kernel_w = draw(r, 1, 9);
        p.kernel_h = draw(r, 1, 9);
    }
    p.stride_x = has_kernel ? draw(r, 1, 3) : 1;
    p.stride_y = has_kernel ? draw(r, 1, 3) : 1;
    p.dilation_x = p.dilation_y = p.block == BLOCK_CONV ? draw(r, 1, 2) : 1;
    p.upscale = p.block == BLOCK_CONV && draw(r, 0, 9) == 0 ? UPSCALE_NEAREST : UPSCALE_NONE;
    return p;
}

static npu_extent draw_extent(rng *r, const npu_pass *p) {
    static const int32_t bytes[] = {1, 1, 1, 2, 4};
    npu_extent e = {.ofm = {.n = 1}};
    int64_t w, h;
    e.ofm.h = draw(r, 1, 60);
    e.ofm.w = draw(r, 1, 120);
    e.ofm.c = draw(r, 1, 300);
    npu_input_area(p, e.ofm, &w, &h);
    bool is_deep = p->block == BLOCK_CONV || p->block == BLOCK_VECTOR || p->block == BLOCK_REDUCE;
    e.ifm = (npu_shape){1, h, w, is_deep ? draw(r, 1, 300) : e.ofm.c};
    e.ifm_bytes = bytes[draw(r, 0, p->block == BLOCK_ELEMENTWISE ? 4 : 3)];
    e.has_scalar = p->block == BLOCK_ELEMENTWISE && draw(r, 0, 1) == 0;
    return e;
}

/* The hash is that of an exhaustive search. */
static void blocks_of_many_shapes_are_those_of_an_exhaustive_search(void **state) {
    (void)state;
    enum { SHAPES = 2000 };
    static int64_t found[SHAPES][8];
    rng r;
    rng_init(&r, 7, 0);
    for (int i = 0; i < SHAPES; i++) {
        npu_pass p = draw_pass(&r);
        npu_extent e = draw_extent(&r, &p);
        const npu_arch *arch = &npu_archs[draw(&r, 0, 1)];
        npu_block_config b;
        bool is_found = npu_block_find(arch, &p, &e, &b);
        assert_int_equal(npu_block_fits(arch, &p, &e), is_found);
        const int64_t row[] = {is_found, b.ofm.h, b.ofm.w, b.ofm.c, b.ifm.h, b.ifm.w, b.ifm.c, b.is_part_kernel};
        for (int k = 0; k < 8; k++) found[i][k] = row[k];
    }
    char text[HASH_TEXT];
    assert_string_equal(hash_text(hash_bytes(found, sizeof found), text), "581fd85866328d00303a418064447f6d");
}

static void no_block_is_found_when_none_fits(void **state) {
    (void)state;
    npu_pass p = {.block = BLOCK_CONV,
                  .kernel_w = 8,
                  .kernel_h = 8,
                  .stride_x = 10,
                  .stride_y = 10,
                  .dilation_x = 1,
                  .dilation_y = 1};
    npu_extent e = {.ofm = {1, 10, 10, 16}, .ifm = {1, 1000, 1000, 64}, .ifm_bytes = 1};
    npu_block_config b;
    assert_true(npu_block_find(&npu_archs[0], &p, &e, &b)); /* one row, of two columns */
    p.stride_x = 1000;
    assert_false(npu_block_find(&npu_archs[0], &p, &e, &b));
    assert_false(npu_block_fits(&npu_archs[0], &p, &e));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_of_many_shapes_are_those_of_an_exhaustive_search),
        cmocka_unit_test(no_block_is_found_when_none_fits),
    };
    return cmocka_run_group_tests_name("npu/block", tests, NULL, NULL);
}
