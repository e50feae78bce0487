/* feature_gpu.h - the 65 GPU features of a store: its launch, the memory traffic of its warps, register reuse, loop
 * unrolling, cache reuse between blocks, and merged loads.
 *
 * The 164 features of TVM (feature.h) were made for CPUs: they do not distinguish shared from global memory, nor
 * neighbouring threads from neighbouring loop iterations. feature_gpu calls one function of each file below, for a
 * store whose path and accesses are found (feature_view.h). */
#ifndef PROGRAM_FEATURE_GPU_H
#define PROGRAM_FEATURE_GPU_H

#include "program/feature_view.h"

enum { FEATURE_GPU_COUNT = 65 };
enum { WARP = 32, SECTOR_BYTES = 32 }; /* lanes of a warp; unit of requests to global memory and of cache lines */

/* --- Unrolling (feature_unroll.c) ----------------------------------------------------------------------------
 *
 * TVM unrolls as many stores as its pragma allows, the compiler behind it (nvcc, hipcc) as many as its own limit
 * allows, both from the innermost loop outwards. A loop that remains costs branches, and an array in local memory that
 * it indexes cannot be in registers; an unrolled loop costs instruction fetches. Programs that differ in nothing but
 * the pragma often end up the same. */

enum { FEATURE_UNROLL_COUNT = 6, UNROLL_SPILL_TRIPS = 256 };

/* How a node of the nest is unrolled. */
typedef struct unroll_info {
    double steps;     /* stores in the generated code, at the node or below it */
    double copies;    /* that virtual threads above make of a store */
    int32_t limit;    /* of the pragma above */
    uint16_t launch;  /* the outermost thread index above, or NEST_NONE */
    uint16_t depth;   /* nested loops that are unrolled */
    bool has_loop;    /* TVM does not unroll the node or one below it */
    bool is_unrolled; /* by TVM or by the compiler */
} unroll_info;

/* Fills one entry per node of the nest. */
void unroll_infer(const nest *n, unroll_info *infos);

/* Writes, as logarithms: trips of a thread that are unrolled, and the other trips; stores in the innermost loop that
 * remains, stores of the launch; trips of remaining loops that index local memory, and how often that spills an
 * accumulator per UNROLL_SPILL_TRIPS trips. Returns the unrolled trips themselves. */
double feature_unroll(const store_view *x, const nest_node *node, const unroll_info *infos,
                      float out[static FEATURE_UNROLL_COUNT]);

/* --- Merged loads and stores (feature_merge.c) --------------------------------------------------------------- */

enum { FEATURE_MERGES = 3 };

/* Elements that one load or store instruction can move (1, 2 or 4), because the unrolled trips touch neighbours in
 * shared or global memory: into `width` of each access, and as log2 the minimum and maximum over reads, and that of
 * the write. */
void feature_merge(store_view *x, const nest_node *node, const unroll_info *infos, float out[static FEATURE_MERGES]);

/* --- Register reuse (feature_window.c) -----------------------------------------------------------------------
 *
 * A compiler keeps in registers what the last few trips have loaded: neither does every trip load anew nor is
 * everything loaded once. A window is a number of consecutive trips of a thread whose loads are kept. Virtual threads
 * are the first trips, then come the innermost loops. */

enum {
    FEATURE_WINDOWS = 5,
    FEATURE_WINDOW_COUNT = 2 * FEATURE_WINDOWS + 5,
    FEATURE_WINDOW_CYCLES = FEATURE_WINDOWS + 1
};

/* Writes, for windows of 4, 16, 64, 256 and 1024 trips, log2 of the loads from shared and global memory per trip, and
 * log2 of the elements of local memory; rounds in which shared memory is filled, and trips in each; elements of global
 * memory that are touched at all; loads and elements as of a window, for the unrolled trips. `cycles` are those of
 * shared memory per trip, bank conflicts included, for the loads of a warp in these windows and in the unrolled trips;
 * 0 where it loads nothing from there. Windows are 0 for stores that load nothing. */
void feature_window(store_view *x, const nest_node *node, double unrolled_trips, float out[static FEATURE_WINDOW_COUNT],
                    float cycles[static FEATURE_WINDOW_CYCLES]);

/* --- Cache reuse between blocks (feature_wave.c) --------------------------------------------------------------
 *
 * Blocks start in order, and blocks of one wave find in the cache what a neighbour has loaded. So the traffic from
 * memory is less than the sum over blocks, and more than what is touched at all. */

enum { FEATURE_WAVES = 4 };

/* Writes, for waves of 16, 64, 256 and 1024 blocks, a logarithm of the sectors of global memory that all blocks move
 * when each sector is moved once per wave. 0 without blocks. */
void feature_wave(store_view *x, float out[static FEATURE_WAVES]);

/* --- All of them (feature_gpu.c) ----------------------------------------------------------------------------- */

/* A launch: shared by all stores under the same outermost thread index. */
typedef struct gpu_launch {
    uint16_t root; /* its node; NEST_NONE: not found yet */
    double shared_bytes, local_bytes;
} gpu_launch;

/* `launch` caches the last one, and begins with NEST_NONE. */
void feature_gpu(store_view *x, const nest_node *node, const unroll_info *infos, gpu_launch *launch,
                 float out[static FEATURE_GPU_COUNT]);

/* "threads", "shared.read.repeats" */
const char *feature_gpu_name(uint32_t index);

#endif
