/* trace_operator.h - an operator of a recorded trace as text (operator_text.h).
 *
 * A rule maps a name of PyTorch with the shapes of its inputs to an operator of ONNX. Attributes are recorded by newer
 * profilers only; a convolution without them gets its strides from the shape of its result, which the next operator of
 * the thread reads. */
#ifndef DATA_TRACE_OPERATOR_H
#define DATA_TRACE_OPERATOR_H

#include "data/kernels/kernels.h"
#include "trace/trace.h"

/* Operators of a trace in the order in which each thread began them. */
typedef struct trace_order {
    uint32_t *events;    /* indices of operators */
    uint32_t *positions; /* of each event in `events` */
    uint32_t count;
} trace_order;

ft_status trace_order_make(const ft_trace *t, arena *memory, trace_order *order, ft_error *error);

/* Whether there is a rule for the name of an operator. */
bool trace_operator_is_known(const char *name);

/* Fills op, inputs, attributes, name, batch and dtype of a row. False: shapes or attributes are missing; *why says
 * what. */
bool trace_operator_read(const ft_trace *t, const trace_order *order, uint32_t event, kernel_row *row,
                         const char **why);

#endif
