/* kernel_seen.c - hash set of the kernels of training. */
#include "predictor/kernel/kernel_seen.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/hash.h"

enum { HASH_BITS = 24, MIN_SLOTS = 16, MAX_SLOTS = 1 << 22 };

/* --- Cells --------------------------------------------------------------------------------------------------- */

/* Windows, strides and inputs are compared exactly, sizes by powers of two. */
static const uint32_t exact[] = {FEATURE_WINDOW, FEATURE_STRIDE, FEATURE_INPUTS};
static const uint32_t rough[] = {FEATURE_IN_HEIGHT, FEATURE_IN_CHANNELS, FEATURE_OUT_CHANNELS};

enum { EXACT = sizeof exact / sizeof exact[0], ROUGH = sizeof rough / sizeof rough[0] };

/* From 1 to 2^24 - 1, which a float represents exactly. */
static uint32_t cell_of(const kernel_row *row) {
    int32_t cell[EXACT + ROUGH] = {0};
    char key[sizeof cell + KERNEL_FEATURES - KERNEL_SIZES];
    for (uint32_t i = 0; i < EXACT; i++) cell[i] = (int32_t)lrintf(8 * row->features[exact[i]]);
    for (uint32_t i = 0; i < ROUGH; i++) cell[EXACT + i] = (int32_t)floorf(row->features[rough[i]]);
    memcpy(key, cell, sizeof cell);
    for (uint32_t i = KERNEL_SIZES; i < KERNEL_FEATURES; i++)
        key[sizeof cell + i - KERNEL_SIZES] = row->features[i] != 0;
    uint32_t hash = (uint32_t)(hash_bytes(key, sizeof key).low & ((1U << HASH_BITS) - 1));
    return hash != 0 ? hash : 1;
}

/* The slot of a cell, or the free slot where it belongs; slot_count if there is neither. */
static uint32_t find(const float *slots, uint32_t slot_count, uint32_t cell) {
    assert((slot_count & (slot_count - 1)) == 0 && cell != 0);
    for (uint32_t i = 0; i < slot_count; i++) {
        uint32_t at = (cell + i) & (slot_count - 1);
        if (slots[at] == 0 || slots[at] == (float)cell) return at;
    }
    return slot_count;
}

bool kernel_seen_has(const kernel_seen *seen, const kernel_row *row) {
    uint32_t at = find(seen->slots, seen->slot_count, cell_of(row));
    return at < seen->slot_count && seen->slots[at] != 0;
}

/* --- Building -------------------------------------------------------------------------------------------------- */

/* Moves all cells to a table of `slot_count` slots. */
static ft_status rebuild(kernel_seen *seen, uint32_t slot_count, ft_error *error) {
    float *slots = calloc(slot_count, sizeof *slots);
    if (slots == NULL) return FT_NOMEM(error);
    for (uint32_t i = 0; i < seen->slot_count; i++)
        if (seen->slots[i] != 0) slots[find(slots, slot_count, (uint32_t)seen->slots[i])] = seen->slots[i];
    free(seen->own);
    seen->own = slots;
    seen->slots = slots;
    seen->slot_count = slot_count;
    return FT_OK;
}

ft_status kernel_seen_fit(const kernel_row *rows, uint32_t count, kernel_seen *seen, ft_error *error) {
    *seen = (kernel_seen){0};
    uint32_t used = 0;
    ft_status status = rebuild(seen, MIN_SLOTS, error);
    for (uint32_t i = 0; status == FT_OK && i < count; i++) {
        uint32_t cell = cell_of(&rows[i]), at = find(seen->own, seen->slot_count, cell);
        if (at == seen->slot_count || seen->own[at] != 0) continue;
        seen->own[at] = (float)cell;
        /* Half of the slots stay free, so that lookups of absent cells are short. */
        if (++used * 2 > seen->slot_count && seen->slot_count < MAX_SLOTS)
            status = rebuild(seen, seen->slot_count * 2, error);
    }
    if (status != FT_OK) kernel_seen_free(seen);
    return status;
}

void kernel_seen_free(kernel_seen *seen) {
    free(seen->own);
    *seen = (kernel_seen){0};
}

/* --- Saving and mapping -------------------------------------------------------------------------------------- */

bool kernel_seen_save(const kernel_seen *seen, float_block *block) {
    float slot_count = (float)seen->slot_count;
    return float_block_add(block, &slot_count, 1) && float_block_add(block, seen->slots, seen->slot_count);
}

ft_status kernel_seen_map(const float **block, size_t *left, kernel_seen *seen, ft_error *error) {
    if (*left < 1) return ft_fail(error, FT_ERR_DAMAGED, "kernel-sum: the block of floats is too short");
    float count = **block;
    if (!(count >= MIN_SLOTS && count <= MAX_SLOTS) || ((uint32_t)count & ((uint32_t)count - 1)) != 0)
        return ft_fail(error, FT_ERR_DAMAGED,
                       "kernel-sum: the size of a table of kernels is not a power of two from 16 to 4194304");
    if ((uint32_t)count > *left - 1)
        return ft_fail(error, FT_ERR_DAMAGED, "kernel-sum: the block of floats is too short");
    *seen = (kernel_seen){.slots = *block + 1, .slot_count = (uint32_t)count};
    *block += 1 + (size_t)seen->slot_count;
    *left -= 1 + (size_t)seen->slot_count;
    return FT_OK;
}
