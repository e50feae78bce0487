/* usage.h - bytes of a memory over time, as a tree: adding to a range of times, and the peak of one, take logarithmic
 * time, so that ranges that live for the whole network cost no more than short ones. */
#ifndef NPU_USAGE_H
#define NPU_USAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"

/* Nodes of a complete binary tree, the root at 1; leaf i is at `leaves` + i. */
typedef struct npu_usage {
    int64_t *peak;  /* of the times under a node, including what was added there and below */
    int64_t *added; /* to all times under a node */
    uint32_t leaves;
} npu_usage;

/* A tree of `bytes`, by time. False when out of memory. */
bool npu_usage_make(arena *memory, const int64_t *bytes, uint32_t times, npu_usage *usage);
/* Adds to the times first..last; nothing when last is before first. */
void npu_usage_add(npu_usage *usage, uint32_t first, uint32_t last, int64_t bytes);
/* The most bytes at one of the times first..last; at least 0. */
int64_t npu_usage_peak(const npu_usage *usage, uint32_t first, uint32_t last);

#endif
