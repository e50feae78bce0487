/* feature_unroll.h - which loops are written out, by TVM or by the compiler that sees what TVM left.
 *
 * A pragma allows TVM a number of stores, a compiler allows itself one; loops are written out from the innermost on
 * while that is enough. What stays a loop costs jumps, and what it moves in local memory cannot be in registers; what
 * is written out is code to be fetched. Programs that differ in nothing but the pragma are often the same in the
 * end. */
#ifndef PROGRAM_FEATURE_UNROLL_H
#define PROGRAM_FEATURE_UNROLL_H

#include "program/feature_view.h"

enum { FEATURE_UNROLL_COUNT = 6, UNROLL_MOVES_TURNS = 256 };

/* What becomes of a node. */
typedef struct unroll_mark {
    double steps;    /* stores that stand in the text, at the node or below it */
    double copies;   /* that virtual threads above make of a store */
    int32_t limit;   /* of the pragma above */
    uint16_t launch; /* the outermost thread index above, or NEST_NONE */
    uint16_t depth;  /* loops one inside of the other that are written out */
    bool has_loop;   /* TVM leaves the node or one below it a loop */
    bool is_written_out;
} unroll_mark;

/* Fills a mark per node of the nest. */
void unroll_find(const nest *n, unroll_mark *marks);

/* Of a store whose path and accesses are found, as logarithms: turns of a thread that are written out side by side, and
 * the others; stores in the innermost loop that stays, stores of the launch; turns of loops that stay and move what is
 * in local memory, and how often that moves a sum in UNROLL_MOVES_TURNS. Returns the first of them as it is. */
double feature_unroll(const store_view *x, const nest_node *node, const unroll_mark *marks,
                      float out[static FEATURE_UNROLL_COUNT]);

#endif
