/* filter.h - records that training and evaluation leave out: too noisy, too short or too long. */
#ifndef LEARN_FILTER_H
#define LEARN_FILTER_H

#include "foretell/learn.h"

bool filter_is_set(const ft_time_filter *filter);
bool filter_rejects(const ft_time_filter *filter, const ft_dataset *data, const ft_record *record);
/* Moves rejected records to FT_PART_UNUSED. The hash of the split stays that of the unfiltered split. A filter that no
 * record can pass is FT_ERR_USAGE. */
ft_status filter_split(const ft_time_filter *filter, const ft_dataset *data, ft_split *split, ft_error *error);

#endif
