/* activation.c - functions of one number, each with its derivative. */
#include <assert.h>
#include <math.h>

#include "nn/loops.h"
#include "nn/ops.h"
#include "nn/vmath.h"

static inline float normal_share(float x) { /* of a normal distribution below x */
    return 0.5f * (1.0f + vmath_erf(x * 0.70710678f));
}

/* name, y of x, dy/dx of x and y */
#define ACTIVATIONS(X)                                                                                                 \
    X(RELU, x > 0 ? x : 0, y > 0 ? 1.0f : 0.0f)                                                                        \
    X(GELU, x *normal_share(x), normal_share(x) + x * 0.39894228f * vmath_exp(-0.5f * x * x))                          \
    X(SILU, x *vmath_sigmoid(x), vmath_sigmoid(x) * (1.0f + x - y))                                                    \
    X(SOFTPLUS, (x > 0 ? x : 0) + log1pf(vmath_exp(-vmath_abs(x))), vmath_sigmoid(x))                                  \
    X(TANH, vmath_tanh(x), 1.0f - y * y)                                                                               \
    X(SIGMOID, vmath_sigmoid(x), y *(1.0f - y))                                                                        \
    X(EXP, vmath_exp(x), y)                                                                                            \
    X(LOG, logf(x), 1.0f / x)

#define LOOPS_OF(name, value, derivative)                                                                              \
    SIMD_CLONES static void forward_##name(size_t n, const float *restrict xs, float *restrict ys) {                   \
        for (size_t i = 0; i < n; i++) {                                                                               \
            float x = xs[i];                                                                                           \
            ys[i] = value;                                                                                             \
        }                                                                                                              \
    }                                                                                                                  \
    SIMD_CLONES static void backward_##name(size_t n, const float *restrict xs, const float *restrict ys,              \
                                            const float *restrict from, float *restrict to) {                          \
        for (size_t i = 0; i < n; i++) {                                                                               \
            float x = xs[i], y = ys[i];                                                                                \
            (void)x;                                                                                                   \
            (void)y;                                                                                                   \
            to[i] += from[i] * (derivative);                                                                           \
        }                                                                                                              \
    }
ACTIVATIONS(LOOPS_OF)

typedef void forward_loop(size_t n, const float *x, float *y);
typedef void backward_loop(size_t n, const float *x, const float *y, const float *from, float *to);

static forward_loop *const forward[ACT_COUNT] = {
#define FORWARD(name, value, derivative) [ACT_##name] = forward_##name,
    ACTIVATIONS(FORWARD)};

static backward_loop *const backward[ACT_COUNT] = {
#define BACKWARD(name, value, derivative) [ACT_##name] = backward_##name,
    ACTIVATIONS(BACKWARD)};

typedef struct activate_node {
    tape_node node;
    activation act;
} activate_node;

static void activate_backward(tape *t, tape_node *n) {
    tensor *x = n->in[0], *y = n->out;
    float *grad = tape_grad(t, x);
    if (grad != NULL) backward[((activate_node *)n)->act](tensor_size(x), x->data, y->data, y->grad, grad);
}

tensor *nn_activate(tape *t, tensor *x, activation act) {
    assert(act >= ACT_NONE && act < ACT_COUNT);
    if (act == ACT_NONE || t->has_failed) return t->has_failed ? NULL : x;
    tensor *out = tape_tensor(t, x->rows, x->cols, x->needs_grad);
    if (out == NULL) return NULL;
    forward[act](tensor_size(x), x->data, out->data);
    activate_node *n = tape_record(t, out, activate_backward, sizeof *n);
    if (n == NULL) return out;
    n->node.in[0] = x;
    n->act = act;
    return out;
}
