/* feature_gpu.h - how a GPU meets a store: the launch that it is part of, the memories that it touches, and what the
 * threads of a warp ask of them at the same time.
 *
 * The 164 numbers of TVM (feature.h) come from processors: they do not tell shared memory from global memory, nor
 * neighbouring threads from neighbouring turns. */
#ifndef PROGRAM_FEATURE_GPU_H
#define PROGRAM_FEATURE_GPU_H

#include "program/feature_unroll.h"

enum { FEATURE_GPU_COUNT = 65 };
enum { WARP = 32, SECTOR_BYTES = 32 }; /* in which requests are counted, and what a cache holds of memory */

/* A launch: what all stores under the same outermost thread index share. */
typedef struct gpu_launch {
    uint16_t root; /* its node; NEST_NONE: none is known yet */
    double shared_bytes, local_bytes;
} gpu_launch;

/* Of a store whose path and accesses are found. `launch` remembers the last one, and begins with NEST_NONE. */
void feature_gpu(store_view *x, const nest_node *node, const unroll_mark *marks, gpu_launch *launch,
                 float out[static FEATURE_GPU_COUNT]);

/* "threads", "shared.read.conflicts" */
const char *feature_gpu_name(uint32_t index);

#endif
