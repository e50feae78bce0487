/* workspace.h - memory of one training step: blocks are released all at once, and the memory is reused by the next
 * step.
 *
 * Unlike those of an arena (base/arena.h), its blocks are not zeroed, are aligned to cache lines, and come from memory
 * that stays with the workspace: after one step, the next one of the same size allocates nothing. */
#ifndef NN_WORKSPACE_H
#define NN_WORKSPACE_H

#include <stddef.h>
#include <stdint.h>

typedef struct workspace_chunk workspace_chunk;

typedef struct workspace {
    workspace_chunk *chunks; /* newest first */
    size_t taken;            /* bytes of all chunks, or of those that one chunk will replace */
    size_t limit;
} workspace;

void workspace_init(workspace *w, size_t limit);
void workspace_free(workspace *w);

/* Releases all blocks. Several chunks are replaced by one of their total size on the next allocation. */
void workspace_reset(workspace *w);
void *workspace_alloc(workspace *w, size_t size); /* NULL when out of memory or over the limit */

#endif
