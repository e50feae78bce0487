/* activation.c - activation functions, each with its derivative; softmax and the smooth maximum of rows.
 *
 * Shapes: x, out and their gradients are (N, C). */
#include <assert.h>
#include <math.h>

#include "nn/math/loops.h"
#include "nn/math/vmath.h"
#include "nn/ops.h"

/* Cumulative distribution function of the standard normal distribution. */
static inline float normal_cdf(float x) {
    return 0.5f * (1.0f + vmath_erf(x * 0.70710678f));
}

/* name, y(x), dy/dx by x and y */
#define ACTIVATIONS(X)                                                                                                 \
    X(RELU, x > 0 ? x : 0, y > 0 ? 1.0f : 0.0f)                                                                        \
    X(GELU, x *normal_cdf(x), normal_cdf(x) + x * 0.39894228f * vmath_exp(-0.5f * x * x))                              \
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
                                            const float *restrict dout, float *restrict dx) {                          \
        for (size_t i = 0; i < n; i++) {                                                                               \
            float x = xs[i], y = ys[i];                                                                                \
            (void)x;                                                                                                   \
            (void)y;                                                                                                   \
            dx[i] += dout[i] * (derivative);                                                                           \
        }                                                                                                              \
    }
ACTIVATIONS(LOOPS_OF)

typedef void forward_loop(size_t n, const float *x, float *y);
/* dx += dout dy/dx; all arrays have n elements. */
typedef void backward_loop(size_t n, const float *x, const float *y, const float *dout, float *dx);

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

/* --- Softmax and smooth maximum ------------------------------------------------------------------------------ */

static void softmax_backward(tape *t, tape_node *n) {
    float *grad = tape_grad(t, n->in[0]);
    size_t cols = n->out->cols;
    for (size_t i = 0; grad != NULL && i < tensor_size(n->out); i += cols)
        loop_softmax_backward(cols, n->out->data + i, n->out->grad + i, grad + i);
}

tensor *nn_softmax(tape *t, tensor *x) {
    if (t->has_failed) return NULL;
    tensor *out = tape_tensor(t, x->rows, x->cols, x->needs_grad);
    if (out == NULL) return NULL;
    for (size_t i = 0; i < tensor_size(x); i += x->cols) loop_softmax(x->cols, x->data + i, out->data + i);
    tape_node *n = tape_record(t, out, softmax_backward, sizeof *n);
    if (n != NULL) n->in[0] = x;
    return out;
}

typedef struct smooth_max_node {
    tape_node node;
    float sharpness;
} smooth_max_node;

static void smooth_max_backward(tape *t, tape_node *n) {
    const tensor *x = n->in[0];
    float *grad = tape_grad(t, n->in[0]), sharpness = ((smooth_max_node *)n)->sharpness;
    for (size_t i = 0; grad != NULL && i < tensor_size(x); i++) {
        size_t row = i / x->cols;
        grad[i] += n->out->grad[row] * vmath_exp(sharpness * (x->data[i] - n->out->data[row]));
    }
}

/* log(sum of exp(sharpness x)) / sharpness of x (n), without overflow. */
static float smooth_max(size_t n, const float *x, float sharpness) {
    assert(n > 0);
    float largest = loop_max(n, x), sum = 0;
    for (size_t i = 0; i < n; i++) sum += vmath_exp(sharpness * (x[i] - largest));
    assert(!(sum <= 0)); /* the largest adds 1, unless one is NaN */
    return largest + logf(sum) / sharpness;
}

tensor *nn_smooth_max(tape *t, tensor *x, float sharpness) {
    if (t->has_failed) return NULL;
    assert(sharpness > 0 && x->cols > 0);
    tensor *out = tape_tensor(t, x->rows, 1, x->needs_grad);
    if (out == NULL) return NULL;
    for (size_t i = 0; i < x->rows; i++) out->data[i] = smooth_max(x->cols, x->data + i * x->cols, sharpness);
    smooth_max_node *n = tape_record(t, out, smooth_max_backward, sizeof *n);
    if (n != NULL) {
        n->node.in[0] = x;
        n->sharpness = sharpness;
    }
    return out;
}
