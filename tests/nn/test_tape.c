/* Tests of the tape: gradients of parameters, reuse, failed allocations. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "nn/ops.h"
#include "support/failing.h"

enum { LIMIT = 8 << 20 };

static void make(params *p) {
    params_init(p);
    params_add(p, 3, 2, PARAM_NORMAL, "w");
    params_add(p, 1, 2, PARAM_NORMAL, "b");
    params_add(p, 2, 2, PARAM_NORMAL, "unused");
    assert_int_equal(params_finish(p, 3, NULL), FT_OK);
}

static const float x[6] = {1, 2, 3, 4, 5, 6};

static tensor *step(tape *t) {
    tensor *y = nn_linear(t, tape_input(t, 2, 3, x), tape_param(t, 0), tape_param(t, 1), ACT_NONE);
    return nn_sum(t, y);
}

static void test_gradients_are_complete(void **state) {
    (void)state;
    params p;
    tape *t = NULL;
    make(&p);
    assert_int_equal(tape_new(&p, LIMIT, &t, NULL), FT_OK);
    const float expected[12] = {5, 5, 7, 7, 9, 9, 2, 2};
    for (int round = 0; round < 3; round++) { /* nothing remains of the round before */
        tape_begin(t, TAPE_TRAIN, 0, 0);
        tape_backward(t, step(t));
        assert_int_equal(tape_status(t, NULL), FT_OK);
        assert_memory_equal(tape_gradient(t), expected, sizeof expected);
    }
    tape_continue(t, 0, 0);
    tape_backward(t, step(t));
    for (int i = 0; i < 12; i++) assert_true(tape_gradient(t)[i] == 2 * expected[i]);
    tape_free(t);
    tape_free(NULL);
    params_free(&p);
}

static void test_gradient_of_the_caller(void **state) {
    (void)state;
    params p;
    tape *t = NULL;
    make(&p);
    assert_int_equal(tape_new(&p, LIMIT, &t, NULL), FT_OK);
    float gradient[12];
    memset(gradient, 0xff, sizeof gradient); /* NaN: every element must be written */
    tape_begin_into(t, gradient, 0, 0);
    tape_backward(t, step(t));
    const float expected[12] = {5, 5, 7, 7, 9, 9, 2, 2};
    assert_memory_equal(gradient, expected, sizeof expected);
    tape_free(t);
    params_free(&p);
}

/* A loss that depends on no parameter has gradients, all zero. */
static void test_constant_loss(void **state) {
    (void)state;
    params p;
    tape *t = NULL;
    make(&p);
    assert_int_equal(tape_new(&p, LIMIT, &t, NULL), FT_OK);
    tape_begin(t, TAPE_TRAIN, 0, 0);
    tape_backward(t, nn_sum(t, tape_input(t, 2, 3, x)));
    for (int i = 0; i < 12; i++) assert_true(tape_gradient(t)[i] == 0);
    tape_free(t);
    params_free(&p);
}

static void test_inference_allocates_nothing_when_warm(void **state) {
    (void)state;
    params p;
    tape *t = NULL;
    make(&p);
    assert_int_equal(tape_new(&p, LIMIT, &t, NULL), FT_OK);
    tape_begin(t, TAPE_INFER, 0, 0);
    float first = step(t)->data[0];
    assert_null(t->last);
    failing_start(0);
    tape_begin(t, TAPE_INFER, 0, 0);
    float second = step(t)->data[0];
    assert_false(failing_stop());
    assert_true(first == second);
    tape_free(t);
    params_free(&p);
}

static ft_status whole_step(const params *p) {
    tape *t = NULL;
    ft_error error;
    ft_status status = tape_new(p, LIMIT, &t, &error);
    if (status != FT_OK) return status;
    tape_begin(t, TAPE_TRAIN, 0, 0);
    tape_backward(t, step(t));
    status = tape_status(t, &error);
    if (status != FT_OK) assert_non_null(strstr(error.message, "memory"));
    tape_free(t);
    return status;
}

static void test_out_of_memory(void **state) {
    (void)state;
    params p;
    make(&p);
    for (long n = 0;; n++) {
        failing_start(n);
        ft_status status = whole_step(&p);
        if (!failing_stop()) {
            assert_int_equal(status, FT_OK);
            break;
        }
        assert_int_equal(status, FT_ERR_NOMEM);
    }
    params_free(&p);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gradients_are_complete), cmocka_unit_test(test_gradient_of_the_caller),
        cmocka_unit_test(test_constant_loss),          cmocka_unit_test(test_inference_allocates_nothing_when_warm),
        cmocka_unit_test(test_out_of_memory),
    };
    return cmocka_run_group_tests_name("nn/tape", tests, NULL, NULL);
}
