/* bootstrap.h - how far the mean of differences could be off, had other models been measured.
 *
 * Records are drawn again and again with replacement, and the mean is taken each time; the middle 95 % of these means
 * are the interval. Groups (families) are drawn each for itself, and the mean is that of their means. */
#ifndef LEARN_BOOTSTRAP_H
#define LEARN_BOOTSTRAP_H

#include <stdint.h>

#include "foretell/status.h"

typedef struct bootstrap_result {
    double mean, lo, hi;
} bootstrap_result;

/* `groups`: the length of each of `group_count` groups, none of them 0; they follow each other in `values`. The same
 * seed and stream give the same interval. */
ft_status bootstrap(const double *values, const uint32_t *groups, uint32_t group_count, uint64_t seed, uint64_t stream,
                    bootstrap_result *result, ft_error *error);

#endif
