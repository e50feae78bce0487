/* program_demand.h - what a tensor program asks of a GPU as a whole, and how long a GPU would take for each part of it.
 *
 * What decides over the time of a program are sums over its stores, and how its blocks fill the units of a device. A
 * network that sees stores as logarithms, and the device only behind them, finds neither on its own; told both, it has
 * to learn no more than what is left. */
#ifndef PREDICTOR_PROGRAM_DEMAND_H
#define PREDICTOR_PROGRAM_DEMAND_H

#include "foretell/program.h"
#include "predictor/program/program_sheet.h"

/* log2(1 + x) of sums over all stores, and of the launch of the largest. */
enum {
    DEMAND_OPS,          /* on floats, a multiplication with its addition as one; lanes without a thread count */
    DEMAND_INSTRUCTIONS, /* operations, loads, stores, and the arithmetic of indices outside of reductions */
    DEMAND_SHARED,       /* accesses to shared memory, as often as busy banks repeat them */
    DEMAND_SECTORS,      /* of global memory, that warps ask for */
    DEMAND_BYTES,        /* of global memory, that are touched at all */
    DEMAND_ROUNDS,       /* in which shared memory is filled anew */
    DEMAND_THREAD,       /* what one thread does, one after the other */
    DEMAND_BLOCKS,
    DEMAND_THREADS,     /* of a block */
    DEMAND_BLOCK_BYTES, /* of shared memory */
    DEMAND_LOCAL_BYTES, /* of a thread */
    DEMAND_LOOP_SPILLS, /* of sums that loops keep from being in registers */
    DEMAND_WAVES,       /* sectors that come from memory when 16, 64, 256 or 1024 blocks share a cache */
    PROGRAM_DEMANDS = DEMAND_WAVES + 4
};

void program_demand(const ft_program_features *seen, float demand[static PROGRAM_DEMANDS]);

/* What a device makes of that, as numbers about 1. Sums are what a reduction adds up in a thread. */
enum {
    RES_PARTS = 9,     /* of the demand that take time */
    RES_TIME_UNIT = 3, /* of logarithms of times, to base 2 */
    RES_BLOCKS = 0,    /* that a unit takes at once */
    RES_THREADS,       /* beside all that it could have */
    RES_ROUNDS,        /* of all units, until all blocks are done */
    RES_LAST_ROUND,    /* how much longer it makes that not all are full */
    RES_SHARE,         /* blocks per unit */
    RES_LAST_SHARE,
    RES_WARPS,       /* that a unit has */
    RES_WARP_FILL,   /* of warps, with threads */
    RES_SPILLED,     /* sums that are in memory, because there are too many */
    RES_LOOP_SPILLS, /* or because loops move them, beside operations */
    RES_SHARED,      /* memory of a block beside that of a unit */
    RES_TIMES,       /* of each part of the demand alone */
    RES_LONGEST = RES_TIMES + RES_PARTS,
    RES_SUM,
    RES_OVER, /* the same, over the least that operations and memory allow: tasks of all sizes look alike */
    RES_OVER_LONGEST = RES_OVER + RES_PARTS,
    RES_OVER_SUM,
    PROGRAM_DEVICE_TIMES
};
/* `sheet` has PROGRAM_SHEET_VALUES numbers and behind them PROGRAM_LIMIT_VALUES. */
void program_device_times(const float demand[static PROGRAM_DEMANDS], const float *sheet,
                          float times[static PROGRAM_DEVICE_TIMES]);

#endif
