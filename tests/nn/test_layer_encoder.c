/* Tests of a layer of a transformer's encoder: gradients, segments that do not mix, a norm before or behind. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>

#include "nn/layer.h"
#include "support/gradient.h"

enum { WIDTH = 4, ROWS = 6, SCORES = 9 + 0 + 1 + 4 };

static const uint32_t starts[] = {0, 3, 3, 4, 6};

typedef struct sentences {
    params p;
    param_id x;
    layer_encoder layer;
    segments s;
    const float *bias;
} sentences;

/* Norms and biases get values of their own: at ones and zeros a mistake in them may not show. */
static void make(sentences *q, const encoder_options *options, const float *bias) {
    *q = (sentences){.s = {4, starts}, .bias = bias};
    params_init(&q->p);
    q->x = params_add(&q->p, ROWS, WIDTH, PARAM_NORMAL, "x");
    q->layer = layer_encoder_add(&q->p, "layer", options);
    assert_int_equal(params_finish(&q->p, 3, NULL), FT_OK);
    for (size_t i = ROWS * WIDTH; i < q->p.total_count; i++) q->p.values[i] += 0.25F * sinf((float)i);
}

static tensor *run(tape *t, const void *user) {
    const sentences *q = user;
    return layer_encoder_apply(t, &q->layer, tape_param(t, q->x), q->s, q->bias);
}

static void test_gradients(void **state) {
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

/* What one segment says does not depend on the others. */
static void test_segments_do_not_mix(void **state) {
    (void)state;
    sentences q;
    make(&q, &(encoder_options){.width = WIDTH, .heads = 1, .inner = 6, .act = ACT_RELU}, NULL);
    float *before = gradient_forward(&q.p, TAPE_INFER, run, &q);
    params_values(&q.p, q.x)[0] += 1; /* in the first segment */
    float *after = gradient_forward(&q.p, TAPE_INFER, run, &q);
    for (int i = 0; i < 3 * WIDTH; i += WIDTH) assert_true(before[i] != after[i]);
    assert_memory_equal(before + 3 * WIDTH, after + 3 * WIDTH, (ROWS - 3) * WIDTH * sizeof *before);
    free(before);
    free(after);
    params_free(&q.p);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_gradients), cmocka_unit_test(test_no_memory),
                                       cmocka_unit_test(test_segments_do_not_mix)};
    return cmocka_run_group_tests_name("nn/layer_encoder", tests, NULL, NULL);
}
