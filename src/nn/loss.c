/* loss.c - how far predictions are from what was measured, and in which direction it gets better. */
#include <assert.h>
#include <math.h>

#include "nn/ops.h"

typedef struct loss_node {
    tape_node node;
    const float *target;
    loss_options options;
} loss_node;

typedef struct point {
    double value, slope; /* the loss, and its derivative by the prediction */
} point;

static const double SMALLEST_TARGET = 1e-6;

static double sign(double x) {
    return (x > 0) - (x < 0);
}

static double divisor(double y) {
    return fmax(fabs(y), SMALLEST_TARGET);
}

static point huber(double error, double delta) {
    if (fabs(error) <= delta) return (point){0.5 * error * error, error};
    return (point){delta * (fabs(error) - 0.5 * delta), delta * sign(error)};
}

static point mape(double error, double y) {
    return (point){fabs(error) / divisor(y), sign(error) / divisor(y)};
}

static point log_error(double p, double y) {
    double error = log(p) - log(fmax(y, SMALLEST_TARGET));
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
        double square = is_default ? 1000 : o->mse_weight, share = is_default ? 1 : o->mape_weight;
        point m = mape(error, y);
        return (point){square * error * error + share * m.value, square * 2 * error + share * m.slope};
    }
    default:
        return (point){error * error, 2 * error};
    }
}

/* What an element counts. */
static double share_of(const loss_options *o, size_t i) {
    return o->mask == NULL ? 1 : o->mask[i];
}

static void loss_backward(tape *t, tape_node *n) {
    const loss_node *l = (loss_node *)n;
    tensor *x = n->in[0];
    float *grad = tape_grad(t, x);
    if (grad == NULL) return;
    double factor = (double)n->out->grad[0] * l->options.scale;
    for (size_t r = 0, i = 0; r < x->rows; r++) {
        double weight = l->options.weights == NULL ? factor : factor * l->options.weights[r];
        for (size_t c = 0; c < x->cols; c++, i++) {
            double share = share_of(&l->options, i);
            if (share != 0) grad[i] += (float)(weight * share * loss_at(&l->options, x->data[i], l->target[i]).slope);
        }
    }
}

tensor *nn_loss(tape *t, tensor *prediction, const float *target, const loss_options *options) {
    if (t->has_failed) return NULL;
    assert(options->kind >= 0 && options->kind < LOSS_COUNT);
    tensor *x = prediction, *out = tape_tensor(t, 1, 1, x->needs_grad);
    if (out == NULL) return NULL;
    double sum = 0;
    for (size_t r = 0, i = 0; r < x->rows; r++) {
        double row = 0;
        for (size_t c = 0; c < x->cols; c++, i++) {
            double share = share_of(options, i);
            if (share != 0) row += share * loss_at(options, x->data[i], target[i]).value;
        }
        sum += options->weights == NULL ? row : options->weights[r] * row;
    }
    out->data[0] = (float)(sum * options->scale);
    loss_node *n = tape_note(t, out, loss_backward, sizeof *n);
    if (n == NULL) return out;
    n->node.in[0] = x;
    n->target = target;
    n->options = *options;
    return out;
}
