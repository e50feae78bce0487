/* feature_merge.h - which loads and stores of a thread lie side by side, so that one command may move several. */
#ifndef PROGRAM_FEATURE_MERGE_H
#define PROGRAM_FEATURE_MERGE_H

#include "program/feature_unroll.h"

enum { FEATURE_MERGES = 3 };

/* Of a store whose path and accesses are found, log2 of the elements that one command may move, 4 at most, in the turns
 * that are written out: of what it reads the least and the most, and of what it writes; outside of registers. */
void feature_merge(const store_view *x, const nest_node *node, const unroll_mark *marks,
                   float out[static FEATURE_MERGES]);

#endif
