/* fold.c - computes small constants, so that shapes which a file computes (Shape, Gather, Concat, Reshape) are known.
 *
 * A fold rule runs after the shape rule, when all inputs have values and the outputs at most FT_FOLD_MAX_ELEMS
 * elements. Integers stay integers; everything else is computed in double precision, which is enough for the sizes and
 * scales that shapes depend on. A rule that cannot compute leaves the output without a value. */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/num.h"
#include "graph/fold.h"
#include "graph/slice.h"

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

void fold_box(infer *in, uint32_t i, const ft_tensor *x, const int64_t *begin, const int64_t *stride,
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
            assert(count[k] > 0); /* or there would be no element */
            from += (begin[k] + rest % count[k] * stride[k]) * step;
            rest /= count[k];
            step *= x->dims[k];
        }
        fold_element(&r, e, x->value, from);
    }
}

static void forget(infer *in, uint32_t i) {
    in->graph->tensors[in->op->outputs[i]].value = NULL;
}

static double number_at(const ft_value *v, int64_t i) {
    if (v->ints != NULL) return (double)v->ints[i];
    assert(v->floats != NULL);
    return v->floats[i];
}

static int64_t to_int(double number) {
    if (!(number > -9.2e18)) return INT64_MIN;
    return number < 9.2e18 ? (int64_t)number : INT64_MAX;
}

/* The element of `t` that stands at place `flat` of a tensor shaped `dims`: dimensions are aligned at the end and
 * repeat, which is what broadcasting and tiling do. */
static int64_t repeated_index(const ft_tensor *t, const int64_t *dims, int32_t rank, int64_t flat) {
    int64_t index = 0, stride = 1;
    for (int32_t i = 1; i <= rank; i++) {
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
    const ft_value *x = in_at(in, 0)->value;
    fold_result r;
    if (!fold_begin(in, 0, x->floats != NULL, &r)) return FT_OK;
    if (r.count != x->count) {
        forget(in, 0);
        return FT_OK;
    }
    for (int64_t i = 0; i < r.count; i++) fold_element(&r, i, x, i);
    return FT_OK;
}

ft_status fold_cast(infer *in) {
    const ft_value *x = in_at(in, 0)->value;
    const ft_tensor *y = op_output(in->graph, in->op, 0);
    fold_result r;
    if (y == NULL || y->dtype == FT_STRING || !fold_begin(in, 0, ft_dtype_is_float(y->dtype), &r)) return FT_OK;
    for (int64_t i = 0; i < r.count && i < x->count; i++) {
        if (r.floats != NULL)
            r.floats[i] = number_at(x, i);
        else if (y->dtype == FT_BOOL)
            r.ints[i] = number_at(x, i) != 0;
        else
            r.ints[i] = x->ints != NULL ? x->ints[i] : to_int(x->floats[i]);
    }
    return FT_OK;
}

ft_status fold_expand(infer *in) {
    const ft_tensor *x = in_at(in, 0), *y = op_output(in->graph, in->op, 0);
    fold_result r;
    if (!fold_begin(in, 0, x->value->floats != NULL, &r)) return FT_OK;
    for (int64_t i = 0; i < r.count; i++) fold_element(&r, i, x->value, repeated_index(x, y->dims, y->rank, i));
    return FT_OK;
}

ft_status fold_transpose(infer *in) {
    const ft_tensor *x = in_at(in, 0), *y = op_output(in->graph, in->op, 0);
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
            if (has_perm) axis_normal(perm[k], x->rank, &axis);
            from += flat % y->dims[k] * stride[axis];
            flat /= y->dims[k];
        }
        fold_element(&r, i, x->value, from);
    }
    return FT_OK;
}

/* Tensors as [outer, axis, inner]: what Concat, Split, Gather and Slice work on. */
typedef struct along {
    int64_t outer, length, inner;
} along;

static along split_at(const ft_tensor *t, int32_t axis) {
    return (along){shape_elems(t->dims, axis), t->dims[axis], shape_elems(t->dims + axis + 1, t->rank - axis - 1)};
}

ft_status fold_concat(infer *in) {
    const ft_tensor *y = op_output(in->graph, in->op, 0);
    int32_t axis;
    fold_result r;
    if (y == NULL || !axis_normal(op_attr_int(in->op, "axis", 0), y->rank, &axis)) return FT_OK;
    bool is_float = in_at(in, 0)->value->floats != NULL;
    for (uint32_t i = 0; i < in->op->input_count; i++) {
        const ft_tensor *x = in_at(in, i);
        if (x == NULL || (x->value->floats != NULL) != is_float) return FT_OK;
    }
    if (!fold_begin(in, 0, is_float, &r)) return FT_OK;
    along whole = split_at(y, axis);
    int64_t offset = 0;
    for (uint32_t i = 0; i < in->op->input_count; i++) {
        const ft_tensor *x = in_at(in, i);
        along part = split_at(x, axis);
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
    const ft_tensor *x = in_at(in, 0);
    int32_t axis;
    if (!axis_normal(op_attr_int(in->op, "axis", 0), x->rank, &axis)) return FT_OK;
    along whole = split_at(x, axis);
    int64_t offset = 0;
    for (uint32_t i = 0; i < in->op->output_count; i++) {
        const ft_tensor *y = op_output(in->graph, in->op, i);
        fold_result r;
        if (!fold_begin(in, i, x->value->floats != NULL, &r)) return FT_OK;
        along part = split_at(y, axis);
        for (int64_t k = 0; k < r.count; k++) {
            int64_t row = k / (part.length * part.inner), rest = k % (part.length * part.inner);
            fold_element(&r, k, x->value, (row * whole.length + offset) * whole.inner + rest);
        }
        offset += part.length;
    }
    return FT_OK;
}

ft_status fold_gather(infer *in) {
    const ft_tensor *x = in_at(in, 0), *indices = in_at(in, 1);
    int32_t axis;
    fold_result r;
    if (indices == NULL || indices->value->ints == NULL ||
        !axis_normal(op_attr_int(in->op, "axis", 0), x->rank, &axis) ||
        !fold_begin(in, 0, x->value->floats != NULL, &r))
        return FT_OK;
    along whole = split_at(x, axis);
    int64_t picks = indices->value->count;
    for (int64_t i = 0; i < r.count; i++) {
        int64_t inner = i % whole.inner, pick = i / whole.inner % picks, outer = i / whole.inner / picks;
        int64_t at = indices->value->ints[pick];
        if (at < 0) at += whole.length;
        if (at < 0 || at >= whole.length) {
            forget(in, 0);
            return shape_bad(in, "index %lld is out of range for %lld", (long long)indices->value->ints[pick],
                             (long long)whole.length);
        }
        fold_element(&r, i, x->value, (outer * whole.length + at) * whole.inner + inner);
    }
    return FT_OK;
}

ft_status fold_slice(infer *in) {
    strided_slice s;
    if (axis_slice_of(in, &s) && s.fault == NULL) fold_box(in, 0, in_at(in, 0), s.begin, s.stride, s.count);
    return FT_OK;
}

/* --- Shapes as values ---------------------------------------------------------------------------------------- */

ft_status fold_shape(infer *in) {
    const ft_tensor *x = in_known(in, 0);
    fold_result r;
    if (x == NULL || !fold_begin(in, 0, false, &r)) return FT_OK;
    int64_t start = op_attr_int(in->op, "start", 0);
    if (start < 0) start += x->rank;
    if (start < 0) start = 0;
    for (int64_t i = 0; i < r.count; i++) r.ints[i] = x->dims[start + i];
    return FT_OK;
}

ft_status fold_size(infer *in) {
    const ft_tensor *x = in_known(in, 0);
    fold_result r;
    if (x == NULL || !fold_begin(in, 0, false, &r)) return FT_OK;
    r.ints[0] = shape_elems(x->dims, x->rank);
    return FT_OK;
}

ft_status fold_range(infer *in) {
    if (in_at(in, 1) == NULL || in_at(in, 2) == NULL) return FT_OK;
    const ft_value *start = in_at(in, 0)->value, *step = in_at(in, 2)->value;
    bool is_float = start->floats != NULL || step->floats != NULL;
    fold_result r;
    if (!fold_begin(in, 0, is_float, &r)) return FT_OK;
    for (int64_t i = 0; i < r.count; i++) {
        if (is_float)
            r.floats[i] = number_at(start, 0) + (double)i * number_at(step, 0);
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

/* --- Arithmetic ---------------------------------------------------------------------------------------------- */

/* Wraps around like the runtimes do, instead of being undefined. */
#define WRAP(a, op, b) ((int64_t)((uint64_t)(a)op(uint64_t)(b)))

typedef struct binary {
    const char *name;
    bool (*ints)(int64_t a, int64_t b, int64_t *y); /* false: no result */
    double (*floats)(double a, double b);           /* NULL: only integers */
    bool is_truth;                                  /* the result is an integer, whatever comes in */
} binary;

static bool add_i(int64_t a, int64_t b, int64_t *y) {
    return *y = WRAP(a, +, b), true;
}
static bool sub_i(int64_t a, int64_t b, int64_t *y) {
    return *y = WRAP(a, -, b), true;
}
static bool mul_i(int64_t a, int64_t b, int64_t *y) {
    return *y = WRAP(a, *, b), true;
}
static bool min_i(int64_t a, int64_t b, int64_t *y) {
    return *y = a < b ? a : b, true;
}
static bool max_i(int64_t a, int64_t b, int64_t *y) {
    return *y = a > b ? a : b, true;
}
static bool and_i(int64_t a, int64_t b, int64_t *y) {
    return *y = a != 0 && b != 0, true;
}
static bool or_i(int64_t a, int64_t b, int64_t *y) {
    return *y = a != 0 || b != 0, true;
}
static bool xor_i(int64_t a, int64_t b, int64_t *y) {
    return *y = (a != 0) != (b != 0), true;
}
static bool equal_i(int64_t a, int64_t b, int64_t *y) {
    return *y = a == b, true;
}
static bool unequal_i(int64_t a, int64_t b, int64_t *y) {
    return *y = a != b, true;
}
static bool less_i(int64_t a, int64_t b, int64_t *y) {
    return *y = a < b, true;
}
static bool less_equal_i(int64_t a, int64_t b, int64_t *y) {
    return *y = a <= b, true;
}
static bool greater_i(int64_t a, int64_t b, int64_t *y) {
    return *y = a > b, true;
}
static bool greater_equal_i(int64_t a, int64_t b, int64_t *y) {
    return *y = a >= b, true;
}

static bool div_i(int64_t a, int64_t b, int64_t *y) {
    if (b == 0 || (a == INT64_MIN && b == -1)) return false;
    *y = a / b;
    return true;
}

static bool floor_div_i(int64_t a, int64_t b, int64_t *y) {
    if (!div_i(a, b, y)) return false;
    if (a % b != 0 && (a < 0) != (b < 0)) *y -= 1;
    return true;
}

static bool mod_i(int64_t a, int64_t b, int64_t *y) {
    if (b == 0 || (a == INT64_MIN && b == -1)) return false;
    *y = a % b;
    if (*y != 0 && (*y < 0) != (b < 0)) *y += b;
    return true;
}

static bool pow_i(int64_t a, int64_t b, int64_t *y) {
    if (b < 0 || b > 64) return false;
    for (*y = 1; b > 0; b--) *y = WRAP(*y, *, a);
    return true;
}

static double add_f(double a, double b) {
    return a + b;
}
static double sub_f(double a, double b) {
    return a - b;
}
static double mul_f(double a, double b) {
    return a * b;
}
static double div_f(double a, double b) {
    return a / b;
}
static double floor_div_f(double a, double b) {
    return floor(a / b);
}
static double equal_f(double a, double b) {
    return a == b;
}
static double unequal_f(double a, double b) {
    return a != b;
}
static double less_f(double a, double b) {
    return a < b;
}
static double less_equal_f(double a, double b) {
    return a <= b;
}
static double greater_f(double a, double b) {
    return a > b;
}
static double greater_equal_f(double a, double b) {
    return a >= b;
}

static const binary binaries[] = {
    {"Add", add_i, add_f, false},
    {"Sub", sub_i, sub_f, false},
    {"Mul", mul_i, mul_f, false},
    {"Div", div_i, div_f, false},
    {"FloorDiv", floor_div_i, floor_div_f, false},
    {"Mod", mod_i, fmod, false},
    {"Pow", pow_i, pow, false},
    {"Min", min_i, fmin, false},
    {"Max", max_i, fmax, false},
    {"And", and_i, NULL, true},
    {"Or", or_i, NULL, true},
    {"Xor", xor_i, NULL, true},
    {"Equal", equal_i, equal_f, true},
    {"NotEqual", unequal_i, unequal_f, true},
    {"Less", less_i, less_f, true},
    {"LessOrEqual", less_equal_i, less_equal_f, true},
    {"Greater", greater_i, greater_f, true},
    {"GreaterOrEqual", greater_equal_i, greater_equal_f, true},
};

ft_status fold_binary(infer *in) {
    const binary *b = NULL;
    for (size_t i = 0; i < sizeof binaries / sizeof binaries[0]; i++) {
        if (strcmp(binaries[i].name, in->op->def->name) == 0) b = &binaries[i];
    }
    const ft_tensor *x = in_at(in, 0), *y = in_at(in, 1), *z = op_output(in->graph, in->op, 0);
    if (b == NULL || in->op->input_count != 2 || y == NULL) return FT_OK;
    bool is_float = x->value->floats != NULL || y->value->floats != NULL;
    fold_result r;
    if ((is_float && b->floats == NULL) || !fold_begin(in, 0, is_float && !b->is_truth, &r)) return FT_OK;
    for (int64_t i = 0; i < r.count; i++) {
        int64_t at = repeated_index(x, z->dims, z->rank, i), bt = repeated_index(y, z->dims, z->rank, i);
        if (!is_float) {
            if (!b->ints(x->value->ints[at], y->value->ints[bt], &r.ints[i])) {
                forget(in, 0);
                return FT_OK;
            }
            continue;
        }
        double number = b->floats(number_at(x->value, at), number_at(y->value, bt));
        if (b->is_truth)
            r.ints[i] = number != 0;
        else
            r.floats[i] = number;
    }
    return FT_OK;
}

static double neg_f(double x) {
    return -x;
}
static double reciprocal_f(double x) {
    return 1 / x;
}
static double sign_f(double x) {
    return (x > 0) - (x < 0);
}
static double relu_f(double x) {
    return x > 0 ? x : 0;
}
static double square_f(double x) {
    return x * x;
}
static double not_f(double x) {
    return x == 0;
}

ft_status fold_unary(infer *in) {
    /* Rounding halfway cases to even is the default mode of nearbyint. */
    static const struct {
        const char *name;
        double (*apply)(double);
    } unaries[] = {
        {"Neg", neg_f},       {"Abs", fabs},    {"Ceil", ceil}, {"Floor", floor}, {"Round", nearbyint},
        {"Sqrt", sqrt},       {"Exp", exp},     {"Log", log},   {"Sign", sign_f}, {"Reciprocal", reciprocal_f},
        {"Square", square_f}, {"Relu", relu_f}, {"Not", not_f}, {"Sin", sin},     {"Cos", cos},
        {"Tanh", tanh},       {"Erf", erf},
    };
    const ft_value *x = in_at(in, 0)->value;
    for (size_t i = 0; i < sizeof unaries / sizeof unaries[0]; i++) {
        if (strcmp(unaries[i].name, in->op->def->name) != 0) continue;
        fold_result r;
        if (!fold_begin(in, 0, x->floats != NULL, &r)) return FT_OK;
        for (int64_t k = 0; k < r.count; k++) {
            double y = unaries[i].apply(number_at(x, k));
            if (r.floats != NULL)
                r.floats[k] = y;
            else
                r.ints[k] = to_int(y);
        }
        return FT_OK;
    }
    return FT_OK;
}

ft_status fold_where(infer *in) {
    const ft_tensor *c = in_at(in, 0), *x = in_at(in, 1), *y = in_at(in, 2), *z = op_output(in->graph, in->op, 0);
    fold_result r;
    if (x == NULL || y == NULL || (x->value->floats != NULL) != (y->value->floats != NULL) ||
        !fold_begin(in, 0, x->value->floats != NULL, &r))
        return FT_OK;
    for (int64_t i = 0; i < r.count; i++) {
        bool is_first = number_at(c->value, repeated_index(c, z->dims, z->rank, i)) != 0;
        const ft_tensor *from = is_first ? x : y;
        fold_element(&r, i, from->value, repeated_index(from, z->dims, z->rank, i));
    }
    return FT_OK;
}

/* Reductions of everything to one element: products and sums of dimensions. */
ft_status fold_reduce(infer *in) {
    const ft_value *x = in_at(in, 0)->value;
    const ft_tensor *y = op_output(in->graph, in->op, 0);
    const char *name = in->op->def->name;
    fold_result r;
    if (y == NULL || !shape_is_known(y) || shape_elems(y->dims, y->rank) != 1 || x->count < 1) return FT_OK;
    double total = number_at(x, 0);
    for (int64_t i = 1; i < x->count; i++) {
        double next = number_at(x, i);
        if (strcmp(name, "ReduceProd") == 0)
            total *= next;
        else if (strcmp(name, "ReduceMax") == 0)
            total = fmax(total, next);
        else if (strcmp(name, "ReduceMin") == 0)
            total = fmin(total, next);
        else if (strcmp(name, "ReduceSum") == 0 || strcmp(name, "ReduceMean") == 0)
            total += next;
        else
            return FT_OK;
    }
    if (strcmp(name, "ReduceMean") == 0) total /= (double)x->count;
    if (!fold_begin(in, 0, x->floats != NULL, &r)) return FT_OK;
    if (r.floats != NULL)
        r.floats[0] = total;
    else
        r.ints[0] = to_int(total);
    return FT_OK;
}
