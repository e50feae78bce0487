/* allocator.c - PyTorch's caching allocator, without the memory.
 *
 * Sizes are rounded up to 512 bytes. Small pieces (up to 1 MiB) come from segments of 2 MiB, others from segments of 20
 * MiB or, from 10 MiB on, from one of their own, rounded up to 2 MiB. A piece goes into the smallest free block that
 * holds it, and what is left over becomes a block when it is worth it. A block that is given back joins free
 * neighbours in its segment. Free blocks of each pool are in order of size, then of place: there is a list for each
 * sixteenth of a power of two, and a bit for each list that is not empty, so lists are short and found at once. */
#include "cost/allocator.h"

#include <stdlib.h>
#include <string.h>

enum { NONE = -1, CLASS_BITS = 4, WORDS = 9, CLASSES = 64 * WORDS }; /* enough for the largest segment */

/* No sum of pieces of this size comes near the end of the range. */
static const uint64_t ALLOCATOR_MOST = (uint64_t)1 << 44;

static const uint64_t unit = 512, mib = (uint64_t)1 << 20;

typedef struct block {
    uint64_t size, place;    /* place: an address that says which segment came first */
    int32_t before, after;   /* neighbours in the segment, or NONE */
    int32_t smaller, larger; /* neighbours in the list of free blocks, or NONE */
    int32_t next_idle;       /* in the list of blocks that may be a segment without a piece */
    bool is_free, is_small, is_idle;
} block;

typedef struct free_lists {
    int32_t first[CLASSES]; /* where the bit is set */
    uint64_t bits[WORDS];
} free_lists;

struct allocator {
    block *blocks;
    uint32_t block_count, block_capacity;
    int32_t unused;     /* head of a list of blocks that were joined to others, linked by `after` */
    int32_t idle;       /* head of a list: all segments without a piece are in it, and blocks that were one */
    free_lists free[2]; /* large, small */
    int32_t *of_piece;
    uint64_t limit, next_place;
    uint64_t reserved, taken, reserved_peak, taken_peak;
    uint64_t changes; /* segments that came and went */
    uint64_t settled_changes, settled_taken;
    bool is_over;
};

allocator *allocator_new(uint32_t pieces, uint64_t limit) {
    allocator *a = malloc(sizeof *a);
    if (a == NULL) return NULL;
    *a = (allocator){.limit = limit, .unused = NONE, .idle = NONE};
    a->of_piece = malloc(((size_t)pieces + 1) * sizeof *a->of_piece);
    if (a->of_piece == NULL) {
        free(a);
        return NULL;
    }
    for (uint32_t i = 0; i <= pieces; i++) a->of_piece[i] = NONE;
    return a;
}

void allocator_free(allocator *a) {
    if (a == NULL) return;
    free(a->blocks);
    free(a->of_piece);
    free(a);
}

/* --- Free blocks --------------------------------------------------------------------------------------------- */

static uint32_t class_of(uint64_t size) {
    uint64_t units = size / unit;
    if (units < 1U << CLASS_BITS) return (uint32_t)units;
    uint32_t shift = 63 - CLASS_BITS - (uint32_t)__builtin_clzll(units);
    return (shift << CLASS_BITS) + (uint32_t)(units >> shift);
}

static bool is_before(const block *x, const block *y) {
    return x->size != y->size ? x->size < y->size : x->place < y->place;
}

static void list_block(allocator *a, int32_t b) {
    block *own = &a->blocks[b];
    free_lists *lists = &a->free[own->is_small];
    uint32_t class_at = class_of(own->size);
    uint64_t *word = &lists->bits[class_at / 64], bit = (uint64_t)1 << class_at % 64;
    int32_t smaller = NONE, larger = (*word & bit) != 0 ? lists->first[class_at] : NONE;
    while (larger != NONE && is_before(&a->blocks[larger], own)) {
        smaller = larger;
        larger = a->blocks[larger].larger;
    }
    own->smaller = smaller;
    own->larger = larger;
    own->is_free = true;
    if (larger != NONE) a->blocks[larger].smaller = b;
    if (smaller != NONE)
        a->blocks[smaller].larger = b;
    else
        lists->first[class_at] = b;
    *word |= bit;
}

static void unlist_block(allocator *a, int32_t b) {
    block *own = &a->blocks[b];
    own->is_free = false;
    if (own->larger != NONE) a->blocks[own->larger].smaller = own->smaller;
    if (own->smaller != NONE) {
        a->blocks[own->smaller].larger = own->larger;
        return;
    }
    free_lists *lists = &a->free[own->is_small];
    uint32_t class_at = class_of(own->size);
    lists->first[class_at] = own->larger;
    if (own->larger == NONE) lists->bits[class_at / 64] &= ~((uint64_t)1 << class_at % 64);
}

static void resize_block(allocator *a, int32_t b, uint64_t size, uint64_t place) {
    block *own = &a->blocks[b];
    block changed = {.size = size, .place = place};
    bool is_in_order = class_of(size) == class_of(own->size) &&
                       (own->smaller == NONE || is_before(&a->blocks[own->smaller], &changed)) &&
                       (own->larger == NONE || is_before(&changed, &a->blocks[own->larger]));
    if (!is_in_order) unlist_block(a, b);
    own->size = size;
    own->place = place;
    if (!is_in_order) list_block(a, b);
}

/* The first block of the first list from `class_at` on, or NONE. */
static int32_t first_from(const free_lists *lists, uint32_t class_at) {
    uint32_t word = class_at / 64;
    uint64_t bits = lists->bits[word] >> class_at % 64 << class_at % 64;
    while (bits == 0 && ++word < WORDS) bits = lists->bits[word];
    return bits == 0 ? NONE : lists->first[word * 64 + (uint32_t)__builtin_ctzll(bits)];
}

/* The smallest that holds `size`, or NONE. Of the first list, some may be too small. */
static int32_t find(const allocator *a, const free_lists *lists, uint64_t size) {
    uint32_t class_at = class_of(size);
    int32_t b = first_from(lists, class_at);
    while (b != NONE && a->blocks[b].size < size) b = a->blocks[b].larger;
    return b != NONE ? b : first_from(lists, class_at + 1);
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
    a->blocks[a->block_count].is_idle = false;
    return (int32_t)a->block_count++;
}

static void drop_block(allocator *a, int32_t b) {
    a->blocks[b].is_free = false;
    a->blocks[b].after = a->unused;
    a->unused = b;
}

static uint64_t segment_size(uint64_t size) {
    if (size <= mib) return 2 * mib;
    if (size < 10 * mib) return 20 * mib;
    return (size + 2 * mib - 1) / (2 * mib) * (2 * mib);
}

static bool is_whole(const block *b) {
    return b->before == NONE && b->after == NONE;
}

static void note_idle(allocator *a, int32_t b) {
    block *own = &a->blocks[b];
    if (!is_whole(own) || own->is_idle) return;
    own->is_idle = true;
    own->next_idle = a->idle;
    a->idle = b;
}

/* Segments without a piece go back to the driver. */
void allocator_release(allocator *a) {
    for (int32_t b = a->idle; b != NONE; b = a->blocks[b].next_idle) {
        a->blocks[b].is_idle = false;
        if (!a->blocks[b].is_free || !is_whole(&a->blocks[b])) continue; /* in use again */
        a->reserved -= a->blocks[b].size;
        a->changes++;
        unlist_block(a, b);
        drop_block(a, b);
    }
    a->idle = NONE;
}

static int32_t new_segment(allocator *a, uint64_t size) {
    uint64_t bytes = segment_size(size);
    if (a->reserved + bytes > a->limit) allocator_release(a);
    if (a->reserved + bytes > a->limit) a->is_over = true;
    int32_t b = new_block(a);
    if (b == NONE) return NONE;
    block *own = &a->blocks[b];
    own->size = bytes;
    own->place = a->next_place;
    own->before = own->after = NONE;
    own->is_free = false;
    own->is_small = size <= mib;
    a->next_place += bytes;
    a->reserved += bytes;
    a->changes++;
    if (a->reserved > a->reserved_peak) a->reserved_peak = a->reserved;
    return b;
}

static bool is_worth_splitting(const block *b, uint64_t size) {
    uint64_t left = b->size - size;
    return b->is_small ? left >= unit : left > mib;
}

/* The beginning of a free block that is larger than it need be becomes one of its own; NONE when out of memory. */
static int32_t split(allocator *a, int32_t rest, uint64_t size) {
    int32_t b = new_block(a);
    if (b == NONE) return NONE;
    block *own = &a->blocks[b], *after = &a->blocks[rest];
    own->size = size;
    own->place = after->place;
    own->before = after->before;
    own->after = rest;
    own->is_free = false;
    own->is_small = after->is_small;
    if (own->before != NONE) a->blocks[own->before].after = b;
    after->before = b;
    resize_block(a, rest, after->size - size, after->place + size);
    return b;
}

/* --- Pieces -------------------------------------------------------------------------------------------------- */

static uint64_t rounded(uint64_t bytes) {
    if (bytes > ALLOCATOR_MOST) bytes = ALLOCATOR_MOST;
    return (bytes + unit - 1) / unit * unit;
}

static void see_taken(allocator *a, uint64_t taken) {
    if (taken > a->taken_peak) a->taken_peak = taken;
}

/* A free block that holds `size`, or NONE when out of memory. */
static int32_t room_for(allocator *a, uint64_t size) {
    int32_t b = find(a, &a->free[size <= mib], size);
    if (b != NONE) return b;
    b = new_segment(a, size);
    if (b == NONE) return NONE;
    list_block(a, b);
    note_idle(a, b);
    return b;
}

bool allocator_take(allocator *a, uint32_t piece, uint64_t bytes) {
    if (bytes == 0) return true;
    uint64_t size = rounded(bytes);
    int32_t b = room_for(a, size);
    if (b == NONE) return false;
    if (is_worth_splitting(&a->blocks[b], size))
        b = split(a, b, size);
    else
        unlist_block(a, b);
    if (b == NONE) return false;
    a->of_piece[piece] = b;
    a->taken += a->blocks[b].size;
    see_taken(a, a->taken);
    return true;
}

bool allocator_borrow(allocator *a, uint64_t bytes) {
    if (bytes == 0) return true;
    uint64_t size = rounded(bytes);
    int32_t b = room_for(a, size);
    if (b == NONE) return false;
    see_taken(a, a->taken + (is_worth_splitting(&a->blocks[b], size) ? size : a->blocks[b].size));
    return true;
}

/* The neighbour before `b` goes up to its end, and `b` is no more. */
static void join(allocator *a, int32_t before, int32_t b) {
    int32_t after = a->blocks[b].after;
    a->blocks[before].after = after;
    if (after != NONE) a->blocks[after].before = before;
    drop_block(a, b);
}

void allocator_give(allocator *a, uint32_t piece) {
    int32_t b = a->of_piece[piece];
    if (b == NONE) return;
    const block *own = &a->blocks[b];
    int32_t before = own->before, after = own->after;
    bool joins_before = before != NONE && a->blocks[before].is_free;
    bool joins_after = after != NONE && a->blocks[after].is_free;
    uint64_t size = own->size, place = own->place;
    a->of_piece[piece] = NONE;
    a->taken -= size;
    if (joins_before && joins_after) {
        size += a->blocks[after].size;
        unlist_block(a, after);
        join(a, b, after);
    }
    if (joins_before) {
        join(a, before, b);
        resize_block(a, before, a->blocks[before].size + size, a->blocks[before].place);
        note_idle(a, before);
    } else if (joins_after) { /* what is listed already stays */
        a->blocks[after].before = before;
        if (before != NONE) a->blocks[before].after = after;
        drop_block(a, b);
        resize_block(a, after, a->blocks[after].size + size, place);
        note_idle(a, after);
    } else {
        list_block(a, b);
        note_idle(a, b);
    }
}

void allocator_give_below(allocator *a, uint32_t end) {
    for (uint32_t i = 0; i < end; i++)
        if (a->of_piece[i] != NONE) allocator_give(a, i);
}

void allocator_pass_on(allocator *a, uint32_t piece, uint32_t from) {
    a->of_piece[piece] = a->of_piece[from];
    a->of_piece[from] = NONE;
}

bool allocator_is_settled(allocator *a) {
    bool is_settled = a->changes == a->settled_changes && a->taken == a->settled_taken;
    a->settled_changes = a->changes;
    a->settled_taken = a->taken;
    return is_settled;
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
