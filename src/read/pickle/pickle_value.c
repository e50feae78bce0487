/* pickle_value.c - values of decoded pickles, escaped text, and recognition of pickles. */
#include <assert.h>
#include <string.h>

#include "base/text.h"
#include "read/pickle/pickle_machine.h"

enum { MAX_ENTRIES_SEARCHED = 64 };

/* --- Containers and numbers -------------------------------------------------------------------------------------- */

pickle_value *pickle_new(pickle *p, pickle_kind kind, ft_error *error) {
    pickle_value *value = ARENA_NEW(&p->memory, pickle_value);
    if (value == NULL)
        FT_NOMEM(error);
    else
        value->kind = kind;
    return value;
}

/* Reserves space for `more` items after the `used` ones. The old array stays in the arena. */
static bool grow_items(pickle *p, pickle_value *value, uint32_t used, uint32_t more) {
    assert(used <= value->capacity);
    if (value->capacity - used >= more) return true;
    if (value->capacity > UINT32_MAX / 2) return false;
    uint32_t larger = value->capacity == 0 ? 8 : value->capacity * 2;
    pickle_value **items = ARENA_ARRAY(&p->memory, pickle_value *, larger);
    if (items == NULL) return false;
    if (used > 0) memcpy(items, value->items, used * sizeof *items);
    value->items = items;
    value->capacity = larger;
    return true;
}

ft_status pickle_append(pickle *p, pickle_value *list, pickle_value *item, ft_error *error) {
    assert(list->kind == PICKLE_LIST);
    if (!grow_items(p, list, list->count, 1)) return FT_NOMEM(error);
    list->items[list->count++] = item;
    return FT_OK;
}

ft_status pickle_set(pickle *p, pickle_value *dict, pickle_value *key, pickle_value *value, ft_error *error) {
    assert(dict->kind == PICKLE_DICT);
    if (!grow_items(p, dict, 2 * dict->count, 2)) return FT_NOMEM(error);
    dict->items[2 * dict->count] = key;
    dict->items[2 * dict->count + 1] = value;
    dict->count++;
    return FT_OK;
}

bool pickle_is_string(const pickle_value *value, const char *text) {
    size_t length = strlen(text);
    return value->kind == PICKLE_STRING && value->count == length && memcmp(value->s, text, length) == 0;
}

const pickle_value *pickle_get(const pickle_value *dict, const char *key) {
    if (dict == NULL || dict->kind != PICKLE_DICT) return NULL;
    uint32_t last = dict->count > MAX_ENTRIES_SEARCHED ? dict->count - MAX_ENTRIES_SEARCHED : 0;
    for (uint32_t i = dict->count; i > last; i--) {
        if (pickle_is_string(dict->items[2 * (i - 1)], key)) return dict->items[2 * (i - 1) + 1];
    }
    return NULL;
}

bool pickle_number(const pickle_value *value, double *number) {
    if (value == NULL) return false;
    switch (value->kind) {
    case PICKLE_BOOL:
    case PICKLE_INT:
        *number = (double)value->i;
        return true;
    case PICKLE_FLOAT:
        *number = value->f;
        return true;
    case PICKLE_STRING:
        return text_double(value->s, value->count, number);
    default:
        return false;
    }
}

/* --- Text with escapes, protocol 0 ------------------------------------------------------------------------------- */

static bool hex_value(const char *text, size_t digits, uint32_t *value) {
    *value = 0;
    for (size_t i = 0; i < digits; i++) {
        char c = text[i], lower = (char)(c | 0x20);
        bool is_digit = c >= '0' && c <= '9', is_letter = lower >= 'a' && lower <= 'f';
        if (!is_digit && !is_letter) return false;
        *value = *value << 4 | (uint32_t)(is_digit ? c - '0' : lower - 'a' + 10);
    }
    return true;
}

static size_t put_utf8(char *out, uint32_t c) {
    if (c < 0x80) {
        out[0] = (char)c;
        return 1;
    }
    size_t length = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    const uint32_t lead[] = {0, 0, 0xc0, 0xe0, 0xf0};
    for (size_t i = length - 1; i > 0; i--, c >>= 6) out[i] = (char)(0x80 | (c & 0x3f));
    out[0] = (char)(lead[length] | (c & 0x3f));
    return length;
}

/* Decodes one escape after a backslash; *used is its length. No escape is longer as UTF-8 than as text. */
static size_t put_escape(char *out, const char *text, size_t left, bool is_unicode, size_t *used) {
    const char *const plain = "\\'\"ntr", *const meaning = "\\'\"\n\t\r";
    uint32_t value;
    char c = left > 0 ? text[0] : '\0';
    size_t digits = c == 'x' && !is_unicode ? 2 : c == 'u' && is_unicode ? 4 : c == 'U' && is_unicode ? 8 : 0;
    if (digits > 0 && left > digits && hex_value(text + 1, digits, &value) && value <= 0x10ffff) {
        *used = digits + 1;
        if (is_unicode) return put_utf8(out, value);
        out[0] = (char)value;
        return 1;
    }
    const char *known = c != '\0' && !is_unicode ? strchr(plain, c) : NULL;
    *used = known != NULL ? 1 : 0;
    out[0] = known != NULL ? meaning[known - plain] : '\\';
    return 1;
}

size_t pickle_unescape(const char *text, size_t length, bool is_unicode, char *out) {
    size_t made = 0;
    for (size_t i = 0; i < length;) {
        char c = text[i++];
        size_t used = 0;
        if (c == '\\')
            made += put_escape(out + made, text + i, length - i, is_unicode, &used);
        else if (is_unicode)
            made += put_utf8(out + made, (unsigned char)c);
        else
            out[made++] = c;
        i += used;
    }
    return made;
}

/* --- Recognition ------------------------------------------------------------------------------------------------- */

/* A line of letters, digits, '_' and '.', as names of modules and classes are; returns the position after it. */
static const uint8_t *skip_name_line(const uint8_t *at, const uint8_t *end) {
    const uint8_t *start = at;
    for (; at < end; at++) {
        uint8_t c = *at, lower = c | 0x20;
        if (c == '\n') return at > start ? at + 1 : NULL;
        if (!(lower >= 'a' && lower <= 'z') && !(c >= '0' && c <= '9') && c != '_' && c != '.') return NULL;
    }
    return NULL;
}

bool pickle_matches(const uint8_t *bytes, size_t size) {
    if (size < 2) return false;
    if (bytes[0] == 0x80) return bytes[1] >= 2 && bytes[1] <= 31; /* also later protocols */
    if (bytes[0] == 'c') {
        const uint8_t *line = skip_name_line(bytes + 1, bytes + size);
        return line != NULL && skip_name_line(line, bytes + size) != NULL;
    }
    if (bytes[size - 1] != '.') return false;
    return (bytes[0] == '(' && strchr("dlict(IKUXSV", bytes[1]) != NULL && bytes[1] != '\0') ||
           ((bytes[0] == '}' || bytes[0] == ']') && strchr("q(.", bytes[1]) != NULL && bytes[1] != '\0');
}
