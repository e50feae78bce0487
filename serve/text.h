/* text.h - a growing text: bodies, metrics, log lines, messages to workers. */
#ifndef SERVE_TEXT_H
#define SERVE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "foretell/status.h"

typedef struct text {
    char *data; /* NUL-terminated once anything was added; NULL before */
    size_t size, capacity;
    bool failed; /* out of memory: checked once at the end */
} text;

void text_add(text *t, const void *bytes, size_t size);
void text_put(text *t, const char *string);
void text_format(text *t, const char *format, ...) FT_PRINTF(2, 3);
/* A string of JSON, with quotes. Bytes that are not UTF-8 become '?'. */
void text_json(text *t, const char *string);
/* A number of JSON; null for NaN and infinity. */
void text_number(text *t, double number);
void text_free(text *t);

/* Messages between processes: numbers and strings with their length, read back with checks. */
void text_add_u32(text *t, uint32_t number);
void text_add_bytes(text *t, const void *bytes, size_t size);
void text_add_string(text *t, const char *string); /* NULL is read back as NULL */

typedef struct text_reader {
    const char *at, *end;
    bool failed;
} text_reader;

uint32_t text_read_u32(text_reader *r);
/* Points into the message. The byte behind a string is 0. NULL: absent, or the message is damaged. */
const char *text_read_bytes(text_reader *r, size_t *size);
const char *text_read_string(text_reader *r);

#endif
