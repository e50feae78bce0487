/* slice.h - slices as ONNX and TensorFlow write them, worked out once for their shape rules and their fold rules. */
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

/* TensorFlow's StridedSlice. False when the operands are not known. */
bool strided_slice_of(const infer *in, strided_slice *slice);

/* ONNX's Slice(x, starts, ends, axes, steps); once they were attributes. False when the operands are not known. */
bool axis_slice_of(const infer *in, strided_slice *slice);

#endif
