/* shape_move.c - shape rules of operators that move elements or reshape them. */
#include "base/num.h"
#include "graph/geometry.h"
#include "graph/shape.h"

/* --- Views --------------------------------------------------------------------------------------------------- */

/* Reshape(x, shape): 0 keeps a dimension (ONNX, unless "allowzero"), one -1 is inferred from the rest. In TFLite the
 * shape may be an attribute, and 0 means 0. */
ft_status shape_reshape(infer *in) {
    const ft_tensor *x = input_known(in, 0);
    const int64_t *shape;
    int64_t rank, dims[FT_MAX_RANK], known = 1;
    if (x == NULL) return FT_OK;
    if (!input_ints(in, 1, &shape, &rank) && (input_at(in, 1) != NULL || !ints_of(in, "shape", 1, &shape, &rank)))
        return FT_OK;
    if (rank > FT_MAX_RANK) return shape_set(in, 0, x->dtype, shape, FT_MAX_RANK + 1);
    bool keeps_zero = graph_follows_onnx(in->graph) && op_attr_int(in->op, "allowzero", 0) == 0;
    int64_t inferred = -1, elems = shape_elems(x->dims, x->rank);
    for (int64_t i = 0; i < rank; i++) {
        dims[i] = shape[i];
        if (shape[i] == 0 && keeps_zero) {
            if (i >= x->rank)
                return shape_fail(in, "dimension %lld is copied from the input, but the input has rank %d",
                                  (long long)i, x->rank);
            dims[i] = x->dims[i];
        }
        if (dims[i] == -1 && inferred < 0)
            inferred = i;
        else if (dims[i] < 0 || !num_mul_i64(known, dims[i], &known))
            return shape_fail(in, "dimension %lld cannot be %lld", (long long)i, (long long)dims[i]);
    }
    if (inferred >= 0) {
        if (known == 0 ? elems != 0 : elems % known != 0)
            return shape_fail(in, "%lld elements do not fit the new shape", (long long)elems);
        dims[inferred] = known == 0 ? 0 : elems / known;
    } else if (known != elems) {
        return shape_fail(in, "%lld elements cannot become %lld", (long long)elems, (long long)known);
    }
    return shape_set(in, 0, x->dtype, dims, (int32_t)rank);
}

ft_status shape_flatten(infer *in) {
    const ft_tensor *x = input_known(in, 0);
    if (x == NULL) return FT_OK;
    int64_t axis = op_attr_int(in->op, "axis", 1);
    if (axis < 0) axis += x->rank;
    if (axis < 0 || axis > x->rank) return shape_fail(in, "the axis is out of range");
    int64_t dims[2] = {shape_elems(x->dims, (int32_t)axis), shape_elems(x->dims + axis, x->rank - (int32_t)axis)};
    return shape_set(in, 0, x->dtype, dims, 2);
}

ft_status shape_squeeze(infer *in) {
    const ft_tensor *x = input_known(in, 0);
    bool is_axis[FT_MAX_RANK], has_axes;
    if (x == NULL || !axes_of(in, 1, x->rank, is_axis, &has_axes)) return FT_OK;
    int64_t dims[FT_MAX_RANK];
    int32_t rank = 0;
    for (int32_t i = 0; i < x->rank; i++) {
        if (has_axes && is_axis[i] && x->dims[i] != 1)
            return shape_fail(in, "dimension %d is %lld, so it cannot be squeezed", i, (long long)x->dims[i]);
        if (has_axes ? !is_axis[i] : x->dims[i] != 1) dims[rank++] = x->dims[i];
    }
    return shape_set(in, 0, x->dtype, dims, rank);
}

ft_status shape_unsqueeze(infer *in) {
    const ft_tensor *x = input_known(in, 0);
    const int64_t *axes;
    int64_t count;
    if (x == NULL || !ints_of(in, "axes", 1, &axes, &count)) return FT_OK;
    if (count > FT_MAX_RANK || x->rank + count > FT_MAX_RANK)
        return shape_set(in, 0, x->dtype, x->dims, FT_MAX_RANK + 1);
    int32_t rank = x->rank + (int32_t)count, axis;
    bool is_new[FT_MAX_RANK] = {false};
    for (int64_t i = 0; i < count; i++) {
        if (!axis_normalize(axes[i], rank, &axis) || is_new[axis])
            return shape_fail(in, "axis %lld is out of range or given twice", (long long)axes[i]);
        is_new[axis] = true;
    }
    int64_t dims[FT_MAX_RANK];
    for (int32_t i = 0, k = 0; i < rank; i++) dims[i] = is_new[i] ? 1 : x->dims[k++];
    return shape_set(in, 0, x->dtype, dims, rank);
}

/* --- Whole tensors ------------------------------------------------------------------------------------------- */

/* Without "perm", the dimensions are reversed. */
ft_status shape_transpose(infer *in) {
    const ft_tensor *x = input_known(in, 0);
    const int64_t *perm = NULL;
    int64_t count = 0, dims[FT_MAX_RANK];
    if (x == NULL) return FT_OK;
    bool has_perm = ints_of(in, "perm", 1, &perm, &count);
    if (!has_perm && input_at(in, 1) != NULL) return FT_OK;
    if (has_perm && count != x->rank)
        return shape_fail(in, "%lld axes for an input of rank %d", (long long)count, x->rank);
    unsigned seen = 0;
    for (int32_t i = 0; i < x->rank; i++) {
        int32_t axis = x->rank - 1 - i;
        if (has_perm && !axis_normalize(perm[i], x->rank, &axis)) return shape_fail(in, "an axis is out of range");
        seen |= 1U << axis;
        dims[i] = x->dims[axis];
    }
    if (seen != (1U << x->rank) - 1) return shape_fail(in, "an axis is given twice");
    return shape_set(in, 0, x->dtype, dims, x->rank);
}

/* Quantised concatenation starts with scale and zero point of the output, then has three inputs for each part. */
ft_status shape_concat(infer *in) {
    bool is_quantized = in->op->input_count > 2 && in->op->type[0] == 'Q';
    uint32_t first = is_quantized ? 2 : 0, step = is_quantized ? 3 : 1;
    const ft_tensor *x = input_known(in, first);
    int32_t axis;
    if (x == NULL) return FT_OK;
    if (!axis_normalize(op_attr_int(in->op, "axis", 0), x->rank, &axis))
        return shape_fail(in, "the axis is out of range");
    ft_tensor y = *x;
    for (uint32_t i = first + step; i < in->op->input_count; i += step) {
        const ft_tensor *part = input_known(in, i);
        if (part == NULL) return FT_OK;
        if (part->rank != y.rank) return shape_fail(in, "the inputs have ranks %d and %d", y.rank, part->rank);
        for (int32_t k = 0; k < y.rank; k++) {
            if (k != axis && part->dims[k] != y.dims[k])
                return shape_fail(in, "input %u differs in dimension %d: %lld, not %lld", i, k,
                                  (long long)part->dims[k], (long long)y.dims[k]);
        }
        if (!num_add_i64(y.dims[axis], part->dims[axis], &y.dims[axis]))
            return shape_fail(in, "the concatenated dimension overflows");
    }
    return shape_set_like(in, 0, &y);
}

/* Split(x, sizes): equal parts, the last one smaller, when there are no sizes. */
ft_status shape_split(infer *in) {
    const ft_tensor *x = input_known(in, 0);
    const int64_t *sizes;
    int64_t count = 0;
    int32_t axis;
    if (x == NULL) return FT_OK;
    if (!axis_normalize(op_attr_int(in->op, "axis", 0), x->rank, &axis))
        return shape_fail(in, "the axis is out of range");
    bool has_sizes = ints_of(in, "split", 1, &sizes, &count);
    if (!has_sizes && input_at(in, 1) != NULL) return FT_OK;
    if (has_sizes && count != in->op->output_count)
        return shape_fail(in, "%lld sizes for %u outputs", (long long)count, in->op->output_count);
    uint32_t parts = in->op->output_count;
    int64_t left = x->dims[axis], even = (int64_t)num_div_up((uint64_t)left, parts > 0 ? parts : 1);
    for (uint32_t i = 0; i < parts; i++) {
        ft_tensor y = *x;
        y.dims[axis] = has_sizes ? sizes[i] : left < even ? left : even;
        if (y.dims[axis] < 0 || y.dims[axis] > left)
            return shape_fail(in, "the parts are longer than the input, which has %lld", (long long)x->dims[axis]);
        left -= y.dims[axis];
        FT_TRY(shape_set_like(in, i, &y));
    }
    return FT_OK;
}

ft_status shape_slice(infer *in) {
    strided_slice s;
    if (!axis_slice_of(in, &s)) return FT_OK;
    if (s.fault != NULL) return shape_fail(in, "%s", s.fault);
    return shape_set(in, 0, input_at(in, 0)->dtype, s.dims, s.rank);
}

/* Gather(x, indices): the axis is replaced by the shape of the indices. */
ft_status shape_gather(infer *in) {
    const ft_tensor *x = input_known(in, 0), *indices = input_known(in, 1);
    int32_t axis;
    if (x == NULL || indices == NULL) return FT_OK;
    if (!axis_normalize(op_attr_int(in->op, "axis", 0), x->rank, &axis))
        return shape_fail(in, "the axis is out of range");
    int32_t rank = x->rank - 1 + indices->rank, at = 0;
    int64_t dims[FT_MAX_RANK];
    if (rank > FT_MAX_RANK) return shape_set(in, 0, x->dtype, x->dims, rank);
    for (int32_t i = 0; i < axis; i++) dims[at++] = x->dims[i];
    for (int32_t i = 0; i < indices->rank; i++) dims[at++] = indices->dims[i];
    for (int32_t i = axis + 1; i < x->rank; i++) dims[at++] = x->dims[i];
    return shape_set(in, 0, x->dtype, dims, rank);
}

ft_status shape_gather_elements(infer *in) {
    const ft_tensor *x = input_at(in, 0), *indices = input_known(in, 1);
    if (x == NULL || indices == NULL) return FT_OK;
    return shape_set(in, 0, x->dtype, indices->dims, indices->rank);
}

/* GatherND(x, indices [..., k]): the first k dimensions after the batch ones are looked up. */
ft_status shape_gather_nd(infer *in) {
    const ft_tensor *x = input_known(in, 0), *indices = input_known(in, 1);
    if (x == NULL || indices == NULL || indices->rank < 1) return FT_OK;
    int64_t depth = indices->dims[indices->rank - 1] + op_attr_int(in->op, "batch_dims", 0);
    if (depth < 0 || depth > x->rank) return shape_fail(in, "the indices are longer than the rank of the input");
    int32_t rank = indices->rank - 1 + x->rank - (int32_t)depth, at = 0;
    int64_t dims[FT_MAX_RANK];
    if (rank > FT_MAX_RANK) return shape_set(in, 0, x->dtype, x->dims, rank);
    for (int32_t i = 0; i + 1 < indices->rank; i++) dims[at++] = indices->dims[i];
    for (int32_t i = (int32_t)depth; i < x->rank; i++) dims[at++] = x->dims[i];
    return shape_set(in, 0, x->dtype, dims, rank);
}

ft_status shape_expand(infer *in) {
    const ft_tensor *x = input_known(in, 0);
    const int64_t *shape;
    int64_t rank;
    if (x == NULL || !input_ints(in, 1, &shape, &rank)) return FT_OK;
    ft_tensor target = {.rank = (int32_t)rank}, y = *x;
    if (rank > FT_MAX_RANK) return shape_set(in, 0, x->dtype, shape, FT_MAX_RANK + 1);
    for (int64_t i = 0; i < rank; i++) target.dims[i] = shape[i];
    if (!broadcast_dims(x, &target, y.dims, &y.rank))
        return shape_fail(in, "the input does not broadcast to the requested shape");
    return shape_set_like(in, 0, &y);
}

ft_status shape_tile(infer *in) {
    const ft_tensor *x = input_known(in, 0);
    const int64_t *repeats;
    int64_t count;
    if (x == NULL || !input_ints(in, 1, &repeats, &count)) return FT_OK;
    if (count != x->rank) return shape_fail(in, "%lld repeats for rank %d", (long long)count, x->rank);
    ft_tensor y = *x;
    for (int32_t i = 0; i < x->rank; i++) {
        if (!num_mul_i64(y.dims[i], repeats[i], &y.dims[i])) return shape_fail(in, "dimension %d overflows", i);
    }
    return shape_set_like(in, 0, &y);
}

/* Pad(x, pads [begins..., ends...], value, axes). */
ft_status shape_pad(infer *in) {
    const ft_tensor *x = input_known(in, 0);
    const int64_t *pads, *axes = NULL;
    int64_t count, axis_count;
    if (x == NULL) return FT_OK;
    if (!ints_of(in, "pads", 1, &pads, &count) && !ints_of(in, "paddings", 1, &pads, &count)) return FT_OK;
    if (!input_ints(in, 3, &axes, &axis_count)) {
        if (input_at(in, 3) != NULL) return FT_OK;
        axis_count = x->rank;
    }
    if (count != 2 * axis_count)
        return shape_fail(in, "%lld pads for %lld axes", (long long)count, (long long)axis_count);
    ft_tensor y = *x;
    for (int64_t i = 0; i < axis_count; i++) {
        int32_t axis;
        if (!axis_normalize(axes != NULL ? axes[i] : i, x->rank, &axis))
            return shape_fail(in, "an axis is out of range");
        if (!num_add_i64(y.dims[axis], pads[i], &y.dims[axis]) ||
            !num_add_i64(y.dims[axis], pads[axis_count + i], &y.dims[axis]))
            return shape_fail(in, "dimension %d overflows", axis);
    }
    return shape_set_like(in, 0, &y);
}

/* --- Depth to space and space to depth ----------------------------------------------------------------------- */

static ft_status block_move(infer *in, bool is_to_space) {
    const ft_tensor *x = input_known(in, 0);
    int64_t block = op_attr_int(in->op, "blocksize", op_attr_int(in->op, "block_size", 0));
    if (x == NULL) return FT_OK;
    if (x->rank != 4 || block < 1 || block > 65536) return shape_fail(in, "rank 4 and a block size are required");
    bool is_nchw = !op_is_nhwc(in->graph, in->op);
    int32_t c = is_nchw ? 1 : 3, h = is_nchw ? 2 : 1, w = h + 1;
    ft_tensor y = *x;
    if (is_to_space) {
        if (x->dims[c] % (block * block) != 0)
            return shape_fail(in, "the channels are not a multiple of the squared block size");
        y.dims[c] /= block * block;
        y.dims[h] *= block;
        y.dims[w] *= block;
    } else {
        if (x->dims[h] % block != 0 || x->dims[w] % block != 0)
            return shape_fail(in, "height and width are not multiples of the block size");
        y.dims[c] *= block * block;
        y.dims[h] /= block;
        y.dims[w] /= block;
    }
    return shape_set_like(in, 0, &y);
}

ft_status shape_depth_to_space(infer *in) {
    return block_move(in, true);
}

ft_status shape_space_to_depth(infer *in) {
    return block_move(in, false);
}
