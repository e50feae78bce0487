/* block.c - see block.h. */
#include "predictor/core/block.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/num.h"

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

bool float_block_add_forest(float_block *block, const forest *f) {
    size_t count = forest_save_count(f);
    float *floats = malloc(count * sizeof *floats);
    if (floats != NULL) forest_save(f, floats);
    bool is_added = floats != NULL && float_block_add(block, floats, count);
    free(floats);
    return is_added;
}

/* Goes past a forest that was taken. */
static ft_status pass_forest(const float **block, size_t *left, uint32_t features, const forest *f, size_t used,
                             ft_error *error) {
    *block += used;
    *left -= used;
    if (forest_features(f) == features) return FT_OK;
    return ft_fail(error, FT_ERR_DAMAGED, "has trees over %u features; there are %u", forest_features(f), features);
}

ft_status block_take_forest(const float **block, size_t *left, uint32_t features, forest **f, ft_error *error) {
    size_t used = 0;
    FT_TRY(forest_load(*block, *left, f, &used, error));
    return pass_forest(block, left, features, *f, used, error);
}

ft_status block_map_forest(const float **block, size_t *left, uint32_t features, forest **f, ft_error *error) {
    size_t used = 0;
    FT_TRY(forest_map(*block, *left, f, &used, error));
    return pass_forest(block, left, features, *f, used, error);
}

void float_block_free(float_block *block) {
    free(block->items);
    *block = (float_block){0};
}
