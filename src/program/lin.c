/* lin.c - quasi-affine index expressions. */
#include "program/lin.h"

#include <assert.h>
#include <string.h>

void lin_space_init(lin_space *s, arena *memory, lin_atom *atoms) {
    *s = (lin_space){.memory = memory, .atoms = atoms};
}

static int64_t times(lin_space *s, int64_t a, int64_t b) {
    int64_t product;
    if (!__builtin_mul_overflow(a, b, &product)) return product;
    s->is_too_large = true;
    return 0;
}

static int64_t plus(lin_space *s, int64_t a, int64_t b) {
    int64_t sum;
    if (!__builtin_add_overflow(a, b, &sum)) return sum;
    s->is_too_large = true;
    return 0;
}

/* Bounds saturate instead of overflowing. */
static int64_t add_saturated(int64_t a, int64_t b) {
    int64_t sum;
    if (!__builtin_add_overflow(a, b, &sum)) return sum;
    return b > 0 ? INT64_MAX / 2 : INT64_MIN / 2;
}

static int64_t mul_saturated(int64_t a, int64_t b) {
    int64_t product;
    if (!__builtin_mul_overflow(a, b, &product)) return product;
    return (a > 0) == (b > 0) ? INT64_MAX / 2 : INT64_MIN / 2;
}

/* Nearly all operands fit 32 bits, and processors divide those faster. */
static int64_t divide_down(int64_t a, int64_t b) {
    if ((((uint64_t)a | (uint64_t)b) >> 32) == 0) return (uint32_t)a / (uint32_t)b;
    return a / b - (a % b < 0);
}

static int64_t greatest_divisor(int64_t a, int64_t b) {
    while (b != 0) {
        int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a < 0 ? -a : a;
}

/* --- Atoms --------------------------------------------------------------------------------------------------- */

static uint32_t new_atom(lin_space *s, lin_atom atom) {
    if (s->count == LIN_MAX_ATOMS) {
        s->is_too_large = true;
        return 0;
    }
    s->atoms[s->count] = atom;
    return s->count++;
}

uint32_t lin_new_axis(lin_space *s, int64_t extent) {
    return new_atom(s, (lin_atom){.kind = LIN_AXIS, .has_axis = true, .extent = extent});
}

uint32_t lin_new_loop(lin_space *s, int64_t extent) {
    assert(extent > 0);
    if (s->loop_count == LIN_MAX_LOOPS) {
        s->is_too_large = true;
        return 0;
    }
    lin_atom atom = {.kind = LIN_LOOP, .extent = extent, .loop = s->loop_count};
    lin_mask_add(&atom.loops, s->loop_count++);
    return new_atom(s, atom);
}

/* --- Sums ---------------------------------------------------------------------------------------------------- */

static lin make(lin_space *s, int64_t base, const lin_term *terms, uint32_t count) {
    assert(count <= LIN_MAX_TERMS);
    lin a = {.base = base, .count = count};
    if (count == 0) return a;
    a.terms = arena_copy(s->memory, terms, count * sizeof *terms);
    if (a.terms == NULL) {
        s->is_out_of_memory = true;
        a.count = 0;
    }
    return a;
}

lin lin_constant(int64_t value) {
    return (lin){.base = value};
}

lin lin_from_atom(lin_space *s, uint32_t atom) {
    return make(s, 0, &(lin_term){.factor = 1, .atom = atom}, 1);
}

lin lin_add(lin_space *s, lin a, lin b, int64_t factor) {
    int64_t base = plus(s, a.base, times(s, b.base, factor));
    if (b.count == 0 || factor == 0) return (lin){.base = base, .count = a.count, .terms = a.terms};
    if (a.count == 0 && factor == 1) return (lin){.base = base, .count = b.count, .terms = b.terms};
    lin_term sum[2 * LIN_MAX_TERMS];
    uint32_t count = 0, i = 0, k = 0;
    while (i < a.count || k < b.count) {
        bool from_a = k == b.count || (i < a.count && a.terms[i].atom <= b.terms[k].atom);
        bool from_b = i == a.count || (k < b.count && b.terms[k].atom <= a.terms[i].atom);
        lin_term term = {.atom = from_a ? a.terms[i].atom : b.terms[k].atom};
        if (from_a) term.factor = a.terms[i++].factor;
        if (from_b) term.factor = plus(s, term.factor, times(s, b.terms[k++].factor, factor));
        if (term.factor != 0) sum[count++] = term;
    }
    if (count > LIN_MAX_TERMS) {
        s->is_too_large = true;
        count = 0;
    }
    return make(s, base, sum, count);
}

lin lin_scale(lin_space *s, lin a, int64_t factor) {
    return factor == 1 ? a : lin_add(s, lin_constant(0), a, factor);
}

bool lin_same_terms(lin a, lin b, int64_t *difference) {
    if (a.count != b.count) return false;
    for (uint32_t i = 0; i < a.count; i++) {
        if (a.terms[i].atom != b.terms[i].atom || a.terms[i].factor != b.terms[i].factor) return false;
    }
    *difference = a.base - b.base;
    return true;
}

bool lin_equal(lin a, lin b) {
    int64_t difference;
    return a.base == b.base && lin_same_terms(a, b, &difference);
}

lin_mask lin_loops(const lin_space *s, lin a) {
    lin_mask mask = {{0, 0}};
    for (uint32_t i = 0; i < a.count; i++) mask = lin_mask_or(mask, s->atoms[a.terms[i].atom].loops);
    return mask;
}

/* --- Bounds -------------------------------------------------------------------------------------------------- */

static void widen(int64_t factor, int64_t min_atom, int64_t max_atom, int64_t *min, int64_t *max) {
    *min = add_saturated(*min, mul_saturated(factor, factor > 0 ? min_atom : max_atom));
    *max = add_saturated(*max, mul_saturated(factor, factor > 0 ? max_atom : min_atom));
}

void lin_range(const lin_space *s, lin a, int64_t *min, int64_t *max) {
    *min = *max = a.base;
    for (uint32_t i = 0; i < a.count; i++) widen(a.terms[i].factor, 0, s->atoms[a.terms[i].atom].extent - 1, min, max);
}

/* Not inlined: most sums have no quotient, and should not pay for its stack frame. */
static __attribute__((noinline)) void quotient_range(const lin_space *s, const lin_atom *atom, lin_mask varying,
                                                     int64_t *min, int64_t *max) {
    lin_range_varying(s, atom->inner, varying, min, max);
    bool is_one = *min == *max;
    *min = divide_down(*min, atom->divisor);
    *max = is_one ? *min : divide_down(*max, atom->divisor);
    if (atom->modulus == 0) return;
    int64_t trip = divide_down(*min, atom->modulus);
    if (is_one || trip == divide_down(*max, atom->modulus)) {
        *min -= trip * atom->modulus;
        *max -= trip * atom->modulus;
    } else {
        *min = 0;
        *max = atom->modulus - 1;
    }
}

static void values_of(const lin_space *s, lin a, const lin_trips *trips, uint32_t count, int64_t *values);

static void quotient_values(const lin_space *s, const lin_atom *atom, const lin_trips *trips, uint32_t count,
                            int64_t *values) {
    values_of(s, atom->inner, trips, count, values);
    for (uint32_t i = 0; i < count; i++) values[i] = divide_down(values[i], atom->divisor);
    for (uint32_t i = 0; atom->modulus != 0 && i < count; i++)
        values[i] -= divide_down(values[i], atom->modulus) * atom->modulus;
}

/* Terms that do not vary are evaluated once. Loops without values, and axes, are at 0. */
static void values_of(const lin_space *s, lin a, const lin_trips *trips, uint32_t count, int64_t *values) {
    int64_t is[LIN_MAX_TRIPS];
    uint64_t base = (uint64_t)a.base;
    memset(values, 0, count * sizeof *values);
    for (uint32_t k = 0; k < a.count; k++) {
        const lin_atom *atom = &s->atoms[a.terms[k].atom];
        const uint64_t factor = (uint64_t)a.terms[k].factor;
        const bool is_moving = lin_mask_intersects(atom->loops, trips->varying);
        const int64_t *at = is;
        if (atom->kind == LIN_QUOTIENT)
            quotient_values(s, atom, trips, is_moving ? count : 1, is);
        else if (is_moving)
            at = trips->of[atom->loop];
        else
            continue;
        if (!is_moving)
            base += factor * (uint64_t)is[0];
        else
            for (uint32_t i = 0; i < count; i++) values[i] = (int64_t)((uint64_t)values[i] + factor * (uint64_t)at[i]);
    }
    for (uint32_t i = 0; i < count; i++) values[i] = (int64_t)((uint64_t)values[i] + base);
}

void lin_values(const lin_space *s, lin a, const lin_trips *trips, int64_t *values) {
    assert(trips->count <= LIN_MAX_TRIPS);
    values_of(s, a, trips, trips->count, values);
}

void lin_range_varying(const lin_space *s, lin a, lin_mask varying, int64_t *min, int64_t *max) {
    int64_t from = a.base, to = from;
    for (const lin_term *term = a.terms, *end = term + a.count; term < end; term++) {
        const lin_atom *atom = &s->atoms[term->atom];
        int64_t lo = 0, hi = 0;
        if (atom->kind == LIN_QUOTIENT)
            quotient_range(s, atom, varying, &lo, &hi);
        else if (atom->kind == LIN_LOOP && lin_mask_has(varying, atom->loop))
            hi = atom->extent - 1;
        if (lo != 0 || hi != 0) widen(term->factor, lo, hi, &from, &to);
    }
    *min = from;
    *max = to;
}

/* --- Quotients ----------------------------------------------------------------------------------------------- */

/* inner / divisor [mod modulus] as an atom; an equal existing one is returned. */
static lin quotient(lin_space *s, lin inner, int64_t divisor, int64_t modulus) {
    for (uint32_t i = s->count; i > 0; i--) {
        const lin_atom *atom = &s->atoms[i - 1];
        if (atom->kind == LIN_QUOTIENT && atom->divisor == divisor && atom->modulus == modulus &&
            lin_equal(atom->inner, inner))
            return lin_from_atom(s, i - 1);
    }
    lin_atom atom = {.kind = LIN_QUOTIENT, .inner = inner, .divisor = divisor, .modulus = modulus};
    int64_t min, max;
    lin_range(s, inner, &min, &max);
    atom.extent = divide_down(max, divisor) + 1;
    if (modulus != 0 && atom.extent > modulus) atom.extent = modulus;
    atom.loops = lin_loops(s, inner);
    for (uint32_t i = 0; i < inner.count; i++) atom.has_axis |= s->atoms[inner.terms[i].atom].has_axis;
    return lin_from_atom(s, new_atom(s, atom));
}

/* Splits a sum into n * whole + rest. */
static void part_by(lin_space *s, lin a, int64_t n, lin *whole, lin *rest) {
    lin_term wholes[LIN_MAX_TERMS], rests[LIN_MAX_TERMS];
    assert(n > 0);
    uint32_t whole_count = 0, rest_count = 0;
    for (uint32_t i = 0; i < a.count; i++) {
        if (a.terms[i].factor % n == 0)
            wholes[whole_count++] = (lin_term){.factor = a.terms[i].factor / n, .atom = a.terms[i].atom};
        else
            rests[rest_count++] = a.terms[i];
    }
    int64_t base = divide_down(a.base, n);
    *whole = make(s, base, wholes, whole_count);
    *rest = make(s, a.base - base * n, rests, rest_count);
}

static int64_t common_factor(lin a, int64_t n) {
    for (uint32_t i = 0; i < a.count; i++) n = greatest_divisor(n, a.terms[i].factor);
    return n;
}

/* All factors are multiples of n; the base is rounded down. */
static lin shrink(lin_space *s, lin a, int64_t n) {
    lin whole, rest;
    if (n == 1) return a;
    part_by(s, a, n, &whole, &rest);
    return whole;
}

/* The quotient atom that makes up the whole sum; NULL when the sum is anything else. */
static const lin_atom *only_quotient(const lin_space *s, lin a) {
    if (a.count != 1 || a.base != 0 || a.terms[0].factor != 1) return NULL;
    const lin_atom *atom = &s->atoms[a.terms[0].atom];
    return atom->kind == LIN_QUOTIENT ? atom : NULL;
}

lin lin_divide(lin_space *s, lin a, int64_t divisor) {
    lin whole, rest;
    int64_t min, max;
    if (divisor == 1) return a;
    if (divisor == 0) return lin_constant(0); /* an overflow, which the space has recorded */
    part_by(s, a, divisor, &whole, &rest);
    lin_range(s, rest, &min, &max);
    if (min >= 0 && max < divisor) return whole;
    int64_t common = common_factor(rest, divisor);
    rest = shrink(s, rest, common);
    divisor /= common;
    assert(divisor > 0);
    const lin_atom *q = only_quotient(s, rest);
    if (q != NULL && q->modulus == 0)
        return lin_add(s, whole, lin_divide(s, q->inner, times(s, q->divisor, divisor)), 1);
    if (q != NULL && q->modulus % divisor == 0)
        return lin_add(s, whole,
                       lin_modulo(s, lin_divide(s, q->inner, times(s, q->divisor, divisor)), q->modulus / divisor), 1);
    return lin_add(s, whole, quotient(s, rest, divisor, 0), 1);
}

/* (inner / divisor) mod modulus: multiples of divisor * modulus cancel. */
static lin modulo_of_quotient(lin_space *s, lin inner, int64_t divisor, int64_t modulus) {
    lin gone, rest;
    int64_t min, max, period = times(s, divisor, modulus);
    if (period == 0) return lin_constant(0);
    part_by(s, inner, period, &gone, &rest);
    lin_range(s, rest, &min, &max);
    if (min >= 0 && max < period) return lin_divide(s, rest, divisor);
    return quotient(s, rest, divisor, modulus);
}

lin lin_modulo(lin_space *s, lin a, int64_t modulus) {
    lin whole, rest;
    int64_t min, max;
    if (modulus == 1) return lin_constant(0);
    part_by(s, a, modulus, &whole, &rest);
    lin_range(s, rest, &min, &max);
    if (min >= 0 && max < modulus) return rest;
    int64_t common = common_factor(rest, modulus);
    if (common > 1) {
        int64_t left = rest.base % common;
        lin smaller = lin_modulo(s, shrink(s, rest, common), modulus / common);
        return lin_add(s, lin_constant(left), smaller, common);
    }
    const lin_atom *q = only_quotient(s, rest);
    if (q != NULL && (q->modulus == 0 || q->modulus % modulus == 0)) {
        return modulo_of_quotient(s, q->inner, q->divisor, modulus);
    }
    return quotient(s, rest, 1, modulus);
}

/* --- Axes ---------------------------------------------------------------------------------------------------- */

static lin replace_atom(lin_space *s, uint32_t id, uint32_t first, uint32_t count, const lin *values) {
    const lin_atom *atom = &s->atoms[id];
    if (atom->kind == LIN_AXIS) return id >= first && id < first + count ? values[id - first] : lin_from_atom(s, id);
    lin inner = lin_divide(s, lin_substitute(s, atom->inner, first, count, values), atom->divisor);
    return atom->modulus == 0 ? inner : lin_modulo(s, inner, atom->modulus);
}

lin lin_substitute(lin_space *s, lin a, uint32_t first, uint32_t count, const lin *values) {
    lin sum = lin_constant(a.base);
    for (uint32_t i = 0; i < a.count; i++) {
        uint32_t id = a.terms[i].atom;
        lin value = s->atoms[id].has_axis ? replace_atom(s, id, first, count, values) : lin_from_atom(s, id);
        sum = lin_add(s, sum, value, a.terms[i].factor);
    }
    return sum;
}
