/* time_filter.h - which measurements are too noisy, too short or too long: one rule for what is imported, learned from
 * and tested on. */
#ifndef DATA_TIME_FILTER_H
#define DATA_TIME_FILTER_H

#include "foretell/dataset.h"

/* Noise is a share of the time. What is not known (NaN) leaves nothing out. */
static inline bool time_filter_leaves_out(const ft_time_filter *f, double time_us, double noise) {
    return (f->max_noise > 0 && noise > f->max_noise) || (f->min_time_us > 0 && time_us < f->min_time_us) ||
           (f->max_time_us > 0 && time_us > f->max_time_us);
}

#endif
