/* loss.c - losses of predictions against targets, and their gradients.
 *
 * Shapes: prediction x, target, mask and gradient are (N, C), weights (N). */
#include <assert.h>
#include <math.h>

#include "nn/math/loops.h"
#include "nn/ops.h"

typedef struct loss_node {
    tape_node node; /* in: x (N, C); out (1, 1) */
    const float *target;
    loss_options options;
} loss_node;

typedef struct point {
    double value, slope; /* loss, and its derivative by the prediction */
} point;

static const double MIN_TARGET = 1e-6;

static double sign(double x) {
    return (x > 0) - (x < 0);
}

static double divisor(double y) {
    return fmax(fabs(y), MIN_TARGET);
}

static point huber(double error, double delta) {
    if (fabs(error) <= delta) return (point){0.5 * error * error, error};
    return (point){delta * (fabs(error) - 0.5 * delta), delta * sign(error)};
}

static point mape(double error, double y) {
    return (point){fabs(error) / divisor(y), sign(error) / divisor(y)};
}

static point log_error(double p, double y) {
    double error = log(p) - log(fmax(y, MIN_TARGET));
    return (point){error * error, 2 * error / p};
}

static point loss_at(const loss_options *o, double p, double y) {
    double error = p - y, d = divisor(y);
    switch (o->kind) {
    case LOSS_MAE:
        return (point){fabs(error), sign(error)};
    case LOSS_HUBER:
        return huber(error, o->delta > 0 ? o->delta : 1);
    case LOSS_RELATIVE:
        return (point){error * error / (d * d), 2 * error / (d * d)};
    case LOSS_LOG:
        return log_error(p, y);
    case LOSS_MAPE:
        return mape(error, y);
    case LOSS_HYBRID: {
        bool is_default = o->mse_weight == 0 && o->mape_weight == 0;
        double mse = is_default ? 1000 : o->mse_weight, mape_weight = is_default ? 1 : o->mape_weight;
        point m = mape(error, y);
        return (point){mse * error * error + mape_weight * m.value, mse * 2 * error + mape_weight * m.slope};
    }
    default:
        return (point){error * error, 2 * error};
    }
}

/* Mask of an element. */
static double mask_at(const loss_options *o, size_t i) {
    return o->mask == NULL ? 1 : o->mask[i];
}

/* --- Rows ---------------------------------------------------------------------------------------------------- */

/* Penalties are mostly plain squares of all elements, which need no case for each element. */
static bool is_plain_square(const loss_options *o) {
    return o->kind == LOSS_MSE && o->mask == NULL;
}

static double sum_squares(size_t n, const float *x, const float *target) {
    double sum = 0;
    for (size_t i = 0; i < n; i++) sum += ((double)x[i] - target[i]) * ((double)x[i] - target[i]);
    return sum;
}

SIMD_CLONES static void add_slopes(size_t n, double weight, const float *restrict x, const float *restrict target,
                                   float *restrict grad) {
    for (size_t i = 0; i < n; i++) grad[i] += (float)(weight * ((double)x[i] - target[i]));
}

static double row_loss(const loss_options *o, const tensor *x, const float *target, size_t row) {
    size_t first = row * x->cols;
    if (is_plain_square(o)) return sum_squares(x->cols, x->data + first, target + first);
    double sum = 0;
    for (size_t i = first; i < first + x->cols; i++) {
        double mask = mask_at(o, i);
        if (mask != 0) sum += mask * loss_at(o, x->data[i], target[i]).value;
    }
    return sum;
}

static void row_backward(const loss_options *o, double weight, const tensor *x, const float *target, size_t row,
                         float *grad) {
    size_t first = row * x->cols;
    if (is_plain_square(o)) {
        add_slopes(x->cols, 2 * weight, x->data + first, target + first, grad + first);
        return;
    }
    for (size_t i = first; i < first + x->cols; i++) {
        double mask = mask_at(o, i);
        if (mask != 0) grad[i] += (float)(weight * mask * loss_at(o, x->data[i], target[i]).slope);
    }
}

/* --- The operation ------------------------------------------------------------------------------------------- */

static void loss_backward(tape *t, tape_node *n) {
    const loss_node *l = (loss_node *)n;
    const loss_options *o = &l->options;
    tensor *x = n->in[0];
    float *grad = tape_grad(t, x);
    if (grad == NULL) return;
    double factor = (double)n->out->grad[0] * o->scale;
    if (is_plain_square(o) && o->weights == NULL) {
        add_slopes(tensor_size(x), 2 * factor, x->data, l->target, grad);
        return;
    }
    for (size_t r = 0; r < x->rows; r++)
        row_backward(o, o->weights == NULL ? factor : factor * o->weights[r], x, l->target, r, grad);
}

tensor *nn_loss(tape *t, tensor *prediction, const float *target, const loss_options *options) {
    if (t->has_failed) return NULL;
    assert(options->kind >= 0 && options->kind < LOSS_COUNT);
    tensor *x = prediction, *out = tape_tensor(t, 1, 1, x->needs_grad);
    if (out == NULL) return NULL;
    double sum = 0;
    for (size_t r = 0; r < x->rows; r++) {
        double row = row_loss(options, x, target, r);
        sum += options->weights == NULL ? row : options->weights[r] * row;
    }
    out->data[0] = (float)(sum * options->scale);
    loss_node *n = tape_record(t, out, loss_backward, sizeof *n);
    if (n == NULL) return out;
    n->node.in[0] = x;
    n->target = target;
    n->options = *options;
    return out;
}
