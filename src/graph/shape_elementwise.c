/* shape_elementwise.c - shape rules of elementwise operators, broadcasting operators and reductions. */
#include "graph/shape.h"

ft_status shape_same(infer *in) {
    const ft_tensor *x = input_known(in, 0);
    return x != NULL ? shape_set_like(in, 0, x) : FT_OK;
}

/* All inputs from `first` on, broadcast together. *is_known is false when a shape is missing. */
static ft_status broadcast(infer *in, uint32_t first, ft_tensor *all, bool *is_known) {
    *is_known = false;
    const ft_tensor *x = input_known(in, first);
    if (x == NULL) return FT_OK;
    *all = *x;
    for (uint32_t i = first + 1; i < in->op->input_count; i++) {
        const ft_tensor *y = input_known(in, i);
        if (i < 32 && (in->op->def->aux_inputs >> i & 1) != 0) continue; /* scales, zero points */
        if (y == NULL) {
            if (input_at(in, i) != NULL) return FT_OK;
            continue;
        }
        ft_tensor sum = *all;
        if (!broadcast_dims(all, y, sum.dims, &sum.rank)) {
            char a[128], b[128];
            return shape_fail(in, "the shapes %s and %s of its inputs do not broadcast",
                              shape_text(in->graph, all, a, sizeof a), shape_text(in->graph, y, b, sizeof b));
        }
        *all = sum;
    }
    *is_known = true;
    return FT_OK;
}

ft_status shape_broadcast(infer *in) {
    ft_tensor all;
    bool is_known;
    FT_TRY(broadcast(in, 0, &all, &is_known));
    return is_known ? shape_set_like(in, 0, &all) : FT_OK;
}

ft_status shape_compare(infer *in) {
    ft_tensor all;
    bool is_known;
    FT_TRY(broadcast(in, 0, &all, &is_known));
    return is_known ? shape_set(in, 0, FT_BOOL, all.dims, all.rank) : FT_OK;
}

/* Where(condition, x, y): the type is that of x. */
ft_status shape_where(infer *in) {
    ft_tensor all;
    bool is_known;
    FT_TRY(broadcast(in, 0, &all, &is_known));
    const ft_tensor *x = input_at(in, 1);
    return is_known && x != NULL ? shape_set(in, 0, x->dtype, all.dims, all.rank) : FT_OK;
}

static ft_status same_as_type(infer *in, const char *attribute, ft_dtype fallback) {
    const ft_tensor *x = input_known(in, 0);
    ft_dtype dtype = dtype_of_onnx(op_attr_int(in->op, attribute, 0));
    return x != NULL ? shape_set(in, 0, dtype != FT_DTYPE_UNKNOWN ? dtype : fallback, x->dims, x->rank) : FT_OK;
}

/* Cast: attribute "to"; CastLike: the type of input 1; EyeLike: attribute "dtype". */
ft_status shape_cast(infer *in) {
    const ft_tensor *x = input_at(in, 0), *like = input_at(in, 1);
    ft_dtype fallback = like != NULL ? like->dtype : x != NULL ? x->dtype : FT_DTYPE_UNKNOWN;
    return same_as_type(in, ft_op_attr(in->op, "to") != NULL ? "to" : "dtype", fallback);
}

ft_status shape_random_like(infer *in) {
    const ft_tensor *x = input_at(in, 0);
    return same_as_type(in, "dtype", x != NULL ? x->dtype : FT_FLOAT32);
}

ft_status shape_quantize(infer *in) {
    const ft_tensor *x = input_known(in, 0), *zero = input_at(in, 2);
    return x != NULL ? shape_set(in, 0, zero != NULL ? zero->dtype : FT_UINT8, x->dims, x->rank) : FT_OK;
}

ft_status shape_dequantize(infer *in) {
    const ft_tensor *x = input_known(in, 0), *scale = input_at(in, 1);
    return x != NULL ? shape_set(in, 0, scale != NULL ? scale->dtype : FT_FLOAT32, x->dims, x->rank) : FT_OK;
}

ft_status shape_dynamic_quantize(infer *in) {
    const ft_tensor *x = input_known(in, 0);
    FT_TRY(shape_set(in, 1, FT_FLOAT32, NULL, 0));
    FT_TRY(shape_set(in, 2, FT_UINT8, NULL, 0));
    return x != NULL ? shape_set(in, 0, FT_UINT8, x->dims, x->rank) : FT_OK;
}

ft_status shape_dropout(infer *in) {
    const ft_tensor *x = input_known(in, 0);
    if (x == NULL) return FT_OK;
    FT_TRY(shape_set_like(in, 0, x));
    return shape_set(in, 1, FT_BOOL, x->dims, x->rank);
}

/* The same bits in another type: only a type of the same width keeps the shape. */
ft_status shape_bitcast(infer *in) {
    const ft_tensor *x = input_known(in, 0), *y = op_output(in->graph, in->op, 0);
    if (x == NULL || y == NULL || ft_dtype_bits(x->dtype) != ft_dtype_bits(y->dtype)) return FT_OK;
    return shape_set_like(in, 0, x);
}

static ft_status reduced(infer *in, const ft_tensor *x, const bool is_axis[FT_MAX_RANK], ft_dtype dtype,
                         bool keeps_dims) {
    int64_t dims[FT_MAX_RANK];
    int32_t rank = 0;
    for (int32_t i = 0; i < x->rank; i++) {
        if (!is_axis[i])
            dims[rank++] = x->dims[i];
        else if (keeps_dims)
            dims[rank++] = 1;
    }
    return shape_set(in, 0, dtype, dims, rank);
}

ft_status shape_reduce(infer *in) {
    const ft_tensor *x = input_known(in, 0);
    bool is_axis[FT_MAX_RANK], has_axes;
    if (x == NULL) return FT_OK;
    if (!axes_of(in, 1, x->rank, is_axis, &has_axes)) {
        const int64_t *axes;
        int64_t count;
        if (ints_of(in, "axes", 1, &axes, &count))
            return shape_fail(in, "an axis is out of range for rank %d", x->rank);
        return FT_OK;
    }
    if (!has_axes) {
        /* TensorFlow's reductions over no axis, and ONNX's with this attribute, are the identity. */
        if (op_attr_int(in->op, "noop_with_empty_axes", 0) != 0) return shape_set_like(in, 0, x);
        for (int32_t i = 0; i < x->rank; i++) is_axis[i] = true;
    }
    return reduced(in, x, is_axis, x->dtype, op_attr_int(in->op, "keepdims", 1) != 0);
}

ft_status shape_arg_reduce(infer *in) {
    const ft_tensor *x = input_known(in, 0);
    if (x == NULL) return FT_OK;
    int64_t axis = op_attr_int(in->op, "axis", 0);
    if (input_at(in, 1) != NULL && !input_size(in, 1, &axis)) return FT_OK;
    bool is_axis[FT_MAX_RANK] = {false};
    int32_t normal;
    if (!axis_normalize(axis, x->rank, &normal))
        return shape_fail(in, "axis %lld is out of range for rank %d", (long long)axis, x->rank);
    is_axis[normal] = true;
    /* In TFLite, the axis is an input and the dimension is removed. */
    return reduced(in, x, is_axis, FT_INT64, op_attr_int(in->op, "keepdims", input_at(in, 1) == NULL) != 0);
}
