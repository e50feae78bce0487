/* boost_gradient.c - gradients between the objective and the tree: squared error, sampling, rounding. */
#include <assert.h>
#include <math.h>

#include "base/error.h"
#include "base/rng.h"
#include "nn/tree/boost_internal.h"

static double weight_of(const boost_rows *rows, size_t i) {
    return rows->weights != NULL ? (double)rows->weights[i] : 1.0;
}

void boost_squared_error(const boost_rows *rows, const float *margins, float *gradients, float *hessians) {
    for (size_t i = 0; i < rows->count; i++) {
        float weight = rows->weights != NULL ? rows->weights[i] : 1.0F;
        gradients[i] = weight * (margins[i] - rows->labels[i]);
        hessians[i] = weight;
    }
}

double boost_mean_label(const boost_rows *rows) {
    double sum = 0, weights = 0;
    for (size_t i = 0; i < rows->count; i++) {
        double label = (double)rows->labels[i] - (rows->offsets != NULL ? (double)rows->offsets[i] : 0.0);
        sum += weight_of(rows, i) * label;
        weights += weight_of(rows, i);
    }
    return weights > 0 ? sum / weights : 0;
}

double boost_rmse(const boost_rows *rows, const float *margins) {
    double sum = 0, weights = 0;
    for (size_t i = 0; i < rows->count; i++) {
        double error = (double)margins[i] - (double)rows->labels[i];
        sum += weight_of(rows, i) * error * error;
        weights += weight_of(rows, i);
    }
    return sqrt(sum / weights);
}

ft_status boost_check_gradients(const float *gradients, const float *hessians, size_t count, ft_error *error) {
    for (size_t i = 0; i < count; i++) {
        if (!isfinite(gradients[i]) || !isfinite(hessians[i]) || hessians[i] < 0)
            return ft_fail(error, FT_ERR_INTERNAL,
                           "boosting: row %zu has gradient %g and hessian %g; both must be finite and the hessian not "
                           "negative",
                           i, (double)gradients[i], (double)hessians[i]);
    }
    return FT_OK;
}

void boost_sample(double share, uint64_t seed, uint32_t round, float *gradients, float *hessians, size_t count) {
    assert(share > 0);
    if (share >= 1) return;
    rng r;
    rng_init(&r, seed, round);
    for (size_t i = 0; i < count; i++) {
        if (rng_uniform(&r) < share) continue;
        gradients[i] = 0;
        hessians[i] = 0;
    }
}

/* Any partial sum of the values is at most 2^e in magnitude, with 2^e >= the sum of their magnitudes. On a grid of
 * 2^(e-53) it has at most 53 bits. Adding and subtracting 1.5 * 2^52 steps of the grid rounds to it. */
void boost_round_to_grid(float *values, size_t count) {
    double sum = 0;
    for (size_t i = 0; i < count; i++) sum += fabs((double)values[i]);
    if (sum <= 0) return;
    int e;
    frexp(sum, &e);
    double shift = ldexp(1.5, e);
    for (size_t i = 0; i < count; i++) values[i] = (float)((double)values[i] + shift - shift);
}
