/* program_features.h - what predictors of tensor programs see of one: its record, read again from the text of the
 * graph, and the workload as numbers. */
#ifndef PREDICTOR_PROGRAM_FEATURES_H
#define PREDICTOR_PROGRAM_FEATURES_H

#include "predictor/core/model_view.h"
#include "program/program.h"

typedef struct program_source {
    ansor_record record;
    workload work;
} program_source;

/* FT_ERR_UNSUPPORTED when the subject is a model and no program. A view is large: who looks often has one to fill again
 * (program_pool.h), others get theirs from the arena. */
ft_status program_source_read(const model_view *s, program_source *view, ft_error *error);
ft_status program_source_new(const model_view *s, arena *memory, program_source **view, ft_error *error);

/* Makes `program` that of the subject, be it a record, which the view is filled with, or a text that TVM printed. */
ft_status program_read_nest(const model_view *s, program_source *view, ft_program *program, ft_error *error);

/* The workload as logarithms of its sizes, and as flags. */
enum { PROGRAM_SIZES = 18, PROGRAM_FLAGS = WORKLOAD_KINDS + 4 };
void program_sizes(const workload *w, float sizes[static PROGRAM_SIZES]);
void program_flags(const workload *w, float flags[static PROGRAM_FLAGS]);

#endif
