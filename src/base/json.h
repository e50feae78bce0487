/* json.h - JSON parsing with jansson, checked access to values, and jansson values written with json_writer.h. */
#ifndef BASE_JSON_H
#define BASE_JSON_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "base/json_writer.h"
#include "foretell/status.h"

/* Parses the whole text as one value, which the caller frees with json_decref. Repeated keys in an object are an error.
 * The message has line and column; the caller prepends the file. */
ft_status json_parse(const void *text, size_t size, json_t **root, ft_error *error);

/* The kind of a value for messages: "a list"; "absent" for NULL, which jansson returns for a missing key. */
const char *json_kind(const json_t *value);

/* A value that must have one kind. The message continues after the key ("is a list, but a string is expected"); the
 * caller prepends the key. The string belongs to the value. */
ft_status json_read_string(const json_t *value, const char **text, ft_error *error);
ft_status json_read_number(const json_t *value, double lo, double hi, double *number, ft_error *error);
ft_status json_read_int(const json_t *value, int64_t lo, int64_t hi, int64_t *number, ft_error *error);

/* Writes a value; numbers as the shortest text that parses to the same number. Objects and lists are on one line from
 * the third level on. At most JSON_WRITER_DEPTH deep. */
void jsonw_json(json_writer *w, const json_t *value);

#endif
