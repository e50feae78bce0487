/* lin.h - quasi-affine index expressions: sums of integer multiples of loop variables, axes, and quotients of such
 * sums.
 *
 * Schedules change indices only by outer * factor + inner (split) and its inverse, x / n and x mod n (fuse). In a sum
 * of terms equal expressions look equal, bounds can be read off, and inverse operations cancel. Variables run from 0 to
 * extent - 1. Sums are allocated in an arena; atoms are unique. Running out of memory or overflowing is recorded in the
 * space and checked once per program (prog_check). */
#ifndef PROGRAM_LIN_H
#define PROGRAM_LIN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"

enum { LIN_MAX_ATOMS = 2048, LIN_MAX_LOOPS = 128, LIN_MAX_TERMS = 64, LIN_MAX_TRIPS = 64 };

typedef struct lin_term {
    int64_t factor; /* never 0 */
    uint32_t atom;
} lin_term;

/* base + the sum of factor * atom; terms sorted by atom. */
typedef struct lin {
    int64_t base;
    uint32_t count;
    const lin_term *terms;
} lin;

typedef struct lin_mask {
    uint64_t bits[2];
} lin_mask;

typedef enum lin_kind {
    LIN_AXIS, /* axis of a stage: a placeholder that lin_substitute replaces */
    LIN_LOOP,
    LIN_QUOTIENT /* inner / divisor, modulo `modulus` unless that is 0 */
} lin_kind;

typedef struct lin_atom {
    lin_kind kind;
    bool has_axis; /* an axis occurs in it */
    uint32_t loop; /* LIN_LOOP: its number */
    int64_t extent;
    lin_mask loops; /* that it depends on */
    lin inner;
    int64_t divisor, modulus;
} lin_atom;

typedef struct lin_space {
    arena *memory;
    lin_atom *atoms; /* LIN_MAX_ATOMS of them */
    uint32_t count;
    uint32_t loop_count;
    bool is_out_of_memory, is_too_large;
} lin_space;

/* The arena outlives the space; `atoms` is the caller's and can be reused by the next program. */
void lin_space_init(lin_space *s, arena *memory, lin_atom *atoms);
uint32_t lin_new_axis(lin_space *s, int64_t extent);
uint32_t lin_new_loop(lin_space *s, int64_t extent);

lin lin_constant(int64_t value);
lin lin_from_atom(lin_space *s, uint32_t atom);
/* a + factor * b */
lin lin_add(lin_space *s, lin a, lin b, int64_t factor);
lin lin_scale(lin_space *s, lin a, int64_t factor);
/* Rounded down; the divisor is 1 or more. */
lin lin_divide(lin_space *s, lin a, int64_t divisor);
lin lin_modulo(lin_space *s, lin a, int64_t modulus);
/* Replaces axis first + i by values[i]. */
lin lin_substitute(lin_space *s, lin a, uint32_t first, uint32_t count, const lin *values);

bool lin_equal(lin a, lin b);
/* True when they differ by a constant: a = b + *difference. */
bool lin_same_terms(lin a, lin b, int64_t *difference);
lin_mask lin_loops(const lin_space *s, lin a);
/* Values of loop variables for several evaluations at once. */
typedef struct lin_trips {
    uint32_t count;                   /* LIN_MAX_TRIPS at most */
    lin_mask varying;                 /* loops with values; the others are at 0 */
    const int64_t *of[LIN_MAX_LOOPS]; /* by loop number: `count` values; NULL: the loop is at 0 */
} lin_trips;
/* The value of the sum for each of them; overflow wraps around. */
void lin_values(const lin_space *s, lin a, const lin_trips *trips, int64_t *values);
/* The range over all values of all variables. */
void lin_range(const lin_space *s, lin a, int64_t *min, int64_t *max);
/* The range when only some loops vary, and the others are at 0. */
void lin_range_varying(const lin_space *s, lin a, lin_mask varying, int64_t *min, int64_t *max);

static inline lin_mask lin_mask_or(lin_mask a, lin_mask b) {
    return (lin_mask){{a.bits[0] | b.bits[0], a.bits[1] | b.bits[1]}};
}
static inline bool lin_mask_has(lin_mask m, uint32_t loop) {
    return m.bits[loop / 64] >> (loop % 64) & 1;
}
static inline void lin_mask_add(lin_mask *m, uint32_t loop) {
    m->bits[loop / 64] |= UINT64_C(1) << (loop % 64);
}
static inline lin_mask lin_mask_xor(lin_mask a, lin_mask b) {
    return (lin_mask){{a.bits[0] ^ b.bits[0], a.bits[1] ^ b.bits[1]}};
}

static inline bool lin_mask_intersects(lin_mask a, lin_mask b) {
    return (a.bits[0] & b.bits[0]) != 0 || (a.bits[1] & b.bits[1]) != 0;
}
static inline bool lin_mask_is_subset(lin_mask a, lin_mask b) {
    return (a.bits[0] & ~b.bits[0]) == 0 && (a.bits[1] & ~b.bits[1]) == 0;
}

#endif
