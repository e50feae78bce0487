/* kernel_near.c - see kernel_near.h. */
#include "predictor/kernel/kernel_near.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/hash.h"

enum { HASH_BITS = 24, LEAST_SLOTS = 16, MOST_SLOTS = 1 << 22 };

/* --- Cells --------------------------------------------------------------------------------------------------- */

/* Windows, strides and inputs are few numbers, told apart as they are; sizes are told apart by powers of two. */
static const uint32_t exact[] = {FEATURE_WINDOW, FEATURE_STRIDE, FEATURE_INPUTS};
static const uint32_t rough[] = {FEATURE_IN_HEIGHT, FEATURE_IN_CHANNELS, FEATURE_OUT_CHANNELS};

enum { EXACT = sizeof exact / sizeof exact[0], ROUGH = sizeof rough / sizeof rough[0] };

/* From 1 to 2^24 - 1, which a float holds exactly. */
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

/* The slot that has a cell, or the free one where it belongs; slot_count when there is neither. */
static uint32_t find(const float *slots, uint32_t slot_count, uint32_t cell) {
    for (uint32_t i = 0; i < slot_count; i++) {
        uint32_t at = (cell + i) & (slot_count - 1);
        if (slots[at] == 0 || slots[at] == (float)cell) return at;
    }
    return slot_count;
}

bool kernel_near_has(const kernel_near *near, const kernel_row *row) {
    uint32_t at = find(near->slots, near->slot_count, cell_of(row));
    return at < near->slot_count && near->slots[at] != 0;
}

/* --- Making -------------------------------------------------------------------------------------------------- */

/* A table of so many slots with all that is in the old one. */
static ft_status rebuild(kernel_near *near, uint32_t slot_count, ft_error *error) {
    float *slots = calloc(slot_count, sizeof *slots);
    if (slots == NULL) return FT_NOMEM(error);
    for (uint32_t i = 0; i < near->slot_count; i++)
        if (near->slots[i] != 0) slots[find(slots, slot_count, (uint32_t)near->slots[i])] = near->slots[i];
    free(near->own);
    near->own = slots;
    near->slots = slots;
    near->slot_count = slot_count;
    return FT_OK;
}

ft_status kernel_near_fit(const kernel_row *rows, uint32_t count, kernel_near *near, ft_error *error) {
    *near = (kernel_near){0};
    uint32_t used = 0;
    ft_status status = rebuild(near, LEAST_SLOTS, error);
    for (uint32_t i = 0; status == FT_OK && i < count; i++) {
        uint32_t cell = cell_of(&rows[i]), at = find(near->own, near->slot_count, cell);
        if (at == near->slot_count || near->own[at] != 0) continue;
        near->own[at] = (float)cell;
        /* Half of it stays free: what is not there is soon known not to be. */
        if (++used * 2 > near->slot_count && near->slot_count < MOST_SLOTS)
            status = rebuild(near, near->slot_count * 2, error);
    }
    if (status != FT_OK) kernel_near_free(near);
    return status;
}

void kernel_near_free(kernel_near *near) {
    free(near->own);
    *near = (kernel_near){0};
}

/* --- Keeping ------------------------------------------------------------------------------------------------- */

bool kernel_near_save(const kernel_near *near, float_block *block) {
    float slot_count = (float)near->slot_count;
    return float_block_add(block, &slot_count, 1) && float_block_add(block, near->slots, near->slot_count);
}

ft_status kernel_near_map(const float **block, size_t *left, kernel_near *near, ft_error *error) {
    if (*left < 1) return ft_fail(error, FT_ERR_DAMAGED, "kernel-sum: the block of floats is too short");
    float count = **block;
    if (!(count >= LEAST_SLOTS && count <= MOST_SLOTS) || ((uint32_t)count & ((uint32_t)count - 1)) != 0)
        return ft_fail(error, FT_ERR_DAMAGED, "kernel-sum: a table of kernels has no size that it can have");
    if ((uint32_t)count > *left - 1)
        return ft_fail(error, FT_ERR_DAMAGED, "kernel-sum: the block of floats is too short");
    *near = (kernel_near){.slots = *block + 1, .slot_count = (uint32_t)count};
    *block += 1 + (size_t)near->slot_count;
    *left -= 1 + (size_t)near->slot_count;
    return FT_OK;
}
