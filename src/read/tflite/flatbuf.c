/* flatbuf.c - bounds-checked access to FlatBuffers.
 *
 * The format in short. All numbers are little-endian. The file begins with the offset (u32) of the root table. A
 * table begins with the distance (i32) back to its vtable; the vtable is a list of u16: its own size in bytes, the
 * table's size, then for each field its offset inside the table, 0 for an absent one. Strings, vectors and tables
 * inside a table are referenced by a u32 offset relative to its own position. A vector is a u32 count and its
 * elements.
 *
 * Offsets only point forward except for vtables, and no function here follows more than one, so no access can loop. */
#include "read/tflite/flatbuf.h"

#include <assert.h>
#include <string.h>

#include "base/error.h"

static const uint8_t widths[] = {
    [FLAT_BOOL] = 1, [FLAT_I8] = 1,  [FLAT_U8] = 1,  [FLAT_I16] = 2, [FLAT_U16] = 2, [FLAT_I32] = 4,
    [FLAT_U32] = 4,  [FLAT_I64] = 8, [FLAT_U64] = 8, [FLAT_F32] = 4, [FLAT_F64] = 8,
};

size_t flat_width(flat_kind kind) {
    assert(kind <= FLAT_F64);
    return widths[kind];
}

static uint64_t load(const uint8_t *bytes, size_t width) {
    assert(width <= 8);
    uint64_t value = 0;
    for (size_t i = 0; i < width; i++) value |= (uint64_t)bytes[i] << (8 * i);
    return value;
}

int64_t flat_load_int(const uint8_t *bytes, flat_kind kind) {
    uint64_t raw = load(bytes, widths[kind]);
    switch (kind) {
    case FLAT_BOOL:
        return raw != 0;
    case FLAT_I8:
        return (int8_t)raw;
    case FLAT_I16:
        return (int16_t)raw;
    case FLAT_I32:
        return (int32_t)raw;
    default:
        return (int64_t)raw;
    }
}

double flat_load_float(const uint8_t *bytes, flat_kind kind) {
    uint64_t raw = load(bytes, widths[kind]);
    if (kind == FLAT_F32) {
        uint32_t bits = (uint32_t)raw;
        float value;
        memcpy(&value, &bits, sizeof value);
        return (double)value;
    }
    if (kind == FLAT_F64) {
        double value;
        memcpy(&value, &raw, sizeof value);
        return value;
    }
    return (double)flat_load_int(bytes, kind);
}

void flat_open(flatbuf *file, const uint8_t *bytes, size_t size, filecopy *copy) {
    *file = (flatbuf){.bytes = bytes, .size = size, .copy = copy};
}

void flat_load(const flatbuf *file, const uint8_t *at, size_t count) {
    filecopy_load(file->copy, at, count);
}

ft_status flat_check(const flatbuf *file, ft_error *error) {
    if (file->fault == NULL) return FT_OK;
    return ft_fail(error, FT_ERR_DAMAGED, "%s at byte %zu of %zu: the file is damaged or truncated", file->fault,
                   file->fault_at, file->size);
}

static void note_fault(flatbuf *file, const char *fault, size_t at) {
    if (file->fault != NULL) return;
    file->fault = fault;
    file->fault_at = at;
}

/* Whether `count` bytes from `at` are in the file; records a fault when they are not. */
static bool has_bytes(flatbuf *file, size_t at, uint64_t count, const char *what) {
    if (at <= file->size && count <= file->size - at) return true;
    note_fault(file, what, at);
    return false;
}

/* Whether they are; copies them if so. */
static bool load_bytes(flatbuf *file, size_t at, uint64_t count, const char *what) {
    if (!has_bytes(file, at, count, what)) return false;
    flat_load(file, file->bytes + at, (size_t)count);
    return true;
}

/* The target of the u32 offset at `at`; 0 when it is outside the file. */
static size_t follow_offset(flatbuf *file, size_t at) {
    if (!load_bytes(file, at, 4, "an offset outside the file")) return 0;
    uint64_t target = (uint64_t)at + load(file->bytes + at, 4);
    if (target > at && target < file->size) return (size_t)target;
    note_fault(file, "an offset with a target outside the file", at);
    return 0;
}

static flat_table open_table(flatbuf *file, size_t at) {
    flat_table none = {.file = file};
    if (at == 0 || !load_bytes(file, at, 4, "a table outside the file")) return none;
    int64_t vtable = (int64_t)at - flat_load_int(file->bytes + at, FLAT_I32);
    if (vtable < 0 || (uint64_t)vtable > file->size) {
        note_fault(file, "a table whose vtable is outside the file", at);
        return none;
    }
    if (!load_bytes(file, (size_t)vtable, 4, "a vtable outside the file")) return none;
    uint64_t size = load(file->bytes + vtable, 2);
    if (size < 4 || size % 2 != 0) {
        note_fault(file, "a vtable of an invalid size", (size_t)vtable);
        return none;
    }
    if (!load_bytes(file, (size_t)vtable, size, "a vtable that runs past the end of the file")) return none;
    return (flat_table){.file = file, .at = at, .vtable = (size_t)vtable, .field_count = (uint32_t)(size - 4) / 2};
}

flat_table flat_root(flatbuf *file) {
    return open_table(file, follow_offset(file, 0));
}

/* The position of a field of `width` bytes; 0 when it is absent or outside the file. */
static size_t find_field(const flat_table *table, uint32_t field, size_t width) {
    if (table->at == 0 || field >= table->field_count) return 0;
    assert(table->vtable + 4 + 2 * (size_t)table->field_count <= table->file->size);
    uint64_t offset = load(table->file->bytes + table->vtable + 4 + 2 * (size_t)field, 2);
    if (offset == 0) return 0;
    size_t at = table->at + (size_t)offset;
    return load_bytes(table->file, at, width, "a field outside the file") ? at : 0;
}

bool flat_has(const flat_table *table, uint32_t field) {
    return find_field(table, field, 1) != 0;
}

int64_t flat_int(const flat_table *table, uint32_t field, flat_kind kind, int64_t fallback) {
    size_t at = find_field(table, field, widths[kind]);
    return at != 0 ? flat_load_int(table->file->bytes + at, kind) : fallback;
}

double flat_float(const flat_table *table, uint32_t field, flat_kind kind, double fallback) {
    size_t at = find_field(table, field, widths[kind]);
    return at != 0 ? flat_load_float(table->file->bytes + at, kind) : fallback;
}

flat_table flat_child(const flat_table *table, uint32_t field) {
    size_t at = find_field(table, field, 4);
    return open_table(table->file, at != 0 ? follow_offset(table->file, at) : 0);
}

static flat_vector open_vector(const flat_table *table, uint32_t field, uint32_t width) {
    assert(width > 0 && width <= 8);
    flat_vector vector = {.file = table->file, .width = width};
    size_t at = find_field(table, field, 4);
    if (at != 0) at = follow_offset(table->file, at);
    if (at == 0 || !load_bytes(table->file, at, 4, "a vector outside the file")) return vector;
    uint64_t count = load(table->file->bytes + at, 4);
    if (!has_bytes(table->file, at + 4, count * width, "a vector that runs past the end of the file")) return vector;
    vector.at = at + 4;
    vector.count = (uint32_t)count;
    return vector;
}

flat_vector flat_numbers(const flat_table *table, uint32_t field, flat_kind kind) {
    return open_vector(table, field, widths[kind]);
}

flat_vector flat_tables(const flat_table *table, uint32_t field) {
    return open_vector(table, field, 4);
}

const char *flat_string(const flat_table *table, uint32_t field, size_t *length) {
    flat_vector text = open_vector(table, field, 1);
    *length = text.count;
    if (text.at != 0) flat_load(text.file, text.file->bytes + text.at, text.count);
    return text.at != 0 ? (const char *)text.file->bytes + text.at : NULL;
}

/* The bytes of an element. */
static const uint8_t *element(const flat_vector *vector, uint32_t index) {
    assert(index < vector->count);
    const uint8_t *at = vector->file->bytes + vector->at + (size_t)index * vector->width;
    flat_load(vector->file, at, vector->width);
    return at;
}

int64_t flat_int_at(const flat_vector *vector, uint32_t index, flat_kind kind) {
    assert(widths[kind] == vector->width);
    if (index >= vector->count) return 0;
    return flat_load_int(element(vector, index), kind);
}

double flat_float_at(const flat_vector *vector, uint32_t index, flat_kind kind) {
    assert(widths[kind] == vector->width);
    if (index >= vector->count) return 0;
    return flat_load_float(element(vector, index), kind);
}

flat_table flat_table_at(const flat_vector *vector, uint32_t index) {
    if (index >= vector->count) return (flat_table){.file = vector->file};
    assert(vector->width == 4);
    return open_table(vector->file, follow_offset(vector->file, vector->at + (size_t)index * 4));
}
