/* intervals.h - conformal quantiles of prediction intervals, and bootstrap confidence intervals of a mean.
 *
 * Prediction intervals are split-conformal: calibrated on rows that were not used in the fit. A predictor reports a
 * relative uncertainty (spread). The score of a row is |log(measured / predicted)| / spread; the interval of a
 * prediction is value * exp(+-q * spread), where q is the conformal quantile of the scores. Intervals are therefore
 * wide where the predictor is uncertain, and cover nine of ten new measurements drawn like the calibration rows,
 * however good the spread is. docs/training.md */
#ifndef LEARN_INTERVALS_H
#define LEARN_INTERVALS_H

#include <stdint.h>

#include "foretell/status.h"

enum {
    /* With fewer rows the quantile of a single device is too noisy: the device gets that of all devices pooled. */
    CALIBRATE_MIN_ROWS = 50
};

typedef struct calibrate_row {
    uint32_t device;
    double measured, predicted, spread; /* all positive and finite */
} calibrate_row;

/* The ceil((n + 1) * level)-th smallest of the scores, or the largest when n is too small for that. Sorts the scores;
 * `count` is at least 1. */
double calibrate_quantile(double *scores, uint32_t count, double level);

/* A calibration score and its weight. */
typedef struct interval_score {
    double value, weight;
} interval_score;

/* The quantile for 90 % intervals of a weighted sample of any size, which is sorted.
 *
 * From 30 scores on it is the conformal quantile, the one of rank 0.9 (n + 1). Of fewer that is the largest score or
 * none, which one outlier makes useless and agreement by chance makes too small. So it is the prediction interval of a
 * normal sample: Student's quantile times the root mean square, sqrt(1 + 1/n) wider. The largest tenth counts like the
 * next score, and the interval is a tenth wider for that. `expected` is the half-width that is expected without any
 * score; it counts like three scores. 0 or NaN: nothing is expected. */
double interval_quantile(interval_score *scores, uint32_t count, double expected);

/* Computes q90[device], all positive. At least one row is needed. A row with a value that is not positive and finite
 * is FT_ERR_INTERNAL: the family violated its contract. */
ft_status calibrate(const calibrate_row *rows, uint32_t count, uint32_t device_count, double *q90, ft_error *error);

typedef struct bootstrap_result {
    double mean, lo, hi;
} bootstrap_result;

/* The 95 % bootstrap interval of a mean: values are resampled with replacement, and the interval spans the middle 95 %
 * of the means. Groups (families) are resampled separately; the mean is that of their means. `groups` holds the length
 * of each of `group_count` groups, at least 1 each; they follow each other in `values`. The same seed and stream yield
 * the same interval. */
ft_status bootstrap(const double *values, const uint32_t *groups, uint32_t group_count, uint64_t seed, uint64_t stream,
                    bootstrap_result *result, ft_error *error);

#endif
