/* shape_select.c - shape rules of Shape and Size, tensors without data inputs, selections, and values of loops.
 *
 * Where the number of results depends on the data (NonZero, NonMaxSuppression, Unique, Compress), the shape is the
 * largest possible one. */
#include <math.h>

#include "graph/shape.h"

/* Shape(x, start, end). */
ft_status shape_shape(infer *in) {
    const ft_tensor *x = input_at(in, 0);
    if (x == NULL || x->rank < 0) return FT_OK;
    int64_t start = op_attr_int(in->op, "start", 0), end = op_attr_int(in->op, "end", x->rank);
    if (start < 0) start += x->rank;
    if (end < 0) end += x->rank;
    if (start < 0) start = 0;
    if (end > x->rank) end = x->rank;
    int64_t count = end > start ? end - start : 0;
    return shape_set(in, 0, FT_INT64, &count, 1);
}

ft_status shape_size(infer *in) {
    return shape_set(in, 0, FT_INT64, NULL, 0);
}

ft_status shape_constant_of_shape(infer *in) {
    const int64_t *dims;
    int64_t rank;
    if (!input_ints(in, 0, &dims, &rank)) return FT_OK;
    ft_dtype dtype = (ft_dtype)op_attr_int(in->op, "value_dtype", FT_FLOAT32);
    return shape_set(in, 0, dtype, dims, rank > FT_MAX_RANK ? FT_MAX_RANK + 1 : (int32_t)rank);
}

ft_status shape_random(infer *in) {
    const int64_t *dims;
    int64_t rank;
    if (!ints_of(in, "shape", 0, &dims, &rank)) return FT_OK;
    return shape_set(in, 0, FT_FLOAT32, dims, rank > FT_MAX_RANK ? FT_MAX_RANK + 1 : (int32_t)rank);
}

/* Range(start, limit, delta). */
ft_status shape_range(infer *in) {
    double start, limit, delta;
    if (!input_number(in, 0, &start) || !input_number(in, 1, &limit) || !input_number(in, 2, &delta)) return FT_OK;
    if (delta == 0) return shape_fail(in, "the step is zero");
    double steps = ceil((limit - start) / delta);
    if (!(steps <= (double)FT_MAX_DIM)) return shape_fail(in, "the range has more than 2^40 elements");
    int64_t count = steps > 0 ? (int64_t)steps : 0;
    return shape_set(in, 0, input_at(in, 0)->dtype, &count, 1);
}

/* OneHot(indices, depth, values), attribute axis. */
ft_status shape_one_hot(infer *in) {
    const ft_tensor *x = input_known(in, 0), *values = input_at(in, 2);
    int64_t depth;
    if (x == NULL || !input_size(in, 1, &depth)) return FT_OK;
    int64_t dims[FT_MAX_RANK];
    int32_t axis, rank = x->rank + 1;
    if (rank > FT_MAX_RANK) return shape_set(in, 0, x->dtype, x->dims, rank);
    if (!axis_normalize(op_attr_int(in->op, "axis", -1), rank, &axis))
        return shape_fail(in, "the axis is out of range");
    for (int32_t i = 0; i < rank; i++) dims[i] = i == axis ? depth : x->dims[i > axis ? i - 1 : i];
    return shape_set(in, 0, values != NULL ? values->dtype : x->dtype, dims, rank);
}

/* TopK(x, k), attribute axis; older files have k as an attribute. */
ft_status shape_top_k(infer *in) {
    const ft_tensor *x = input_known(in, 0);
    const int64_t *k;
    int64_t count;
    int32_t axis;
    if (x == NULL || !ints_of(in, "k", 1, &k, &count) || count != 1) return FT_OK;
    if (!axis_normalize(op_attr_int(in->op, "axis", -1), x->rank, &axis))
        return shape_fail(in, "the axis is out of range");
    ft_tensor y = *x;
    y.dims[axis] = k[0];
    FT_TRY(shape_set_like(in, 0, &y));
    bool is_tflite = in->graph->format == FT_FORMAT_TFLITE;
    return shape_set(in, 1, is_tflite ? FT_INT32 : FT_INT64, y.dims, y.rank);
}

/* rank x count in ONNX, count x rank in TensorFlow's Where. */
ft_status shape_non_zero(infer *in) {
    const ft_tensor *x = input_known(in, 0);
    if (x == NULL) return FT_OK;
    int64_t elems = shape_elems(x->dims, x->rank), rank = x->rank > 0 ? x->rank : 1;
    bool is_onnx = graph_follows_onnx(in->graph);
    int64_t dims[2] = {is_onnx ? rank : elems, is_onnx ? elems : rank};
    return shape_set(in, 0, FT_INT64, dims, 2);
}

/* NonMaxSuppression(boxes [b, n, 4], scores [b, c, n], maximum per class). */
ft_status shape_nms(infer *in) {
    const ft_tensor *scores = input_known(in, 1);
    if (scores == NULL || scores->rank != 3) return FT_OK;
    double max_count;
    int64_t boxes = scores->dims[2];
    if (input_number(in, 2, &max_count) && max_count < (double)boxes) boxes = max_count > 0 ? (int64_t)max_count : 0;
    int64_t per_box[3] = {scores->dims[0], scores->dims[1], boxes};
    int64_t dims[2] = {shape_elems(per_box, 3), 3};
    return shape_set(in, 0, FT_INT64, dims, 2);
}

/* Compress(x, condition), attribute axis: without it, x is flattened first. */
ft_status shape_compress(infer *in) {
    const ft_tensor *x = input_known(in, 0), *condition = input_known(in, 1);
    if (x == NULL || condition == NULL) return FT_OK;
    ft_tensor y = *x;
    int64_t max_count = shape_elems(condition->dims, condition->rank);
    int32_t axis = 0;
    if (ft_op_attr(in->op, "axis") == NULL) {
        y.rank = 1;
        y.dims[0] = shape_elems(x->dims, x->rank);
    } else if (!axis_normalize(op_attr_int(in->op, "axis", 0), x->rank, &axis)) {
        return shape_fail(in, "the axis is out of range");
    }
    if (max_count < y.dims[axis]) y.dims[axis] = max_count;
    return shape_set_like(in, 0, &y);
}

ft_status shape_unique(infer *in) {
    const ft_tensor *x = input_known(in, 0);
    if (x == NULL) return FT_OK;
    int64_t elems = shape_elems(x->dims, x->rank);
    if (ft_op_attr(in->op, "axis") != NULL)
        FT_TRY(shape_set_like(in, 0, x));
    else
        FT_TRY(shape_set(in, 0, x->dtype, &elems, 1));
    for (uint32_t i = 1; i < 4; i++) FT_TRY(shape_set(in, i, FT_INT64, &elems, 1));
    return FT_OK;
}

/* One slice of the tensor that a Scan iterates over. */
ft_status shape_loop_slice(infer *in) {
    const ft_tensor *x = input_known(in, 0);
    int32_t axis;
    if (x == NULL) return FT_OK;
    if (!axis_normalize(op_attr_int(in->op, "axis", 0), x->rank, &axis))
        return shape_fail(in, "the axis is out of range");
    int64_t dims[FT_MAX_RANK];
    for (int32_t i = 0, k = 0; i < x->rank; i++) {
        if (i != axis) dims[k++] = x->dims[i];
    }
    return shape_set(in, 0, x->dtype, dims, x->rank - 1);
}

ft_status shape_loop_index(infer *in) {
    return shape_set(in, 0, FT_INT64, NULL, 0);
}

/* The outputs of a loop body, stacked: attribute "body" is the loop, "axis" the new dimension. */
ft_status shape_loop_stack(infer *in) {
    const ft_tensor *x = input_known(in, 0);
    int64_t body = op_attr_int(in->op, "body", 0);
    if (x == NULL || body < 0 || body >= in->graph->loop_count || x->rank >= FT_MAX_RANK) return FT_OK;
    int32_t axis, rank = x->rank + 1;
    if (!axis_normalize(op_attr_int(in->op, "axis", 0), rank, &axis)) return shape_fail(in, "the axis is out of range");
    int64_t dims[FT_MAX_RANK];
    for (int32_t i = 0; i < rank; i++)
        dims[i] = i == axis ? (int64_t)loop_trips(in->graph, (uint32_t)body) : x->dims[i > axis ? i - 1 : i];
    return shape_set(in, 0, x->dtype, dims, rank);
}
