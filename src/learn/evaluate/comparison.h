/* comparison.h - predictors side by side: rows by device, family and rival, and the documents made of them. */
#ifndef LEARN_COMPARISON_H
#define LEARN_COMPARISON_H

#include "base/arena.h"
#include "foretell/learn.h"
#include "report/sink.h"

typedef struct comparison_row {
    const char *rival;
    ft_score score;
    bool has_difference;       /* to the first rival: false for itself, and when it does not know the device */
    double difference, lo, hi; /* of MAPE, in points; negative: better than the first */
    uint32_t best;             /* bit i: no rival has a better score_fields[i], and some a worse */
} comparison_row;

/* Rows of one device and family follow each other, in the order of the rivals. */
typedef struct comparison {
    const char *view; /* one line that tells what was evaluated */
    const char *metric;
    const char *data_hash, *split; /* NULL: not known, or none */
    const char *part;
    bool has_differences;
    comparison_row *rows;
    uint32_t count;
} comparison;

/* How many rows, from the first on, share its device and family. */
uint32_t comparison_group(const comparison_row *rows, uint32_t count);
/* Marks the best of each group; nobody when they are all the same. */
void comparison_mark(comparison_row *rows, uint32_t count);

ft_status comparison_write(const comparison *c, const ft_style *style, FILE *stream, ft_error *error);

#endif
