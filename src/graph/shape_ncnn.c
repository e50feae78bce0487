/* shape_ncnn.c - shape rules of ncnn's layers, whose parameters speak of the width, height, depth and channels of a
 * blob.
 *
 * A blob has one to four dimensions: w; h, w; c, h, w; c, d, h, w. Tensors have the batch before them, so the width is
 * the last dimension, the height the one before, and the channels the second of a blob with three or more. Sizes in
 * attributes are those of blobs. */
#include <math.h>
#include <string.h>

#include "base/num.h"
#include "graph/shape.h"

enum { DEFAULT = -233 }; /* ncnn's "not given" */

/* A product with each row when the rows have the right width; else with the whole blob. */
ft_status shape_inner_product(infer *in) {
    const ft_tensor *x = input_known(in, 0), *weight = input_known(in, 1);
    if (x == NULL || weight == NULL || x->rank < 2) return FT_OK;
    if (weight->rank != 2 || weight->dims[1] < 1) return shape_fail_mismatch(in, x, weight);
    int64_t dims[3] = {x->dims[0], x->dims[1], weight->dims[0]}, elems = shape_elems(x->dims + 1, x->rank - 1);
    if (x->rank == 3 && x->dims[2] == weight->dims[1]) return shape_set(in, 0, x->dtype, dims, 3);
    if (elems != weight->dims[1]) return shape_fail_mismatch(in, x, weight);
    dims[1] = weight->dims[0];
    return shape_set(in, 0, x->dtype, dims, 2);
}

/* Whether `small` fits into `large` when its dimensions after the batch begin at dimension `first`. */
static bool fits(const ft_tensor *large, const ft_tensor *small, int32_t first) {
    if (small->dims[0] != large->dims[0] && small->dims[0] != 1) return false;
    for (int32_t i = 1; i < small->rank; i++)
        if (small->dims[i] != 1 && small->dims[i] != large->dims[first + i - 1]) return false;
    return true;
}

/* Blobs of equal rank broadcast; one of lower rank is along the channels or, when it does not fit there, along the
 * width. */
ft_status shape_binary_blob(infer *in) {
    const ft_tensor *a = input_known(in, 0), *b = input_known(in, 1);
    if (a == NULL) return FT_OK;
    if (in->op->input_count < 2) return shape_set_like(in, 0, a);
    if (b == NULL) return FT_OK;
    if (a->rank == b->rank) {
        ft_tensor y = *a;
        if (!broadcast_dims(a, b, y.dims, &y.rank)) return shape_fail_mismatch(in, a, b);
        return shape_set_like(in, 0, &y);
    }
    const ft_tensor *large = a->rank > b->rank ? a : b, *small = large == a ? b : a;
    if (small->rank > 0 && !fits(large, small, 1) && !fits(large, small, large->rank - small->rank + 1))
        return shape_fail_mismatch(in, large, small);
    return shape_set_like(in, 0, large);
}

/* Over all but the batch. */
ft_status shape_reduce_blob(infer *in) {
    const ft_tensor *x = input_known(in, 0);
    if (x == NULL || x->rank < 1) return FT_OK;
    ft_tensor y = *x;
    for (int32_t i = 1; i < y.rank; i++) y.dims[i] = 1;
    if (op_attr_int(in->op, "keepdims", 0) == 0) y.rank = y.rank < 2 ? y.rank : 2;
    return shape_set_like(in, 0, &y);
}

/* Attribute "sizes" of the output; -233: that of the input. */
ft_status shape_adaptive_pool(infer *in) {
    const ft_tensor *x = input_known(in, 0);
    uint32_t count;
    const int64_t *sizes = op_attr_ints(in->op, "sizes", &count);
    if (x == NULL || count != 2) return FT_OK;
    if (x->rank != 4) return shape_fail(in, "an input of rank 4 is required");
    ft_tensor y = *x;
    for (int i = 0; i < 2; i++)
        if (sizes[i] != DEFAULT) y.dims[2 + i] = sizes[i];
    return shape_set_like(in, 0, &y);
}

/* Attribute "shape", from the channels to the width: 0 is the input's dimension at that place, one -1 the rest. */
ft_status shape_reshape_blob(infer *in) {
    const ft_tensor *x = input_known(in, 0);
    uint32_t count;
    const int64_t *shape = op_attr_ints(in->op, "shape", &count);
    if (x == NULL || x->rank < 1 || count == 0 || count >= FT_MAX_RANK) return FT_OK;
    ft_tensor y = {.dtype = x->dtype, .rank = (int32_t)count + 1, .dims = {x->dims[0]}};
    int64_t known = 1, elems = shape_elems(x->dims + 1, x->rank - 1);
    int32_t open = 0;
    for (int32_t i = 1; i < y.rank; i++) {
        int32_t from = x->rank - (y.rank - i); /* places are counted from the width */
        y.dims[i] = shape[i - 1];
        if (y.dims[i] == 0 && from > 0) y.dims[i] = x->dims[from];
        if (y.dims[i] == -1 && open == 0)
            open = i;
        else if (y.dims[i] < 0 || !num_mul_i64(known, y.dims[i], &known))
            return shape_fail(in, "dimension %d cannot be %lld", i, (long long)y.dims[i]);
    }
    if (open > 0) y.dims[open] = known > 0 ? elems / known : 0;
    if (open > 0 ? known == 0 || elems % known != 0 : known != elems)
        return shape_fail(in, "%lld elements do not fit the new shape", (long long)elems);
    return shape_set_like(in, 0, &y);
}

/* Removes the listed dimensions of size 1, or all, but not the batch. */
ft_status shape_squeeze_blob(infer *in) {
    const ft_tensor *x = input_known(in, 0);
    uint32_t count;
    const int64_t *axes = op_attr_ints(in->op, "axes", &count);
    bool is_axis[FT_MAX_RANK] = {false};
    if (x == NULL || x->rank < 1) return FT_OK;
    for (uint32_t i = 0; i < count; i++) {
        int32_t axis;
        if (axis_normalize(axes[i], x->rank, &axis)) is_axis[axis] = true;
    }
    ft_tensor y = {.dtype = x->dtype, .rank = 1, .dims = {x->dims[0]}};
    for (int32_t i = 1; i < x->rank; i++)
        if (x->dims[i] != 1 || (axes != NULL && !is_axis[i])) y.dims[y.rank++] = x->dims[i];
    return shape_set_like(in, 0, &y);
}

/* The dimensions of the output from the width on, as letters of those of the input, per order type. */
ft_status shape_permute_blob(infer *in) {
    static const char *const orders[] = {"whdc", "hwdc", "wdhc", "dwhc", "hdwc", "dhwc", "whcd", "hwcd",
                                         "wchd", "cwhd", "hcwd", "chwd", "wdch", "dwch", "wcdh", "cwdh",
                                         "dcwh", "cdwh", "hdcw", "dhcw", "hcdw", "chdw", "dchw", "cdhw"};
    static const char *const short_orders[] = {"whc", "hwc", "wch", "cwh", "hcw", "chw"};
    static const int64_t type_counts[] = {0, 1, 2, 6, 24};
    const ft_tensor *x = input_known(in, 0);
    int64_t type = op_attr_int(in->op, "order_type", 0);
    if (x == NULL || x->rank < 2) return FT_OK;
    if (x->rank > 5 || type < 0 || type >= type_counts[x->rank - 1])
        return shape_fail(in, "order %lld does not fit an input of rank %d", (long long)type, x->rank);
    const char *order = x->rank == 5 ? orders[type] : short_orders[type], *letters = x->rank == 5 ? "whdc" : "whc";
    ft_tensor y = *x;
    for (int32_t i = 0; i < x->rank - 1; i++) {
        int32_t from = (int32_t)(strchr(letters, order[i]) - letters);
        y.dims[x->rank - 1 - i] = x->dims[x->rank - 1 - from];
    }
    return shape_set_like(in, 0, &y);
}

/* Attribute "slices", of which -233 is an equal part of what is left, or "indices" where parts begin. */
ft_status shape_slice_blob(infer *in) {
    const ft_tensor *x = input_known(in, 0);
    uint32_t count, index_count;
    const int64_t *slices = op_attr_ints(in->op, "slices", &count);
    const int64_t *indices = op_attr_ints(in->op, "indices", &index_count);
    int32_t axis;
    if (x == NULL) return FT_OK;
    if (!axis_normalize(op_attr_int(in->op, "axis", 1), x->rank, &axis))
        return shape_fail(in, "the axis is out of range");
    int64_t begin = 0, size = x->dims[axis];
    for (uint32_t i = 0; i < in->op->output_count; i++) {
        int64_t part = i < count ? slices[i] : DEFAULT;
        bool is_last = i + 1 == in->op->output_count;
        if (indices != NULL) {
            int64_t end = is_last || i >= index_count ? size : indices[i];
            part = (end < 0 ? end + size : end) - begin;
        } else if (part == DEFAULT) {
            part = (size - begin) / (int64_t)(in->op->output_count - i);
        }
        if (part < 0 || part > size - begin) return shape_fail(in, "part %u does not fit the input", i);
        ft_tensor y = *x;
        y.dims[axis] = part;
        begin += part;
        FT_TRY(shape_set_like(in, i, &y));
    }
    return FT_OK;
}

/* Attributes "starts", "ends" and "axes". */
static ft_status crop_ranges(infer *in, const ft_tensor *x, ft_tensor *y) {
    uint32_t starts, ends, count;
    const int64_t *start = op_attr_ints(in->op, "starts", &starts), *end = op_attr_ints(in->op, "ends", &ends);
    const int64_t *axes = op_attr_ints(in->op, "axes", &count);
    if (starts != ends || (axes != NULL && count != starts) || starts >= FT_MAX_RANK)
        return shape_fail(in, "starts, ends and axes differ in number");
    for (uint32_t i = 0; i < starts; i++) {
        int32_t axis;
        if (!axis_normalize(axes != NULL ? axes[i] : (int64_t)i + 1, x->rank, &axis))
            return shape_fail(in, "an axis is out of range");
        int64_t dim = x->dims[axis], from = start[i] == DEFAULT ? 0 : start[i], to = end[i] == DEFAULT ? dim : end[i];
        if (from < 0) from += dim;
        if (to < 0) to += dim;
        if (to > dim) to = dim;
        if (from < 0 || from > to) return shape_fail(in, "dimension %d is cropped to nothing", axis);
        y->dims[axis] = to - from;
    }
    return FT_OK;
}

/* Attributes "offsets", "sizes" and "offsets_end", of channels, depth, height and width; a second input has the sizes.
 */
static ft_status crop_offsets(infer *in, const ft_tensor *x, const ft_tensor *like, ft_tensor *y) {
    uint32_t counts[3];
    const int64_t *begin = op_attr_ints(in->op, "offsets", &counts[0]);
    const int64_t *size = op_attr_ints(in->op, "sizes", &counts[1]);
    const int64_t *end = op_attr_ints(in->op, "offsets_end", &counts[2]);
    if (counts[0] != 4 || counts[1] != 4 || counts[2] != 4) return FT_OK;
    for (int32_t i = 1; i < x->rank; i++) {
        int32_t back = x->rank - i, place = i == 1 && x->rank > 3 ? 0 : 4 - back; /* width: 3, height: 2, depth: 1 */
        int64_t room = x->dims[i] - begin[place];
        if (like != NULL)
            y->dims[i] = like->rank == x->rank ? like->dims[i] : x->dims[i];
        else if (size[place] == DEFAULT)
            y->dims[i] = room - end[place];
        else
            y->dims[i] = size[place] < room ? size[place] : room;
        if (y->dims[i] < 1) return shape_fail(in, "dimension %d is cropped to nothing", i);
    }
    return FT_OK;
}

ft_status shape_crop_blob(infer *in) {
    const ft_tensor *x = input_known(in, 0), *like = input_known(in, 1);
    if (x == NULL || x->rank < 2 || x->rank > 5 || (in->op->input_count > 1 && like == NULL)) return FT_OK;
    ft_tensor y = *x;
    if (ft_op_attr(in->op, "starts") != NULL)
        FT_TRY(crop_ranges(in, x, &y));
    else
        FT_TRY(crop_offsets(in, x, like, &y));
    return shape_set_like(in, 0, &y);
}

/* Attribute "pads": left, right, top, bottom, front, behind; the last two of depth or, without one, channels. */
ft_status shape_pad_blob(infer *in) {
    const ft_tensor *x = input_known(in, 0);
    uint32_t count;
    const int64_t *pads = op_attr_ints(in->op, "pads", &count);
    if (x == NULL || count != 6) return FT_OK;
    ft_tensor y = *x;
    for (int32_t i = 0; i < 3 && i < x->rank - 1; i++) {
        int64_t *dim = &y.dims[x->rank - 1 - i];
        if (!num_add_i64(*dim, pads[2 * i], dim) || !num_add_i64(*dim, pads[2 * i + 1], dim))
            return shape_fail(in, "dimension %d overflows", x->rank - 1 - i);
    }
    return shape_set_like(in, 0, &y);
}

/* Attributes "sizes" and "scales" of height and width; a second input has the sizes. A vector becomes an image. */
ft_status shape_interp_blob(infer *in) {
    const ft_tensor *x = input_known(in, 0), *like = input_known(in, 1);
    const ft_attr *scales = ft_op_attr(in->op, "scales");
    uint32_t count;
    const int64_t *sizes = op_attr_ints(in->op, "sizes", &count);
    if (x == NULL || count != 2 || scales == NULL || scales->count != 2 || x->rank < 2 || x->rank > 4) return FT_OK;
    if (in->op->input_count > 1 && (like == NULL || like->rank < 3)) return FT_OK;
    ft_tensor y = *x;
    for (; y.rank == 2 || (y.rank == 3 && x->rank == 2); y.rank++) y.dims[y.rank] = 1;
    for (int32_t i = 0; i < 2; i++) {
        int32_t back = 2 - i;
        int64_t *dim = &y.dims[y.rank - back];
        double scaled = floor((double)*dim * scales->floats[i]);
        if (y.rank == 3 && i == 0) continue; /* only the width of a matrix changes */
        if (like != NULL)
            *dim = like->dims[like->rank - back];
        else if (sizes[i] > 0)
            *dim = sizes[i];
        else if (scaled >= 1 && scaled <= (double)FT_MAX_DIM)
            *dim = (int64_t)scaled;
        else
            return shape_fail(in, "scale %g is out of range", scales->floats[i]);
    }
    return shape_set_like(in, 0, &y);
}

/* Attribute "tiles" along "axis", or "repeats" of the last dimensions. */
ft_status shape_tile_blob(infer *in) {
    const ft_tensor *x = input_known(in, 0);
    uint32_t count;
    const int64_t *repeats = op_attr_ints(in->op, "repeats", &count);
    int64_t tiles = op_attr_int(in->op, "tiles", 1);
    int32_t axis;
    if (x == NULL || x->rank < 1) return FT_OK;
    ft_tensor y = *x;
    if (repeats == NULL) {
        if (!axis_normalize(op_attr_int(in->op, "axis", 1), x->rank, &axis))
            return shape_fail(in, "the axis is out of range");
        if (!num_mul_i64(y.dims[axis], tiles, &y.dims[axis])) return shape_fail(in, "dimension %d overflows", axis);
        return shape_set_like(in, 0, &y);
    }
    if ((int32_t)count > x->rank - 1) return FT_OK;
    for (int32_t i = 0; i < (int32_t)count; i++) {
        int64_t *dim = &y.dims[x->rank - (int32_t)count + i];
        if (!num_mul_i64(*dim, repeats[i], dim)) return shape_fail(in, "a dimension overflows");
    }
    return shape_set_like(in, 0, &y);
}

/* x [batch, steps, in] and weights [directions, gates * hidden, in]; attribute "num_output". The states follow. */
ft_status shape_recurrent_blob(infer *in) {
    const ft_tensor *x = input_known(in, 0), *weight = input_known(in, 1);
    int64_t width = op_attr_int(in->op, "num_output", 0), all;
    if (x == NULL || weight == NULL || width < 1) return FT_OK;
    if (x->rank != 3 || weight->rank != 3 || weight->dims[2] != x->dims[2] ||
        !num_mul_i64(width, weight->dims[0], &all))
        return shape_fail_mismatch(in, x, weight);
    int64_t dims[3] = {x->dims[0], x->dims[1], all}, state[3] = {x->dims[0], weight->dims[0], width};
    FT_TRY(shape_set(in, 0, x->dtype, dims, 3));
    FT_TRY(shape_set(in, 1, x->dtype, state, 3));
    return shape_set(in, 2, x->dtype, state, 3);
}
