/* bound.h - which part of its tensor each stage computes where it is computed, and how long its loops are. */
#ifndef PROGRAM_BOUND_H
#define PROGRAM_BOUND_H

#include "program/stage.h"

/* After it, extents of iterators, loops, values of axes, indices of loads and guards are known. Fails when a step told
 * another extent than the iterator has, or when lengths of several levels do not divide it. */
ft_status bound_infer(prog *p);

/* A loop of a stage, and of those it is computed in, outermost last. */
/* Values of the axes when the leaves are `leaves` (one per leaf). */
void bound_values(prog *p, const prog_stage *stage, const lin *leaves, lin *values);
/* Which axes must be checked at run time, given their values; whether reduced ones too. */
uint32_t bound_guards(prog *p, const prog_stage *stage, const lin *values, bool with_reduced, prog_bound *guards);

#endif
