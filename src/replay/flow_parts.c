/* flow_parts.c - flows of models: parts of a bound graph become kernels, which depend on the producers of their inputs.
 */
#include "replay/flow.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "cost/cost.h"
#include "report/facts.h"

ft_status flow_source_open(const char *name, const ft_graph *model, const ft_binding *binding,
                           const ft_cost_options *options, flow_source *source, ft_error *error) {
    *source = (flow_source){.name = name, .model = model, .options = *options};
    FT_TRY(ft_graph_bind(model, binding, &source->bound, error));
    ft_status status = ft_cost_compute(source->bound, options, &source->cost, error);
    if (status != FT_OK) flow_source_close(source);
    return status;
}

void flow_source_close(flow_source *source) {
    ft_cost_free(&source->cost);
    ft_graph_free(source->bound);
    source->bound = NULL;
}

/* --- Times ----------------------------------------------------------------------------------------------------- */

/* The factor for the values of parts with operators, so that with the start they add up to the sum of all parts. */
static ft_status spread_rest(ft_flow *flow, const ft_part *parts, uint32_t count, double *factor, ft_error *error) {
    double kernels = 0, rest = 0;
    *factor = 1;
    for (uint32_t i = 0; i < count; i++) {
        const ft_part *part = &parts[i];
        if (isnan(part->value)) continue;
        if (part->op_count > 0 && part->value > 0)
            kernels += part->value;
        else if (part->op_count == 0 && part->value > 0 && strcmp(part->type, "start") == 0)
            flow->start_us += part->value;
        else
            rest += part->value;
    }
    if (rest == 0) return FT_OK;
    if (!(kernels + rest > 0))
        return ft_fail(error, FT_ERR_UNSUPPORTED,
                       "%s: no part of the time belongs to a kernel, so there is nothing to replay", flow->name);
    *factor = (kernels + rest) / kernels;
    return flow_note(flow, error, "%+.3g us that belong to no kernel are spread over the kernels", rest);
}

/* --- Memory ----------------------------------------------------------------------------------------------------- */

typedef struct step_collector {
    const ft_flow *flow;
    const uint32_t *kernel_of; /* per operator, or FT_NONE */
    flow_step *steps;
    uint32_t count, max;
} step_collector;

static ft_replay_phase phase_of(ft_phase phase) {
    return phase == FT_PHASE_FORWARD    ? FT_REPLAY_FORWARD
           : phase == FT_PHASE_BACKWARD ? FT_REPLAY_BACKWARD
                                        : FT_REPLAY_UPDATE;
}

static void add_step(void *user, ft_phase phase, uint32_t op, uint64_t live_bytes) {
    step_collector *k = user;
    if (k->count == k->max) return;
    k->steps[k->count++] = (flow_step){
        .phase = phase_of(phase), .kernel = op != FT_NONE ? k->kernel_of[op] : FT_NONE, .live_bytes = live_bytes};
}

ft_status flow_add_memory_steps(ft_flow *flow, const flow_source *source, ft_error *error) {
    uint32_t ops = ft_graph_op_count(source->bound);
    uint32_t *kernel_of = ARENA_ARRAY(&flow->memory, uint32_t, (size_t)ops + 1);
    step_collector k = {.flow = flow, .kernel_of = kernel_of, .max = 2 * ops + 2};
    ft_memory peak;
    k.steps = ARENA_ARRAY(&flow->memory, flow_step, k.max);
    if (kernel_of == NULL || k.steps == NULL) return FT_NOMEM(error);
    for (uint32_t i = 0; i < ops; i++) kernel_of[i] = FT_NONE;
    for (uint32_t i = 0; i < flow->count; i++)
        for (uint32_t j = 0; j < flow->infos[i].op_count; j++) kernel_of[flow->infos[i].ops[j]] = i;
    FT_TRY(ft_memory_plan(source->bound, &source->options, &peak, add_step, &k, error));
    flow->steps = k.steps;
    flow->step_count = k.count;
    return FT_OK;
}

/* --- Kernels --------------------------------------------------------------------------------------------------- */

typedef struct flow_linker {
    const flow_source *source;
    ft_flow *flow;
    uint32_t *kernel_of; /* per operator: the last kernel with it, or FT_NONE */
    uint32_t *place;     /* per kernel: its launch position; a view has that of the latest kernel it reads from */
} flow_linker;

static uint64_t gradient_bytes(const flow_source *s, const ft_part *part) {
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < part->op_count; i++) {
        const ft_op_cost *cost = &s->cost.ops[part->ops[i]];
        bytes += s->options.is_mixed ? 4 * cost->params : cost->param_bytes; /* autocast keeps float32 weights */
    }
    return bytes;
}

static ft_status add_part(flow_linker *l, const ft_part *part, double factor, ft_error *error) {
    const flow_source *s = l->source;
    arena *memory = &l->flow->memory;
    uint32_t count = ft_graph_op_count(s->bound), index;
    for (uint32_t i = 0; i < part->op_count; i++)
        if (part->ops[i] >= count)
            return ft_fail(error, FT_ERR_INTERNAL, "%s: a kernel has an operator that does not exist", s->name);
    assert(part->op_count > 0);
    const char *name = facts_op_name(s->model, &ft_graph_ops(s->model)[part->ops[0]]);
    work_share share = work_share_of(&s->cost, part->ops, part->op_count);
    double time = fmax(0, part->value) * factor;
    if (isnan(part->value)) time = NAN;
    ft_flow_kernel kernel = {.name = arena_string(memory, name, strlen(name)),
                             .type = arena_string(memory, part->type, strlen(part->type)),
                             .time_us = time * share.forward,
                             .backward_us = time * share.backward,
                             .update_us = time * share.update,
                             .gradient_bytes = gradient_bytes(s, part)};
    assert(share.forward >= 0 && share.backward >= 0 && share.update >= 0);
    double forward = share.forward > 0 ? share.forward : 1;
    flow_kernel_info info = {.ops = arena_copy(memory, part->ops, part->op_count * sizeof *part->ops),
                             .op_count = part->op_count,
                             .backward_ratio = share.backward / forward,
                             .update_ratio = share.update / forward};
    if (kernel.name == NULL || kernel.type == NULL || info.ops == NULL) return FT_NOMEM(error);
    FT_TRY(flow_add(l->flow, &kernel, &info, &index, error));
    l->place[index] = index + 1;
    for (uint32_t i = 0; i < part->op_count; i++) {
        uint32_t *owner = &l->kernel_of[part->ops[i]];
        if (*owner != FT_NONE && *owner != index) FT_TRY(flow_add_dependency(l->flow, *owner, index, error));
        *owner = index;
    }
    return FT_OK;
}

/* The kernel that produces an input of an operator; FT_NONE for model inputs and weights. */
static uint32_t producer_of(const flow_linker *l, const ft_op *op, uint32_t input) {
    if (op->inputs[input] == FT_NONE) return FT_NONE;
    uint32_t producer = ft_graph_tensors(l->source->bound)[op->inputs[input]].producer;
    return producer != FT_NONE ? l->kernel_of[producer] : FT_NONE;
}

/* An operator in no part is a view: it takes no time and passes on its dependencies. */
static ft_status add_view(flow_linker *l, uint32_t op_index, ft_error *error) {
    const ft_op *op = &ft_graph_ops(l->source->bound)[op_index];
    uint32_t place = 0, index;
    for (uint32_t i = 0; i < op->input_count; i++) {
        uint32_t producer = producer_of(l, op, i);
        if (producer != FT_NONE && l->place[producer] > place) place = l->place[producer];
    }
    if (place == 0 || op->is_folded) return FT_OK; /* it reads no output of a kernel */
    FT_TRY(flow_add(l->flow, &(ft_flow_kernel){.name = "", .type = "view"}, &(flow_kernel_info){.is_free = true},
                    &index, error));
    l->place[index] = place;
    l->kernel_of[op_index] = index;
    return FT_OK;
}

/* A part depends only on parts that are launched before it; a view comes right after the part that it reads from. */
static ft_status link_op(flow_linker *l, uint32_t op_index, ft_error *error) {
    const ft_op *op = &ft_graph_ops(l->source->bound)[op_index];
    uint32_t kernel = l->kernel_of[op_index];
    for (uint32_t i = 0; kernel != FT_NONE && i < op->input_count; i++) {
        uint32_t producer = producer_of(l, op, i);
        if (producer == FT_NONE || producer == kernel) continue;
        if (l->flow->infos[kernel].is_free || l->place[producer] < l->place[kernel])
            FT_TRY(flow_add_dependency(l->flow, producer, kernel, error));
        else if (l->place[producer] > l->place[kernel])
            l->flow->dropped_links++;
    }
    return FT_OK;
}

static ft_status link_all(flow_linker *l, const ft_part *parts, uint32_t count, ft_error *error) {
    uint32_t ops = ft_graph_op_count(l->source->bound);
    double factor;
    for (uint32_t i = 0; i < ops; i++) l->kernel_of[i] = FT_NONE;
    FT_TRY(spread_rest(l->flow, parts, count, &factor, error));
    for (uint32_t i = 0; i < count; i++)
        if (parts[i].op_count > 0) FT_TRY(add_part(l, &parts[i], factor, error));
    for (uint32_t i = 0; i < ops; i++)
        if (l->kernel_of[i] == FT_NONE) FT_TRY(add_view(l, i, error));
    for (uint32_t i = 0; i < ops; i++) FT_TRY(link_op(l, i, error));
    if (l->flow->dropped_links > 0)
        FT_TRY(flow_note(l->flow, error, "%u dependencies contradict the launch order and are ignored",
                         l->flow->dropped_links));
    FT_TRY(flow_finish(l->flow, error));
    return flow_add_memory_steps(l->flow, l->source, error);
}

ft_status flow_from_parts(const flow_source *source, const ft_part *parts, uint32_t count, ft_flow **flow,
                          ft_error *error) {
    flow_linker l = {.source = source};
    size_t ops = ft_graph_op_count(source->bound);
    FT_TRY(flow_new(source->name, &l.flow, error));
    l.flow->model = source->model;
    l.kernel_of = calloc(ops + 1, sizeof *l.kernel_of);
    l.place = calloc(ops + count + 1, sizeof *l.place);
    ft_status status = l.kernel_of != NULL && l.place != NULL ? link_all(&l, parts, count, error) : FT_NOMEM(error);
    free(l.kernel_of);
    free(l.place);
    if (status == FT_OK)
        *flow = l.flow;
    else
        ft_flow_free(l.flow);
    return status;
}
