/* flatbuf.h - bounds-checked access to FlatBuffers: tables, vectors, strings, numbers.
 *
 * Nothing is verified ahead of time: every access checks the bytes it is about to read, and copies them from the
 * file (base/filecopy.h), so unused content (the weights) is never read. The first access outside the file is recorded
 * in `fault`; every failing access returns an absent table, an empty vector or the default. Readers are thus a plain
 * sequence of accesses, and call flat_check() before they trust the values. */
#ifndef READ_FLATBUF_H
#define READ_FLATBUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/filecopy.h"

typedef struct flatbuf {
    const uint8_t *bytes;
    size_t size;
    filecopy *copy;    /* of the file; NULL: all bytes are there */
    const char *fault; /* the first fault, or NULL */
    size_t fault_at;   /* its offset */
} flatbuf;

/* A table; absent when `at` is 0, which is never the position of a table. */
typedef struct flat_table {
    flatbuf *file;
    size_t at;
    size_t vtable;
    uint32_t field_count;
} flat_table;

typedef struct flat_vector {
    flatbuf *file;
    size_t at; /* of the first element */
    uint32_t count;
    uint32_t width; /* bytes of an element */
} flat_vector;

typedef enum flat_kind {
    FLAT_BOOL,
    FLAT_I8,
    FLAT_U8,
    FLAT_I16,
    FLAT_U16,
    FLAT_I32,
    FLAT_U32,
    FLAT_I64,
    FLAT_U64,
    FLAT_F32,
    FLAT_F64,
} flat_kind;

size_t flat_width(flat_kind kind);

void flat_open(flatbuf *file, const uint8_t *bytes, size_t size, filecopy *copy);
/* FT_OK, or FT_ERR_DAMAGED with the fault and its offset. */
ft_status flat_check(const flatbuf *file, ft_error *error);

flat_table flat_root(flatbuf *file);
static inline bool flat_is_table(const flat_table *table) {
    return table->at != 0;
}

/* Fields are identified by their number in the schema; an absent field yields the default, an absent table has no
 * fields. */
bool flat_has(const flat_table *table, uint32_t field);
int64_t flat_int(const flat_table *table, uint32_t field, flat_kind kind, int64_t fallback);
double flat_float(const flat_table *table, uint32_t field, flat_kind kind, double fallback);
flat_table flat_child(const flat_table *table, uint32_t field);
/* A vector of numbers of `kind`, and one of tables (or strings). */
flat_vector flat_numbers(const flat_table *table, uint32_t field, flat_kind kind);
flat_vector flat_tables(const flat_table *table, uint32_t field);
/* Not necessarily NUL-terminated: use the length. NULL when absent. */
const char *flat_string(const flat_table *table, uint32_t field, size_t *length);

/* Elements; an index past the end yields 0 or an absent table. `kind` must have the width the vector was opened
 * with. */
int64_t flat_int_at(const flat_vector *vector, uint32_t index, flat_kind kind);
double flat_float_at(const flat_vector *vector, uint32_t index, flat_kind kind);
flat_table flat_table_at(const flat_vector *vector, uint32_t index);

/* Makes sure that `count` bytes of the file, from `at`, can be accessed directly. */
void flat_load(const flatbuf *file, const uint8_t *at, size_t count);

/* Numbers from bytes of any alignment, little-endian. Unsigned 64-bit values beyond INT64_MAX become negative. */
int64_t flat_load_int(const uint8_t *bytes, flat_kind kind);
double flat_load_float(const uint8_t *bytes, flat_kind kind);

#endif
