/* kernel_start.c - prices by non-negative least squares of the relative error. */
#include "predictor/kernel/kernel_start.h"

#include <math.h>

#include "nn/nnls.h"

/* How much of each term the models with a label for device d have, per unit of label: count x terms, row by row into
 * the normal equations of a relative-error least squares. */
static void normal_equations(const kernel_side *side, uint32_t d, double *gram, double *moment, double *squares) {
    const kernel_models *models = &side->train;
    uint32_t count = 0;
    for (uint32_t m = 0; m < models->count; m++) {
        double label = models->labels[(size_t)m * models->devices + d], sum[KERNEL_TERMS] = {0};
        if (isnan(label)) continue;
        for (uint32_t j = models->start[m]; j < models->start[m + 1]; j++)
            for (uint32_t k = 0; k < KERNEL_TERMS; k++)
                sum[k] += kernel_table_rows(&side->kernels)[models->index[j]].terms[k];
        for (uint32_t k = 0; k < KERNEL_TERMS; k++) sum[k] /= label;
        for (uint32_t k = 0; k < KERNEL_TERMS; k++) {
            for (uint32_t l = 0; l < KERNEL_TERMS; l++) gram[k * KERNEL_TERMS + l] += sum[k] * sum[l];
            moment[k] += sum[k];
        }
        count++;
    }
    for (uint32_t k = 0; k < KERNEL_TERMS; k++) squares[k] = count > 0 ? gram[k * KERNEL_TERMS + k] / count : 0;
}

/* Prices that fit best without any bend. A term that gets nothing starts at a small share of the time: the logarithm of
 * zero could never grow. */
ft_status kernel_start_prices(const kernel_side *side, uint32_t d, float *prices, ft_error *error) {
    static const double SMALL_SHARE = 0.02, NEGLIGIBLE_PRICE = 1e-9;
    double gram[KERNEL_TERMS * KERNEL_TERMS] = {0}, moment[KERNEL_TERMS] = {0}, squares[KERNEL_TERMS], x[KERNEL_TERMS];
    normal_equations(side, d, gram, moment, squares);
    /* Columns to unit length: amounts differ by ten orders of magnitude. */
    double ridge[KERNEL_TERMS];
    for (uint32_t k = 0; k < KERNEL_TERMS; k++) {
        double scale = squares[k] > 0 ? sqrt(squares[k]) : 1;
        moment[k] /= scale;
        ridge[k] = 1e-6 * side->train.count;
        for (uint32_t l = 0; l < KERNEL_TERMS; l++) {
            gram[k * KERNEL_TERMS + l] /= scale;
            gram[l * KERNEL_TERMS + k] /= scale;
        }
    }
    FT_TRY(
        nnls_solve(&(nnls_problem){.count = KERNEL_TERMS, .gram = gram, .moment = moment, .ridge = ridge}, x, error));
    for (uint32_t k = 0; k < KERNEL_TERMS; k++) {
        double least = SMALL_SHARE / KERNEL_TERMS;
        double price = squares[k] > 0 ? fmax(x[k], least) / sqrt(squares[k]) : NEGLIGIBLE_PRICE;
        prices[k] = (float)log(price);
    }
    return FT_OK;
}
