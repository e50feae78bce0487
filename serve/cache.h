/* cache.h - answers to requests that were asked before. An entry is valid as long as its models are: the caller checks
 * that. Not for several threads at once. */
#ifndef SERVE_CACHE_H
#define SERVE_CACHE_H

#include "http_library.h"
#include "text.h"

enum { CACHE_MAX_MODELS = 4 };

typedef struct cache_entry cache_entry;
struct cache_entry {
    char *key; /* route, options and body */
    size_t key_size;
    uint64_t hash;
    struct MHD_Response *response; /* shared by all requests */
    unsigned http_status;
    size_t size;                        /* of key and response */
    char *models[CACHE_MAX_MODELS];     /* as requests name them; NULL behind the last */
    char *model_keys[CACHE_MAX_MODELS]; /* what they were then */
    cache_entry *next, *newer, *older;
};

typedef struct cache cache;
cache *cache_new(void); /* NULL: out of memory */
void cache_free(cache *c);
void cache_clear(cache *c);
/* NULL: not there. The entry is now the newest. */
cache_entry *cache_find(cache *c, const void *key, size_t size);
/* Takes over the entry, of which key, response, status and models are set; drops the oldest where there are too many.
 */
void cache_add(cache *c, cache_entry *entry);
void cache_remove(cache *c, cache_entry *entry);
void cache_entry_free(cache_entry *entry);

#endif
