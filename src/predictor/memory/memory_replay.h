/* memory_replay.h - the families that tell the memory of GPUs. */
#ifndef PREDICTOR_MEMORY_REPLAY_H
#define PREDICTOR_MEMORY_REPLAY_H

#include "predictor/core/family.h"

extern const family family_memory_replay;
extern const family family_memory_plan; /* the same without allocator and trees */

#endif
