/* file.c - see file.h. */
#include "predictor/core/file.h"

#include <assert.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/json_writer.h"
#include "base/num.h"
#include "nn/math/loops.h"

/* Like that of PNG: the first byte is not text, and damage by mail or line-end conversion is noticed at once. */
static const uint8_t magic[8] = {0x89, 'F', 'T', 'M', '\r', '\n', 0x1a, '\n'};

enum { BYTE_ORDER_MARK = 0x01020304, HEAD_BYTES = 32, HASH_BYTES = 16, ALIGNMENT = 8 };

/* --- Little-endian numbers ----------------------------------------------------------------------------------- */

static void put(uint8_t *at, uint64_t value, size_t width) {
    for (size_t i = 0; i < width; i++) at[i] = (uint8_t)(value >> 8 * i);
}

static uint64_t get(const uint8_t *at, size_t width) {
    uint64_t value = 0;
    for (size_t i = width; i-- > 0;) value = value << 8 | at[i];
    return value;
}

static void put_hash(uint8_t *at, hash128 hash) {
    put(at, hash.low, 8);
    put(at + 8, hash.high, 8);
}

/* --- Writing ------------------------------------------------------------------------------------------------- */

/* The header as text, padded with spaces so that the floats after it are aligned and can be mapped. */
static void header_text(const json_t *header, buf *text) {
    json_writer writer;
    jsonw_init(&writer, text);
    jsonw_json(&writer, header);
    buf_char(text, '\n');
    while (!text->failed && text->length % ALIGNMENT != 0) buf_char(text, ' ');
}

static ft_status check_block(const float *block, size_t count, ft_error *error) {
    if (loop_is_bounded(count, PREDICTOR_FILE_MAX_NUMBER, block)) return FT_OK;
    for (size_t i = 0; i < count; i++)
        if (!(fabsf(block[i]) <= PREDICTOR_FILE_MAX_NUMBER))
            return ft_fail(error, FT_ERR_DAMAGED,
                           "number %zu of the model is %g, but at most %g in magnitude is possible", i,
                           (double)block[i], (double)PREDICTOR_FILE_MAX_NUMBER);
    return FT_OK;
}

static void add_floats(buf *bytes, const float *block, size_t count) {
    for (size_t i = 0; i < count; i++) {
        uint32_t bits;
        uint8_t item[4];
        memcpy(&bits, &block[i], sizeof bits);
        put(item, bits, sizeof item);
        buf_add(bytes, item, sizeof item);
    }
}

ft_status predictor_file_encode(const json_t *header, const float *block, size_t count, buf *bytes, ft_error *error) {
    FT_TRY(check_block(block, count, error));
    buf text = {0};
    header_text(header, &text);
    if (text.length > PREDICTOR_FILE_MAX_HEADER || count > PREDICTOR_FILE_MAX_FLOATS) {
        buf_free(&text);
        return ft_fail(error, FT_ERR_LIMIT, "the model is too large for a predictor file: %zu numbers", count);
    }
    uint8_t head[HEAD_BYTES], hash[HASH_BYTES];
    memcpy(head, magic, sizeof magic);
    put(head + 8, PREDICTOR_FILE_VERSION, 4);
    put(head + 12, BYTE_ORDER_MARK, 4);
    put(head + 16, text.length, 8);
    put(head + 24, count, 8);
    assert(text.failed || text.length % ALIGNMENT == 0);
    size_t start = bytes->length;
    buf_add(bytes, head, sizeof head);
    buf_add(bytes, text.data, text.length);
    add_floats(bytes, block, count);
    if (!bytes->failed) put_hash(hash, hash_bytes(bytes->data + start, bytes->length - start));
    if (!bytes->failed) buf_add(bytes, hash, sizeof hash);
    bool has_failed = text.failed || bytes->failed;
    buf_free(&text);
    return has_failed ? FT_NOMEM(error) : FT_OK;
}

/* --- Reading ------------------------------------------------------------------------------------------------- */

/* Checks the first bytes: what kind of file this is, then whether it is damaged, then its version. */
static ft_status check_head(const uint8_t *bytes, size_t size, ft_error *error) {
    if (size == 0 || memcmp(bytes, magic, size < sizeof magic ? size : sizeof magic) != 0)
        return ft_fail(error, FT_ERR_FORMAT, "is not a predictor file: it begins with other bytes");
    if (size < HEAD_BYTES)
        return ft_fail(error, FT_ERR_DAMAGED, "is truncated: it ends after %zu bytes, within its first line", size);
    uint64_t version = get(bytes + 8, 4);
    if (version == 0 || get(bytes + 12, 4) != BYTE_ORDER_MARK)
        return ft_fail(error, FT_ERR_DAMAGED, "is damaged: its first 16 bytes are not those of a predictor file");
    if (version > PREDICTOR_FILE_VERSION)
        return ft_fail(error, FT_ERR_UNSUPPORTED,
                       "is a predictor file of version %llu; this foretell reads %d: a newer one is needed",
                       (unsigned long long)version, PREDICTOR_FILE_VERSION);
    return FT_OK;
}

static ft_status check_size(const uint8_t *bytes, size_t size, size_t *used, ft_error *error) {
    uint64_t header = get(bytes + 16, 8), count = get(bytes + 24, 8);
    if (header > PREDICTOR_FILE_MAX_HEADER || count > PREDICTOR_FILE_MAX_FLOATS)
        return ft_fail(error, FT_ERR_LIMIT, "has a header of %llu bytes and %llu numbers; at most %d and %d are read",
                       (unsigned long long)header, (unsigned long long)count, PREDICTOR_FILE_MAX_HEADER,
                       PREDICTOR_FILE_MAX_FLOATS);
    uint64_t expected = HEAD_BYTES + header + 4 * count + HASH_BYTES;
    if (size < expected)
        return ft_fail(error, FT_ERR_DAMAGED, "is truncated: it has %zu bytes of %llu", size,
                       (unsigned long long)expected);
    if (size > expected && memcmp(bytes + expected, magic, size - expected < 8 ? size - expected : 8) != 0)
        return ft_fail(error, FT_ERR_DAMAGED, "is damaged: it has %zu bytes, but should end after %llu", size,
                       (unsigned long long)expected);
    uint8_t hash[HASH_BYTES];
    put_hash(hash, hash_bytes(bytes, expected - HASH_BYTES));
    if (memcmp(hash, bytes + expected - HASH_BYTES, HASH_BYTES) != 0)
        return ft_fail(error, FT_ERR_DAMAGED, "is damaged: its content does not match its checksum");
    *used = expected;
    return FT_OK;
}

static bool is_space(char c) {
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

/* The position after the string that begins at `at`, or `size`. */
static size_t skip_string(const char *text, size_t size, size_t at) {
    for (at++; at < size && text[at] != '"'; at++)
        if (text[at] == '\\') at++;
    return at < size ? at + 1 : size;
}

/* Finds where the value of a key of the outermost object begins and ends, without checking that the text is JSON. */
static bool find_value(const char *text, size_t size, const char *key, size_t *from, size_t *to) {
    size_t length = strlen(key), depth = 0;
    bool is_found = false;
    for (size_t at = 0; at < size;) {
        char c = text[at];
        if (c == '"') {
            size_t start = at + 1, end = at = skip_string(text, size, at);
            while (at < size && is_space(text[at])) at++;
            if (is_found || depth != 1 || at == size || text[at] != ':' || end - start != length + 1) continue;
            if (memcmp(text + start, key, length) != 0) continue;
            is_found = true;
            *from = ++at;
            continue;
        }
        if (c == '{' || c == '[') depth++;
        if (is_found && depth == 1 && (c == ',' || c == '}')) {
            *to = at;
            return true;
        }
        if ((c == '}' || c == ']') && depth > 0) depth--;
        at++;
    }
    return false;
}

/* Scores are most of a header and not needed for predictions, so they are only kept in the text. */
static ft_status parse_without_scores(const char *text, size_t size, json_t **root, ft_error *error) {
    size_t from = 0, to = 0;
    if (!find_value(text, size, "accuracy", &from, &to) || to - from < 4) return json_parse(text, size, root, error);
    buf rest = {0};
    buf_add(&rest, text, from);
    buf_text(&rest, "null");
    buf_add(&rest, text + to, size - to);
    ft_status status = rest.failed ? FT_NOMEM(error) : json_parse(rest.data, rest.length, root, error);
    buf_free(&rest);
    return status;
}

static ft_status parse_header(const uint8_t *bytes, size_t size, predictor_file *file, ft_error *error) {
    json_t *root = NULL;
    char *text = malloc(size + 1);
    if (text == NULL) return FT_NOMEM(error);
    memcpy(text, bytes, size);
    text[size] = '\0';
    ft_status status = parse_without_scores(text, size, &root, error);
    file->text = text;
    file->root = root;
    if (status != FT_OK) return ft_fail_prefix(error, status, "header");
    if (!json_is_object(file->root))
        return ft_fail(error, FT_ERR_DAMAGED, "header: is %s, but an object is expected", json_kind(file->root));
    return FT_OK;
}

/* Whether floats can be read in place: byte order and alignment are those of this machine. */
static bool is_mappable(const uint8_t *bytes) {
    const uint32_t mark = BYTE_ORDER_MARK;
    return *(const uint8_t *)&mark == (BYTE_ORDER_MARK & 0xff) && (uintptr_t)bytes % _Alignof(float) == 0;
}

static ft_status map_block(const uint8_t *bytes, size_t count, predictor_file *file, ft_error *error) {
    file->count = count;
    if (is_mappable(bytes)) {
        file->block = (const float *)(const void *)bytes;
        return check_block(file->block, count, error);
    }
    file->owned = malloc((count > 0 ? count : 1) * sizeof *file->owned);
    if (file->owned == NULL) return FT_NOMEM(error);
    for (size_t i = 0; i < count; i++) {
        uint32_t bits = (uint32_t)get(bytes + 4 * i, 4);
        memcpy(&file->owned[i], &bits, sizeof bits);
    }
    file->block = file->owned;
    return check_block(file->block, count, error);
}

ft_status predictor_file_decode(const void *bytes, size_t size, predictor_file *file, ft_error *error) {
    const uint8_t *at = bytes;
    FT_TRY(check_head(at, size, error));
    predictor_file made = {0};
    FT_TRY(check_size(at, size, &made.size, error));
    size_t header = (size_t)get(at + 16, 8), count = (size_t)get(at + 24, 8);
    ft_status status = parse_header(at + HEAD_BYTES, header, &made, error);
    if (status == FT_OK) status = map_block(at + HEAD_BYTES + header, count, &made, error);
    if (status != FT_OK) {
        predictor_file_free(&made);
        return status;
    }
    *file = made;
    return FT_OK;
}

void predictor_file_free(predictor_file *file) {
    if (file == NULL) return;
    free(file->text);
    json_decref(file->root);
    free(file->owned);
    *file = (predictor_file){0};
}

/* --- The floats of a model ----------------------------------------------------------------------------------- */

bool float_block_add(float_block *block, const float *items, size_t count) {
    size_t needed, bytes;
    if (count == 0) return true;
    if (!num_add_size(block->count, count, &needed)) return false;
    if (needed > block->capacity) {
        size_t capacity = block->capacity * 2 > needed ? block->capacity * 2 : needed;
        if (!num_mul_size(capacity, sizeof *items, &bytes)) return false;
        float *grown = realloc(block->items, bytes);
        if (grown == NULL) return false;
        block->items = grown;
        block->capacity = capacity;
    }
    memcpy(block->items + block->count, items, count * sizeof *items);
    block->count = needed;
    return true;
}

bool float_block_add_forest(float_block *block, const forest *f) {
    size_t count = forest_save_count(f);
    float *floats = malloc(count * sizeof *floats);
    if (floats != NULL) forest_save(f, floats);
    bool is_added = floats != NULL && float_block_add(block, floats, count);
    free(floats);
    return is_added;
}

/* Advances past a forest that was read. */
static ft_status skip_forest(const float **block, size_t *left, uint32_t features, const forest *f, size_t used,
                             ft_error *error) {
    *block += used;
    *left -= used;
    if (forest_features(f) == features) return FT_OK;
    return ft_fail(error, FT_ERR_DAMAGED, "has trees over %u features; there are %u", forest_features(f), features);
}

ft_status block_read_forest(const float **block, size_t *left, uint32_t features, forest **f, ft_error *error) {
    size_t used = 0;
    FT_TRY(forest_load(*block, *left, f, &used, error));
    return skip_forest(block, left, features, *f, used, error);
}

ft_status block_map_forest(const float **block, size_t *left, uint32_t features, forest **f, ft_error *error) {
    size_t used = 0;
    FT_TRY(forest_map(*block, *left, f, &used, error));
    return skip_forest(block, left, features, *f, used, error);
}

void float_block_free(float_block *block) {
    free(block->items);
    *block = (float_block){0};
}
