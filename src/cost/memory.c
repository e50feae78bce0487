/* memory.c - memory over time: forward, backward, optimiser step, and the peak.
 *
 * The operators are visited once per pass; the live bytes grow when an operator allocates its outputs and shrink after
 * the last reader, so nothing is ever summed over layers. Weights and optimiser state are there all the time, inputs
 * and outputs belong to the caller. In backward, the gradient of a storage is allocated at its last reader and freed at
 * its producer; an addition passes its gradient on without a copy; a second gradient of the same storage is computed
 * into a temporary and then added to the first. Gradients of parameters are allocated at their last reader and stay.
 * Layers that are recomputed (recompute.c) run again before their backward pass; parameters that ranks share are
 * gathered for the layer that runs (shards.c). */
#include "cost/memory.h"

#include <assert.h>

#include "cost/cost.h"
#include "cost/macs.h"
#include "cost/options.h"
#include "cost/timeline.h"
#include "cost/work.h"
#include "foretell/cost.h"
#include "graph/arguments.h"
#include "graph/geometry.h"

/* --- Events -------------------------------------------------------------------------------------------------- */

void timeline_emit(const timeline *t, timeline_kind kind, uint32_t id, uint32_t from, uint64_t bytes) {
    if (t->events.on_event == NULL) return;
    timeline_event event = {.kind = kind, .id = id, .from = from, .bytes = bytes};
    t->events.on_event(t->events.user, &event);
}

/* Pieces of memory are numbered: storages, their gradients, tensors kept by operators, gradients of parameters. */
static uint32_t gradient_id(const timeline *t, uint32_t s) {
    return t->graph->tensor_count + s;
}

static uint32_t kept_id(const timeline *t, uint32_t op) {
    return 2 * t->graph->tensor_count + op;
}

static uint32_t param_gradient_id(const timeline *t, uint32_t tensor) {
    return 2 * t->graph->tensor_count + t->graph->op_count + tensor;
}

uint32_t timeline_layer_ids(const ft_graph *graph) {
    return 3 * graph->tensor_count + graph->op_count;
}

/* Activations of other micro-batches, one block each. */
static uint32_t flight_ids(const ft_graph *graph) {
    return timeline_layer_ids(graph) + LAYER_BLOCKS * (graph->op_count + 2);
}

uint32_t timeline_id_count(const ft_graph *graph, const ft_cost_options *options) {
    return flight_ids(graph) + options->in_flight;
}

static void emit_op(const timeline *t, ft_phase phase, uint32_t op) {
    if (t->events.on_event == NULL) return;
    timeline_event event = {.kind = TIMELINE_OP, .id = op, .phase = phase};
    t->events.on_event(t->events.user, &event);
}

/* --- The peak ------------------------------------------------------------------------------------------------ */

static void update_peak(timeline *t, ft_phase phase, uint32_t op, uint64_t workspace) {
    ft_memory *now = &t->now;
    uint64_t parts[] = {now->gradient_bytes,
                        now->optimizer_bytes,
                        now->gathered_bytes,
                        now->activation_bytes,
                        t->gradient_bytes,
                        t->temporary_bytes,
                        workspace};
    uint64_t total = now->weight_bytes;
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) total = num_add_sat(total, parts[i]);
    if (t->observer != NULL) t->observer(t->user, phase, op, total);
    if (total <= t->peak.peak_bytes) return;
    t->peak = *now;
    t->peak.activation_gradient_bytes = num_add_sat(t->gradient_bytes, t->temporary_bytes);
    t->peak.activation_bytes = num_add_sat(now->activation_bytes, t->peak.activation_gradient_bytes);
    t->peak.workspace_bytes = workspace;
    t->peak.peak_bytes = total;
    t->peak.peak_op = op;
    t->peak.peak_phase = phase;
}

/* Scratch of one operator: a convolution unrolls one image, attention holds its scores. */
static uint64_t workspace_of(const timeline *t, const ft_op *op) {
    conv_geometry g;
    op_macs macs;
    uint64_t elems = 0, limit = t->options->workspace_bytes;
    const ft_tensor *out = op_output(t->graph, op, 0);
    if (limit == 0 || out == NULL) return 0;
    if (op->def->cost == COST_CONV && conv_geometry_of(t->graph, op, &g) && g.kernel_elems > 1 && !g.is_depthwise) {
        elems = num_mul_sat((uint64_t)g.cin, (uint64_t)g.kernel_elems);
        for (int32_t i = 0; i < g.spatial; i++) elems = num_mul_sat(elems, (uint64_t)g.out[i]);
    } else if (op->def->cost == COST_ATTENTION && macs_of(t->graph, op, &macs)) {
        elems = op_scale(t->graph, op, macs.extra_flops / SOFTMAX_FLOPS) / op->repeats; /* one element a score */
    }
    uint64_t bytes = dtype_bytes(size_dtype(out, t->options), elems);
    return bytes < limit ? bytes : limit;
}

/* --- Forward ------------------------------------------------------------------------------------------------- */

static void free_storage(timeline *t, uint32_t s) {
    if (t->is_overwritten[s]) return;
    shrink(&t->now.activation_bytes, t->lives.bytes[s]);
    timeline_emit(t, TIMELINE_FREE, s, FT_NONE, t->lives.bytes[s]);
}

static void allocate(timeline *t, uint32_t id, uint64_t bytes) {
    if (bytes == 0) return;
    grow(&t->now.activation_bytes, bytes);
    timeline_emit(t, TIMELINE_ALLOC, id, FT_NONE, bytes);
}

/* A weight that is packed is unpacked for the operator that reads it. */
static void unpack_weights(timeline *t, const ft_op *op) {
    for (uint32_t i = 0; i < op->input_count; i++) {
        const ft_tensor *w = op_input(t->graph, op, i);
        if (w == NULL || w->held_bytes == 0 || w->role != FT_CONSTANT) continue;
        uint64_t bytes = dtype_bytes(size_dtype(w, t->options), tensor_elems(t->graph, w));
        grow(&t->temporary_bytes, bytes);
        timeline_emit(t, TIMELINE_TEMPORARY, FT_NONE, FT_NONE, bytes);
    }
}

static void step_forward(timeline *t, uint32_t k) {
    const ft_graph *graph = t->graph;
    const ft_op *op = &graph->ops[k];
    uint32_t overwritten = lifetimes_inplace(graph, t->options, &t->lives, k);
    shards_enter(t, FT_PHASE_FORWARD, k);
    t->temporary_bytes = 0;
    for (uint32_t i = 0; i < op->output_count; i++) {
        uint32_t out = op->outputs[i];
        bool is_new = out != FT_NONE && t->lives.storage[out] == out && (i > 0 || overwritten == FT_NONE);
        if (!is_new) continue;
        grow(&t->now.activation_bytes, t->lives.bytes[out]);
        timeline_emit(t, TIMELINE_ALLOC, out, FT_NONE, t->lives.bytes[out]);
    }
    if (overwritten != FT_NONE) {
        t->is_overwritten[overwritten] = true;
        timeline_emit(t, TIMELINE_INPLACE, op->outputs[0], overwritten, t->lives.bytes[overwritten]);
    }
    if (!lifetimes_is_rerun(&t->lives, k)) allocate(t, kept_id(t, k), t->lives.kept_bytes[k]);
    unpack_weights(t, op);
    emit_op(t, FT_PHASE_FORWARD, k);
    update_peak(t, FT_PHASE_FORWARD, k, workspace_of(t, op));
    t->temporary_bytes = 0;
    for (uint32_t s = t->lives.dies_forward[k]; s != FT_NONE; s = t->lives.next_dead[s]) free_storage(t, s);
    shards_leave(t, FT_PHASE_FORWARD, k);
}

static void walk_forward(timeline *t) {
    for (uint32_t k = 0; k < t->graph->op_count; k++)
        if (!t->graph->ops[k].is_folded) step_forward(t, k);
}

/* --- Recomputation ------------------------------------------------------------------------------------------- */

/* What an operator computes again: results that backward needs, and those that only its layer reads. */
static bool is_allocated_again(const timeline *t, uint32_t s, uint32_t layer) {
    uint32_t last = t->lives.last_use[s];
    if (lifetimes_is_recomputed(&t->lives, s)) return true;
    return t->lives.first_saver[s] == FT_NONE && last != LIFETIME_WHOLE && t->lives.layers.of_op[last] == layer;
}

static void rerun_op(timeline *t, uint32_t k, uint32_t layer) {
    const ft_op *op = &t->graph->ops[k];
    uint32_t overwritten = lifetimes_inplace(t->graph, t->options, &t->lives, k);
    t->temporary_bytes = 0;
    for (uint32_t i = 0; i < op->output_count; i++) {
        uint32_t out = op->outputs[i];
        if (out == FT_NONE || t->lives.storage[out] != out || (i == 0 && overwritten != FT_NONE)) continue;
        if (is_allocated_again(t, out, layer)) allocate(t, out, t->lives.bytes[out]);
    }
    bool is_renamed = overwritten != FT_NONE && is_allocated_again(t, op->outputs[0], layer);
    if (is_renamed) timeline_emit(t, TIMELINE_INPLACE, op->outputs[0], overwritten, t->lives.bytes[overwritten]);
    allocate(t, kept_id(t, k), t->lives.kept_bytes[k]);
    unpack_weights(t, op);
    emit_op(t, FT_PHASE_BACKWARD, k);
    update_peak(t, FT_PHASE_BACKWARD, k, workspace_of(t, op));
    t->temporary_bytes = 0;
    for (uint32_t s = t->lives.dies_forward[k]; s != FT_NONE; s = t->lives.next_dead[s])
        if (t->lives.first_saver[s] == FT_NONE) free_storage(t, s);
    if (overwritten == FT_NONE || is_renamed) return;
    shrink(&t->now.activation_bytes, t->lives.bytes[overwritten]); /* its result is there already */
    timeline_emit(t, TIMELINE_FREE, overwritten, FT_NONE, t->lives.bytes[overwritten]);
}

static bool makes_saved(const timeline *t, uint32_t k, uint32_t layer) {
    const ft_op *op = &t->graph->ops[k];
    if (op->is_folded || t->lives.layers.of_op[k] != layer || !t->lives.is_rerun[k]) return false;
    bool makes = t->lives.kept_bytes[k] > 0;
    for (uint32_t i = 0; i < op->output_count && !makes; i++)
        makes = op->outputs[i] != FT_NONE && lifetimes_is_recomputed(&t->lives, op->outputs[i]);
    return makes;
}

/* Before the backward pass of the last operator of a layer: up to the last result that backward needs. */
static void rerun_layer(timeline *t, uint32_t last) {
    if (t->lives.is_rerun == NULL) return;
    uint32_t layer = t->lives.layers.of_op[last], first = t->lives.first_op[layer], end = last + 1;
    if (layer == 0 || layer > t->lives.layers.count || t->lives.last_op[layer] != last) return;
    while (end > first && !makes_saved(t, end - 1, layer)) end--;
    for (uint32_t k = first; k < end; k++)
        if (t->lives.layers.of_op[k] == layer && t->lives.is_rerun[k] && !t->graph->ops[k].is_folded)
            rerun_op(t, k, layer);
}

/* --- Backward ------------------------------------------------------------------------------------------------ */

static void make_gradient(timeline *t, uint32_t s) {
    grow(&t->gradient_bytes, t->lives.bytes[s]);
    timeline_emit(t, TIMELINE_ALLOC, gradient_id(t, s), FT_NONE, t->lives.bytes[s]);
    t->buffer[s] = s;
    t->references[s] = 1;
}

static void drop_gradient(timeline *t, uint32_t s) {
    uint32_t b = t->buffer[s];
    t->buffer[s] = FT_NONE;
    if (b == FT_NONE) return;
    assert(t->references[b] > 0);
    if (--t->references[b] > 0) return;
    shrink(&t->gradient_bytes, t->lives.bytes[b]);
    timeline_emit(t, TIMELINE_FREE, gradient_id(t, b), FT_NONE, t->lives.bytes[b]);
}

/* An addition of equal sizes: each operand's gradient is the output's. */
static bool passes_gradient(const ft_op *op) {
    uint32_t saves = OP_SAVES_INPUTS | OP_SAVES_OUTPUT | OP_SAVES_MASK | OP_SAVES_INDEX;
    return (op->def->flags & OP_BROADCASTS) != 0 && (op->def->flags & saves) == 0;
}

static void add_gradient(timeline *t, const ft_op *op, uint32_t s, uint32_t out) {
    const uint64_t *bytes = t->lives.bytes;
    bool is_same = passes_gradient(op) && bytes[s] == bytes[out];
    if (t->buffer[s] != FT_NONE) {
        if (!is_same) { /* computed into a temporary, then added to the first */
            grow(&t->temporary_bytes, bytes[s]);
            timeline_emit(t, TIMELINE_TEMPORARY, FT_NONE, FT_NONE, bytes[s]);
        }
        if (t->references[t->buffer[s]] == 1) return;
        drop_gradient(t, s);
        make_gradient(t, s);
    } else if (is_same) {
        assert(t->buffer[out] != FT_NONE);
        t->buffer[s] = t->buffer[out];
        t->references[t->buffer[s]]++;
    } else {
        make_gradient(t, s);
    }
}

/* The storage of an output that has a gradient, or FT_NONE when no gradient reaches this operator. */
static uint32_t output_with_gradient(const timeline *t, const ft_op *op) {
    for (uint32_t i = 0; i < op->output_count; i++) {
        uint32_t s = op->outputs[i] == FT_NONE ? FT_NONE : t->lives.storage[op->outputs[i]];
        if (s != FT_NONE && t->buffer[s] != FT_NONE) return s;
    }
    return FT_NONE;
}

static void step_backward(timeline *t, uint32_t k) {
    const ft_op *op = &t->graph->ops[k];
    shards_enter(t, FT_PHASE_BACKWARD, k);
    rerun_layer(t, k);
    uint32_t out = output_with_gradient(t, op);
    t->temporary_bytes = 0;
    if (out != FT_NONE && params_op_has_gradient(&t->params, op)) {
        for (uint32_t i = 0; i < op->input_count; i++) {
            uint32_t in = op->inputs[i];
            bool is_needed = !input_is_auxiliary(op->def, i) && tensor_has(&t->params, in, MARK_GRADIENT);
            uint32_t s = is_needed ? t->lives.storage[in] : FT_NONE;
            if (s != FT_NONE && s != out) add_gradient(t, op, s, out);
        }
    }
    for (uint32_t p = t->first_param[k]; p != FT_NONE; p = t->next_param[p]) {
        uint64_t bytes = size_of_tensor(t->graph, &t->graph->tensors[p], t->options);
        if (shards_hold_gradient(t, p, bytes)) continue;
        /* One that is added to that of earlier micro-batches is alive only now. */
        bool is_added = t->options->has_accumulation;
        grow(is_added ? &t->temporary_bytes : &t->now.gradient_bytes, bytes);
        timeline_emit(t, is_added ? TIMELINE_TEMPORARY : TIMELINE_ALLOC, param_gradient_id(t, p), FT_NONE, bytes);
    }
    unpack_weights(t, op);
    emit_op(t, FT_PHASE_BACKWARD, k);
    update_peak(t, FT_PHASE_BACKWARD, k, workspace_of(t, op));
    t->temporary_bytes = 0;
    for (uint32_t i = 0; i < op->output_count; i++) {
        uint32_t o = op->outputs[i];
        if (o != FT_NONE && t->lives.storage[o] == o) drop_gradient(t, o);
    }
    if (t->lives.kept_bytes[k] > 0) {
        shrink(&t->now.activation_bytes, t->lives.kept_bytes[k]);
        timeline_emit(t, TIMELINE_FREE, kept_id(t, k), FT_NONE, t->lives.kept_bytes[k]);
    }
    for (uint32_t s = t->lives.dies_backward[k]; s != FT_NONE; s = t->lives.next_freed[s]) free_storage(t, s);
    shards_leave(t, FT_PHASE_BACKWARD, k);
}

static bool prepare_backward(timeline *t) {
    const ft_graph *graph = t->graph;
    size_t tensors = (size_t)graph->tensor_count + 1, ops = (size_t)graph->op_count + 1;
    t->buffer = ARENA_ARRAY(&t->memory, uint32_t, tensors);
    t->references = ARENA_ARRAY(&t->memory, uint32_t, tensors);
    t->next_param = ARENA_ARRAY(&t->memory, uint32_t, tensors);
    t->first_param = ARENA_ARRAY(&t->memory, uint32_t, ops);
    if (t->buffer == NULL || t->references == NULL || t->next_param == NULL || t->first_param == NULL) return false;
    for (uint32_t k = 0; k < graph->op_count; k++) t->first_param[k] = FT_NONE;
    for (uint32_t i = 0; i < graph->tensor_count; i++) {
        t->buffer[i] = FT_NONE;
        uint32_t last = t->params.last_reader[i];
        if (!tensor_has(&t->params, i, MARK_PARAM) || last == FT_NONE) continue;
        t->next_param[i] = t->first_param[last];
        t->first_param[last] = i;
    }
    return true;
}

static void walk_backward(timeline *t) {
    const ft_graph *graph = t->graph;
    for (uint32_t i = 0; i < graph->outputs.count; i++) { /* the loss has a gradient for every output */
        uint32_t out = graph->outputs.items[i], s = t->lives.storage[out];
        if (s != FT_NONE && t->buffer[s] == FT_NONE && tensor_has(&t->params, out, MARK_GRADIENT)) make_gradient(t, s);
    }
    for (uint32_t k = graph->op_count; k-- > 0;)
        if (!graph->ops[k].is_folded) step_backward(t, k);
}

/* --- The whole step ------------------------------------------------------------------------------------------ */

/* Optimiser state of a parameter, and its gradient of earlier micro-batches. */
static void add_trained(timeline *t, uint32_t i, const ft_tensor *tensor) {
    uint64_t elems = num_div_up(tensor_elems(t->graph, tensor), shards_of(t, tensor, FT_SHARD_OPTIMIZER));
    uint64_t state = work_optimizer_bytes(t->options, size_dtype(tensor, t->options), tensor, elems);
    grow(&t->now.optimizer_bytes, state);
    grow(&t->now.master_bytes, work_master_bytes(t->options, elems));
    timeline_emit(t, TIMELINE_OPTIMIZER, i, FT_NONE, state);
    bool is_whole = t->options->keeps_gathered && shards_of(t, tensor, FT_SHARD_GRADIENTS) > 1;
    if (!t->options->has_accumulation || is_whole) return;
    uint64_t bytes = size_of_tensor(t->graph, tensor, t->options);
    bytes = num_div_up(bytes, shards_of(t, tensor, FT_SHARD_GRADIENTS));
    grow(&t->now.gradient_bytes, bytes);
    timeline_emit(t, TIMELINE_ALLOC, param_gradient_id(t, i), FT_NONE, bytes);
}

static void add_residents(timeline *t) {
    const ft_graph *graph = t->graph;
    for (uint32_t i = 0; i < graph->tensor_count; i++) {
        const ft_tensor *tensor = &graph->tensors[i];
        bool is_stored = tensor_has(&t->params, i, MARK_PARAM | MARK_BUFFER);
        bool is_held = t->lives.storage[i] == i && tensor->producer == FT_NONE;
        if (!is_stored && !is_held) continue; /* most are computed during the step */
        uint64_t bytes = size_of_tensor(graph, tensor, t->options);
        if (is_stored) {
            if (t->options->mode == FT_TRAIN) bytes = num_div_up(bytes, shards_of(t, tensor, FT_SHARD_WEIGHTS));
            grow(&t->now.weight_bytes, bytes);
            timeline_emit(t, TIMELINE_WEIGHT, i, FT_NONE, bytes);
        }
        if (is_held) {
            grow(&t->now.input_bytes, bytes);
            grow(&t->now.activation_bytes, bytes);
            timeline_emit(t, TIMELINE_ALLOC, i, FT_NONE, bytes);
        }
        if (t->options->mode == FT_TRAIN && tensor_has(&t->params, i, MARK_PARAM)) add_trained(t, i, tensor);
    }
}

static uint64_t saved_bytes(const timeline *t) {
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < t->graph->tensor_count; i++) {
        bool is_held = t->graph->tensors[i].producer == FT_NONE;
        bool is_saved = t->lives.first_saver[i] != FT_NONE && !lifetimes_is_recomputed(&t->lives, i);
        if (t->lives.storage[i] == i && !is_held && is_saved) grow(&bytes, t->lives.bytes[i]);
    }
    for (uint32_t k = 0; k < t->graph->op_count; k++)
        if (!lifetimes_is_rerun(&t->lives, k)) grow(&bytes, t->lives.kept_bytes[k]);
    return bytes;
}

/* Activations of the other micro-batches of a pipeline that await their backward pass, with their inputs. */
static void add_flights(timeline *t) {
    uint64_t bytes = num_add_sat(saved_bytes(t), t->now.input_bytes);
    for (uint32_t i = 1; i < t->options->in_flight; i++) allocate(t, flight_ids(t->graph) + i, bytes);
}

static ft_status walk(timeline *t, ft_error *error) {
    if (t->cost != NULL) t->params = *cost_params(t->cost);
    if ((t->cost == NULL && !params_mark(t->graph, &t->memory, &t->params)) ||
        !lifetimes_find(t->graph, t->options, &t->params, &t->memory, &t->lives))
        return FT_NOMEM(error);
    t->is_overwritten = ARENA_ARRAY(&t->memory, bool, (size_t)t->graph->tensor_count + 1);
    if (t->is_overwritten == NULL || (t->options->mode == FT_TRAIN && !prepare_backward(t))) return FT_NOMEM(error);
    add_residents(t);
    if (t->options->mode == FT_TRAIN) add_flights(t);
    if (!shards_prepare(t)) return FT_NOMEM(error);
    if (t->graph->op_count == 0) update_peak(t, FT_PHASE_FORWARD, FT_NONE, 0);
    walk_forward(t);
    if (t->options->mode != FT_TRAIN) return FT_OK;
    walk_backward(t);
    shards_finish(t);
    update_peak(t, FT_PHASE_OPTIMIZER, FT_NONE, 0);
    t->peak.saved_bytes = saved_bytes(t);
    return FT_OK;
}

static ft_status plan(const ft_graph *bound, timeline *t, ft_memory *memory, ft_error *error) {
    FT_TRY(graph_check_bound(bound, "memory needs", error));
    FT_TRY(cost_options_check(t->options, error));
    t->peak.peak_op = FT_NONE;
    arena_init(&t->memory, FT_MAX_GRAPH_BYTES);
    ft_status status = walk(t, error);
    arena_free(&t->memory);
    if (status == FT_OK) *memory = t->peak;
    return status;
}

ft_status ft_memory_plan(const ft_graph *bound, const ft_cost_options *options, ft_memory *memory,
                         ft_memory_observer *observer, void *user, ft_error *error) {
    FT_REQUIRE(error, bound, options, memory);
    timeline t = {.graph = bound, .options = options, .observer = observer, .user = user};
    return plan(bound, &t, memory, error);
}

ft_status timeline_walk(const ft_graph *bound, const ft_cost *cost, const ft_cost_options *options,
                        const timeline_events *events, ft_memory *memory, ft_error *error) {
    timeline t = {.graph = bound, .cost = cost, .options = options, .events = *events};
    return plan(bound, &t, memory, error);
}
