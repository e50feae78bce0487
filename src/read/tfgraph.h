/* tfgraph.h - graphs from TensorFlow nodes with recorded shapes, shared by the readers of the CG tables and of
 * nn-Meter's IR.
 *
 * Both formats list nodes (an operator name, the shape of the first input and output, kernel and strides) and edges.
 * Neither stores weights, so their shapes are inferred here; both record the same few shapes wrongly, which are
 * repaired here. */
#ifndef READ_TFGRAPH_H
#define READ_TFGRAPH_H

#include "graph/graph.h"
#include "graph/opdef.h"

/* The kind of an operator, as far as the builder treats it specially. */
typedef enum tf_kind {
    TF_OTHER,       /* inputs and shapes as recorded */
    TF_PLACEHOLDER, /* a graph input */
    TF_CONST,
    TF_CONV,
    TF_DEPTHWISE,
    TF_MATMUL,
    TF_GEMM, /* MatMul with a bias */
    TF_BIAS,
    TF_NORM,
    TF_POOL,
    TF_ELEMENTWISE, /* the output is the broadcast of the inputs */
    TF_CONCAT,
    TF_RESHAPE,
    TF_TRANSPOSE,
    TF_SPLIT,
    TF_MEAN,
} tf_kind;

typedef struct tf_type {
    const char *name; /* as the file spells it */
    tf_kind kind;
    const ft_opdef *def;
} tf_type;

/* The kind and table entry of an operator name (TensorFlow's, or ONNX's as in some IR files); `name` is borrowed. */
tf_type tf_type_of(const char *name);

typedef struct tf_shape {
    int32_t rank; /* -1: unknown */
    int64_t dims[FT_MAX_RANK];
} tf_shape;

typedef enum tf_padding { TF_PAD_UNKNOWN, TF_PAD_SAME, TF_PAD_VALID, TF_PAD_EXPLICIT } tf_padding;

typedef struct tf_node {
    tf_type type;
    const char *name;       /* NULL: "<index>:<type>" */
    const uint32_t *inputs; /* producers, in order */
    uint32_t input_count;
    uint32_t reader_count; /* set by the builder */
    tf_shape in, out;      /* of the first input and output as recorded; the builder repairs `out` */
    int64_t kernel[4];     /* height, width, channels in (of a group), channels out (or multiplier); 0 = not recorded */
    int64_t strides[2];    /* 0 = not recorded */
    int64_t dilations[2];  /* 0 = not recorded */
    int64_t pads[4];       /* top, left, bottom, right, for TF_PAD_EXPLICIT */
    int64_t group;         /* 0 or 1: none */
    tf_padding padding;
} tf_node;

/* Adds all nodes to an empty graph (NHWC) and finishes it. Writes repaired shapes and inferred values into `nodes`. */
ft_status tf_build(tf_node *nodes, uint32_t count, ft_graph *graph, ft_error *error);

/* tfrepair.c: makes recorded output shapes consistent with operators and inputs, infers the padding, and fills in
 * kernels that are not recorded. */
void tf_repair(tf_node *nodes, uint32_t count);

#endif
