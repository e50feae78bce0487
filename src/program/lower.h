/* lower.h - lowering passes from the stages of a workload to a loop nest: schedule steps, then bound inference. The
 * last pass, nest_build, is in nest.h. */
#ifndef PROGRAM_LOWER_H
#define PROGRAM_LOWER_H

#include "program/stage.h"
#include "program/workload.h"
#include "read/ansor.h"

/* --- Schedule steps (steps.c, steps_stage.c) ----------------------------------------------------------------- */

/* Applies the steps of a log in their order. The message of a failure names the step and its operands. */
ft_status steps_apply(prog *p, const ansor_step *steps, uint32_t count);

/* The step being applied, shared by the two files. */
typedef struct step_context {
    prog *p;
    const ansor_step *steps;
    uint32_t at; /* its index */
    const ansor_step *step;
} step_context;

/* Fails with the number and tag of the step before the message. */
ft_status steps_fail(const step_context *s, ft_status status, const char *format, ...) FT_PRINTF(3, 4);
/* As in base/error.h: shows the static analyser, which reads one file at a time, that a failure never returns FT_OK. */
#ifdef __clang_analyzer__
#define steps_fail(s, status, ...) ((void)(steps_fail)((s), (status), __VA_ARGS__), (status))
#endif
ft_status steps_cache_read(const step_context *s);
ft_status steps_cache_write(const step_context *s);
ft_status steps_inline(const step_context *s);
ft_status steps_rfactor(const step_context *s);
/* The stage that the step names; inputs are errors. */
ft_status steps_stage(const step_context *s, int64_t number, prog_stage **stage);
ft_status steps_leaf(const step_context *s, const prog_stage *stage, int64_t number, uint32_t *leaf);

/* --- Bound inference (bound.c) ------------------------------------------------------------------------------- */

/* Infers extents of iterators, loops, values of axes, indices of loads and guards. Fails when a step gave another
 * extent than the iterator has, or when the lengths of several levels do not divide it. */
ft_status bound_infer(prog *p);

/* Values of the axes when the leaves are `leaves` (one per leaf). */
void bound_values(prog *p, const prog_stage *stage, const lin *leaves, lin *values);
/* The axes that need a guard, given their values; `with_reduced`: reduced axes too. Returns how many. */
uint32_t bound_guards(prog *p, const prog_stage *stage, const lin *values, bool with_reduced, prog_bound *guards);

/* --- Shrinking (shrink.c) ------------------------------------------------------------------------------------ */

/* Makes a record and its workload so small that the program can be run: every length becomes 1, 2 or 3, and sizes
 * follow. The seed draws which lengths stay above 1, so that over many records every kind of loop runs. Structure,
 * order and threads stay. `p` has the stages of the workload with the steps applied. */
ft_status shrink_record(const prog *p, workload *w, ansor_record *record, uint64_t seed);

#endif
