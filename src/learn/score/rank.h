/* rank.h - rank correlation of two lists of numbers: Spearman's rho, Kendall's tau-b, share of ordered pairs.
 *
 * rho and tau are 1 for the same order and -1 for the opposite one, and NaN when there is no order to compare: fewer
 * than two values, or all values of one list equal. Values must not be NaN. The only failure is FT_ERR_NOMEM. */
#ifndef LEARN_RANK_H
#define LEARN_RANK_H

#include <stdbool.h>
#include <stdint.h>

#include "foretell/status.h"

/* Spearman's rho: the correlation of ranks; ties get their mean rank. O(n log n). */
ft_status rank_spearman(const double *x, const double *y, uint32_t count, double *rho, ft_error *error);
/* Kendall's tau-b: concordant less discordant pairs, corrected for ties. O(n log n). */
ft_status rank_kendall(const double *x, const double *y, uint32_t count, double *tau, ft_error *error);
/* The share of concordant pairs among those whose x > 0 differ by more than the factor `ratio` >= 1; ties in y count
 * half. NaN when there are no such pairs. O(n log n). */
ft_status rank_pairs_apart(const double *x, const double *y, uint32_t count, double ratio, double *share,
                           ft_error *error);

#endif
