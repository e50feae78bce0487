/* pack.h - a graph as a few bytes, and back (docs/formats/dataset.md, "A packed graph").
 *
 * The bytes are canonical: what does not change a cost or a kernel (names, the order of attributes, where tensors
 * stand in their table, values of weights) is left out or put in order, so that the same network gets the same bytes.
 * They hold everything that binding, fusion and costs go by, and need nothing else to be read. */
#ifndef DATA_PACK_H
#define DATA_PACK_H

#include "base/buf.h"
#include "graph/graph.h"

/* Scratch memory of packing: one for each thread, used over and over. */
typedef struct packer packer;
packer *packer_new(void); /* NULL when out of memory */
void packer_free(packer *p);

/* Appends the packed graph, which must not be bound. Nothing is appended on failure. */
ft_status pack_graph(packer *p, const ft_graph *graph, buf *out, ft_error *error);

/* Never trusts a byte. The graph does not need `bytes` any more. `name` is what it is called from now on. */
ft_status unpack_graph(const void *bytes, size_t size, const char *name, ft_graph **graph, ft_error *error);

/* What both sides must agree on. */
enum {
    PACK_ROLE = 3, /* of the byte before each tensor: its role, */
    PACK_SPARSE = 1 << 2,
    PACK_STORED_SHIFT = 3, /* pack_stored, */
    PACK_NAME_SHIFT = 5,   /* name_kind, */
    PACK_VALUE = 1 << 7,   /* and whether its elements follow */
};

typedef enum pack_stored { STORED_NOTHING, STORED_DENSE, STORED_BYTES } pack_stored;
typedef enum pack_number { NUMBER_INT, NUMBER_FLOAT32, NUMBER_FLOAT64, NUMBER_KINDS } pack_number;

#endif
