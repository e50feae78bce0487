#include "npu/blockings.h"

#include <string.h>

#include "base/hash.h"

enum { BUCKETS = 256, MOST_KEPT = 1 << 13 };

/* All that a search looks at; without padding, as its bytes are compared. */
typedef struct key {
    npu_extent extent;
    int32_t block, upscale;
    int32_t kernel_w, kernel_h, stride_x, stride_y, dilation_x, dilation_y;
    int32_t ublock_w, ublock_h, ublock_d, banks;
    int32_t granule_map, granule_map32, granule_sum32, granule_sum40;
} key;

_Static_assert(sizeof(key) == sizeof(npu_extent) + 16 * sizeof(int32_t), "a key has no padding");
_Static_assert(sizeof(npu_extent) == 2 * sizeof(npu_shape) + 2 * sizeof(int32_t), "nor has what it begins with");

typedef struct entry {
    key key;
    uint32_t next; /* in its bucket, plus one; 0: none */
    bool is_found;
    npu_blocking blocking;
} entry;

struct npu_blockings {
    entry *entries;
    uint32_t count, capacity;
    uint32_t buckets[BUCKETS]; /* the first of each, plus one */
};

npu_blockings *npu_blockings_new(arena *memory, uint32_t passes) {
    npu_blockings *made = ARENA_NEW(memory, npu_blockings);
    if (made == NULL) return NULL;
    made->capacity = passes < MOST_KEPT ? passes + 32 : MOST_KEPT; /* most are seen more than once */
    made->entries = ARENA_ARRAY(memory, entry, made->capacity);
    return made->entries != NULL ? made : NULL;
}

uint32_t npu_blockings_count(const npu_blockings *kept) {
    return kept->count;
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
                 .granule_map = arch->granule_map,
                 .granule_map32 = arch->granule_map32,
                 .granule_sum32 = arch->granule_sum32,
                 .granule_sum40 = arch->granule_sum40};
}

static void keep(npu_blockings *kept, uint32_t *bucket, const key *k, bool is_found, const npu_blocking *blocking) {
    if (kept->count == kept->capacity) return;
    kept->entries[kept->count++] = (entry){.key = *k, .next = *bucket, .is_found = is_found, .blocking = *blocking};
    *bucket = kept->count;
}

bool npu_blockings_find(npu_blockings *kept, const npu_arch *arch, const npu_pass *p, const npu_extent *e,
                        npu_blocking *found) {
    if (kept == NULL) return npu_find_blocking(arch, p, e, found);
    key k = key_of(arch, p, e);
    uint32_t *bucket = &kept->buckets[hash_bytes(&k, sizeof k).low % BUCKETS];
    for (uint32_t i = *bucket; i != 0; i = kept->entries[i - 1].next) {
        const entry *one = &kept->entries[i - 1];
        if (memcmp(&one->key, &k, sizeof k) != 0) continue;
        *found = one->blocking;
        return one->is_found;
    }
    bool is_found = npu_find_blocking(arch, p, e, found);
    keep(kept, bucket, &k, is_found, found);
    return is_found;
}
