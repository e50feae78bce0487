/* shape_layers.c - shape rules of products, norms, losses, recurrent layers, attention, resampling, signals. */
#include <math.h>
#include <string.h>

#include "graph/geometry.h"
#include "graph/shape.h"

/* --- Products ------------------------------------------------------------------------------------------------ */

static bool is_set(const ft_op *op, const char *a, const char *b, const char *c) {
    return op_attr_int(op, a, 0) != 0 || op_attr_int(op, b, 0) != 0 || op_attr_int(op, c, 0) != 0;
}

/* The matrices are in the last two dimensions, those before them broadcast; a vector is a row or column that the result
 * does not keep. Gemm, BATCH_MATMUL and the fused forms may transpose. */
ft_status shape_matmul(infer *in) {
    const ft_tensor *a = input_known(in, 0), *b = input_known(in, in->op->def->w != 0 ? in->op->def->w : 1);
    if (a == NULL) return FT_OK;
    if (b == NULL) return FT_OK;
    if (a->rank < 1 || b->rank < 1) return shape_fail_mismatch(in, a, b);
    ft_tensor left = matmul_operand(in->op, a, "transBatchA"), right = matmul_operand(in->op, b, "transBatchB"), y;
    bool drops_row = a->rank == 1, drops_column = b->rank == 1;
    if (drops_row) left = (ft_tensor){.rank = 2, .dims = {1, a->dims[0]}};
    if (drops_column) right = (ft_tensor){.rank = 2, .dims = {b->dims[0], 1}};
    int64_t m = left.dims[left.rank - 2], k = left.dims[left.rank - 1];
    int64_t k2 = right.dims[right.rank - 2], n = right.dims[right.rank - 1], swap;
    if (is_set(in->op, "transA", "adj_x", "transpose_a")) swap = m, m = k, k = swap;
    if (is_set(in->op, "transB", "adj_y", "transpose_b")) swap = k2, k2 = n, n = swap;
    if (k != k2) return shape_fail_mismatch(in, a, b);
    left.rank -= 2;
    right.rank -= 2;
    if (!broadcast_dims(&left, &right, y.dims, &y.rank)) return shape_fail_mismatch(in, a, b);
    if (y.rank + 2 > FT_MAX_RANK) return shape_set(in, 0, a->dtype, y.dims, FT_MAX_RANK + 1);
    if (!drops_row) y.dims[y.rank++] = m;
    if (!drops_column) y.dims[y.rank++] = n;
    return shape_set(in, 0, shape_product_type(in, a), y.dims, y.rank);
}

/* Weights are [out, in]. The input is flattened to rows unless the operator keeps its dimensions. */
ft_status shape_fully_connected(infer *in) {
    const ft_tensor *x = input_known(in, 0), *weight = input_known(in, 1);
    if (x == NULL || weight == NULL) return FT_OK;
    if (weight->rank != 2 || weight->dims[1] == 0) return shape_fail_mismatch(in, x, weight);
    int64_t elems = shape_elems(x->dims, x->rank), out = weight->dims[0], width = weight->dims[1];
    if (elems % width != 0) return shape_fail_mismatch(in, x, weight);
    if (op_attr_int(in->op, "keep_num_dims", 0) == 0 || x->rank < 1) {
        int64_t dims[2] = {elems / width, out};
        return shape_set(in, 0, x->dtype, dims, 2);
    }
    ft_tensor y = *x;
    if (y.dims[y.rank - 1] != width) return shape_fail_mismatch(in, x, weight);
    y.dims[y.rank - 1] = out;
    return shape_set_like(in, 0, &y);
}

/* --- Einsum -------------------------------------------------------------------------------------------------- */

typedef struct einsum {
    int64_t size[256];             /* by label, 0 = not seen */
    int64_t ellipsis[FT_MAX_RANK]; /* dimensions of "..." */
    int32_t ellipsis_rank;
    int seen[256];
} einsum;

/* Reads the labels of one operand, without blanks. False when they do not fit its shape. */
static bool einsum_operand(einsum *e, const char *labels, size_t length, const ft_tensor *t) {
    int32_t letters = 0, axis = 0;
    for (size_t i = 0; i < length; i++) letters += labels[i] != '.' && labels[i] != ' ';
    for (size_t i = 0; i < length; i++) {
        unsigned char label = (unsigned char)labels[i];
        if (label == ' ') continue;
        if (label == '.') {
            int32_t rank = t->rank - letters;
            if (rank < 0 || i + 2 >= length) return false;
            for (int32_t k = 0; k < rank; k++) {
                int64_t *dim = &e->ellipsis[FT_MAX_RANK - rank + k];
                if (t->dims[axis + k] > *dim) *dim = t->dims[axis + k];
            }
            if (rank > e->ellipsis_rank) e->ellipsis_rank = rank;
            axis += rank;
            i += 2;
            continue;
        }
        if (axis >= t->rank) return false;
        int64_t dim = t->dims[axis++];
        if (e->size[label] > 1 && dim != 1 && dim != e->size[label]) return false;
        if (dim > e->size[label]) e->size[label] = dim;
        e->seen[label]++;
    }
    return axis == t->rank;
}

/* The labels after "->", or, when there is none, those that occur once, in alphabetical order. */
static bool einsum_result(const einsum *e, const char *arrow, int64_t dims[FT_MAX_RANK], int32_t *rank) {
    char implicit[260];
    size_t length = 0;
    if (arrow == NULL) {
        if (e->ellipsis_rank > 0) length = 3, memcpy(implicit, "...", 3);
        for (int label = 'A'; label <= 'z'; label++) {
            if (e->seen[label] == 1) implicit[length++] = (char)label;
        }
        implicit[length] = '\0';
    }
    const char *labels = arrow != NULL ? arrow + 2 : implicit;
    for (*rank = 0; *labels != '\0'; labels++) {
        if (*labels == ' ') continue;
        if (strncmp(labels, "...", 3) == 0) {
            for (int32_t k = 0; k < e->ellipsis_rank; k++) {
                if (*rank >= FT_MAX_RANK) return false;
                dims[(*rank)++] = e->ellipsis[FT_MAX_RANK - e->ellipsis_rank + k];
            }
            labels += 2;
            continue;
        }
        unsigned char label = (unsigned char)*labels;
        if (*rank >= FT_MAX_RANK || e->seen[label] == 0) return false;
        dims[(*rank)++] = e->size[label];
    }
    return true;
}

ft_status shape_einsum(infer *in) {
    const char *equation = op_attr_string(in->op, "equation", ""), *arrow = strstr(equation, "->"), *at = equation;
    einsum e = {.ellipsis_rank = 0};
    if (equation[0] == '\0') return FT_OK;
    for (uint32_t i = 0; i < in->op->input_count; i++) {
        const ft_tensor *t = input_known(in, i);
        if (t == NULL) return FT_OK;
        size_t length = strcspn(at, ",-");
        if (!einsum_operand(&e, at, length, t)) return shape_fail(in, "input %u does not fit '%s'", i, equation);
        at += length;
        if (*at == ',') at++;
    }
    int64_t dims[FT_MAX_RANK];
    int32_t rank;
    if (!einsum_result(&e, arrow, dims, &rank)) return shape_fail(in, "invalid equation '%s'", equation);
    return in->op->input_count > 0 ? shape_set(in, 0, input_at(in, 0)->dtype, dims, rank) : FT_OK;
}

/* --- Norms --------------------------------------------------------------------------------------------------- */

/* The optional other outputs are the statistics. */
ft_status shape_batch_norm(infer *in) {
    const ft_tensor *x = input_known(in, 0), *scale = input_known(in, 1);
    if (x == NULL) return FT_OK;
    FT_TRY(shape_set_like(in, 0, x));
    for (uint32_t i = 1; scale != NULL && i < in->op->output_count; i++) FT_TRY(shape_set_like(in, i, scale));
    return FT_OK;
}

/* Mean and inverse deviation keep their axes with size 1. */
ft_status shape_layer_norm(infer *in) {
    const ft_tensor *x = input_known(in, 0);
    int32_t axis;
    if (x == NULL) return FT_OK;
    FT_TRY(shape_set_like(in, 0, x));
    if (!axis_normalize(op_attr_int(in->op, "axis", -1), x->rank, &axis))
        return shape_fail(in, "the axis is out of range");
    ft_tensor stats = *x;
    for (int32_t i = axis; i < x->rank; i++) stats.dims[i] = 1;
    for (uint32_t i = 1; i < in->op->output_count && i < 3; i++)
        FT_TRY(shape_set(in, i, FT_FLOAT32, stats.dims, stats.rank));
    return FT_OK;
}

/* --- Losses -------------------------------------------------------------------------------------------------- */

/* (scores, labels): one number, or one per label; optional second output: the scores as log-probabilities. */
ft_status shape_loss(infer *in) {
    const ft_tensor *scores = input_known(in, 0), *labels = input_known(in, 1);
    if (scores == NULL || labels == NULL) return FT_OK;
    bool is_each = strcmp(op_attr_string(in->op, "reduction", "mean"), "none") == 0;
    FT_TRY(shape_set(in, 0, scores->dtype, labels->dims, is_each ? labels->rank : 0));
    return shape_set_like(in, 1, scores);
}

/* The determinant of the matrices in the last two dimensions. */
ft_status shape_det(infer *in) {
    const ft_tensor *x = input_known(in, 0);
    if (x == NULL || x->rank < 2) return FT_OK;
    return shape_set(in, 0, x->dtype, x->dims, x->rank - 2);
}

/* --- Sequences ----------------------------------------------------------------------------------------------- */

/* x [steps, batch, in] and recurrent weights [directions, gates * hidden, hidden]; layout 1 has the batch first. */
ft_status shape_recurrent(infer *in) {
    const ft_tensor *x = input_known(in, 0), *r = input_known(in, 2);
    if (x == NULL || r == NULL) return FT_OK;
    if (x->rank != 3 || r->rank != 3) return shape_fail_mismatch(in, x, r);
    bool is_batch_first = op_attr_int(in->op, "layout", 0) != 0;
    int64_t steps = x->dims[is_batch_first ? 1 : 0], batch = x->dims[is_batch_first ? 0 : 1];
    int64_t directions = r->dims[0], hidden = r->dims[2];
    int64_t all[2][4] = {{steps, directions, batch, hidden}, {batch, steps, directions, hidden}};
    int64_t last[2][3] = {{directions, batch, hidden}, {batch, directions, hidden}};
    FT_TRY(shape_set(in, 0, x->dtype, all[is_batch_first], 4));
    FT_TRY(shape_set(in, 1, x->dtype, last[is_batch_first], 3));
    return shape_set(in, 2, x->dtype, last[is_batch_first], 3);
}

/* --- Resampling ---------------------------------------------------------------------------------------------- */

/* Sizes or factors: inputs 3 and 2 since opset 11, input 1 before, an attribute in the oldest opsets. */
ft_status shape_resize(infer *in) {
    const ft_tensor *x = input_known(in, 0);
    if (x == NULL) return FT_OK;
    uint32_t scale_at = in->op->input_count == 2 ? 1 : 2, axes_count;
    const ft_tensor *scales = input_at(in, scale_at);
    const ft_attr *old = ft_op_attr(in->op, "scales");
    const int64_t *axes = op_attr_ints(in->op, "axes", &axes_count), *sizes = NULL;
    const double *factors = NULL;
    int64_t count = 0;
    if (in->op->input_count > 3 && input_ints(in, 3, &sizes, &count) && count > 0) {
        /* sizes win */
    } else if (scales != NULL && scales->value != NULL && scales->value->floats != NULL && scales->value->count > 0) {
        sizes = NULL;
        factors = scales->value->floats;
        count = scales->value->count;
    } else if (old != NULL && old->kind == FT_ATTR_FLOATS) {
        sizes = NULL;
        factors = old->floats;
        count = old->count;
    } else {
        return FT_OK;
    }
    if (count != (axes != NULL ? (int64_t)axes_count : x->rank))
        return shape_fail(in, "%lld sizes or scales for an input of rank %d", (long long)count, x->rank);
    ft_tensor y = *x;
    for (int64_t i = 0; i < count; i++) {
        int32_t axis;
        if (!axis_normalize(axes != NULL ? axes[i] : i, x->rank, &axis))
            return shape_fail(in, "an axis is out of range");
        double scaled = factors != NULL ? floor((double)x->dims[axis] * factors[i]) : 0;
        if (factors != NULL && !(scaled >= 0 && scaled <= (double)FT_MAX_DIM))
            return shape_fail(in, "scale %g is out of range", factors[i]);
        y.dims[axis] = sizes != NULL ? sizes[i] : (int64_t)scaled;
    }
    return shape_set_like(in, 0, &y);
}

/* RoiAlign(x, rois [n, 4], batch indices). */
ft_status shape_roi_align(infer *in) {
    const ft_tensor *x = input_known(in, 0), *rois = input_known(in, 1);
    if (x == NULL || rois == NULL || x->rank != 4 || rois->rank < 1) return FT_OK;
    uint32_t pooled;
    const int64_t *size = op_attr_ints(in->op, "pooled_shape", &pooled);
    int64_t high = op_attr_int(in->op, "output_height", pooled == 2 ? size[0] : 1);
    int64_t wide = op_attr_int(in->op, "output_width", pooled == 2 ? size[1] : 1);
    int64_t dims[4] = {rois->dims[0], x->dims[1], high, wide};
    return shape_set(in, 0, x->dtype, dims, 4);
}

/* GridSample(x [n, c, ...], grid [n, positions..., coordinates]). */
ft_status shape_grid_sample(infer *in) {
    const ft_tensor *x = input_known(in, 0), *grid = input_known(in, 1);
    if (x == NULL || grid == NULL) return FT_OK;
    if (grid->rank != x->rank || x->rank < 3) return shape_fail_mismatch(in, x, grid);
    ft_tensor y = *x;
    for (int32_t i = 2; i < x->rank; i++) y.dims[i] = grid->dims[i - 1];
    return shape_set_like(in, 0, &y);
}

/* --- Signal -------------------------------------------------------------------------------------------------- */

/* DFT(x [..., 1 or 2], length): complex numbers are a last dimension of 2. */
ft_status shape_dft(infer *in) {
    const ft_tensor *x = input_known(in, 0);
    int64_t given_axis = op_attr_int(in->op, "axis", 1), length;
    int32_t axis;
    if (x == NULL || x->rank < 2 || (input_at(in, 2) != NULL && !input_size(in, 2, &given_axis))) return FT_OK;
    if (!axis_normalize(given_axis, x->rank, &axis)) return shape_fail(in, "the axis is out of range");
    ft_tensor y = *x;
    if (input_size(in, 1, &length)) y.dims[axis] = length;
    if (op_attr_int(in->op, "onesided", 0) != 0) y.dims[axis] = y.dims[axis] / 2 + 1;
    y.dims[y.rank - 1] = 2;
    return shape_set_like(in, 0, &y);
}

/* STFT(x [batch, length, 1], step, window, frame length). */
ft_status shape_stft(infer *in) {
    const ft_tensor *x = input_known(in, 0), *win = input_known(in, 2);
    int64_t step, length = 0;
    if (x == NULL || x->rank < 2 || !input_size(in, 1, &step) || step < 1) return FT_OK;
    if (!input_size(in, 3, &length) && win != NULL && win->rank == 1) length = win->dims[0];
    if (length < 1 || length > x->dims[1]) return FT_OK;
    int64_t frames = (x->dims[1] - length) / step + 1;
    int64_t dims[4] = {x->dims[0], frames, op_attr_int(in->op, "onesided", 1) != 0 ? length / 2 + 1 : length, 2};
    return shape_set(in, 0, x->dtype, dims, 4);
}

ft_status shape_window(infer *in) {
    int64_t count;
    return input_size(in, 0, &count) ? shape_set(in, 0, FT_FLOAT32, &count, 1) : FT_OK;
}
