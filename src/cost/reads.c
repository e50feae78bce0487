/* reads.c - shares of tensors that an operator reads or writes where it does not touch all of them.
 *
 * Tables (`table_inputs` of the operator table) are read by rows: embeddings by the tokens, tables of angles by the
 * positions of a sequence, weights of experts by the experts that tokens are sent to. Sequences of a batch share their
 * positions; tokens share an expert only when there are more tokens than experts: then all of them run. A cache of keys
 * and values is read as far as it is filled; where past and present are one buffer, only the new rows are written. */
#include "cost/reads.h"

#include "cost/sizes.h"
#include "graph/geometry.h"

static const tensor_share all = {0, 0};

static uint64_t elems_of(const ft_tensor *t) {
    return t == NULL ? 0 : (uint64_t)shape_elems(t->dims, t->rank);
}

static tensor_share rows_of(const ft_tensor *table, int32_t axis, uint64_t rows) {
    return axis < table->rank && table->dims[axis] > 0 ? (tensor_share){rows, (uint64_t)table->dims[axis]} : all;
}

/* Positions of one sequence: the dimension before the last, heads apart or not. */
static uint64_t positions_of(const ft_graph *graph, const ft_op *op) {
    attention_geometry g;
    if (attention_geometry_of(graph, op, &g)) return (uint64_t)g.queries;
    const ft_tensor *x = op_input(graph, op, 0);
    return x != NULL && x->rank >= 3 ? (uint64_t)x->dims[x->rank - 2] : UINT64_MAX;
}

static tensor_share experts_of(const ft_graph *graph, const ft_op *op, const ft_tensor *weights) {
    const ft_tensor *x = op_input(graph, op, 0);
    int64_t chosen = op_attr_int(op, "k", 1);
    if (x == NULL || x->rank < 1 || x->dims[x->rank - 1] <= 0 || chosen <= 0) return all;
    uint64_t tokens = elems_of(x) / (uint64_t)x->dims[x->rank - 1];
    return rows_of(weights, 0, num_mul_sat(tokens, (uint64_t)chosen));
}

static tensor_share table_share(const ft_graph *graph, const ft_op *op, uint32_t i, const ft_tensor *table) {
    if (op->def->cost == COST_MOE) return experts_of(graph, op, table);
    if (op_is(op, "GatherBlockQuantized")) {
        int64_t axis = op_attr_int(op, "gather_axis", 0);
        if (axis < 0) axis += table->rank;
        return axis >= 0 && axis < table->rank ? rows_of(table, (int32_t)axis, elems_of(op_input(graph, op, 1))) : all;
    }
    if (op->def->op_class == FT_CLASS_NORM) { /* words, positions, segments */
        const ft_tensor *words = op_input(graph, op, 0);
        bool has_own_positions = op_input(graph, op, 8) != NULL && op_is(op, "EmbedLayerNormalization");
        if (words == NULL || words->rank != 2) return all;
        return rows_of(table, 0, i == 3 && !has_own_positions ? (uint64_t)words->dims[1] : elems_of(words));
    }
    if (table->rank != 2 || !size_is_float(table)) return all; /* angles of each position, or the positions */
    return rows_of(table, 0, positions_of(graph, op));
}

static bool is_cache_input(const attention_geometry *g, uint32_t i) {
    return i != 0 && (i == g->past_key || i == g->past_value);
}

tensor_share reads_of_input(const ft_graph *graph, const ft_op *op, uint32_t i) {
    const ft_tensor *t = op_input(graph, op, i);
    attention_geometry g;
    if (t == NULL || !shape_is_known(t)) return all;
    if (i < 32 && (op->def->table_inputs >> i & 1) != 0) return table_share(graph, op, i, t);
    if (op->def->cost != COST_ATTENTION || !attention_geometry_of(graph, op, &g) || !is_cache_input(&g, i)) return all;
    uint64_t keys = (uint64_t)g.keys;
    return (tensor_share){g.is_paged ? num_mul_sat(keys, (uint64_t)g.batch) : keys, (uint64_t)g.past};
}

tensor_share writes_of_output(const ft_graph *graph, const ft_op *op, uint32_t i) {
    attention_geometry g;
    if (op->def->cost != COST_ATTENTION || i == 0 || !attention_geometry_of(graph, op, &g) || !g.shares_cache)
        return all;
    if (i != g.present_key && i != g.present_value) return all;
    return (tensor_share){(uint64_t)(g.is_paged ? g.tokens : g.added), (uint64_t)g.present};
}
