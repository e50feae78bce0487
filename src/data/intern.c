/* intern.c - hash table of distinct byte strings. */
#include "data/intern.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

enum { FIRST_CAPACITY = 64 };

static uint32_t *find_slot(const intern_table *p, const void *bytes, size_t size) {
    assert(p->slot_count > p->count && (p->slot_count & (p->slot_count - 1)) == 0);
    uint32_t mask = p->slot_count - 1, at = (uint32_t)hash_bytes(bytes, size).low & mask;
    for (;; at = (at + 1) & mask) {
        uint32_t number = p->slots[at];
        if (number == 0) return &p->slots[at];
        uint32_t start = p->starts[number - 1], length = p->starts[number] - start;
        if (length == size && memcmp(p->bytes.data + start, bytes, size) == 0) return &p->slots[at];
    }
}

static bool grow(intern_table *p) {
    uint32_t capacity = p->capacity == 0 ? FIRST_CAPACITY : p->capacity * 2;
    if (capacity > UINT32_MAX / 8) return false;
    uint32_t *starts = realloc(p->starts, ((size_t)capacity + 1) * sizeof *starts);
    if (starts == NULL) return false;
    p->starts = starts;
    uint32_t *slots = calloc((size_t)capacity * 2, sizeof *slots);
    if (slots == NULL) return false;
    free(p->slots);
    p->slots = slots;
    p->slot_count = capacity * 2;
    p->capacity = capacity;
    for (uint32_t i = 0; i < p->count; i++) *find_slot(p, p->bytes.data + starts[i], starts[i + 1] - starts[i]) = i + 1;
    return true;
}

uint32_t intern_add(intern_table *p, const void *bytes, size_t size) {
    if (p->failed || (p->count == p->capacity && !grow(p)) || size > UINT32_MAX - p->bytes.length) {
        p->failed = true;
        return 0;
    }
    uint32_t *slot = find_slot(p, bytes, size);
    if (*slot != 0) return *slot - 1;
    buf_add(&p->bytes, bytes, size);
    if (p->bytes.failed) {
        p->failed = true;
        return 0;
    }
    p->starts[0] = 0;
    p->starts[++p->count] = (uint32_t)p->bytes.length;
    *slot = p->count;
    return p->count - 1;
}

void intern_clear(intern_table *p) {
    if (p->slot_count > 0) memset(p->slots, 0, p->slot_count * sizeof *p->slots);
    p->count = 0;
    p->bytes.length = 0;
    p->bytes.failed = p->failed = false;
}

void intern_free(intern_table *p) {
    buf_free(&p->bytes);
    free(p->starts);
    free(p->slots);
    *p = (intern_table){0};
}
