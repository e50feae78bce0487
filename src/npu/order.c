/* order.c - in which order steps run, how tensors are stored.
 *
 * The compiler walks the network from its outputs backwards: what is read last is made as late as it may be, the first
 * input of a pass right before it. A run of passes without a CPU step in between is scheduled as one. */
#include <stdlib.h>
#include <string.h>

#include "npu/lower.h"

/* Lists of steps by tensor: who makes it, and how many readers are still to come. */
typedef struct walk {
    npu_lowering *l;
    uint32_t *first, *end, *makers; /* of each tensor: its makers that are not placed, in the order of the graph */
    uint32_t *left;                 /* readers of each tensor that were not met yet */
    uint32_t *unmet;                /* outputs of each step whose readers were not all met yet */
    uint32_t *stack, depth;         /* tensors whose makers are to be placed, the next one last */
    npu_step *out;
    uint32_t placed;
} walk;

typedef void visit(walk *w, uint32_t step, uint32_t tensor);

static void for_outputs(walk *w, uint32_t step, visit *each) {
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

static void for_inputs(walk *w, uint32_t step, visit *each) {
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

static void count_maker(walk *w, uint32_t step, uint32_t tensor) {
    (void)step;
    w->first[tensor + 1]++;
}

static void add_maker(walk *w, uint32_t step, uint32_t tensor) {
    w->makers[w->first[tensor]++] = step;
    w->unmet[step]++;
}

static void count_reader(walk *w, uint32_t step, uint32_t tensor) {
    (void)step;
    w->left[tensor]++;
}

static void meet_input(walk *w, uint32_t step, uint32_t tensor) {
    (void)step;
    if (w->left[tensor] > 0 && --w->left[tensor] == 0) w->stack[w->depth++] = tensor;
}

static void turn(uint32_t *items, uint32_t count) {
    for (uint32_t i = 0; i < count / 2; i++) {
        uint32_t other = items[i];
        items[i] = items[count - 1 - i];
        items[count - 1 - i] = other;
    }
}

/* All readers of a tensor are placed: its makers may be, the last first. What the first input of one needs comes before
 * what the second does, and both before the next maker; each tensor is on the stack once. */
static void meet(walk *w, uint32_t tensor) {
    w->stack[w->depth++] = tensor;
    while (w->depth > 0) {
        tensor = w->stack[w->depth - 1];
        if (w->first[tensor] == w->end[tensor]) {
            w->depth--;
            continue;
        }
        uint32_t step = w->makers[--w->end[tensor]], before = w->depth;
        if (w->unmet[step] == 0 || --w->unmet[step] > 0 || w->placed == w->l->net->step_count) continue;
        w->out[w->placed++] = w->l->net->steps[step];
        for_inputs(w, step, meet_input);
        turn(w->stack + before, w->depth - before);
    }
}

static bool prepare(walk *w) {
    const npu_net *net = w->l->net;
    arena *memory = w->l->net->memory;
    w->first = ARENA_ARRAY(memory, uint32_t, net->tensor_count + 2);
    w->end = ARENA_ARRAY(memory, uint32_t, net->tensor_count + 2);
    w->stack = ARENA_ARRAY(memory, uint32_t, net->tensor_count + 2);
    w->left = ARENA_ARRAY(memory, uint32_t, net->tensor_count + 1);
    w->unmet = ARENA_ARRAY(memory, uint32_t, net->step_count + 1);
    w->out = ARENA_ARRAY(memory, npu_step, net->step_count + 1);
    if (w->first == NULL || w->end == NULL || w->stack == NULL || w->left == NULL || w->unmet == NULL || w->out == NULL)
        return false;
    for (uint32_t i = 0; i < net->step_count; i++) for_outputs(w, i, count_maker);
    for (uint32_t i = 0; i < net->tensor_count; i++) w->first[i + 1] += w->first[i];
    w->makers = ARENA_ARRAY(memory, uint32_t, w->first[net->tensor_count] + 1);
    if (w->makers == NULL) return false;
    for (uint32_t i = 0; i < net->step_count; i++) for_outputs(w, i, add_maker);
    memcpy(w->end, w->first, (net->tensor_count + 1) * sizeof *w->end);
    for (uint32_t i = net->tensor_count; i > 0; i--) w->first[i] = w->first[i - 1];
    w->first[0] = 0;
    for (uint32_t i = 0; i < net->step_count; i++) for_inputs(w, i, count_reader);
    return true;
}

/* Passes in the order of the steps, in segments. */
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
    net->passes = passes;
    net->pass_count = count;
    return FT_OK;
}

/* A tensor that one segment makes and another reads is outside of both. */
static ft_status mark_crossings(npu_lowering *l, ft_error *error) {
    npu_net *net = l->net;
    uint32_t *home = ARENA_ARRAY(net->memory, uint32_t, net->tensor_count + 1);
    if (home == NULL) return FT_NOMEM(error);
    for (uint32_t i = 0; i < net->tensor_count; i++) home[i] = FT_NONE;
    for (uint32_t i = 0; i < net->pass_count; i++) home[net->passes[i].ofm] = net->passes[i].segment;
    for (uint32_t i = 0; i < net->pass_count; i++) {
        const uint32_t ends[] = {net->passes[i].ifm, net->passes[i].ifm2};
        for (int k = 0; k < 2; k++) {
            if (ends[k] == FT_NONE || home[ends[k]] == FT_NONE || home[ends[k]] == net->passes[i].segment) continue;
            net->tensors[ends[k]].is_outside = net->tensors[ends[k]].is_output = true;
        }
    }
    return FT_OK;
}

ft_status npu_order(npu_lowering *l, ft_error *error) {
    npu_net *net = l->net;
    walk w = {.l = l};
    if (!prepare(&w)) return FT_NOMEM(error);
    for (uint32_t i = l->graph->outputs.count; i-- > 0;) {
        uint32_t tensor = net->tensor_of[l->graph->outputs.items[i]];
        if (tensor != FT_NONE && w.left[tensor] == 0) meet(&w, tensor);
    }
    for (uint32_t i = 0; i < net->tensor_count; i++) { /* what nobody reads */
        if (w.left[i] == 0) meet(&w, i);
    }
    if (w.placed == net->step_count) {
        for (uint32_t i = 0; i < w.placed; i++) net->steps[i] = w.out[w.placed - 1 - i];
    }
    FT_TRY(renumber(l, error));
    return mark_crossings(l, error);
}

/* --- Formats ------------------------------------------------------------------------------------------------- */

static void allow_bricks(npu_net *net, bool has_two_cores) {
    for (uint32_t i = 0; i < net->tensor_count; i++) {
        npu_tensor *t = &net->tensors[i];
        t->is_linear = t->is_const || t->is_outside || t->producers == 0 || t->is_kept || t->is_variable;
    }
    for (uint32_t i = 0; i < net->pass_count; i++) {
        const npu_pass *p = &net->passes[i];
        npu_tensor *ifm = &net->tensors[p->ifm], *ofm = &net->tensors[p->ofm];
        if (!npu_shape_equal(ifm->shape, p->ifm_shape)) ifm->is_linear = true;
        if (p->ifm2 != FT_NONE && !npu_shape_equal(net->tensors[p->ifm2].shape, p->ifm2_shape))
            net->tensors[p->ifm2].is_linear = true;
        if (!npu_shape_equal(ofm->shape, p->ofm_shape)) ofm->is_linear = true;
        if (p->block == BLOCK_COPY) ifm->is_linear = ofm->is_linear = true;
        if (p->is_off_brick) ofm->is_linear = true;
        if (p->is_tiled) ofm->is_linear = true;
        if (p->block == BLOCK_REDUCE && (ifm->bytes == 4 || has_two_cores)) ifm->is_linear = true;
    }
}

/* A pass element by element whose depth is no whole number of bricks stays plain when an input of its size is. */
static void follow_inputs(npu_net *net) {
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
    follow_inputs(net);
}
