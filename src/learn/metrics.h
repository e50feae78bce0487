/* metrics.h - how far predictions are from what was measured, in numbers (docs/evaluation.md has the formulas). */
#ifndef LEARN_METRICS_H
#define LEARN_METRICS_H

#include "foretell/learn.h"

/* |predicted - measured| / measured; `measured` is positive. */
double metrics_relative_error(const ft_case *c);

/* Fills everything but the names. Scores that have no meaning are NaN: all of them without cases, orders with fewer
 * than two cases or all the same, coverage and width when a case has no interval. */
ft_status metrics_score(const ft_case *cases, uint32_t count, ft_score *score, ft_error *error);

/* The mean of each score, over those for which it has a meaning; n is their sum. Names are left alone. */
void metrics_mean(const ft_score *scores, uint32_t count, ft_score *mean);

#endif
