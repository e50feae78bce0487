/* Bytes of weights follow their traces: dead channels cost little, weights that reach far compress well. */
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
                      .has_own_scales = true,
                      .reach = 2,
                      .live = 1};
}

static double bytes(const npu_pass *p) {
    return npu_code_bytes(&npu_default_codes, p);
}

static void prices_order_weights(void **state) {
    (void)state;
    npu_pass usual = conv(), half_dead = conv(), shared = conv(), far = conv(), uniform = conv(), none = conv();
    half_dead.live = 0.5;
    shared.has_own_scales = far.has_own_scales = false;
    far.reach = 7;
    uniform.coding = CODING_UNIFORM;
    none.has_weights = false;
    assert_true(bytes(&usual) > 0.8 * 18432 && bytes(&usual) < 1.2 * 18432);
    assert_true(bytes(&half_dead) < 0.5 * bytes(&usual));
    assert_true(bytes(&far) < 0.7 * bytes(&shared));
    assert_true(bytes(&uniform) < 0.4 * bytes(&usual));
    assert_true(bytes(&none) == 0);
}

static void zeros_that_fill_up_count(void **state) {
    (void)state;
    npu_pass whole = conv(), padded = conv();
    double a[CODE_PRICES], b[CODE_PRICES], more = 0;
    padded.ifm_shape.c = 33;
    npu_code_amounts(&whole, a);
    npu_code_amounts(&padded, b);
    for (int i = 0; i < CODE_PRICES; i++) {
        assert_true(a[i] >= 0 && b[i] >= a[i]);
        more += b[i] - a[i];
    }
    assert_true(more > 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(prices_order_weights),
        cmocka_unit_test(zeros_that_fill_up_count),
    };
    return cmocka_run_group_tests_name("npu/weights", tests, NULL, NULL);
}
