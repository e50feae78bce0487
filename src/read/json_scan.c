/* json_scan.c - see json_scan.h. */
#include "read/json_scan.h"

#include <assert.h>
#include <string.h>

#include "base/error.h"
#include "foretell/graph.h"

enum { MAX_TEXT_BYTES = 64 * 1024 * 1024, MAX_VALUES = 4 * 1000 * 1000 };

static bool is_space(uint8_t c) {
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

size_t json_scan_string(const uint8_t *bytes, size_t size, size_t at) {
    assert(at <= size);
    while (at < size && bytes[at] != '"') at += bytes[at] == '\\' ? 2 : 1;
    return at < size ? at : size;
}

size_t json_scan_space(const uint8_t *bytes, size_t size, size_t at) {
    assert(at <= size);
    while (at < size && is_space(bytes[at])) at++;
    return at;
}

static bool is_one_of(const uint8_t *key, size_t length, const char *const *keys) {
    for (; *keys != NULL; keys++)
        if (length == strlen(*keys) && memcmp(key, *keys, length) == 0) return true;
    return false;
}

bool json_scan_has_key(const uint8_t *bytes, size_t size, const char *const *keys) {
    size_t at = json_scan_space(bytes, size, 0), depth = 0;
    if (at == size || bytes[at] != '{') return false;
    for (; at < size; at++) {
        if (bytes[at] == '{' || bytes[at] == '[') {
            depth++;
        } else if (bytes[at] == '}' || bytes[at] == ']') {
            if (--depth == 0) return false;
        } else if (bytes[at] == '"') {
            size_t end = json_scan_string(bytes, size, at + 1), next = json_scan_space(bytes, size, end + (end < size));
            bool is_key = depth == 1 && next < size && bytes[next] == ':';
            if (is_key && is_one_of(bytes + at + 1, end - at - 1, keys)) return true;
            at = end;
        }
    }
    return false;
}

ft_status json_scan_check(const uint8_t *bytes, size_t size, ft_error *error) {
    if (size > MAX_TEXT_BYTES)
        return ft_fail(error, FT_ERR_LIMIT, "the JSON text has more than %d bytes", MAX_TEXT_BYTES);
    size_t depth = 0, values = 0;
    for (size_t at = 0; at < size; at++) {
        uint8_t c = bytes[at];
        if (c == '"')
            at = json_scan_string(bytes, size, at + 1);
        else if (c == '}' || c == ']')
            depth -= depth > 0;
        else if (c == '{' || c == '[')
            depth++;
        values += c == ',' || c == ':' || c == '{' || c == '[';
        if (depth > FT_MAX_DEPTH)
            return ft_fail(error, FT_ERR_LIMIT, "the JSON text nests deeper than %d at byte %zu", FT_MAX_DEPTH, at);
    }
    if (values > MAX_VALUES) return ft_fail(error, FT_ERR_LIMIT, "the JSON text has more than %d values", MAX_VALUES);
    return FT_OK;
}
