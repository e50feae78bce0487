/* workspace.c - chunks of memory, handed out from front to back. */
#include "nn/math/workspace.h"

#include <assert.h>
#include <stdlib.h>

#include "base/num.h"

enum { LINE = 64, FIRST_CHUNK = 1 << 18 };

struct workspace_chunk {
    workspace_chunk *next;
    size_t size, used; /* bytes from `data` on */
    char *data;        /* aligned to a cache line */
};

void workspace_init(workspace *w, size_t limit) {
    *w = (workspace){.limit = limit};
}

static void drop_chunks(workspace *w) {
    for (workspace_chunk *chunk = w->chunks, *next; chunk != NULL; chunk = next) {
        next = chunk->next;
        free(chunk);
    }
    w->chunks = NULL;
}

void workspace_free(workspace *w) {
    drop_chunks(w);
    w->taken = 0;
}

void workspace_reset(workspace *w) {
    if (w->chunks != NULL && w->chunks->next == NULL)
        w->chunks->used = 0;
    else
        drop_chunks(w); /* `taken` keeps the size that the next chunk must have */
}

static workspace_chunk *add_chunk(workspace *w, size_t need) {
    size_t before = w->chunks == NULL ? 0 : w->taken;
    size_t size = w->taken > FIRST_CHUNK ? w->taken : FIRST_CHUNK; /* doubles, or all of the last step */
    if (size < need) size = need;
    if (size > w->limit - before) size = need;
    if (size > w->limit - before || size > SIZE_MAX - sizeof(workspace_chunk) - LINE) return NULL;
    workspace_chunk *chunk = malloc(sizeof *chunk + LINE + size);
    if (chunk == NULL) return NULL;
    uintptr_t data = ((uintptr_t)(chunk + 1) + LINE - 1) / LINE * LINE;
    *chunk = (workspace_chunk){.next = w->chunks, .size = size, .data = (char *)chunk + (data - (uintptr_t)chunk)};
    w->chunks = chunk;
    w->taken = before + size;
    return chunk;
}

void *workspace_alloc(workspace *w, size_t size) {
    if (!num_add_size(size, LINE - 1, &size)) return NULL;
    size = size / LINE * LINE;
    workspace_chunk *chunk = w->chunks;
    if (chunk == NULL || chunk->size - chunk->used < size) chunk = add_chunk(w, size);
    if (chunk == NULL) return NULL;
    assert(size <= chunk->size - chunk->used);
    char *block = chunk->data + chunk->used;
    chunk->used += size;
    return block;
}
