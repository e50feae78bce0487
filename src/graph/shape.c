/* shape.c - shared functions of shape rules: inputs, outputs, axes, broadcasting. */
#include "graph/shape.h"

#include <assert.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const ft_tensor *input_known(const infer *in, uint32_t i) {
    const ft_tensor *t = input_at(in, i);
    return t != NULL && shape_is_known(t) ? t : NULL;
}

ft_status shape_fail(const infer *in, const char *format, ...) {
    char text[256];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return ft_fail(in->error, FT_ERR_GRAPH, "operator '%s' (%s): %s", in->op->name, in->op->type, text);
}

ft_status shape_set(infer *in, uint32_t i, ft_dtype dtype, const int64_t *dims, int32_t rank) {
    if (i >= in->op->output_count || in->op->outputs[i] == FT_NONE) return FT_OK;
    assert(rank >= 0 && (rank == 0 || dims != NULL) && in->op->outputs[i] < in->graph->tensor_count);
    ft_tensor *t = &in->graph->tensors[in->op->outputs[i]];
    if (t->dtype == FT_DTYPE_UNKNOWN) t->dtype = dtype;
    if (rank > FT_MAX_RANK)
        return ft_fail(in->error, FT_ERR_LIMIT,
                       "operator '%s' (%s): output has %d dimensions; at most %d are supported", in->op->name,
                       in->op->type, rank, FT_MAX_RANK);
    bool is_empty = false;
    for (int32_t k = 0; k < rank; k++) {
        if (dims[k] < 0) return shape_fail(in, "dimension %d of output %u would be %lld", k, i, (long long)dims[k]);
        if (dims[k] == 0) is_empty = true;
        t->dims[k] = dims[k];
    }
    t->rank = rank;
    if (!is_empty && shape_elems(dims, rank) == 0)
        return ft_fail(in->error, FT_ERR_LIMIT, "operator '%s' (%s): output %u has more than 2^46 elements",
                       in->op->name, in->op->type, i);
    return FT_OK;
}

ft_status shape_set_like(infer *in, uint32_t i, const ft_tensor *like) {
    return shape_set(in, i, like->dtype, like->dims, like->rank);
}

ft_status shape_fail_mismatch(const infer *in, const ft_tensor *x, const ft_tensor *weight) {
    char a[128], b[128];
    shape_text(in->graph, x, a, sizeof a);
    if (weight == NULL) return shape_fail(in, "the window does not fit the input %s", a);
    return shape_fail(in, "weights %s do not fit the input %s", shape_text(in->graph, weight, b, sizeof b), a);
}

ft_dtype shape_product_type(const infer *in, const ft_tensor *x) {
    if (strstr(in->op->type, "Integer") != NULL && strstr(in->op->type, "Float") == NULL) return FT_INT32;
    if (strcmp(in->op->type, "DynamicQuantizeMatMul") == 0 || strcmp(in->op->type, "MatMulIntegerToFloat") == 0)
        return FT_FLOAT32;
    return x->dtype;
}

bool axis_normalize(int64_t axis, int32_t rank, int32_t *normal) {
    if (axis < -(int64_t)rank || axis >= rank) return false;
    *normal = (int32_t)(axis < 0 ? axis + rank : axis);
    assert(*normal >= 0 && *normal < rank);
    return true;
}

bool input_ints(const infer *in, uint32_t i, const int64_t **ints, int64_t *count) {
    const ft_tensor *t = input_at(in, i);
    if (t == NULL || t->value == NULL || t->value->ints == NULL) return false;
    *ints = t->value->ints;
    *count = t->value->count;
    return true;
}

bool input_number(const infer *in, uint32_t i, double *number) {
    const ft_tensor *t = input_at(in, i);
    if (t == NULL || t->value == NULL || t->value->count < 1) return false;
    *number = t->value->ints != NULL ? (double)t->value->ints[0] : t->value->floats[0];
    return true;
}

bool input_size(const infer *in, uint32_t i, int64_t *size) {
    double number;
    if (!input_number(in, i, &number) || !(number >= -(double)FT_MAX_DIM && number <= (double)FT_MAX_DIM)) return false;
    *size = (int64_t)number;
    return true;
}

bool ints_of(const infer *in, const char *name, uint32_t i, const int64_t **ints, int64_t *count) {
    uint32_t length;
    *ints = op_attr_ints(in->op, name, &length);
    *count = length;
    return *ints != NULL || input_ints(in, i, ints, count);
}

bool axes_of(const infer *in, uint32_t i, int32_t rank, bool is_axis[FT_MAX_RANK], bool *has_axes) {
    const int64_t *axes;
    int64_t count;
    for (int32_t k = 0; k < FT_MAX_RANK; k++) is_axis[k] = false;
    *has_axes = false;
    if (!ints_of(in, "axes", i, &axes, &count)) return input_at(in, i) == NULL;
    for (int64_t k = 0; k < count; k++) {
        int32_t axis;
        if (!axis_normalize(axes[k], rank, &axis)) return false;
        is_axis[axis] = true;
        *has_axes = true;
    }
    return true;
}

bool broadcast_dims(const ft_tensor *a, const ft_tensor *b, int64_t dims[FT_MAX_RANK], int32_t *rank) {
    assert(a->rank >= 0 && b->rank >= 0);
    *rank = a->rank > b->rank ? a->rank : b->rank;
    for (int32_t i = 1; i <= *rank; i++) {
        int64_t da = i <= a->rank ? a->dims[a->rank - i] : 1;
        int64_t db = i <= b->rank ? b->dims[b->rank - i] : 1;
        if (da != db && da != 1 && db != 1) return false;
        dims[*rank - i] = da == 1 ? db : da;
    }
    return true;
}

uint64_t loop_trips(const ft_graph *graph, uint32_t loop) {
    const uint64_t max_trips = UINT64_C(1) << 32; /* larger counts mean "until the condition is false" */
    assert(loop < graph->loop_count);
    const graph_loop *l = &graph->loops[loop];
    if (l->trip_tensor != FT_NONE) {
        const ft_value *value = graph->tensors[l->trip_tensor].value;
        if (value != NULL && value->count == 1 && value->ints != NULL && value->ints[0] > 0 &&
            (uint64_t)value->ints[0] < max_trips)
            return (uint64_t)value->ints[0];
    }
    if (l->scan_tensor != FT_NONE) {
        const ft_tensor *t = &graph->tensors[l->scan_tensor];
        int32_t axis;
        if (shape_is_known(t) && axis_normalize(l->scan_axis, t->rank, &axis) && t->dims[axis] > 0 &&
            (uint64_t)t->dims[axis] < max_trips)
            return (uint64_t)t->dims[axis];
    }
    return 1;
}
