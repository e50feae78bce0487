/* buf.c - doubles its capacity; one byte is always kept for the terminator. */
#include "base/buf.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool buf_reserve(buf *b, size_t more) {
    if (b->failed) return false;
    if (more < b->capacity - b->length) return true;
    size_t capacity = b->capacity < 128 ? 256 : b->capacity;
    while (capacity - b->length <= more) {
        if (capacity > SIZE_MAX / 2) {
            b->failed = true;
            return false;
        }
        capacity *= 2;
    }
    char *data = realloc(b->data, capacity);
    if (data == NULL) {
        b->failed = true;
        return false;
    }
    b->data = data;
    b->capacity = capacity;
    return true;
}

void buf_add(buf *b, const void *bytes, size_t length) {
    if (!buf_reserve(b, length)) return;
    if (length > 0) memcpy(b->data + b->length, bytes, length);
    b->length += length;
    assert(b->length < b->capacity);
    b->data[b->length] = '\0';
}

void buf_text(buf *b, const char *text) {
    buf_add(b, text, strlen(text));
}

void buf_char(buf *b, char c) {
    buf_add(b, &c, 1);
}

void buf_int(buf *b, int64_t number) {
    char digits[20]; /* and a sign */
    size_t at = sizeof digits;
    uint64_t rest = number < 0 ? 0 - (uint64_t)number : (uint64_t)number;
    do {
        digits[--at] = (char)('0' + rest % 10);
        rest /= 10;
    } while (rest > 0);
    if (number < 0) digits[--at] = '-';
    buf_add(b, digits + at, sizeof digits - at);
}

void buf_format(buf *b, const char *format, ...) {
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int length = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (length >= 0 && buf_reserve(b, (size_t)length)) {
        vsnprintf(b->data + b->length, (size_t)length + 1, format, again);
        b->length += (size_t)length;
    }
    va_end(again);
}

void buf_free(buf *b) {
    free(b->data);
    *b = (buf){0};
}
