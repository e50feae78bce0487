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

static ft_status buffer_weights(npu_schedule *s, uint32_t first, uint32_t last, int64_t limit, ft_error *error) {
    npu_live_ranges ranges;
    for (uint32_t i = first; i <= last; i++) s->plans[i].buffer_count = 0;
    FT_TRY(npu_live_ranges_find(s, first, last, NPU_SRAM, &ranges, error));
    int64_t *usage = npu_live_ranges_usage(s, &ranges);
    if (usage == NULL) return FT_NOMEM(error);
    npu_buffer_weights(s, first, last, limit, usage, ranges.times);
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
        *total += costs[i - first].total;
        *slow += costs[i - first].slow;
    }
}

static double gain(double before, double after) {
    return before != 0 ? round((before - after) / before * 100) / 100 : 0;
}

/* Adds to each weight buffer the bytes of the evicted maps that are live at the same time: of those that began before
 * it ended, less those that ended before it began. */
static bool add_evicted(npu_schedule *s, const npu_live_ranges *ranges, const bool *evicted) {
    int64_t *began = ARENA_ARRAY(s->work, int64_t, (size_t)ranges->times + 1); /* before or at each time */
    int64_t *ended = ARENA_ARRAY(s->work, int64_t, (size_t)ranges->times + 1);
    if (began == NULL || ended == NULL) return false;
    for (uint32_t i = 0; i < ranges->count; i++) {
        const npu_live_range *map = &ranges->items[i];
        if (!evicted[i] || map->start >= map->end) continue;
        assert(map->end < ranges->times);
        began[map->start] += map->bytes;
        ended[map->end] += map->bytes;
    }
    for (uint32_t t = 1; t < ranges->times; t++) {
        began[t] += began[t - 1];
        ended[t] += ended[t - 1];
    }
    for (uint32_t i = 0; i < ranges->count; i++) {
        const npu_live_range *weights = &ranges->items[i];
        if (weights->tensor != FT_NONE || weights->start >= weights->end) continue;
        s->plans[weights->pass].evicted += began[weights->end - 1] - ended[weights->start];
    }
    return true;
}

/* Plans and places of passes first..last, to return to. */
typedef struct snapshot {
    npu_plan *plans;
    npu_area *areas; /* of the output of each pass */
} snapshot;

static bool take_snapshot(const npu_schedule *s, uint32_t first, uint32_t last, snapshot *taken) {
    size_t count = (size_t)(last - first) + 1;
    taken->plans = arena_copy(s->work, s->plans + first, count * sizeof *s->plans);
    taken->areas = ARENA_ARRAY(s->work, npu_area, count);
    if (taken->plans == NULL || taken->areas == NULL) return false;
    for (uint32_t i = first; i <= last; i++) taken->areas[i - first] = s->areas[s->net->passes[i].ofm];
    return true;
}

static void restore_snapshot(npu_schedule *s, uint32_t first, uint32_t last, const snapshot *taken) {
    memcpy(s->plans + first, taken->plans, ((size_t)(last - first) + 1) * sizeof *s->plans);
    for (uint32_t i = first; i <= last; i++) s->areas[s->net->passes[i].ofm] = taken->areas[i - first];
}

/* Feature maps were evicted: smaller weight buffers may let them stay. Kept when the network gets faster by it. */
static ft_status try_smaller_buffers(npu_schedule *s, uint32_t first, uint32_t last, const npu_live_ranges *ranges,
                                     const bool *evicted, ft_error *error) {
    npu_cost *costs = ARENA_ARRAY(s->work, npu_cost, (size_t)(last - first) + 1);
    snapshot before;
    if (costs == NULL || !take_snapshot(s, first, last, &before)) return FT_NOMEM(error);
    double total, slow, new_total, new_slow;
    sum_costs(s, first, last, costs, &total, &slow);
    if (!add_evicted(s, ranges, evicted)) return FT_NOMEM(error);
    npu_live_ranges again;
    bool *left, has_left;
    evict_maps(s, first, last);
    FT_TRY(buffer_weights(s, first, last, s->arch->fast_bytes, error));
    FT_TRY(npu_choose_fast_maps(s, first, last, &again, &left, &has_left, error));
    sum_costs(s, first, last, costs, &new_total, &new_slow);
    if (gain(total, new_total) >= 0 && gain(slow, new_slow) > 0) return FT_OK;
    restore_snapshot(s, first, last, &before);
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
    s->range_of = ARENA_ARRAY(s->memory, uint32_t, net->tensor_count + 1);
    s->links = ARENA_ARRAY(s->memory, uint32_t, net->tensor_count + 1);
    if (s->plans == NULL || s->areas == NULL || s->is_fast == NULL || s->channel_bytes == NULL || s->range_of == NULL ||
        s->links == NULL)
        return FT_NOMEM(error);
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

/* The peak over the whole network. */
static ft_status find_peak(npu_schedule *s, npu_area area, int64_t *bytes, ft_error *error) {
    npu_live_ranges ranges;
    FT_TRY(npu_live_ranges_find_all(s, area, &ranges, error));
    const int64_t *usage = npu_live_ranges_usage(s, &ranges);
    if (usage == NULL) return FT_NOMEM(error);
    *bytes = peak_of(usage, ranges.times);
    arena_reset(s->work);
    return FT_OK;
}

static ft_status schedule_all(npu_schedule *s, ft_error *error) {
    FT_TRY(begin_schedule(s, error));
    for (uint32_t first = 0; first < s->net->pass_count;) {
        uint32_t last = npu_segment_end(s->net, first);
        FT_TRY(schedule_segment(s, first, last, error));
        arena_reset(s->work);
        first = last + 1;
    }
    if (s->arch->is_cached) FT_TRY(find_peak(s, NPU_SLOW, &s->arena_bytes, error));
    return find_peak(s, NPU_SRAM, &s->peak_bytes, error);
}

ft_status npu_schedule_make(const npu_net *net, const npu_arch *arch, const npu_compression *compression,
                            const npu_schedule *previous, arena *memory, npu_schedule *schedule, ft_error *error) {
    arena work;
    arena_init(&work, memory->limit - memory->used);
    npu_schedule s = {
        .net = net, .arch = arch, .compression = compression, .previous = previous, .memory = memory, .work = &work};
    ft_status status = schedule_all(&s, error);
    arena_free(&work);
    s.work = NULL;
    if (status == FT_OK) *schedule = s;
    return status;
}
