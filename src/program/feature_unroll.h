/* feature_unroll.h - which loops TVM writes out before a compiler for the device sees them.
 *
 * A pragma allows a number of stores; loops are written out from the innermost on while that is enough. What stays a
 * loop costs jumps, and what it moves in local memory cannot be in registers; what is written out is code to be
 * fetched. */
#ifndef PROGRAM_FEATURE_UNROLL_H
#define PROGRAM_FEATURE_UNROLL_H

#include "program/feature_view.h"

enum { FEATURE_UNROLL_COUNT = 6 };

/* What becomes of a node. */
typedef struct unroll_mark {
    double steps;    /* stores that stand in the text, at the node or below it */
    double copies;   /* that virtual threads above make of a store */
    int32_t limit;   /* of the pragma above */
    uint16_t launch; /* the outermost thread index above, or NEST_NONE */
    uint16_t depth;  /* loops one inside of the other that are written out */
    bool has_loop;   /* the node or one below it stays a loop */
    bool is_written_out;
} unroll_mark;

/* Fills a mark per node of the nest. */
void unroll_find(const nest *n, unroll_mark *marks);

/* Of a store whose path and accesses are found, as logarithms: turns of a thread that are written out, turns that stay,
 * stores in the innermost loop that stays, stores of the launch, turns that stay and move what is in local memory.
 * Returns the first of them as it is. */
double feature_unroll(const store_view *x, const nest_node *node, const unroll_mark *marks,
                      float out[static FEATURE_UNROLL_COUNT]);

#endif
