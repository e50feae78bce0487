/* split_plan.c - the plan of a split: backwards, what readers can take; forwards, what each operator then computes.
 *
 * The pattern is Megatron's: columns of the first matrices of a block, heads of attention, rows of the last matrix, and
 * a sum over the ranks. It is found in the graph and not by names: a product whose result can be used in parts up to
 * the next product is divided by columns, and that next product by rows. */
#include <assert.h>

#include "parallel/split.h"

static const shard whole = {.axis = SHARD_WHOLE};

/* --- Backwards --------------------------------------------------------------------------------------------------- */

/* Logits are left divided: a loss, or a choice of the next token, needs their maximum and sum only. */
static shard wanted_output(const split_plan *plan, const ft_tensor *t) {
    const ft_op *op = &plan->graph->ops[t->producer];
    int64_t ranks = plan->ranks.tensor, n = t->rank > 0 ? t->dims[t->rank - 1] : 0;
    if (!split_is_linear(plan->graph, op) || t->use_count > 0 || n <= ranks) return whole;
    return (shard){t->rank - 1, (int64_t)num_div_up((uint64_t)n, (uint64_t)ranks)};
}

static ft_status find_wanted(split_plan *plan, uint32_t tensor) {
    const ft_tensor *t = &plan->graph->tensors[tensor];
    shard all = {.axis = SHARD_ANY};
    if (t->is_output) {
        plan->wanted[tensor] = wanted_output(plan, t);
        return FT_OK;
    }
    for (uint32_t u = 0; u < t->use_count && all.axis != SHARD_WHOLE; u++) {
        const ft_op *op = &plan->graph->ops[t->uses[u]];
        for (uint32_t i = 0; i < op->input_count; i++) {
            shard one;
            if (op->inputs[i] != tensor) continue;
            FT_TRY(split_accept(plan, op, i, &one));
            if (one.axis == SHARD_ANY) continue;
            all = all.axis == SHARD_ANY || shard_is_same(all, one) ? one : whole;
        }
    }
    plan->wanted[tensor] = all.axis == SHARD_ANY ? whole : all;
    return FT_OK;
}

static ft_status visit_backwards(split_plan *plan) {
    const ft_graph *graph = plan->graph;
    for (uint32_t k = graph->op_count; k-- > 0;) {
        const ft_op *op = &graph->ops[k];
        for (uint32_t i = 0; i < op->output_count && !op->is_folded; i++)
            if (op->outputs[i] != FT_NONE) FT_TRY(find_wanted(plan, op->outputs[i]));
    }
    return FT_OK;
}

/* --- Forwards ---------------------------------------------------------------------------------------------------- */

static void visit_linear(split_plan *plan, uint32_t k) {
    const ft_op *op = &plan->graph->ops[k];
    const ft_tensor *x = op_input(plan->graph, op, op->def->x), *y = op_output(plan->graph, op, 0);
    if (x == NULL || y == NULL) return;
    shard in = plan->held[op->inputs[op->def->x]], out = plan->held[op->outputs[0]];
    if (shard_is_part(in) && in.axis == x->rank - 1) {
        plan->kinds[k] = SPLIT_ROWS;
        split_rows(plan, op, in.local);
    } else if (shard_is_part(out) && out.axis == y->rank - 1) {
        plan->kinds[k] = SPLIT_COLUMNS;
        split_columns(plan, op, out.local);
    }
}

/* The caches of attention on the rank's heads. */
static ft_status visit_attention(split_plan *plan, const ft_op *op) {
    attention_geometry g;
    local_heads l;
    if (!attention_geometry_of(plan->graph, op, &g) || !shard_is_part(plan->held[op->outputs[0]])) return FT_OK;
    FT_TRY(split_heads(plan, op, &g, &l));
    shard part = l.kv_heads < g.kv_heads ? (shard){g.is_stacked ? 2 : 1, l.kv_heads} : whole;
    const uint32_t past[] = {g.past_key, g.past_value}, present[] = {g.present_key, g.present_value};
    for (int i = 0; i < 2; i++) {
        if (past[i] > 0 && op_input(plan->graph, op, past[i]) != NULL) plan->held[op->inputs[past[i]]] = part;
        if (present[i] > 0 && op_output(plan->graph, op, present[i]) != NULL)
            plan->held[op->outputs[present[i]]] = part;
    }
    for (uint32_t i = 3; i < op->input_count; i++) { /* a number a head */
        const ft_tensor *t = op_input(plan->graph, op, i);
        if (t != NULL && graph_is_constant(plan->graph, t) && t->rank == 1 && t->dims[0] == g.heads)
            split_static(plan, op->inputs[i], (shard){0, l.heads});
    }
    return FT_OK;
}

/* States and weights with a dimension of the divided size. */
static void visit_state(split_plan *plan, const ft_op *op) {
    int64_t ranks = plan->ranks.tensor;
    assert(ranks > 0);
    if (!shard_is_part(plan->held[op->outputs[0]])) return;
    for (uint32_t i = 1; i < op->input_count; i++) {
        const ft_tensor *t = op_input(plan->graph, op, i);
        if (t == NULL || !shape_is_known(t) || t->rank < 1) continue;
        int32_t axis = t->role == FT_INPUT && t->rank > 2 ? 1 : 0;
        bool is_stored = t->role == FT_INPUT || graph_is_constant(plan->graph, t);
        if (is_stored && t->dims[axis] % ranks == 0)
            split_static(plan, op->inputs[i], (shard){axis, t->dims[axis] / ranks});
    }
    for (uint32_t i = 1; i < op->output_count; i++) {
        const ft_tensor *t = op_output(plan->graph, op, i);
        if (t != NULL && t->rank > 2 && t->dims[1] % ranks == 0)
            plan->held[op->outputs[i]] = (shard){1, t->dims[1] / ranks};
    }
}

/* Ranks look up the rows that they have, and the results are summed. */
static void visit_lookup(split_plan *plan, uint32_t k) {
    const ft_op *op = &plan->graph->ops[k];
    const ft_tensor *table = op_input(plan->graph, op, 0);
    int64_t rows = (int64_t)num_div_up((uint64_t)table->dims[0], plan->ranks.tensor);
    plan->kinds[k] = SPLIT_TABLE;
    split_static(plan, op->inputs[0], (shard){0, rows});
}

static ft_status visit_op(split_plan *plan, uint32_t k) {
    const ft_op *op = &plan->graph->ops[k];
    if (op->is_folded || op->output_count == 0 || op->outputs[0] == FT_NONE) return FT_OK;
    if (op->def->cost == COST_MOE) {
        if (plan->ranks.tensor > 1 || plan->ranks.expert > 1) plan->kinds[k] = SPLIT_EXPERTS;
        return split_experts(plan, op);
    }
    if (plan->ranks.tensor == 1) return FT_OK;
    for (uint32_t i = 0; i < op->output_count; i++)
        if (op->outputs[i] != FT_NONE) plan->held[op->outputs[i]] = plan->wanted[op->outputs[i]];
    if (k == plan->lookup)
        visit_lookup(plan, k);
    else if (split_is_linear(plan->graph, op))
        visit_linear(plan, k);
    else if (op->def->cost == COST_ATTENTION)
        return visit_attention(plan, op);
    else if (op->def->cost == COST_LINEAR_ATTENTION || op->def->cost == COST_CONV)
        visit_state(plan, op);
    else
        split_aligned(plan, op);
    return FT_OK;
}

/* The largest table that is looked up before the first layer: that of the words, and not that of positions. */
static uint32_t find_lookup(const split_plan *plan) {
    const ft_graph *graph = plan->graph;
    uint32_t found = FT_NONE;
    int64_t largest = plan->ranks.tensor;
    for (uint32_t k = 0; k < graph->op_count && plan->layers.of_op[k] == 0; k++) {
        const ft_op *op = &graph->ops[k];
        const ft_tensor *table = op_input(graph, op, 0), *y = op_output(graph, op, 0);
        bool is_gather = op_is(op, "Gather") && op_attr_int(op, "axis", 0) == 0;
        if (!is_gather && !op_is(op, "GatherBlockQuantized")) continue;
        if (op->is_folded || table == NULL || y == NULL || table->rank < 2 || !graph_is_constant(graph, table))
            continue;
        if (!dtype_info_of(y->dtype).is_float || table->dims[0] <= largest) continue;
        largest = table->dims[0];
        found = k;
    }
    return found;
}

/* --- The whole --------------------------------------------------------------------------------------------------- */

ft_status split_plan_make(split_plan *plan) {
    const ft_graph *graph = plan->graph;
    size_t tensors = (size_t)graph->tensor_count + 1;
    plan->wanted = ARENA_ARRAY(plan->memory, shard, tensors);
    plan->held = ARENA_ARRAY(plan->memory, shard, tensors);
    plan->inner = ARENA_ARRAY(plan->memory, shard, tensors);
    plan->kinds = ARENA_ARRAY(plan->memory, uint8_t, (size_t)graph->op_count + 1);
    if (plan->wanted == NULL || plan->held == NULL || plan->inner == NULL || plan->kinds == NULL ||
        !layers_find(graph, plan->memory, &plan->layers))
        return FT_NOMEM(plan->error);
    for (size_t t = 0; t < tensors; t++) plan->wanted[t] = plan->held[t] = plan->inner[t] = whole;
    plan->lookup = find_lookup(plan);
    if (plan->ranks.tensor > 1) FT_TRY(visit_backwards(plan));
    for (uint32_t k = 0; k < graph->op_count; k++) FT_TRY(visit_op(plan, k));
    return FT_OK;
}
