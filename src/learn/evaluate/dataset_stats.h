/* dataset_stats.h - the distribution of model and operator features over a data set, and the operators it contains.
 *
 * The statistics of the evaluated models beside those of the training models show where an evaluation extrapolates. */
#ifndef LEARN_DATASET_STATS_H
#define LEARN_DATASET_STATS_H

#include <stdint.h>

#include "base/map.h"
#include "predictor/core/scan.h"

/* --- Histograms of positive numbers ---------------------------------------------------------------------------- */

enum {
    LOG_HISTOGRAM_BINS = 2048,
    LOG_HISTOGRAM_PER_OCTAVE = 32,
    LOG_HISTOGRAM_LOWEST = -16 /* octaves: 2^-16..2^48 */
};

#define TAIL_SHARE 0.005 /* at each end: values beyond it are rare in training */

typedef struct log_histogram_bin {
    uint64_t count;
    double sum;
} log_histogram_bin;

/* A histogram with bins of equal ratio, of fixed size for any number of values. Quantiles have a relative error of
 * about two percent, and are exact where all values of a bin are equal (small integers). */
typedef struct log_histogram {
    uint64_t count;
    double min, max;
    log_histogram_bin bins[LOG_HISTOGRAM_BINS];
} log_histogram;

/* Ignores values that are not positive and finite. */
void log_histogram_add(log_histogram *h, double value);
/* NaN when the histogram is empty. */
double log_histogram_quantile(const log_histogram *h, double share);
/* The share of `h` outside the middle 99 % of `known`; NaN when either is empty. */
double log_histogram_outside(const log_histogram *h, const log_histogram *known);
/* The share of `h` in from <= value < to, by the means of the bins. */
double log_histogram_share(const log_histogram *h, double from, double to);

/* --- Statistics of a data set ---------------------------------------------------------------------------------- */

/* name, key in CSV, text in plots, unit, whether it is a feature of operators (else of models) */
#define STATS_FEATURE_LIST(X)                                                                                          \
    X(STATS_OPERATORS, "operators", "operators of a model", "", false)                                                 \
    X(STATS_FLOPS, "flops", "work of a model", "FLOP", false)                                                          \
    X(STATS_BYTES, "moved_bytes", "bytes that a model moves", "B", false)                                              \
    X(STATS_PARAMS, "params", "parameters of a model", "", false)                                                      \
    X(STATS_INTENSITY, "flops_per_byte", "work for each byte moved", "", false)                                        \
    X(STATS_OP_FLOPS, "op_flops", "work of an operator", "FLOP", true)                                                 \
    X(STATS_OP_ELEMS, "op_elems", "elements of a result", "", true)                                                    \
    X(STATS_OP_CHANNELS, "op_channels", "channels of a result", "", true)                                              \
    X(STATS_OP_ROWS, "op_rows", "rows of a result", "", true)                                                          \
    X(STATS_OP_WINDOW, "op_window", "width of a window", "", true)                                                     \
    X(STATS_OP_STRIDE, "op_stride", "stride of a window", "", true)                                                    \
    X(STATS_OP_GROUPS, "op_groups", "groups of a convolution", "", true)

typedef enum stats_feature {
#define STATS_ENUM(name, key, text, unit, of_operators) name,
    STATS_FEATURE_LIST(STATS_ENUM)
#undef STATS_ENUM
        STATS_FEATURES
} stats_feature;

const char *stats_feature_key(uint32_t feature);
const char *stats_feature_text(uint32_t feature);
const char *stats_feature_unit(uint32_t feature);

typedef struct operator_count {
    const char *name; /* as fusion rules name the operator */
    uint64_t count;
} operator_count;

typedef struct dataset_stats {
    log_histogram *features; /* STATS_FEATURES of them */
    uint64_t models, operators;
    arena memory;
    map index; /* from names to `counts` */
    operator_count *counts;
    uint32_t name_count, name_capacity;
} dataset_stats;

/* Collects the statistics of the models of the rows. `operators`, unless NULL, gets the number of operators of each
 * row's model. */
ft_status dataset_stats_collect(dataset_stats *s, const ft_dataset *data, fit_rows rows, pool *threads,
                                const fit_context *context, double *operators, ft_error *error);
void dataset_stats_free(dataset_stats *s);

/* The operators of `s` that do not occur in `known`, most frequent first; the caller frees the list. NULL when out of
 * memory. */
operator_count *dataset_stats_unseen(const dataset_stats *s, const dataset_stats *known, uint32_t *count);

#endif
