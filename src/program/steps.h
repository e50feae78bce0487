/* steps.h - schedule steps, applied to the stages of a workload in the order of the log. */
#ifndef PROGRAM_STEPS_H
#define PROGRAM_STEPS_H

#include "program/stage.h"
#include "read/ansor.h"

/* The message of a failure names the step and what it points at. */
ft_status steps_apply(prog *p, const ansor_step *steps, uint32_t count);

/* For steps_more.c: the stages that steps insert and remove. */
typedef struct stepping {
    prog *p;
    const ansor_step *steps;
    uint32_t at; /* the step at hand */
    const ansor_step *step;
} stepping;

/* Fails with the number and tag of the step before the message. */
ft_status steps_fail(const stepping *s, ft_status status, const char *format, ...) FT_PRINTF(3, 4);
/* As in base/error.h: an analyser that sees one file has to be told that a failure never returns FT_OK. */
#ifdef __clang_analyzer__
#define steps_fail(s, status, ...) ((void)(steps_fail)((s), (status), __VA_ARGS__), (status))
#endif
ft_status steps_cache_read(const stepping *s);
ft_status steps_cache_write(const stepping *s);
ft_status steps_inline(const stepping *s);
ft_status steps_rfactor(const stepping *s);
/* The stage that the step names, which computes something. */
ft_status steps_stage(const stepping *s, int64_t number, prog_stage **stage);
ft_status steps_leaf(const stepping *s, const prog_stage *stage, int64_t number, uint32_t *leaf);

#endif
