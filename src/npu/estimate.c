/* estimate.c - costs of each pass of a schedule, and their sums over the network. */
#include "npu/estimate.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "npu/lower.h"

static npu_pass_query query_of(const npu_schedule *s, uint32_t index) {
    assert(index < s->net->pass_count);
    const npu_pass *p = &s->net->passes[index];
    const npu_plan *plan = &s->plans[index];
    const npu_tensor *ifm = &s->net->tensors[p->ifm], *ofm = &s->net->tensors[p->ofm];
    const npu_tensor *ifm2 = p->ifm2 != FT_NONE ? &s->net->tensors[p->ifm2] : ifm;
    return (npu_pass_query){.pass = p,
                            .config = &plan->config,
                            .ifm = p->read,
                            .ifm2 = p->read2,
                            .ofm = p->write,
                            .ifm_bytes = ifm->bytes,
                            .ifm2_bytes = ifm2->bytes,
                            .ofm_bytes = ofm->bytes,
                            .ifm_linear = ifm->is_linear,
                            .ifm2_linear = ifm2->is_linear,
                            .ofm_linear = ofm->is_linear,
                            .ifm_area = s->areas[p->ifm],
                            .ifm2_area = s->areas[p->ifm2 != FT_NONE ? p->ifm2 : p->ifm],
                            .ofm_area = s->areas[p->ofm],
                            .const_area = plan->buffer_count > 0 ? NPU_SRAM : NPU_SLOW};
}

/* Cycles of the engine, including those it waits for weights and tables. */
static double engine_cycles(const npu_schedule *s, const npu_pass_query *q, const npu_plan *plan,
                            const npu_plan *before) {
    double own = (double)npu_engine_cycles(s->arch, q), slack = before != NULL ? before->slack_cycles : 0, moved = 0;
    const npu_pass *p = q->pass;
    if (p->has_table) { /* a lookup table is copied to the shared buffer */
        moved = npu_transfer_cycles(s->arch, NPU_SLOW, NPU_SRAM, p->table_bytes);
    }
    if (p->block == BLOCK_COPY && s->areas[p->ifm] != s->areas[p->ofm])
        moved += npu_transfer_cycles(s->arch, s->areas[p->ifm], s->areas[p->ofm],
                                     (double)npu_stored_bytes(&s->net->tensors[p->ifm]));
    if (!p->has_weights || plan->buffer_count == 0) return own + npu_max(moved - slack, 0);
    double first = npu_transfer_cycles(s->arch, NPU_SLOW, NPU_SRAM, (double)plan->first_encoded);
    double taken = plan->is_double
                       ? npu_max(plan->full_transfer - slack + plan->slack_cycles, own + npu_max(first - slack, 0))
                       : own + plan->full_transfer - npu_min(first, slack);
    return taken + moved;
}

static void add_bytes(const npu_schedule *s, const npu_pass_query *q, const npu_plan *plan, double bytes[NPU_AREAS]) {
    npu_access a = npu_count_accesses(q);
    const npu_pass *p = q->pass;
    if (p->block == BLOCK_COPY) return;
    npu_map_access ifm = npu_ifm_access(q), ifm2 = npu_ifm2_access(q), ofm = npu_ofm_access(q);
    bytes[q->ofm_area] += npu_burst_bytes(s->arch, &ofm, a.ofm * q->ofm_bytes);
    bytes[q->ifm_area] += npu_burst_bytes(s->arch, &ifm, a.ifm * q->ifm_bytes);
    if (p->ifm2 != FT_NONE) bytes[q->ifm2_area] += npu_burst_bytes(s->arch, &ifm2, a.ifm2 * q->ifm2_bytes);
    if (plan->buffer_count > 0 || !p->has_weights) return;
    double scale = ((double)plan->encoded - a.scales * p->bias_bytes) / (double)p->weights;
    bytes[NPU_SLOW] += a.weights * scale + a.scales * p->bias_bytes;
}

void npu_pass_costs(const npu_schedule *s, uint32_t first, uint32_t last, npu_cost *costs) {
    for (uint32_t i = first; i <= last; i++) {
        const npu_plan *before =
            i > 0 && s->net->passes[i - 1].segment == s->net->passes[i].segment ? &s->plans[i - 1] : NULL;
        npu_pass_query q = query_of(s, i);
        double bytes[NPU_AREAS] = {0};
        add_bytes(s, &q, &s->plans[i], bytes);
        npu_cost *c = &costs[i - first];
        c->engine = engine_cycles(s, &q, &s->plans[i], before);
        c->sram = bytes[NPU_SRAM] / s->arch->memories[NPU_SRAM].bytes_per_cycle;
        c->slow = bytes[NPU_SLOW] / s->arch->memories[NPU_SLOW].bytes_per_cycle;
        c->total = npu_max(c->engine, npu_max(c->sram, c->slow));
    }
}

static void add_constants(const npu_net *net, npu_estimate *e) {
    for (uint32_t i = 0; i < net->pass_count; i++) {
        const npu_pass *p = &net->passes[i];
        const npu_plan *plan = &e->schedule.plans[i];
        if (p->has_table) e->constant_bytes += p->table_bytes;
        if (p->block == BLOCK_ELEMENTWISE) e->elementwise_passes++;
        if (!p->has_weights) continue;
        e->slices += plan->slices;
        if (p->reuses_weights) continue;
        e->weight_bytes += (double)plan->encoded;
        e->scale_bytes += (double)npu_round_up(10 * p->ofm_shape.c, 16);
    }
    e->constant_bytes += (double)net->constant_bytes;
}

static ft_status estimate_net(const npu_net *net, const npu_arch *arch, const npu_compression *compression,
                              const npu_schedule *previous, arena *memory, npu_estimate *estimate, ft_error *error) {
    npu_estimate e = {.passes = ARENA_ARRAY(memory, npu_cost, net->pass_count + 1)};
    if (e.passes == NULL) return FT_NOMEM(error);
    FT_TRY(npu_schedule_make(net, arch, compression, previous, memory, &e.schedule, error));
    if (net->pass_count > 0) npu_pass_costs(&e.schedule, 0, net->pass_count - 1, e.passes);
    for (uint32_t i = 0; i < net->pass_count; i++) {
        e.sum.engine += e.passes[i].engine;
        e.sum.sram += e.passes[i].sram;
        e.sum.slow += e.passes[i].slow;
        e.sum.total += e.passes[i].total;
    }
    e.sram_bytes = (double)e.schedule.peak_bytes;
    e.slow_arena_bytes = (double)e.schedule.arena_bytes;
    add_constants(net, &e);
    *estimate = e;
    return FT_OK;
}

ft_status npu_estimate_make(const npu_net *net, const npu_arch *arch, const npu_compression *compression, arena *memory,
                            npu_estimate *estimate, ft_error *error) {
    npu_net *own = arena_copy(memory, net, sizeof *net); /* tensor formats depend on the accelerator */
    if (own == NULL) return FT_NOMEM(error);
    own->tensors = ARENA_ARRAY(memory, npu_tensor, net->tensor_count + 1);
    if (own->tensors == NULL) return FT_NOMEM(error);
    if (net->tensor_count > 0) memcpy(own->tensors, net->tensors, net->tensor_count * sizeof *net->tensors);
    npu_choose_formats(own, arch->cores > 1);
    return estimate_net(own, arch, compression, NULL, memory, estimate, error);
}

ft_status npu_estimate_update(const npu_estimate *before, const npu_compression *compression, arena *memory,
                              npu_estimate *estimate, ft_error *error) {
    const npu_schedule *s = &before->schedule;
    return estimate_net(s->net, s->arch, compression, s, memory, estimate, error);
}
