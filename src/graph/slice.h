/* slice.h - TensorFlow's strided slice, worked out once for its shape rule and its fold rule. */
#ifndef GRAPH_SLICE_H
#define GRAPH_SLICE_H

#include "graph/shape.h"

typedef struct strided_slice {
    int64_t begin[FT_MAX_RANK], stride[FT_MAX_RANK]; /* per dimension of the input */
    int64_t count[FT_MAX_RANK];                      /* elements taken of each */
    int64_t dims[FT_MAX_RANK];                       /* of the output: dimensions dropped and put in */
    int32_t rank;
    const char *fault; /* what is wrong with it, or NULL */
} strided_slice;

/* False when the operands are not known. */
bool strided_slice_of(const infer *in, strided_slice *slice);

#endif
