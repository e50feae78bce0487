/* memory_row.h - what a step does to the memory of a device, as one row of numbers.
 *
 * Sizes are shares of what the replay says (cost/allocator.h) and a usual context together, so that trees learn by how much
 * that is wrong, and not how large models are. A change of what a number stands for needs another MEMORY_SCHEMA. */
#ifndef PREDICTOR_MEMORY_ROW_H
#define PREDICTOR_MEMORY_ROW_H

#include "cost/allocator.h"
#include "predictor/core/model_view.h"

#define MEMORY_SCHEMA "memory/2"

enum {
    MEMORY_SIZES = 21,
    MEMORY_CLASSES = 9,
    MEMORY_OTHERS = 13,
    MEMORY_FEATURES = MEMORY_SIZES + MEMORY_CLASSES + MEMORY_OTHERS
};

typedef struct memory_row {
    allocator_replay replayed;
    double coverage_ratio; /* of the operators */
    float items[MEMORY_FEATURES];
} memory_row;

/* `limit`: bytes that the device has. "optimizer=NAME" in the setting goes before the optimiser of the request. */
ft_status memory_row_make(model_view *s, uint64_t limit, memory_row *row, ft_error *error);

#endif
