/* json.h - reading JSON with jansson; json_writer.h writes it. */
#ifndef BASE_JSON_H
#define BASE_JSON_H

#include <jansson.h>
#include <stddef.h>

#include "foretell/status.h"

/* The whole text as one value, which the caller gives back with json_decref. Names must not repeat in an object. The
 * message of a failure tells line and column; the caller puts the file before it. */
ft_status json_parse(const void *text, size_t size, json_t **root, ft_error *error);

#endif
