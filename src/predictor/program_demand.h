/* program_demand.h - what a tensor program asks of a GPU as a whole, and how long a GPU would take for each part of it.
 *
 * What decides over the time of a program are sums over its stores, and how its blocks fill the units of a device. A
 * network that sees stores as logarithms, and the device only behind them, finds neither on its own; told both, it has
 * to learn no more than what is left. */
#ifndef PREDICTOR_PROGRAM_DEMAND_H
#define PREDICTOR_PROGRAM_DEMAND_H

#include "foretell/program.h"
#include "predictor/program_sheet.h"

/* log2(1 + x) of sums over all stores, and of the launch of the largest. */
enum {
    DEMAND_OPS,      /* on floats, a multiplication with its addition as one; lanes without a thread count */
    DEMAND_COMMANDS, /* operations, loads, stores, and the arithmetic of indices outside of reductions */
    DEMAND_SHARED,   /* accesses to shared memory, as often as busy banks repeat them */
    DEMAND_SECTORS,  /* of global memory, that warps ask for */
    DEMAND_BYTES,    /* of global memory, that are touched at all */
    DEMAND_ROUNDS,   /* in which shared memory is filled anew */
    DEMAND_THREAD,   /* what one thread does, one after the other */
    DEMAND_BLOCKS,
    DEMAND_THREADS,     /* of a block */
    DEMAND_BLOCK_BYTES, /* of shared memory */
    DEMAND_LOCAL_BYTES, /* of a thread */
    PROGRAM_DEMANDS
};

void program_demand(const ft_program_features *seen, float demand[static PROGRAM_DEMANDS]);

/* What a device makes of that, as numbers about 1: how many blocks a unit takes, threads beside all that it could
 * have, rounds of blocks and how full the last one is; then the time for each part of the demand alone, the longest and
 * the sum. `sheet` has PROGRAM_SHEET_VALUES numbers and behind them PROGRAM_LIMIT_VALUES. */
enum { PROGRAM_MET = 18 };
void program_meet(const float demand[static PROGRAM_DEMANDS], const float *sheet, float met[static PROGRAM_MET]);

#endif
