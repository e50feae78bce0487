/* hash.c - 128-bit XXH3 by libxxhash. */
#include "base/hash.h"

#include <xxhash.h>

/* A hasher is an XXH3_state_t; the cast keeps xxhash.h out of the header. */
static XXH3_state_t *state_of(hasher *h) {
    return (XXH3_state_t *)h;
}

static hash128 of_xxh(XXH128_hash_t hash) {
    return (hash128){.low = hash.low64, .high = hash.high64};
}

hash128 hash_bytes(const void *bytes, size_t size) {
    return of_xxh(XXH3_128bits(size > 0 ? bytes : "", size));
}

const char *hash_text(hash128 hash, char text[static HASH_TEXT]) {
    static const char digits[] = "0123456789abcdef";
    for (int i = 0; i < 16; i++) {
        text[i] = digits[hash.high >> (60 - 4 * i) & 15];
        text[16 + i] = digits[hash.low >> (60 - 4 * i) & 15];
    }
    text[HASH_TEXT - 1] = '\0';
    return text;
}

bool hash_parse(const char *text, size_t length, hash128 *hash) {
    uint64_t halves[2] = {0, 0};
    if (length != HASH_TEXT - 1) return false;
    for (size_t i = 0; i < length; i++) {
        char c = text[i];
        uint64_t digit = c >= '0' && c <= '9'   ? (uint64_t)(c - '0')
                         : c >= 'a' && c <= 'f' ? (uint64_t)(c - 'a') + 10
                                                : 16;
        if (digit > 15) return false;
        halves[i / 16] = halves[i / 16] << 4 | digit;
    }
    *hash = (hash128){.low = halves[1], .high = halves[0]};
    return true;
}

hasher *hasher_new(void) {
    XXH3_state_t *state = XXH3_createState();
    if (state != NULL) XXH3_128bits_reset(state);
    return (hasher *)state;
}

void hasher_add(hasher *h, const void *bytes, size_t size) {
    if (size > 0) XXH3_128bits_update(state_of(h), bytes, size);
}

hash128 hasher_end(hasher *h) {
    hash128 hash = of_xxh(XXH3_128bits_digest(state_of(h)));
    XXH3_freeState(state_of(h));
    return hash;
}
