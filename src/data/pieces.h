/* pieces.h - byte strings, each kept once and known by its number in the order in which they came.
 *
 * A packed graph says most things once: operators repeat attributes and shapes over and over. */
#ifndef DATA_PIECES_H
#define DATA_PIECES_H

#include <stdint.h>

#include "base/buf.h"

typedef struct pieces {
    buf bytes;        /* one after the other */
    uint32_t *starts; /* of each in `bytes`, and the end of the last */
    uint32_t *slots;  /* open addressing: number + 1, 0 = free */
    uint32_t count, capacity, slot_count;
    bool failed; /* out of memory; numbers mean nothing then */
} pieces;

/* The number of these bytes. */
uint32_t pieces_add(pieces *p, const void *bytes, size_t size);
void pieces_clear(pieces *p); /* keeps the memory */
void pieces_free(pieces *p);

#endif
