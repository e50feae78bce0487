/* hash.h - 128-bit content hash (XXH3), to find equal graphs and changed files. Not cryptographic. */
#ifndef BASE_HASH_H
#define BASE_HASH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { HASH_TEXT = 33 };

typedef struct hash128 {
    uint64_t low, high;
} hash128;

hash128 hash_bytes(const void *bytes, size_t size);
/* 32 hexadecimal digits, most significant first. Returns `text`. */
const char *hash_text(hash128 hash, char text[static HASH_TEXT]);
/* The inverse. False when the text is not 32 lower-case hexadecimal digits. */
bool hash_parse(const char *text, size_t length, hash128 *hash);

static inline bool hash_is_equal(hash128 a, hash128 b) {
    return a.low == b.low && a.high == b.high;
}

/* Incremental hashing. */
typedef struct hasher hasher;
hasher *hasher_new(void); /* NULL when out of memory */
void hasher_add(hasher *h, const void *bytes, size_t size);
hash128 hasher_end(hasher *h); /* also frees it */

#endif
