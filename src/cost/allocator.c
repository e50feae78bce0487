/* allocator.c - PyTorch's caching allocator, without the memory.
 *
 * Sizes are rounded up to 512 bytes. Small pieces (up to 1 MiB) come from segments of 2 MiB, others from segments of 20
 * MiB or, from 10 MiB on, from one of their own, rounded up to 2 MiB. A piece goes into the smallest free block that
 * holds it, and what is left over becomes a block when it is worth it. A block that is given back joins free
 * neighbours in its segment. Free blocks of each pool are kept in order of size, then of place. */
#include "cost/allocator.h"

#include <stdlib.h>
#include <string.h>

enum { NONE = -1 };

/* No sum of pieces of this size comes near the end of the range. */
static const uint64_t ALLOCATOR_MOST = (uint64_t)1 << 44;

static const uint64_t unit = 512, mib = (uint64_t)1 << 20;

typedef struct block {
    uint64_t size, place;  /* place: an address that says which segment came first */
    int32_t before, after; /* neighbours in the segment, or NONE */
    bool is_free, is_small;
} block;

typedef struct free_list {
    int32_t *items;
    uint32_t count, capacity;
} free_list;

struct allocator {
    block *blocks;
    uint32_t block_count, block_capacity;
    int32_t unused;    /* head of a list of blocks that were joined to others, linked by `after` */
    free_list free[2]; /* large, small */
    int32_t *of_piece;
    uint64_t limit, next_place;
    uint64_t reserved, taken, reserved_peak, taken_peak;
    bool is_over;
    bool is_broken; /* out of memory (ours) while something was given back */
};

allocator *allocator_new(uint32_t pieces, uint64_t limit) {
    allocator *a = calloc(1, sizeof *a);
    if (a == NULL) return NULL;
    a->of_piece = malloc(((size_t)pieces + 1) * sizeof *a->of_piece);
    if (a->of_piece == NULL) {
        free(a);
        return NULL;
    }
    for (uint32_t i = 0; i <= pieces; i++) a->of_piece[i] = NONE;
    a->limit = limit;
    a->unused = NONE;
    return a;
}

void allocator_free(allocator *a) {
    if (a == NULL) return;
    free(a->blocks);
    free(a->free[0].items);
    free(a->free[1].items);
    free(a->of_piece);
    free(a);
}

/* --- Free blocks --------------------------------------------------------------------------------------------- */

static bool is_before(const block *x, uint64_t size, uint64_t place) {
    return x->size != size ? x->size < size : x->place < place;
}

/* The first of the list that is not before (size, place). */
static uint32_t find(const allocator *a, const free_list *list, uint64_t size, uint64_t place) {
    uint32_t low = 0, high = list->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (is_before(&a->blocks[list->items[middle]], size, place))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool list_block(allocator *a, int32_t b) {
    free_list *list = &a->free[a->blocks[b].is_small];
    if (list->count == list->capacity) {
        uint32_t larger = list->capacity == 0 ? 64 : list->capacity * 2;
        int32_t *items = realloc(list->items, larger * sizeof *items);
        if (items == NULL) return false;
        list->items = items;
        list->capacity = larger;
    }
    uint32_t at = find(a, list, a->blocks[b].size, a->blocks[b].place);
    memmove(list->items + at + 1, list->items + at, (list->count - at) * sizeof *list->items);
    list->items[at] = b;
    list->count++;
    a->blocks[b].is_free = true;
    return true;
}

static void unlist(allocator *a, free_list *list, uint32_t at) {
    a->blocks[list->items[at]].is_free = false;
    list->count--;
    memmove(list->items + at, list->items + at + 1, (list->count - at) * sizeof *list->items);
}

static void unlist_block(allocator *a, int32_t b) {
    free_list *list = &a->free[a->blocks[b].is_small];
    unlist(a, list, find(a, list, a->blocks[b].size, a->blocks[b].place));
}

/* --- Blocks -------------------------------------------------------------------------------------------------- */

static int32_t new_block(allocator *a) {
    if (a->unused != NONE) {
        int32_t b = a->unused;
        a->unused = a->blocks[b].after;
        return b;
    }
    if (a->block_count == a->block_capacity) {
        uint32_t larger = a->block_capacity == 0 ? 256 : a->block_capacity * 2;
        block *blocks = realloc(a->blocks, larger * sizeof *blocks);
        if (blocks == NULL) return NONE;
        a->blocks = blocks;
        a->block_capacity = larger;
    }
    return (int32_t)a->block_count++;
}

static void drop_block(allocator *a, int32_t b) {
    a->blocks[b] = (block){.after = a->unused};
    a->unused = b;
}

static uint64_t segment_size(uint64_t size) {
    if (size <= mib) return 2 * mib;
    if (size < 10 * mib) return 20 * mib;
    return (size + 2 * mib - 1) / (2 * mib) * (2 * mib);
}

/* Segments without a piece go back to the driver. */
void allocator_release(allocator *a) {
    for (int pool = 0; pool < 2; pool++) {
        free_list *list = &a->free[pool];
        uint32_t kept = 0;
        for (uint32_t i = 0; i < list->count; i++) {
            int32_t b = list->items[i];
            bool is_whole = a->blocks[b].before == NONE && a->blocks[b].after == NONE;
            if (!is_whole) {
                list->items[kept++] = b;
                continue;
            }
            a->reserved -= a->blocks[b].size;
            drop_block(a, b);
        }
        list->count = kept;
    }
}

static int32_t new_segment(allocator *a, uint64_t size) {
    uint64_t bytes = segment_size(size);
    if (a->reserved + bytes > a->limit) allocator_release(a);
    if (a->reserved + bytes > a->limit) a->is_over = true;
    int32_t b = new_block(a);
    if (b == NONE) return NONE;
    a->blocks[b] =
        (block){.size = bytes, .place = a->next_place, .before = NONE, .after = NONE, .is_small = size <= mib};
    a->next_place += bytes;
    a->reserved += bytes;
    if (a->reserved > a->reserved_peak) a->reserved_peak = a->reserved;
    return b;
}

/* The end of a block that is larger than it need be becomes one of its own. */
static bool split(allocator *a, int32_t b, uint64_t size) {
    uint64_t left = a->blocks[b].size - size;
    if (a->blocks[b].is_small ? left < unit : left <= mib) return true;
    int32_t rest = new_block(a);
    if (rest == NONE) return false;
    block *first = &a->blocks[b];
    a->blocks[rest] = (block){
        .size = left, .place = first->place + size, .before = b, .after = first->after, .is_small = first->is_small};
    if (first->after != NONE) a->blocks[first->after].before = rest;
    first->after = rest;
    first->size = size;
    return list_block(a, rest);
}

static void join_after(allocator *a, int32_t b) {
    int32_t next = a->blocks[b].after;
    if (next == NONE || !a->blocks[next].is_free) return;
    unlist_block(a, next);
    a->blocks[b].size += a->blocks[next].size;
    a->blocks[b].after = a->blocks[next].after;
    if (a->blocks[next].after != NONE) a->blocks[a->blocks[next].after].before = b;
    drop_block(a, next);
}

/* --- Pieces -------------------------------------------------------------------------------------------------- */

bool allocator_take(allocator *a, uint32_t piece, uint64_t bytes) {
    if (a->is_broken) return false;
    if (bytes == 0) return true;
    if (bytes > ALLOCATOR_MOST) bytes = ALLOCATOR_MOST;
    uint64_t size = (bytes + unit - 1) / unit * unit;
    free_list *list = &a->free[size <= mib];
    uint32_t at = find(a, list, size, 0);
    int32_t b = NONE;
    if (at < list->count) {
        b = list->items[at];
        unlist(a, list, at);
    } else {
        b = new_segment(a, size);
        if (b == NONE) return false;
    }
    if (!split(a, b, size)) return false;
    a->of_piece[piece] = b;
    a->taken += a->blocks[b].size;
    if (a->taken > a->taken_peak) a->taken_peak = a->taken;
    return true;
}

void allocator_give(allocator *a, uint32_t piece) {
    int32_t b = a->of_piece[piece];
    if (b == NONE) return;
    a->of_piece[piece] = NONE;
    a->taken -= a->blocks[b].size;
    join_after(a, b);
    int32_t before = a->blocks[b].before;
    if (before != NONE && a->blocks[before].is_free) {
        unlist_block(a, before);
        a->blocks[before].size += a->blocks[b].size;
        a->blocks[before].after = a->blocks[b].after;
        if (a->blocks[b].after != NONE) a->blocks[a->blocks[b].after].before = before;
        drop_block(a, b);
        b = before;
    }
    if (!list_block(a, b)) a->is_broken = true;
}

void allocator_pass_on(allocator *a, uint32_t piece, uint32_t from) {
    a->of_piece[piece] = a->of_piece[from];
    a->of_piece[from] = NONE;
}

uint64_t allocator_reserved(const allocator *a) {
    return a->reserved_peak;
}

uint64_t allocator_taken(const allocator *a) {
    return a->taken_peak;
}

bool allocator_is_over(const allocator *a) {
    return a->is_over;
}
