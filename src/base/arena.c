/* arena.c - chunks that double in size, each with a header before its data. */
#include "base/arena.h"

#include <assert.h>
#include <stdalign.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/format.h"
#include "base/num.h"

struct arena_chunk {
    arena_chunk *next;
    size_t size; /* of the data after the header */
    size_t used;
};

enum { FIRST_CHUNK = 16 * 1024, MAX_CHUNK = 1024 * 1024, ALIGN = alignof(max_align_t) };
#define HEADER ((sizeof(arena_chunk) + ALIGN - 1) / ALIGN * ALIGN)

void arena_init(arena *a, uint64_t limit) {
    *a = (arena){.limit = limit};
}

void arena_free(arena *a) {
    for (arena_chunk *chunk = a->chunks, *next; chunk != NULL; chunk = next) {
        next = chunk->next;
        free(chunk);
    }
    *a = (arena){.limit = a->limit};
}

void arena_reset(arena *a) {
    arena_chunk *kept = a->chunks;
    for (arena_chunk *chunk = a->chunks; chunk != NULL; chunk = chunk->next) {
        if (chunk->size > kept->size) kept = chunk;
    }
    for (arena_chunk *chunk = a->chunks, *next; chunk != NULL; chunk = next) {
        next = chunk->next;
        if (chunk != kept) free(chunk);
    }
    a->chunks = kept;
    a->used = 0;
    if (kept == NULL) return;
    kept->next = NULL;
    kept->used = 0;
    a->used = kept->size + HEADER;
}

/* Chunks double, so that small graphs stay small and large ones need few allocations. */
static arena_chunk *add_chunk(arena *a, size_t need) {
    size_t size = a->chunks == NULL ? FIRST_CHUNK : a->chunks->size * 2;
    if (size > MAX_CHUNK) size = MAX_CHUNK;
    if (size < need) size = need;
    if (size > SIZE_MAX - HEADER || a->used + size + HEADER > a->limit) {
        size = need;
        if (size > SIZE_MAX - HEADER || a->used + size + HEADER > a->limit) return NULL;
    }
    arena_chunk *chunk = malloc(HEADER + size);
    if (chunk == NULL) return NULL;
    *chunk = (arena_chunk){.size = size};
    a->used += size + HEADER;
    /* A chunk for one large block goes after the current one, whose rest stays in use. */
    if (a->chunks != NULL && need > MAX_CHUNK / 4 && size == need) {
        chunk->next = a->chunks->next;
        a->chunks->next = chunk;
    } else {
        chunk->next = a->chunks;
        a->chunks = chunk;
    }
    return chunk;
}

/* Not zeroed. */
static void *alloc_raw(arena *a, size_t size) {
    if (size > SIZE_MAX - ALIGN) return NULL;
    size = (size + ALIGN - 1) / ALIGN * ALIGN;
    arena_chunk *chunk = a->chunks;
    if (chunk == NULL || chunk->size - chunk->used < size) {
        chunk = add_chunk(a, size);
        if (chunk == NULL) return NULL;
    }
    assert(chunk->used % ALIGN == 0 && chunk->size - chunk->used >= size);
    char *block = (char *)chunk + HEADER + chunk->used;
    chunk->used += size;
    return block;
}

/* Zeroes only the block, not whole chunks: the last chunk is often almost unused. */
void *arena_alloc(arena *a, size_t size) {
    void *block = alloc_raw(a, size);
    return block != NULL ? memset(block, 0, size) : NULL;
}

void *arena_array(arena *a, size_t count, size_t size) {
    size_t bytes;
    if (!num_mul_size(count, size, &bytes)) return NULL;
    return arena_alloc(a, bytes);
}

void *arena_copy(arena *a, const void *bytes, size_t size) {
    void *copy = alloc_raw(a, size);
    if (copy != NULL && size > 0) memcpy(copy, bytes, size);
    return copy;
}

char *arena_string(arena *a, const char *bytes, size_t length) {
    if (length == SIZE_MAX) return NULL;
    char *copy = alloc_raw(a, length + 1);
    if (copy == NULL) return NULL;
    if (length > 0) memcpy(copy, bytes, length);
    copy[length] = '\0';
    return copy;
}

char *arena_format(arena *a, const char *format, ...) {
    char common[256];
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    size_t length = format_list(common, sizeof common, format, args);
    char *text = length == SIZE_MAX ? NULL : alloc_raw(a, length + 1);
    if (text != NULL && length < sizeof common)
        memcpy(text, common, length + 1);
    else if (text != NULL)
        format_list(text, length + 1, format, again);
    va_end(again);
    va_end(args);
    return text;
}
