/* gguf_meta.c - the metadata of a GGUF file: keys with typed values (gguf.h).
 *
 * Tokenisers are lists of hundreds of thousands of texts: they are walked, and only their length is kept. */
#include <stdio.h>
#include <string.h>

#include "read/language/gguf.h"

enum {
    MAX_KEYS = 100000,
    MAX_KEY_BYTES = 65535,
    MAX_TEXT_BYTES = 4096, /* longer texts (chat templates) are not kept */
    MAX_INTS = 65536,
    MAX_LIST_DEPTH = 8,
    FIRST_CAPACITY = 64,
};

/* Types of values, as numbered in the file. */
enum { U8, I8, U16, I16, U32, I32, F32, BOOL, STRING, LIST, U64, I64, F64, TYPE_COUNT };

static const uint8_t type_bytes[TYPE_COUNT] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};

/* --- Bytes ------------------------------------------------------------------------------------------------------- */

ft_status gguf_take(gguf_bytes *in, size_t size, const uint8_t **at) {
    if (size > in->size - in->at)
        return ft_fail(in->error, FT_ERR_DAMAGED, "truncated: the header goes on after the last byte, %zu", in->size);
    *at = in->bytes + in->at;
    filecopy_load(in->file, *at, size);
    in->at += size;
    return FT_OK;
}

ft_status gguf_skip(gguf_bytes *in, uint64_t size) {
    if (size > in->size - in->at)
        return ft_fail(in->error, FT_ERR_DAMAGED, "truncated: a value at byte %zu goes on after the last byte, %zu",
                       in->at, in->size);
    in->at += (size_t)size;
    return FT_OK;
}

/* An unsigned number of 1, 2, 4 or 8 bytes. */
static ft_status take_number(gguf_bytes *in, size_t size, uint64_t *value) {
    const uint8_t *at = NULL;
    FT_TRY(gguf_take(in, size, &at));
    *value = 0;
    for (size_t i = 0; i < size; i++) *value |= (uint64_t)at[in->is_swapped ? size - 1 - i : i] << 8 * i;
    return FT_OK;
}

ft_status gguf_u32(gguf_bytes *in, uint32_t *value) {
    uint64_t number;
    FT_TRY(take_number(in, 4, &number));
    *value = (uint32_t)number;
    return FT_OK;
}

ft_status gguf_u64(gguf_bytes *in, uint64_t *value) {
    return take_number(in, 8, value);
}

ft_status gguf_string(gguf_bytes *in, size_t max, arena *memory, const char **text) {
    uint64_t length;
    size_t start = in->at;
    const uint8_t *at = NULL;
    FT_TRY(gguf_u64(in, &length));
    if (length > in->size - in->at)
        return ft_fail(in->error, FT_ERR_DAMAGED, "truncated: the text at byte %zu has %llu bytes", start,
                       (unsigned long long)length);
    if (length > max)
        return ft_fail(in->error, FT_ERR_LIMIT, "the name at byte %zu has %llu bytes; at most %zu are supported", start,
                       (unsigned long long)length, max);
    FT_TRY(gguf_take(in, (size_t)length, &at));
    if (memchr(at, '\0', (size_t)length) != NULL)
        return ft_fail(in->error, FT_ERR_DAMAGED, "the name at byte %zu contains a NUL", start);
    *text = arena_string(memory, (const char *)at, (size_t)length);
    return *text != NULL ? FT_OK : FT_NOMEM(in->error);
}

/* --- Values ------------------------------------------------------------------------------------------------------ */

static ft_status skip_value(gguf_bytes *in, uint32_t type, int depth);

static ft_status check_type(const gguf_bytes *in, uint32_t type) {
    if (type < TYPE_COUNT) return FT_OK;
    return ft_fail(in->error, FT_ERR_DAMAGED, "the value at byte %zu has type %u, which does not exist", in->at, type);
}

static ft_status skip_items(gguf_bytes *in, uint32_t type, uint64_t count, int depth) {
    if (type_bytes[type] > 0) return gguf_skip(in, num_mul_sat(count, type_bytes[type]));
    if (count > in->size - in->at) /* an item has a length of eight bytes at least */
        return ft_fail(in->error, FT_ERR_DAMAGED, "truncated: the list before byte %zu has %llu items", in->at,
                       (unsigned long long)count);
    for (uint64_t i = 0; i < count; i++) FT_TRY(skip_value(in, type, depth));
    return FT_OK;
}

static ft_status read_list_head(gguf_bytes *in, uint32_t *type, uint64_t *count) {
    FT_TRY(gguf_u32(in, type));
    FT_TRY(check_type(in, *type));
    return gguf_u64(in, count);
}

static ft_status skip_value(gguf_bytes *in, uint32_t type, int depth) {
    uint64_t size;
    if (type == STRING) {
        FT_TRY(gguf_u64(in, &size));
        return gguf_skip(in, size);
    }
    if (type != LIST) return gguf_skip(in, type_bytes[type]);
    if (depth >= MAX_LIST_DEPTH)
        return ft_fail(in->error, FT_ERR_LIMIT, "lists are nested more than %d deep at byte %zu", MAX_LIST_DEPTH,
                       in->at);
    FT_TRY(read_list_head(in, &type, &size));
    return skip_items(in, type, size, depth + 1);
}

static int64_t to_signed(uint64_t number, uint32_t type) {
    switch (type) {
    case I8:
        return (int8_t)number;
    case I16:
        return (int16_t)number;
    case I32:
        return (int32_t)number;
    default: /* an absurd unsigned number becomes the largest signed one */
        return type != I64 && number > INT64_MAX ? INT64_MAX : (int64_t)number;
    }
}

static double to_real(uint64_t number, uint32_t type) {
    uint32_t low = (uint32_t)number;
    float single;
    double real;
    memcpy(&single, &low, sizeof single);
    memcpy(&real, &number, sizeof real);
    return type == F32 ? (double)single : real;
}

static ft_status read_ints(gguf_bytes *in, uint32_t type, arena *memory, gguf_value *value) {
    int64_t *ints = ARENA_ARRAY(memory, int64_t, (size_t)value->count + 1);
    if (ints == NULL) return FT_NOMEM(in->error);
    for (uint64_t i = 0; i < value->count; i++) {
        uint64_t number;
        FT_TRY(take_number(in, type_bytes[type], &number));
        ints[i] = to_signed(number, type);
    }
    value->kind = GGUF_INTS;
    value->ints = ints;
    return FT_OK;
}

static ft_status read_list(gguf_bytes *in, arena *memory, gguf_value *value) {
    uint32_t type;
    FT_TRY(read_list_head(in, &type, &value->count));
    value->kind = GGUF_LIST;
    bool is_int = type_bytes[type] > 0 && type != F32 && type != F64;
    if (is_int && value->count <= MAX_INTS) return read_ints(in, type, memory, value);
    return skip_items(in, type, value->count, 1);
}

static ft_status read_text(gguf_bytes *in, arena *memory, gguf_value *value) {
    uint64_t length;
    const uint8_t *at = NULL;
    FT_TRY(gguf_u64(in, &length));
    value->kind = GGUF_TEXT;
    value->text = "";
    if (length > MAX_TEXT_BYTES) return gguf_skip(in, length);
    FT_TRY(gguf_take(in, (size_t)length, &at));
    value->text = arena_string(memory, (const char *)at, (size_t)length);
    return value->text != NULL ? FT_OK : FT_NOMEM(in->error);
}

static ft_status read_value(gguf_bytes *in, arena *memory, gguf_value *value) {
    uint32_t type;
    uint64_t number;
    FT_TRY(gguf_u32(in, &type));
    FT_TRY(check_type(in, type));
    if (type == STRING) return read_text(in, memory, value);
    if (type == LIST) return read_list(in, memory, value);
    FT_TRY(take_number(in, type_bytes[type], &number));
    value->kind = type == F32 || type == F64 ? GGUF_FLOAT : GGUF_INT;
    if (value->kind == GGUF_FLOAT)
        value->real = to_real(number, type);
    else
        value->number = to_signed(number, type);
    return FT_OK;
}

/* --- Metadata ---------------------------------------------------------------------------------------------------- */

static ft_status add_value(gguf_meta *meta, const gguf_value *value, ft_error *error) {
    uint32_t found;
    if (meta->count == meta->capacity) {
        uint32_t capacity = meta->capacity == 0 ? FIRST_CAPACITY : meta->capacity * 2;
        gguf_value *larger = ARENA_ARRAY(meta->memory, gguf_value, capacity);
        if (larger == NULL) return FT_NOMEM(error);
        if (meta->count > 0) memcpy(larger, meta->items, meta->count * sizeof *larger);
        meta->items = larger;
        meta->capacity = capacity;
    }
    if (!map_add(&meta->keys, value->key, meta->count, &found)) return FT_NOMEM(error);
    if (found != meta->count) return ft_fail(error, FT_ERR_DAMAGED, "two values have the key '%.200s'", value->key);
    meta->items[meta->count++] = *value;
    return FT_OK;
}

ft_status gguf_meta_read(gguf_bytes *in, uint64_t count, arena *memory, gguf_meta *meta) {
    *meta = (gguf_meta){.memory = memory};
    map_init(&meta->keys, memory);
    if (count > MAX_KEYS)
        return ft_fail(in->error, FT_ERR_LIMIT, "%llu keys of metadata; at most %d are supported",
                       (unsigned long long)count, MAX_KEYS);
    for (uint64_t i = 0; i < count; i++) {
        gguf_value value = {.kind = GGUF_ABSENT};
        FT_TRY(gguf_string(in, MAX_KEY_BYTES, memory, &value.key));
        ft_status status = read_value(in, memory, &value);
        if (status != FT_OK) return ft_fail_prefix(in->error, status, "key '%.200s'", value.key);
        FT_TRY(add_value(meta, &value, in->error));
    }
    return FT_OK;
}

const gguf_value *gguf_meta_find(const gguf_meta *meta, const char *prefix, const char *key) {
    char name[512];
    uint32_t index;
    int length = snprintf(name, sizeof name, "%s%s%s", prefix, prefix[0] != '\0' ? "." : "", key);
    if (length < 0 || (size_t)length >= sizeof name) return NULL;
    return map_get(&meta->keys, name, &index) ? &meta->items[index] : NULL;
}

int64_t gguf_meta_int(const gguf_meta *meta, const char *prefix, const char *key, int64_t fallback) {
    const gguf_value *value = gguf_meta_find(meta, prefix, key);
    return value != NULL && value->kind == GGUF_INT ? value->number : fallback;
}

const char *gguf_meta_text(const gguf_meta *meta, const char *key, const char *fallback) {
    const gguf_value *value = gguf_meta_find(meta, "", key);
    return value != NULL && value->kind == GGUF_TEXT ? value->text : fallback;
}
