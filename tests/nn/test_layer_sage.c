/* Tests of the aggregators of GraphSAGE: gradients of all their parameters, values by the formula, order of
 * neighbours. test_reference.c compares them with PyTorch. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>

#include "nn/layer.h"
#include "support/gradient.h"

enum { ROWS = 5, IN = 3, OUT = 2, INNER = 4, KINDS = 5 };

/* Row 1 has no neighbours, row 3 has one twice. */
static const uint32_t starts[] = {0, 2, 2, 3, 6, 7}, from[] = {1, 4, 0, 3, 3, 0, 2};

typedef struct one_layer {
    params p;
    param_id x;
    layer_aggregate layer;
    neighbours edges;
    activation act;
} one_layer;

static void make(one_layer *l, aggregator kind) {
    *l = (one_layer){.edges = {ROWS, starts, from}, .act = ACT_TANH};
    params_init(&l->p);
    l->x = params_add(&l->p, ROWS, IN, PARAM_NORMAL, "x");
    l->layer =
        layer_aggregate_add(&l->p, "layer", &(aggregate_options){.kind = kind, .in = IN, .out = OUT, .inner = INNER});
    assert_int_equal(params_finish(&l->p, 5, NULL), FT_OK);
}

static tensor *run(tape *t, const void *user) {
    const one_layer *l = user;
    return layer_aggregate_apply(t, &l->layer, tape_param(t, l->x), l->edges, l->act);
}

/* Steps of finite differences must not cross a kink: pools stay above zero, and rows far from each other. */
static void keep_off_kinks(one_layer *l) {
    float *x = params_values(&l->p, l->x);
    for (int i = 0; i < ROWS * IN; i++) x[i] *= 3;
    l->act = ACT_NONE;
    if (l->layer.kind != AGGREGATE_MAX_POOL && l->layer.kind != AGGREGATE_MEAN_POOL) return;
    for (int i = 0; i < INNER; i++) params_values(&l->p, l->layer.pool.bias)[i] = 8;
}

static void test_gradients(void **state) {
    (void)state;
    for (int kind = 0; kind < KINDS; kind++) {
        one_layer l;
        make(&l, (aggregator)kind);
        keep_off_kinks(&l);
        gradient_check(&l.p, run, &l, 1e-3);
        make(&l, (aggregator)kind);
        gradient_check_memory(&l.p, run, &l);
    }
}

/* Row 2 has the single neighbour 0. */
static void test_mean_and_gcn(void **state) {
    (void)state;
    for (int kind = AGGREGATE_MEAN; kind <= AGGREGATE_GCN; kind++) {
        one_layer l;
        make(&l, (aggregator)kind);
        l.act = ACT_NONE;
        const float *x = params_values(&l.p, l.x), *weight = params_values(&l.p, l.layer.neighbour);
        float *y = gradient_forward(&l.p, TAPE_INFER, run, &l);
        uint32_t cols = kind == AGGREGATE_GCN ? 2 * OUT : OUT, first = 2 * OUT - cols;
        for (uint32_t c = 0; c < cols; c++) {
            float sum = 0;
            for (uint32_t k = 0; k < IN; k++) {
                float mean = kind == AGGREGATE_GCN ? (x[k] + x[2 * IN + k]) / 2 : x[k];
                sum += mean * weight[k * cols + c];
            }
            assert_float_equal(y[2 * 2 * OUT + first + c], sum, 1e-5);
        }
        free(y);
        params_free(&l.p);
    }
}

/* Rows without neighbours aggregate to zeros with every aggregator; with gcn to themselves. */
static void test_rows_without_neighbours(void **state) {
    (void)state;
    for (int kind = 0; kind < KINDS; kind++) {
        one_layer l;
        make(&l, (aggregator)kind);
        float *y = gradient_forward(&l.p, TAPE_INFER, run, &l);
        for (uint32_t c = OUT; c < 2 * OUT; c++) assert_true((y[2 * OUT + c] == 0) == (kind != AGGREGATE_GCN));
        free(y);
        params_free(&l.p);
    }
}

/* Only the LSTM depends on the order of neighbours. */
static void test_order_of_neighbours(void **state) {
    (void)state;
    static const uint32_t turned[] = {4, 1, 0, 0, 3, 3, 2};
    for (int kind = 0; kind < KINDS; kind++) {
        one_layer l;
        make(&l, (aggregator)kind);
        float *one = gradient_forward(&l.p, TAPE_INFER, run, &l);
        l.edges.index = turned;
        float *two = gradient_forward(&l.p, TAPE_INFER, run, &l);
        bool is_same = true;
        for (int i = 0; i < ROWS * 2 * OUT; i++)
            is_same = is_same && one[i] - two[i] < 1e-5f && two[i] - one[i] < 1e-5f;
        assert_int_equal(is_same, kind != AGGREGATE_LSTM);
        free(one);
        free(two);
        params_free(&l.p);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gradients),
        cmocka_unit_test(test_mean_and_gcn),
        cmocka_unit_test(test_rows_without_neighbours),
        cmocka_unit_test(test_order_of_neighbours),
    };
    return cmocka_run_group_tests_name("nn/layer_aggregate", tests, NULL, NULL);
}
