/* block_cache.c - a hash table of block configurations, by everything that the search depends on. */
#include <assert.h>
#include <string.h>

#include "base/hash.h"
#include "npu/block.h"

enum { BUCKETS = 256, MAX_ENTRIES = 1 << 13 };

/* Everything that a search depends on. No padding, as its bytes are hashed and compared. */
typedef struct key {
    npu_extent extent;
    int32_t block, upscale;
    int32_t kernel_w, kernel_h, stride_x, stride_y, dilation_x, dilation_y;
    int32_t ublock_w, ublock_h, ublock_d, banks;
    int32_t granule_ifm, granule_ifm32, granule_acc32, granule_acc40;
} key;

_Static_assert(sizeof(key) == sizeof(npu_extent) + 16 * sizeof(int32_t), "a key must have no padding");
_Static_assert(sizeof(npu_extent) == 2 * sizeof(npu_shape) + 2 * sizeof(int32_t), "an extent must have no padding");

typedef struct entry {
    key key;
    uint32_t next; /* index in the same bucket plus one; 0: none */
    bool is_found;
    npu_block_config config;
} entry;

struct npu_block_cache {
    entry *entries;
    uint32_t count, capacity;
    uint32_t buckets[BUCKETS]; /* index of the first entry plus one; 0: empty */
};

npu_block_cache *npu_block_cache_new(arena *memory, uint32_t passes) {
    npu_block_cache *made = ARENA_NEW(memory, npu_block_cache);
    if (made == NULL) return NULL;
    made->capacity = passes < MAX_ENTRIES ? passes + 32 : MAX_ENTRIES; /* most searches are repeated */
    made->entries = ARENA_ARRAY(memory, entry, made->capacity);
    return made->entries != NULL ? made : NULL;
}

uint32_t npu_block_cache_count(const npu_block_cache *cache) {
    return cache->count;
}

static key key_of(const npu_arch *arch, const npu_pass *p, const npu_extent *e) {
    return (key){.extent = *e,
                 .block = (int32_t)p->block,
                 .upscale = (int32_t)p->upscale,
                 .kernel_w = p->kernel_w,
                 .kernel_h = p->kernel_h,
                 .stride_x = p->stride_x,
                 .stride_y = p->stride_y,
                 .dilation_x = p->dilation_x,
                 .dilation_y = p->dilation_y,
                 .ublock_w = arch->ublock_w,
                 .ublock_h = arch->ublock_h,
                 .ublock_d = arch->ublock_d,
                 .banks = arch->banks,
                 .granule_ifm = arch->granule_ifm,
                 .granule_ifm32 = arch->granule_ifm32,
                 .granule_acc32 = arch->granule_acc32,
                 .granule_acc40 = arch->granule_acc40};
}

static void store(npu_block_cache *cache, uint32_t *bucket, const key *k, bool is_found,
                  const npu_block_config *config) {
    assert(cache->count <= cache->capacity);
    if (cache->count == cache->capacity) return;
    cache->entries[cache->count++] = (entry){.key = *k, .next = *bucket, .is_found = is_found, .config = *config};
    *bucket = cache->count;
}

bool npu_block_cache_find(npu_block_cache *cache, const npu_arch *arch, const npu_pass *p, const npu_extent *e,
                          npu_block_config *found) {
    if (cache == NULL) return npu_block_find(arch, p, e, found);
    key k = key_of(arch, p, e);
    uint32_t *bucket = &cache->buckets[hash_bytes(&k, sizeof k).low % BUCKETS];
    for (uint32_t i = *bucket; i != 0; i = cache->entries[i - 1].next) {
        const entry *one = &cache->entries[i - 1];
        if (memcmp(&one->key, &k, sizeof k) != 0) continue;
        *found = one->config;
        return one->is_found;
    }
    bool is_found = npu_block_find(arch, p, e, found);
    store(cache, bucket, &k, is_found, found);
    return is_found;
}
