/* Tests of layers: linear, norms, LSTM, transformer encoder. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>

#include "nn/layer.h"
#include "support/gradient.h"

/* --- Layer --------------------------------------------------------------------------------------------------- */

enum { ROWS = 5, IN = 3, OUT = 4 };

static const uint32_t starts[] = {0, 2, 2, 3, 6, 7}, from[] = {1, 4, 0, 3, 3, 0, 2};
static const neighbours edges = {ROWS, starts, from};

typedef struct one_layer {
    params p;
    param_id x;
    layer_linear linear;
    layer_sage sage;
    layer_norm norm;
    activation act;
} one_layer;

static void begin(one_layer *l) {
    *l = (one_layer){.act = ACT_NONE};
    params_init(&l->p);
    l->x = params_add(&l->p, ROWS, IN, PARAM_NORMAL, "x");
}

/* At the ones and zeros that gains and biases start with, a mistake in them may not show. */
static void finish(one_layer *l) {
    assert_int_equal(params_finish(&l->p, 3, NULL), FT_OK);
    for (size_t i = ROWS * IN; i < l->p.total_count; i++) l->p.values[i] += 0.25F * sinf((float)i);
}

static tensor *run_linear(tape *t, const void *user) {
    const one_layer *l = user;
    return layer_linear_apply(t, &l->linear, tape_param(t, l->x), l->act);
}

static tensor *run_sage(tape *t, const void *user) {
    const one_layer *l = user;
    return layer_sage_apply(t, &l->sage, tape_param(t, l->x), edges, l->act);
}

static tensor *run_norm(tape *t, const void *user) {
    const one_layer *l = user;
    return layer_norm_apply(t, &l->norm, tape_param(t, l->x));
}

static void test_linear(void **state) {
    (void)state;
    for (int has_bias = 0; has_bias < 2; has_bias++) {
        one_layer l;
        begin(&l);
        l.linear = layer_linear_add(&l.p, "linear", IN, OUT, has_bias == 1);
        l.act = ACT_TANH;
        finish(&l);
        assert_int_equal(l.p.count, 2 + has_bias);
        gradient_check(&l.p, run_linear, &l, 1e-3);
    }
}

static void make_sage(one_layer *l, activation act) {
    begin(l);
    l->sage = layer_sage_add(&l->p, "sage", IN, OUT);
    l->act = act;
    finish(l);
}

static void test_sage(void **state) {
    (void)state;
    one_layer l;
    make_sage(&l, ACT_NONE);
    const float *x = params_values(&l.p, l.x), *self = params_values(&l.p, l.sage.self),
                *neighbour = params_values(&l.p, l.sage.neighbour), *bias = params_values(&l.p, l.sage.bias);
    float *y = gradient_forward(&l.p, TAPE_INFER, run_sage, &l);
    for (uint32_t row = 0; row < ROWS; row++) {
        for (uint32_t c = 0; c < OUT; c++) {
            uint32_t count = starts[row + 1] - starts[row];
            double sum = bias[c];
            for (uint32_t i = 0; i < IN; i++) {
                sum += (double)x[row * IN + i] * self[i * OUT + c];
                for (uint32_t e = starts[row]; e < starts[row + 1]; e++)
                    sum += (double)x[from[e] * IN + i] / count * neighbour[i * OUT + c];
            }
            assert_float_equal(y[row * OUT + c], sum, 1e-5);
        }
    }
    free(y);
    gradient_check(&l.p, run_sage, &l, 1e-3);
    make_sage(&l, ACT_SILU);
    gradient_check(&l.p, run_sage, &l, 1e-3);
    make_sage(&l, ACT_SILU);
    gradient_check_memory(&l.p, run_sage, &l);
}

static void test_norm(void **state) {
    (void)state;
    one_layer l;
    begin(&l);
    l.norm = layer_norm_add(&l.p, "norm", IN);
    finish(&l);
    gradient_check(&l.p, run_norm, &l, 2e-3);
}

/* --- Encoder ------------------------------------------------------------------------------------------------- */

enum { WIDTH = 4, TOKENS = 6, SCORES = 9 + 0 + 1 + 4 };

static const uint32_t starts_encoder[] = {0, 3, 3, 4, 6};

typedef struct sentences {
    params p;
    param_id x;
    layer_encoder layer;
    segments s;
    const float *bias;
} sentences;

/* Norms and biases get values of their own: at ones and zeros a mistake in them may not show. */
static void make(sentences *q, const encoder_options *options, const float *bias) {
    *q = (sentences){.s = {4, starts_encoder}, .bias = bias};
    params_init(&q->p);
    q->x = params_add(&q->p, TOKENS, WIDTH, PARAM_NORMAL, "x");
    q->layer = layer_encoder_add(&q->p, "layer", options);
    assert_int_equal(params_finish(&q->p, 3, NULL), FT_OK);
    for (size_t i = TOKENS * WIDTH; i < q->p.total_count; i++) q->p.values[i] += 0.25F * sinf((float)i);
}

static tensor *run(tape *t, const void *user) {
    const sentences *q = user;
    return layer_encoder_apply(t, &q->layer, tape_param(t, q->x), q->s, q->bias);
}

static void encoder_gradients_match_finite_differences(void **state) {
    (void)state;
    float bias[SCORES];
    for (int i = 0; i < SCORES; i++) bias[i] = 0.2F * (float)(i % 5);
    bias[1] = -INFINITY;
    for (int is_norm_first = 0; is_norm_first < 2; is_norm_first++) {
        sentences q;
        encoder_options o = {
            .width = WIDTH, .heads = 2, .inner = 6, .act = ACT_GELU, .is_norm_first = is_norm_first == 1};
        make(&q, &o, NULL);
        gradient_check(&q.p, run, &q, 2e-3);
        make(&q, &o, bias);
        gradient_check(&q.p, run, &q, 2e-3);
        o.dropout = 0.3F;
        make(&q, &o, NULL);
        gradient_check_train_only(&q.p, run, &q, 2e-3);
    }
}

static void test_no_memory(void **state) {
    (void)state;
    sentences q;
    make(&q, &(encoder_options){.width = WIDTH, .heads = 2, .inner = 6, .act = ACT_GELU, .dropout = 0.1F}, NULL);
    gradient_check_memory(&q.p, run, &q);
}

/* The result of a segment does not depend on the others. */
static void test_segments_do_not_mix(void **state) {
    (void)state;
    sentences q;
    make(&q, &(encoder_options){.width = WIDTH, .heads = 1, .inner = 6, .act = ACT_RELU}, NULL);
    float *before = gradient_forward(&q.p, TAPE_INFER, run, &q);
    params_values(&q.p, q.x)[0] += 1; /* in the first segment */
    float *after = gradient_forward(&q.p, TAPE_INFER, run, &q);
    for (int i = 0; i < 3 * WIDTH; i += WIDTH) assert_true(before[i] != after[i]);
    assert_memory_equal(before + 3 * WIDTH, after + 3 * WIDTH, (TOKENS - 3) * WIDTH * sizeof *before);
    free(before);
    free(after);
    params_free(&q.p);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_linear),    cmocka_unit_test(test_sage),
        cmocka_unit_test(test_norm),      cmocka_unit_test(encoder_gradients_match_finite_differences),
        cmocka_unit_test(test_no_memory), cmocka_unit_test(test_segments_do_not_mix),
    };
    return cmocka_run_group_tests_name("nn/layer", tests, NULL, NULL);
}
