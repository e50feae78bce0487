/* gradient.c - gradients of the tape compared with finite differences. */
#include "support/gradient.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "support/failing.h"

enum { LIMIT = 64 << 20, SEED = 11 };

void gradient_params(params *p, float centre, uint32_t count, const uint32_t (*shapes)[2]) {
    params_init(p);
    for (uint32_t i = 0; i < count; i++) params_add(p, shapes[i][0], shapes[i][1], PARAM_NORMAL, "p%u", i);
    assert_int_equal(params_finish(p, 1, NULL), FT_OK);
    for (size_t i = 0; i < p->total_count; i++) p->values[i] = centre + 0.5f * p->values[i];
}

/* The sum of the elements of x, each times a fixed number between 0.5 and 1.5 with any sign. */
static tensor *weigh(tape *t, tensor *x) {
    if (x == NULL) return NULL;
    float *weights = tape_alloc(t, tensor_size(x), sizeof *weights);
    rng r;
    rng_init(&r, 99, 0);
    for (size_t i = 0; weights != NULL && i < tensor_size(x); i++) {
        float size = (float)(0.5 + rng_uniform(&r));
        weights[i] = rng_below(&r, 2) ? size : -size;
    }
    return nn_sum(t, nn_mul(t, x, tape_input(t, x->rows, x->cols, weights)));
}

/* The same in double: in float, rounding errors would exceed the differences. */
static double value(tape *t, gradient_case *make, const void *user) {
    tape_begin(t, TAPE_TRAIN, SEED, 0);
    tensor *x = make(t, user);
    assert_non_null(x);
    double sum = 0;
    rng r;
    rng_init(&r, 99, 0);
    for (size_t i = 0; i < tensor_size(x); i++) {
        float size = (float)(0.5 + rng_uniform(&r));
        sum += (rng_below(&r, 2) ? (double)size : -(double)size) * x->data[i];
    }
    return sum;
}

/* Five-point rule: errors of the fourth power of the step. */
static double difference(tape *t, float *at, gradient_case *make, const void *user) {
    const double step = 0x1p-6;
    float kept = *at;
    double f[4];
    const int steps[4] = {-2, -1, 1, 2};
    for (int i = 0; i < 4; i++) {
        *at = kept + (float)(steps[i] * step);
        f[i] = value(t, make, user);
    }
    *at = kept;
    return (8 * (f[2] - f[1]) - (f[3] - f[0])) / (12 * step);
}

static void compare(const params *p, gradient_case *make, const void *user, double tolerance) {
    tape *t = NULL;
    assert_int_equal(tape_new(p, LIMIT, &t, NULL), FT_OK);
    tape_begin(t, TAPE_TRAIN, SEED, 0);
    tape_backward(t, weigh(t, make(t, user)));
    assert_int_equal(tape_status(t, NULL), FT_OK);
    float *gradient = malloc(p->total_count * sizeof *gradient);
    memcpy(gradient, tape_gradient(t), p->total_count * sizeof *gradient);
    double largest = 0;
    for (size_t i = 0; i < p->trained_count; i++) largest = fmax(largest, fabs((double)gradient[i]));
    assert_true(largest > 1e-3);
    for (uint32_t k = 0; k < p->count; k++) {
        const param *item = &p->items[k];
        for (size_t i = item->offset; !item->is_state && i < item->offset + (size_t)item->rows * item->cols; i++) {
            double expected = difference(t, &p->values[i], make, user);
            if (!(fabs(gradient[i] - expected) <= tolerance * fmax(largest, 0.1)))
                fail_msg("%s[%zu]: gradient %g, difference %g", item->name, i - item->offset, (double)gradient[i],
                         expected);
        }
    }
    free(gradient);
    tape_free(t);
}

float *gradient_forward(const params *p, tape_mode mode, gradient_case *make, const void *user) {
    tape *t = NULL;
    assert_int_equal(tape_new(p, LIMIT, &t, NULL), FT_OK);
    tape_begin(t, mode, SEED, 0);
    tensor *x = make(t, user);
    assert_int_equal(tape_status(t, NULL), FT_OK);
    assert_int_equal(t->last != NULL, mode == TAPE_TRAIN && p->count > 0);
    float *copy = malloc(tensor_size(x) * sizeof *copy + 1);
    memcpy(copy, x->data, tensor_size(x) * sizeof *copy);
    tape_free(t);
    return copy;
}

static size_t size_of(const params *p, gradient_case *make, const void *user) {
    tape *t = NULL;
    assert_int_equal(tape_new(p, LIMIT, &t, NULL), FT_OK);
    tape_begin(t, TAPE_INFER, SEED, 0);
    size_t size = tensor_size(make(t, user));
    tape_free(t);
    return size;
}

void gradient_check(params *p, gradient_case *make, const void *user, double tolerance) {
    float *trained = gradient_forward(p, TAPE_TRAIN, make, user),
          *inferred = gradient_forward(p, TAPE_INFER, make, user);
    assert_memory_equal(trained, inferred, size_of(p, make, user) * sizeof *trained);
    free(trained);
    free(inferred);
    gradient_check_train_only(p, make, user, tolerance);
}

void gradient_check_train_only(params *p, gradient_case *make, const void *user, double tolerance) {
    compare(p, make, user, tolerance);
    params_free(p);
}

void gradient_check_memory(params *p, gradient_case *make, const void *user) {
    bool is_enough = false;
    for (size_t limit = 0; !is_enough; limit += 64) {
        tape *t = NULL;
        assert_int_equal(tape_new(p, limit, &t, NULL), FT_OK);
        tape_begin(t, TAPE_TRAIN, SEED, 0);
        tape_backward(t, weigh(t, make(t, user)));
        is_enough = tape_status(t, NULL) == FT_OK;
        tape_free(t);
        assert_true(limit < 1 << 20);
    }
    params_free(p);
}
