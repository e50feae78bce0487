/* arena.h - arena allocator: many allocations, freed all at once.
 *
 * One arena owns a graph, a request or a training step. Blocks are zeroed and aligned for any type. The limit keeps a
 * hostile file from exhausting memory: beyond it, arena_alloc returns NULL. */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include <stddef.h>
#include <stdint.h>

typedef struct arena_chunk arena_chunk;

typedef struct arena {
    arena_chunk *chunks; /* newest first */
    uint64_t used;       /* bytes of all chunks */
    uint64_t limit;
} arena;

void arena_init(arena *a, uint64_t limit);
void arena_free(arena *a);
/* Frees all blocks but keeps the largest chunk, for work that is repeated. */
void arena_reset(arena *a);

void *arena_alloc(arena *a, size_t size); /* zeroed; NULL when out of memory or over the limit */
void *arena_array(arena *a, size_t count, size_t size);
void *arena_copy(arena *a, const void *bytes, size_t size);
char *arena_string(arena *a, const char *bytes, size_t length); /* a NUL-terminated copy */
char *arena_format(arena *a, const char *format, ...) __attribute__((format(printf, 2, 3)));

#define ARENA_NEW(a, type)          ((type *)arena_alloc((a), sizeof(type)))
#define ARENA_ARRAY(a, type, count) ((type *)arena_array((a), (count), sizeof(type)))

#endif
