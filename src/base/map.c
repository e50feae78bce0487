#include "base/map.h"

#include <string.h>

/* FNV-1a, finished by a multiply-shift so that the low bits depend on all of the key. */
static uint32_t hash_key(const char *key) {
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (const unsigned char *p = (const unsigned char *)key; *p != '\0'; p++)
        hash = (hash ^ *p) * UINT64_C(0x100000001b3);
    hash *= UINT64_C(0x9e3779b97f4a7c15);
    return (uint32_t)(hash >> 32);
}

static map_slot *find(map_slot *slots, uint32_t capacity, const char *key, uint32_t hash) {
    for (uint32_t i = hash & (capacity - 1);; i = (i + 1) & (capacity - 1)) {
        map_slot *slot = &slots[i];
        if (slot->key == NULL || (slot->hash == hash && strcmp(slot->key, key) == 0)) return slot;
    }
}

static bool grow(map *m) {
    if (m->capacity > UINT32_MAX / 2) return false;
    uint32_t capacity = m->capacity == 0 ? 64 : m->capacity * 2;
    map_slot *slots = ARENA_ARRAY(m->memory, map_slot, capacity);
    if (slots == NULL) return false;
    for (uint32_t i = 0; i < m->capacity; i++) {
        const map_slot *old = &m->slots[i];
        if (old->key != NULL) *find(slots, capacity, old->key, old->hash) = *old;
    }
    m->slots = slots;
    m->capacity = capacity;
    return true;
}

void map_init(map *m, arena *memory) {
    *m = (map){.memory = memory};
}

bool map_set(map *m, const char *key, uint32_t value) {
    if (m->count >= m->capacity / 4 * 3 && !grow(m)) return false;
    uint32_t hash = hash_key(key);
    map_slot *slot = find(m->slots, m->capacity, key, hash);
    if (slot->key == NULL) {
        *slot = (map_slot){.key = key, .hash = hash};
        m->count++;
    }
    slot->value = value;
    return true;
}

bool map_get(const map *m, const char *key, uint32_t *value) {
    if (m->capacity == 0) return false;
    const map_slot *slot = find(m->slots, m->capacity, key, hash_key(key));
    if (slot->key == NULL) return false;
    *value = slot->value;
    return true;
}
