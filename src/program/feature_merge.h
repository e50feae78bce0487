/* feature_merge.h - which loads and stores of a thread lie side by side, so that one command may move several. */
#ifndef PROGRAM_FEATURE_MERGE_H
#define PROGRAM_FEATURE_MERGE_H

#include "program/feature_unroll.h"

enum { FEATURE_MERGES = 3 };

/* Of a store whose path and accesses are found, the elements that one command may move, 4 at most, in the turns that
 * are written out, outside of registers: into `width` of each access, and as log2 the least and the most of what it
 * reads, and that of what it writes. */
void feature_merge(store_view *x, const nest_node *node, const unroll_mark *marks, float out[static FEATURE_MERGES]);

#endif
