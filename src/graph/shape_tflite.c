/* shape_tflite.c - shape rules of operators whose operands are specific to TFLite and TensorFlow.
 *
 * Operands that ONNX holds in attributes or in another order are inputs here: axes first, slices as begin and size,
 * pads as pairs. A rule whose operands are not known leaves the output as declared in the file; so do formats that
 * list only the data inputs (CG, nn-Meter IR). */
#include <string.h>

#include "base/num.h"
#include "graph/geometry.h"
#include "graph/shape.h"

/* The integer in input `i`; false when it is not known. */
static bool input_int(const infer *in, uint32_t i, int64_t *number) {
    const int64_t *ints;
    int64_t count;
    if (!input_ints(in, i, &ints, &count) || count < 1) return false;
    *number = ints[0];
    return true;
}

/* --- Splits and slices --------------------------------------------------------------------------------------- */

/* SPLIT(axis, x): equal parts. */
ft_status shape_split_axis_first(infer *in) {
    const ft_tensor *x = input_known(in, 1);
    int64_t number;
    int32_t axis;
    uint32_t parts = in->op->output_count;
    if (x == NULL || parts == 0 || !input_int(in, 0, &number)) return FT_OK;
    if (!axis_normalize(number, x->rank, &axis)) return shape_fail(in, "the axis is out of range");
    if (x->dims[axis] % parts != 0)
        return shape_fail(in, "%lld does not split into %u parts", (long long)x->dims[axis], parts);
    ft_tensor y = *x;
    y.dims[axis] /= parts;
    for (uint32_t i = 0; i < parts; i++) FT_TRY(shape_set_like(in, i, &y));
    return FT_OK;
}

/* SPLIT_V(x, sizes, axis): one size may be -1, which is the rest. */
ft_status shape_split_v(infer *in) {
    const ft_tensor *x = input_known(in, 0);
    const int64_t *sizes;
    int64_t count, rest, number;
    int32_t axis;
    if (x == NULL || !input_ints(in, 1, &sizes, &count) || !input_int(in, 2, &number)) return FT_OK;
    if (!axis_normalize(number, x->rank, &axis)) return shape_fail(in, "the axis is out of range");
    if (count != in->op->output_count)
        return shape_fail(in, "%lld sizes for %u outputs", (long long)count, in->op->output_count);
    rest = x->dims[axis];
    bool has_open = false;
    for (int64_t i = 0; i < count; i++) {
        if (sizes[i] < -1 || sizes[i] > rest || (sizes[i] == -1 && has_open))
            return shape_fail(in, "the parts do not fit the input");
        has_open = has_open || sizes[i] == -1;
        if (sizes[i] != -1) rest -= sizes[i];
    }
    for (int64_t i = 0; i < count; i++) {
        ft_tensor y = *x;
        y.dims[axis] = sizes[i] == -1 ? rest : sizes[i];
        FT_TRY(shape_set_like(in, (uint32_t)i, &y));
    }
    return FT_OK;
}

/* SLICE(x, begin, size): a size of -1 goes to the end. */
ft_status shape_slice_size(infer *in) {
    const ft_tensor *x = input_known(in, 0);
    const int64_t *begin = NULL, *size;
    int64_t count, begins;
    if (x == NULL || !input_ints(in, 2, &size, &count)) return FT_OK;
    bool has_begin = input_ints(in, 1, &begin, &begins);
    if (count != x->rank || (has_begin && begins != count))
        return shape_fail(in, "%lld sizes for an input of rank %d", (long long)count, x->rank);
    ft_tensor y = *x;
    for (int32_t i = 0; i < x->rank; i++) {
        int64_t from = has_begin ? begin[i] : 0;
        if (size[i] == -1 && !has_begin) return FT_OK;
        if (from < 0 || from > x->dims[i] || size[i] < -1 || size[i] > x->dims[i] - from)
            return shape_fail(in, "dimension %d of the input has only %lld elements", i, (long long)x->dims[i]);
        y.dims[i] = size[i] == -1 ? x->dims[i] - from : size[i];
    }
    return shape_set_like(in, 0, &y);
}

/* STRIDED_SLICE(x, begin, end, strides), with masks. */
ft_status shape_strided_slice(infer *in) {
    strided_slice s;
    if (!strided_slice_of(in, &s)) return FT_OK;
    if (s.fault != NULL) return shape_fail(in, "%s", s.fault);
    return shape_set(in, 0, input_at(in, 0)->dtype, s.dims, s.rank);
}

/* UNPACK(x): the axis is removed. */
ft_status shape_unpack(infer *in) {
    const ft_tensor *x = input_known(in, 0);
    int32_t axis;
    if (x == NULL || ft_op_attr(in->op, "axis") == NULL) return FT_OK;
    if (!axis_normalize(op_attr_int(in->op, "axis", 0), x->rank, &axis))
        return shape_fail(in, "the axis is out of range");
    if (x->dims[axis] != in->op->output_count)
        return shape_fail(in, "%u outputs for an axis of %lld", in->op->output_count, (long long)x->dims[axis]);
    ft_tensor y = *x;
    y.rank--;
    for (int32_t i = axis; i < y.rank; i++) y.dims[i] = x->dims[i + 1];
    for (uint32_t i = 0; i < in->op->output_count; i++) FT_TRY(shape_set_like(in, i, &y));
    return FT_OK;
}

/* PACK: all inputs stacked along a new axis. */
ft_status shape_pack(infer *in) {
    const ft_tensor *x = input_known(in, 0);
    int32_t axis;
    if (x == NULL || ft_op_attr(in->op, "axis") == NULL) return FT_OK;
    if (x->rank + 1 > FT_MAX_RANK) return shape_set(in, 0, x->dtype, x->dims, x->rank + 1);
    if (!axis_normalize(op_attr_int(in->op, "axis", 0), x->rank + 1, &axis))
        return shape_fail(in, "the axis is out of range");
    int64_t dims[FT_MAX_RANK];
    for (int32_t i = 0, k = 0; i <= x->rank; i++) dims[i] = i == axis ? in->op->input_count : x->dims[k++];
    return shape_set(in, 0, x->dtype, dims, x->rank + 1);
}

/* --- Lookups ------------------------------------------------------------------------------------------------- */

/* GATHER(x, indices): "axis" is replaced by the indices, whose first "batch_dims" dimensions are those of x. */
ft_status shape_gather_batch(infer *in) {
    const ft_tensor *x = input_known(in, 0), *indices = input_known(in, 1);
    int64_t number = op_attr_int(in->op, "axis", 0);
    int32_t axis, batch, at = 0;
    if (x == NULL || indices == NULL) return FT_OK;
    if (ft_op_attr(in->op, "axis") == NULL && !input_int(in, 2, &number)) return FT_OK;
    if (!axis_normalize(number, x->rank, &axis)) return shape_fail(in, "the axis is out of range");
    if (!axis_normalize(op_attr_int(in->op, "batch_dims", 0), indices->rank + 1, &batch) || batch > axis)
        return shape_fail(in, "the batch dimensions are out of range");
    int32_t rank = x->rank - 1 + indices->rank - batch;
    int64_t dims[FT_MAX_RANK];
    if (rank > FT_MAX_RANK) return shape_set(in, 0, x->dtype, x->dims, rank);
    for (int32_t i = 0; i < axis; i++) dims[at++] = x->dims[i];
    for (int32_t i = batch; i < indices->rank; i++) dims[at++] = indices->dims[i];
    for (int32_t i = axis + 1; i < x->rank; i++) dims[at++] = x->dims[i];
    return shape_set(in, 0, x->dtype, dims, rank);
}

/* Rows of a table: the indices' dimensions, then the table's without the first. */
static ft_status rows_of(infer *in, const ft_tensor *indices, const ft_tensor *table) {
    int64_t dims[FT_MAX_RANK];
    if (indices == NULL || table == NULL || table->rank < 1) return FT_OK;
    int32_t rank = indices->rank + table->rank - 1;
    if (rank > FT_MAX_RANK) return shape_set(in, 0, table->dtype, table->dims, rank);
    for (int32_t i = 0; i < rank; i++)
        dims[i] = i < indices->rank ? indices->dims[i] : table->dims[i - indices->rank + 1];
    return shape_set(in, 0, table->dtype, dims, rank);
}

/* EMBEDDING_LOOKUP(indices, table). */
ft_status shape_embedding(infer *in) {
    return rows_of(in, input_known(in, 0), input_known(in, 1));
}

/* HASHTABLE_LOOKUP(indices, keys, table): rows, and a flag for each that was found. */
ft_status shape_hashtable_lookup(infer *in) {
    const ft_tensor *indices = input_known(in, 0);
    if (indices != NULL) FT_TRY(shape_set(in, 1, FT_UINT8, indices->dims, indices->rank));
    return rows_of(in, indices, input_known(in, 2));
}

/* ONE_HOT(indices, depth, on, off): the depth becomes a new axis, the last by default. */
ft_status shape_one_hot_depth(infer *in) {
    const ft_tensor *x = input_known(in, 0), *on = input_at(in, 2);
    int64_t depth;
    int32_t axis;
    if (x == NULL || !input_int(in, 1, &depth)) return FT_OK;
    if (x->rank + 1 > FT_MAX_RANK) return shape_set(in, 0, x->dtype, x->dims, x->rank + 1);
    if (!axis_normalize(op_attr_int(in->op, "axis", -1), x->rank + 1, &axis))
        return shape_fail(in, "the axis is out of range");
    int64_t dims[FT_MAX_RANK];
    for (int32_t i = 0, k = 0; i <= x->rank; i++) dims[i] = i == axis ? depth : x->dims[k++];
    return shape_set(in, 0, on != NULL ? on->dtype : FT_FLOAT32, dims, x->rank + 1);
}

/* --- Shapes given as an operand ------------------------------------------------------------------------------ */

static ft_status shape_from(infer *in, uint32_t i, const ft_tensor *like) {
    const int64_t *dims;
    int64_t rank;
    if (!input_ints(in, i, &dims, &rank)) return FT_OK;
    if (rank > FT_MAX_RANK) rank = FT_MAX_RANK + 1;
    return shape_set(in, 0, like != NULL ? like->dtype : FT_DTYPE_UNKNOWN, dims, (int32_t)rank);
}

/* FILL(shape, value). */
ft_status shape_fill(infer *in) {
    return shape_from(in, 0, input_at(in, 1));
}

/* SCATTER_ND(indices, updates, shape). */
ft_status shape_scatter_shape(infer *in) {
    return shape_from(in, 2, input_at(in, 1));
}

/* SPARSE_TO_DENSE(indices, shape, values, default). */
ft_status shape_sparse_to_dense(infer *in) {
    return shape_from(in, 1, input_at(in, 2));
}

/* BROADCAST_ARGS(shape, shape): a shape that is as long as the longer one. */
ft_status shape_broadcast_args(infer *in) {
    const ft_tensor *a = input_known(in, 0), *b = input_known(in, 1);
    if (a == NULL || b == NULL || a->rank != 1 || b->rank != 1) return FT_OK;
    return shape_set_like(in, 0, a->dims[0] > b->dims[0] ? a : b);
}

/* RESIZE_*(x, [height, width]). */
ft_status shape_resize_size(infer *in) {
    const ft_tensor *x = input_known(in, 0);
    const int64_t *size;
    int64_t count;
    if (x == NULL || !input_ints(in, 1, &size, &count)) return FT_OK;
    if (x->rank != 4 || count != 2) return shape_fail(in, "rank 4 and two sizes are required");
    int32_t height = op_is_nhwc(in->graph, in->op) ? 1 : 2;
    ft_tensor y = *x;
    y.dims[height] = size[0];
    y.dims[height + 1] = size[1];
    return shape_set_like(in, 0, &y);
}

/* --- Space --------------------------------------------------------------------------------------------------- */

/* Adds a pair of pads to dimension `axis`, or subtracts a pair of crops. */
static bool pad_dim(ft_tensor *y, int32_t axis, const int64_t *pair, bool is_crop) {
    assert(axis >= 0 && axis < y->rank);
    int64_t both, *dim = &y->dims[axis];
    if (pair[0] < 0 || pair[1] < 0 || !num_add_i64(pair[0], pair[1], &both)) return false;
    return is_crop ? (*dim -= both) >= 0 : num_add_i64(*dim, both, dim);
}

/* PAD(x, [[before, after], ...]). */
ft_status shape_pad_pairs(infer *in) {
    const ft_tensor *x = input_known(in, 0);
    const int64_t *pads;
    int64_t count;
    if (x == NULL || !input_ints(in, 1, &pads, &count)) return FT_OK;
    if (count != 2 * x->rank) return shape_fail(in, "%lld pads for rank %d", (long long)count, x->rank);
    ft_tensor y = *x;
    for (int32_t i = 0; i < x->rank; i++) {
        if (!pad_dim(&y, i, pads + (size_t)2 * (size_t)i, false))
            return shape_fail(in, "the pads of axis %d are negative or overflow", i);
    }
    return shape_set_like(in, 0, &y);
}

/* The block and the pads or crops of SPACE_TO_BATCH_ND and BATCH_TO_SPACE_ND. False when they are not known. */
static bool blocks_of(const infer *in, const int64_t **block, const int64_t **pads, int64_t *count) {
    int64_t pad_count;
    const ft_tensor *x = input_known(in, 0);
    return x != NULL && input_ints(in, 1, block, count) && input_ints(in, 2, pads, &pad_count) &&
           pad_count == 2 * *count && *count < x->rank;
}

/* SPACE_TO_BATCH_ND(x, block, pads): each position within a block becomes a separate batch. */
ft_status shape_space_to_batch(infer *in) {
    const int64_t *block, *pads;
    int64_t count;
    if (!blocks_of(in, &block, &pads, &count)) return FT_OK;
    ft_tensor y = *input_at(in, 0);
    for (int32_t i = 0; i < count; i++) {
        int64_t *dim = &y.dims[i + 1];
        if (!pad_dim(&y, i + 1, pads + (size_t)2 * (size_t)i, false) || block[i] < 1 || *dim % block[i] != 0 ||
            !num_mul_i64(y.dims[0], block[i], &y.dims[0]))
            return shape_fail(in, "block and pads do not fit dimension %d", i + 1);
        *dim /= block[i];
    }
    return shape_set_like(in, 0, &y);
}

/* BATCH_TO_SPACE_ND(x, block, crops): the inverse. */
ft_status shape_batch_to_space(infer *in) {
    const int64_t *block, *crops;
    int64_t count;
    if (!blocks_of(in, &block, &crops, &count)) return FT_OK;
    ft_tensor y = *input_at(in, 0);
    for (int32_t i = 0; i < count; i++) {
        int64_t *dim = &y.dims[i + 1];
        if (block[i] < 1 || y.dims[0] % block[i] != 0 || !num_mul_i64(*dim, block[i], dim) ||
            !pad_dim(&y, i + 1, crops + (size_t)2 * (size_t)i, true))
            return shape_fail(in, "block and crops do not fit dimension %d", i + 1);
        y.dims[0] /= block[i];
    }
    return shape_set_like(in, 0, &y);
}

/* DILATE(x, factors, value): inserts factor - 1 values between elements. */
ft_status shape_dilate(infer *in) {
    const ft_tensor *x = input_known(in, 0);
    const int64_t *factors;
    int64_t count;
    if (x == NULL || !input_ints(in, 1, &factors, &count)) return FT_OK;
    if (count != x->rank) return shape_fail(in, "%lld factors for rank %d", (long long)count, x->rank);
    ft_tensor y = *x;
    for (int32_t i = 0; i < x->rank; i++) {
        if (x->dims[i] == 0) continue;
        if (factors[i] < 1 || !num_mul_i64(x->dims[i] - 1, factors[i], &y.dims[i]) || y.dims[i] == INT64_MAX)
            return shape_fail(in, "factor %d is out of range", i);
        y.dims[i]++;
    }
    return shape_set_like(in, 0, &y);
}

/* --- Recurrent layers ---------------------------------------------------------------------------------------- */

/* Output width of one direction of an LSTM: rows of the projection, or else columns of the recurrent weights of the
 * output gate. `first`: the input before its 17 operands. */
static int64_t lstm_width(const infer *in, uint32_t first) {
    const ft_tensor *projection = input_known(in, first + 16), *recurrent = input_known(in, first + 8);
    if (projection != NULL && projection->rank == 2) return projection->dims[0];
    return recurrent != NULL && recurrent->rank == 2 ? recurrent->dims[1] : 0;
}

/* Output 0 gets the width `forward`, widened by `backward` when the directions are merged; else output 1 gets it. */
static ft_status set_sequence(infer *in, const ft_tensor *x, int64_t forward, int64_t backward) {
    ft_tensor y = *x;
    bool is_merged = op_attr_int(in->op, "merge_outputs", 0) != 0;
    if (x->rank < 2 || forward == 0) return FT_OK;
    y.dims[y.rank - 1] = is_merged ? forward + backward : forward;
    FT_TRY(shape_set_like(in, 0, &y));
    y.dims[y.rank - 1] = backward;
    return backward != 0 && !is_merged ? shape_set_like(in, 1, &y) : FT_OK;
}

/* LSTM, UNIDIRECTIONAL_SEQUENCE_LSTM; with 5 inputs the basic cell: (x, activation, weights, bias, state). */
ft_status shape_lstm(infer *in) {
    const ft_tensor *x = input_known(in, 0), *activation = input_known(in, 1), *state = input_known(in, 4);
    if (x == NULL) return FT_OK;
    if (in->op->input_count > 5) return set_sequence(in, x, lstm_width(in, 0), 0);
    if (activation == NULL || state == NULL) return FT_OK;
    FT_TRY(shape_set_like(in, 0, activation));
    return shape_set_like(in, 1, state);
}

ft_status shape_bidirectional_lstm(infer *in) {
    const ft_tensor *x = input_known(in, 0);
    return x != NULL ? set_sequence(in, x, lstm_width(in, 0), lstm_width(in, 17)) : FT_OK;
}

/* RNN and its sequences: (x, weights [units, in], ...), the backward direction's weights at input 5. */
ft_status shape_rnn(infer *in) {
    const ft_tensor *x = input_known(in, 0), *forward = input_known(in, 1), *backward = input_known(in, 5);
    bool has_backward = strncmp(in->op->type, "BI", 2) == 0;
    if (x == NULL || forward == NULL || forward->rank != 2) return FT_OK;
    if (!has_backward) return set_sequence(in, x, forward->dims[0], 0);
    return backward != NULL && backward->rank == 2 ? set_sequence(in, x, forward->dims[0], backward->dims[0]) : FT_OK;
}

/* SVDF(x [batch, in], features [filters, in], ...): "rank" filters make one unit. */
ft_status shape_svdf(infer *in) {
    const ft_tensor *x = input_known(in, 0), *features = input_known(in, 1);
    int64_t rank = op_attr_int(in->op, "rank", 1);
    if (x == NULL || features == NULL || x->rank != 2 || features->rank != 2) return FT_OK;
    if (rank < 1 || features->dims[0] % rank != 0)
        return shape_fail(in, "%lld filters of rank %lld", (long long)features->dims[0], (long long)rank);
    int64_t dims[2] = {x->dims[0], features->dims[0] / rank};
    return shape_set(in, 0, x->dtype, dims, 2);
}

/* --- Detection, segments, FFT -------------------------------------------------------------------------------- */

/* NON_MAX_SUPPRESSION_V4 and V5(boxes, scores, limit, ...): at most `limit` indices (V5: and scores), and their number,
 * which TensorFlow's V1 to V3 do not return. */
ft_status shape_nms_limit(infer *in) {
    int64_t limit;
    uint32_t last = in->op->output_count - 1;
    if (in->op->output_count < 1) return FT_OK;
    if (last > 0) FT_TRY(shape_set(in, last, FT_INT32, NULL, 0));
    if (!input_int(in, 2, &limit)) return FT_OK;
    FT_TRY(shape_set(in, 0, FT_INT32, &limit, 1));
    return last == 2 ? shape_set(in, 1, FT_FLOAT32, &limit, 1) : FT_OK;
}

/* TFLite_Detection_PostProcess: boxes, classes and scores of max_detections detections, and their number. */
ft_status shape_detections(infer *in) {
    int64_t each = op_attr_int(in->op, "max_classes_per_detection", 1), count;
    if (!num_mul_i64(op_attr_int(in->op, "max_detections", 0), each, &count) || count < 1) return FT_OK;
    int64_t boxes[3] = {1, count, 4}, one = 1;
    FT_TRY(shape_set(in, 0, FT_FLOAT32, boxes, 3));
    FT_TRY(shape_set(in, 1, FT_FLOAT32, boxes, 2));
    FT_TRY(shape_set(in, 2, FT_FLOAT32, boxes, 2));
    return shape_set(in, 3, FT_FLOAT32, &one, 1);
}

/* MATRIX_DIAG: each vector becomes the diagonal of a square matrix. */
ft_status shape_matrix_diag(infer *in) {
    const ft_tensor *x = input_known(in, 0);
    if (x == NULL || x->rank < 1) return FT_OK;
    if (x->rank + 1 > FT_MAX_RANK) return shape_set(in, 0, x->dtype, x->dims, x->rank + 1);
    ft_tensor y = *x;
    y.dims[y.rank++] = x->dims[x->rank - 1];
    return shape_set_like(in, 0, &y);
}

/* UNSORTED_SEGMENT_*(x, ids, segments) and SEGMENT_SUM(x, ids), where the last id is the number of segments minus one.
 */
ft_status shape_segment(infer *in) {
    const ft_tensor *x = input_known(in, 0), *ids = input_known(in, 1);
    const int64_t *list;
    int64_t count, segments;
    if (x == NULL || ids == NULL || ids->rank > x->rank || ids->rank < 1) return FT_OK;
    if (in->op->input_count > 2) {
        if (!input_int(in, 2, &segments)) return FT_OK;
    } else {
        if (!input_ints(in, 1, &list, &count) || count < 1 || list[count - 1] == INT64_MAX) return FT_OK;
        segments = list[count - 1] + 1;
    }
    ft_tensor y = *x;
    y.rank = x->rank - ids->rank + 1;
    y.dims[0] = segments;
    for (int32_t i = 1; i < y.rank; i++) y.dims[i] = x->dims[i - 1 + ids->rank];
    return shape_set_like(in, 0, &y);
}

/* RFFT2D(x, [height, width]): the last dimension keeps half of the frequencies and one. */
ft_status shape_rfft2d(infer *in) {
    const ft_tensor *x = input_known(in, 0);
    const int64_t *length;
    int64_t count;
    if (x == NULL || x->rank < 2 || !input_ints(in, 1, &length, &count)) return FT_OK;
    if (count != 2) return shape_fail(in, "two lengths are required");
    ft_tensor y = *x;
    y.dims[y.rank - 2] = length[0];
    y.dims[y.rank - 1] = length[1] < 0 ? -1 : length[1] / 2 + 1;
    return shape_set(in, 0, FT_COMPLEX64, y.dims, y.rank);
}

/* Each output is shaped like the input of the same index: STABLEHLO_SORT. */
ft_status shape_each(infer *in) {
    for (uint32_t i = 0; i < in->op->output_count; i++) {
        const ft_tensor *x = input_known(in, i);
        if (x != NULL) FT_TRY(shape_set_like(in, i, x));
    }
    return FT_OK;
}

/* Operators whose output is shaped like their second input: HASHTABLE_FIND, STABLEHLO_CLAMP. */
ft_status shape_like_second(infer *in) {
    const ft_tensor *x = input_known(in, 1);
    return x != NULL ? shape_set_like(in, 0, x) : FT_OK;
}
