/* flexbuf.h - bounds-checked access to FlexBuffers, in which TFLite's custom operators keep their options.
 *
 * Covers only what those options use: at the root a map from names to scalars, or a list of strings. Custom options
 * need not be FlexBuffers, so invalid content is not an error: it reads as absent. */
#ifndef READ_FLEXBUF_H
#define READ_FLEXBUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct flex_map {
    const uint8_t *bytes;
    size_t size;
    size_t keys, values; /* positions of the first key and the first value */
    uint32_t count;
    uint8_t key_width, value_width;
} flex_map;

typedef enum flex_kind { FLEX_INT, FLEX_FLOAT, FLEX_STRING, FLEX_OTHER } flex_kind;

typedef struct flex_entry {
    const char *key; /* NUL-terminated */
    flex_kind kind;  /* FLEX_OTHER: vectors and other types, which are not read */
    int64_t i;       /* also booleans */
    double f;
    const char *s; /* `length` bytes */
    size_t length;
} flex_entry;

/* False when the bytes are not a FlexBuffer with a map at its root. */
bool flex_root_map(const uint8_t *bytes, size_t size, flex_map *map);
/* False when entry `index` is out of bounds. */
bool flex_map_entry(const flex_map *map, uint32_t index, flex_entry *entry);

/* The string at `index` of a list at the root, `*length` bytes; NULL when there is none. */
const char *flex_root_string(const uint8_t *bytes, size_t size, uint32_t index, size_t *length);

#endif
