/* json.h - JSON parsing with jansson, checked access to values, building of values, and jansson values written with
 * json_writer.h. */
#ifndef BASE_JSON_H
#define BASE_JSON_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/json_writer.h"
#include "foretell/status.h"

/* Parses the whole text as one object or list, which the caller frees with json_decref. Repeated keys in an object are
 * an error. The message has line and column; the caller prepends the file. */
ft_status json_parse(const void *text, size_t size, json_t **root, ft_error *error);
/* The same for any value: "3", "\"text\"". */
ft_status json_parse_value(const void *text, size_t size, json_t **value, ft_error *error);
/* The same for a value of a command line, which may be plain text: 'log' is the string "log". */
ft_status json_parse_plain(const char *text, size_t size, json_t **value, ft_error *error);
/* A string of text that may not be UTF-8: FT_ERR_USAGE. */
ft_status json_utf8(const char *text, size_t size, json_t **value, ft_error *error);

/* The kind of a value for messages: "a list"; "absent" for NULL, which jansson returns for a missing key. */
const char *json_kind(const json_t *value);

/* A value that must have one kind. The message continues after the key ("is a list, but a string is expected"); the
 * caller prepends the key. The string belongs to the value. */
ft_status json_read_string(const json_t *value, const char **text, ft_error *error);
ft_status json_read_number(const json_t *value, double lo, double hi, double *number, ft_error *error);
ft_status json_read_int(const json_t *value, int64_t lo, int64_t hi, int64_t *number, ft_error *error);

/* Building values. jansson returns NULL and -1 when memory is exhausted; a result that is not looked at is a document
 * that lacks a key. So only these functions build objects and lists (tests/repo/test_json_calls.sh), and the compiler
 * refuses to compile a call whose result is unused. */
#define JSON_CHECKED __attribute__((warn_unused_result))

/* Sets a key, or appends an item. The reference to the value is taken over in any case. False: out of memory, which
 * includes a NULL as object, list or value. */
JSON_CHECKED bool json_put(json_t *object, const char *key, json_t *value);
JSON_CHECKED bool json_add(json_t *list, json_t *value);
JSON_CHECKED bool json_replace(json_t *list, size_t index, json_t *value);
/* Sets all keys of `from`, whose reference stays with the caller. */
JSON_CHECKED bool json_merge(json_t *object, const json_t *from);

/* The same for values that are made step by step: both references are taken over, and NULL is returned, and passed on
 * by the next call, when memory is exhausted. */
JSON_CHECKED json_t *json_with(json_t *object, const char *key, json_t *value);
JSON_CHECKED json_t *json_list_with(json_t *list, json_t *value);

/* A copy of a value and all its items, or of an object that shares its items; jansson's own copies drop keys when
 * memory is exhausted. NULL: out of memory, or no value. */
JSON_CHECKED json_t *json_clone(const json_t *value);
JSON_CHECKED json_t *json_clone_object(const json_t *object);

/* Writes a value; numbers as the shortest text that parses to the same number. Objects and lists are on one line from
 * the third level on. At most JSON_WRITER_DEPTH deep. */
void jsonw_json(json_writer *w, const json_t *value);

#endif
