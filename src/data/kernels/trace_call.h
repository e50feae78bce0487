/* trace_call.h - the recorded arguments of a call of an operator of PyTorch. */
#ifndef DATA_TRACE_CALL_H
#define DATA_TRACE_CALL_H

#include "data/kernels/trace_operator.h"

enum { CALL_MAX_INPUTS = 12, CALL_MAX_LIST = 4 };

typedef struct call_input {
    int rank; /* 0: a scalar, a list or nothing */
    int64_t dims[FT_MAX_RANK];
    ft_dtype dtype;
    bool has_type;
} call_input;

/* A call of an operator, as recorded. */
typedef struct call {
    const ft_trace *t;
    const trace_order *order;
    const trace_event *event;
    uint32_t index;
    call_input inputs[CALL_MAX_INPUTS];
    int count;
    kernel_row *row;
} call;

/* Fills the inputs from what was recorded. */
void trace_call_read(call *c);
/* The recorded text of an argument; empty: not recorded. */
json_text trace_call_text(const call *c, int argument);
/* The recorded value of an argument that is a list of whole numbers ("[2, 2]") or one ("1"). Returns how many; 0: not
 * recorded, or something else. */
int trace_call_numbers(const call *c, int argument, int64_t list[static CALL_MAX_LIST]);
/* Appends a shape to the inputs of a row; the first dimension of the batch is N. */
void trace_put_shape(kernel_row *row, const call_input *input, bool has_batch, const char *words);

#endif
