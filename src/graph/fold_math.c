/* fold_math.c - fold rules that compute: unary and binary operators, Where, and full reductions. fold.c describes the
 * preconditions. */
#include <math.h>
#include <string.h>

#include "graph/shape.h"

/* --- Two operands -------------------------------------------------------------------------------------------- */

/* Wraps around on overflow, as the runtimes do. */
#define WRAP(a, op, b) ((int64_t)((uint64_t)(a)op(uint64_t)(b)))

typedef struct binary {
    const char *name;
    bool (*ints)(int64_t a, int64_t b, int64_t *y); /* false: no result */
    double (*floats)(double a, double b);           /* NULL: only integers */
    bool is_truth;                                  /* the result is an integer for all operand types */
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
    const ft_tensor *x = input_at(in, 0), *y = input_at(in, 1), *z = op_output(in->graph, in->op, 0);
    if (b == NULL || in->op->input_count != 2 || y == NULL) return FT_OK;
    bool is_float = x->value->floats != NULL || y->value->floats != NULL;
    fold_result r;
    if ((is_float && b->floats == NULL) || !fold_begin(in, 0, is_float && !b->is_truth, &r)) return FT_OK;
    for (int64_t i = 0; i < r.count; i++) {
        int64_t at = fold_broadcast_index(x, z->dims, z->rank, i), bt = fold_broadcast_index(y, z->dims, z->rank, i);
        if (!is_float) {
            if (!b->ints(x->value->ints[at], y->value->ints[bt], &r.ints[i])) {
                fold_discard(in, 0);
                return FT_OK;
            }
            continue;
        }
        double number = b->floats(fold_number(x->value, at), fold_number(y->value, bt));
        if (b->is_truth)
            r.ints[i] = number != 0;
        else
            r.floats[i] = number;
    }
    return FT_OK;
}

/* --- One operand --------------------------------------------------------------------------------------------- */

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
    const ft_value *x = input_at(in, 0)->value;
    for (size_t i = 0; i < sizeof unaries / sizeof unaries[0]; i++) {
        if (strcmp(unaries[i].name, in->op->def->name) != 0) continue;
        fold_result r;
        if (!fold_begin(in, 0, x->floats != NULL, &r)) return FT_OK;
        for (int64_t k = 0; k < r.count; k++) {
            double y = unaries[i].apply(fold_number(x, k));
            if (r.floats != NULL)
                r.floats[k] = y;
            else
                r.ints[k] = fold_int(y);
        }
        return FT_OK;
    }
    return FT_OK;
}

/* --- Where and reductions ------------------------------------------------------------------------------------ */

ft_status fold_where(infer *in) {
    const ft_tensor *c = input_at(in, 0), *x = input_at(in, 1), *y = input_at(in, 2),
                    *z = op_output(in->graph, in->op, 0);
    fold_result r;
    if (x == NULL || y == NULL || (x->value->floats != NULL) != (y->value->floats != NULL) ||
        !fold_begin(in, 0, x->value->floats != NULL, &r))
        return FT_OK;
    for (int64_t i = 0; i < r.count; i++) {
        bool is_first = fold_number(c->value, fold_broadcast_index(c, z->dims, z->rank, i)) != 0;
        const ft_tensor *from = is_first ? x : y;
        fold_element(&r, i, from->value, fold_broadcast_index(from, z->dims, z->rank, i));
    }
    return FT_OK;
}

/* Reductions of all elements to one, used for products and sums of dimensions. */
ft_status fold_reduce(infer *in) {
    const ft_value *x = input_at(in, 0)->value;
    const ft_tensor *y = op_output(in->graph, in->op, 0);
    const char *name = in->op->def->name;
    fold_result r;
    if (y == NULL || !shape_is_known(y) || shape_elems(y->dims, y->rank) != 1 || x->count < 1) return FT_OK;
    double total = fold_number(x, 0);
    for (int64_t i = 1; i < x->count; i++) {
        double next = fold_number(x, i);
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
        r.ints[0] = fold_int(total);
    return FT_OK;
}
