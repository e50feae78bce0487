/* fold_tflite.c - fold rules of operators whose operands are specific to TFLite and TensorFlow.
 *
 * Converted models compute shapes with them (SHAPE -> STRIDED_SLICE -> PACK -> RESHAPE). The rules run after those of
 * shape_tflite.c, when all inputs have values (shape.h). */
#include "graph/shape.h"

ft_status fold_strided_slice(infer *in) {
    const ft_tensor *x = input_at(in, 0);
    strided_slice s;
    if (strided_slice_of(in, &s) && s.fault == NULL) fold_strided(in, 0, x, s.begin, s.stride, s.count);
    return FT_OK;
}

ft_status fold_slice_size(infer *in) {
    const ft_tensor *x = input_at(in, 0), *y = op_output(in->graph, in->op, 0);
    static const int64_t ones[FT_MAX_RANK] = {1, 1, 1, 1, 1, 1, 1, 1};
    const int64_t *begin;
    int64_t count;
    if (y == NULL || y->rank != x->rank || !input_ints(in, 1, &begin, &count) || count != x->rank) return FT_OK;
    fold_strided(in, 0, x, begin, ones, y->dims);
    return FT_OK;
}

/* Output `i` is the part of `x` from `start` on, `length` long, along `axis`. */
static void fold_part(infer *in, uint32_t i, const ft_tensor *x, int32_t axis, int64_t start, int64_t length) {
    assert(axis >= 0 && axis < x->rank);
    int64_t begin[FT_MAX_RANK] = {0}, stride[FT_MAX_RANK], count[FT_MAX_RANK];
    for (int32_t k = 0; k < x->rank; k++) {
        stride[k] = 1;
        count[k] = k == axis ? length : x->dims[k];
    }
    begin[axis] = start;
    fold_strided(in, i, x, begin, stride, count);
}

/* The parts of SPLIT and SPLIT_V are consecutive along the axis; the shape rule has checked their sizes. */
static ft_status fold_parts(infer *in, const ft_tensor *x, uint32_t axis_input) {
    const int64_t *number;
    int64_t count, start = 0;
    int32_t axis;
    if (!input_ints(in, axis_input, &number, &count) || count < 1 || !axis_normalize(number[0], x->rank, &axis))
        return FT_OK;
    for (uint32_t i = 0; i < in->op->output_count; i++) {
        const ft_tensor *y = op_output(in->graph, in->op, i);
        if (y == NULL || y->rank != x->rank) return FT_OK;
        fold_part(in, i, x, axis, start, y->dims[axis]);
        start += y->dims[axis];
    }
    return FT_OK;
}

ft_status fold_split_axis_first(infer *in) {
    return input_at(in, 1) != NULL ? fold_parts(in, input_at(in, 1), 0) : FT_OK;
}

ft_status fold_split_v(infer *in) {
    return fold_parts(in, input_at(in, 0), 2);
}

ft_status fold_unpack(infer *in) {
    const ft_tensor *x = input_at(in, 0);
    int32_t axis;
    if (ft_op_attr(in->op, "axis") == NULL || !axis_normalize(op_attr_int(in->op, "axis", 0), x->rank, &axis))
        return FT_OK;
    for (uint32_t i = 0; i < in->op->output_count; i++) fold_part(in, i, x, axis, i, 1);
    return FT_OK;
}

/* As [outer, inputs, inner]: `inner` elements of each input in turn. */
ft_status fold_pack(infer *in) {
    const ft_tensor *x = input_at(in, 0);
    int32_t axis;
    fold_result r;
    if (ft_op_attr(in->op, "axis") == NULL || !axis_normalize(op_attr_int(in->op, "axis", 0), x->rank + 1, &axis))
        return FT_OK;
    bool is_float = x->value->floats != NULL;
    for (uint32_t i = 0; i < in->op->input_count; i++) {
        const ft_tensor *piece = input_at(in, i);
        if (piece == NULL || piece->value->count != x->value->count || (piece->value->floats != NULL) != is_float)
            return FT_OK;
    }
    if (!fold_begin_count(in, 0, is_float, x->value->count * (int64_t)in->op->input_count, &r)) return FT_OK;
    int64_t inner = shape_elems(x->dims + axis, x->rank - axis);
    for (int64_t i = 0; inner > 0 && i < r.count; i++) {
        int64_t piece = i / inner % in->op->input_count, outer = i / inner / in->op->input_count;
        fold_element(&r, i, input_at(in, (uint32_t)piece)->value, outer * inner + i % inner);
    }
    return FT_OK;
}

ft_status fold_gather_batch(infer *in) {
    if (ft_op_attr(in->op, "axis") == NULL || op_attr_int(in->op, "batch_dims", 0) != 0) return FT_OK;
    return fold_gather(in);
}

/* FILL(shape, value). */
ft_status fold_fill_value(infer *in) {
    const ft_tensor *value = input_at(in, 1);
    fold_result r;
    if (value == NULL || value->value->count < 1 || !fold_begin(in, 0, value->value->floats != NULL, &r)) return FT_OK;
    for (int64_t i = 0; i < r.count; i++) fold_element(&r, i, value->value, 0);
    return FT_OK;
}

/* The number of dimensions; the elements need not be known. */
ft_status fold_rank(infer *in) {
    const ft_tensor *x = input_at(in, 0);
    fold_result r;
    if (x == NULL || x->rank < 0 || !fold_begin_count(in, 0, false, 1, &r)) return FT_OK;
    r.ints[0] = x->rank;
    return FT_OK;
}

/* BROADCAST_ARGS: dimensions are aligned at the end, and 1 broadcasts. */
ft_status fold_broadcast_args(infer *in) {
    const int64_t *a, *b;
    int64_t a_count, b_count;
    fold_result r;
    if (!input_ints(in, 0, &a, &a_count) || !input_ints(in, 1, &b, &b_count) || !fold_begin(in, 0, false, &r))
        return FT_OK;
    for (int64_t i = 1; i <= r.count; i++) {
        int64_t left = i <= a_count ? a[a_count - i] : 1, right = i <= b_count ? b[b_count - i] : 1;
        r.ints[r.count - i] = left == 1 ? right : left;
    }
    return FT_OK;
}

/* SPARSE_TO_DENSE(indices, shape, values, default), with rows of indices, or a list of them when the shape has one
 * dimension. */
ft_status fold_sparse_to_dense(infer *in) {
    const ft_tensor *y = op_output(in->graph, in->op, 0), *values = input_at(in, 2), *rest = input_at(in, 3);
    const int64_t *indices;
    int64_t count;
    fold_result r;
    if (rest == NULL || rest->value->count != 1 || values == NULL || !input_ints(in, 0, &indices, &count)) return FT_OK;
    bool is_float = rest->value->floats != NULL;
    if (y == NULL || y->rank < 1 || count % y->rank != 0 || (values->value->floats != NULL) != is_float ||
        (values->value->count != 1 && values->value->count != count / y->rank))
        return FT_OK;
    for (int64_t i = 0; i < count; i++)
        if (indices[i] < 0 || indices[i] >= y->dims[i % y->rank]) return FT_OK;
    if (!fold_begin(in, 0, is_float, &r)) return FT_OK;
    for (int64_t i = 0; i < r.count; i++) fold_element(&r, i, rest->value, 0);
    for (int64_t i = 0; i < count / y->rank; i++) {
        int64_t at = 0;
        for (int32_t k = 0; k < y->rank; k++) at = at * y->dims[k] + indices[i * y->rank + k];
        fold_element(&r, at, values->value, values->value->count == 1 ? 0 : i);
    }
    return FT_OK;
}
