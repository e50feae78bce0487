/* buf.h - a growing byte buffer, for output and for strings built from parts.
 *
 * Running out of memory sets `failed` instead of being reported by each call; check it once at the end. */
#ifndef BASE_BUF_H
#define BASE_BUF_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct buf {
    char *data; /* NUL-terminated once anything was added; NULL before */
    size_t length;
    size_t capacity;
    bool failed;
} buf;

void buf_add(buf *b, const void *bytes, size_t length);
void buf_text(buf *b, const char *text);
void buf_char(buf *b, char c);
void buf_int(buf *b, int64_t number); /* as %lld, but much faster */
void buf_format(buf *b, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Makes room for `more` bytes and a terminator after the contents; false when out of memory. */
bool buf_reserve(buf *b, size_t more);
void buf_free(buf *b);

#endif
