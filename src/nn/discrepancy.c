/* discrepancy.c - discrepancy of the distributions of two samples of rows. As a penalty it aligns the representations
 * of two domains (devices) when there are many rows of one and few of the other.
 *
 * Shapes: x (N, C), y (M, C), moments (1, C). */
#include <assert.h>
#include <math.h>

#include "nn/ops.h"

/* --- Central moments ----------------------------------------------------------------------------------------- */

enum { MOMENTS = 5 };

moments nn_moments(tape *t, const tensor *x) {
    uint32_t *start = t->has_failed ? NULL : tape_alloc(t, 2, sizeof *start);
    if (start == NULL) return (moments){0};
    start[0] = 0;
    start[1] = x->rows;
    return (moments){.all = {.count = 1, .start = start}};
}

tensor *nn_next_moment(tape *t, tensor *x, moments *m) {
    if (t->has_failed) return NULL;
    if (m->centered == NULL) {
        tensor *mean = nn_segment_mean(t, x, m->all);
        m->power = m->centered = nn_add_row(t, x, nn_scale(t, mean, -1));
        return mean;
    }
    m->power = nn_mul(t, m->power, m->centered);
    return nn_segment_mean(t, m->power, m->all);
}

/* Euclidean distance of x and y, both (1, C) -> (1, 1); differentiable where they are equal. */
static tensor *distance(tape *t, tensor *x, tensor *y) {
    static const float MIN_SQUARE = 1e-6F;
    tensor *off = nn_sub(t, x, y);
    tensor *square = nn_add(t, nn_sum(t, nn_mul(t, off, off)), tape_input(t, 1, 1, &MIN_SQUARE));
    return nn_activate(t, nn_scale(t, nn_activate(t, square, ACT_LOG), 0.5F), ACT_EXP);
}

tensor *nn_cmd(tape *t, tensor *x, tensor *y) {
    if (t->has_failed) return NULL;
    assert(x->cols == y->cols);
    moments of_x = nn_moments(t, x), of_y = nn_moments(t, y);
    tensor *sum = NULL;
    for (uint32_t order = 1; order <= MOMENTS && !t->has_failed; order++) {
        tensor *one = distance(t, nn_next_moment(t, x, &of_x), nn_next_moment(t, y, &of_y));
        sum = sum != NULL ? nn_add(t, sum, one) : one;
    }
    return t->has_failed ? NULL : sum;
}

/* --- Maximum mean discrepancy -------------------------------------------------------------------------------- */

/* Kernel: sum of exp(-gamma |a - b|^2) over these, as in CDMPP. */
static const double gammas[] = {1, 0.1, 0.001};

/* a, b: (width). *slope: the derivative by a, divided by a - b. */
static double kernel(const float *a, const float *b, uint32_t width, double *slope) {
    double squares = 0, sum = 0;
    *slope = 0;
    for (uint32_t i = 0; i < width; i++) squares += ((double)a[i] - b[i]) * ((double)a[i] - b[i]);
    for (size_t g = 0; g < sizeof gammas / sizeof gammas[0]; g++) {
        double one = exp(-gammas[g] * squares);
        sum += one;
        *slope -= 2 * gammas[g] * one;
    }
    return sum;
}

/* Sum of weight * kernel(a, b) over all pairs of rows; adds its gradients to dx (N, C) and dy (M, C), unless NULL. */
static double sum_kernels(const tensor *x, const tensor *y, double weight, float *dx, float *dy) {
    double sum = 0, slope;
    for (uint32_t i = 0; i < x->rows; i++) {
        for (uint32_t k = 0; k < y->rows; k++) {
            const float *a = x->data + (size_t)i * x->cols, *b = y->data + (size_t)k * x->cols;
            sum += weight * kernel(a, b, x->cols, &slope);
            for (uint32_t c = 0; dx != NULL && c < x->cols; c++)
                dx[(size_t)i * x->cols + c] += (float)(weight * slope * ((double)a[c] - b[c]));
            for (uint32_t c = 0; dy != NULL && c < x->cols; c++)
                dy[(size_t)k * x->cols + c] -= (float)(weight * slope * ((double)a[c] - b[c]));
        }
    }
    return sum;
}

static double squared_mmd(const tensor *x, const tensor *y, double weight, float *dx, float *dy) {
    double n = x->rows, m = y->rows;
    return sum_kernels(x, x, weight / (n * n), dx, dx) + sum_kernels(y, y, weight / (m * m), dy, dy) +
           sum_kernels(x, y, -2 * weight / (n * m), dx, dy);
}

static void mmd_backward(tape *t, tape_node *n) {
    float *dx = tape_grad(t, n->in[0]), *dy = tape_grad(t, n->in[1]);
    squared_mmd(n->in[0], n->in[1], (double)n->out->grad[0], dx, dy);
}

tensor *nn_mmd(tape *t, tensor *x, tensor *y) {
    if (t->has_failed) return NULL;
    assert(x->cols == y->cols && x->rows > 0 && y->rows > 0);
    tensor *out = tape_tensor(t, 1, 1, x->needs_grad || y->needs_grad);
    if (out == NULL) return NULL;
    out->data[0] = (float)squared_mmd(x, y, 1, NULL, NULL);
    tape_node *n = tape_record(t, out, mmd_backward, sizeof *n);
    if (n == NULL) return out;
    n->in[0] = x;
    n->in[1] = y;
    return out;
}
