/* block.c - the floats of a model, as they are put together for a file. */
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "predictor/family.h"

bool float_block_add(float_block *block, const float *items, size_t count) {
    size_t needed, bytes;
    if (count == 0) return true;
    if (!num_add_size(block->count, count, &needed)) return false;
    if (needed > block->capacity) {
        size_t capacity = block->capacity * 2 > needed ? block->capacity * 2 : needed;
        if (!num_mul_size(capacity, sizeof *items, &bytes)) return false;
        float *grown = realloc(block->items, bytes);
        if (grown == NULL) return false;
        block->items = grown;
        block->capacity = capacity;
    }
    memcpy(block->items + block->count, items, count * sizeof *items);
    block->count = needed;
    return true;
}

void float_block_free(float_block *block) {
    free(block->items);
    *block = (float_block){0};
}
