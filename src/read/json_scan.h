/* json_scan.h - a scan of a JSON text before it is parsed: what it looks like, and its depth and size, which jansson
 * does not limit. */
#ifndef READ_JSON_SCAN_H
#define READ_JSON_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "foretell/status.h"

/* The position after white space. */
size_t json_scan_space(const uint8_t *bytes, size_t size, size_t at);
/* The position of the closing quote, or `size`; `at` is after the opening one. */
size_t json_scan_string(const uint8_t *bytes, size_t size, size_t at);
/* Whether the text is an object with one of these keys (at most 8, NULL ends the list). */
bool json_scan_has_key(const uint8_t *bytes, size_t size, const char *const *keys);
/* FT_ERR_LIMIT: a text of more than 64 MiB, 4 million values, or FT_MAX_DEPTH levels. */
ft_status json_scan_check(const uint8_t *bytes, size_t size, ft_error *error);

#endif
