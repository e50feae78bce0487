/* Tests of how a step divides: shares add up, inference is all forward, the optimiser goes by parameters. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cost/share.h"

static const ft_op_cost ops[] = {
    {.forward = {.flops = 60, .read_bytes = 30, .write_bytes = 10},
     .backward_data = {.flops = 60, .read_bytes = 30, .write_bytes = 10},
     .backward_weights = {.flops = 50, .read_bytes = 30, .write_bytes = 20},
     .params = 30},
    {.forward = {.flops = 5, .read_bytes = 5}, .params = 10},
    {.params = 0},
};

static void test_share(void **state) {
    (void)state;
    const uint32_t first[] = {0}, second[] = {1}, third[] = {2};
    const ft_cost cost = {
        .ops = ops, .op_count = 3, .total = {.params = 40}, .optimizer = {.flops = 300, .read_bytes = 100}};
    work_share share = work_share_of(&cost, first, 1);
    assert_float_equal(share.forward, 100.0 / 600, 1e-12);
    assert_float_equal(share.backward, 200.0 / 600, 1e-12);
    assert_float_equal(share.update, 300.0 / 600, 1e-12); /* 30 of 40 parameters, of 400 */
    share = work_share_of(&cost, second, 1);
    assert_float_equal(share.forward, 10.0 / 110, 1e-12);
    assert_float_equal(share.backward, 0, 0);
    assert_float_equal(work_share_of(&cost, third, 1).forward, 1, 0);
    assert_float_equal(work_share_of(&cost, NULL, 0).forward, 1, 0);
    assert_float_equal(work_amount_of(&cost, first, 1), 300, 1e-12);
}

static void test_inference_is_all_forward(void **state) {
    (void)state;
    const uint32_t second[] = {1};
    const ft_cost cost = {.ops = ops, .op_count = 3, .total = {.params = 40}};
    assert_float_equal(work_share_of(&cost, second, 1).forward, 1, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_share), cmocka_unit_test(test_inference_is_all_forward)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
