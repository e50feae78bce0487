/* fold.c - constant folding: reading and writing of elements, and the rules that move them; fold_math.c has the rules
 * that compute. Folding makes shapes known that a model computes (Shape, Gather, Concat, Reshape).
 *
 * A fold rule runs after the shape rule, when all inputs have values and the outputs at most FT_FOLD_MAX_ELEMS
 * elements. Integers stay integers; everything else is computed in double precision, which suffices for the sizes and
 * scales that shapes depend on. A rule that cannot compute a value leaves the output without one. */
#include <assert.h>

#include "base/num.h"
#include "graph/shape.h"

/* --- Reading and writing elements ---------------------------------------------------------------------------- */

bool fold_begin(infer *in, uint32_t i, bool is_float, fold_result *r) {
    const ft_tensor *t = op_output(in->graph, in->op, i);
    if (t == NULL || !shape_is_known(t)) return false;
    *r = (fold_result){.count = shape_elems(t->dims, t->rank)};
    ft_value *value = is_float ? graph_value_floats(in->graph, r->count, &r->floats)
                               : graph_value_ints(in->graph, r->count, &r->ints);
    if (value == NULL) return false;
    in->graph->tensors[in->op->outputs[i]].value = value;
    return true;
}

bool fold_begin_count(infer *in, uint32_t i, bool is_float, int64_t count, fold_result *r) {
    const ft_tensor *y = op_output(in->graph, in->op, i);
    return y != NULL && shape_is_known(y) && shape_elems(y->dims, y->rank) == count && fold_begin(in, i, is_float, r);
}

void fold_strided(infer *in, uint32_t i, const ft_tensor *x, const int64_t *begin, const int64_t *stride,
                  const int64_t *count) {
    fold_result r;
    for (int32_t k = 0; k < x->rank; k++) {
        int64_t last = count[k] > 0 ? begin[k] + (count[k] - 1) * stride[k] : begin[k];
        if (begin[k] < 0 || last < 0 || count[k] < 0 || begin[k] > x->dims[k] || last > x->dims[k] ||
            (count[k] > 0 && (begin[k] == x->dims[k] || last == x->dims[k])))
            return;
    }
    if (!fold_begin_count(in, i, x->value->floats != NULL, shape_elems(count, x->rank), &r)) return;
    for (int64_t e = 0; e < r.count; e++) {
        int64_t rest = e, from = 0, step = 1;
        for (int32_t k = x->rank - 1; k >= 0; k--) {
            assert(count[k] > 0); /* otherwise there is no element */
            from += (begin[k] + rest % count[k] * stride[k]) * step;
            rest /= count[k];
            step *= x->dims[k];
        }
        fold_element(&r, e, x->value, from);
    }
}

void fold_discard(infer *in, uint32_t i) {
    assert(i < in->op->output_count && in->op->outputs[i] != FT_NONE);
    in->graph->tensors[in->op->outputs[i]].value = NULL;
}

double fold_number(const ft_value *v, int64_t i) {
    assert(i >= 0 && i < v->count);
    if (v->ints != NULL) return (double)v->ints[i];
    assert(v->floats != NULL);
    return v->floats[i];
}

int64_t fold_int(double number) {
    if (!(number > -9.2e18)) return INT64_MIN;
    return number < 9.2e18 ? (int64_t)number : INT64_MAX;
}

int64_t fold_broadcast_index(const ft_tensor *t, const int64_t *dims, int32_t rank, int64_t flat) {
    int64_t index = 0, stride = 1;
    for (int32_t i = 1; i <= rank; i++) {
        assert(dims[rank - i] > 0 && (i > t->rank || t->dims[t->rank - i] > 0)); /* or there is no element */
        int64_t at = flat % dims[rank - i];
        flat /= dims[rank - i];
        if (i <= t->rank) {
            index += at % t->dims[t->rank - i] * stride;
            stride *= t->dims[t->rank - i];
        }
    }
    return index;
}

/* --- Copies -------------------------------------------------------------------------------------------------- */

ft_status fold_copy(infer *in) {
    const ft_value *x = input_at(in, 0)->value;
    fold_result r;
    if (!fold_begin(in, 0, x->floats != NULL, &r)) return FT_OK;
    if (r.count != x->count) {
        fold_discard(in, 0);
        return FT_OK;
    }
    for (int64_t i = 0; i < r.count; i++) fold_element(&r, i, x, i);
    return FT_OK;
}

ft_status fold_cast(infer *in) {
    const ft_value *x = input_at(in, 0)->value;
    const ft_tensor *y = op_output(in->graph, in->op, 0);
    fold_result r;
    if (y == NULL || y->dtype == FT_STRING || !fold_begin(in, 0, ft_dtype_is_float(y->dtype), &r)) return FT_OK;
    for (int64_t i = 0; i < r.count && i < x->count; i++) {
        if (r.floats != NULL)
            r.floats[i] = fold_number(x, i);
        else if (y->dtype == FT_BOOL)
            r.ints[i] = fold_number(x, i) != 0;
        else
            r.ints[i] = x->ints != NULL ? x->ints[i] : fold_int(x->floats[i]);
    }
    return FT_OK;
}

ft_status fold_expand(infer *in) {
    const ft_tensor *x = input_at(in, 0), *y = op_output(in->graph, in->op, 0);
    fold_result r;
    if (!fold_begin(in, 0, x->value->floats != NULL, &r)) return FT_OK;
    for (int64_t i = 0; i < r.count; i++) fold_element(&r, i, x->value, fold_broadcast_index(x, y->dims, y->rank, i));
    return FT_OK;
}

ft_status fold_transpose(infer *in) {
    const ft_tensor *x = input_at(in, 0), *y = op_output(in->graph, in->op, 0);
    const int64_t *perm;
    int64_t count, stride[FT_MAX_RANK];
    fold_result r;
    bool has_perm = ints_of(in, "perm", 1, &perm, &count);
    if (!fold_begin(in, 0, x->value->floats != NULL, &r) || r.count == 0) return FT_OK;
    for (int32_t i = x->rank - 1; i >= 0; i--) stride[i] = i + 1 < x->rank ? stride[i + 1] * x->dims[i + 1] : 1;
    for (int64_t i = 0; i < r.count; i++) {
        int64_t flat = i, from = 0;
        for (int32_t k = y->rank - 1; k >= 0; k--) {
            int32_t axis = x->rank - 1 - k;
            if (has_perm) axis_normalize(perm[k], x->rank, &axis);
            assert(axis >= 0 && axis < x->rank);
            from += flat % y->dims[k] * stride[axis];
            flat /= y->dims[k];
        }
        fold_element(&r, i, x->value, from);
    }
    return FT_OK;
}

/* A tensor as [outer, axis, inner], the form that Concat, Split, Gather and Slice work on. */
typedef struct axis_view {
    int64_t outer, length, inner;
} axis_view;

static axis_view split_at(const ft_tensor *t, int32_t axis) {
    assert(axis >= 0 && axis < t->rank);
    return (axis_view){shape_elems(t->dims, axis), t->dims[axis], shape_elems(t->dims + axis + 1, t->rank - axis - 1)};
}

ft_status fold_concat(infer *in) {
    const ft_tensor *y = op_output(in->graph, in->op, 0);
    int32_t axis;
    fold_result r;
    if (y == NULL || !axis_normalize(op_attr_int(in->op, "axis", 0), y->rank, &axis)) return FT_OK;
    bool is_float = input_at(in, 0)->value->floats != NULL;
    for (uint32_t i = 0; i < in->op->input_count; i++) {
        const ft_tensor *x = input_at(in, i);
        if (x == NULL || (x->value->floats != NULL) != is_float) return FT_OK;
    }
    if (!fold_begin(in, 0, is_float, &r)) return FT_OK;
    axis_view whole = split_at(y, axis);
    int64_t offset = 0;
    for (uint32_t i = 0; i < in->op->input_count; i++) {
        const ft_tensor *x = input_at(in, i);
        axis_view part = split_at(x, axis);
        for (int64_t o = 0; o < part.outer; o++) {
            for (int64_t k = 0; k < part.length * part.inner; k++)
                fold_element(&r, (o * whole.length + offset) * whole.inner + k, x->value,
                             o * part.length * part.inner + k);
        }
        offset += part.length;
    }
    return FT_OK;
}

ft_status fold_split(infer *in) {
    const ft_tensor *x = input_at(in, 0);
    int32_t axis;
    if (!axis_normalize(op_attr_int(in->op, "axis", 0), x->rank, &axis)) return FT_OK;
    axis_view whole = split_at(x, axis);
    int64_t offset = 0;
    for (uint32_t i = 0; i < in->op->output_count; i++) {
        const ft_tensor *y = op_output(in->graph, in->op, i);
        fold_result r;
        if (!fold_begin(in, i, x->value->floats != NULL, &r)) return FT_OK;
        axis_view part = split_at(y, axis);
        for (int64_t k = 0; k < r.count; k++) {
            int64_t row = k / (part.length * part.inner), rest = k % (part.length * part.inner);
            fold_element(&r, k, x->value, (row * whole.length + offset) * whole.inner + rest);
        }
        offset += part.length;
    }
    return FT_OK;
}

ft_status fold_gather(infer *in) {
    const ft_tensor *x = input_at(in, 0), *indices = input_at(in, 1);
    int32_t axis;
    fold_result r;
    if (indices == NULL || indices->value->ints == NULL ||
        !axis_normalize(op_attr_int(in->op, "axis", 0), x->rank, &axis) ||
        !fold_begin(in, 0, x->value->floats != NULL, &r))
        return FT_OK;
    axis_view whole = split_at(x, axis);
    int64_t picks = indices->value->count;
    for (int64_t i = 0; i < r.count; i++) {
        int64_t inner = i % whole.inner, pick = i / whole.inner % picks, outer = i / whole.inner / picks;
        int64_t at = indices->value->ints[pick];
        if (at < 0) at += whole.length;
        if (at < 0 || at >= whole.length) {
            fold_discard(in, 0);
            return shape_fail(in, "index %lld is out of range for %lld", (long long)indices->value->ints[pick],
                              (long long)whole.length);
        }
        fold_element(&r, i, x->value, (outer * whole.length + at) * whole.inner + inner);
    }
    return FT_OK;
}

ft_status fold_slice(infer *in) {
    strided_slice s;
    if (axis_slice_of(in, &s) && s.fault == NULL) fold_strided(in, 0, input_at(in, 0), s.begin, s.stride, s.count);
    return FT_OK;
}

/* --- Shapes as values ---------------------------------------------------------------------------------------- */

ft_status fold_shape(infer *in) {
    const ft_tensor *x = input_known(in, 0);
    fold_result r;
    if (x == NULL || !fold_begin(in, 0, false, &r)) return FT_OK;
    int64_t start = op_attr_int(in->op, "start", 0);
    if (start < 0) start += x->rank;
    if (start < 0) start = 0;
    for (int64_t i = 0; i < r.count; i++) r.ints[i] = x->dims[start + i];
    return FT_OK;
}

ft_status fold_size(infer *in) {
    const ft_tensor *x = input_known(in, 0);
    fold_result r;
    if (x == NULL || !fold_begin(in, 0, false, &r)) return FT_OK;
    r.ints[0] = shape_elems(x->dims, x->rank);
    return FT_OK;
}

ft_status fold_range(infer *in) {
    if (input_at(in, 1) == NULL || input_at(in, 2) == NULL) return FT_OK;
    const ft_value *start = input_at(in, 0)->value, *step = input_at(in, 2)->value;
    bool is_float = start->floats != NULL || step->floats != NULL;
    fold_result r;
    if (!fold_begin(in, 0, is_float, &r)) return FT_OK;
    for (int64_t i = 0; i < r.count; i++) {
        if (is_float)
            r.floats[i] = fold_number(start, 0) + (double)i * fold_number(step, 0);
        else
            r.ints[i] = (int64_t)((uint64_t)start->ints[0] + (uint64_t)i * (uint64_t)step->ints[0]);
    }
    return FT_OK;
}

/* ConstantOfShape: the attribute "value", 0.0 when absent. */
ft_status fold_fill(infer *in) {
    const ft_attr *value = ft_op_attr(in->op, "value");
    bool is_int = value != NULL && value->kind == FT_ATTR_INT;
    fold_result r;
    if (!fold_begin(in, 0, !is_int, &r)) return FT_OK;
    for (int64_t i = 0; i < r.count; i++) {
        if (is_int)
            r.ints[i] = value->i;
        else
            r.floats[i] = value != NULL && value->kind == FT_ATTR_FLOAT ? value->f : 0;
    }
    return FT_OK;
}
