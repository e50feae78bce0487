/* order.c - execution order of the steps, and storage formats of tensors.
 *
 * As Vela does, the network is walked from its outputs backwards: a tensor is computed as late as possible, the first
 * input of a pass right before it. Consecutive passes without a CPU step in between form a segment. */
#include <assert.h>
#include <string.h>

#include "npu/lower.h"

/* State of the walk: producers of each tensor, and readers that are not placed yet. */
typedef struct order_walk {
    npu_lowering *l;
    uint32_t *first, *end, *producer_list; /* by tensor: producers not placed yet, in graph order */
    uint32_t *readers;                     /* by tensor: readers not visited yet */
    uint32_t *pending;                     /* by step: outputs that still have unvisited readers */
    uint32_t *stack, depth;                /* tensors whose producers are placed next, the first one on top */
    npu_step *out;
    uint32_t placed;
} order_walk;

typedef void visit(order_walk *w, uint32_t step, uint32_t tensor);

static void for_each_output(order_walk *w, uint32_t step, visit *each) {
    const npu_net *net = w->l->net;
    if (!net->steps[step].is_cpu) {
        each(w, step, net->passes[net->steps[step].index].ofm);
        return;
    }
    const ft_op *op = &w->l->graph->ops[net->steps[step].index];
    for (uint32_t i = 0; i < op->output_count; i++) {
        uint32_t tensor = op->outputs[i] != FT_NONE ? net->tensor_of[op->outputs[i]] : FT_NONE;
        if (tensor != FT_NONE) each(w, step, tensor);
    }
}

static void for_each_input(order_walk *w, uint32_t step, visit *each) {
    const npu_net *net = w->l->net;
    if (!net->steps[step].is_cpu) {
        const npu_pass *p = &net->passes[net->steps[step].index];
        each(w, step, p->ifm);
        if (p->ifm2 != FT_NONE) each(w, step, p->ifm2);
        return;
    }
    const ft_op *op = &w->l->graph->ops[net->steps[step].index];
    for (uint32_t i = 0; i < op->input_count; i++) {
        uint32_t tensor = op->inputs[i] != FT_NONE ? net->tensor_of[op->inputs[i]] : FT_NONE;
        if (tensor != FT_NONE) each(w, step, tensor);
    }
}

static void count_producer(order_walk *w, uint32_t step, uint32_t tensor) {
    (void)step;
    w->first[tensor + 1]++;
}

static void add_producer(order_walk *w, uint32_t step, uint32_t tensor) {
    w->producer_list[w->first[tensor]++] = step;
    w->pending[step]++;
}

static void count_reader(order_walk *w, uint32_t step, uint32_t tensor) {
    (void)step;
    w->readers[tensor]++;
}

static void visit_input(order_walk *w, uint32_t step, uint32_t tensor) {
    (void)step;
    if (w->readers[tensor] > 0 && --w->readers[tensor] == 0) w->stack[w->depth++] = tensor;
}

static void reverse(uint32_t *items, uint32_t count) {
    for (uint32_t i = 0; i < count / 2; i++) {
        uint32_t other = items[i];
        items[i] = items[count - 1 - i];
        items[count - 1 - i] = other;
    }
}

/* All readers of a tensor are placed: its producers can be, the last one first. What the first input of a step needs is
 * placed before what the second needs, and both before the next producer; each tensor is on the stack once. */
static void place_producers(order_walk *w, uint32_t tensor) {
    assert(w->depth == 0 && tensor < w->l->net->tensor_count);
    w->stack[w->depth++] = tensor;
    while (w->depth > 0) {
        tensor = w->stack[w->depth - 1];
        if (w->first[tensor] == w->end[tensor]) {
            w->depth--;
            continue;
        }
        uint32_t step = w->producer_list[--w->end[tensor]], before = w->depth;
        if (w->pending[step] == 0 || --w->pending[step] > 0 || w->placed == w->l->net->step_count) continue;
        w->out[w->placed++] = w->l->net->steps[step];
        for_each_input(w, step, visit_input);
        reverse(w->stack + before, w->depth - before);
    }
}

static bool prepare(order_walk *w) {
    const npu_net *net = w->l->net;
    arena *memory = w->l->net->memory;
    w->first = ARENA_ARRAY(memory, uint32_t, net->tensor_count + 2);
    w->end = ARENA_ARRAY(memory, uint32_t, net->tensor_count + 2);
    w->stack = ARENA_ARRAY(memory, uint32_t, net->tensor_count + 2);
    w->readers = ARENA_ARRAY(memory, uint32_t, net->tensor_count + 1);
    w->pending = ARENA_ARRAY(memory, uint32_t, net->step_count + 1);
    w->out = ARENA_ARRAY(memory, npu_step, net->step_count + 1);
    if (w->first == NULL || w->end == NULL || w->stack == NULL || w->readers == NULL || w->pending == NULL ||
        w->out == NULL)
        return false;
    for (uint32_t i = 0; i < net->step_count; i++) for_each_output(w, i, count_producer);
    for (uint32_t i = 0; i < net->tensor_count; i++) w->first[i + 1] += w->first[i];
    w->producer_list = ARENA_ARRAY(memory, uint32_t, w->first[net->tensor_count] + 1);
    if (w->producer_list == NULL) return false;
    for (uint32_t i = 0; i < net->step_count; i++) for_each_output(w, i, add_producer);
    memcpy(w->end, w->first, (net->tensor_count + 1) * sizeof *w->end);
    for (uint32_t i = net->tensor_count; i > 0; i--) w->first[i] = w->first[i - 1];
    w->first[0] = 0;
    for (uint32_t i = 0; i < net->step_count; i++) for_each_input(w, i, count_reader);
    return true;
}

/* Puts the passes into the order of the steps and numbers the segments. */
static ft_status renumber(npu_lowering *l, ft_error *error) {
    npu_net *net = l->net;
    npu_pass *passes = ARENA_ARRAY(net->memory, npu_pass, net->pass_count + 1);
    if (passes == NULL) return FT_NOMEM(error);
    uint32_t count = 0, segment = 0;
    for (uint32_t i = 0; i < net->step_count; i++) {
        if (net->steps[i].is_cpu) {
            if (i > 0 && !net->steps[i - 1].is_cpu) segment++;
            continue;
        }
        passes[count] = net->passes[net->steps[i].index];
        passes[count].segment = segment;
        net->steps[i].index = count++;
    }
    assert(count <= net->pass_count);
    net->passes = passes;
    net->pass_count = count;
    return FT_OK;
}

/* A tensor written in one segment and read in another is external to both. */
static ft_status mark_shared_tensors(npu_lowering *l, ft_error *error) {
    npu_net *net = l->net;
    uint32_t *segment_of = ARENA_ARRAY(net->memory, uint32_t, net->tensor_count + 1);
    if (segment_of == NULL) return FT_NOMEM(error);
    for (uint32_t i = 0; i < net->tensor_count; i++) segment_of[i] = FT_NONE;
    for (uint32_t i = 0; i < net->pass_count; i++) segment_of[net->passes[i].ofm] = net->passes[i].segment;
    for (uint32_t i = 0; i < net->pass_count; i++) {
        const uint32_t ends[] = {net->passes[i].ifm, net->passes[i].ifm2};
        for (int k = 0; k < 2; k++) {
            if (ends[k] == FT_NONE || segment_of[ends[k]] == FT_NONE || segment_of[ends[k]] == net->passes[i].segment)
                continue;
            net->tensors[ends[k]].is_external = net->tensors[ends[k]].is_output = true;
        }
    }
    return FT_OK;
}

ft_status npu_order_passes(npu_lowering *l, ft_error *error) {
    npu_net *net = l->net;
    order_walk w = {.l = l};
    if (!prepare(&w)) return FT_NOMEM(error);
    for (uint32_t i = l->graph->outputs.count; i-- > 0;) {
        uint32_t tensor = net->tensor_of[l->graph->outputs.items[i]];
        if (tensor != FT_NONE && w.readers[tensor] == 0) place_producers(&w, tensor);
    }
    for (uint32_t i = 0; i < net->tensor_count; i++) { /* tensors without readers */
        if (w.readers[i] == 0) place_producers(&w, i);
    }
    if (w.placed == net->step_count) {
        for (uint32_t i = 0; i < w.placed; i++) net->steps[i] = w.out[w.placed - 1 - i];
    }
    FT_TRY(renumber(l, error));
    return mark_shared_tensors(l, error);
}

/* --- Formats ------------------------------------------------------------------------------------------------- */

static void allow_bricks(npu_net *net, bool has_two_cores) {
    for (uint32_t i = 0; i < net->tensor_count; i++) {
        npu_tensor *t = &net->tensors[i];
        t->is_linear = t->is_const || t->is_external || t->producers == 0 || t->is_kept || t->is_variable;
    }
    for (uint32_t i = 0; i < net->pass_count; i++) {
        const npu_pass *p = &net->passes[i];
        npu_tensor *ifm = &net->tensors[p->ifm], *ofm = &net->tensors[p->ofm];
        if (!npu_shape_equal(ifm->shape, p->ifm_shape)) ifm->is_linear = true;
        if (p->ifm2 != FT_NONE && !npu_shape_equal(net->tensors[p->ifm2].shape, p->ifm2_shape))
            net->tensors[p->ifm2].is_linear = true;
        if (!npu_shape_equal(ofm->shape, p->ofm_shape)) ofm->is_linear = true;
        if (p->block == BLOCK_COPY) ifm->is_linear = ofm->is_linear = true;
        if (p->is_unaligned_write) ofm->is_linear = true;
        if (p->is_tiled) ofm->is_linear = true;
        if (p->block == BLOCK_REDUCE && (ifm->bytes == 4 || has_two_cores)) ifm->is_linear = true;
    }
}

/* An elementwise pass whose depth is not a multiple of 16 writes NHWC when an input of the same shape is NHWC. */
static void match_input_formats(npu_net *net) {
    for (uint32_t i = 0; i < net->pass_count; i++) {
        const npu_pass *p = &net->passes[i];
        npu_tensor *ofm = &net->tensors[p->ofm];
        if (p->block != BLOCK_ELEMENTWISE || ofm->is_linear || p->ofm_shape.c % 16 == 0) continue;
        for (int k = 0; k < 2; k++) {
            uint32_t tensor = k == 0 ? p->ifm : p->ifm2;
            if (tensor == FT_NONE) continue;
            const npu_tensor *t = &net->tensors[tensor];
            npu_shape shape = k == 0 ? p->ifm_shape : p->ifm2_shape;
            if (t->is_linear && !t->is_scalar && t->bytes == ofm->bytes && npu_shape_equal(shape, p->ofm_shape))
                ofm->is_linear = true;
        }
    }
}

void npu_choose_formats(npu_net *net, bool has_two_cores) {
    allow_bricks(net, has_two_cores);
    match_input_formats(net);
}
