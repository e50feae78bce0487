/* Compressed bytes follow the statistics of weights: all-zero channels cost little, a wide range compresses well. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>

#include "npu/weights.h"

static npu_pass conv(void) {
    return (npu_pass){.block = BLOCK_CONV,
                      .ifm_shape = {1, 8, 8, 32},
                      .ofm_shape = {1, 8, 8, 64},
                      .kernel_w = 3,
                      .kernel_h = 3,
                      .has_weights = true,
                      .coding = CODING_CONV,
                      .weights = 9 * 32 * 64,
                      .is_per_channel = true,
                      .reach = 2,
                      .live = 1};
}

static double bytes(const npu_pass *p) {
    return npu_compressed_bytes(&npu_default_compression, p);
}

static void compressed_bytes_follow_the_statistics_of_weights(void **state) {
    (void)state;
    npu_pass usual = conv(), half_dead = conv(), shared = conv(), far = conv(), uniform = conv(), none = conv();
    half_dead.live = 0.5;
    shared.is_per_channel = far.is_per_channel = false;
    far.reach = 7;
    uniform.coding = CODING_UNIFORM;
    none.has_weights = false;
    assert_true(bytes(&usual) > 0.8 * 18432 && bytes(&usual) < 1.2 * 18432);
    assert_true(bytes(&half_dead) < 0.5 * bytes(&usual));
    assert_true(bytes(&far) < 0.7 * bytes(&shared));
    assert_true(bytes(&uniform) < 0.4 * bytes(&usual));
    assert_true(bytes(&none) == 0);
}

static void padding_zeros_count(void **state) {
    (void)state;
    npu_pass whole = conv(), padded = conv();
    double a[COMPRESSION_TERMS], b[COMPRESSION_TERMS], more = 0;
    padded.ifm_shape.c = 33;
    npu_compression_amounts(&whole, a);
    npu_compression_amounts(&padded, b);
    for (int i = 0; i < COMPRESSION_TERMS; i++) {
        assert_true(a[i] >= 0 && b[i] >= a[i]);
        more += b[i] - a[i];
    }
    assert_true(more > 0);
}

/* Amounts in the order of weights.c, by hand. */
static void expect_amounts(const npu_pass *p, const double expected[COMPRESSION_TERMS]) {
    double found[COMPRESSION_TERMS];
    npu_compression_amounts(p, found);
    for (int i = 0; i < COMPRESSION_TERMS; i++)
        if (fabs(found[i] - expected[i]) > 1e-9 * fmax(1, expected[i]))
            fail_msg("%d: %g != %g", i, found[i], expected[i]);
}

static void amounts_are_those_of_the_formulas(void **state) {
    (void)state;
    npu_pass p = conv(); /* 9 * 32 * 64 = 18432 weights fill the units of the engine */
    p.live = 0.75;       /* a range of 2 is 0.6 of the way from 8 to -2 */
    expect_amounts(&p, (double[]){13824, 10368, 13824 * 0.6, 4608, 0, 0, 0, 0, 0, 0, 0, 0, 1, sqrt(18432), 0});
    p.reach = 9; /* cut at 8 */
    expect_amounts(&p, (double[]){13824, 10368, 0, 4608, 0, 0, 0, 0, 0, 0, 0, 0, 1, sqrt(18432), 0});
    p.is_per_channel = false;
    p.reach = -7; /* cut at -2 */
    expect_amounts(&p, (double[]){0, 0, 0, 0, 18432, 18432, 18432, 0, 0, 0, 0, 0, 1, sqrt(18432), 0});
    p.reach = 3;
    p.ifm_shape.c = 33; /* part-kernel: 12 * 40 * 64 = 30720 */
    expect_amounts(&p, (double[]){0, 0, 0, 0, 18432, 9216, 4608, 0, 0, 12288, 0, 0, 1, sqrt(18432), 0});
    p.ifm_shape.c = 8; /* as it has to be for 8 channels: 12 * 8 * 64 = 6144 */
    p.weights = 9 * 8 * 64;
    expect_amounts(&p, (double[]){0, 0, 0, 0, 4608, 2304, 1152, 0, 0, 1536, 0, 0, 1, sqrt(4608), 0});
    p.block = BLOCK_DEPTHWISE; /* 12 * 64 */
    p.coding = CODING_DEPTHWISE;
    p.weights = 576;
    expect_amounts(&p, (double[]){0, 0, 0, 0, 576, 288, 144, 576, 192, 0, 0, 0, 1, 24, 0});
    p = (npu_pass){
        .block = BLOCK_VECTOR, .ifm_shape = {1, 1, 1, 40}, .ofm_shape = {1, 1, 1, 12}, .kernel_w = 1, .kernel_h = 1};
    p.has_weights = true;
    p.coding = CODING_VECTOR; /* 64 * 16 = 1024 */
    p.weights = 480;
    p.reach = 8;
    expect_amounts(&p, (double[]){0, 0, 0, 0, 480, 0, 0, 0, 0, 0, 480, 544, 1, sqrt(480), 0});
    p.coding = CODING_UNIFORM;
    expect_amounts(&p, (double[]){0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 480});
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(compressed_bytes_follow_the_statistics_of_weights),
        cmocka_unit_test(padding_zeros_count),
        cmocka_unit_test(amounts_are_those_of_the_formulas),
    };
    return cmocka_run_group_tests_name("npu/weights", tests, NULL, NULL);
}
