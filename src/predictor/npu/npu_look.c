#include "predictor/npu/npu_look.h"

#include <math.h>
#include <string.h>

#include "base/hash.h"
#include "predictor/core/family_common.h"

enum { MOST_LOOKS = 16 };

/* What is kept of a subject. */
typedef struct npu_memo {
    npu_net net;
    uint32_t count;
    struct {
        const npu_arch *arch;
        hash128 codes;
        npu_look look;
    } looks[MOST_LOOKS];
    double coverage; /* negative: not asked for yet */
} npu_memo;

static const char memo_key; /* its address is the key */

static ft_status memo_of(model_view *s, npu_memo **memo, ft_error *error) {
    model_view *owner = model_view_owner(s);
    *memo = model_view_cached(owner, &memo_key);
    if (*memo != NULL) return FT_OK;
    npu_memo *made = ARENA_NEW(&owner->memory, npu_memo);
    if (made == NULL) return FT_NOMEM(error);
    FT_TRY(npu_lower(owner->bound, &owner->memory, &made->net, error));
    made->coverage = -1;
    model_view_cache(owner, &memo_key, made);
    *memo = made;
    return FT_OK;
}

ft_status npu_look_net(model_view *s, const npu_net **net, ft_error *error) {
    npu_memo *memo;
    FT_TRY(memo_of(s, &memo, error));
    if (memo->net.pass_count == 0)
        return ft_fail(error, FT_ERR_UNSUPPORTED, "no operator of this model runs on the accelerator");
    *net = &memo->net;
    return FT_OK;
}

static npu_numbers numbers_of(const npu_estimate *e) {
    return (npu_numbers){.total_cycles = e->sum.total,
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
                          double *cycles, npu_look *made, ft_error *error) {
    npu_compression larger = *codes;
    npu_estimate usual, large;
    for (int i = 0; i < COMPRESSION_TERMS; i++) larger.unit_bytes[i] *= 1.1;
    FT_TRY(npu_estimate_make(net, arch, codes, scratch, &usual, error));
    FT_TRY(npu_estimate_update(&usual, &larger, scratch, &large, error));
    for (uint32_t i = 0; i < net->pass_count; i++) cycles[i] = usual.passes[i].total;
    *made = (npu_look){.usual = numbers_of(&usual), .large = numbers_of(&large), .pass_cycles = cycles};
    return FT_OK;
}

/* What is needed on the way is given back at once. */
static ft_status look(model_view *s, const npu_net *net, const npu_arch *arch, const npu_compression *codes,
                      npu_look *made, ft_error *error) {
    double *cycles = ARENA_ARRAY(&model_view_owner(s)->memory, double, net->pass_count + 1);
    if (cycles == NULL) return FT_NOMEM(error);
    arena scratch;
    arena_init(&scratch, FT_MAX_GRAPH_BYTES);
    ft_status status = estimate(net, arch, codes, &scratch, cycles, made, error);
    arena_free(&scratch);
    return status;
}

ft_status npu_look_at(model_view *s, const npu_arch *arch, const npu_compression *codes, const npu_look **found,
                      ft_error *error) {
    npu_memo *memo;
    const npu_net *net = NULL;
    FT_TRY(memo_of(s, &memo, error));
    FT_TRY(npu_look_net(s, &net, error));
    hash128 key = hash_bytes(codes, sizeof *codes);
    for (uint32_t i = 0; i < memo->count; i++) {
        if (memo->looks[i].arch != arch || !hash_is_equal(memo->looks[i].codes, key)) continue;
        *found = &memo->looks[i].look;
        return FT_OK;
    }
    uint32_t at = memo->count < MOST_LOOKS ? memo->count : MOST_LOOKS - 1;
    npu_look made;
    FT_TRY(look(s, net, arch, codes, &made, error));
    memo->looks[at].arch = arch;
    memo->looks[at].codes = key;
    memo->looks[at].look = made;
    memo->count = at + 1;
    *found = &memo->looks[at].look;
    return FT_OK;
}

ft_status npu_look_coverage(model_view *s, double *ratio, ft_error *error) {
    npu_memo *memo;
    FT_TRY(memo_of(s, &memo, error));
    if (memo->coverage < 0) {
        const ft_cost *cost;
        FT_TRY(model_view_cost(s, &cost, error));
        double all = 0, left = 0;
        for (uint32_t i = 0; i < cost->op_count; i++) {
            total_work work = op_work_of(&cost->ops[i]);
            all += work.flops + work.bytes;
        }
        for (uint32_t i = 0; i < memo->net.step_count; i++) {
            if (!memo->net.steps[i].is_cpu) continue;
            total_work work = op_work_of(&cost->ops[memo->net.steps[i].index]);
            left += work.flops + work.bytes;
        }
        double covered = all > 0 ? 1 - left / all : 1;
        memo->coverage = fmin(fmax(covered, 0), 1) * (memo->net.is_assumed ? 0.5 : 1);
    }
    *ratio = memo->coverage;
    return FT_OK;
}
