/* feature_count.h - operations of a store, per turn. */
#ifndef PROGRAM_FEATURE_COUNT_H
#define PROGRAM_FEATURE_COUNT_H

#include "program/nest.h"

typedef struct feature_counts {
    double add, mul, div, cmp, math;
    double int_add, int_mul, int_div, int_cmp;
    double logic, select;
} feature_counts;

feature_counts feature_count(const nest *n, const nest_node *node);

#endif
