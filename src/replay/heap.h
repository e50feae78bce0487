/* heap.h - a binary min-heap of small entries, for ready tasks and coming events.
 *
 * Entries of equal rank are ordered by id, so the result does not depend on the order of insertion. */
#ifndef REPLAY_HEAP_H
#define REPLAY_HEAP_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct heap_entry {
    uint32_t group; /* compared first, */
    double rank;    /* then this, */
    uint32_t id;    /* then this */
} heap_entry;

/* The caller provides `items`, with room for the largest number of entries at a time. */
typedef struct heap {
    heap_entry *items;
    uint32_t count;
} heap;

static inline bool heap_is_before(const heap_entry *a, const heap_entry *b) {
    if (a->group != b->group) return a->group < b->group;
    if (a->rank != b->rank) return a->rank < b->rank;
    return a->id < b->id;
}

static inline void heap_push(heap *h, heap_entry entry) {
    uint32_t at = h->count++;
    for (uint32_t up; at > 0 && heap_is_before(&entry, &h->items[up = (at - 1) / 2]); at = up)
        h->items[at] = h->items[up];
    h->items[at] = entry;
}

static inline heap_entry heap_pop(heap *h) {
    assert(h->count > 0);
    heap_entry first = h->items[0], last = h->items[--h->count];
    uint32_t at = 0, down;
    while ((down = 2 * at + 1) < h->count) {
        if (down + 1 < h->count && heap_is_before(&h->items[down + 1], &h->items[down])) down++;
        if (!heap_is_before(&h->items[down], &last)) break;
        h->items[at] = h->items[down];
        at = down;
    }
    if (h->count > 0) h->items[at] = last;
    return first;
}

#endif
