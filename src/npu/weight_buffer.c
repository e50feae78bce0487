/* weight_buffer.c - prefetching of weights into fast memory.
 *
 * While a pass runs, the weights of the next one are fetched. When there is not enough time or memory for all of them,
 * the depth of the output is cut into slices, whose weights are fetched one after the other into two buffers. Fully
 * connected layers use each weight once and read it from slow memory. */
#include <assert.h>
#include <math.h>

#include "npu/schedule.h"

enum { SPLIT_DEPTH = 16 };

int64_t npu_encoded_bytes(const npu_schedule *s, const npu_pass *p, int64_t from, int64_t to) {
    int64_t depth = p->ofm_shape.c, bytes = 0, length = to - from, cores = s->arch->cores;
    if (depth <= 0 || length <= 0) return 0;
    double per_channel = s->channel_bytes[p - s->net->passes];
    for (int64_t core = 0; core < cores && core < depth; core++) {
        int64_t channels = cores == 1 ? length : (length + cores - 1 - core) / cores;
        if (channels == 0) continue;
        bytes += npu_round_up(10 * channels, 16);
        bytes += npu_round_up((int64_t)ceil(per_channel * (double)channels), 16);
    }
    return bytes;
}

int64_t npu_schedule_cycles(const npu_schedule *s, const npu_pass *p, const npu_block_config *config, int64_t depth) {
    const npu_tensor *ifm = &s->net->tensors[p->ifm], *ofm = &s->net->tensors[p->ofm];
    const npu_tensor *ifm2 = p->ifm2 != FT_NONE ? &s->net->tensors[p->ifm2] : ifm;
    npu_area home = s->arch->is_cached ? NPU_SLOW : NPU_SRAM;
    npu_pass_query q = {.pass = p,
                        .config = config,
                        .ifm = p->ifm_shape,
                        .ifm2 = p->ifm2_shape,
                        .ofm = p->ofm_shape,
                        .ifm_bytes = ifm->bytes,
                        .ifm2_bytes = ifm2->bytes,
                        .ofm_bytes = ofm->bytes,
                        .ifm_linear = ifm->is_linear,
                        .ifm2_linear = ifm2->is_linear,
                        .ofm_linear = ofm->is_linear,
                        .ifm_area = ifm->is_const ? NPU_SLOW : home,
                        .ifm2_area = ifm2->is_const ? NPU_SLOW : home,
                        .ofm_area = home,
                        .const_area = NPU_SRAM};
    q.ofm.c = depth;
    return npu_engine_cycles(s->arch, &q);
}

/* --- Cutting the depth --------------------------------------------------------------------------------------- */

/* Slices of the depth. */
typedef struct cut {
    int64_t first, step, depth; /* channels: of the first slice, of the others, of all */
    int64_t sizes[2];           /* bytes of the largest even and the largest odd slice */
    int64_t encoded, first_encoded, last;
    uint32_t slices;
} cut;

static void size_slices(const npu_schedule *s, const npu_pass *p, cut *c) {
    int64_t from = 0, to = c->first < c->depth ? c->first : c->depth;
    c->sizes[0] = c->sizes[1] = c->encoded = 0;
    c->slices = 0;
    assert(c->depth == 0 || (c->first > 0 && c->step > 0)); /* every slice has channels */
    while (from < c->depth) {
        int64_t bytes = npu_encoded_bytes(s, p, from, to);
        if (c->slices == 0) c->first_encoded = bytes;
        if (bytes > c->sizes[c->slices % 2]) c->sizes[c->slices % 2] = bytes;
        c->encoded += bytes;
        c->last = to - from;
        c->slices++;
        from = to;
        to = to + c->step < c->depth ? to + c->step : c->depth;
    }
}

static int64_t round_down(double value, int64_t unit) {
    return (int64_t)floor(value / (double)unit) * unit;
}

static void find_cut(const npu_schedule *s, const npu_pass *p, const npu_plan *plan, double ratio, int64_t limit,
                     int64_t full, cut *c) {
    int64_t block = plan->config.ofm.c, depth = c->depth, half = limit / 2;
    int64_t first = round_down((double)depth * ratio, SPLIT_DEPTH);
    if (first < SPLIT_DEPTH) first = SPLIT_DEPTH;
    double step = (double)depth * ((double)npu_schedule_cycles(s, p, &plan->config, first) / plan->full_transfer);
    step = ceil(step / (double)block) * (double)block;
    if (step / (double)depth * (double)full > (double)half) step = (double)half / (double)full * (double)depth;
    for (;;) {
        step = (double)(step > (double)block ? round_down(step, block) : round_down(step, SPLIT_DEPTH));
        if (step < SPLIT_DEPTH) step = SPLIT_DEPTH;
        c->first = first;
        c->step = (int64_t)step;
        size_slices(s, p, c);
        if (c->sizes[0] + c->sizes[1] <= limit || first == SPLIT_DEPTH) return;
        if (step > (double)first)
            step = (double)npu_round_up((int64_t)step / 2, SPLIT_DEPTH);
        else
            first = npu_round_up(first / 2, SPLIT_DEPTH);
    }
}

/* --- Buffers ------------------------------------------------------------------------------------------------- */

static void buffer_pass(npu_schedule *s, uint32_t index, const npu_plan *before, int64_t limit, int64_t *usage,
                        uint32_t times) {
    const npu_pass *p = &s->net->passes[index];
    npu_plan *plan = &s->plans[index];
    int64_t depth = p->ofm_shape.c, full = npu_encoded_bytes(s, p, 0, depth);
    plan->encoded = plan->first_encoded = full;
    plan->slices = 1;
    if (p->block == BLOCK_VECTOR) return;
    cut c = {.first = depth, .step = depth, .depth = depth};
    size_slices(s, p, &c);
    double slack = before != NULL ? before->slack_cycles : 0;
    int64_t room = before != NULL ? before->slack_memory : 0;
    if (plan->cascade != 0) {
        if (plan->time < times) usage[plan->time] += full;
    } else {
        plan->full_transfer = npu_transfer_cycles(s->arch, NPU_SLOW, NPU_SRAM, (double)full);
        int64_t whole_half = limit / 2;
        double half = (double)whole_half, prefetched = npu_min((double)full, half);
        if (limit < 0) half = prefetched = floor((double)limit / 2);
        if (plan->full_transfer > slack) prefetched = npu_min(slack / plan->full_transfer * (double)full, half);
        if (prefetched < (double)full) {
            find_cut(s, p, plan, prefetched / (double)full, limit, full, &c);
            plan->slack_cycles = (double)npu_schedule_cycles(s, p, &plan->config, c.last);
        }
    }
    int64_t largest = c.sizes[0] > c.sizes[1] ? c.sizes[0] : c.sizes[1], both = c.sizes[0] + c.sizes[1];
    int64_t needed = c.encoded < largest ? c.encoded : largest;
    if (needed > limit) return; /* the weights stay in slow memory */
    plan->is_double = both <= limit && needed < c.encoded;
    plan->buffer_count = plan->is_double ? 2 : 1;
    plan->buffers[0] = c.sizes[0];
    plan->buffers[1] = c.sizes[1];
    plan->encoded = c.encoded;
    plan->first_encoded = c.first_encoded;
    plan->slices = c.slices;
    if (plan->cascade == 0) plan->is_prefetched = both < room;
    plan->slack_memory -= plan->buffers[(c.slices + 1) % plan->buffer_count];
}

void npu_buffer_weights(npu_schedule *s, uint32_t first, uint32_t last, int64_t limit, int64_t *usage, uint32_t times) {
    assert(last < s->net->pass_count);
    const npu_plan *before = NULL;
    for (uint32_t i = first; i <= last; i++) {
        npu_plan *plan = &s->plans[i];
        plan->slack_cycles = (double)plan->cycles;
        plan->slack_memory = limit - (plan->time < times ? usage[plan->time] : 0);
        plan->buffer_count = 0;
        plan->is_double = plan->is_prefetched = false;
        plan->full_transfer = 0;
        if (s->net->passes[i].has_weights) {
            int64_t room = plan->slack_memory;
            if (plan->evicted > 0 && (double)room / (double)plan->evicted >= 1.5) room -= plan->evicted;
            buffer_pass(s, i, before, room, usage, times);
        }
        before = plan;
    }
}
