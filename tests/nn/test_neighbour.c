/* Tests of message passing over neighbours and edges. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>

#include "support/gradient.h"

/* --- Neighbour ----------------------------------------------------------------------------------------------- */

typedef struct operation {
    tensor *(*op)(tape *t, tensor *x, neighbours n);
} operation;

/* Row 1 has no neighbours, row 3 has one twice; row 2 is a neighbour of no row. */
static const uint32_t starts[] = {0, 2, 2, 3, 6}, from[] = {1, 4, 0, 3, 3, 0};
static const neighbours edges = {4, starts, from};

static tensor *apply(tape *t, const void *user) {
    return ((const operation *)user)->op(t, tape_param(t, 0), edges);
}

static const operation all[] = {{nn_neighbour_sum}, {nn_neighbour_mean}, {nn_neighbour_max}};

static void neighbour_gradients_match_finite_differences(void **state) {
    (void)state;
    for (int i = 0; i < 3; i++) {
        params p;
        gradient_params(&p, 0, 1, (const uint32_t[][2]){{5, 11}});
        gradient_check(&p, apply, &all[i], 1e-3);
    }
}

static void neighbour_values_are_as_computed_by_hand(void **state) {
    (void)state;
    const float expected[3][4] = {{-4, 0, 5, 11}, {-2, 0, 5, 11.0f / 3}, {2, 0, 5, 5}};
    for (int i = 0; i < 3; i++) {
        params p;
        gradient_params(&p, 0, 1, (const uint32_t[][2]){{5, 1}});
        const float x[] = {5, 2, 100, 3, -6};
        for (int k = 0; k < 5; k++) p.values[k] = x[k];
        float *y = gradient_forward(&p, TAPE_INFER, apply, &all[i]);
        for (int k = 0; k < 4; k++) assert_float_equal(y[k], expected[i][k], 1e-5);
        free(y);
        params_free(&p);
    }
}

static void neighbour_reports_failed_allocations(void **state) {
    (void)state;
    for (int i = 0; i < 3; i++) {
        params p;
        gradient_params(&p, 0, 1, (const uint32_t[][2]){{5, 3}});
        gradient_check_memory(&p, apply, &all[i]);
    }
}

/* --- Edge ---------------------------------------------------------------------------------------------------- */

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

static void edge_gradients_match_finite_differences(void **state) {
    (void)state;
    params p;
    make(&p, 11);
    /* No sum is near the kink of relu, where finite differences are wrong. */
    for (size_t i = 0; i < p.total_count; i++) p.values[i] = rintf(2 * p.values[i]) + (i < 9 * 11 ? 0.0f : 0.5f);
    gradient_check(&p, fused, NULL, 1e-3);
}

static void edge_values_are_as_computed_by_hand(void **state) {
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

static void edge_reports_failed_allocations(void **state) {
    (void)state;
    params p;
    make(&p, 3);
    gradient_check_memory(&p, fused, NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(neighbour_gradients_match_finite_differences),
        cmocka_unit_test(neighbour_values_are_as_computed_by_hand),
        cmocka_unit_test(neighbour_reports_failed_allocations),
        cmocka_unit_test(edge_gradients_match_finite_differences),
        cmocka_unit_test(edge_values_are_as_computed_by_hand),
        cmocka_unit_test(edge_reports_failed_allocations),
    };
    return cmocka_run_group_tests_name("nn/neighbour", tests, NULL, NULL);
}
