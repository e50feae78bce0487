/* Compressed bytes follow the statistics of weights: all-zero channels cost little, a wide range compresses well. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

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

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(compressed_bytes_follow_the_statistics_of_weights),
        cmocka_unit_test(padding_zeros_count),
    };
    return cmocka_run_group_tests_name("npu/weights", tests, NULL, NULL);
}
