/* cost.c - the public calls: the cost of every operator, the totals, the cost of fused kernels, shares of the phases.
 *
 * The rules are elsewhere: macs.c and work.c (forward), backward.c, optimizer.c, params.c (parameters) and memory.c
 * (the timeline). Here they are applied to a whole graph, in time linear in operators and tensors. */
#include "cost/cost.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "cost/options.h"
#include "cost/work.h"
#include "graph/arguments.h"
#include "graph/geometry.h"

/* Owned by an ft_cost. */
typedef struct cost_state {
    arena memory;
    ft_cost_options options;
    param_marks params;
    work_env env;
} cost_state;

const param_marks *cost_params(const ft_cost *cost) {
    return &((const cost_state *)cost->owner)->params;
}

double ft_work_intensity(const ft_work *work) {
    if (work == NULL) return 0;
    double bytes = (double)work->read_bytes + (double)work->write_bytes;
    return bytes > 0 ? (double)work->flops / bytes : 0;
}

/* --- Parameters ---------------------------------------------------------------------------------------------- */

/* Elements of a stored tensor, as its first reader unpacks them. */
static uint64_t stored_elems(const ft_graph *graph, const ft_tensor *t, uint32_t reader) {
    const ft_op *op = &graph->ops[reader];
    bool is_packed = op->def->packed_inputs != 0 || ft_op_attr(op, "packed_elems") != NULL;
    for (uint32_t i = 0; is_packed && i < op->input_count; i++)
        if (op_input(graph, op, i) == t) return packed_elems(graph, op, i);
    return tensor_elems(graph, t);
}

static void count_stored(const ft_graph *graph, cost_state *state, ft_op_cost *ops, ft_cost *cost) {
    for (uint32_t i = 0; i < graph->tensor_count; i++) {
        const ft_tensor *t = &graph->tensors[i];
        if (t->role != FT_CONSTANT) continue;
        cost->stored_bytes = num_add_sat(cost->stored_bytes, t->stored_bytes);
        if (!tensor_has(&state->params, i, MARK_PARAM | MARK_BUFFER)) continue;
        uint32_t reader = state->params.first_reader[i] != FT_NONE ? state->params.first_reader[i] : t->uses[0];
        assert(reader < graph->op_count);
        uint64_t elems = stored_elems(graph, t, reader);
        uint64_t bytes = size_of_tensor(graph, t, &state->options);
        cost->weight_bytes = num_add_sat(cost->weight_bytes, bytes);
        if (tensor_has(&state->params, i, MARK_SCALE)) {
            ops[reader].param_bytes = num_add_sat(ops[reader].param_bytes, bytes);
            continue;
        }
        if (!tensor_has(&state->params, i, MARK_PARAM)) {
            cost->buffers = num_add_sat(cost->buffers, elems);
            continue;
        }
        if (state->params.last_reader[i] != state->params.first_reader[i])
            cost->tied_params = num_add_sat(cost->tied_params, elems);
        ops[reader].params = num_add_sat(ops[reader].params, elems);
        ops[reader].param_bytes = num_add_sat(ops[reader].param_bytes, bytes);
        if (state->options.mode != FT_TRAIN) continue;
        ft_work step = work_optimizer(&state->options, size_dtype(t, &state->options), elems);
        work_add(&cost->optimizer, &step);
    }
}

/* --- Operators ----------------------------------------------------------------------------------------------- */

static uint64_t activation_elems(const ft_graph *graph, const ft_op *op) {
    uint64_t elems = 0;
    for (uint32_t i = 0; !op->is_folded && i < op->output_count; i++) {
        const ft_tensor *out = op_output(graph, op, i);
        if (out != NULL) elems = num_add_sat(elems, tensor_elems(graph, out));
    }
    return elems;
}

static void add_op(ft_op_cost *sum, const ft_op_cost *part) {
    work_add(&sum->forward, &part->forward);
    work_add(&sum->backward_data, &part->backward_data);
    work_add(&sum->backward_weights, &part->backward_weights);
    sum->params = num_add_sat(sum->params, part->params);
    sum->param_bytes = num_add_sat(sum->param_bytes, part->param_bytes);
    sum->activation_elems = num_add_sat(sum->activation_elems, part->activation_elems);
    sum->is_estimated = sum->is_estimated || part->is_estimated;
}

static double work_size(const ft_work *work) {
    return (double)work->flops + (double)work->read_bytes + (double)work->write_bytes;
}

static void count_ops(const ft_graph *graph, cost_state *state, ft_op_cost *ops, ft_cost *cost) {
    double known = 0, all = 0;
    uint32_t running = 0;
    for (uint32_t k = 0; k < graph->op_count; k++) {
        const ft_op *op = &graph->ops[k];
        ft_op_cost *c = &ops[k];
        c->forward = work_forward(&state->env, op, &c->is_estimated);
        if (state->options.mode == FT_TRAIN)
            work_backward(&state->env, op, &c->forward, &c->backward_data, &c->backward_weights);
        c->activation_elems = activation_elems(graph, op);
        if (c->forward.macs > 0)
            cost->conv_matmul_outputs = num_add_sat(cost->conv_matmul_outputs, c->activation_elems);
        add_op(&cost->total, c);
        running += !op->is_folded;
        cost->estimated_ops += c->is_estimated;
        all += work_size(&c->forward);
        if (!c->is_estimated) known += work_size(&c->forward);
    }
    cost->coverage_ops_ratio = running > 0 ? 1.0 - (double)cost->estimated_ops / running : 1.0;
    cost->coverage_ratio = all > 0 ? known / all : cost->coverage_ops_ratio;
}

static ft_status compute(const ft_graph *graph, cost_state *state, ft_cost *cost, ft_error *error) {
    ft_op_cost *ops = ARENA_ARRAY(&state->memory, ft_op_cost, graph->op_count > 0 ? graph->op_count : 1);
    if (ops == NULL || !params_mark(graph, &state->memory, &state->params) ||
        !work_prepare(graph, &state->options, &state->params, &state->memory, &state->env))
        return FT_NOMEM(error);
    cost->ops = ops;
    cost->op_count = graph->op_count;
    count_stored(graph, state, ops, cost);
    count_ops(graph, state, ops, cost);
    return FT_OK;
}

ft_status ft_cost_compute(const ft_graph *bound, const ft_cost_options *options, ft_cost *cost, ft_error *error) {
    FT_REQUIRE(error, bound, options, cost);
    FT_TRY(graph_check_bound(bound, "costs need", error));
    FT_TRY(cost_options_check(options, error));
    cost_state *state = calloc(1, sizeof *state);
    if (state == NULL) return FT_NOMEM(error);
    arena_init(&state->memory, FT_MAX_GRAPH_BYTES);
    state->options = *options;
    ft_cost made = {.owner = state};
    ft_status status = compute(bound, state, &made, error);
    if (status != FT_OK)
        ft_cost_free(&made);
    else
        *cost = made;
    return status;
}

void ft_cost_free(ft_cost *cost) {
    if (cost == NULL || cost->owner == NULL) return;
    cost_state *state = cost->owner;
    arena_free(&state->memory);
    free(state);
    *cost = (ft_cost){0};
}

/* --- Kernels ------------------------------------------------------------------------------------------------- */

static bool is_inside(const ft_kernels *kernels, uint32_t kernel, uint32_t op) {
    return op != FT_NONE && kernels->kernel_of_op[op] == kernel;
}

/* Views, and operators that the fusion rules call free: their outputs alias their inputs. */
static bool is_alias(const ft_graph *graph, const ft_kernels *kernels, uint32_t op) {
    return (graph->ops[op].def->flags & OP_VIEW) != 0 || (kernels->is_free != NULL && kernels->is_free[op]);
}

enum { MAX_STEPS = 256 }; /* views followed for one tensor, so that no graph makes this slow */

/* True when the kernel itself computes the tensor, followed through the views inside of the kernel. */
static bool made_inside(const ft_graph *graph, const ft_kernels *kernels, uint32_t kernel, const ft_tensor *t) {
    for (int steps = 0; t != NULL && is_inside(kernels, kernel, t->producer); steps++) {
        if (steps == MAX_STEPS || !is_alias(graph, kernels, t->producer)) return true;
        t = op_input(graph, &graph->ops[t->producer], 0);
    }
    return false;
}

/* True when all readers of a tensor, also through views, are in the kernel. `steps`: how many of MAX_STEPS are left. */
static bool dies_inside(const ft_graph *graph, const ft_kernels *kernels, uint32_t kernel, const ft_tensor *t,
                        int *steps) {
    if (t->is_output) return false;
    for (uint32_t i = 0; i < t->use_count; i++) {
        uint32_t reader = t->uses[i];
        if (!is_inside(kernels, kernel, reader)) return false;
        for (uint32_t k = 0; is_alias(graph, kernels, reader) && k < graph->ops[reader].output_count; k++) {
            const ft_tensor *alias = op_output(graph, &graph->ops[reader], k);
            if (alias == NULL) continue;
            if (--*steps < 0 || !dies_inside(graph, kernels, kernel, alias, steps)) return false;
        }
    }
    return true;
}

static void subtract(uint64_t *bytes, uint64_t part) {
    *bytes -= part < *bytes ? part : *bytes;
}

/* Subtracts reads of tensors that the kernel computes, and writes that only it reads: both stay in registers. */
static void drop_inner_bytes(const work_env *env, const ft_op *op, const ft_kernels *kernels, uint32_t kernel,
                             ft_work *work) {
    if (work->read_bytes == 0 && work->write_bytes == 0) return; /* views, folded operators */
    for (uint32_t i = 0; i < op->input_count; i++) {
        const ft_tensor *t = op_input(env->graph, op, i);
        if (t == NULL || !made_inside(env->graph, kernels, kernel, t) || work_is_repeat(env, op, i)) continue;
        subtract(&work->read_bytes, num_mul_sat(work_input_bytes(env, op, i), op->repeats));
    }
    for (uint32_t i = 0; i < op->output_count; i++) {
        const ft_tensor *t = op_output(env->graph, op, i);
        int steps = MAX_STEPS;
        if (t == NULL || !dies_inside(env->graph, kernels, kernel, t, &steps)) continue;
        subtract(&work->write_bytes, num_mul_sat(work_output_bytes(env, op, i), op->repeats));
    }
}

ft_op_cost ft_cost_kernel(const ft_graph *bound, const ft_cost *cost, const ft_kernels *kernels, uint32_t kernel) {
    ft_op_cost sum = {0};
    if (bound == NULL || cost == NULL || cost->owner == NULL || kernels == NULL || kernel >= kernels->count) return sum;
    const cost_state *state = cost->owner;
    if (state->env.graph != bound) return sum;
    const ft_kernel *k = &kernels->items[kernel];
    for (uint32_t i = 0; i < k->op_count; i++) {
        ft_op_cost part = cost->ops[k->ops[i]];
        if (is_alias(bound, kernels, k->ops[i])) part.forward.read_bytes = part.forward.write_bytes = 0;
        drop_inner_bytes(&state->env, &bound->ops[k->ops[i]], kernels, kernel, &part.forward);
        add_op(&sum, &part);
    }
    return sum;
}

/* --- Forward, backward and optimiser ------------------------------------------------------------------------- */

static void add_passes(const ft_op_cost *op, double *forward, double *backward) {
    *forward += work_size(&op->forward);
    *backward += work_size(&op->backward_data) + work_size(&op->backward_weights);
}

double work_amount_of(const ft_cost *cost, const uint32_t *ops, uint32_t count) {
    double forward = 0, backward = 0;
    for (uint32_t i = 0; i < count; i++) add_passes(&cost->ops[ops[i]], &forward, &backward);
    return forward + backward;
}

work_share work_share_of(const ft_cost *cost, const uint32_t *ops, uint32_t count) {
    double forward = 0, backward = 0, params = 0, all_params = (double)cost->total.params;
    for (uint32_t i = 0; i < count; i++) {
        add_passes(&cost->ops[ops[i]], &forward, &backward);
        params += (double)cost->ops[ops[i]].params;
    }
    double update = all_params > 0 ? work_size(&cost->optimizer) * params / all_params : 0;
    double sum = forward + backward + update;
    if (!(sum > 0)) return (work_share){.forward = 1};
    return (work_share){forward / sum, backward / sum, update / sum};
}
