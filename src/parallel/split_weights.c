/* split_weights.c - parts of stored tensors: matrices by columns and rows with their biases and scales, experts, and
 * vectors beside divided results. */
#include "parallel/split.h"

/* --- Any stored tensor ------------------------------------------------------------------------------------------- */

/* A part of a tensor that folded operators compute is a part of what they read. */
void split_static(split_plan *plan, uint32_t tensor, shard part) {
    enum { MAX_STEPS = 8 };
    for (int step = 0; step < MAX_STEPS && part.axis >= 0; step++) {
        const ft_tensor *t = &plan->graph->tensors[tensor];
        if (part.axis >= t->rank || part.local >= t->dims[part.axis]) return;
        if (shard_is_part(plan->held[tensor])) return; /* tied weights: the first reader decides */
        plan->held[tensor] = part;
        if (t->producer == FT_NONE) return;
        const ft_op *op = &plan->graph->ops[t->producer];
        const ft_tensor *x = op_input(plan->graph, op, 0);
        if (x == NULL || x->rank != t->rank) return;
        if (op_is(op, "Transpose")) {
            uint32_t count;
            const int64_t *order = op_attr_ints(op, "perm", &count);
            int64_t axis = order == NULL ? t->rank - 1 - part.axis : (int32_t)count > part.axis ? order[part.axis] : -1;
            if (axis < 0 || axis >= x->rank) return;
            part.axis = (int32_t)axis;
        } else if (x->dims[part.axis] != t->dims[part.axis]) {
            return;
        }
        tensor = op->inputs[0];
    }
}

/* --- Products ---------------------------------------------------------------------------------------------------- */

static uint32_t weight_input(const ft_op *op) {
    return op->def->w == 0 ? 1 : op->def->w;
}

static bool is_packed(const ft_op *op) {
    return op->def->packed_inputs != 0;
}

/* The dimension of the matrix that the columns of the result are. */
static int32_t column_axis(const ft_op *op, const ft_tensor *w) {
    if (is_packed(op) || op_is(op, "FullyConnected")) return 0;
    return op_attr_int(op, "transB", 0) != 0 ? w->rank - 2 : w->rank - 1;
}

/* Scales and biases: their first dimension is that of the columns, or a vector has several numbers a column. */
static void split_column_vector(split_plan *plan, uint32_t tensor, int64_t n, int64_t local) {
    const ft_tensor *t = &plan->graph->tensors[tensor];
    int64_t size = t->rank > 0 ? t->dims[0] : 0, part;
    if (size < n || size % n != 0 || !num_mul_i64(size / n, local, &part)) return;
    split_static(plan, tensor, (shard){0, part});
}

void split_columns(split_plan *plan, const ft_op *op, int64_t local) {
    const ft_tensor *y = op_output(plan->graph, op, 0);
    int64_t n = y->dims[y->rank - 1];
    for (uint32_t i = 0; i < op->input_count; i++) {
        const ft_tensor *t = op_input(plan->graph, op, i);
        if (i == op->def->x || t == NULL || !graph_is_constant(plan->graph, t) || t->rank < 1) continue;
        if (i == weight_input(op) && t->rank >= 2)
            split_static(plan, op->inputs[i], (shard){column_axis(op, t), local});
        else
            split_column_vector(plan, op->inputs[i], n, local);
    }
}

/* Of packed weights and their scales, blocks along the rows. */
static void split_blocks(split_plan *plan, uint32_t tensor, int64_t rows, int64_t local) {
    const ft_tensor *t = &plan->graph->tensors[tensor];
    int64_t blocks;
    int32_t axis = t->rank > 1 ? 1 : 0;
    if (t->rank < 1 || !num_mul_i64(t->dims[axis], local, &blocks) || blocks < rows) return;
    split_static(plan, tensor, (shard){axis, blocks / rows});
}

void split_rows(split_plan *plan, const ft_op *op, int64_t local) {
    const ft_tensor *x = op_input(plan->graph, op, op->def->x);
    int64_t rows = x->dims[x->rank - 1];
    for (uint32_t i = 0; i < op->input_count; i++) {
        const ft_tensor *t = op_input(plan->graph, op, i);
        if (i == op->def->x || t == NULL || !graph_is_constant(plan->graph, t) || t->rank < 1) continue;
        bool is_scale = i < 32 && (op->def->scale_inputs >> i & 1) != 0;
        if (is_packed(op) && (i == weight_input(op) || is_scale))
            split_blocks(plan, op->inputs[i], rows, local);
        else if (i == weight_input(op) && t->rank >= 2)
            split_static(plan, op->inputs[i], (shard){2 * t->rank - 3 - column_axis(op, t), local});
    }
}

/* --- Experts ----------------------------------------------------------------------------------------------------- */

/* The width of an expert: in its first matrices the dimension that is not that of the data, in its last one too. */
static int32_t inner_axis(const ft_op *op, uint32_t i, const ft_tensor *t, int64_t width) {
    bool is_last = op_is(op, "QMoE") ? i >= 5 && i <= 7 : i >= 4 && i <= 5;
    if (t->rank != 3) return is_last ? -1 : 1; /* a bias of the result is whole */
    int32_t usual = is_last ? 2 : 1, other = 3 - usual;
    return t->dims[usual] == width && t->dims[other] != width ? other : usual;
}

/* Whole experts are divided first; what is left of the ranks divides each. */
ft_status split_experts(split_plan *plan, const ft_op *op) {
    const ft_tensor *first = op_input(plan->graph, op, 2), *x = op_input(plan->graph, op, 0);
    int64_t by = plan->ranks.expert, ranks = plan->ranks.tensor > by ? plan->ranks.tensor : by;
    if (first == NULL || first->rank < 1 || x == NULL || x->rank < 1) return FT_OK;
    int64_t experts = first->dims[0], width = x->dims[x->rank - 1];
    if (experts % by != 0)
        return ft_fail(plan->error, FT_ERR_USAGE,
                       "'%s' (%s): %lld experts cannot be divided between %lld expert-parallel ranks", op->name,
                       op->type, (long long)experts, (long long)by);
    for (uint32_t i = 2; i < op->input_count; i++) {
        const ft_tensor *t = op_input(plan->graph, op, i);
        if (t == NULL || !graph_is_constant(plan->graph, t) || t->rank < 1 || t->dims[0] != experts) continue;
        int32_t axis = inner_axis(op, i, t, width);
        int64_t inside = ranks / by;
        if (by > 1) split_static(plan, op->inputs[i], (shard){0, experts / by});
        if (inside > 1 && axis > 0 && t->dims[axis] % inside == 0)
            plan->inner[op->inputs[i]] = (shard){axis, t->dims[axis] / inside};
    }
    return FT_OK;
}

/* --- Vectors beside divided results ------------------------------------------------------------------------------ */

void split_aligned(split_plan *plan, const ft_op *op) {
    const ft_tensor *y = op_output(plan->graph, op, 0);
    shard out = plan->held[op->outputs[0]];
    if (!shard_is_part(out) || y == NULL) return;
    bool is_norm = op->def->op_class == FT_CLASS_NORM;
    for (uint32_t i = is_norm ? 1 : 0; i < op->input_count; i++) {
        const ft_tensor *t = op_input(plan->graph, op, i);
        if (t == NULL || !graph_is_constant(plan->graph, t) || op->def->cost == COST_FREE) continue;
        int32_t axis = out.axis - (y->rank - t->rank);
        if (axis >= 0 && t->dims[axis] == y->dims[out.axis])
            split_static(plan, op->inputs[i], (shard){axis, out.local});
    }
}
