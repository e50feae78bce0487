/* map.c - open addressing with linear probing; keys are hashed with a secret seed. */
#include "base/map.h"

#include <assert.h>
#include <string.h>
#include <sys/auxv.h>

/* A random seed per process, so that a hostile file cannot be written whose names all collide. Results of a map do not
 * depend on it. */
static uint64_t find_seed(void) {
    uint64_t seed = 0;
    const void *random = (const void *)getauxval(AT_RANDOM); /* 16 bytes from the kernel */
    if (random != NULL) memcpy(&seed, random, sizeof seed);
    return seed;
}

/* SipHash-1-3. A seed does not protect a simpler multiply-and-fold hash: changes to two neighbouring words can cancel
 * for every seed, and pairs of such words give any number of equal hashes. */
typedef struct sip {
    uint64_t a, b, c, d;
} sip;

static uint64_t rotate(uint64_t word, unsigned bits) {
    return word << bits | word >> (64 - bits);
}

static void sip_round(sip *s) {
    s->a += s->b;
    s->c += s->d;
    s->b = rotate(s->b, 13) ^ s->a;
    s->d = rotate(s->d, 16) ^ s->c;
    s->a = rotate(s->a, 32) + s->d;
    s->c += s->b;
    s->d = rotate(s->d, 21) ^ s->a;
    s->b = rotate(s->b, 17) ^ s->c;
    s->c = rotate(s->c, 32);
}

static void sip_word(sip *s, uint64_t word) {
    s->d ^= word;
    sip_round(s);
    s->a ^= word;
}

static uint32_t hash_key(const map *m, const char *key) {
    size_t left = strlen(key);
    uint64_t word, tail = (uint64_t)left << 56, other = m->seed * UINT64_C(0x9e3779b97f4a7c15);
    sip s = {m->seed ^ UINT64_C(0x736f6d6570736575), other ^ UINT64_C(0x646f72616e646f6d),
             m->seed ^ UINT64_C(0x6c7967656e657261), other ^ UINT64_C(0x7465646279746573)};
    for (; left >= sizeof word; key += sizeof word, left -= sizeof word) {
        memcpy(&word, key, sizeof word);
        sip_word(&s, word);
    }
    word = 0;
    memcpy(&word, key, left);
    sip_word(&s, tail | word);
    s.c ^= 0xff;
    for (int i = 0; i < 3; i++) sip_round(&s);
    return (uint32_t)(s.a ^ s.b ^ s.c ^ s.d);
}

static map_slot *find(map_slot *slots, uint32_t capacity, const char *key, uint32_t hash) {
    assert(capacity > 0 && (capacity & (capacity - 1)) == 0);
    for (uint32_t i = hash & (capacity - 1);; i = (i + 1) & (capacity - 1)) {
        map_slot *slot = &slots[i];
        if (slot->key == NULL || (slot->hash == hash && strcmp(slot->key, key) == 0)) return slot;
    }
}

static bool resize(map *m, uint32_t capacity) {
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

static bool grow(map *m) {
    if (m->capacity > UINT32_MAX / 2) return false;
    return resize(m, m->capacity == 0 ? 64 : m->capacity * 2);
}

void map_init(map *m, arena *memory) {
    *m = (map){.memory = memory, .seed = find_seed()};
}

bool map_reserve(map *m, size_t count) {
    if (count > UINT32_MAX / 4) return false;
    uint32_t capacity = 64;
    while (capacity / 4 * 3 <= count) capacity *= 2;
    return capacity <= m->capacity || resize(m, capacity);
}

/* The slot of a key; a new key gets `value`. NULL when out of memory. */
static map_slot *find_or_add(map *m, const char *key, uint32_t value) {
    if (m->count >= m->capacity / 4 * 3 && !grow(m)) return NULL;
    uint32_t hash = hash_key(m, key);
    assert(m->count < m->capacity); /* a free slot ends every search */
    map_slot *slot = find(m->slots, m->capacity, key, hash);
    if (slot->key == NULL) {
        *slot = (map_slot){.key = key, .hash = hash, .value = value};
        m->count++;
    }
    return slot;
}

bool map_add(map *m, const char *key, uint32_t value, uint32_t *found) {
    const map_slot *slot = find_or_add(m, key, value);
    if (slot == NULL) return false;
    *found = slot->value;
    return true;
}

bool map_set(map *m, const char *key, uint32_t value) {
    map_slot *slot = find_or_add(m, key, value);
    if (slot == NULL) return false;
    slot->value = value;
    return true;
}

bool map_get(const map *m, const char *key, uint32_t *value) {
    if (m->capacity == 0) return false;
    const map_slot *slot = find(m->slots, m->capacity, key, hash_key(m, key));
    if (slot->key == NULL) return false;
    *value = slot->value;
    return true;
}
