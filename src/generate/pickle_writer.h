/* pickle_writer.h - writer of Python pickles (protocol 4): dicts, strings, numbers, and an object of a class.
 *
 * Strings and dicts can be memoized, as Python does it, and referred to later: a graph of hundreds of nodes stores
 * the name of each key once, and two dicts can share a third one. */
#ifndef GENERATE_PICKLE_WRITER_H
#define GENERATE_PICKLE_WRITER_H

#include <stdint.h>

#include "base/buf.h"

enum { PICKLE_WORDS = 64 }; /* number of interned strings */

typedef struct pickle_writer {
    buf *out;
    uint32_t memo_count;
    const char *words[PICKLE_WORDS]; /* by address: literals */
    uint32_t word_memo[PICKLE_WORDS];
    uint32_t word_count, last_word;
} pickle_writer;

void pickle_writer_begin(pickle_writer *w, buf *out);
void pickle_writer_end(pickle_writer *w);

/* A new object of MODULE.NAME, without calling its constructor. Its members follow as a dict; then pickle_put_build. */
void pickle_put_object(pickle_writer *w, const char *module, const char *name);
void pickle_put_build(pickle_writer *w);

/* An empty dict; returns its memo for pickle_put_memo(). Items follow between pickle_put_items_begin and _end, key
 * and value in turn. */
uint32_t pickle_put_dict(pickle_writer *w);
void pickle_put_items_begin(pickle_writer *w);
void pickle_put_items_end(pickle_writer *w);
void pickle_put_memo(pickle_writer *w, uint32_t memo);

void pickle_put_interned(pickle_writer *w, const char *literal); /* a string literal, written once */
void pickle_put_string(pickle_writer *w, const char *text);      /* at most 255 bytes */
void pickle_put_int(pickle_writer *w, int64_t value);
void pickle_put_float(pickle_writer *w, double value);

#endif
