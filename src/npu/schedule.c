/* schedule.c - schedules a network segment by segment: whole maps, or cascades and a cache of feature maps. */
#include "npu/schedule.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "npu/estimate.h"

static int64_t peak_of(const int64_t *usage, uint32_t times) {
    int64_t peak = 0;
    for (uint32_t t = 0; t < times; t++) peak = usage[t] > peak ? usage[t] : peak;
    return peak;
}

static ft_status find_usage(npu_schedule *s, uint32_t segment, npu_area area, int64_t **usage, uint32_t *times,
                            ft_error *error) {
    npu_live_ranges ranges;
    FT_TRY(npu_live_ranges_find(s, segment, area, &ranges, error));
    *usage = npu_live_ranges_usage(s, &ranges);
    *times = ranges.times;
    return *usage != NULL ? FT_OK : FT_NOMEM(error);
}

static ft_status buffer_weights(npu_schedule *s, uint32_t first, uint32_t last, int64_t limit, ft_error *error) {
    int64_t *usage;
    uint32_t times;
    for (uint32_t i = first; i <= last; i++) s->plans[i].buffer_count = 0;
    FT_TRY(find_usage(s, s->net->passes[first].segment, NPU_SRAM, &usage, &times, error));
    npu_buffer_weights(s, first, last, limit, usage, times);
    return FT_OK;
}

static void choose_blocks(npu_schedule *s, uint32_t first, uint32_t last) {
    for (uint32_t i = first; i <= last; i++) {
        npu_plan *plan = &s->plans[i];
        const npu_plan *previous = s->previous != NULL ? &s->previous->plans[i] : NULL;
        if (previous == NULL || !npu_shape_equal(plan->stripe, previous->stripe) ||
            !npu_shape_equal(plan->stripe_input, previous->stripe_input)) {
            npu_plan_blocks(s, &s->net->passes[i], plan);
            continue;
        }
        plan->config = previous->config;
        plan->cycles = previous->cycles;
    }
}

/* Rolling buffers of cascades are in fast memory. */
static void place_rolling_buffers(npu_schedule *s, uint32_t first, uint32_t last) {
    for (uint32_t i = first; i <= last; i++) {
        if (s->plans[i].rolling_h > 0) s->areas[s->net->passes[i].ifm] = NPU_SRAM;
    }
}

static void evict_maps(npu_schedule *s, uint32_t first, uint32_t last) {
    for (uint32_t i = first; i <= last; i++) {
        if (s->is_fast[s->net->passes[i].ofm]) s->areas[s->net->passes[i].ofm] = NPU_SLOW;
    }
}

static void sum_costs(const npu_schedule *s, uint32_t first, uint32_t last, npu_cost *costs, double *total,
                      double *slow) {
    npu_pass_costs(s, first, last, costs);
    *total = *slow = 0;
    for (uint32_t i = first; i <= last; i++) {
        *total += costs[i].total;
        *slow += costs[i].slow;
    }
}

static double gain(double before, double after) {
    return before != 0 ? round((before - after) / before * 100) / 100 : 0;
}

/* Feature maps were evicted: smaller weight buffers may let them stay. Kept when the network gets faster by it. */
static ft_status try_smaller_buffers(npu_schedule *s, uint32_t first, uint32_t last, const npu_live_ranges *ranges,
                                     const bool *evicted, ft_error *error) {
    size_t plan_bytes = s->net->pass_count * sizeof *s->plans;
    npu_cost *costs = ARENA_ARRAY(s->memory, npu_cost, s->net->pass_count + 1);
    npu_plan *plans = arena_copy(s->memory, s->plans, plan_bytes);
    npu_area *areas = arena_copy(s->memory, s->areas, (s->net->tensor_count + 1) * sizeof *areas);
    if (costs == NULL || plans == NULL || areas == NULL) return FT_NOMEM(error);
    double total, slow, new_total, new_slow;
    sum_costs(s, first, last, costs, &total, &slow);
    for (uint32_t i = 0; i < ranges->count; i++) {
        if (!evicted[i]) continue;
        for (uint32_t k = 0; k < ranges->count; k++) {
            const npu_live_range *map = &ranges->items[i], *weights = &ranges->items[k];
            uint32_t start = map->start > weights->start ? map->start : weights->start;
            uint32_t end = map->end < weights->end ? map->end : weights->end;
            if (weights->tensor == FT_NONE && start < end) s->plans[weights->pass].evicted += map->bytes;
        }
    }
    npu_live_ranges again;
    bool *left, has_left;
    evict_maps(s, first, last);
    FT_TRY(buffer_weights(s, first, last, s->arch->fast_bytes, error));
    FT_TRY(npu_choose_fast_maps(s, first, last, &again, &left, &has_left, error));
    sum_costs(s, first, last, costs, &new_total, &new_slow);
    if (gain(total, new_total) >= 0 && gain(slow, new_slow) > 0) return FT_OK;
    memcpy(s->plans, plans, plan_bytes);
    memcpy(s->areas, areas, (s->net->tensor_count + 1) * sizeof *areas);
    return FT_OK;
}

static ft_status schedule_cached(npu_schedule *s, uint32_t first, uint32_t last, ft_error *error) {
    npu_live_ranges ranges;
    bool *evicted, has_evicted;
    FT_TRY(npu_plan_cascades(s, first, last, error));
    choose_blocks(s, first, last);
    FT_TRY(buffer_weights(s, first, last, s->arch->fast_bytes, error));
    place_rolling_buffers(s, first, last);
    FT_TRY(npu_choose_fast_maps(s, first, last, &ranges, &evicted, &has_evicted, error));
    return has_evicted ? try_smaller_buffers(s, first, last, &ranges, evicted, error) : FT_OK;
}

static ft_status schedule_segment(npu_schedule *s, uint32_t first, uint32_t last, ft_error *error) {
    assert(s->net->passes[first].segment == s->net->passes[last].segment);
    if (s->arch->is_cached) return schedule_cached(s, first, last, error);
    choose_blocks(s, first, last);
    return buffer_weights(s, first, last, s->arch->fast_bytes, error);
}

static ft_status begin_schedule(npu_schedule *s, ft_error *error) {
    const npu_net *net = s->net;
    s->plans = ARENA_ARRAY(s->memory, npu_plan, net->pass_count + 1);
    s->areas = ARENA_ARRAY(s->memory, npu_area, net->tensor_count + 1);
    s->is_fast = ARENA_ARRAY(s->memory, bool, net->tensor_count + 1);
    s->channel_bytes = ARENA_ARRAY(s->memory, double, net->pass_count + 1);
    if (s->plans == NULL || s->areas == NULL || s->is_fast == NULL || s->channel_bytes == NULL) return FT_NOMEM(error);
    for (uint32_t i = 0; i < net->tensor_count; i++)
        s->areas[i] = s->arch->is_cached || net->tensors[i].is_const ? NPU_SLOW : NPU_SRAM;
    for (uint32_t i = 0; i < net->pass_count; i++) {
        const npu_pass *p = &net->passes[i];
        s->channel_bytes[i] = p->ofm_shape.c > 0 ? npu_compressed_bytes(s->compression, p) / (double)p->ofm_shape.c : 0;
        if (!npu_plan_stripe(s, p, p->ofm_shape.h, &s->plans[i]))
            return ft_fail(error, FT_ERR_UNSUPPORTED, "operator %u: no block fits the shared buffer of %s", p->op,
                           s->arch->name);
    }
    return FT_OK;
}

ft_status npu_schedule_make(const npu_net *net, const npu_arch *arch, const npu_compression *compression,
                            const npu_schedule *previous, arena *memory, npu_schedule *schedule, ft_error *error) {
    npu_schedule s = {.net = net, .arch = arch, .compression = compression, .previous = previous, .memory = memory};
    int64_t *usage;
    uint32_t times;
    FT_TRY(begin_schedule(&s, error));
    for (uint32_t first = 0; first < net->pass_count;) {
        uint32_t last = first;
        while (last + 1 < net->pass_count && net->passes[last + 1].segment == net->passes[first].segment) last++;
        FT_TRY(schedule_segment(&s, first, last, error));
        first = last + 1;
    }
    if (arch->is_cached) {
        FT_TRY(find_usage(&s, FT_NONE, NPU_SLOW, &usage, &times, error));
        s.arena_bytes = peak_of(usage, times);
    }
    FT_TRY(find_usage(&s, FT_NONE, NPU_SRAM, &s.usage, &s.times, error));
    s.peak_bytes = peak_of(s.usage, s.times);
    *schedule = s;
    return FT_OK;
}
