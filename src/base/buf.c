/* buf.c - doubles its capacity; one byte is always kept for the terminator. */
#include "base/buf.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/format.h"

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
    char digits[FORMAT_INT_SIZE];
    if (number < 0) buf_char(b, '-');
    buf_add(b, digits, format_uint(number < 0 ? 0 - (uint64_t)number : (uint64_t)number, digits));
}

/* Most texts fit into what is reserved; the others are written a second time. */
void buf_format(buf *b, const char *format, ...) {
    enum { COMMON = 96 };
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    if (buf_reserve(b, COMMON)) {
        size_t room = b->capacity - b->length, length = format_list(b->data + b->length, room, format, args);
        if (length >= room) {
            b->data[b->length] = '\0';
            if (length == SIZE_MAX) b->failed = true;
            if (buf_reserve(b, length)) format_list(b->data + b->length, length + 1, format, again);
        }
        if (!b->failed) b->length += length;
    }
    va_end(again);
    va_end(args);
}

void buf_free(buf *b) {
    free(b->data);
    *b = (buf){0};
}
