/* Tests of attention within segments; one of them is empty, one has a single row. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>

#include "support/gradient.h"

static const uint32_t starts[] = {0, 3, 3, 4, 9};
enum { ROWS = 9, COLS = 8, SCORES = 9 + 0 + 1 + 25 };

static tensor *attend(tape *t, const void *user) {
    return nn_attention(t, tape_param(t, 0), tape_param(t, 1), tape_param(t, 2), user);
}

static void make(params *p) {
    gradient_params(p, 0, 3, (const uint32_t[][2]){{ROWS, COLS}, {ROWS, COLS}, {ROWS, COLS}});
}

static void fill_bias(float *bias) {
    for (int i = 0; i < SCORES; i++) bias[i] = i % 4 == 1 ? -INFINITY : 0.1f * (float)(i % 7);
    bias[9] = 0;
}

static void test_gradients(void **state) {
    (void)state;
    float bias[SCORES];
    fill_bias(bias);
    for (uint32_t heads = 1; heads <= 4; heads *= 2) {
        params p;
        make(&p);
        gradient_check(&p, attend, &(attention_options){.s = {4, starts}, .heads = heads}, 1e-3);
        make(&p);
        gradient_check(&p, attend, &(attention_options){.s = {4, starts}, .heads = heads, .bias = bias}, 1e-3);
        make(&p);
        gradient_check_train_only(&p, attend, &(attention_options){.s = {4, starts}, .heads = heads, .dropout = 0.3f},
                                  1e-3);
    }
}

/* A learned bias for each head: equal in all heads, it has the effect of a fixed bias. */
static tensor *attend_with_bias(tape *t, const void *user) {
    attention_options options = *(const attention_options *)user;
    options.head_bias = tape_param(t, 3);
    return nn_attention(t, tape_param(t, 0), tape_param(t, 1), tape_param(t, 2), &options);
}

static void test_head_bias(void **state) {
    (void)state;
    const attention_options options = {.s = {4, starts}, .heads = 2};
    const uint32_t shapes[][2] = {{ROWS, COLS}, {ROWS, COLS}, {ROWS, COLS}, {SCORES, 2}};
    params p;
    gradient_params(&p, 0, 4, shapes);
    gradient_check(&p, attend_with_bias, &options, 1e-3);
    gradient_params(&p, 0, 4, shapes);
    float bias[SCORES], *learned = params_values(&p, 3);
    for (int i = 0; i < SCORES; i++) bias[i] = learned[2 * i] = learned[2 * i + 1] = 0.1f * (float)(i % 7);
    attention_options fixed = options;
    fixed.bias = bias;
    float *one = gradient_forward(&p, TAPE_INFER, attend_with_bias, &options);
    float *two = gradient_forward(&p, TAPE_INFER, attend, &fixed);
    for (int i = 0; i < ROWS * COLS; i++) assert_float_equal(one[i], two[i], 1e-6);
    free(one);
    free(two);
    params_free(&p);
}

/* By the formula, for every element. */
static void test_values(void **state) {
    (void)state;
    float bias[SCORES];
    fill_bias(bias);
    params p;
    make(&p);
    const float *q = params_values(&p, 0), *k = params_values(&p, 1), *v = params_values(&p, 2);
    float *y =
        gradient_forward(&p, TAPE_INFER, attend, &(attention_options){.s = {4, starts}, .heads = 2, .bias = bias});
    const float *own = bias;
    for (int s = 0; s < 4; s++) {
        uint32_t first = starts[s], n = starts[s + 1] - first;
        for (uint32_t i = 0; i < n; i++)
            for (uint32_t c = 0; c < COLS; c++) {
                double sum = 0, total = 0;
                for (uint32_t j = 0; j < n; j++) {
                    double dot = 0;
                    for (uint32_t d = c / 4 * 4; d < c / 4 * 4 + 4; d++)
                        dot += (double)q[(first + i) * COLS + d] * k[(first + j) * COLS + d];
                    double weight = exp(dot / 2 + own[i * n + j]);
                    sum += weight * v[(first + j) * COLS + c];
                    total += weight;
                }
                assert_float_equal(y[(first + i) * COLS + c], sum / total, 1e-5);
            }
        own += n * n;
    }
    free(y);
    gradient_check_memory(&p, attend, &(attention_options){.s = {4, starts}, .heads = 2, .dropout = 0.1f});
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_gradients), cmocka_unit_test(test_head_bias),
                                       cmocka_unit_test(test_values)};
    return cmocka_run_group_tests_name("nn/attention", tests, NULL, NULL);
}
