/* Cycles of single passes and transfers, computed by hand from Vela's performance model. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "npu/cycles.h"

static const npu_arch *const u55_128 = &npu_archs[0], *const u65_256 = &npu_archs[2], *const u65_512 = &npu_archs[3];

static void transfers_take_the_slower_of_reading_and_writing(void **state) {
    (void)state;
    /* U65: SRAM moves 16 bytes a cycle and answers after 32, DRAM 12 after 500. */
    assert_true(npu_transfer_cycles(u65_256, NPU_SLOW, NPU_SRAM, 1200) == 100 + 500);
    assert_true(npu_transfer_cycles(u65_256, NPU_SLOW, NPU_SRAM, 1201) == 100 + 500); /* whole cycles */
    assert_true(npu_transfer_cycles(u65_256, NPU_SRAM, NPU_SLOW, 192) == 12 + 32);    /* writing takes 16 */
    assert_true(npu_transfer_cycles(u65_256, NPU_SRAM, NPU_SLOW, 19200) == 1600);     /* reading takes 1200 + 32 */
    /* U55: flash moves one byte a cycle and answers after 64. */
    assert_true(npu_transfer_cycles(u55_128, NPU_SLOW, NPU_SRAM, 256) == 256 + 64);
}

/* A burst of U55's SRAM has 32 bytes, one of its flash 128. */
static void partly_filled_bursts_cost_as_much_as_full_ones(void **state) {
    (void)state;
    npu_map_access a = {.area = NPU_SRAM, .is_read = true, .is_linear = true, .elem_bytes = 1, .block = {1, 4, 5, 8}};
    assert_true(npu_burst_bytes(u55_128, &a, 100) ==
                100 * 32 / 8.0); /* NHWC: the channels of a pixel follow each other */
    a.block.c = 40;
    assert_true(npu_burst_bytes(u55_128, &a, 100) == 100); /* more than a burst */
    a.block.c = 1;
    assert_true(npu_burst_bytes(u55_128, &a, 100) == 100 * 32 / 5.0); /* one channel: the columns do, too */
    a.elem_bytes = 2;
    a.block.c = 2;
    assert_true(npu_burst_bytes(u55_128, &a, 100) == 100 * 32 / 20.0);
    a.block.c = 4;
    assert_true(npu_burst_bytes(u55_128, &a, 100) == 100 * 32 / 8.0);
    a.area = NPU_SLOW;
    assert_true(npu_burst_bytes(u55_128, &a, 100) == 100 * 128 / 8.0);
}

static void written_bursts_depend_on_format_and_cores(void **state) {
    (void)state;
    npu_map_access a = {.area = NPU_SLOW, .is_linear = true, .elem_bytes = 1, .block = {1, 4, 3, 64}};
    assert_true(npu_burst_bytes(u55_128, &a, 100) == 100 * 128 / 16.0); /* NHWC: 16 channels of each core */
    assert_true(npu_burst_bytes(u65_512, &a, 100) == 100 * 128 / 32.0);
    a.elem_bytes = 4;
    assert_true(npu_burst_bytes(u65_512, &a, 100) == 100 * 128 / 64.0); /* at most 64 bytes */
    a.block.c = 8;
    assert_true(npu_burst_bytes(u65_512, &a, 100) == 100 * 128 / 32.0); /* all 8 channels */
    a.elem_bytes = a.block.c = 1;
    assert_true(npu_burst_bytes(u55_128, &a, 90) == 90 * 128 / 3.0); /* one channel: the columns follow each other */
    a.elem_bytes = a.block.c = 17;                                   /* no such type: the rule ends at 16 */
    assert_true(npu_burst_bytes(u55_128, &a, 90) == 90 * 128 / 64.0);
    a = (npu_map_access){.area = NPU_SLOW, .elem_bytes = 1, .block = {1, 4, 2, 64}, .shape = {1, 4, 2, 64}};
    assert_true(npu_burst_bytes(u55_128, &a, 100) == 100 * 128 / 32.0); /* bricks: two columns of 16 channels */
    assert_true(npu_burst_bytes(u65_512, &a, 100) == 100 * 128 / 64.0);
    a.is_read = true;
    assert_true(npu_burst_bytes(u65_512, &a, 100) == 100 * 128 / 32.0);
    a.shape.w = 4; /* 4 columns of a brick are 64 bytes, as many as the block has channels */
    assert_true(npu_burst_bytes(u65_512, &a, 100) == 100);
}

/* A 3x3 convolution of 8x8x16 to 8x8x16 in one block on U55-128, whose micro-block has 2x1x8 elements. */
static npu_block_config whole = {.ifm = {1, 10, 10, 16}, .ofm = {1, 8, 8, 16}};

static npu_pass_query conv_query(npu_pass *p) {
    *p = (npu_pass){.block = BLOCK_CONV, .kernel_w = 3, .kernel_h = 3, .is_unary = true};
    return (npu_pass_query){.pass = p,
                            .config = &whole,
                            .ifm = {1, 8, 8, 16},
                            .ofm = {1, 8, 8, 16},
                            .ifm_bytes = 1,
                            .ofm_bytes = 1,
                            .ifm_linear = true,
                            .ofm_linear = true,
                            .const_area = NPU_SLOW};
}

static void a_convolution_takes_its_engine_and_its_last_block(void **state) {
    (void)state;
    npu_pass p;
    npu_pass_query q = conv_query(&p);
    /* 4x8x2 micro-blocks, 4 cycles for each of 9 weights: 4 * 4 * 8 * 9 * 2 = 2304. Writing a block takes 0.5 cycles an
     * element, 512, but not less than its share of the command stream: a quarter of engine, output and memory. Memory:
     * 1024 bytes in half-filled bursts take 256 cycles and a latency of 32, for reading and for writing: 576. */
    assert_int_equal(npu_engine_cycles(u55_128, &q), 2304 + (2304 + 512 + 576) / 4);
    p.kernel_w = 9; /* two sub-kernels, of 8 and 1 columns: 128 * 27 * 2 */
    assert_int_equal(npu_engine_cycles(u55_128, &q), 6912 + (6912 + 1088) / 4);
    p.kernel_h = 9; /* 128 * 81 * 2 */
    assert_int_equal(npu_engine_cycles(u55_128, &q), 20736 + (20736 + 1088) / 4);
    p.kernel_w = p.kernel_h = 3;
    q.ifm.c = 40; /* three blocks of 16 channels */
    assert_int_equal(npu_engine_cycles(u55_128, &q), 6912 + (6912 + 1088) / 4);
    q.ifm.c = 16;
    q.ofm.w = 20; /* three blocks of 8 columns */
    assert_int_equal(npu_engine_cycles(u55_128, &q), 3 * 2304 + 848);
    q.ofm.c = 20; /* and two of 16 channels */
    assert_int_equal(npu_engine_cycles(u55_128, &q), 6 * 2304 + 848);
    q.ofm.h = 9;
    assert_int_equal(npu_engine_cycles(u55_128, &q), 12 * 2304 + 848);
}

static void kinds_of_passes_differ_in_their_engine_cycles(void **state) {
    (void)state;
    npu_pass p;
    npu_pass_query q = conv_query(&p);
    p.block = BLOCK_DEPTHWISE; /* 9 weights in steps of 4: 3 steps of 128 cycles, for 2 micro-blocks of channels */
    assert_int_equal(npu_engine_cycles(u55_128, &q), 768 + 512);
    q.ifm_bytes = 2; /* twice the cycles; bursts are full, so that memory takes 128 cycles less */
    assert_int_equal(npu_engine_cycles(u55_128, &q), 1536 + (1536 + 512 + 448) / 4);
    q.ifm_bytes = 1;
    p.block = BLOCK_POOL; /* 9 cycles for each of 64 micro-blocks */
    assert_int_equal(npu_engine_cycles(u55_128, &q), 576 + 512);
    q.ifm_bytes = 2;
    assert_int_equal(npu_engine_cycles(u55_128, &q), 1152 + (1152 + 512 + 448) / 4);
    q.ifm_bytes = 1;
    p.kernel_h = 1; /* less than four cycles are four: the output takes longer than 256 */
    assert_int_equal(npu_engine_cycles(u55_128, &q), 512 + (256 + 512 + 576) / 4);
    p.block = BLOCK_COPY;
    assert_int_equal(npu_engine_cycles(u55_128, &q), 0);
}

static void accesses_of_a_convolution_count_blocks(void **state) {
    (void)state;
    npu_pass p;
    npu_pass_query q = conv_query(&p);
    q.ofm = (npu_shape){1, 9, 20, 40}; /* 2 x 3 x 3 blocks */
    q.ifm = (npu_shape){1, 11, 22, 24};
    npu_access a = npu_count_accesses(&q);
    assert_true(a.ifm == 100.0 * 24 * 18);        /* 10x10 elements of each block, all channels */
    assert_true(a.weights == 9.0 * 24 * 16 * 18); /* for the 16 channels of a block */
    assert_true(a.scales == 40 && a.ifm2 == 0);
    assert_true(a.ofm == 9 * 20 * 40);
    q.ifm_linear = q.ofm_linear = false; /* bricks of 16 channels */
    a = npu_count_accesses(&q);
    assert_true(a.ifm == 100.0 * 32 * 18 && a.ofm == 9 * 20 * 48);
    p.kernel_w = 9; /* two sub-kernels */
    a = npu_count_accesses(&q);
    assert_true(a.ifm == 2 * 100.0 * 32 * 18 && a.weights == 27.0 * 24 * 16 * 18);
    p.block = BLOCK_VECTOR; /* 27 sub-kernels of one element */
    a = npu_count_accesses(&q);
    assert_true(a.ifm == 27 * 100.0 * 32 * 18);
    p.kernel_w = 3;
    p.block = BLOCK_DEPTHWISE; /* blocks of channels read their own channels */
    a = npu_count_accesses(&q);
    assert_true(a.ifm == 100.0 * 32 * 6 && a.weights == 9.0 * 24 * 6);
    p.block = BLOCK_POOL;
    a = npu_count_accesses(&q);
    assert_true(a.ifm == 100.0 * 32 * 6 && a.weights == 0 && a.scales == 0);
    p.block = BLOCK_COPY;
    a = npu_count_accesses(&q);
    assert_true(a.ifm == 0 && a.ofm == 0);
}

static void accesses_of_scalars_are_counted_when_they_are_stored(void **state) {
    (void)state;
    npu_pass p = {.block = BLOCK_ELEMENTWISE};
    npu_pass_query q = {
        .pass = &p, .config = &whole, .ifm = {1, 4, 5, 20}, .ifm2 = {1, 4, 5, 20}, .ofm = {1, 4, 5, 20}};
    q.ifm_bytes = q.ifm2_bytes = q.ofm_bytes = 1;
    q.ifm_linear = true;
    npu_access a = npu_count_accesses(&q);
    assert_true(a.ifm == 400 && a.ifm2 == 400 && a.ofm == 640); /* the output is in bricks */
    q.ifm2 = (npu_shape){1, 1, 1, 1};
    a = npu_count_accesses(&q);
    assert_true(a.ifm == 400 && a.ifm2 == 0); /* a scalar of one byte is part of the command */
    q.ifm2_bytes = 4;
    a = npu_count_accesses(&q);
    assert_true(a.ifm2 == 1);
    q.ifm_linear = false;
    a = npu_count_accesses(&q);
    assert_true(a.ifm == 640 && a.ifm2 == 16);
    q.ifm2 = q.ofm;
    q.ifm = (npu_shape){1, 1, 1, 1};
    a = npu_count_accesses(&q);
    assert_true(a.ifm == 0 && a.ifm2 == 640);
    q.ifm_bytes = 2;
    a = npu_count_accesses(&q);
    assert_true(a.ifm == 16 && a.ifm2 == 640);
    p.is_unary = true;
    a = npu_count_accesses(&q);
    assert_true(a.ifm2 == 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(transfers_take_the_slower_of_reading_and_writing),
        cmocka_unit_test(partly_filled_bursts_cost_as_much_as_full_ones),
        cmocka_unit_test(written_bursts_depend_on_format_and_cores),
        cmocka_unit_test(a_convolution_takes_its_engine_and_its_last_block),
        cmocka_unit_test(kinds_of_passes_differ_in_their_engine_cycles),
        cmocka_unit_test(accesses_of_a_convolution_count_blocks),
        cmocka_unit_test(accesses_of_scalars_are_counted_when_they_are_stored),
    };
    return cmocka_run_group_tests_name("npu/cycles", tests, NULL, NULL);
}
