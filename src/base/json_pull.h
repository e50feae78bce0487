/* json_pull.h - a JSON pull parser that builds no tree, for logs of millions of lines.
 *
 * The caller requests the value it expects next, or skips it. Strings point into the text, with a flag for escapes. All
 * calls return false when the text does not have the requested value; `why` is then the reason, and no further calls
 * are allowed. */
#ifndef BASE_JSON_PULL_H
#define BASE_JSON_PULL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { JSON_PULL_DEPTH = 64 };

typedef struct json_pull {
    const char *start, *at, *end;
    const char *why;   /* static; NULL while there is no error */
    const char *fault; /* where the error is */
} json_pull;

typedef struct json_text {
    const char *text; /* inside the quotes; not NUL-terminated */
    size_t length;
    bool has_escapes;
} json_text;

void json_pull_init(json_pull *p, const char *text, size_t size);
/* The kind of the next value: '{' '[' '"' '0' (a number) 't' 'f' 'n' or 0 at the end of the text. */
char json_pull_peek(json_pull *p);
/* '[' or '{'. */
bool json_pull_open(json_pull *p, char bracket);
/* True when another item follows; false after the closing bracket or on an error. `first` is true before the first
 * call. */
bool json_pull_more(json_pull *p, char closing, bool *first);
/* A key and its colon. */
bool json_pull_key(json_pull *p, json_text *key);
bool json_pull_string(json_pull *p, json_text *text);
bool json_pull_int(json_pull *p, int64_t *value);
/* Also NaN, Infinity and -Infinity, which Python writes. */
bool json_pull_double(json_pull *p, double *value);
bool json_pull_skip(json_pull *p);
/* Only white space is left. */
bool json_pull_end(json_pull *p);

bool json_text_is(const json_text *t, const char *text);
/* Writes the string without its escapes, NUL-terminated; returns its length, or SIZE_MAX when it does not fit or an
 * escape is wrong. The result is never longer than the text. */
size_t json_text_decode(const json_text *t, char *out, size_t size);

#endif
