/* json.h - reading JSON with jansson, and values of jansson's into json_writer.h, which writes it. */
#ifndef BASE_JSON_H
#define BASE_JSON_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "base/json_writer.h"
#include "foretell/status.h"

/* The whole text as one value, which the caller gives back with json_decref. Names must not repeat in an object. The
 * message of a failure tells line and column; the caller puts the file before it. */
ft_status json_parse(const void *text, size_t size, json_t **root, ft_error *error);

/* What a value is, for messages: "a list"; "absent" for NULL, which is what jansson gives for a key that is not there.
 */
const char *json_kind(const json_t *value);

/* A value that must be of one kind. The message of a failure goes on after the key: "is a list, but a string is
 * expected"; the caller puts the key before it. The string belongs to the value. */
ft_status json_read_string(const json_t *value, const char **text, ft_error *error);
ft_status json_read_number(const json_t *value, double lo, double hi, double *number, ft_error *error);
ft_status json_read_int(const json_t *value, int64_t lo, int64_t hi, int64_t *number, ft_error *error);

/* Writes a value that is held in memory; numbers as the shortest text that reads back the same. Objects and lists are
 * set on one line from the third level on. At most JSON_WRITER_DEPTH deep. */
void jsonw_json(json_writer *w, const json_t *value);

#endif
