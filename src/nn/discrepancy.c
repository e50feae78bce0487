/* discrepancy.c - how far two samples of rows are from one distribution: what keeps a network from telling domains
 * apart (devices, say) when it is trained on many rows of one and few of another. */
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

/* The length of x - y, both 1 x m; smooth where they are equal. */
static tensor *distance(tape *t, tensor *x, tensor *y) {
    static const float ALMOST_NOTHING = 1e-6F;
    tensor *off = nn_sub(t, x, y);
    tensor *square = nn_add(t, nn_sum(t, nn_mul(t, off, off)), tape_input(t, 1, 1, &ALMOST_NOTHING));
    return nn_activate(t, nn_scale(t, nn_activate(t, square, ACT_LOG), 0.5F), ACT_EXP);
}

tensor *nn_cmd(tape *t, tensor *x, tensor *y) {
    if (t->has_failed) return NULL;
    moments of_x = nn_moments(t, x), of_y = nn_moments(t, y);
    tensor *sum = NULL;
    for (uint32_t order = 1; order <= MOMENTS && !t->has_failed; order++) {
        tensor *one = distance(t, nn_next_moment(t, x, &of_x), nn_next_moment(t, y, &of_y));
        sum = sum != NULL ? nn_add(t, sum, one) : one;
    }
    return t->has_failed ? NULL : sum;
}

/* --- Maximum mean discrepancy -------------------------------------------------------------------------------- */

/* exp(-gamma |a - b|^2), summed over these, as CDMPP has them. */
static const double gammas[] = {1, 0.1, 0.001};

static double kernel(const float *a, const float *b, uint32_t width, double *slope) {
    double squares = 0, sum = 0;
    *slope = 0;
    for (uint32_t i = 0; i < width; i++) squares += ((double)a[i] - b[i]) * ((double)a[i] - b[i]);
    for (size_t g = 0; g < sizeof gammas / sizeof gammas[0]; g++) {
        double one = exp(-gammas[g] * squares);
        sum += one;
        *slope -= 2 * gammas[g] * one; /* by a, over a - b */
    }
    return sum;
}

/* Adds weight * k(a, b) over all pairs to the value, and, where there are gradients, what it is by each row. */
static double pairs(const tensor *x, const tensor *y, double weight, float *to_x, float *to_y) {
    double sum = 0, slope;
    for (uint32_t i = 0; i < x->rows; i++) {
        for (uint32_t k = 0; k < y->rows; k++) {
            const float *a = x->data + (size_t)i * x->cols, *b = y->data + (size_t)k * x->cols;
            sum += weight * kernel(a, b, x->cols, &slope);
            for (uint32_t c = 0; to_x != NULL && c < x->cols; c++)
                to_x[(size_t)i * x->cols + c] += (float)(weight * slope * ((double)a[c] - b[c]));
            for (uint32_t c = 0; to_y != NULL && c < x->cols; c++)
                to_y[(size_t)k * x->cols + c] -= (float)(weight * slope * ((double)a[c] - b[c]));
        }
    }
    return sum;
}

static double compare(const tensor *x, const tensor *y, double weight, float *to_x, float *to_y) {
    double n = x->rows, m = y->rows;
    return pairs(x, x, weight / (n * n), to_x, to_x) + pairs(y, y, weight / (m * m), to_y, to_y) +
           pairs(x, y, -2 * weight / (n * m), to_x, to_y);
}

static void mmd_backward(tape *t, tape_node *n) {
    float *to_x = tape_grad(t, n->in[0]), *to_y = tape_grad(t, n->in[1]);
    compare(n->in[0], n->in[1], (double)n->out->grad[0], to_x, to_y);
}

tensor *nn_mmd(tape *t, tensor *x, tensor *y) {
    if (t->has_failed) return NULL;
    assert(x->cols == y->cols && x->rows > 0 && y->rows > 0);
    tensor *out = tape_tensor(t, 1, 1, x->needs_grad || y->needs_grad);
    if (out == NULL) return NULL;
    out->data[0] = (float)compare(x, y, 1, NULL, NULL);
    tape_node *n = tape_record(t, out, mmd_backward, sizeof *n);
    if (n == NULL) return out;
    n->in[0] = x;
    n->in[1] = y;
    return out;
}
