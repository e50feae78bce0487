/* map.h - a hash map from strings to numbers: open addressing, borrowed keys, memory from an arena.
 *
 * When the map grows, old tables stay in the arena; as it doubles, they add up to less than the current one. */
#ifndef BASE_MAP_H
#define BASE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"

typedef struct map_slot {
    const char *key; /* NULL: free */
    uint32_t hash;
    uint32_t value;
} map_slot;

typedef struct map {
    arena *memory;
    map_slot *slots;
    uint32_t capacity; /* a power of two, or 0 */
    uint32_t count;
    uint64_t seed; /* of the hash */
} map;

void map_init(map *m, arena *memory);
/* Reserves room for the expected number of keys. False when out of memory. */
bool map_reserve(map *m, size_t count);
/* Sets or replaces. `key` must outlive the map. False when out of memory. */
bool map_set(map *m, const char *key, uint32_t value);
/* Sets unless the key exists; *found is the value after the call. False when out of memory. */
bool map_add(map *m, const char *key, uint32_t value, uint32_t *found);
bool map_get(const map *m, const char *key, uint32_t *value);

#endif
