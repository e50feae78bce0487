/* yaml.h - configurations as JSON or YAML.
 *
 * A text whose first character is '{' or '[' is JSON; any other is YAML, which libyaml splits into events, from which
 * the same values are built as from JSON. Plain scalars are those of the core schema of YAML 1.2: null, booleans,
 * integers (also 0o17 and 0x1F) and floating-point numbers; "yes" is a text. Anchors, aliases, tags, merge keys,
 * several documents, infinities and NaN are errors, so a short text cannot stand for a long one. */
#ifndef BASE_YAML_H
#define BASE_YAML_H

#include "base/json.h"

enum { YAML_MAX_BYTES = 1 << 20, YAML_MAX_DEPTH = 64, YAML_MAX_VALUES = 100000 };

/* Parses the whole text as one object or list, which the caller frees with json_decref. Repeated keys in an object are
 * an error. The message has line and column; the caller prepends the file. FT_ERR_UNSUPPORTED for parts of YAML that
 * are not read, and where libyaml is not installed. */
ft_status config_text_parse(const void *text, size_t size, json_t **root, ft_error *error);

/* Whether a file name ends in .json, .yaml or .yml. */
bool config_is_file_name(const char *name);

#endif
