/* inputs.h - random inputs of a model, as tensors of the runtime, and the names of its outputs. */
#ifndef MEASURE_INPUTS_H
#define MEASURE_INPUTS_H

#include <stdbool.h>

#include "base/arena.h"
#include "measure/ort.h"

typedef struct model_io {
    arena memory;
    const char **input_names, **output_names;
    ort_value **inputs, **outputs;
    size_t input_count, output_count;
} model_io;

/* Makes an input for each that the session has, with shape and type from the bound graph. */
ft_status model_io_make(const ort *o, const ort_session *session, const ft_graph *bound, uint64_t seed, model_io *io,
                        ft_error *error);
void model_io_free(const ort *o, model_io *io);
/* Runs the model once; the outputs of the run before are released. */
ft_status model_io_run(const ort *o, ort_session *session, model_io *io, ft_error *error);
/* Whether all outputs of floating point are finite. */
ft_status model_io_is_finite(const ort *o, const model_io *io, bool *is_finite, ft_error *error);

#endif
