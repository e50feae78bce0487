/* feature_window.h - what a thread loads when it keeps in registers what its last turns have loaded, and how often its
 * block waits for shared memory.
 *
 * Without such a window all that is told of reuse is its two ends: every turn loads anew, or everything is loaded once.
 * Compilers are in between: they unroll the innermost loops and keep what these need again. Virtual threads are turns
 * of one thread that run before all of its loops. */
#ifndef PROGRAM_FEATURE_WINDOW_H
#define PROGRAM_FEATURE_WINDOW_H

#include "program/feature_view.h"

enum {
    FEATURE_WINDOWS = 5,
    FEATURE_WINDOW_COUNT = 2 * FEATURE_WINDOWS + 5,
    FEATURE_WINDOW_CYCLES = FEATURE_WINDOWS + 1
};

/* Of a store whose path and accesses are found: for windows of 4, 16, 64, 256 and 1024 turns log2 of the loads from
 * shared and global memory per turn, and log2 of the elements of local memory; rounds in which shared memory is filled,
 * and turns in each; elements of global memory that are touched at all; loads and elements as of a window, for the
 * turns that are written out (feature_unroll.h). `cycles` are of shared memory, per turn, for what a warp loads in
 * these windows and in the turns that are written out; 0 where it loads nothing from there. Windows are 0 for stores
 * that load nothing. */
void feature_window(store_view *x, const nest_node *node, double written_turns, float out[static FEATURE_WINDOW_COUNT],
                    float cycles[static FEATURE_WINDOW_CYCLES]);

#endif
