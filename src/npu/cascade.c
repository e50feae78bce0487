/* cascade.c - cascades: passes that run in stripes one behind the other, with rolling buffers in between instead of
 * whole feature maps.
 *
 * The search begins with the lowest stripes that each next pass can use, and joins passes whose maps do not fit fast
 * memory as long as the rolling buffers do. Then the stripes of each cascade grow as long as it stays in one piece and
 * fits. */
#include <assert.h>
#include <string.h>

#include "npu/schedule.h"

enum { MAX_STRIPE = 4096 }; /* rows; higher stripes are not tried */

/* Maps of a pass that must be stored whole, not in a rolling buffer. */
typedef struct npu_needs {
    bool full_ifm, full_ofm;
} npu_needs;

static npu_needs find_needs(const npu_schedule *s, const npu_pass *p) {
    const npu_tensor *ifm = &s->net->tensors[p->ifm], *ofm = &s->net->tensors[p->ofm];
    return (npu_needs){.full_ifm = ifm->is_external || ifm->is_linear,
                       .full_ofm = ofm->is_external || ofm->is_linear || p->is_slice_write || ofm->consumers > 1};
}

static npu_extent find_extent(const npu_schedule *s, const npu_pass *p, const npu_plan *plan) {
    const npu_tensor *ifm = &s->net->tensors[p->ifm];
    npu_extent e = {.ofm = plan->stripe, .ifm = plan->stripe_input, .ifm_bytes = ifm->bytes};
    if (p->ifm2 == FT_NONE) return e;
    npu_shape ifm2 = p->ifm2_shape;
    if (plan->stripe.h != p->ofm_shape.h) {
        if (plan->stripe_input.h < ifm2.h) ifm2.h = plan->stripe_input.h;
        if (plan->stripe_input.w < ifm2.w) ifm2.w = plan->stripe_input.w;
    }
    if (npu_elems(ifm2) > npu_elems(e.ifm)) e.ifm = ifm2;
    e.has_scalar = ifm->is_scalar || s->net->tensors[p->ifm2].is_scalar;
    return e;
}

bool npu_plan_stripe(const npu_schedule *s, const npu_pass *p, int64_t height, npu_plan *plan) {
    assert(height > 0);
    *plan = (npu_plan){.stripe = p->ofm_shape, .stripe_input = p->ifm_shape, .slices = 1};
    plan->stripe.h = height;
    if (height != p->ofm_shape.h) {
        int64_t w, h;
        npu_input_area(p, plan->stripe, &w, &h);
        if (h < plan->stripe_input.h) plan->stripe_input.h = h;
        if (w < plan->stripe_input.w) plan->stripe_input.w = w;
    }
    bool fits_already = s->previous != NULL && height == p->ofm_shape.h; /* the previous schedule has it */
    if (height >= p->ofm_shape.h && !fits_already) {                     /* stripes fit when the whole map does */
        npu_extent e = find_extent(s, p, plan);
        if (!npu_block_fits(s->arch, p, &e)) return false;
    }
    if (p->has_weights) plan->encoded = plan->first_encoded = npu_encoded_bytes(s, p, 0, p->ofm_shape.c);
    return true;
}

void npu_plan_blocks(const npu_schedule *s, const npu_pass *p, npu_plan *plan) {
    npu_extent e = find_extent(s, p, plan);
    npu_block_cache_find(s->net->block_cache, s->arch, p, &e, &plan->config);
    plan->cycles = npu_schedule_cycles(s, p, &plan->config, p->ofm_shape.c);
}

/* --- Joining ------------------------------------------------------------------------------------------------- */

static bool is_elementwise_cascadable(const npu_schedule *s, const npu_pass *p) {
    if (p->block != BLOCK_ELEMENTWISE || p->is_unary) return true;
    const npu_tensor *ifm = &s->net->tensors[p->ifm], *ifm2 = &s->net->tensors[p->ifm2];
    bool is_spread = !npu_shape_equal(p->ifm_shape, p->ofm_shape);
    return !ifm->is_const && !ifm->is_scalar && !is_spread && (ifm2->is_const || ifm2->is_scalar);
}

static bool is_cascadable(const npu_schedule *s, const npu_pass *p, const npu_plan *plan) {
    return p->block != BLOCK_VECTOR && p->block != BLOCK_REDUCE && p->block != BLOCK_COPY &&
           plan->stripe.h < p->ofm_shape.h && !p->has_read_offset && is_elementwise_cascadable(s, p) &&
           !p->is_transposed_conv && !p->is_tiled;
}

static int64_t map_bytes(npu_shape shape, int32_t bytes) {
    shape.c = npu_round_up(shape.c, 16);
    return npu_elems(shape) * bytes;
}

static int64_t full_bytes(npu_shape shape, const npu_tensor *t) {
    if (!t->is_linear) shape.c = npu_round_up(shape.c, 16);
    return npu_round_up(npu_elems(shape) * t->bytes, 16);
}

/* Fast memory of a pass outside of a cascade, with all its maps in it. */
static int64_t bytes_alone(const npu_schedule *s, const npu_pass *p) {
    const npu_tensor *ifm = &s->net->tensors[p->ifm], *ofm = &s->net->tensors[p->ofm];
    npu_needs needs = find_needs(s, p);
    uint32_t input;
    int64_t in = needs.full_ifm ? full_bytes(p->ifm_shape, ifm) : map_bytes(p->ifm_shape, ifm->bytes);
    int64_t out = needs.full_ofm ? full_bytes(p->ofm_shape, ofm) : map_bytes(p->ofm_shape, ofm->bytes);
    if (npu_can_overwrite_input(s, p, NPU_SRAM, true, &input)) out = 0;
    return in + out;
}

/* Height and bytes of the rolling buffer between a pass and the next. */
static int64_t rolling_bytes(const npu_schedule *s, uint32_t producer, const npu_plan *plans, int64_t *height) {
    const npu_plan *made = &plans[producer], *read = &plans[producer + 1];
    int64_t w = made->stripe.w > read->stripe_input.w ? made->stripe.w : read->stripe_input.w;
    *height = npu_round_up(made->stripe.h + read->stripe_input.h, read->stripe_input.h);
    return *height * w * npu_round_up(made->stripe.c, 16) * s->net->tensors[s->net->passes[producer].ofm].bytes;
}

static int64_t buffer_bytes(const npu_plan *plan) {
    return plan->buffer_count == 0 ? 0 : plan->buffers[0] + (plan->buffer_count > 1 ? plan->buffers[1] : 0);
}

static bool can_join_next(const npu_schedule *s, uint32_t producer, uint32_t last, const npu_plan *plans) {
    if (producer == last) return false;
    const npu_pass *p = &s->net->passes[producer], *next = p + 1;
    return next->ifm == p->ofm && s->net->tensors[p->ofm].consumers == 1 &&
           is_cascadable(s, next, &plans[producer + 1]) && npu_shape_equal(p->ofm_shape, next->ifm_shape) &&
           !find_needs(s, next).full_ifm && !find_needs(s, p).full_ofm;
}

/* Joins passes first..last into cascades; the others get a plan for whole maps. Returns the number of cascades, and the
 * fast memory of the largest. */
static uint32_t join_passes(npu_schedule *s, uint32_t first, uint32_t last, npu_plan *plans, int64_t *max_bytes) {
    int64_t limit = s->arch->fast_bytes, height;
    uint32_t cascades = 0, end;
    *max_bytes = 0;
    for (uint32_t i = first; i <= last; i = end + 1) {
        end = i;
        int64_t best_bytes = 0;
        if (is_cascadable(s, &s->net->passes[i], &plans[i])) {
            int64_t bytes = buffer_bytes(&plans[i]);
            for (uint32_t at = i; can_join_next(s, at, last, plans); at++) {
                bytes += rolling_bytes(s, at, plans, &height) + buffer_bytes(&plans[at + 1]);
                if (bytes_alone(s, &s->net->passes[at + 1]) < limit || bytes > limit) break;
                end = at + 1;
                best_bytes = bytes;
            }
        }
        if (end == i) {
            npu_plan_stripe(s, &s->net->passes[i], s->net->passes[i].ofm_shape.h, &plans[i]);
            int64_t alone = full_bytes(s->net->passes[i].ifm_shape, &s->net->tensors[s->net->passes[i].ifm]) +
                            full_bytes(s->net->passes[i].ofm_shape, &s->net->tensors[s->net->passes[i].ofm]);
            if (alone > *max_bytes) *max_bytes = alone;
            continue;
        }
        cascades++;
        if (best_bytes > *max_bytes) *max_bytes = best_bytes;
        plans[i].rolling_h = 0;
        for (uint32_t at = i; at <= end; at++) plans[at].cascade = end + 1;
        for (uint32_t at = i; at < end; at++) {
            rolling_bytes(s, at, plans, &height);
            plans[at + 1].rolling_h = height;
        }
    }
    return cascades;
}

/* --- Higher stripes ------------------------------------------------------------------------------------------ */

static bool has_nearest_upscale(const npu_schedule *s, uint32_t first, uint32_t last) {
    for (uint32_t i = first; i <= last; i++) {
        if (s->net->passes[i].upscale == UPSCALE_NEAREST) return true;
    }
    return false;
}

/* Plans with stripes of `height` rows in the last pass, and weights buffered as in `like`. */
static bool plan_stripes(const npu_schedule *s, uint32_t first, uint32_t last, int64_t height, const npu_plan *like,
                         npu_plan *plans) {
    bool is_even = has_nearest_upscale(s, first, last);
    for (uint32_t i = last + 1; i-- > first;) {
        const npu_pass *p = &s->net->passes[i];
        if (!npu_plan_stripe(s, p, height, &plans[i])) return false;
        if (like[i - first].buffer_count > 0) {
            plans[i].buffer_count = 1;
            plans[i].buffers[0] = plans[i].encoded;
        }
        int64_t extra = is_even || p->upscale != UPSCALE_NONE ? height % 2 : 0;
        height = (height + extra) * p->stride_y;
    }
    return true;
}

/* Plans the weight buffers of one cascade; `usage` stays as it is for the next. False when out of memory. */
static bool buffer_cascade(npu_schedule *s, uint32_t first, uint32_t last, int64_t *usage, uint32_t times) {
    int64_t *before = ARENA_ARRAY(s->work, int64_t, (size_t)(last - first) + 1);
    if (before == NULL) return false;
    for (uint32_t i = first; i <= last; i++) {
        assert(s->plans[i].time < times);
        before[i - first] = usage[s->plans[i].time];
    }
    npu_buffer_weights(s, first, last, s->arch->fast_bytes, usage, times);
    for (uint32_t i = first; i <= last; i++) usage[s->plans[i].time] = before[i - first];
    return true;
}

/* Makes the stripes of one cascade as high as they can be; each trial is made in place. */
static ft_status grow_stripes(npu_schedule *s, uint32_t first, uint32_t last, int64_t *usage, uint32_t times,
                              ft_error *error) {
    npu_plan *plans = s->plans + first;
    size_t bytes = (last - first + 1) * sizeof *plans;
    npu_plan *best = arena_copy(s->work, plans, bytes);
    if (best == NULL || !buffer_cascade(s, first, last, usage, times)) return FT_NOMEM(error);
    npu_plan *buffered = arena_copy(s->work, plans, bytes);
    if (buffered == NULL) return FT_NOMEM(error);
    int64_t lowest = best[last - first].stripe.h + 1, highest = s->net->passes[last].ofm_shape.h / 2;
    uint32_t max_cascades = 0;
    for (int64_t h = lowest; h <= highest && h < MAX_STRIPE; h++) {
        int64_t fast_bytes;
        if (!plan_stripes(s, first, last, h, buffered, s->plans)) break;
        uint32_t cascades = join_passes(s, first, last, s->plans, &fast_bytes);
        if (h == lowest) max_cascades = cascades;
        if (fast_bytes > s->arch->fast_bytes || cascades > max_cascades) break;
        memcpy(best, plans, bytes);
        if (cascades == 0) break;
    }
    memcpy(plans, best, bytes);
    return FT_OK;
}

ft_status npu_plan_cascades(npu_schedule *s, uint32_t first, uint32_t last, ft_error *error) {
    assert(first <= last && last < s->net->pass_count);
    int64_t height = 1, bytes;
    for (uint32_t i = last + 1; i-- > first;) {
        const npu_pass *p = &s->net->passes[i];
        if (!npu_plan_stripe(s, p, height, &s->plans[i])) npu_plan_stripe(s, p, p->ofm_shape.h, &s->plans[i]);
        height = p->stride_y;
    }
    if (join_passes(s, first, last, s->plans, &bytes) == 0) return FT_OK;
    npu_live_ranges ranges;
    FT_TRY(npu_live_ranges_find(s, first, last, NPU_SRAM, &ranges, error));
    int64_t *usage = npu_live_ranges_usage(s, &ranges);
    if (usage == NULL) return FT_NOMEM(error);
    for (uint32_t i = first; i <= last;) {
        uint32_t end = s->plans[i].cascade;
        if (end == 0) {
            i++;
            continue;
        }
        FT_TRY(grow_stripes(s, i, end - 1, usage, ranges.times, error));
        i = end;
    }
    return FT_OK;
}
