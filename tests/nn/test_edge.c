/* Tests of what rows hear along edges that say something of their own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>

#include "support/gradient.h"

/* Row 1 hears nobody, row 3 one row twice; nobody hears row 2. */
static const uint32_t starts[] = {0, 2, 2, 3, 6}, from[] = {1, 4, 0, 3, 3, 0};
static const neighbours edges = {4, starts, from};

static tensor *fused(tape *t, const void *user) {
    (void)user;
    return nn_edge_mean(t, tape_param(t, 0), tape_param(t, 1), tape_param(t, 2), edges);
}

/* The same, one operation after the other. */
static tensor *spelled_out(tape *t, const void *user) {
    (void)user;
    const segments into = {4, starts};
    tensor *sum = nn_add(t, nn_gather(t, tape_param(t, 0), from, 6), nn_segment_broadcast(t, tape_param(t, 1), into));
    return nn_segment_mean(t, nn_activate(t, nn_add(t, sum, tape_param(t, 2)), ACT_RELU), into);
}

static void make(params *p, uint32_t cols) {
    const uint32_t shapes[][2] = {{5, cols}, {4, cols}, {6, cols}};
    gradient_params(p, 0, 3, shapes);
}

static void test_gradients(void **state) {
    (void)state;
    params p;
    make(&p, 11);
    /* No sum comes near the kink, where a difference tells nothing. */
    for (size_t i = 0; i < p.total_count; i++) p.values[i] = rintf(2 * p.values[i]) + (i < 9 * 11 ? 0.0f : 0.5f);
    gradient_check(&p, fused, NULL, 1e-3);
}

static void test_values(void **state) {
    (void)state;
    params p;
    make(&p, 9);
    float *a = gradient_forward(&p, TAPE_INFER, fused, NULL), *b = gradient_forward(&p, TAPE_INFER, spelled_out, NULL);
    for (int i = 0; i < 4 * 9; i++) assert_float_equal(a[i], b[i], 1e-5);
    for (int i = 0; i < 9; i++) assert_true(a[9 + i] == 0);
    free(a);
    free(b);
    params_free(&p);
}

static void test_memory(void **state) {
    (void)state;
    params p;
    make(&p, 3);
    gradient_check_memory(&p, fused, NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gradients),
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests_name("nn/edge", tests, NULL, NULL);
}
