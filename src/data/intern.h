/* intern_table.h - byte strings, each kept once and known by its number in the order in which they came.
 *
 * A packed graph says most things once: operators repeat attributes and shapes over and over. */
#ifndef DATA_INTERN_H
#define DATA_INTERN_H

#include <stdint.h>

#include "base/buf.h"

typedef struct intern_table {
    buf bytes;        /* one after the other */
    uint32_t *starts; /* of each in `bytes`, and the end of the last */
    uint32_t *slots;  /* open addressing: number + 1, 0 = free */
    uint32_t count, capacity, slot_count;
    bool failed; /* out of memory; numbers mean nothing then */
} intern_table;

/* The number of these bytes. */
uint32_t intern_add(intern_table *p, const void *bytes, size_t size);
void intern_clear(intern_table *p); /* keeps the memory */
void intern_free(intern_table *p);

#endif
