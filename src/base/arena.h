/* arena.h - memory that is taken piece by piece and given back at once.
 *
 * One arena owns a graph, a request or a training step. Blocks come zeroed and aligned for any type. The limit is
 * what keeps a hostile file from taking the machine's memory: past it, arena_alloc returns NULL as if there were none.
 */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include <stddef.h>
#include <stdint.h>

typedef struct arena_chunk arena_chunk;

typedef struct arena {
    arena_chunk *chunks; /* newest first */
    uint64_t used;       /* bytes taken from the system */
    uint64_t limit;
} arena;

void arena_init(arena *a, uint64_t limit);
void arena_free(arena *a);
/* Gives back all blocks at once, but keeps the largest chunk: for work that is done over and over. */
void arena_reset(arena *a);

void *arena_alloc(arena *a, size_t size); /* zeroed; NULL when out of memory or over the limit */
void *arena_array(arena *a, size_t count, size_t size);
void *arena_copy(arena *a, const void *bytes, size_t size);
char *arena_string(arena *a, const char *bytes, size_t length); /* a NUL-terminated copy */
char *arena_format(arena *a, const char *format, ...) __attribute__((format(printf, 2, 3)));

#define ARENA_NEW(a, type)          ((type *)arena_alloc((a), sizeof(type)))
#define ARENA_ARRAY(a, type, count) ((type *)arena_array((a), (count), sizeof(type)))

#endif
