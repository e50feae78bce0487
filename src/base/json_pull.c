/* json_pull.c - a pull parser over text in memory; nothing is allocated. */
#include "base/json_pull.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/text.h"

void json_pull_init(json_pull *p, const char *text, size_t size) {
    *p = (json_pull){.start = text, .at = text, .end = text + size};
}

static bool fail(json_pull *p, const char *why) {
    if (p->why == NULL) {
        p->why = why;
        p->fault = p->at;
    }
    p->at = p->end;
    return false;
}

static void skip_space(json_pull *p) {
    while (p->at < p->end && (*p->at == ' ' || *p->at == '\t' || *p->at == '\n' || *p->at == '\r')) p->at++;
}

char json_pull_peek(json_pull *p) {
    skip_space(p);
    if (p->at == p->end) return 0;
    char c = *p->at;
    return (c >= '0' && c <= '9') || c == '-' || c == 'N' || c == 'I' ? '0' : c;
}

bool json_pull_open(json_pull *p, char bracket) {
    skip_space(p);
    if (p->at == p->end || *p->at != bracket)
        return fail(p, bracket == '[' ? "a list is expected" : "an object is expected");
    p->at++;
    return true;
}

bool json_pull_more(json_pull *p, char closing, bool *first) {
    skip_space(p);
    if (p->at == p->end) return fail(p, "the text ends inside a list or an object");
    if (*p->at == closing) {
        p->at++;
        return false;
    }
    if (!*first) {
        if (*p->at != ',') return fail(p, "a comma is expected between two items");
        p->at++;
    }
    *first = false;
    return true;
}

bool json_pull_string(json_pull *p, json_text *text) {
    skip_space(p);
    if (p->at == p->end || *p->at != '"') return fail(p, "a string is expected");
    const char *begin = ++p->at;
    bool has_escapes = false;
    for (; p->at < p->end && *p->at != '"'; p->at++) {
        if ((unsigned char)*p->at < 0x20) return fail(p, "a string contains a control character");
        if (*p->at != '\\') continue;
        has_escapes = true;
        if (++p->at == p->end) break;
    }
    if (p->at >= p->end) return fail(p, "the text ends inside a string");
    *text = (json_text){.text = begin, .length = (size_t)(p->at - begin), .has_escapes = has_escapes};
    p->at++;
    return true;
}

bool json_pull_key(json_pull *p, json_text *key) {
    if (!json_pull_string(p, key)) return false;
    skip_space(p);
    if (p->at == p->end || *p->at != ':') return fail(p, "a colon is expected after a key");
    p->at++;
    return true;
}

bool json_pull_int(json_pull *p, int64_t *value) {
    skip_space(p);
    const char *begin = p->at;
    bool is_negative = p->at < p->end && *p->at == '-';
    p->at += is_negative;
    const char *digits = p->at;
    int64_t number = 0;
    for (; p->at < p->end && *p->at >= '0' && *p->at <= '9'; p->at++) {
        if (p->at - digits < 18) number = number * 10 + (*p->at - '0');
    }
    if (p->at == digits) return fail(p, "a whole number is expected");
    if (p->at - digits > 18) return fail(p, "a whole number is too large");
    if (p->at < p->end && (*p->at == '.' || *p->at == 'e' || *p->at == 'E')) {
        p->at = begin;
        return fail(p, "a number is not whole");
    }
    *value = is_negative ? -number : number;
    return true;
}

static bool skip_word(json_pull *p, const char *word) {
    size_t length = strlen(word);
    if ((size_t)(p->end - p->at) < length || memcmp(p->at, word, length) != 0) return false;
    p->at += length;
    return true;
}

bool json_pull_double(json_pull *p, double *value) {
    skip_space(p);
    const char *begin = p->at;
    *value = NAN;
    if (skip_word(p, "NaN")) return true;
    *value = INFINITY;
    if (skip_word(p, "Infinity")) return true;
    *value = -INFINITY;
    if (skip_word(p, "-Infinity")) return true;
    while (p->at < p->end && (strchr("+-.eE", *p->at) != NULL || (*p->at >= '0' && *p->at <= '9')) && *p->at != '\0')
        p->at++;
    if (p->at == begin || !text_double(begin, (size_t)(p->at - begin), value)) return fail(p, "a number is expected");
    return true;
}

/* A loop instead of recursion, so that depth needs no stack. */
bool json_pull_skip(json_pull *p) {
    char closing[JSON_PULL_DEPTH];
    bool first[JSON_PULL_DEPTH];
    size_t depth = 0;
    do {
        json_text text;
        double number;
        switch (json_pull_peek(p)) {
        case '[':
        case '{':
            if (depth == JSON_PULL_DEPTH) return fail(p, "lists and objects are nested too deeply");
            closing[depth] = *p->at == '[' ? ']' : '}';
            first[depth++] = true;
            p->at++;
            break;
        case '"':
            if (!json_pull_string(p, &text)) return false;
            break;
        case 't':
            if (!skip_word(p, "true")) return fail(p, "a word that starts with t is not true");
            break;
        case 'f':
            if (!skip_word(p, "false")) return fail(p, "a word that starts with f is not false");
            break;
        case 'n':
            if (!skip_word(p, "null")) return fail(p, "a word that starts with n is not null");
            break;
        case '0':
            if (!json_pull_double(p, &number)) return false;
            break;
        default:
            return fail(p, "a value is expected");
        }
        while (depth > 0 && !json_pull_more(p, closing[depth - 1], &first[depth - 1])) {
            if (p->why != NULL) return false;
            depth--;
        }
        if (depth > 0 && closing[depth - 1] == '}' && !json_pull_key(p, &text)) return false;
    } while (depth > 0);
    return true;
}

bool json_pull_end(json_pull *p) {
    skip_space(p);
    return p->at == p->end || fail(p, "unexpected text after the value");
}

bool json_text_is(const json_text *t, const char *text) {
    return t->length == strlen(text) && memcmp(t->text, text, t->length) == 0;
}

static int hex_digit(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* The value of four hexadecimal digits; -1 when they are not. */
static long code_unit(const char *at, const char *end) {
    long code = 0;
    if (end - at < 4) return -1;
    for (int i = 0; i < 4; i++) {
        int digit = hex_digit(at[i]);
        if (digit < 0) return -1;
        code = code * 16 + digit;
    }
    return code;
}

/* UTF-8 of a code below 0x10000: at most three bytes, fewer than the six of its escape. */
static size_t put_code(long code, char *out) {
    if (code < 0x80) {
        out[0] = (char)code;
        return 1;
    }
    if (code < 0x800) {
        out[0] = (char)(0xc0 | code >> 6);
        out[1] = (char)(0x80 | (code & 0x3f));
        return 2;
    }
    out[0] = (char)(0xe0 | code >> 12);
    out[1] = (char)(0x80 | (code >> 6 & 0x3f));
    out[2] = (char)(0x80 | (code & 0x3f));
    return 3;
}

size_t json_text_decode(const json_text *t, char *out, size_t size) {
    if (t->length >= size) return SIZE_MAX;
    const char *from = t->text, *end = t->text + t->length;
    char *to = out;
    while (from < end) {
        if (*from != '\\') {
            *to++ = *from++;
            continue;
        }
        if (++from == end) return SIZE_MAX;
        static const char names[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
        const char *name = *from != '\0' ? strchr(names, *from) : NULL;
        if (name != NULL) {
            *to++ = values[name - names];
            from++;
        } else {
            long code = *from == 'u' ? code_unit(from + 1, end) : -1;
            if (code <= 0 || (code >= 0xd800 && code < 0xe000)) return SIZE_MAX;
            to += put_code(code, to);
            from += 5;
        }
    }
    assert((size_t)(to - out) <= t->length);
    *to = '\0';
    return (size_t)(to - out);
}
