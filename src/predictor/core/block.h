/* block.h - the floats of a model, as they are put together for a file and taken from one. */
#ifndef PREDICTOR_BLOCK_H
#define PREDICTOR_BLOCK_H

#include "nn/tree/trees.h"

typedef struct float_block {
    float *items;
    size_t count, capacity;
} float_block;

/* False when out of memory. */
bool float_block_add(float_block *block, const float *items, size_t count);
bool float_block_add_forest(float_block *block, const forest *f);
void float_block_free(float_block *block);

/* Takes a forest over rows of `features` floats from the front of what is left of a block. Nothing is trusted. The one
 * copies it, the other leaves its trees in the block, which has to outlive it, as those of predictor files do. */
ft_status block_take_forest(const float **block, size_t *left, uint32_t features, forest **f, ft_error *error);
ft_status block_map_forest(const float **block, size_t *left, uint32_t features, forest **f, ft_error *error);

#endif
