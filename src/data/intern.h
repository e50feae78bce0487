/* intern.h - table of distinct byte strings, each identified by its index in order of insertion.
 *
 * Packed graphs store repeated attributes and shapes once and refer to them by index. */
#ifndef DATA_INTERN_H
#define DATA_INTERN_H

#include <stdint.h>

#include "base/buf.h"

typedef struct intern_table {
    buf bytes;        /* the strings, concatenated */
    uint32_t *starts; /* start of each in `bytes`, and the end of the last */
    uint32_t *slots;  /* open addressing: index + 1, 0 = free */
    uint32_t count, capacity, slot_count;
    bool failed; /* out of memory; indices are invalid then */
} intern_table;

/* Returns the index of these bytes, added if new. */
uint32_t intern_add(intern_table *p, const void *bytes, size_t size);
void intern_clear(intern_table *p); /* keeps the capacity */
void intern_free(intern_table *p);

#endif
