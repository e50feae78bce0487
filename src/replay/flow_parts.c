#include "replay/flow_parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "cost/cost.h"
#include "replay/flow_memory.h"
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

/* What the values of parts with operators are multiplied by, so that with the start they add up to all of them. */
static ft_status settle_rest(ft_flow *flow, const ft_part *parts, uint32_t count, double *factor, ft_error *error) {
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
        return ft_fail(error, FT_ERR_UNSUPPORTED, "%s: what belongs to no kernel is all of its time: nothing to replay",
                       flow->name);
    *factor = (kernels + rest) / kernels;
    return flow_note(flow, error, "%+.3g us that belong to no kernel are spread over the kernels", rest);
}

/* --- Kernels --------------------------------------------------------------------------------------------------- */

typedef struct linker {
    const flow_source *source;
    ft_flow *flow;
    uint32_t *kernel_of; /* per operator: the last kernel that has it, or FT_NONE */
    uint32_t *place;     /* per kernel: when it is launched; one in no part comes with the latest that it reads */
} linker;

static uint64_t gradient_bytes(const flow_source *s, const ft_part *part) {
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < part->op_count; i++) {
        const ft_op_cost *cost = &s->cost.ops[part->ops[i]];
        bytes += s->options.is_mixed ? 4 * cost->params : cost->param_bytes; /* autocast keeps float32 weights */
    }
    return bytes;
}

static ft_status add_part(linker *l, const ft_part *part, double factor, ft_error *error) {
    const flow_source *s = l->source;
    arena *memory = &l->flow->memory;
    uint32_t count = ft_graph_op_count(s->bound), index;
    for (uint32_t i = 0; i < part->op_count; i++)
        if (part->ops[i] >= count)
            return ft_fail(error, FT_ERR_INTERNAL, "%s: a kernel has an operator that is not there", s->name);
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

/* The kernel that makes an input of an operator; FT_NONE when it is there from the beginning. */
static uint32_t maker_of(const linker *l, const ft_op *op, uint32_t input) {
    if (op->inputs[input] == FT_NONE) return FT_NONE;
    uint32_t producer = ft_graph_tensors(l->source->bound)[op->inputs[input]].producer;
    return producer != FT_NONE ? l->kernel_of[producer] : FT_NONE;
}

/* An operator that is in no part hands on what it reads, in no time. */
static ft_status add_view(linker *l, uint32_t op_index, ft_error *error) {
    const ft_op *op = &ft_graph_ops(l->source->bound)[op_index];
    uint32_t place = 0, index;
    for (uint32_t i = 0; i < op->input_count; i++) {
        uint32_t maker = maker_of(l, op, i);
        if (maker != FT_NONE && l->place[maker] > place) place = l->place[maker];
    }
    if (place == 0 || op->is_folded) return FT_OK; /* it reads nothing that a kernel makes */
    FT_TRY(flow_add(l->flow, &(ft_flow_kernel){.name = "", .type = "view"}, &(flow_kernel_info){.is_free = true},
                    &index, error));
    l->place[index] = place;
    l->kernel_of[op_index] = index;
    return FT_OK;
}

/* Parts only wait for parts that are launched before; a view stands right behind the part that it comes with. */
static ft_status link_op(linker *l, uint32_t op_index, ft_error *error) {
    const ft_op *op = &ft_graph_ops(l->source->bound)[op_index];
    uint32_t kernel = l->kernel_of[op_index];
    for (uint32_t i = 0; kernel != FT_NONE && i < op->input_count; i++) {
        uint32_t maker = maker_of(l, op, i);
        if (maker == FT_NONE || maker == kernel) continue;
        if (l->flow->infos[kernel].is_free || l->place[maker] < l->place[kernel])
            FT_TRY(flow_add_dependency(l->flow, maker, kernel, error));
        else if (l->place[maker] > l->place[kernel])
            l->flow->dropped_links++;
    }
    return FT_OK;
}

static ft_status link_all(linker *l, const ft_part *parts, uint32_t count, ft_error *error) {
    uint32_t ops = ft_graph_op_count(l->source->bound);
    double factor;
    for (uint32_t i = 0; i < ops; i++) l->kernel_of[i] = FT_NONE;
    FT_TRY(settle_rest(l->flow, parts, count, &factor, error));
    for (uint32_t i = 0; i < count; i++)
        if (parts[i].op_count > 0) FT_TRY(add_part(l, &parts[i], factor, error));
    for (uint32_t i = 0; i < ops; i++)
        if (l->kernel_of[i] == FT_NONE) FT_TRY(add_view(l, i, error));
    for (uint32_t i = 0; i < ops; i++) FT_TRY(link_op(l, i, error));
    if (l->flow->dropped_links > 0)
        FT_TRY(flow_note(l->flow, error, "%u links between kernels go against the order of launches and are left out",
                         l->flow->dropped_links));
    FT_TRY(flow_finish(l->flow, error));
    return flow_add_memory_steps(l->flow, l->source, error);
}

ft_status flow_from_parts(const flow_source *source, const ft_part *parts, uint32_t count, ft_flow **flow,
                          ft_error *error) {
    linker l = {.source = source};
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
