/* allocator.c - a model of PyTorch's caching allocator, which tracks blocks without allocating their memory.
 *
 * Sizes are rounded up to 512 bytes. Small requests (up to 1 MiB) are served from segments of 2 MiB, others from
 * segments of 20 MiB or, from 10 MiB on, from a segment of their own, rounded up to 2 MiB. A request gets the smallest
 * free block that holds it (best fit); the rest of the block is split off when it is large enough. A freed block is
 * merged with free neighbours in its segment. Free blocks of each pool are ordered by size, then by address: there is a
 * tree for each sixteenth of a power of two, and a bit for each tree that is not empty. Most trees have a few blocks
 * and are found with a few bit operations; a step of a hundred thousand tensors of one size frees as many blocks of one
 * tree. */
#include "cost/allocator.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { NONE = -1, CLASS_BITS = 4, WORD_COUNT = 9, CLASS_COUNT = 64 * WORD_COUNT }; /* enough for MAX_ALLOCATION */

/* Sums of allocations of this size stay far below the range of 64 bits. */
static const uint64_t MAX_ALLOCATION = (uint64_t)1 << 44;

static const uint64_t unit = 512, mib = (uint64_t)1 << 20;

typedef struct block {
    uint64_t size, address; /* addresses order segments by the time they were reserved */
    int32_t before, after;  /* neighbours in the segment, or NONE */
    int32_t child[2];       /* of a free block in its tree, smaller and larger, or NONE */
    int32_t next_idle;      /* next in the list of candidates for allocator_empty_cache */
    bool is_free, is_small, is_idle;
} block;

typedef struct free_trees {
    int32_t root[CLASS_COUNT]; /* valid where the bit is set */
    uint64_t bits[WORD_COUNT];
} free_trees;

struct allocator {
    block *blocks;
    uint32_t block_count, block_capacity;
    int32_t recycled;   /* head of a list of block records that can be reused, linked by `after` */
    int32_t idle;       /* head of a list of blocks that are, or were, a whole free segment */
    free_trees free[2]; /* large, small */
    int32_t *block_of_id;
    uint32_t id_count;
    uint64_t limit, next_address;
    uint64_t reserved, allocated, reserved_peak, allocated_peak;
    uint64_t segment_changes; /* segments reserved and released */
    uint64_t stable_changes, stable_allocated;
    bool is_exhausted;
};

allocator *allocator_new(uint32_t id_count, uint64_t limit) {
    allocator *a = malloc(sizeof *a);
    if (a == NULL) return NULL;
    *a = (allocator){.id_count = id_count, .limit = limit, .recycled = NONE, .idle = NONE};
    a->block_of_id = malloc(((size_t)id_count + 1) * sizeof *a->block_of_id);
    if (a->block_of_id == NULL) {
        free(a);
        return NULL;
    }
    for (uint32_t i = 0; i <= id_count; i++) a->block_of_id[i] = NONE;
    return a;
}

void allocator_free(allocator *a) {
    if (a == NULL) return;
    free(a->blocks);
    free(a->block_of_id);
    free(a);
}

/* --- Free blocks --------------------------------------------------------------------------------------------- */

static uint32_t class_of(uint64_t size) {
    uint64_t units = size / unit;
    if (units < 1U << CLASS_BITS) return (uint32_t)units;
    uint32_t shift = 63 - CLASS_BITS - (uint32_t)__builtin_clzll(units);
    uint32_t size_class = (shift << CLASS_BITS) + (uint32_t)(units >> shift);
    assert(size_class < CLASS_COUNT);
    return size_class;
}

static bool is_before(const block *x, const block *y) {
    return x->size != y->size ? x->size < y->size : x->address < y->address;
}

/* A tree is a treap: ordered by size and address, and a heap by these numbers, which make it as deep as one whose
 * blocks came in random order: some 2 ln n. */
static uint32_t priority_of(int32_t b) {
    uint32_t x = (uint32_t)b * UINT32_C(0x9E3779B1);
    x = (x ^ x >> 15) * UINT32_C(0x85EBCA77);
    return x ^ x >> 13;
}

/* The tree `from` as two: blocks before `key`, and those behind. */
static void split_tree(block *blocks, int32_t from, const block *key, int32_t *smaller, int32_t *larger) {
    while (from != NONE) {
        bool is_smaller = is_before(&blocks[from], key);
        int32_t **hole = is_smaller ? &smaller : &larger;
        **hole = from;
        *hole = &blocks[from].child[is_smaller];
        from = **hole;
    }
    *smaller = *larger = NONE;
}

/* Two trees as one; all blocks of `smaller` are before those of `larger`. */
static int32_t merge_trees(block *blocks, int32_t smaller, int32_t larger) {
    int32_t root, *hole = &root;
    while (smaller != NONE && larger != NONE) {
        bool is_smaller = priority_of(smaller) > priority_of(larger);
        int32_t *top = is_smaller ? &smaller : &larger;
        *hole = *top;
        hole = &blocks[*top].child[is_smaller];
        *top = *hole;
    }
    *hole = smaller != NONE ? smaller : larger;
    return root;
}

static void insert_free(allocator *a, int32_t b) {
    block *own = &a->blocks[b];
    free_trees *trees = &a->free[own->is_small];
    uint32_t size_class = class_of(own->size), priority = priority_of(b);
    uint64_t *word = &trees->bits[size_class / 64], bit = (uint64_t)1 << size_class % 64;
    int32_t *hole = &trees->root[size_class];
    if ((*word & bit) == 0) *hole = NONE;
    while (*hole != NONE && priority_of(*hole) > priority)
        hole = &a->blocks[*hole].child[is_before(&a->blocks[*hole], own)];
    split_tree(a->blocks, *hole, own, &own->child[0], &own->child[1]);
    *hole = b;
    own->is_free = true;
    *word |= bit;
}

static void remove_free(allocator *a, int32_t b) {
    block *own = &a->blocks[b];
    free_trees *trees = &a->free[own->is_small];
    uint32_t size_class = class_of(own->size);
    int32_t *hole = &trees->root[size_class];
    assert(own->is_free);
    while (*hole != b) {
        assert(*hole != NONE);
        hole = &a->blocks[*hole].child[is_before(&a->blocks[*hole], own)];
    }
    *hole = merge_trees(a->blocks, own->child[0], own->child[1]);
    own->is_free = false;
    if (trees->root[size_class] == NONE) trees->bits[size_class / 64] &= ~((uint64_t)1 << size_class % 64);
}

static void resize_block(allocator *a, int32_t b, uint64_t size, uint64_t address) {
    block *own = &a->blocks[b];
    uint32_t size_class = class_of(own->size);
    bool is_alone = a->free[own->is_small].root[size_class] == b && own->child[0] == NONE && own->child[1] == NONE;
    bool stays = is_alone && class_of(size) == size_class;
    if (!stays) remove_free(a, b);
    own->size = size;
    own->address = address;
    if (!stays) insert_free(a, b);
}

/* The smallest block of a tree that holds `size`, or NONE. */
static int32_t find_in_tree(const allocator *a, int32_t b, uint64_t size) {
    int32_t best = NONE;
    while (b != NONE) {
        bool is_enough = a->blocks[b].size >= size;
        if (is_enough) best = b;
        b = a->blocks[b].child[!is_enough];
    }
    return best;
}

/* The root of the first tree from `size_class` on, or NONE. */
static int32_t root_from(const free_trees *trees, uint32_t size_class) {
    uint32_t word = size_class / 64;
    uint64_t bits = trees->bits[word] >> size_class % 64 << size_class % 64;
    while (bits == 0 && ++word < WORD_COUNT) bits = trees->bits[word];
    return bits == 0 ? NONE : trees->root[word * 64 + (uint32_t)__builtin_ctzll(bits)];
}

/* The smallest free block that holds `size`, or NONE. Blocks of the first tree may be too small. */
static int32_t find(const allocator *a, const free_trees *trees, uint64_t size) {
    uint32_t size_class = class_of(size);
    int32_t b = find_in_tree(a, root_from(trees, size_class), size);
    return b != NONE ? b : find_in_tree(a, root_from(trees, size_class + 1), size);
}

/* --- Blocks -------------------------------------------------------------------------------------------------- */

static int32_t new_block(allocator *a) {
    if (a->recycled != NONE) {
        int32_t b = a->recycled;
        a->recycled = a->blocks[b].after;
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

static void recycle_block(allocator *a, int32_t b) {
    a->blocks[b].is_free = false;
    a->blocks[b].after = a->recycled;
    a->recycled = b;
}

static uint64_t segment_size(uint64_t size) {
    if (size <= mib) return 2 * mib;
    if (size < 10 * mib) return 20 * mib;
    return (size + 2 * mib - 1) / (2 * mib) * (2 * mib);
}

static bool is_whole_segment(const block *b) {
    return b->before == NONE && b->after == NONE;
}

static void list_idle(allocator *a, int32_t b) {
    block *own = &a->blocks[b];
    if (!is_whole_segment(own) || own->is_idle) return;
    own->is_idle = true;
    own->next_idle = a->idle;
    a->idle = b;
}

void allocator_empty_cache(allocator *a) {
    for (int32_t b = a->idle; b != NONE; b = a->blocks[b].next_idle) {
        a->blocks[b].is_idle = false;
        if (!a->blocks[b].is_free || !is_whole_segment(&a->blocks[b])) continue; /* in use again since it was listed */
        assert(a->reserved >= a->blocks[b].size);
        a->reserved -= a->blocks[b].size;
        a->segment_changes++;
        remove_free(a, b);
        recycle_block(a, b);
    }
    a->idle = NONE;
}

static int32_t new_segment(allocator *a, uint64_t size) {
    uint64_t bytes = segment_size(size);
    if (a->reserved + bytes > a->limit) allocator_empty_cache(a);
    if (a->reserved + bytes > a->limit) a->is_exhausted = true;
    int32_t b = new_block(a);
    if (b == NONE) return NONE;
    block *own = &a->blocks[b];
    own->size = bytes;
    own->address = a->next_address;
    own->before = own->after = NONE;
    own->is_free = false;
    own->is_small = size <= mib;
    a->next_address += bytes;
    a->reserved += bytes;
    a->segment_changes++;
    if (a->reserved > a->reserved_peak) a->reserved_peak = a->reserved;
    return b;
}

static bool is_worth_splitting(const block *b, uint64_t size) {
    uint64_t left = b->size - size;
    return b->is_small ? left >= unit : left > mib;
}

/* Splits a block of `size` off the beginning of the free block `rest`; NONE when out of memory. */
static int32_t split(allocator *a, int32_t rest, uint64_t size) {
    int32_t b = new_block(a);
    if (b == NONE) return NONE;
    block *own = &a->blocks[b], *after = &a->blocks[rest];
    assert(after->is_free && after->size > size);
    own->size = size;
    own->address = after->address;
    own->before = after->before;
    own->after = rest;
    own->is_free = false;
    own->is_small = after->is_small;
    if (own->before != NONE) a->blocks[own->before].after = b;
    after->before = b;
    resize_block(a, rest, after->size - size, after->address + size);
    return b;
}

/* --- Allocations --------------------------------------------------------------------------------------------- */

static uint64_t rounded(uint64_t bytes) {
    if (bytes > MAX_ALLOCATION) bytes = MAX_ALLOCATION;
    return (bytes + unit - 1) / unit * unit;
}

static void update_peak(allocator *a, uint64_t allocated) {
    if (allocated > a->allocated_peak) a->allocated_peak = allocated;
}

/* A free block that holds `size`, in a new segment when there is none; NONE when out of memory. */
static int32_t find_or_reserve(allocator *a, uint64_t size) {
    int32_t b = find(a, &a->free[size <= mib], size);
    if (b != NONE) return b;
    b = new_segment(a, size);
    if (b == NONE) return NONE;
    insert_free(a, b);
    list_idle(a, b);
    return b;
}

bool allocator_allocate(allocator *a, uint32_t id, uint64_t bytes) {
    assert(id < a->id_count && a->block_of_id[id] == NONE);
    if (bytes == 0) return true;
    uint64_t size = rounded(bytes);
    int32_t b = find_or_reserve(a, size);
    if (b == NONE) return false;
    if (is_worth_splitting(&a->blocks[b], size))
        b = split(a, b, size);
    else
        remove_free(a, b);
    if (b == NONE) return false;
    a->block_of_id[id] = b;
    a->allocated += a->blocks[b].size;
    update_peak(a, a->allocated);
    return true;
}

bool allocator_allocate_scratch(allocator *a, uint64_t bytes) {
    if (bytes == 0) return true;
    uint64_t size = rounded(bytes);
    int32_t b = find_or_reserve(a, size);
    if (b == NONE) return false;
    update_peak(a, a->allocated + (is_worth_splitting(&a->blocks[b], size) ? size : a->blocks[b].size));
    return true;
}

/* Extends the block before `b` over `b`, whose record is recycled. */
static void join(allocator *a, int32_t before, int32_t b) {
    int32_t after = a->blocks[b].after;
    a->blocks[before].after = after;
    if (after != NONE) a->blocks[after].before = before;
    recycle_block(a, b);
}

void allocator_deallocate(allocator *a, uint32_t id) {
    assert(id < a->id_count);
    int32_t b = a->block_of_id[id];
    if (b == NONE) return;
    const block *own = &a->blocks[b];
    int32_t before = own->before, after = own->after;
    bool joins_before = before != NONE && a->blocks[before].is_free;
    bool joins_after = after != NONE && a->blocks[after].is_free;
    uint64_t size = own->size, address = own->address;
    a->block_of_id[id] = NONE;
    assert(!own->is_free && a->allocated >= size);
    a->allocated -= size;
    if (joins_before && joins_after) {
        size += a->blocks[after].size;
        remove_free(a, after);
        join(a, b, after);
    }
    if (joins_before) {
        join(a, before, b);
        resize_block(a, before, a->blocks[before].size + size, a->blocks[before].address);
        list_idle(a, before);
    } else if (joins_after) { /* the neighbour keeps its record */
        a->blocks[after].before = before;
        if (before != NONE) a->blocks[before].after = after;
        recycle_block(a, b);
        resize_block(a, after, a->blocks[after].size + size, address);
        list_idle(a, after);
    } else {
        insert_free(a, b);
        list_idle(a, b);
    }
}

void allocator_deallocate_below(allocator *a, uint32_t end) {
    for (uint32_t i = 0; i < end; i++)
        if (a->block_of_id[i] != NONE) allocator_deallocate(a, i);
}

void allocator_rename(allocator *a, uint32_t id, uint32_t from) {
    assert(id < a->id_count && from < a->id_count && id != from);
    a->block_of_id[id] = a->block_of_id[from];
    a->block_of_id[from] = NONE;
}

bool allocator_is_stable(allocator *a) {
    bool is_stable = a->segment_changes == a->stable_changes && a->allocated == a->stable_allocated;
    a->stable_changes = a->segment_changes;
    a->stable_allocated = a->allocated;
    return is_stable;
}

uint64_t allocator_peak_reserved(const allocator *a) {
    return a->reserved_peak;
}

uint64_t allocator_peak_allocated(const allocator *a) {
    return a->allocated_peak;
}

bool allocator_is_exhausted(const allocator *a) {
    return a->is_exhausted;
}
