/* calibrate.h - intervals that hold what they promise: split-conformal, on rows that the fit never saw.
 *
 * A predictor says how unsure it is (spread, relative). The score of a row is |log(measured / predicted)| / spread;
 * the interval of a prediction is value * exp(+-q * spread), where q is the conformal quantile of the scores. So
 * intervals are wide where the predictor is unsure, and nine of ten new measurements like those of calibration lie
 * inside whatever the spread is worth. docs/training.md tells the rest. */
#ifndef LEARN_CALIBRATE_H
#define LEARN_CALIBRATE_H

#include <stdint.h>

#include "foretell/status.h"

enum {
    /* With fewer rows the quantile of a device is mostly luck; it takes that of all devices together. */
    CALIBRATE_LEAST_ROWS = 50
};

typedef struct calibrate_row {
    uint32_t device;
    double measured, predicted, spread; /* all positive and finite */
} calibrate_row;

/* The ceil((n + 1) * level)-th smallest of the scores, or the largest when n is too small for that. Sorts them;
 * `count` is at least 1. */
double calibrate_quantile(double *scores, uint32_t count, double level);

/* q90[device], all positive. At least one row is needed. A row that is not as it should be is FT_ERR_INTERNAL: the
 * family broke its promise. */
ft_status calibrate(const calibrate_row *rows, uint32_t count, uint32_t device_count, double *q90, ft_error *error);

#endif
