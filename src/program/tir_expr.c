/* tir_expr.c - expressions of printed programs: integer expressions become index sums, all others values. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/text.h"
#include "program/tir_text.h"

static ft_status parse_level(tir_parser *r, int level, tir_expr *e);

static prog_value *value_of(tir_parser *r, const tir_expr *e) {
    return e->is_sum ? prog_number(r->p, (double)e->sum.base) : e->value;
}

static ft_status make_value(tir_parser *r, prog_op op, prog_value *a, prog_value *b, tir_expr *e) {
    *e = (tir_expr){.value = prog_binary(r->p, op, a, b)};
    return e->value != NULL ? FT_OK : prog_check(r->p);
}

/* --- Arithmetic ---------------------------------------------------------------------------------------------- */

static bool is_number(const tir_expr *e) {
    return e->is_sum && e->sum.count == 0;
}

static ft_status combine_sums(tir_parser *r, char op, const tir_expr *a, const tir_expr *b, tir_expr *e) {
    lin_space *s = &r->p->space;
    lin sum;
    if (op == '+' || op == '-') {
        sum = lin_add(s, a->sum, b->sum, op == '+' ? 1 : -1);
    } else if (op == '*') {
        if (!is_number(a) && !is_number(b))
            return tir_fail(r, FT_ERR_UNSUPPORTED, "a product of two variables in an index");
        sum = is_number(b) ? lin_scale(s, a->sum, b->sum.base) : lin_scale(s, b->sum, a->sum.base);
        if (is_number(b) && b->sum.base == 0) sum = lin_constant(0);
    } else {
        if (!is_number(b) || b->sum.base < 1)
            return tir_fail(r, FT_ERR_UNSUPPORTED, "a division by something other than a number of 1 or more");
        sum = op == '/' ? lin_divide(s, a->sum, b->sum.base) : lin_modulo(s, a->sum, b->sum.base);
    }
    *e = (tir_expr){.is_sum = true, .sum = sum};
    return prog_check(r->p);
}

static ft_status combine(tir_parser *r, char op, const tir_expr *a, const tir_expr *b, tir_expr *e) {
    if (a->is_test || b->is_test) return tir_fail(r, FT_ERR_UNSUPPORTED, "arithmetic with a comparison");
    if (a->is_sum && b->is_sum) return combine_sums(r, op, a, b, e);
    prog_op kind = op == '+' ? PROG_ADD : op == '-' ? PROG_SUB : op == '*' ? PROG_MUL : PROG_DIV;
    return make_value(r, kind, value_of(r, a), value_of(r, b), e);
}

/* --- Comparisons --------------------------------------------------------------------------------------------- */

static ft_status make_test(tir_parser *r, lin index, int64_t low, int64_t high, tir_expr *e) {
    prog_value *value = prog_number(r->p, 0);
    prog_bound *bounds = ARENA_NEW(r->p->memory, prog_bound);
    if (value == NULL || bounds == NULL) {
        r->p->space.is_out_of_memory = true;
        return prog_check(r->p);
    }
    *bounds = (prog_bound){.index = index, .low = low, .high = high};
    value->bounds = bounds;
    value->bound_count = 1;
    *e = (tir_expr){.is_test = true, .value = value};
    return FT_OK;
}

/* a < b as a bound of a - b, unless one of them is a number. */
static ft_status compare(tir_parser *r, const tir_expr *a, const tir_expr *b, bool is_or_equal, tir_expr *e) {
    if (!a->is_sum || !b->is_sum) {
        tir_expr zero = {.is_sum = true};
        return make_test(r, zero.sum, INT64_MIN, 1, e);
    }
    if (is_number(b)) return make_test(r, a->sum, INT64_MIN, b->sum.base + is_or_equal, e);
    if (is_number(a)) return make_test(r, b->sum, a->sum.base + !is_or_equal, INT64_MAX, e);
    return make_test(r, lin_add(&r->p->space, a->sum, b->sum, -1), INT64_MIN, is_or_equal, e);
}

/* Two comparisons of one index become one bound; others are listed. */
static ft_status join_tests(tir_parser *r, const tir_expr *a, const tir_expr *b, tir_expr *e) {
    if (!a->is_test || !b->is_test) return tir_fail(r, FT_ERR_UNSUPPORTED, "'&&' or '||' without comparisons");
    uint32_t count = a->value->bound_count + b->value->bound_count;
    prog_bound *bounds = ARENA_ARRAY(r->p->memory, prog_bound, count);
    prog_value *value = prog_number(r->p, 0);
    if (bounds == NULL || value == NULL) {
        r->p->space.is_out_of_memory = true;
        return prog_check(r->p);
    }
    memcpy(bounds, a->value->bounds, a->value->bound_count * sizeof *bounds);
    memcpy(bounds + a->value->bound_count, b->value->bounds, b->value->bound_count * sizeof *bounds);
    if (count == 2 && bounds[0].high == INT64_MAX && bounds[1].low == INT64_MIN &&
        lin_equal(bounds[0].index, bounds[1].index)) {
        bounds[0].high = bounds[1].high;
        count = 1;
    }
    value->bounds = bounds;
    value->bound_count = count;
    *e = (tir_expr){.is_test = true, .value = value};
    return FT_OK;
}

/* --- Calls --------------------------------------------------------------------------------------------------- */

static ft_status arguments(tir_parser *r, tir_expr *list, uint32_t max, uint32_t *count) {
    *count = 0;
    tir_space(r);
    if (tir_accept(r, ")")) return FT_OK;
    do {
        if (*count == max) return tir_fail(r, FT_ERR_UNSUPPORTED, "a call with too many arguments");
        FT_TRY(tir_parse(r, &list[(*count)++]));
    } while (tir_accept(r, ","));
    return tir_accept(r, ")") ? FT_OK : tir_fail(r, FT_ERR_DAMAGED, "')' is missing");
}

/* ramp(base, stride, lanes): base + lane * stride. All vectors of a store share one loop. */
static ft_status ramp(tir_parser *r, const tir_expr *list, tir_expr *e) {
    if (!list[0].is_sum || !is_number(&list[1]) || !is_number(&list[2]) || list[2].sum.base < 1 ||
        list[2].sum.base > 1 << 20)
        return tir_fail(r, FT_ERR_UNSUPPORTED, "a ramp whose operands are not integers");
    if (r->has_lane && r->lanes != list[2].sum.base)
        return tir_fail(r, FT_ERR_UNSUPPORTED, "vectors of different lengths in one store");
    if (!r->has_lane) {
        r->lane_atom = lin_new_loop(&r->p->space, list[2].sum.base);
        r->lanes = list[2].sum.base;
        r->has_lane = true;
    }
    lin lane = lin_from_atom(&r->p->space, r->lane_atom);
    *e = (tir_expr){.is_sum = true, .sum = lin_add(&r->p->space, list[0].sum, lane, list[1].sum.base)};
    return prog_check(r->p);
}

static ft_status choose(tir_parser *r, const tir_expr *list, bool is_select, tir_expr *e) {
    if (!list[0].is_test) return tir_fail(r, FT_ERR_UNSUPPORTED, "a condition without a comparison");
    FT_TRY(make_value(r, is_select ? PROG_SELECT : PROG_IF, value_of(r, &list[1]), value_of(r, &list[2]), e));
    e->value->bounds = list[0].value->bounds;
    e->value->bound_count = list[0].value->bound_count;
    return FT_OK;
}

/* "x16" broadcasts, "float32" and "int64" only change the type. */
static bool is_plain_call(const char *name) {
    if (name[0] == 'x' && strspn(name + 1, "0123456789") == strlen(name + 1)) return true;
    return strncmp(name, "float", 5) == 0 || strncmp(name, "int", 3) == 0 || strncmp(name, "uint", 4) == 0 ||
           strcmp(name, "tir.likely") == 0 || strcmp(name, "likely") == 0 || strcmp(name, "cast") == 0;
}

static ft_status call(tir_parser *r, const char *name, tir_expr *e) {
    tir_expr list[8] = {0};
    uint32_t count;
    FT_TRY(arguments(r, list, 8, &count));
    if (strcmp(name, "ramp") == 0 && count == 3) return ramp(r, list, e);
    if (count == 3 && (strcmp(name, "tir.if_then_else") == 0 || strcmp(name, "if_then_else") == 0))
        return choose(r, list, false, e);
    if (count == 3 && (strcmp(name, "select") == 0 || strcmp(name, "Select") == 0)) return choose(r, list, true, e);
    if (count >= 1 && is_plain_call(name)) {
        *e = list[count - 1];
        return FT_OK;
    }
    bool is_div = strcmp(name, "floordiv") == 0, is_mod = strcmp(name, "floormod") == 0;
    if (count == 2 && (is_div || is_mod)) return combine(r, is_div ? '/' : '%', &list[0], &list[1], e);
    bool is_max = strcmp(name, "max") == 0, is_min = strcmp(name, "min") == 0;
    if (count == 2 && (is_max || is_min))
        return make_value(r, is_max ? PROG_MAX : PROG_MIN, value_of(r, &list[0]), value_of(r, &list[1]), e);
    if (count == 0 || count > 2) return tir_fail(r, FT_ERR_UNSUPPORTED, "an unknown call");
    bool is_tanh = strcmp(name, "tir.tanh") == 0, is_sigmoid = strcmp(name, "tir.sigmoid") == 0;
    return make_value(r,
                      is_tanh      ? PROG_TANH
                      : is_sigmoid ? PROG_SIGMOID
                                   : PROG_CALL,
                      value_of(r, &list[0]), count == 2 ? value_of(r, &list[1]) : NULL, e);
}

/* --- Primary expressions ------------------------------------------------------------------------------------- */

static ft_status number(tir_parser *r, tir_expr *e) {
    const char *from = r->at;
    bool is_whole = true;
    while (r->at < r->end && strchr("0123456789.eE+-", *r->at) != NULL && *r->at != '\0') {
        bool is_sign = *r->at == '+' || *r->at == '-';
        if (is_sign && (r->at == from || (r->at[-1] != 'e' && r->at[-1] != 'E'))) break;
        is_whole &= *r->at >= '0' && *r->at <= '9';
        r->at++;
    }
    double value;
    if (!text_double(from, (size_t)(r->at - from), &value)) return tir_fail(r, FT_ERR_DAMAGED, "not a number");
    /* 0f, 1.5f, 0f32 and 1h are floats. */
    if (r->at < r->end && (*r->at == 'f' || *r->at == 'h')) {
        is_whole = false;
        r->at++;
        while (r->at < r->end && *r->at >= '0' && *r->at <= '9') r->at++;
    }
    if (is_whole && value < 1e15) {
        *e = (tir_expr){.is_sum = true, .sum = lin_constant((int64_t)value)};
        return FT_OK;
    }
    *e = (tir_expr){.value = prog_number(r->p, value)};
    return e->value != NULL ? FT_OK : prog_check(r->p);
}

static bool find_name(const tir_parser *r, const char *name, lin *value) {
    for (uint32_t i = r->name_count; i > 0; i--) {
        if (strcmp(r->names[i - 1].name, name) != 0) continue;
        *value = r->names[i - 1].value;
        return true;
    }
    return false;
}

static ft_status named(tir_parser *r, tir_expr *e) {
    char name[TIR_NAME];
    if (!tir_accept_word(r, name)) return tir_fail(r, FT_ERR_DAMAGED, "an expression is missing");
    if (tir_accept(r, "(")) return call(r, name, e);
    if (tir_accept(r, "[")) {
        uint32_t stage;
        lin index[PROG_MAX_DIMS];
        FT_TRY(tir_buffer(r, name, &stage));
        FT_TRY(tir_index(r, stage, index));
        *e = (tir_expr){.value = prog_load(r->p, stage, index, r->p->stages[stage].dims)};
        return e->value != NULL ? tir_note_load(r, name, e->value) : prog_check(r->p);
    }
    if (!find_name(r, name, &e->sum)) return tir_fail(r, FT_ERR_DAMAGED, "a variable of no enclosing loop");
    e->is_sum = true;
    return FT_OK;
}

/* A cast: "(float32)x", "(bool)1". */
static bool take_cast(tir_parser *r) {
    static const char *const types[] = {"(float", "(int", "(uint", "(bool"};
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        size_t length = strlen(types[i]);
        if ((size_t)(r->end - r->at) <= length || memcmp(r->at, types[i], length) != 0) continue;
        const char *end = r->at + length;
        while (end < r->end && *end >= '0' && *end <= '9') end++;
        if (end == r->end || *end != ')') continue;
        r->at = end + 1;
        return true;
    }
    return false;
}

static ft_status piece(tir_parser *r, tir_expr *e) {
    *e = (tir_expr){0};
    do tir_space(r);
    while (take_cast(r));
    if (r->at == r->end) return tir_fail(r, FT_ERR_DAMAGED, "an expression is missing");
    if (*r->at == '-' || *r->at == '!') {
        bool is_minus = *r->at++ == '-';
        if (++r->depth > TIR_MAX_DEPTH) return tir_fail(r, FT_ERR_LIMIT, "an expression that is nested too deeply");
        FT_TRY(piece(r, e));
        r->depth--;
        if (!is_minus) return FT_OK;
        if (!e->is_sum && !e->is_test && e->value->op == PROG_NUMBER) {
            e->value->number = -e->value->number;
            return FT_OK;
        }
        tir_expr zero = {.is_sum = true}, whole = *e;
        return combine(r, '-', &zero, &whole, e);
    }
    if (*r->at == '(') {
        r->at++;
        FT_TRY(tir_parse(r, e));
        return tir_accept(r, ")") ? FT_OK : tir_fail(r, FT_ERR_DAMAGED, "')' is missing");
    }
    return *r->at >= '0' && *r->at <= '9' ? number(r, e) : named(r, e);
}

/* --- Precedence: || && comparisons + * ----------------------------------------------------------------------- */

/* The operator of this precedence that comes next; "" when there is none. */
static const char *operator_at(tir_parser *r, int level) {
    static const char *const operators[5][7] = {
        {"||"}, {"&&"}, {"<=", ">=", "==", "!=", "<", ">"}, {"+", "-"}, {"*", "/", "%"}};
    tir_space(r);
    if (r->end - r->at >= 2 && r->at[0] == '/' && r->at[1] == '/') return ""; /* a comment after the store */
    for (int i = 0; operators[level][i] != NULL; i++) {
        if (tir_accept(r, operators[level][i])) return operators[level][i];
    }
    return "";
}

static ft_status apply(tir_parser *r, const char *op, const tir_expr *a, const tir_expr *b, tir_expr *e) {
    switch (op[0]) {
    case '|':
    case '&':
        return join_tests(r, a, b, e);
    case '<':
        return compare(r, a, b, op[1] == '=', e);
    case '>':
        return compare(r, b, a, op[1] == '=', e);
    case '=':
    case '!':
        return compare(r, a, b, true, e);
    default:
        return combine(r, op[0], a, b, e);
    }
}

static ft_status parse_level(tir_parser *r, int level, tir_expr *e) {
    if (level == 5) return piece(r, e);
    FT_TRY(parse_level(r, level + 1, e));
    for (const char *op; *(op = operator_at(r, level)) != '\0';) {
        tir_expr left = *e, right;
        FT_TRY(parse_level(r, level + 1, &right));
        FT_TRY(apply(r, op, &left, &right, e));
    }
    return FT_OK;
}

ft_status tir_parse(tir_parser *r, tir_expr *e) {
    if (++r->depth > TIR_MAX_DEPTH) return tir_fail(r, FT_ERR_LIMIT, "an expression that is nested too deeply");
    FT_TRY(parse_level(r, 0, e));
    r->depth--;
    return FT_OK;
}
