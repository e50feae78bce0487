/* calibrate.c - conformal quantiles by device. */
#include "learn/score/calibrate.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/error.h"

/* A little more than 0.9: coverage that is measured on a few thousand rows wavers by a percent, and too narrow is worse
 * than too wide. */
static const double LEVEL = 0.905;
/* A predictor that hits every row of calibration still does not know everything. */
static const double LEAST_Q = 1e-6;

static int compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double calibrate_quantile(double *scores, uint32_t count, double level) {
    qsort(scores, count, sizeof *scores, compare);
    /* 0.9 is a little more than nine tenths in binary: without the margin (9 + 1) * 0.9 could be rounded up to 10. */
    double rank = ceil(((double)count + 1) * level - 1e-9);
    if (rank < 1) rank = 1;
    return scores[rank < (double)count ? (uint32_t)rank - 1 : count - 1];
}

static bool is_positive(double value) {
    return isfinite(value) && value > 0;
}

/* Scores of a device, or of all of them (device_count), in the order of the rows. */
static uint32_t gather(const calibrate_row *rows, uint32_t count, uint32_t device, uint32_t device_count,
                       double *scores) {
    uint32_t found = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (device != device_count && rows[i].device != device) continue;
        scores[found++] = fabs(log(rows[i].measured / rows[i].predicted)) / rows[i].spread;
    }
    return found;
}

static ft_status check_rows(const calibrate_row *rows, uint32_t count, uint32_t device_count, ft_error *error) {
    for (uint32_t i = 0; i < count; i++) {
        const calibrate_row *row = &rows[i];
        if (row->device < device_count && is_positive(row->measured) && is_positive(row->predicted) &&
            is_positive(row->spread))
            continue;
        return ft_fail(error, FT_ERR_INTERNAL,
                       "calibration: %g was predicted with a spread of %g where %g was measured; values and spreads "
                       "must be positive",
                       row->predicted, row->spread, row->measured);
    }
    return FT_OK;
}

ft_status calibrate(const calibrate_row *rows, uint32_t count, uint32_t device_count, double *q90, ft_error *error) {
    if (count == 0) return ft_fail(error, FT_ERR_INTERNAL, "calibration: there are no rows");
    FT_TRY(check_rows(rows, count, device_count, error));
    double *scores = malloc(count * sizeof *scores);
    if (scores == NULL) return FT_NOMEM(error);
    gather(rows, count, device_count, device_count, scores);
    double pooled = fmax(calibrate_quantile(scores, count, LEVEL), LEAST_Q);
    for (uint32_t d = 0; d < device_count; d++) {
        uint32_t found = gather(rows, count, d, device_count, scores);
        q90[d] = found < CALIBRATE_LEAST_ROWS ? pooled : fmax(calibrate_quantile(scores, found, LEVEL), LEAST_Q);
    }
    free(scores);
    return FT_OK;
}
