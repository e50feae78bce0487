/* flow_table.h - flows and tables of times. */
#ifndef REPLAY_FLOW_TABLE_H
#define REPLAY_FLOW_TABLE_H

#include "replay/flow.h"
#include "replay/times.h"

/* Where the work of a kernel is not known, its way back is taken to be twice as long: gradients of what it reads, and
 * of its weights. */
#define FLOW_ASSUMED_BACKWARD_RATIO 2.0

/* A table with a column "after". */
ft_status flow_from_rows(const ft_times *times, ft_flow **flow, ft_error *error);

/* Kernels without a time get the median of the others, which is noted; or are an error, when `is_strict`. */
ft_status flow_fill_missing_times(ft_flow *flow, const ft_times *times, bool is_strict, ft_error *error);

#endif
