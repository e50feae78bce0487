/* buf.h - a byte buffer that grows: output being written, strings being put together.
 *
 * Failure to grow is remembered (`failed`) instead of reported at each call, so that writers read as a sequence;
 * check it once at the end. */
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
void buf_int(buf *b, int64_t number); /* as %lld, and many times faster */
void buf_format(buf *b, const char *format, ...) __attribute__((format(printf, 2, 3)));
void buf_free(buf *b);

#endif
