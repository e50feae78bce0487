/* flatbuild.c - writes FlatBuffers, for tests. src/read/tflite/flatbuf.c explains the layout. */
#include "support/flatbuild.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static size_t grow(flatbuild *b, size_t bytes) {
    size_t at = (b->size + 7) / 8 * 8;
    uint8_t *larger = realloc(b->bytes, at + bytes);
    if (larger == NULL) abort();
    memset(larger + b->size, 0, at + bytes - b->size);
    b->bytes = larger;
    b->size = at + bytes;
    return at;
}

static void store(flatbuild *b, size_t at, uint64_t value, size_t width) {
    for (size_t i = 0; i < width; i++) b->bytes[at + i] = (uint8_t)(value >> (8 * i));
}

static uint64_t load(const flatbuild *b, size_t at, size_t width) {
    uint64_t value = 0;
    for (size_t i = 0; i < width; i++) value |= (uint64_t)b->bytes[at + i] << (8 * i);
    return value;
}

void flatbuild_open(flatbuild *b, const char *letters) {
    *b = (flatbuild){0};
    grow(b, 8);
    memcpy(b->bytes + 4, letters, 4);
}

void flatbuild_root(flatbuild *b, size_t table) {
    store(b, 0, table, 4);
}

size_t flatbuild_table(flatbuild *b, uint32_t fields) {
    size_t vtable = grow(b, 4 + 2 * (size_t)fields);
    size_t table = grow(b, 8 + 8 * (size_t)fields);
    store(b, vtable, 4 + 2 * (uint64_t)fields, 2);
    store(b, vtable + 2, 8 + 8 * (uint64_t)fields, 2);
    store(b, table, table - vtable, 4);
    return table;
}

/* Marks the field as present, and returns its offset. */
static size_t place(flatbuild *b, size_t table, uint32_t field) {
    size_t vtable = table - load(b, table, 4);
    assert(4 + 2 * (uint64_t)field < load(b, vtable, 2));
    store(b, vtable + 4 + 2 * (size_t)field, 8 + 8 * (uint64_t)field, 2);
    return table + 8 + 8 * (size_t)field;
}

void flatbuild_int(flatbuild *b, size_t table, uint32_t field, int64_t value, size_t width) {
    store(b, place(b, table, field), (uint64_t)value, width);
}

void flatbuild_float(flatbuild *b, size_t table, uint32_t field, float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    store(b, place(b, table, field), bits, sizeof bits);
}

void flatbuild_ref(flatbuild *b, size_t table, uint32_t field, size_t target) {
    size_t at = place(b, table, field);
    store(b, at, target - at, 4);
}

size_t flatbuild_string(flatbuild *b, const char *text) {
    size_t length = strlen(text), at = grow(b, 4 + length + 1);
    store(b, at, length, 4);
    memcpy(b->bytes + at + 4, text, length);
    return at;
}

size_t flatbuild_vector(flatbuild *b, const void *elements, uint32_t count, size_t width) {
    /* The count stands right before the elements, and those on a multiple of 8. */
    size_t at = grow(b, 8 + count * width) + 4;
    store(b, at, count, 4);
    if (count > 0) memcpy(b->bytes + at + 4, elements, count * width);
    return at;
}

size_t flatbuild_offsets(flatbuild *b, uint32_t count) {
    size_t at = grow(b, 4 + 4 * (size_t)count);
    store(b, at, count, 4);
    return at;
}

void flatbuild_offset(flatbuild *b, size_t vector, uint32_t index, size_t target) {
    size_t at = vector + 4 + 4 * (size_t)index;
    store(b, at, target - at, 4);
}
