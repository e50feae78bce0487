/* cache.c - answers by the bytes of the request: a hash table of chains, and a list from the newest to the oldest. */
#include "cache.h"

#include <stdlib.h>
#include <string.h>

enum { BUCKETS = 4096, MAX_ENTRIES = 8192, MAX_BYTES = 64 << 20 };

struct cache {
    cache_entry *buckets[BUCKETS];
    cache_entry *newest, *oldest;
    size_t count, bytes;
};

cache *cache_new(void) {
    return calloc(1, sizeof(cache));
}

/* FNV-1a over words; requests are short. */
static uint64_t hash_of(const void *key, size_t size) {
    const unsigned char *bytes = key;
    uint64_t hash = 0xcbf29ce484222325, word;
    for (; size >= sizeof word; bytes += sizeof word, size -= sizeof word) {
        memcpy(&word, bytes, sizeof word);
        hash = (hash ^ word) * 0x100000001b3;
        hash ^= hash >> 29;
    }
    for (size_t i = 0; i < size; i++) hash = (hash ^ bytes[i]) * 0x100000001b3;
    return hash ^ (hash >> 32);
}

static void unlink_age(cache *c, cache_entry *e) {
    if (e->newer != NULL)
        e->newer->older = e->older;
    else
        c->newest = e->older;
    if (e->older != NULL)
        e->older->newer = e->newer;
    else
        c->oldest = e->newer;
}

static void link_newest(cache *c, cache_entry *e) {
    e->newer = NULL;
    e->older = c->newest;
    if (c->newest != NULL)
        c->newest->newer = e;
    else
        c->oldest = e;
    c->newest = e;
}

cache_entry *cache_find(cache *c, const void *key, size_t size) {
    uint64_t hash = hash_of(key, size);
    cache_entry *e = c->buckets[hash % BUCKETS];
    while (e != NULL && (e->hash != hash || e->key_size != size || memcmp(e->key, key, size) != 0)) e = e->next;
    if (e != NULL && e != c->newest) {
        unlink_age(c, e);
        link_newest(c, e);
    }
    return e;
}

void cache_entry_free(cache_entry *e) {
    if (e == NULL) return;
    if (e->response != NULL) http.MHD_destroy_response(e->response);
    for (int i = 0; i < CACHE_MAX_MODELS; i++) {
        free(e->models[i]);
        free(e->model_keys[i]);
    }
    free(e->key);
    free(e);
}

void cache_remove(cache *c, cache_entry *e) {
    cache_entry **at = &c->buckets[e->hash % BUCKETS];
    while (*at != e) at = &(*at)->next;
    *at = e->next;
    unlink_age(c, e);
    c->count--;
    c->bytes -= e->size;
    cache_entry_free(e);
}

void cache_add(cache *c, cache_entry *e) {
    cache_entry *old = cache_find(c, e->key, e->key_size);
    if (old != NULL) cache_remove(c, old);
    e->hash = hash_of(e->key, e->key_size);
    e->next = c->buckets[e->hash % BUCKETS];
    c->buckets[e->hash % BUCKETS] = e;
    link_newest(c, e);
    c->count++;
    c->bytes += e->size;
    while (c->count > MAX_ENTRIES || c->bytes > MAX_BYTES) cache_remove(c, c->oldest);
}

void cache_clear(cache *c) {
    while (c->oldest != NULL) cache_remove(c, c->oldest);
}

void cache_free(cache *c) {
    if (c == NULL) return;
    cache_clear(c);
    free(c);
}
