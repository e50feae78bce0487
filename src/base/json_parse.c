/* json_parse.c - a strict JSON parser that builds jansson values.
 *
 * jansson has a parser too, but it drops a byte of a string or number, and reads past the end of its buffer, when
 * memory is exhausted at the wrong moment. Here every allocation is checked, and the text of a string is decoded into a
 * buffer that is large enough from the start. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "base/text.h"

enum { MAX_DEPTH = 256, MAX_NUMBER_BYTES = 1000 };

typedef struct parser {
    const char *start, *at, *end;
    char *scratch; /* a decoded string: never longer than the whole text */
    const char *why;
    bool is_out_of_memory;
    uint32_t depth;
} parser;

static json_t *fail(parser *p, const char *why) {
    if (p->why == NULL) p->why = why;
    return NULL;
}

/* A value that jansson made, or could not make for lack of memory. */
static json_t *made(parser *p, json_t *value) {
    if (value == NULL) p->is_out_of_memory = true;
    return value;
}

static void skip_space(parser *p) {
    while (p->at < p->end && (*p->at == ' ' || *p->at == '\t' || *p->at == '\n' || *p->at == '\r')) p->at++;
}

static bool skip_char(parser *p, char c) {
    skip_space(p);
    if (p->at == p->end || *p->at != c) return false;
    p->at++;
    return true;
}

/* --- Strings ------------------------------------------------------------------------------------------------- */

static int hex_digit(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* The four hexadecimal digits of \uXXXX; -1 when there are fewer. */
static long code_unit(parser *p) {
    long code = 0;
    for (int i = 0; i < 4; i++, p->at++) {
        int digit = p->at < p->end ? hex_digit(*p->at) : -1;
        if (digit < 0) return -1;
        code = code * 16 + digit;
    }
    return code;
}

/* A code point as UTF-8: at most four bytes, fewer than those of its escapes. */
static char *put_code(long code, char *to) {
    if (code < 0x80) {
        *to++ = (char)code;
        return to;
    }
    int tail = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
    static const unsigned char leads[] = {0, 0xc0, 0xe0, 0xf0};
    *to++ = (char)(leads[tail] | code >> 6 * tail);
    while (tail-- > 0) *to++ = (char)(0x80 | (code >> 6 * tail & 0x3f));
    return to;
}

/* After "\u". False: not a character. */
static bool take_unicode(parser *p, char **to) {
    long code = code_unit(p);
    if (code >= 0xd800 && code < 0xdc00) { /* the first half of a pair */
        if (p->end - p->at < 2 || p->at[0] != '\\' || p->at[1] != 'u') return false;
        p->at += 2;
        long low = code_unit(p);
        if (low < 0xdc00 || low >= 0xe000) return false;
        code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
    } else if (code <= 0 || (code >= 0xdc00 && code < 0xe000)) {
        return false;
    }
    *to = put_code(code, *to);
    return true;
}

static bool take_escape(parser *p, char **to) {
    static const char names[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
    char c = p->at < p->end ? *p->at++ : '\0';
    if (c == 'u') return take_unicode(p, to);
    const char *name = c != '\0' ? strchr(names, c) : NULL;
    if (name != NULL) *(*to)++ = values[name - names];
    return name != NULL;
}

/* The length of the character at `at`, which may be the last of the text; 0 when it is not UTF-8. */
static size_t character(const char *at, const char *end) {
    char next[5] = {0};
    memcpy(next, at, end - at < 4 ? (size_t)(end - at) : 4);
    return next[0] != '\0' ? utf8_length(next) : 1;
}

/* Decodes a string into the scratch memory; SIZE_MAX on an error. */
static size_t take_text(parser *p) {
    char *to = p->scratch;
    for (p->at++; p->at < p->end && *p->at != '"';) {
        unsigned char c = (unsigned char)*p->at;
        if (c == '\\') {
            p->at++;
            if (take_escape(p, &to)) continue;
            fail(p, "a wrong escape in a string");
            return SIZE_MAX;
        }
        size_t length = c < 0x80 ? 1 : character(p->at, p->end);
        if (c < 0x20 || length == 0) {
            fail(p, c < 0x20 ? "a control character in a string" : "a string that is not UTF-8");
            return SIZE_MAX;
        }
        memcpy(to, p->at, length);
        to += length;
        p->at += length;
    }
    if (p->at == p->end) {
        fail(p, "the text ends inside a string");
        return SIZE_MAX;
    }
    p->at++;
    *to = '\0';
    return (size_t)(to - p->scratch);
}

/* --- Numbers and words --------------------------------------------------------------------------------------- */

static size_t skip_digits(parser *p) {
    const char *from = p->at;
    while (p->at < p->end && *p->at >= '0' && *p->at <= '9') p->at++;
    return (size_t)(p->at - from);
}

/* The grammar of JSON: no leading zero, no bare point. */
static bool skip_number(parser *p, bool *is_whole) {
    if (*p->at == '-') p->at++;
    const char *first = p->at;
    size_t digits = skip_digits(p);
    if (digits == 0 || (digits > 1 && *first == '0')) return false;
    *is_whole = true;
    if (p->at < p->end && *p->at == '.') {
        *is_whole = false;
        p->at++;
        if (skip_digits(p) == 0) return false;
    }
    if (p->at < p->end && (*p->at == 'e' || *p->at == 'E')) {
        *is_whole = false;
        p->at++;
        if (p->at < p->end && (*p->at == '+' || *p->at == '-')) p->at++;
        if (skip_digits(p) == 0) return false;
    }
    return true;
}

static json_t *take_number(parser *p) {
    const char *from = p->at;
    bool is_whole = false;
    if (!skip_number(p, &is_whole)) return fail(p, "a wrong number");
    size_t length = (size_t)(p->at - from);
    double real = 0;
    int64_t whole = 0;
    if (length > MAX_NUMBER_BYTES) return fail(p, "a number of too many digits");
    if (is_whole) {
        if (!text_int(from, length, &whole)) return fail(p, "a whole number that is too large");
        return made(p, json_integer(whole));
    }
    if (!text_double(from, length, &real) || !isfinite(real)) return fail(p, "a number that is too large");
    return made(p, json_real(real));
}

static json_t *take_word(parser *p) {
    static const char *const words[] = {"true", "false", "null"};
    for (int i = 0; i < 3; i++) {
        size_t length = strlen(words[i]);
        if ((size_t)(p->end - p->at) < length || memcmp(p->at, words[i], length) != 0) continue;
        p->at += length;
        return i == 2 ? json_null() : json_boolean(i == 0);
    }
    return fail(p, p->at == p->end ? "the text ends where a value is expected" : "a value is expected");
}

/* --- Values -------------------------------------------------------------------------------------------------- */

static json_t *take_value(parser *p);

/* Adds one key and its value; NULL on an error. */
static json_t *take_pair(parser *p, json_t *object) {
    skip_space(p);
    if (p->at == p->end || *p->at != '"') return fail(p, "a key in quotes is expected");
    size_t length = take_text(p);
    if (length == SIZE_MAX) return NULL;
    if (strlen(p->scratch) != length) return fail(p, "a key with a NUL character");
    if (json_object_get(object, p->scratch) != NULL) return fail(p, "a duplicate key");
    char *key = strdup(p->scratch); /* the value needs the scratch memory */
    if (key == NULL) return made(p, NULL);
    json_t *value = skip_char(p, ':') ? take_value(p) : fail(p, "a colon is expected after a key");
    json_t *kept = value != NULL ? made(p, json_put(object, key, value) ? object : NULL) : NULL;
    free(key);
    return kept;
}

/* The items of an object or a list, up to the closing bracket. */
static json_t *take_items(parser *p, json_t *whole, char closing) {
    if (whole == NULL) return made(p, NULL);
    p->at++;
    if (skip_char(p, closing)) return whole;
    do {
        json_t *item = closing == '}' ? take_pair(p, whole) : take_value(p);
        if (item == NULL) return NULL;
        if (closing == ']' && !json_add(whole, item)) return made(p, NULL);
        if (skip_char(p, closing)) return whole;
    } while (skip_char(p, ','));
    return fail(p, p->at == p->end ? "the text ends inside a list or an object" : "a comma is expected");
}

static json_t *take_value(parser *p) {
    skip_space(p);
    char c = p->at < p->end ? *p->at : '\0';
    if (c == '-' || (c >= '0' && c <= '9')) return take_number(p);
    if (c == '"') {
        size_t length = take_text(p);
        return length != SIZE_MAX ? made(p, json_stringn(p->scratch, length)) : NULL;
    }
    if (c != '{' && c != '[') return take_word(p);
    if (p->depth == MAX_DEPTH) return fail(p, "lists and objects are nested too deeply");
    p->depth++;
    json_t *whole = c == '{' ? json_object() : json_array();
    json_t *value = take_items(p, whole, c == '{' ? '}' : ']');
    if (value == NULL) json_decref(whole);
    p->depth--;
    return value;
}

/* Line and column of the place where parsing stopped, both from 1. */
static ft_status fail_at(const parser *p, ft_error *error) {
    unsigned line = 1, column = 1;
    for (const char *at = p->start; at < p->at; at++) {
        column = *at == '\n' ? 1 : column + 1;
        line += *at == '\n';
    }
    return ft_fail(error, FT_ERR_DAMAGED, "line %u, column %u: %s", line, column, p->why);
}

static ft_status parse(parser *p, bool is_any, json_t **root, ft_error *error) {
    skip_space(p);
    if (!is_any && (p->at == p->end || (*p->at != '{' && *p->at != '['))) {
        p->why = "an object or a list is expected";
        return fail_at(p, error);
    }
    json_t *value = take_value(p);
    if (value == NULL) return p->is_out_of_memory ? FT_NOMEM(error) : fail_at(p, error);
    skip_space(p);
    if (p->at != p->end) {
        json_decref(value);
        p->why = "text after the end of the value";
        return fail_at(p, error);
    }
    *root = value;
    return FT_OK;
}

static ft_status parse_text(const char *text, size_t size, bool is_any, json_t **root, ft_error *error) {
    *root = NULL;
    parser p = {.start = text, .at = text, .end = text + size, .scratch = malloc(size + 1)};
    if (p.scratch == NULL) return FT_NOMEM(error);
    ft_status status = parse(&p, is_any, root, error);
    free(p.scratch);
    return status;
}

ft_status json_parse(const void *text, size_t size, json_t **root, ft_error *error) {
    return parse_text(text, size, false, root, error);
}

ft_status json_parse_value(const void *text, size_t size, json_t **value, ft_error *error) {
    return parse_text(text, size, true, value, error);
}

ft_status json_parse_plain(const char *text, size_t size, json_t **value, ft_error *error) {
    ft_status status = json_parse_value(text, size, value, error);
    return status == FT_ERR_DAMAGED ? json_utf8(text, size, value, error) : status;
}

ft_status json_utf8(const char *text, size_t size, json_t **value, ft_error *error) {
    for (size_t at = 0; at < size;) {
        size_t length = character(text + at, text + size);
        if (length == 0) return ft_fail(error, FT_ERR_USAGE, "is not UTF-8");
        at += length;
    }
    *value = json_stringn(text, size);
    return *value != NULL ? FT_OK : FT_NOMEM(error);
}
