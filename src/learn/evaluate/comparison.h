/* comparison.h - a comparison of predictors: rows by device, family and predictor, and the documents made of them. */
#ifndef LEARN_COMPARISON_H
#define LEARN_COMPARISON_H

#include <stdio.h>

#include "base/arena.h"
#include "base/json.h"
#include "foretell/learn.h"
#include "report/sink.h"

typedef struct comparison_row {
    const char *predictor;
    ft_score score;
    bool has_difference;       /* false for the first predictor, and where that one does not support the device */
    double difference, lo, hi; /* of MAPE to the first predictor, in percentage points; negative: better */
    uint32_t best;             /* bit i: no row of the group has a better score_fields[i], and some have a worse one */
} comparison_row;

/* Rows of one device and family are adjacent, in the order of the predictors. */
typedef struct comparison {
    const char *view; /* one line that describes the evaluated records */
    const char *metric;
    const char *data_hash, *split; /* NULL: unknown, or none */
    const char *part;
    bool has_differences;
    comparison_row *rows;
    uint32_t count;
} comparison;

/* Marks the best of each group of rows with the same device and family; none when all are equal. */
void comparison_mark(comparison_row *rows, uint32_t count);
ft_status comparison_write(const comparison *c, const ft_style *style, FILE *stream, ft_error *error);

/* --- The two steps of ft_compare_runs, so that parsing an untrusted metrics.json can be fuzzed --------------- */

/* The list of results of the run `name`; the caller drops the reference. */
ft_status run_results_parse(const char *name, const void *bytes, size_t size, json_t **results, ft_error *error);
ft_status run_results_compare(const char *const *names, json_t *const *results, uint32_t count, bool has_families,
                              const ft_style *style, FILE *stream, ft_error *error);

#endif
