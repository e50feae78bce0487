/* One optimiser step per parameter, and the state between steps. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cost/work.h"

static void check(ft_optimizer optimizer, bool is_mixed, ft_dtype dtype, ft_work expected, uint64_t state_bytes) {
    ft_cost_options options = {.mode = FT_TRAIN, .optimizer = optimizer, .is_mixed = is_mixed};
    ft_work work = work_optimizer(&options, dtype, 1000);
    assert_int_equal(work.macs, 0);
    assert_int_equal(work.flops, expected.flops);
    assert_int_equal(work.read_bytes, expected.read_bytes);
    assert_int_equal(work.write_bytes, expected.write_bytes);
    assert_int_equal(work_optimizer_bytes(&options, dtype, NULL, 1000), state_bytes);
}

static void plain_steps(void **state) {
    (void)state;
    check(FT_SGD, false, FT_FLOAT32, (ft_work){0, 2000, 8000, 4000}, 0);
    check(FT_MOMENTUM, false, FT_FLOAT32, (ft_work){0, 4000, 12000, 8000}, 4000);
    check(FT_ADAM, false, FT_FLOAT32, (ft_work){0, 14000, 16000, 12000}, 8000);
    check(FT_ADAMW, false, FT_FLOAT32, (ft_work){0, 16000, 16000, 12000}, 8000);
    check(FT_ADAM, false, FT_BFLOAT16, (ft_work){0, 14000, 8000, 6000}, 4000);
}

/* Reads the half gradient, the master and its moments; writes them and the half copy. */
static void mixed_steps(void **state) {
    (void)state;
    check(FT_ADAM, true, FT_FLOAT16, (ft_work){0, 16000, 14000, 14000}, 12000);
    check(FT_SGD, true, FT_BFLOAT16, (ft_work){0, 4000, 6000, 6000}, 4000);
}

static void names(void **state) {
    (void)state;
    ft_optimizer optimizer;
    assert_string_equal(ft_optimizer_name(FT_ADAMW), "adamw");
    assert_true(ft_optimizer_parse("momentum", &optimizer));
    assert_int_equal(optimizer, FT_MOMENTUM);
    assert_false(ft_optimizer_parse("shampoo", &optimizer));
    assert_false(ft_optimizer_parse("", &optimizer));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_steps),
        cmocka_unit_test(mixed_steps),
        cmocka_unit_test(names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
