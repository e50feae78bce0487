/* program_demand.h - resource demand of a tensor program on a GPU, and the time of a device for each part of it.
 *
 * The time of a program depends on sums over its stores, and on how its blocks fill the units of a device. A network
 * whose inputs are logarithms per store, and the device separately, does not find either by itself; with both as inputs
 * it only has to learn the rest. */
#ifndef PREDICTOR_PROGRAM_DEMAND_H
#define PREDICTOR_PROGRAM_DEMAND_H

#include "foretell/program.h"
#include "predictor/program/program_sheet.h"

/* Demand: log2(1 + x) of sums over all stores, and of the launch of the largest store. */
enum {
    DEMAND_OPS,          /* on floats, a fused multiply-add as one; idle lanes of warps count */
    DEMAND_INSTRUCTIONS, /* operations, loads, stores, and index arithmetic outside of reductions */
    DEMAND_SHARED,       /* accesses to shared memory, with repeats for bank conflicts */
    DEMAND_SECTORS,      /* of global memory, requested by warps */
    DEMAND_BYTES,        /* of global memory, distinct */
    DEMAND_ROUNDS,       /* in which shared memory is refilled */
    DEMAND_THREAD,       /* instructions of one thread */
    DEMAND_BLOCKS,
    DEMAND_THREADS,     /* of a block */
    DEMAND_BLOCK_BYTES, /* of shared memory */
    DEMAND_LOCAL_BYTES, /* of a thread */
    DEMAND_LOOP_SPILLS, /* of accumulators that are not in registers because remaining loops index them */
    DEMAND_WAVES,       /* sectors from memory when 16, 64, 256 or 1024 blocks share a cache */
    PROGRAM_DEMANDS = DEMAND_WAVES + 4
};

void program_demand(const ft_program_features *f, float demand[static PROGRAM_DEMANDS]);

/* Use of the resources (RES_*) of a device, as numbers of about 1. */
enum {
    RES_PARTS = 9, /* of the demand that take time: operations, instructions, shared memory, cache, memory, latency of
                    * threads, waves, spills of many accumulators, spills of indexed ones */
    RES_TIME_UNIT = 3, /* scale of log2 of times */
    RES_BLOCKS = 0,    /* resident on a unit */
    RES_THREADS,       /* resident, relative to the maximum */
    RES_ROUNDS,        /* of all units until all blocks are done */
    RES_LAST_ROUND,    /* slowdown by the incomplete last round */
    RES_SHARE,         /* blocks per unit */
    RES_LAST_SHARE,
    RES_WARPS,       /* resident on a unit */
    RES_WARP_FILL,   /* share of lanes with a thread */
    RES_SPILLED,     /* accumulators exceed the registers: 0 to 1 */
    RES_LOOP_SPILLS, /* spills of indexed accumulators per operation */
    RES_SHARED,      /* shared memory of a block, relative to that of a unit */
    RES_TIMES,       /* of each part alone */
    RES_LONGEST = RES_TIMES + RES_PARTS,
    RES_SUM,
    RES_OVER, /* times relative to the lower bound by operations and bytes, which removes the size of the task */
    RES_OVER_LONGEST = RES_OVER + RES_PARTS,
    RES_OVER_SUM,
    PROGRAM_DEVICE_TIMES
};
/* `sheet`: from program_sheet_limits. */
void program_device_times(const float demand[static PROGRAM_DEMANDS], const float *sheet,
                          float times[static PROGRAM_DEVICE_TIMES]);

#endif
