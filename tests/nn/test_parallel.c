/* Tests of parallel steps: the same bits for any number of threads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "nn/layer.h"
#include "nn/parallel.h"
#include "support/failing.h"

enum { PARTS = 13, ROWS = 40, IN = 6, HIDDEN = 24, LIMIT = 16 << 20, STEPS = 5 };

typedef struct problem {
    params p;
    layer_sage sage;
    layer_linear head;
    float x[PARTS][ROWS * IN], y[PARTS][ROWS], predicted[PARTS][ROWS];
    uint32_t start[ROWS + 1], from[2 * ROWS];
} problem;

static problem *problem_new(void) {
    problem *q = calloc(1, sizeof *q);
    params_init(&q->p);
    q->sage = layer_sage_add(&q->p, "sage", IN, HIDDEN);
    q->head = layer_linear_add(&q->p, "head", HIDDEN, 1, true);
    assert_int_equal(params_finish(&q->p, 1, NULL), FT_OK);
    rng r;
    rng_init(&r, 2, 0);
    for (int i = 0; i < PARTS; i++)
        for (int k = 0; k < ROWS; k++) {
            for (int c = 0; c < IN; c++) q->x[i][k * IN + c] = (float)rng_normal(&r);
            q->y[i][k] = (float)rng_normal(&r);
        }
    for (uint32_t i = 0; i < ROWS; i++) {
        q->start[i + 1] = q->start[i] + i % 3;
        for (uint32_t k = q->start[i]; k < q->start[i + 1]; k++) q->from[k] = rng_below(&r, ROWS);
    }
    return q;
}

static void problem_free(problem *q) {
    params_free(&q->p);
    free(q);
}

static tensor *forward(problem *q, tape *t, uint32_t part) {
    neighbours edges = {ROWS, q->start, q->from};
    tensor *x = layer_sage_apply(t, &q->sage, tape_input(t, ROWS, IN, q->x[part]), edges, ACT_RELU);
    return layer_linear_apply(t, &q->head, nn_dropout(t, x, 0.25f), ACT_NONE);
}

static tensor *loss(void *user, tape *t, uint32_t part) {
    problem *q = user;
    return nn_loss(t, forward(q, t, part), q->y[part], &(loss_options){.kind = LOSS_HUBER, .scale = 1.0f / ROWS});
}

static void predict(void *user, tape *t, uint32_t part) {
    problem *q = user;
    tensor *y = forward(q, t, part);
    if (y != NULL) memcpy(q->predicted[part], y->data, sizeof q->predicted[part]);
}

/* A few steps of gradient descent; returns the parameters and the predictions. */
static double run(problem *q, uint32_t threads, uint32_t shards) {
    pool *workers = NULL;
    parallel *p = NULL;
    double total = 0;
    if (threads > 0) assert_int_equal(pool_new(threads, &workers, NULL), FT_OK);
    assert_int_equal(parallel_new(&q->p, shards, workers, LIMIT, &p, NULL), FT_OK);
    for (uint64_t step = 0; step < STEPS; step++) {
        assert_int_equal(parallel_train(p, PARTS, loss, q, step, &total, NULL), FT_OK);
        for (size_t i = 0; i < q->p.trained_count; i++) q->p.values[i] -= 0.01f * parallel_gradient(p)[i];
    }
    assert_int_equal(parallel_infer(p, PARTS, predict, q, NULL), FT_OK);
    parallel_free(p);
    pool_free(workers);
    return total;
}

static void test_threads_change_nothing(void **state) {
    (void)state;
    problem *q = problem_new();
    double total = run(q, 0, 4);
    for (uint32_t threads = 1; threads <= 5; threads++) {
        problem *other = problem_new();
        assert_true(run(other, threads, 4) == total);
        assert_memory_equal(other->p.values, q->p.values, q->p.total_count * sizeof(float));
        assert_memory_equal(other->predicted, q->predicted, sizeof q->predicted);
        problem_free(other);
    }
    problem_free(q);
}

/* Another number of shards adds the same gradients in another order. */
static void test_shards_add_up(void **state) {
    (void)state;
    problem *q = problem_new();
    double total = run(q, 0, 1);
    for (uint32_t shards = 2; shards < 20; shards += 5) {
        problem *other = problem_new();
        assert_float_equal(run(other, 2, shards), total, 1e-4);
        for (size_t i = 0; i < q->p.total_count; i++) assert_float_equal(other->p.values[i], q->p.values[i], 1e-4);
        problem_free(other);
    }
    problem_free(q);
}

static ft_status whole(problem *q) {
    parallel *p = NULL;
    double total;
    ft_status status = parallel_new(&q->p, 3, NULL, LIMIT, &p, NULL);
    if (status == FT_OK) status = parallel_train(p, PARTS, loss, q, 0, &total, NULL);
    if (status == FT_OK) status = parallel_infer(p, PARTS, predict, q, NULL);
    parallel_free(p);
    return status;
}

static void test_out_of_memory(void **state) {
    (void)state;
    problem *q = problem_new();
    for (long n = 0;; n++) {
        failing_start(n);
        ft_status status = whole(q);
        if (!failing_stop()) {
            assert_int_equal(status, FT_OK);
            break;
        }
        assert_int_equal(status, FT_ERR_NOMEM);
    }
    parallel *p = NULL;
    assert_int_equal(parallel_new(&q->p, 3, NULL, 1000, &p, NULL), FT_OK);
    double total;
    ft_error error;
    assert_int_equal(parallel_train(p, PARTS, loss, q, 0, &total, &error), FT_ERR_NOMEM);
    assert_int_equal(parallel_infer(p, PARTS, predict, q, &error), FT_ERR_NOMEM);
    parallel_free(p);
    problem_free(q);
}

static void test_split(void **state) {
    (void)state;
    const uint32_t sizes[] = {10, 10, 10, 30, 5, 5, 0, 50};
    uint32_t start[9];
    parallel_split(sizes, 8, 3, start);
    assert_int_equal(start[0], 0);
    assert_int_equal(start[1], 3);
    assert_int_equal(start[2], 7);
    assert_int_equal(start[3], 8);
    parallel_split(sizes, 8, 8, start);
    for (int i = 0; i < 8; i++) assert_true(start[i] <= start[i + 1]);
    assert_int_equal(start[8], 8);
    parallel_split(sizes, 0, 2, start);
    assert_int_equal(start[2], 0);
    parallel_split((const uint32_t[]){0, 0}, 2, 2, start);
    assert_int_equal(start[2], 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_threads_change_nothing),
        cmocka_unit_test(test_shards_add_up),
        cmocka_unit_test(test_out_of_memory),
        cmocka_unit_test(test_split),
    };
    return cmocka_run_group_tests_name("nn/parallel", tests, NULL, NULL);
}
