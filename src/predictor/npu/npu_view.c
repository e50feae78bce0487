/* npu_view.c - passes and results of a model on an accelerator, cached in its model view. */
#include "predictor/npu/ethos_u.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/hash.h"
#include "predictor/core/family_common.h"

enum { MAX_CACHED_RESULTS = 16 };

/* The cache entry of a model view. */
typedef struct npu_cache {
    npu_net net;
    uint32_t count;
    struct {
        const npu_arch *arch;
        hash128 codes;
        npu_result result;
    } results[MAX_CACHED_RESULTS];
    double coverage; /* negative: not computed yet */
} npu_cache;

static const char cache_key; /* its address is the key */

static ft_status find_cache(model_view *s, npu_cache **cache, ft_error *error) {
    model_view *owner = model_view_owner(s);
    *cache = model_view_cached(owner, &cache_key);
    if (*cache != NULL) return FT_OK;
    npu_cache *made = ARENA_NEW(&owner->memory, npu_cache);
    if (made == NULL) return FT_NOMEM(error);
    FT_TRY(npu_lower(owner->bound, &owner->memory, &made->net, error));
    made->coverage = -1;
    model_view_cache(owner, &cache_key, made);
    *cache = made;
    return FT_OK;
}

ft_status npu_view_net(model_view *s, const npu_net **net, ft_error *error) {
    npu_cache *cache;
    FT_TRY(find_cache(s, &cache, error));
    if (cache->net.pass_count == 0)
        return ft_fail(error, FT_ERR_UNSUPPORTED, "no operator of this model runs on the accelerator");
    *net = &cache->net;
    return FT_OK;
}

static npu_totals totals_of(const npu_estimate *e) {
    return (npu_totals){.total_cycles = e->sum.total,
                        .npu_cycles = e->sum.engine,
                        .sram_bytes = e->sram_bytes,
                        .arena_bytes = e->slow_arena_bytes,
                        .weight_bytes = e->weight_bytes,
                        .scale_bytes = e->scale_bytes,
                        .constant_bytes = e->constant_bytes,
                        .slices = e->slices,
                        .elementwise_passes = e->elementwise_passes};
}

static ft_status estimate(const npu_net *net, const npu_arch *arch, const npu_compression *codes, arena *scratch,
                          double *cycles, npu_result *made, ft_error *error) {
    npu_compression larger = *codes;
    npu_estimate expected, large;
    for (int i = 0; i < COMPRESSION_TERMS; i++) larger.unit_bytes[i] *= 1.1;
    FT_TRY(npu_estimate_make(net, arch, codes, scratch, &expected, error));
    FT_TRY(npu_estimate_update(&expected, &larger, scratch, &large, error));
    for (uint32_t i = 0; i < net->pass_count; i++) cycles[i] = expected.passes[i].total;
    *made = (npu_result){.expected = totals_of(&expected), .large = totals_of(&large), .pass_cycles = cycles};
    return FT_OK;
}

/* Only the cycles of the passes stay in the memory of the view. */
static ft_status compute(model_view *s, const npu_net *net, const npu_arch *arch, const npu_compression *codes,
                         npu_result *made, ft_error *error) {
    double *cycles = ARENA_ARRAY(&model_view_owner(s)->memory, double, net->pass_count + 1);
    if (cycles == NULL) return FT_NOMEM(error);
    arena scratch;
    arena_init(&scratch, FT_MAX_GRAPH_BYTES);
    ft_status status = estimate(net, arch, codes, &scratch, cycles, made, error);
    arena_free(&scratch);
    return status;
}

ft_status npu_view_result(model_view *s, const npu_arch *arch, const npu_compression *codes, const npu_result **found,
                          ft_error *error) {
    npu_cache *cache;
    const npu_net *net = NULL;
    FT_TRY(find_cache(s, &cache, error));
    FT_TRY(npu_view_net(s, &net, error));
    hash128 key = hash_bytes(codes, sizeof *codes);
    for (uint32_t i = 0; i < cache->count; i++) {
        if (cache->results[i].arch != arch || !hash_is_equal(cache->results[i].codes, key)) continue;
        *found = &cache->results[i].result;
        return FT_OK;
    }
    uint32_t at = cache->count < MAX_CACHED_RESULTS ? cache->count : MAX_CACHED_RESULTS - 1;
    npu_result made;
    FT_TRY(compute(s, net, arch, codes, &made, error));
    cache->results[at].arch = arch;
    cache->results[at].codes = key;
    cache->results[at].result = made;
    cache->count = at + 1;
    *found = &cache->results[at].result;
    return FT_OK;
}

ft_status npu_view_coverage(model_view *s, double *ratio, ft_error *error) {
    npu_cache *cache;
    FT_TRY(find_cache(s, &cache, error));
    if (cache->coverage < 0) {
        const ft_cost *cost;
        FT_TRY(model_view_cost(s, &cost, error));
        double all = 0, left = 0;
        for (uint32_t i = 0; i < cost->op_count; i++) {
            total_work work = op_work_of(&cost->ops[i]);
            all += work.flops + work.bytes;
        }
        for (uint32_t i = 0; i < cache->net.step_count; i++) {
            if (!cache->net.steps[i].is_cpu) continue;
            assert(cache->net.steps[i].index < cost->op_count);
            total_work work = op_work_of(&cost->ops[cache->net.steps[i].index]);
            left += work.flops + work.bytes;
        }
        double covered = all > 0 ? 1 - left / all : 1;
        cache->coverage = fmin(fmax(covered, 0), 1);
    }
    *ratio = cache->coverage;
    return FT_OK;
}
