/* lin.h - index arithmetic: sums of whole multiples of loop variables, of axes, and of quotients of such sums.
 *
 * All that schedules do to indices is outer * factor + inner (split) and its way back, x / n and x mod n (fuse); so a
 * sum of terms is a form in which equal expressions look equal, whose bounds can be read off, and in which what cancels
 * does. Variables run from 0 to extent - 1. Sums live in an arena; atoms are shared, each is there once. Running out of
 * memory or of numbers is remembered in the space and checked once per program. */
#ifndef PROGRAM_LIN_H
#define PROGRAM_LIN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"

enum { LIN_MAX_ATOMS = 2048, LIN_MAX_LOOPS = 128, LIN_MAX_TERMS = 64, LIN_MAX_TURNS = 64 };

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
    LIN_AXIS, /* of a stage: stands for what will be put in its place */
    LIN_LOOP,
    LIN_QUOTIENT /* inner / divisor, and of that the remainder by modulus unless that is 0 */
} lin_kind;

typedef struct lin_atom {
    lin_kind kind;
    bool has_axis; /* in it somewhere */
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

/* The arena outlives the space; `atoms` may be from somewhere else and is used again by the next program. */
void lin_space_init(lin_space *s, arena *memory, lin_atom *atoms);
uint32_t lin_new_axis(lin_space *s, int64_t extent);
uint32_t lin_new_loop(lin_space *s, int64_t extent);

lin lin_number(int64_t value);
lin lin_of(lin_space *s, uint32_t atom);
/* a + factor * b */
lin lin_add(lin_space *s, lin a, lin b, int64_t factor);
lin lin_scale(lin_space *s, lin a, int64_t factor);
/* Rounded down; by a number of 1 or more. */
lin lin_divide(lin_space *s, lin a, int64_t divisor);
lin lin_modulo(lin_space *s, lin a, int64_t modulus);
/* Puts values[i] in the place of axis first + i. */
lin lin_replace(lin_space *s, lin a, uint32_t first, uint32_t count, const lin *values);

bool lin_equal(lin a, lin b);
/* True when they differ by a number only: a = b + *difference. */
bool lin_same_terms(lin a, lin b, int64_t *difference);
lin_mask lin_loops(const lin_space *s, lin a);
/* Where loops stand, several times over. */
typedef struct lin_turns {
    uint32_t count;                   /* LIN_MAX_TURNS at most */
    lin_mask running;                 /* the loops that are told of; the others stand at 0 */
    const int64_t *of[LIN_MAX_LOOPS]; /* by the number of a loop, `count` turns of it; NULL: it stands at 0 */
} lin_turns;
/* What it is then, each time; numbers that are too large wrap around. */
void lin_values(const lin_space *s, lin a, const lin_turns *turns, int64_t *values);
/* What it can be when every variable takes every value. */
void lin_range(const lin_space *s, lin a, int64_t *least, int64_t *most);
/* The same when only some loops run, and the others stand at 0. */
void lin_range_of(const lin_space *s, lin a, lin_mask running, int64_t *least, int64_t *most);

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

static inline bool lin_mask_meets(lin_mask a, lin_mask b) {
    return (a.bits[0] & b.bits[0]) != 0 || (a.bits[1] & b.bits[1]) != 0;
}
static inline bool lin_mask_inside(lin_mask a, lin_mask b) {
    return (a.bits[0] & ~b.bits[0]) == 0 && (a.bits[1] & ~b.bits[1]) == 0;
}

#endif
