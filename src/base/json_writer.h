/* json_writer.h - a streaming JSON writer into a buffer.
 *
 * The writer adds commas, line breaks and indentation; the caller opens, names and closes. Nothing is held back: the
 * contents of the buffer may be sent on and removed while a document is still open. Wrong nesting is a programming
 * error and is asserted. */
#ifndef BASE_JSON_WRITER_H
#define BASE_JSON_WRITER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

enum { JSON_WRITER_DEPTH = 16 };

/* Layout of the items of an object or array: one per line, or all on one line, nested ones included. */
typedef enum json_style { JSON_BLOCK, JSON_LINE } json_style;

typedef struct json_writer {
    buf *out;
    uint32_t depth;
    struct {
        bool is_object;
        bool has_items;
        json_style style;
    } levels[JSON_WRITER_DEPTH];
    bool has_key; /* a key was written; its value comes next */
} json_writer;

void jsonw_init(json_writer *w, buf *out);

void jsonw_open_object(json_writer *w, json_style style);
void jsonw_open_array(json_writer *w, json_style style);
void jsonw_close(json_writer *w);
void jsonw_key(json_writer *w, const char *key);

/* Bytes that are not UTF-8 become U+FFFD. NULL writes null. */
void jsonw_string(json_writer *w, const char *text);
void jsonw_uint(json_writer *w, uint64_t value);
void jsonw_int(json_writer *w, int64_t value);
/* The shortest text that parses to the same number; null for NaN and infinity. */
void jsonw_double(json_writer *w, double value);
void jsonw_bool(json_writer *w, bool value);
void jsonw_null(json_writer *w);

/* A key and its value. */
void jsonw_pair_string(json_writer *w, const char *key, const char *text);
void jsonw_pair_uint(json_writer *w, const char *key, uint64_t value);
void jsonw_pair_double(json_writer *w, const char *key, double value);

enum { DOUBLE_TEXT_SIZE = 32 };
/* The text of a finite number for JSON and CSV: shortest round trip, with a decimal point in every locale. */
void double_text(double value, char text[static DOUBLE_TEXT_SIZE]);

/* Length of the well-formed UTF-8 sequence at `bytes` (1 to 4), 0 when there is none. */
size_t utf8_length(const char *bytes);

#endif
