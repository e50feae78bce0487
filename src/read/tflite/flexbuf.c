/* flexbuf.c - bounds-checked access to FlexBuffers.
 *
 * The format in short. It is read from the end: the last byte is the width of the root value, the byte before it the
 * root's type (type << 2 | log2 of the width of its target), and before that stands the root value. Offsets count
 * backwards from their own position. A vector is its elements, preceded by its length and followed by one type byte
 * per element; a map is a vector whose length is preceded by the offset of the keys and their width. Keys are a
 * vector of offsets to NUL-terminated names, without type bytes. */
#include "read/tflite/flexbuf.h"

#include <assert.h>
#include <string.h>

#include "read/tflite/flatbuf.h"

enum {
    TYPE_INT = 1,
    TYPE_UINT = 2,
    TYPE_FLOAT = 3,
    TYPE_STRING = 5,
    TYPE_INDIRECT_INT = 6,
    TYPE_INDIRECT_UINT = 7,
    TYPE_INDIRECT_FLOAT = 8,
    TYPE_MAP = 9,
    TYPE_VECTOR = 10,
    TYPE_BOOL = 26
};

static bool is_width(uint64_t width) {
    return width == 1 || width == 2 || width == 4 || width == 8;
}

/* An unsigned number of 1, 2, 4 or 8 bytes; false when it is out of bounds. */
static bool load(const flex_map *b, size_t at, uint8_t width, uint64_t *number) {
    static const uint8_t kinds[] = {[1] = FLAT_U8, [2] = FLAT_U16, [4] = FLAT_U32, [8] = FLAT_U64};
    assert(is_width(width));
    if (at > b->size || width > b->size - at) return false;
    *number = (uint64_t)flat_load_int(b->bytes + at, (flat_kind)kinds[width]);
    return true;
}

/* The target of the offset at `at`. */
static bool follow_offset(const flex_map *b, size_t at, uint8_t width, size_t *target) {
    uint64_t distance;
    if (!load(b, at, width, &distance) || distance == 0 || distance > at) return false;
    *target = at - (size_t)distance;
    return true;
}

/* Finds the elements of a map or vector at the root: position, count and width. */
static bool open_root(const uint8_t *bytes, size_t size, int expected, flex_map *map) {
    *map = (flex_map){.bytes = bytes, .size = size};
    if (size < 3) return false;
    uint8_t root_width = bytes[size - 1], type = bytes[size - 2], width = (uint8_t)(1 << (type & 3));
    uint64_t count;
    if (type >> 2 != expected || !is_width(root_width) || root_width > size - 2) return false;
    if (!follow_offset(map, size - 2 - root_width, root_width, &map->values) || map->values < width) return false;
    /* Every element has its width and a type byte. */
    if (!load(map, map->values - width, width, &count) || count > (size - map->values) / (width + 1U)) return false;
    map->count = (uint32_t)count;
    map->value_width = width;
    return true;
}

bool flex_root_map(const uint8_t *bytes, size_t size, flex_map *map) {
    uint64_t key_width;
    if (!open_root(bytes, size, TYPE_MAP, map)) return false;
    uint8_t width = map->value_width;
    if (map->values < 3 * (size_t)width || !load(map, map->values - 2 * (size_t)width, width, &key_width)) return false;
    if (!is_width(key_width) || !follow_offset(map, map->values - 3 * (size_t)width, width, &map->keys)) return false;
    map->key_width = (uint8_t)key_width;
    return map->count <= (size - map->keys) / key_width;
}

static double load_real(const uint8_t *bytes, uint8_t width) {
    return width == 4 ? flat_load_float(bytes, FLAT_F32) : width == 8 ? flat_load_float(bytes, FLAT_F64) : 0;
}

static int64_t load_signed(const uint8_t *bytes, uint8_t width) {
    assert(is_width(width));
    static const uint8_t kinds[] = {[1] = FLAT_I8, [2] = FLAT_I16, [4] = FLAT_I32, [8] = FLAT_I64};
    return flat_load_int(bytes, (flat_kind)kinds[width]);
}

/* The length of a string, in `width` bytes, precedes it. */
static bool read_string(const flex_map *map, size_t at, uint8_t width, flex_entry *entry) {
    uint64_t length;
    if (at < width || !load(map, at - width, width, &length) || length > map->size - at) return false;
    entry->kind = FLEX_STRING;
    entry->s = (const char *)map->bytes + at;
    entry->length = (size_t)length;
    return true;
}

static bool read_value(const flex_map *map, size_t at, uint8_t width, uint8_t packed, flex_entry *entry) {
    int type = packed >> 2;
    uint64_t number;
    bool is_indirect = type == TYPE_STRING || (type >= TYPE_INDIRECT_INT && type <= TYPE_INDIRECT_FLOAT);
    if (is_indirect) {
        if (!follow_offset(map, at, width, &at)) return false;
        width = (uint8_t)(1 << (packed & 3));
    }
    if (type == TYPE_STRING) return read_string(map, at, width, entry);
    if (!load(map, at, width, &number)) return false;
    entry->kind = FLEX_INT;
    switch (type) {
    case TYPE_INT:
    case TYPE_INDIRECT_INT:
        entry->i = load_signed(map->bytes + at, width);
        return true;
    case TYPE_UINT:
    case TYPE_INDIRECT_UINT:
        entry->i = (int64_t)number;
        return true;
    case TYPE_BOOL:
        entry->i = number != 0;
        return true;
    case TYPE_FLOAT:
    case TYPE_INDIRECT_FLOAT:
        entry->kind = FLEX_FLOAT;
        entry->f = load_real(map->bytes + at, width);
        return true;
    default:
        entry->kind = FLEX_OTHER;
        return true;
    }
}

/* The type bytes follow all elements. */
static bool read_element(const flex_map *map, uint32_t index, flex_entry *entry) {
    assert(index < map->count);
    uint8_t packed = map->bytes[map->values + (size_t)map->count * map->value_width + index];
    return read_value(map, map->values + (size_t)index * map->value_width, map->value_width, packed, entry);
}

bool flex_map_entry(const flex_map *map, uint32_t index, flex_entry *entry) {
    size_t key;
    if (index >= map->count) return false;
    if (!follow_offset(map, map->keys + (size_t)index * map->key_width, map->key_width, &key)) return false;
    *entry = (flex_entry){.key = (const char *)map->bytes + key};
    return memchr(entry->key, '\0', map->size - key) != NULL && read_element(map, index, entry);
}

const char *flex_root_string(const uint8_t *bytes, size_t size, uint32_t index, size_t *length) {
    flex_map list;
    flex_entry entry = {.kind = FLEX_OTHER};
    if (!open_root(bytes, size, TYPE_VECTOR, &list) || index >= list.count || !read_element(&list, index, &entry))
        return NULL;
    *length = entry.length;
    return entry.kind == FLEX_STRING ? entry.s : NULL;
}
