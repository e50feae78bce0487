/* graphfile.h - graphs.ftg: packed graphs one after the other, with an index at the end (docs/formats/dataset.md). */
#ifndef DATA_GRAPHFILE_H
#define DATA_GRAPHFILE_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/filecopy.h"
#include "base/hash.h"
#include "base/outfile.h"
#include "graph/graph.h"

/* --- Reading ----------------------------------------------------------------------------------------------------- */

/* Header and index are copied when the file is opened, and each graph when it is read: what was checked stays. */
typedef struct graphfile {
    filecopy copy;
    size_t size;
    const uint8_t *index; /* in the copy */
    uint64_t index_at;
    uint32_t count;
    hash128 hash; /* of the index, and thus of the content */
} graphfile;

/* Checks header and index, but no graph. `name` is for messages. */
ft_status graphfile_open(const char *path, graphfile *file, ft_error *error);
/* The bytes have to outlive the file. */
ft_status graphfile_from_memory(const void *bytes, size_t size, const char *name, graphfile *file, ft_error *error);
void graphfile_close(graphfile *file);
hash128 graphfile_id(const graphfile *file, uint32_t index);
/* Reads a graph into `bytes`, whose contents are replaced. FT_ERR_DAMAGED, without a message, when they do not match
 * its id. For several threads. */
ft_status graphfile_read(const graphfile *file, uint32_t index, buf *bytes, ft_error *error);

/* --- Writing ----------------------------------------------------------------------------------------------------- */

typedef struct graphwriter {
    outfile out;
    buf index;
    uint64_t position;
    uint32_t count;
} graphwriter;

ft_status graphwriter_open(const char *path, graphwriter *w, ft_error *error);
/* `id` is the hash of the bytes. Write errors may be reported only by graphwriter_finish. */
ft_status graphwriter_add(graphwriter *w, hash128 id, const void *bytes, size_t size, ft_error *error);
/* Writes index and header; `hash` and `size` are those of the file. */
ft_status graphwriter_finish(graphwriter *w, hash128 *hash, uint64_t *size, ft_error *error);
void graphwriter_discard(graphwriter *w); /* also after finishing */

#endif
