/* pack.h - compact serialisation of graphs (docs/formats/dataset.md, "A packed graph").
 *
 * The bytes are canonical: properties that change neither cost nor kernels (names, the order of attributes, the
 * order of tensors in their table, values of weights) are omitted or normalised, so that equal networks have equal
 * bytes. They contain everything that binding, fusion and costs depend on, and are self-contained. */
#ifndef DATA_PACK_H
#define DATA_PACK_H

#include "base/buf.h"
#include "graph/graph.h"

/* Scratch memory for packing: one per thread, reused. */
typedef struct packer packer;
packer *packer_new(void); /* NULL when out of memory */
void packer_free(packer *p);

/* Appends the packed graph, which must not be bound. Nothing is appended on failure. */
ft_status pack_graph(packer *p, const ft_graph *graph, buf *out, ft_error *error);

/* Validates every byte. The graph does not refer to `bytes`. `name` becomes the name of the graph. */
ft_status unpack_graph(const void *bytes, size_t size, const char *name, ft_graph **graph, ft_error *error);

/* Encoding shared by packing and unpacking. */
enum {
    PACK_ROLE = 3, /* bits of the byte before each tensor: its role, */
    PACK_SPARSE = 1 << 2,
    PACK_STORED_SHIFT = 3, /* pack_stored, */
    PACK_NAME_SHIFT = 5,   /* name_kind, */
    PACK_VALUE = 1 << 7,   /* and whether its elements follow */
};

typedef enum pack_stored { STORED_NOTHING, STORED_DENSE, STORED_BYTES } pack_stored;
typedef enum pack_number { NUMBER_INT, NUMBER_FLOAT32, NUMBER_FLOAT64, NUMBER_KINDS } pack_number;

#endif
