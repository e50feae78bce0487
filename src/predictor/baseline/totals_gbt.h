/* totals_gbt.h - a graph as one row of numbers: operators of each kind, counted, and totals of their work.
 *
 * For each kind of operator: count, FLOPs, bytes, parameters; for convolutions and depthwise ones count and FLOPs by
 * size of the kernel; then sums over all. A change of what a number means needs another TOTALS_SCHEMA. */
#ifndef PREDICTOR_BASELINE_TOTALS_GBT_H
#define PREDICTOR_BASELINE_TOTALS_GBT_H

#include "predictor/core/model_view.h"

#define TOTALS_SCHEMA "totals/1"

enum {
    TOTALS_KINDS = 27,
    TOTALS_PER_KIND = 4,
    TOTALS_SIZES = 5,
    TOTALS_SUMS = 8,
    TOTALS_COUNT = TOTALS_KINDS * TOTALS_PER_KIND + 2 * 2 * TOTALS_SIZES + TOTALS_SUMS,
};

ft_status totals_extract(model_view *s, float row[TOTALS_COUNT], ft_error *error);

#endif
