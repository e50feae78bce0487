/* Tests of the LSTM cell, and of the layer over sequences. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "nn/layer.h"
#include "support/gradient.h"

/* The loss depends on both results. */
static tensor *both(tape *t, const void *user) {
    (void)user;
    tensor *cell, *hidden = nn_lstm_cell(t, tape_param(t, 0), tape_param(t, 1), &cell);
    return nn_concat_columns(t, 2, (tensor *[]){hidden, cell});
}

static tensor *hidden_only(tape *t, const void *user) {
    (void)user;
    tensor *cell;
    return nn_lstm_cell(t, tape_param(t, 0), tape_param(t, 1), &cell);
}

static tensor *cell_only(tape *t, const void *user) {
    (void)user;
    tensor *cell;
    nn_lstm_cell(t, tape_param(t, 0), tape_param(t, 1), &cell);
    return cell;
}

static void test_cell(void **state) {
    (void)state;
    gradient_case *const all[] = {both, hidden_only, cell_only};
    for (int i = 0; i < 3; i++) {
        params p;
        gradient_params(&p, 0, 2, (const uint32_t[][2]){{3, 20}, {3, 5}});
        gradient_check(&p, all[i], NULL, 1e-3);
    }
    params p;
    gradient_params(&p, 0, 2, (const uint32_t[][2]){{3, 20}, {3, 5}});
    gradient_check_memory(&p, both, NULL);
}

typedef struct sequences {
    params p;
    param_id x;
    layer_lstm lstm;
    segments s;
} sequences;

static void make(sequences *q, segments s) {
    params_init(&q->p);
    q->x = params_add(&q->p, s.start[s.count], 3, PARAM_NORMAL, "x");
    q->lstm = layer_lstm_add(&q->p, "lstm", 3, 4);
    q->s = s;
    assert_int_equal(params_finish(&q->p, 2, NULL), FT_OK);
}

static tensor *run(tape *t, const void *user) {
    const sequences *q = user;
    return layer_lstm_apply(t, &q->lstm, tape_param(t, q->x), q->s);
}

static const uint32_t starts[] = {0, 2, 2, 6, 7, 9};

static void test_layer(void **state) {
    (void)state;
    sequences q;
    make(&q, (segments){5, starts});
    gradient_check(&q.p, run, &q, 1e-3);
    make(&q, (segments){5, starts});
    gradient_check_memory(&q.p, run, &q);
}

/* A sequence gives the same result alone and among others. */
static void test_sequences_do_not_mix(void **state) {
    (void)state;
    sequences q;
    make(&q, (segments){5, starts});
    float *together = gradient_forward(&q.p, TAPE_INFER, run, &q);
    for (uint32_t i = 0; i < 5; i++) {
        const uint32_t alone[] = {0, starts[i + 1] - starts[i]};
        sequences one;
        make(&one, (segments){1, alone});
        memcpy(params_values(&one.p, one.x), params_values(&q.p, q.x) + starts[i] * 3, alone[1] * 3 * sizeof(float));
        float *y = gradient_forward(&one.p, TAPE_INFER, run, &one);
        for (int k = 0; k < 4; k++) assert_float_equal(y[k], together[i * 4 + k], 1e-6);
        for (int k = 0; i == 1 && k < 4; k++) assert_true(y[k] == 0); /* empty */
        free(y);
        params_free(&one.p);
    }
    free(together);
    params_free(&q.p);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cell),
        cmocka_unit_test(test_layer),
        cmocka_unit_test(test_sequences_do_not_mix),
    };
    return cmocka_run_group_tests_name("nn/lstm", tests, NULL, NULL);
}
