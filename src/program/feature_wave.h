/* feature_wave.h - what blocks that run at the same time touch of global memory.
 *
 * Blocks are begun in their order, and those that are under way together find in the cache what a neighbour has loaded.
 * So what comes from memory is less than what blocks ask for one by one, and more than what is touched at all. */
#ifndef PROGRAM_FEATURE_WAVE_H
#define PROGRAM_FEATURE_WAVE_H

#include "program/feature_view.h"

enum { FEATURE_WAVES = 4 };

/* Of a store whose path and accesses are found, for 16, 64, 256 and 1024 blocks at a time: a logarithm of the sectors
 * of global memory that all blocks load and store when each is moved once for the blocks that run together. 0 without
 * blocks. */
void feature_wave(store_view *x, float out[static FEATURE_WAVES]);

#endif
