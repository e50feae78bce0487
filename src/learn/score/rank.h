/* rank.h - how well one list of numbers keeps the order of another. */
#ifndef LEARN_RANK_H
#define LEARN_RANK_H

#include <stdbool.h>
#include <stdint.h>

#include "foretell/status.h"

/* Both are 1 for the same order and -1 for the opposite, and NaN when there is none to compare: fewer than two pairs,
 * or one side all the same. Values must not be NaN. They fail only when memory does. */

/* Spearman's rho: the correlation of ranks, equal values sharing the mean of theirs. O(n log n). */
ft_status rank_spearman(const double *x, const double *y, uint32_t count, double *rho, ft_error *error);
/* Kendall's tau-b: pairs in the same order less pairs in the opposite one, corrected for ties. O(n log n). */
ft_status rank_kendall(const double *x, const double *y, uint32_t count, double *tau, ft_error *error);
/* The share of the pairs in the same order among those whose x > 0 are further apart than `ratio` >= 1; equal y count
 * half. NaN when there are no such pairs. O(n log n). */
ft_status rank_pairs_apart(const double *x, const double *y, uint32_t count, double ratio, double *share,
                           ft_error *error);

#endif
