/* lifetime.c - storages of tensors and their lifetimes.
 *
 * Three linear passes: storages (views share that of their input), last uses, and what backward needs. A tensor from
 * outside of a loop is read again in every trip, so it lives until the loop ends. */
#include "cost/lifetime.h"

#include <assert.h>
#include <string.h>

#include "cost/pattern.h"
#include "graph/geometry.h"

/* --- Storages ------------------------------------------------------------------------------------------------ */

/* A batched product needs dense operands, and copies those that are parts of another tensor. Fused attention does not.
 */
static bool is_copied(const ft_graph *graph, const patterns *found, uint32_t part) {
    enum { MAX_STEPS = 3 }; /* views between the part and the product */
    for (int step = 0; step < MAX_STEPS; step++) {
        const ft_tensor *t = &graph->tensors[part];
        if (t->use_count != 1) return false;
        const ft_op *reader = &graph->ops[t->uses[0]];
        if (reader->output_count == 0 || reader->outputs[0] == FT_NONE) return false;
        if (reader->def->cost == COST_MATMUL) {
            uint32_t other = reader->inputs[0]; /* may be absent in a malformed file */
            bool is_attended = t->rank > 2 && other != FT_NONE && found->is_score[other];
            return !found->is_score[reader->outputs[0]] && !is_attended;
        }
        if ((reader->def->flags & OP_VIEW) == 0 && !pattern_is_transposed_operand(graph, reader)) return false;
        part = reader->outputs[0];
    }
    return false;
}

/* Frameworks represent parts and repetitions of a tensor as views. */
static bool is_view_of_part(const ft_graph *graph, const patterns *found, const ft_op *op, uint32_t out) {
    if (found->is_attention_scale[op - graph->ops]) return true;
    if (op->def->op_class != FT_CLASS_MOVE) return false; /* the common case first: this runs for every operator */
    if (op_is(op, "Split") || pattern_is_single_index(graph, op)) return !is_copied(graph, found, out);
    return op_is(op, "Expand") || pattern_is_transposed_operand(graph, op) || pattern_is_pool_pad(graph, op);
}

/* The output has the storage of the first input. */
static bool is_view(const ft_graph *graph, const ft_op *op, uint32_t output, const ft_cost_options *options,
                    const patterns *found) {
    if (op->input_count == 0 || op->inputs[0] == FT_NONE) return false;
    if (is_view_of_part(graph, found, op, op->outputs[output])) return true;
    bool is_active = (op->def->flags & OP_TRAIN_ONLY) != 0 && options->mode == FT_TRAIN;
    return output == 0 && (op->def->flags & (OP_VIEW | OP_TRAIN_ONLY)) != 0 && !is_active;
}

static void find_storages(const ft_graph *graph, const ft_cost_options *options, const patterns *found, lifetimes *l) {
    for (uint32_t t = 0; t < graph->tensor_count; t++) {
        const ft_tensor *tensor = &graph->tensors[t];
        bool is_held = tensor->role != FT_CONSTANT && tensor->producer == FT_NONE && tensor->use_count > 0;
        l->storage[t] = is_held || tensor->role == FT_INPUT ? t : FT_NONE; /* outputs of operators follow below */
        l->first_saver[t] = FT_NONE;
        l->last_use[t] = LIFETIME_WHOLE;
        l->bytes[t] = l->storage[t] == t ? size_of_tensor(graph, tensor, options) : 0;
    }
    for (uint32_t k = 0; k < graph->op_count; k++) {
        const ft_op *op = &graph->ops[k];
        for (uint32_t i = 0; !op->is_folded && i < op->output_count; i++) {
            uint32_t out = op->outputs[i];
            if (out == FT_NONE || found->is_score[out]) continue;
            if (is_view(graph, op, i, options, found)) {
                assert(op->inputs[0] < graph->tensor_count);
                l->storage[out] = l->storage[op->inputs[0]];
                continue;
            }
            l->storage[out] = out;
            l->bytes[out] = size_of_tensor(graph, &graph->tensors[out], options);
            l->last_use[out] = k;
        }
    }
}

/* --- Last uses ----------------------------------------------------------------------------------------------- */

typedef struct loop_ends {
    uint32_t *end;   /* per loop: its last operator that runs, with the loops inside it */
    uint32_t *depth; /* per loop */
} loop_ends;

static bool find_loop_ends(const ft_graph *graph, arena *memory, loop_ends *ends) {
    ends->end = ARENA_ARRAY(memory, uint32_t, (size_t)graph->loop_count + 1);
    ends->depth = ARENA_ARRAY(memory, uint32_t, (size_t)graph->loop_count + 1);
    if (ends->end == NULL || ends->depth == NULL) return false;
    for (uint32_t i = 1; i < graph->loop_count; i++) ends->depth[i] = ends->depth[graph->loops[i].parent] + 1;
    for (uint32_t k = 0; k < graph->op_count; k++)
        if (!graph->ops[k].is_folded) ends->end[graph->ops[k].loop] = k;
    for (uint32_t i = graph->loop_count; i-- > 1;) {
        uint32_t parent = graph->loops[i].parent;
        if (ends->end[i] > ends->end[parent]) ends->end[parent] = ends->end[i];
    }
    return true;
}

/* The last operator at which `reader` needs a tensor made in loop `from`: the end of every loop that `from` is not in.
 */
static uint32_t end_of_use(const ft_graph *graph, const loop_ends *ends, uint32_t reader, uint32_t from) {
    uint32_t at = graph->ops[reader].loop, end = reader;
    while (at != from) {
        if (ends->depth[at] >= ends->depth[from]) {
            if (ends->end[at] > end) end = ends->end[at];
            at = graph->loops[at].parent;
        } else {
            from = graph->loops[from].parent;
        }
    }
    return end;
}

static bool find_last_uses(const ft_graph *graph, arena *memory, lifetimes *l) {
    loop_ends ends;
    if (!find_loop_ends(graph, memory, &ends)) return false;
    for (uint32_t k = 0; k < graph->op_count; k++) {
        const ft_op *op = &graph->ops[k];
        for (uint32_t i = 0; !op->is_folded && i < op->input_count; i++) {
            uint32_t s = op->inputs[i] == FT_NONE ? FT_NONE : l->storage[op->inputs[i]];
            if (s == FT_NONE || l->last_use[s] == LIFETIME_WHOLE) continue;
            uint32_t maker = graph->tensors[s].producer;
            assert(maker != FT_NONE); /* storages of inputs live for the whole step */
            uint32_t end = end_of_use(graph, &ends, k, graph->ops[maker].loop);
            if (end > l->last_use[s]) l->last_use[s] = end;
        }
    }
    for (uint32_t i = 0; i < graph->outputs.count; i++) {
        uint32_t s = l->storage[graph->outputs.items[i]];
        if (s != FT_NONE) l->last_use[s] = LIFETIME_WHOLE;
    }
    return true;
}

/* --- Tensors saved for backward ------------------------------------------------------------------------------ */

/* The gradient of one operand of a product depends only on the others. */
static bool is_product(const ft_op *op) {
    switch (op->def->cost) {
    case COST_CONV:
    case COST_CONV_TRANSPOSE:
    case COST_MATMUL:
    case COST_EINSUM:
        return true;
    default:
        return op_is(op, "Mul") || op_is(op, "Div");
    }
}

static bool needs_gradient(const param_marks *params, const ft_op *op, uint32_t i) {
    return !input_is_auxiliary(op->def, i) && tensor_has(params, op->inputs[i], MARK_GRADIENT);
}

static void save(lifetimes *l, uint32_t tensor, uint32_t op) {
    uint32_t s = tensor == FT_NONE ? FT_NONE : l->storage[tensor];
    if (s != FT_NONE && op < l->first_saver[s]) l->first_saver[s] = op;
}

static void save_inputs(const ft_graph *graph, const param_marks *params, uint32_t k, lifetimes *l) {
    const ft_op *op = &graph->ops[k];
    uint32_t needed = 0;
    if (pattern_is_norm_scale(graph, op, params)) return;
    for (uint32_t i = 0; i < op->input_count; i++) needed += needs_gradient(params, op, i);
    for (uint32_t i = 0; i < op->input_count; i++) {
        if (input_is_auxiliary(op->def, i)) continue;
        /* A convolution saves both, also when its weights are not trained. */
        bool is_needed =
            !is_product(op) || op->def->cost == COST_CONV || needed > (uint32_t)needs_gradient(params, op, i);
        if (is_needed) save(l, op->inputs[i], k);
    }
}

/* A batched product expands the operand that has fewer batches, and keeps the expanded copy. */
static uint64_t repeated_bytes(const ft_graph *graph, const ft_cost_options *options, const ft_op *op) {
    const ft_tensor *out = op_output(graph, op, 0);
    if (op->def->cost != COST_MATMUL || op->input_count != 2 || out == NULL || out->rank < 4) return 0;
    uint64_t batches = (uint64_t)shape_elems(out->dims, out->rank - 2), bytes = 0;
    for (uint32_t i = 0; i < 2; i++) {
        const ft_tensor *in = op_input(graph, op, i);
        if (in == NULL || in->rank < 3 || (uint64_t)shape_elems(in->dims, in->rank - 2) >= batches) continue;
        uint64_t matrix = (uint64_t)shape_elems(in->dims + in->rank - 2, 2);
        uint64_t elems = num_mul_sat(matrix, batches);
        bytes = num_add_sat(bytes, dtype_bytes(size_dtype(in, options), op_scale(graph, op, elems)));
    }
    return bytes;
}

/* A bias of fused attention that depends on the data is saved along with queries, keys and values. */
static void save_bias(const param_marks *params, const patterns *found, uint32_t k, const ft_op *op, lifetimes *l) {
    for (uint32_t i = 0; i < op->input_count; i++) {
        uint32_t in = op->inputs[i];
        if (in == FT_NONE || found->is_score[in] || tensor_has(params, in, MARK_STATIC)) continue;
        if (op_is(op, "Add")) save(l, in, k);
    }
}

/* Without a compiler, an RMS norm keeps its input in float32 and, for the gradient of its scale, its normalised input
 * in the type of the activations. */
static bool save_norm(const ft_graph *graph, const ft_cost_options *options, const param_marks *params, uint32_t k,
                      lifetimes *l) {
    const ft_op *op = &graph->ops[k];
    const ft_tensor *x = op_input(graph, op, 0);
    if (!options->is_decomposed || !op_is(op, "RMSNormalization") || x == NULL) return false;
    uint64_t elems = tensor_elems(graph, x);
    bool has_scale = op->input_count > 1 && tensor_has(params, op->inputs[1], MARK_GRADIENT);
    l->kept_bytes[k] = dtype_bytes(FT_FLOAT32, elems);
    if (has_scale) l->kept_bytes[k] = num_add_sat(l->kept_bytes[k], dtype_bytes(size_dtype(x, options), elems));
    return true;
}

/* Keys and values that are repeated for every head. */
static uint64_t repeated_heads(const ft_graph *graph, const ft_cost_options *options, const ft_op *op) {
    attention_geometry g;
    if (!options->is_decomposed || op->def->cost != COST_ATTENTION || !attention_geometry_of(graph, op, &g)) return 0;
    const ft_tensor *x = op_input(graph, op, 0);
    if (x == NULL || g.heads <= g.kv_heads) return 0;
    uint64_t rows = num_mul_sat((uint64_t)g.batch, (uint64_t)g.keys);
    uint64_t width = num_mul_sat((uint64_t)(g.heads - g.kv_heads), (uint64_t)(g.head_size + g.value_size));
    return dtype_bytes(size_dtype(x, options), num_mul_sat(rows, width));
}

/* What experts keep of the tokens that they get: the token, the results of their first layers, and their product. */
static uint64_t expert_bytes(const ft_graph *graph, const ft_cost_options *options, const ft_op *op) {
    const ft_tensor *x = op_input(graph, op, 0), *down = op_input(graph, op, 4), *up = op_input(graph, op, 6);
    int64_t chosen = op_attr_int(op, "k", 1);
    if (op->def->cost != COST_MOE || x == NULL || down == NULL || down->rank != 3 || x->rank < 1 || chosen <= 0)
        return 0;
    uint64_t hidden = (uint64_t)x->dims[x->rank - 1];
    uint64_t inner = (uint64_t)(down->dims[1] == x->dims[x->rank - 1] ? down->dims[2] : down->dims[1]);
    uint64_t width = num_add_sat(hidden, num_mul_sat(inner, up != NULL ? 3 : 2));
    uint64_t tokens = hidden > 0 ? tensor_elems(graph, x) / hidden : 0;
    return dtype_bytes(size_dtype(x, options), num_mul_sat(num_mul_sat(tokens, (uint64_t)chosen), width));
}

static void find_saved(const ft_graph *graph, const ft_cost_options *options, const param_marks *params,
                       const patterns *found, lifetimes *l) {
    for (uint32_t k = 0; k < graph->op_count; k++) {
        const ft_op *op = &graph->ops[k];
        uint32_t flags = op->def->flags;
        if (op->is_folded || !params_op_has_gradient(params, op) || op->output_count == 0) continue;
        if (found->is_fused[k]) {
            save(l, found->base[op->outputs[0]], k);
            continue;
        }
        const ft_tensor *out = op_output(graph, op, 0);
        uint64_t elems = out == NULL ? 0 : tensor_elems(graph, out);
        if (save_norm(graph, options, params, k, l)) continue;
        if ((flags & OP_SAVES_INPUTS) != 0) save_inputs(graph, params, k, l);
        if ((flags & OP_SAVES_OUTPUT) != 0) save(l, op->outputs[0], k);
        if (out != NULL && found->is_score[op->outputs[0]]) { /* not stored, nor are masks of them */
            save_bias(params, found, k, op, l);
            continue;
        }
        if ((flags & OP_SAVES_MASK) != 0) l->kept_bytes[k] = elems;
        bool is_attended = op->inputs[0] != FT_NONE && found->is_score[op->inputs[0]];
        if (!is_attended) l->kept_bytes[k] = num_add_sat(l->kept_bytes[k], repeated_bytes(graph, options, op));
        if ((flags & OP_SAVES_INDEX) != 0) l->kept_bytes[k] = num_add_sat(l->kept_bytes[k], num_mul_sat(elems, 8));
        uint64_t inner = num_add_sat(repeated_heads(graph, options, op), expert_bytes(graph, options, op));
        l->kept_bytes[k] = num_add_sat(l->kept_bytes[k], inner);
    }
}

/* --- Lifetimes ----------------------------------------------------------------------------------------------- */

static void list_deaths(const ft_graph *graph, lifetimes *l) {
    for (uint32_t k = 0; k < graph->op_count; k++) l->dies_forward[k] = l->dies_backward[k] = FT_NONE;
    for (uint32_t t = 0; t < graph->tensor_count; t++) {
        if (l->storage[t] != t || l->last_use[t] == LIFETIME_WHOLE) continue;
        bool is_saved = l->first_saver[t] != FT_NONE;
        uint32_t *head = is_saved ? &l->dies_backward[l->first_saver[t]] : &l->dies_forward[l->last_use[t]];
        bool is_recomputed = lifetimes_is_recomputed(l, t);
        uint32_t *next = is_saved ? &l->next_freed[t] : &l->next_dead[t];
        *next = *head;
        *head = t;
        if (!is_recomputed) continue;
        l->next_dead[t] = l->dies_forward[l->last_use[t]];
        l->dies_forward[l->last_use[t]] = t;
    }
}

bool lifetimes_find(const ft_graph *graph, const ft_cost_options *options, const param_marks *params, arena *memory,
                    lifetimes *l) {
    size_t tensors = (size_t)graph->tensor_count + 1, ops = (size_t)graph->op_count + 1;
    *l = (lifetimes){0};
    l->storage = ARENA_ARRAY(memory, uint32_t, tensors);
    l->bytes = ARENA_ARRAY(memory, uint64_t, tensors);
    l->last_use = ARENA_ARRAY(memory, uint32_t, tensors);
    l->first_saver = ARENA_ARRAY(memory, uint32_t, tensors);
    l->next_dead = ARENA_ARRAY(memory, uint32_t, tensors);
    l->next_freed = ARENA_ARRAY(memory, uint32_t, tensors);
    l->dies_forward = ARENA_ARRAY(memory, uint32_t, ops);
    l->dies_backward = ARENA_ARRAY(memory, uint32_t, ops);
    l->kept_bytes = ARENA_ARRAY(memory, uint64_t, ops);
    if (l->storage == NULL || l->bytes == NULL || l->last_use == NULL || l->first_saver == NULL ||
        l->next_dead == NULL || l->next_freed == NULL || l->dies_forward == NULL || l->dies_backward == NULL ||
        l->kept_bytes == NULL)
        return false;
    patterns found;
    if (!patterns_find(graph, options, params, memory, &found)) return false;
    find_storages(graph, options, &found, l);
    if (!find_last_uses(graph, memory, l)) return false;
    if (options->mode == FT_TRAIN) find_saved(graph, options, params, &found, l);
    bool is_sharded = options->mode == FT_TRAIN && options->sharding >= FT_SHARD_GRADIENTS;
    bool is_recomputed = options->mode == FT_TRAIN && options->recompute != FT_RECOMPUTE_NONE;
    if ((is_sharded || is_recomputed) && !lifetimes_find_layers(graph, memory, l)) return false;
    if (is_recomputed && !lifetimes_recompute(graph, options, params, memory, l)) return false;
    list_deaths(graph, l);
    return true;
}

uint32_t lifetimes_inplace(const ft_graph *graph, const ft_cost_options *options, const lifetimes *l, uint32_t k) {
    const ft_op *op = &graph->ops[k];
    if (!options->has_inplace || (op->def->flags & OP_INPLACE) == 0 || op->output_count == 0) return FT_NONE;
    uint32_t out = op->outputs[0];
    if (out == FT_NONE || l->storage[out] != out) return FT_NONE;
    for (uint32_t i = 0; i < op->input_count; i++) {
        if (op->inputs[i] == FT_NONE || input_is_auxiliary(op->def, i)) continue;
        uint32_t s = l->storage[op->inputs[i]];
        if (s != FT_NONE && l->last_use[s] == k && l->first_saver[s] == FT_NONE && l->bytes[s] == l->bytes[out])
            return s;
    }
    return FT_NONE;
}
