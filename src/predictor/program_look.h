/* program_look.h - what predictors of tensor programs see of one: its record, read again from the text of the graph,
 * and the workload as numbers. */
#ifndef PREDICTOR_PROGRAM_LOOK_H
#define PREDICTOR_PROGRAM_LOOK_H

#include "predictor/subject.h"
#include "program/program.h"

typedef struct program_view {
    ansor_record record;
    workload work;
} program_view;

/* FT_ERR_UNSUPPORTED when the subject is a model and no program. The view is from the arena. */
ft_status program_view_of(const subject *s, arena *memory, program_view **view, ft_error *error);

/* Makes `program` that of the subject, be it a record or a text that TVM printed. */
ft_status program_nest_of(const subject *s, ft_program *program, arena *memory, ft_error *error);

/* The workload as logarithms of its sizes, and as flags. */
enum { PROGRAM_SIZES = 18, PROGRAM_FLAGS = WORKLOAD_KINDS + 4 };
void program_sizes(const workload *w, float sizes[static PROGRAM_SIZES]);
void program_flags(const workload *w, float flags[static PROGRAM_FLAGS]);

#endif
