/* time_filter.h - which measurements are too noisy, too short or too long: one rule for what is imported, learned from
 * and tested on. */
#ifndef DATA_TIME_FILTER_H
#define DATA_TIME_FILTER_H

#include "base/error.h"
#include "foretell/dataset.h"

/* Noise is a share of the time. What is not known (NaN) leaves nothing out. */
static inline bool time_filter_leaves_out(const ft_time_filter *f, double time_us, double noise) {
    return (f->max_noise > 0 && noise > f->max_noise) || (f->min_time_us > 0 && time_us < f->min_time_us) ||
           (f->max_time_us > 0 && time_us > f->max_time_us);
}

static inline ft_status time_filter_check(const ft_time_filter *f, ft_error *error) {
    if (!(f->min_time_us > 0 && f->max_time_us > 0 && f->min_time_us > f->max_time_us)) return FT_OK;
    return ft_fail(error, FT_ERR_USAGE,
                   "nothing takes at least %g and at most %g microseconds: the least is above the most", f->min_time_us,
                   f->max_time_us);
}

#endif
