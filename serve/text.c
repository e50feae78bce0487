/* text.c - a growing text, JSON strings, and messages between processes. */
#include "text.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_BYTES = 256, ABSENT = -1 };

static bool reserve(text *t, size_t more) {
    if (t->failed || more > SIZE_MAX / 4 - t->size) return t->failed = true, false;
    if (t->size + more + 1 <= t->capacity) return true;
    size_t capacity = t->capacity > 0 ? t->capacity : FIRST_BYTES;
    while (capacity < t->size + more + 1) capacity *= 2;
    char *data = realloc(t->data, capacity);
    if (data == NULL) return t->failed = true, false;
    t->data = data;
    t->capacity = capacity;
    return true;
}

void text_add(text *t, const void *bytes, size_t size) {
    if (!reserve(t, size)) return;
    if (size > 0) memcpy(t->data + t->size, bytes, size);
    t->size += size;
    t->data[t->size] = '\0';
}

void text_put(text *t, const char *string) {
    text_add(t, string, strlen(string));
}

void text_format(text *t, const char *format, ...) {
    va_list args;
    va_start(args, format);
    int size = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (size < 0 || !reserve(t, (size_t)size)) return;
    va_start(args, format);
    vsnprintf(t->data + t->size, (size_t)size + 1, format, args);
    va_end(args);
    t->size += (size_t)size;
}

/* Length of a well-formed sequence of UTF-8; 0: it is none. Overlong forms and surrogates are not checked further:
 * readers of JSON replace them. */
static size_t sequence(const unsigned char *at) {
    size_t length = *at < 0x80 ? 1 : *at >= 0xc2 && *at < 0xe0 ? 2 : *at >= 0xe0 && *at < 0xf0 ? 3 : 4;
    if (*at >= 0x80 && (*at < 0xc2 || *at > 0xf4)) return 0;
    for (size_t i = 1; i < length; i++)
        if ((at[i] & 0xc0) != 0x80) return 0;
    return length;
}

void text_json(text *t, const char *string) {
    text_put(t, "\"");
    for (const unsigned char *at = (const unsigned char *)string; *at != '\0';) {
        size_t length = sequence(at);
        if (length == 0) {
            text_put(t, "?");
            length = 1;
        } else if (*at == '"' || *at == '\\') {
            text_format(t, "\\%c", *at);
        } else if (*at < 0x20 || *at == 0x7f) {
            text_format(t, "\\u%04x", *at);
        } else {
            text_add(t, at, length);
        }
        at += length;
    }
    text_put(t, "\"");
}

void text_number(text *t, double number) {
    if (isfinite(number))
        text_format(t, "%.10g", number);
    else
        text_put(t, "null");
}

void text_free(text *t) {
    free(t->data);
    *t = (text){0};
}

/* --- Messages -------------------------------------------------------------------------------------------------- */

void text_add_u32(text *t, uint32_t number) {
    text_add(t, &number, sizeof number);
}

void text_add_bytes(text *t, const void *bytes, size_t size) {
    if (size >= UINT32_MAX) {
        t->failed = true;
        return;
    }
    text_add_u32(t, (uint32_t)size);
    text_add(t, bytes, size);
    text_add(t, "", 1);
}

void text_add_string(text *t, const char *string) {
    if (string != NULL)
        text_add_bytes(t, string, strlen(string));
    else
        text_add_u32(t, UINT32_MAX);
}

uint32_t text_read_u32(text_reader *r) {
    uint32_t number = 0;
    if (r->failed || (size_t)(r->end - r->at) < sizeof number) return r->failed = true, 0;
    memcpy(&number, r->at, sizeof number);
    r->at += sizeof number;
    return number;
}

const char *text_read_bytes(text_reader *r, size_t *size) {
    uint32_t length = text_read_u32(r);
    *size = 0;
    if (r->failed || length == UINT32_MAX) return NULL;
    if ((size_t)(r->end - r->at) < (size_t)length + 1 || r->at[length] != '\0') return r->failed = true, NULL;
    const char *bytes = r->at;
    r->at += (size_t)length + 1;
    *size = length;
    return bytes;
}

const char *text_read_string(text_reader *r) {
    size_t size;
    return text_read_bytes(r, &size);
}
