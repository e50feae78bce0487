/* slice.c - begin, end and stride per dimension for ONNX's Slice, which lists axes, and TensorFlow's StridedSlice,
 * which has five masks.
 *
 * Bit i of a mask applies to entry i of the operands: begin and end masks ignore the entry's begin or end, the ellipsis
 * covers all dimensions without an entry, a new axis inserts a dimension of 1, and a shrunk axis selects one element
 * and removes the dimension. */
#include <assert.h>

#include "base/num.h"
#include "graph/shape.h"

typedef struct slice_spec {
    const int64_t *begin, *end, *stride;
    int64_t entries;
    int64_t begin_mask, end_mask, ellipsis_mask, new_axis_mask, shrink_mask;
    bool is_offset; /* ends are relative to begins */
} slice_spec;

static bool has_bit(int64_t mask, int64_t i) {
    return i < 32 && (mask >> i & 1) != 0;
}

static bool read_spec(const infer *in, slice_spec *s) {
    int64_t ends, strides;
    *s = (slice_spec){.begin_mask = op_attr_int(in->op, "begin_mask", 0),
                      .end_mask = op_attr_int(in->op, "end_mask", 0),
                      .ellipsis_mask = op_attr_int(in->op, "ellipsis_mask", 0),
                      .new_axis_mask = op_attr_int(in->op, "new_axis_mask", 0),
                      .shrink_mask = op_attr_int(in->op, "shrink_axis_mask", 0),
                      .is_offset = op_attr_int(in->op, "offset", 0) != 0};
    return input_ints(in, 1, &s->begin, &s->entries) && input_ints(in, 2, &s->end, &ends) &&
           input_ints(in, 3, &s->stride, &strides) && ends == s->entries && strides == s->entries;
}

/* Clamps a begin or end to 0..dim (or -1..dim-1 for negative strides). */
static int64_t clamp(int64_t at, int64_t dim, bool is_backward) {
    if (at < 0) at = at < -dim ? -1 : at + dim;
    if (at < 0) return is_backward ? -1 : 0;
    int64_t last = is_backward ? dim - 1 : dim;
    return at < last ? at : last;
}

/* Selects from..to of a dimension, both already clamped. */
static void select_range(strided_slice *slice, int32_t axis, int64_t from, int64_t to, int64_t stride) {
    assert(stride != 0);
    int64_t span = stride < 0 ? from - to : to - from;
    uint64_t step = stride < 0 ? 0 - (uint64_t)stride : (uint64_t)stride;
    slice->begin[axis] = from;
    slice->stride[axis] = stride;
    slice->count[axis] = span <= 0 ? 0 : (int64_t)num_div_up((uint64_t)span, step);
}

static const char *select_entry(const slice_spec *s, int64_t entry, int64_t dim, int32_t axis, strided_slice *slice) {
    int64_t stride = s->stride[entry], begin = s->begin[entry], end = s->end[entry];
    if (stride == 0) return "a stride is zero";
    if (s->is_offset && !num_add_i64(begin, end, &end)) return "an end is out of range";
    if (has_bit(s->shrink_mask, entry)) {
        if (begin < -dim || begin >= dim) return "an index is out of range";
        slice->begin[axis] = begin < 0 ? begin + dim : begin;
        slice->stride[axis] = 1;
        slice->count[axis] = 1;
        return NULL;
    }
    bool is_backward = stride < 0;
    int64_t from = has_bit(s->begin_mask, entry) ? (is_backward ? dim - 1 : 0) : clamp(begin, dim, is_backward);
    int64_t to = has_bit(s->end_mask, entry) ? (is_backward ? -1 : dim) : clamp(end, dim, is_backward);
    select_range(slice, axis, from, to, stride);
    return NULL;
}

static void append_dim(strided_slice *slice, int64_t dim) {
    if (slice->rank < FT_MAX_RANK) slice->dims[slice->rank] = dim;
    slice->rank++;
}

static void select_all(const ft_tensor *x, int32_t axis, strided_slice *slice) {
    slice->begin[axis] = 0;
    slice->stride[axis] = 1;
    slice->count[axis] = x->dims[axis];
    append_dim(slice, x->dims[axis]);
}

bool strided_slice_of(const infer *in, strided_slice *slice) {
    const ft_tensor *x = input_known(in, 0);
    slice_spec s;
    *slice = (strided_slice){.rank = 0};
    if (x == NULL || !read_spec(in, &s)) return false;
    int32_t axis = 0, entry_dims = 0;
    bool has_ellipsis = false;
    for (int64_t i = 0; i < s.entries && i < 32; i++)
        entry_dims += !has_bit(s.ellipsis_mask, i) && !has_bit(s.new_axis_mask, i);
    for (int64_t i = 0; i < s.entries; i++) {
        if (has_bit(s.ellipsis_mask, i) && !has_ellipsis) {
            has_ellipsis = true;
            for (int32_t left = x->rank - entry_dims; left > 0; left--, axis++) select_all(x, axis, slice);
        } else if (has_bit(s.new_axis_mask, i)) {
            append_dim(slice, 1);
        } else if (axis >= x->rank) {
            slice->fault = "more entries than the input has dimensions";
            return true;
        } else {
            slice->fault = select_entry(&s, i, x->dims[axis], axis, slice);
            if (slice->fault != NULL) return true;
            if (!has_bit(s.shrink_mask, i)) append_dim(slice, slice->count[axis]);
            axis++;
        }
    }
    for (; axis < x->rank; axis++) select_all(x, axis, slice);
    return true;
}

bool axis_slice_of(const infer *in, strided_slice *slice) {
    const ft_tensor *x = input_known(in, 0);
    const int64_t *starts, *ends, *axes = NULL, *steps = NULL;
    int64_t count, end_count, axis_count, step_count;
    *slice = (strided_slice){.rank = 0};
    if (x == NULL || !ints_of(in, "starts", 1, &starts, &count) || !ints_of(in, "ends", 2, &ends, &end_count))
        return false;
    if (!ints_of(in, "axes", 3, &axes, &axis_count)) axis_count = input_at(in, 3) == NULL ? count : -1;
    if (!input_ints(in, 4, &steps, &step_count)) step_count = input_at(in, 4) == NULL ? count : -1;
    if (axis_count < 0 || step_count < 0) return false;
    if (end_count != count || axis_count != count || step_count != count) {
        slice->fault = "starts, ends, axes and steps differ in number";
        return true;
    }
    for (int32_t i = 0; i < x->rank; i++) select_all(x, i, slice);
    for (int64_t i = 0; i < count && slice->fault == NULL; i++) {
        int32_t axis;
        int64_t step = steps != NULL ? steps[i] : 1;
        if (!axis_normalize(axes != NULL ? axes[i] : i, x->rank, &axis)) {
            slice->fault = "an axis is out of range";
        } else if (step == 0) {
            slice->fault = "a step is zero";
        } else {
            int64_t dim = x->dims[axis];
            select_range(slice, axis, clamp(starts[i], dim, step < 0), clamp(ends[i], dim, step < 0), step);
            slice->dims[axis] = slice->count[axis];
        }
    }
    return true;
}
