/* live_ranges.c - live ranges of feature maps and weight buffers: the times between which each occupies memory.
 *
 * Time advances by two per step, so that prefetching has a time of its own between two passes. An elementwise pass
 * overwrites its input when no other pass reads it. */
#include <assert.h>
#include <string.h>

#include "npu/schedule.h"

int64_t npu_stored_bytes(const npu_tensor *t) {
    npu_shape s = t->shape;
    if (!t->is_linear) s.c = npu_round_up(s.c, 16);
    return npu_round_up(npu_elems(s) * t->bytes, 16);
}

static bool is_in(const npu_schedule *s, uint32_t tensor, npu_area area) {
    return tensor != FT_NONE && !s->net->tensors[tensor].is_const && s->areas[tensor] == area;
}

bool npu_can_overwrite_input(const npu_schedule *s, const npu_pass *p, npu_area area, bool is_any, uint32_t *input) {
    const npu_tensor *ofm = &s->net->tensors[p->ofm];
    if (p->block == BLOCK_COPY) {
        *input = p->ifm;
        return (is_any || (is_in(s, p->ifm, area) && is_in(s, p->ofm, area))) && s->net->tensors[p->ifm].consumers <= 1;
    }
    if (p->block != BLOCK_ELEMENTWISE || ofm->is_variable || !(is_any || is_in(s, p->ofm, area))) return false;
    for (int i = 0; i < 2; i++) {
        uint32_t tensor = i == 0 ? p->ifm : p->ifm2;
        if (tensor == FT_NONE) continue;
        const npu_tensor *ifm = &s->net->tensors[tensor];
        npu_shape shape = i == 0 ? p->ifm_shape : p->ifm2_shape;
        if (!npu_shape_equal(shape, p->ofm_shape) || ifm->is_scalar || ifm->is_kept || ifm->is_variable) continue;
        if (!(is_any || is_in(s, tensor, area)) || ifm->is_const) continue;
        if (ifm->is_linear != ofm->is_linear || ifm->bytes != ofm->bytes) continue;
        if (ifm->consumers != 1 || ofm->producers != 1) continue;
        *input = tensor;
        return true;
    }
    return false;
}

/* --- Marking ------------------------------------------------------------------------------------------------- */

static bool add_range(const npu_schedule *s, npu_live_ranges *r, const npu_live_range *range) {
    if (r->count == r->capacity) {
        uint32_t larger = r->capacity == 0 ? 64 : r->capacity * 2;
        npu_live_range *items = ARENA_ARRAY(s->work, npu_live_range, larger);
        if (items == NULL) return false;
        if (r->count > 0) memcpy(items, r->items, r->count * sizeof *items);
        r->items = items;
        r->capacity = larger;
    }
    assert(range->bytes >= 0);
    r->items[r->count++] = *range;
    return true;
}

static npu_live_range *range_of(const npu_schedule *s, npu_live_ranges *r, uint32_t tensor) {
    assert(tensor < s->net->tensor_count);
    if (s->range_of[tensor] == FT_NONE) {
        npu_live_range made = {
            .start = UINT32_MAX, .bytes = npu_stored_bytes(&s->net->tensors[tensor]), .tensor = tensor};
        s->range_of[tensor] = r->count;
        if (!add_range(s, r, &made)) return NULL;
    }
    return &r->items[s->range_of[tensor]];
}

static void mark(npu_live_range *range, uint32_t time, uint32_t length) {
    if (time < range->start) range->start = time;
    if (time + length > range->end) range->end = time + length;
}

static bool mark_tensor(const npu_schedule *s, npu_live_ranges *r, uint32_t tensor, npu_area area, uint32_t time) {
    if (!is_in(s, tensor, area)) return true;
    npu_live_range *range = range_of(s, r, tensor);
    if (range == NULL) return false;
    mark(range, time, 1);
    return true;
}

static bool mark_buffers(const npu_schedule *s, npu_live_ranges *r, uint32_t pass, const npu_plan *plan,
                         uint32_t time) {
    for (uint32_t i = 0; i < plan->buffer_count; i++) {
        npu_live_range range = {
            .start = time, .end = time + 1, .bytes = plan->buffers[i], .tensor = FT_NONE, .pass = pass};
        if (i == 0 && plan->is_prefetched && time > 0) range.start--;
        if (plan->buffer_count > 1 && (plan->slices + 1) % 2 != i) range.end--;
        if (!add_range(s, r, &range)) return false;
    }
    return true;
}

static bool mark_pass(const npu_schedule *s, npu_live_ranges *r, uint32_t index, npu_area area, uint32_t *time) {
    const npu_pass *p = &s->net->passes[index];
    npu_plan *plan = &s->plans[index];
    bool continues = plan->cascade != 0 && index > 0 && s->plans[index - 1].cascade == plan->cascade &&
                     s->net->passes[index - 1].segment == p->segment;
    assert(plan->rolling_h == 0 || index > 0); /* a rolling buffer has a pass that fills it */
    uint32_t now = continues ? s->plans[index - 1].time : *time, input;
    if (plan->cascade == 0 && npu_can_overwrite_input(s, p, area, false, &input) && s->range_of[p->ofm] == FT_NONE) {
        if (range_of(s, r, input) == NULL) return false;
        s->range_of[p->ofm] = s->range_of[input];
    }
    plan->time = now;
    if (plan->rolling_h > 0 && area == NPU_SRAM) {
        npu_live_range *range = range_of(s, r, p->ifm);
        if (range == NULL) return false;
        npu_shape made = s->net->passes[index - 1].ofm_shape;
        int64_t w = made.w > plan->stripe_input.w ? made.w : plan->stripe_input.w;
        range->bytes = plan->rolling_h * w * npu_round_up(made.c, 16) * s->net->tensors[p->ifm].bytes;
        mark(range, now, 1);
    } else if (!(plan->rolling_h > 0) && !mark_tensor(s, r, p->ifm, area, now)) {
        return false;
    }
    bool is_rolled =
        plan->cascade != 0 && plan->cascade != index + 1; /* its output is the rolling buffer of the next pass */
    if (!mark_tensor(s, r, p->ifm2, area, now)) return false;
    if (!is_rolled && !mark_tensor(s, r, p->ofm, area, now)) return false;
    if (area == NPU_SRAM && !mark_buffers(s, r, index, plan, now)) return false;
    if (!continues) *time += 2;
    return true;
}

static bool mark_cpu(const npu_schedule *s, npu_live_ranges *r, const ft_op *op, npu_area area, uint32_t *time) {
    for (uint32_t i = 0; i < op->input_count; i++) {
        uint32_t tensor = op->inputs[i] != FT_NONE ? s->net->tensor_of[op->inputs[i]] : FT_NONE;
        if (!mark_tensor(s, r, tensor, area, *time)) return false;
    }
    for (uint32_t i = 0; i < op->output_count; i++) {
        uint32_t tensor = op->outputs[i] != FT_NONE ? s->net->tensor_of[op->outputs[i]] : FT_NONE;
        if (!mark_tensor(s, r, tensor, area, *time)) return false;
    }
    *time += 2;
    return true;
}

/* External inputs of the segment of passes first..last are live when it begins, its external outputs when it ends. */
static bool mark_border(const npu_schedule *s, npu_live_ranges *r, uint32_t first, uint32_t last, npu_area area,
                        uint32_t time, bool is_end) {
    for (uint32_t i = first; i <= last; i++) {
        const npu_pass *p = &s->net->passes[i];
        const uint32_t ends[] = {p->ifm, p->ifm2, p->ofm};
        for (int k = is_end ? 2 : 0; k < (is_end ? 3 : 2); k++) {
            if (ends[k] == FT_NONE || !s->net->tensors[ends[k]].is_external) continue;
            if (is_end ? !s->net->tensors[ends[k]].is_output : s->net->tensors[ends[k]].producers > 0) continue;
            if (!mark_tensor(s, r, ends[k], area, time)) return false;
        }
    }
    return true;
}

static bool mark_inputs(const npu_schedule *s, npu_live_ranges *r, npu_area area, uint32_t *time) {
    const ft_graph *graph = s->net->graph;
    for (uint32_t i = 0; i < ft_graph_input_count(graph); i++) {
        if (!mark_tensor(s, r, s->net->tensor_of[ft_graph_inputs(graph)[i]], area, *time)) return false;
    }
    *time += 2;
    return true;
}

static bool mark_outputs(const npu_schedule *s, npu_live_ranges *r, npu_area area, uint32_t time) {
    const ft_graph *graph = s->net->graph;
    for (uint32_t i = 0; i < ft_graph_output_count(graph); i++) {
        if (!mark_tensor(s, r, s->net->tensor_of[ft_graph_outputs(graph)[i]], area, time)) return false;
    }
    for (uint32_t i = 0; i < s->net->tensor_count; i++) {
        if (!s->net->tensors[i].is_variable || s->range_of[i] == FT_NONE) continue;
        mark(&r->items[s->range_of[i]], 0, time + 1);
    }
    return true;
}

static bool mark_segment(const npu_schedule *s, npu_live_ranges *r, uint32_t first, uint32_t last, npu_area area,
                         uint32_t *time) {
    for (uint32_t i = first; i <= last; i++)
        if (!mark_pass(s, r, i, area, time)) return false;
    return true;
}

/* Segments are runs of passes without a step of the CPU in between. */
static bool mark_steps(const npu_schedule *s, npu_live_ranges *r, npu_area area, uint32_t *time) {
    const npu_net *net = s->net;
    for (uint32_t i = 0; i < net->step_count;) {
        if (net->steps[i].is_cpu) {
            if (!mark_cpu(s, r, &ft_graph_ops(net->graph)[net->steps[i].index], area, time)) return false;
            i++;
            continue;
        }
        uint32_t first = net->steps[i].index, last = npu_segment_end(net, first);
        assert(i + (last - first) < net->step_count && net->steps[i + (last - first)].index == last);
        if (!mark_border(s, r, first, last, area, *time, false) || !mark_segment(s, r, first, last, area, time) ||
            !mark_border(s, r, first, last, area, *time, true))
            return false;
        i += last - first + 1;
    }
    return true;
}

ft_status npu_live_ranges_find_all(npu_schedule *s, npu_area area, npu_live_ranges *ranges, ft_error *error) {
    uint32_t time = 0;
    *ranges = (npu_live_ranges){.of = s->range_of};
    for (uint32_t i = 0; i < s->net->tensor_count; i++) s->range_of[i] = FT_NONE;
    if (!mark_inputs(s, ranges, area, &time) || !mark_steps(s, ranges, area, &time) ||
        !mark_outputs(s, ranges, area, time))
        return FT_NOMEM(error);
    ranges->times = time + 3;
    return FT_OK;
}

ft_status npu_live_ranges_find(npu_schedule *s, uint32_t first, uint32_t last, npu_area area, npu_live_ranges *ranges,
                               ft_error *error) {
    uint32_t time = 0;
    assert(npu_segment_end(s->net, first) == last);
    *ranges = (npu_live_ranges){.of = s->range_of};
    for (uint32_t i = first; i <= last; i++) {
        const npu_pass *p = &s->net->passes[i];
        s->range_of[p->ifm] = s->range_of[p->ofm] = FT_NONE;
        if (p->ifm2 != FT_NONE) s->range_of[p->ifm2] = FT_NONE;
    }
    if (!mark_segment(s, ranges, first, last, area, &time) || !mark_border(s, ranges, first, last, area, time, true))
        return FT_NOMEM(error);
    ranges->times = time + 3;
    return FT_OK;
}

/* Differences from one time to the next, which are then added up. */
int64_t *npu_live_ranges_usage(const npu_schedule *s, const npu_live_ranges *ranges) {
    int64_t *usage = ARENA_ARRAY(s->work, int64_t, (size_t)ranges->times + 1);
    if (usage == NULL) return NULL;
    for (uint32_t i = 0; i < ranges->count; i++) {
        const npu_live_range *r = &ranges->items[i];
        if (r->start > r->end || r->start >= ranges->times) continue;
        usage[r->start] += r->bytes;
        if (r->end + 1 < ranges->times) usage[r->end + 1] -= r->bytes;
    }
    for (uint32_t t = 1; t < ranges->times; t++) usage[t] += usage[t - 1];
    return usage;
}
