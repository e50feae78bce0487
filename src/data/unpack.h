/* unpack.h - shared declarations of unpack.c and unpack_op.c. */
#ifndef DATA_UNPACK_H
#define DATA_UNPACK_H

#include "base/arena.h"
#include "data/pack.h"
#include "data/varint.h"
#include "graph/opdef.h"

typedef struct shape {
    ft_dtype dtype;
    int32_t rank;
    int64_t dims[FT_MAX_RANK];
    uint64_t dense_bytes;
} shape;

typedef struct attributes {
    const ft_attr *items;
    uint32_t count;
} attributes;

typedef struct op_type {
    const char *name;
    const ft_opdef *def;
} op_type;

typedef struct unpacker {
    varint_reader in;
    ft_graph *graph;
    arena *memory;  /* of the graph */
    arena *scratch; /* freed after unpacking */
    const char **strings;
    shape *shapes;
    attributes *attributes;
    op_type *types;
    uint32_t string_count, shape_count, attributes_count, type_count;
    ft_error *error;
} unpacker;

ft_status unpack_damaged(const unpacker *u, const char *what);

#define CHECK(u, what)                                                                                                 \
    do {                                                                                                               \
        if ((u)->in.has_failed) return unpack_damaged((u), "invalid or missing " what);                                \
    } while (0)

/* Reads a count of items that take at least `min` bytes each. */
uint32_t unpack_count(unpacker *u, size_t min);
const char *unpack_string(unpacker *u); /* "" after a failure */
/* Sets either `ints` or `floats`. */
ft_status unpack_numbers(unpacker *u, uint32_t *count, const int64_t **ints, const double **floats);

/* Reads attributes, types and operators: the second half of a packed graph. */
ft_status unpack_ops(unpacker *u);

#endif
