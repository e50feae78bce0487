/* workspace.h - memory of one step: taken piece by piece, given back at once, and kept for the next step.
 *
 * Unlike an arena (base/arena.h) its blocks are not zeroed, lie on cache lines, and come from memory that stays with
 * the workspace: once a step has run, the next one of the same size allocates nothing. */
#ifndef NN_WORKSPACE_H
#define NN_WORKSPACE_H

#include <stddef.h>
#include <stdint.h>

typedef struct workspace_chunk workspace_chunk;

typedef struct workspace {
    workspace_chunk *chunks; /* newest first */
    size_t taken;            /* bytes of all chunks */
    size_t limit;
} workspace;

void workspace_init(workspace *w, size_t limit);
void workspace_free(workspace *w);

/* Gives all blocks back. Several chunks become one of their size, with the next block that is taken. */
void workspace_reset(workspace *w);
void *workspace_alloc(workspace *w, size_t size); /* NULL when out of memory or over the limit */

#endif
