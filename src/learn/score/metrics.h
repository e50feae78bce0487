/* metrics.h - how far predictions are from what was measured, in numbers (docs/evaluation.md has the formulas). */
#ifndef LEARN_METRICS_H
#define LEARN_METRICS_H

#include "foretell/learn.h"

/* What is best for a score. */
typedef enum score_aim { AIM_LOW, AIM_HIGH, AIM_NINETY, AIM_ZERO } score_aim;

/* The scores by name: documents, means and comparisons go through this list. */
typedef struct score_field {
    const char *key;   /* in JSON and CSV */
    const char *title; /* in tables */
    size_t offset;     /* in ft_score */
    score_aim aim;
    uint8_t decimals;
    uint8_t drop; /* which column a narrow table loses first: the highest */
} score_field;

enum { SCORE_FIELDS = 11 };
extern const score_field score_fields[SCORE_FIELDS];
double score_value(const ft_score *score, const score_field *field);
void score_set(ft_score *score, const score_field *field, double value);

/* |predicted - measured| / measured; `measured` is positive. */
double metrics_relative_error(const ft_case *c);

/* Fills everything but the names. Scores that have no meaning are NaN: all of them without cases, orders with fewer
 * than two cases or all the same, coverage and width when a case has no interval. */
ft_status metrics_score(const ft_case *cases, uint32_t count, ft_score *score, ft_error *error);

/* The mean of each score, over those for which it has a meaning; n is their sum. Names are left alone. */
void metrics_mean(const ft_score *scores, uint32_t count, ft_score *mean);

#endif
