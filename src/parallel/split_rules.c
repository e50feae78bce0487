/* split_rules.c - what an operator accepts of a divided tensor.
 *
 * The graph is visited backwards: a product takes rows of its matrix, attention takes heads, elementwise operators pass
 * on what their readers take, and norms over the divided dimension take only the whole. What nothing accepts stays
 * whole on every rank, so an unknown operator costs memory but never correctness. */
#include "parallel/split.h"

#include <string.h>

#include "graph/shape.h"

static const shard whole = {.axis = SHARD_WHOLE}, any = {.axis = SHARD_ANY};

static shard part_of(const ft_tensor *t, int32_t axis, int64_t local) {
    return local < t->dims[axis] ? (shard){axis, local} : whole;
}

static shard wanted_of(const split_plan *plan, const ft_op *op, uint32_t output) {
    bool exists = output < op->output_count && op->outputs[output] != FT_NONE;
    return exists ? plan->wanted[op->outputs[output]] : any;
}

/* --- Products ---------------------------------------------------------------------------------------------------- */

bool split_is_linear(const ft_graph *graph, const ft_op *op) {
    const ft_tensor *w = op_input(graph, op, op->def->w == 0 ? 1 : op->def->w);
    return op->def->cost == COST_MATMUL && w != NULL && graph_is_constant(graph, w);
}

static uint32_t data_input(const ft_op *op) {
    return op->def->x;
}

/* Rows of the matrix, unless columns are what the readers want. */
static shard accept_linear(const split_plan *plan, const ft_op *op, uint32_t i) {
    const ft_tensor *x = op_input(plan->graph, op, i);
    if (i != data_input(op) || shard_is_part(wanted_of(plan, op, 0)) || x->rank < 2) return whole;
    int64_t rows = x->dims[x->rank - 1], ranks = plan->ranks.tensor;
    return rows % ranks == 0 ? part_of(x, x->rank - 1, rows / ranks) : whole;
}

/* Products of two results: a leading dimension (heads) passes through. */
static shard accept_batched(const split_plan *plan, const ft_op *op, uint32_t i) {
    const ft_tensor *y = op_output(plan->graph, op, 0), *x = op_input(plan->graph, op, i);
    shard w = wanted_of(plan, op, 0);
    if (!shard_is_part(w) || y == NULL || w.axis >= y->rank - 2 || x->rank != y->rank) return whole;
    return x->dims[w.axis] == y->dims[w.axis] ? w : whole;
}

/* --- Attention --------------------------------------------------------------------------------------------------- */

ft_status split_heads(const split_plan *plan, const ft_op *op, const attention_geometry *g, local_heads *local) {
    int64_t ranks = plan->ranks.tensor;
    bool kv_divide = g->kv_heads % ranks == 0 || ranks % g->kv_heads == 0;
    if (g->heads % ranks != 0)
        return ft_fail(plan->error, FT_ERR_USAGE,
                       "'%s' (%s): num_heads %lld cannot be divided between %lld tensor-parallel ranks", op->name,
                       op->type, (long long)g->heads, (long long)ranks);
    if (!kv_divide)
        return ft_fail(plan->error, FT_ERR_USAGE,
                       "'%s' (%s): kv_num_heads %lld neither divides %lld tensor-parallel ranks nor is divided by them",
                       op->name, op->type, (long long)g->kv_heads, (long long)ranks);
    local->heads = g->heads / ranks;
    local->kv_heads = g->kv_heads > ranks ? g->kv_heads / ranks : 1; /* never below one: ranks then share a head */
    return FT_OK;
}

/* The result is divided by heads: its last dimension, or the one of heads. */
static bool attention_gives(const split_plan *plan, const ft_op *op, const attention_geometry *g, int64_t heads) {
    const ft_tensor *y = op_output(plan->graph, op, 0);
    shard w = wanted_of(plan, op, 0);
    if (y == NULL || !shard_is_part(w)) return false;
    return g->has_head_axis ? w.axis == 1 && w.local == heads
                            : w.axis == y->rank - 1 && w.local == heads * g->value_size;
}

static ft_status accept_attention(const split_plan *plan, const ft_op *op, uint32_t i, shard *accepted) {
    attention_geometry g;
    local_heads l;
    const ft_tensor *x = op_input(plan->graph, op, i);
    *accepted = whole;
    if (!attention_geometry_of(plan->graph, op, &g) || g.is_paged || g.weights[0] != NULL || x->rank < 3) return FT_OK;
    FT_TRY(split_heads(plan, op, &g, &l));
    if (!attention_gives(plan, op, &g, l.heads)) return FT_OK;
    bool is_packed = op->input_count < 2 || op->inputs[1] == FT_NONE;
    int32_t last = x->rank - 1;
    if ((i == g.past_key || i == g.past_value) && i > 0)
        *accepted = part_of(x, g.is_stacked ? 2 : 1, l.kv_heads);
    else if (i == 0 && x->rank == 4)
        *accepted = part_of(x, 1, l.heads);
    else if (i == 0)
        *accepted = part_of(x, last, (l.heads + (is_packed ? 2 * l.kv_heads : 0)) * g.head_size);
    else if (g.kv_rank > 0) /* latent: one row for all heads, expanded in input 1 */
        *accepted =
            i == 1 && x->dims[last] % g.heads == 0 ? part_of(x, last, x->dims[last] / g.heads * l.heads) : whole;
    else if (i <= 2 && x->rank == 4)
        *accepted = part_of(x, 1, l.kv_heads);
    else if (i <= 2)
        *accepted = part_of(x, last, x->dims[last] / g.kv_heads * l.kv_heads);
    return FT_OK;
}

/* A state per head: every divided input has heads in the dimension of the result. */
static shard accept_state(const split_plan *plan, const ft_op *op, uint32_t i) {
    const ft_tensor *x = op_input(plan->graph, op, i), *y = op_output(plan->graph, op, 0);
    shard w = wanted_of(plan, op, 0);
    int64_t ranks = plan->ranks.tensor;
    if (y == NULL || !shard_is_part(w) || x->role == FT_CONSTANT) return whole;
    if (x->role == FT_INPUT) return x->rank > 2 && x->dims[1] % ranks == 0 ? part_of(x, 1, x->dims[1] / ranks) : whole;
    if (x->rank != y->rank || x->dims[w.axis] % ranks != 0) return whole;
    return part_of(x, w.axis, x->dims[w.axis] / ranks);
}

/* --- Shapes ------------------------------------------------------------------------------------------------------ */

/* A divided dimension of the result in the dimensions of the input: what is before it must be equal, and what it is
 * merged of or divided into must begin at the same element. */
static shard through_view(const ft_tensor *x, const ft_tensor *y, shard w) {
    int64_t before = 1, before_x = 1;
    for (int32_t a = 0; a < w.axis; a++) before *= y->dims[a];
    for (int32_t a = 0; a < x->rank; a++) {
        if (before_x == before && x->dims[a] > 1) {
            int64_t local;
            if (!num_mul_i64(x->dims[a], w.local, &local) || local % y->dims[w.axis] != 0) return whole;
            return part_of(x, a, local / y->dims[w.axis]);
        }
        if (!num_mul_i64(before_x, x->dims[a], &before_x)) return whole;
    }
    return whole;
}

static shard through_transpose(const ft_op *op, const ft_tensor *x, shard w) {
    uint32_t count;
    const int64_t *order = op_attr_ints(op, "perm", &count);
    int64_t axis = order == NULL ? x->rank - 1 - w.axis : (int32_t)count > w.axis ? order[w.axis] : -1;
    return axis >= 0 && axis < x->rank ? (shard){(int32_t)axis, w.local} : whole;
}

/* Operators that move parts along an axis: the other dimensions pass. */
static shard through_axis(const split_plan *plan, const ft_op *op, uint32_t i) {
    const ft_tensor *x = op_input(plan->graph, op, i), *y = op_output(plan->graph, op, 0);
    shard w = wanted_of(plan, op, 0);
    int32_t axis;
    if (y == NULL || !shard_is_part(w) || x->rank != y->rank) return whole;
    if (!axis_normalize(op_attr_int(op, "axis", 0), x->rank, &axis)) return whole;
    if (w.axis != axis) return x->dims[w.axis] == y->dims[w.axis] ? w : whole;
    int64_t sum = 0;
    if (op_is(op, "Split")) { /* all parts must be divided */
        for (uint32_t k = 0; k < op->output_count; k++) {
            shard part = wanted_of(plan, op, k);
            if (part.axis != axis) return whole;
            sum += part.local;
        }
        return part_of(x, axis, sum);
    }
    if (!num_mul_i64(x->dims[axis], w.local, &sum) || sum % y->dims[axis] != 0) return whole;
    return part_of(x, axis, sum / y->dims[axis]);
}

/* --- Elementwise ------------------------------------------------------------------------------------------------- */

/* Dimensions are aligned at the end; one of size 1 is repeated. */
static shard through_broadcast(const ft_tensor *x, const ft_tensor *y, shard w) {
    int32_t axis = w.axis - (y->rank - x->rank);
    if (axis < 0 || x->dims[axis] == 1) return any;
    return x->dims[axis] == y->dims[w.axis] ? (shard){axis, w.local} : whole;
}

/* A norm or softmax over some dimensions passes the others. */
static shard through_norm(const ft_op *op, const ft_tensor *x, shard w) {
    int32_t axis;
    if (!axis_normalize(op_attr_int(op, "axis", -1), x->rank, &axis)) return whole;
    bool is_single = op_is(op, "Softmax") || op_is(op, "LogSoftmax");
    bool is_over = is_single ? w.axis == axis : w.axis >= axis;
    return is_over || w.axis >= x->rank ? whole : w;
}

static bool is_elementwise(const ft_op *op) {
    return op->def->cost == COST_ELEMENTWISE || op_is(op, "Cast") || op_is(op, "Identity") || op_is(op, "Dropout") ||
           op_is(op, "Expand");
}

static shard accept_other(const split_plan *plan, const ft_op *op, uint32_t i) {
    const ft_tensor *x = op_input(plan->graph, op, i), *y = op_output(plan->graph, op, 0);
    shard w = wanted_of(plan, op, 0);
    if (y == NULL || !shard_is_part(w)) return whole;
    if (op_is(op, "Transpose")) return through_transpose(op, x, w);
    if (op_is(op, "Split") || op_is(op, "Slice") || op_is(op, "Concat")) return through_axis(plan, op, i);
    if (op->def->op_class == FT_CLASS_NORM) return i == 0 ? through_norm(op, x, w) : any;
    if (is_elementwise(op)) return through_broadcast(x, y, w);
    if ((op->def->flags & OP_VIEW) != 0) return i == 0 ? through_view(x, y, w) : any;
    if (op->def->cost == COST_CONV) return i == 0 && x->rank == y->rank ? accept_state(plan, op, i) : whole;
    return whole;
}

ft_status split_accept(const split_plan *plan, const ft_op *op, uint32_t i, shard *accepted) {
    const ft_tensor *x = op_input(plan->graph, op, i);
    bool is_shape_only = i < 32 && (op->def->aux_inputs >> i & 1) != 0;
    *accepted = whole;
    if (op->def->op_class == FT_CLASS_SHAPE || is_shape_only) {
        *accepted = any;
        return FT_OK;
    }
    if (x == NULL || !shape_is_known(x) || x->rank < 1) return FT_OK;
    if (op->def->cost == COST_ATTENTION) return accept_attention(plan, op, i, accepted);
    if (split_is_linear(plan->graph, op))
        *accepted = accept_linear(plan, op, i);
    else if (op->def->cost == COST_MATMUL)
        *accepted = accept_batched(plan, op, i);
    else if (op->def->cost == COST_LINEAR_ATTENTION)
        *accepted = accept_state(plan, op, i);
    else
        *accepted = accept_other(plan, op, i);
    return FT_OK;
}
