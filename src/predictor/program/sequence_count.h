/* sequence_count.h - a read-out with a layer of its own for each number of rows, as CDMPP has it: all rows of a program
 * one after the other, into one. Programs of more rows than there are layers get zeros, which the head sees beside the
 * mean and the maximum. */
#ifndef PREDICTOR_SEQUENCE_COUNT_H
#define PREDICTOR_SEQUENCE_COUNT_H

#include "nn/layer.h"

enum { SEQUENCE_COUNTS = 16 };

typedef struct sequence_count {
    layer_linear of[SEQUENCE_COUNTS + 1]; /* by number of rows; [0] is not used */
} sequence_count;

sequence_count sequence_count_add(params *p, uint32_t width);
/* Rows in segments -> one row for each. */
tensor *sequence_count_apply(tape *t, const sequence_count *layers, tensor *x, segments s);

#endif
