/* Tests of PCGrad: agreeing gradients stay, conflicting ones are projected, and the result is that of the algorithm in
 * the paper. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "nn/descent.h"

static void combine(uint32_t tasks, size_t count, const float *rows, uint64_t seed, float *result) {
    float *copy = malloc(tasks * count * sizeof *copy), *gradients[PCGRAD_MAX_TASKS + 1];
    rng random;
    memcpy(copy, rows, tasks * count * sizeof *copy);
    for (uint32_t i = 0; i < tasks; i++) gradients[i] = copy + i * count;
    rng_init(&random, seed, 0);
    pcgrad(gradients, tasks, count, &random, result);
    free(copy);
}

static void test_agreeing_gradients_stay(void **state) {
    (void)state;
    const float rows[] = {1, 0, 2, 3, 4, 0};
    float result[3];
    combine(2, 3, rows, 1, result);
    assert_true(result[0] == 2 && result[1] == 2 && result[2] == 1);
}

/* By hand: g1 = (1, 0), g2 = (-1, 1). g1.g2 = -1; g1' = g1 + g2 / 2 = (.5, .5), g2' = g2 + g1 = (0, 1). */
static void test_two_conflicting_gradients(void **state) {
    (void)state;
    const float rows[] = {1, 0, -1, 1};
    float result[2];
    combine(2, 2, rows, 1, result);
    assert_float_equal(result[0], 0.25, 1e-6);
    assert_float_equal(result[1], 0.75, 1e-6);
}

/* Opposite gradients cancel; a task with zero gradient has no effect. */
static void test_opposite_and_zero_gradients(void **state) {
    (void)state;
    const float opposite[] = {2, -4, -1, 2}, nothing[] = {3, 1, 0, 0}, alone[] = {5, 6};
    float result[2];
    combine(2, 2, opposite, 1, result);
    assert_float_equal(result[0], 0, 1e-6);
    assert_float_equal(result[1], 0, 1e-6);
    combine(2, 2, nothing, 1, result);
    assert_float_equal(result[0], 1.5, 1e-6);
    combine(1, 2, alone, 1, result);
    assert_true(result[0] == 5 && result[1] == 6);
}

/* The algorithm of the paper, with whole vectors and the same order. */
static void spelled_out(uint32_t tasks, size_t count, const float *rows, uint64_t seed, double *result) {
    rng random;
    double *g = malloc(count * sizeof *g);
    rng_init(&random, seed, 0);
    memset(result, 0, count * sizeof *result);
    for (uint32_t i = 0; i < tasks; i++) {
        uint32_t order[PCGRAD_MAX_TASKS];
        for (uint32_t j = 0; j < tasks; j++) order[j] = j;
        rng_shuffle(&random, order, tasks);
        for (size_t c = 0; c < count; c++) g[c] = (double)rows[i * count + c];
        for (uint32_t k = 0; k < tasks; k++) {
            const float *other = rows + order[k] * count;
            double along = 0, length = 0;
            for (size_t c = 0; c < count; c++) {
                along += g[c] * (double)other[c];
                length += (double)other[c] * (double)other[c];
            }
            if (order[k] == i || along >= 0) continue;
            for (size_t c = 0; c < count; c++) g[c] -= along / length * (double)other[c];
        }
        for (size_t c = 0; c < count; c++) result[c] += g[c] / tasks;
    }
    free(g);
}

static void test_many_tasks_match_the_paper(void **state) {
    (void)state;
    enum { TASKS = 6, COUNT = 9001 };
    float *rows = malloc(TASKS * COUNT * sizeof *rows), *result = malloc(COUNT * sizeof *result);
    double *expected = malloc(COUNT * sizeof *expected);
    rng random;
    rng_init(&random, 3, 3);
    for (int i = 0; i < TASKS * COUNT; i++) rows[i] = (float)(rng_normal(&random) - (i / COUNT % 2 ? 0.3 : -0.3));
    for (uint64_t seed = 0; seed < 5; seed++) {
        combine(TASKS, COUNT, rows, seed, result);
        spelled_out(TASKS, COUNT, rows, seed, expected);
        for (int c = 0; c < COUNT; c++) assert_float_equal(result[c], (float)expected[c], 1e-4);
    }
    free(rows);
    free(result);
    free(expected);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_agreeing_gradients_stay),
        cmocka_unit_test(test_two_conflicting_gradients),
        cmocka_unit_test(test_opposite_and_zero_gradients),
        cmocka_unit_test(test_many_tasks_match_the_paper),
    };
    return cmocka_run_group_tests_name("nn/pcgrad", tests, NULL, NULL);
}
