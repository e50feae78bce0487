/* filter.h - records that are left out of training and evaluation: too noisy, too short, too long. */
#ifndef LEARN_FILTER_H
#define LEARN_FILTER_H

#include "foretell/learn.h"

bool filter_is_set(const ft_time_filter *filter);
bool filter_leaves_out(const ft_time_filter *filter, const ft_dataset *data, const ft_record *record);
/* What is left out is in no part of the split any more. Its hash stays: it is that of the split as it was made. A
 * filter that nothing can pass is FT_ERR_USAGE. */
ft_status filter_split(const ft_time_filter *filter, const ft_dataset *data, ft_split *split, ft_error *error);

#endif
