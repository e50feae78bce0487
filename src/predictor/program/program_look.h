/* program_look.h - what predictors of tensor programs see of one: its record, read again from the text of the graph,
 * and the workload as numbers. */
#ifndef PREDICTOR_PROGRAM_LOOK_H
#define PREDICTOR_PROGRAM_LOOK_H

#include "predictor/core/model_view.h"
#include "program/program.h"

typedef struct program_view {
    ansor_record record;
    workload work;
} program_view;

/* FT_ERR_UNSUPPORTED when the subject is a model and no program. A view is large: who looks often has one to fill again
 * (program_shelf.h), others get theirs from the arena. */
ft_status program_view_fill(const model_view *s, program_view *view, ft_error *error);
ft_status program_view_of(const model_view *s, arena *memory, program_view **view, ft_error *error);

/* Makes `program` that of the subject, be it a record, which the view is filled with, or a text that TVM printed. */
ft_status program_nest_of(const model_view *s, program_view *view, ft_program *program, ft_error *error);

/* The workload as logarithms of its sizes, and as flags. */
enum { PROGRAM_SIZES = 18, PROGRAM_FLAGS = WORKLOAD_KINDS + 4 };
void program_sizes(const workload *w, float sizes[static PROGRAM_SIZES]);
void program_flags(const workload *w, float flags[static PROGRAM_FLAGS]);

#endif
