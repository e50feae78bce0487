/* metrics.h - error scores of predictions: MAPE, RMSE, accuracy, rank correlation, coverage (docs/evaluation.md). */
#ifndef LEARN_METRICS_H
#define LEARN_METRICS_H

#include "foretell/learn.h"

/* The optimum of a score. */
typedef enum score_aim { AIM_LOW, AIM_HIGH, AIM_NINETY, AIM_ZERO } score_aim;

/* Description of one member of ft_score, so that documents, means and comparisons can iterate over all of them. */
typedef struct score_field {
    const char *key;   /* in JSON and CSV */
    const char *title; /* in tables */
    size_t offset;     /* in ft_score */
    score_aim aim;
    uint8_t decimals;
    uint8_t drop; /* a narrow table drops the column with the highest number first */
} score_field;

enum { SCORE_FIELDS = 11 };
extern const score_field score_fields[SCORE_FIELDS];
double score_value(const ft_score *score, const score_field *field);
void score_set(ft_score *score, const score_field *field, double value);

/* |predicted - measured| / measured; `measured` is positive. */
double metrics_relative_error(const ft_case *c);

/* Sets everything but the names. Undefined scores are NaN: all of them without cases, rank correlations with fewer
 * than two distinct values, coverage and width when a case has no interval. */
ft_status metrics_score(const ft_case *cases, uint32_t count, ft_score *score, ft_error *error);

/* The mean of each score over those where it is defined; n is the sum. Names are not set. */
void metrics_mean(const ft_score *scores, uint32_t count, ft_score *mean);

#endif
