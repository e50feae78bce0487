/* opdef.h - the operator table: names, class, shape and fold rules, cost kind and memory flags of every operator.
 *
 * The table itself is in ops.c and ops_contrib.c. To add an operator, add an entry there; when no shape or cost rule
 * fits, add one to shape_*.c or cost/. The reader of a format translates its options into the attributes of ONNX
 * (strides, pads, dilations, group, axis, axes, keepdims, perm, ...), so that one rule serves all formats.
 *
 * Conventions beyond ONNX's:
 *   - "auto_pad" is "SAME_UPPER" or "VALID" for TensorFlow's padding modes;
 *   - an activation fused into a TFLite operator is the string attribute "activation" ("RELU6");
 *   - the layout of the graph is that of activations; the entry's `layout` is that of convolution weights. */
#ifndef GRAPH_OPDEF_H
#define GRAPH_OPDEF_H

#include <string.h>

#include "foretell/graph.h"

typedef struct infer infer; /* shape.h */
typedef ft_status shape_rule(infer *in);
typedef ft_status fold_rule(infer *in);

/* The rule that counts the work of an operator; they are in cost/work.c and docs/cost.md. */
typedef enum cost_kind {
    COST_UNKNOWN,     /* unknown operator: estimated from its bytes */
    COST_FREE,        /* views and shape arithmetic: nothing moves */
    COST_MOVE,        /* reads its inputs, writes its outputs */
    COST_SLICE,       /* reads only as much as it writes: Slice, Gather, Split */
    COST_ELEMENTWISE, /* `flops` per output element */
    COST_INPUTWISE,   /* `flops` per element of the first input: reductions, norms, softmax */
    COST_POOL,        /* `flops` per output element and kernel element */
    COST_CONV,
    COST_CONV_TRANSPOSE,
    COST_MATMUL, /* also Gemm and fully connected: described by graph/geometry.h */
    COST_EINSUM,
    COST_RECURRENT,        /* `flops` gates: 1 RNN, 3 GRU, 4 LSTM */
    COST_ATTENTION,        /* described by graph/geometry.h */
    COST_LINEAR_ATTENTION, /* a state per head instead of scores */
    COST_MOE,              /* each token runs through k of the experts */
    COST_SORT,             /* n log2 n over the axis */
    COST_FFT,
} cost_kind;

/* Properties for memory and training. */
enum {
    OP_VIEW = 1 << 0,           /* the first output is the first input with another shape */
    OP_INPLACE = 1 << 1,        /* the first output may overwrite an input of the same size */
    OP_SAVES_INPUTS = 1 << 2,   /* backward needs the data inputs */
    OP_SAVES_OUTPUT = 1 << 3,   /* backward needs the first output */
    OP_SAVES_MASK = 1 << 4,     /* backward needs a byte per output element */
    OP_SAVES_INDEX = 1 << 5,    /* backward needs an 8-byte index per output element */
    OP_BROADCASTS = 1 << 6,     /* broadcasts its inputs against each other */
    OP_NO_GRADIENT = 1 << 7,    /* no gradient flows through it: comparisons, rounding, argmax */
    OP_TRAIN_ONLY = 1 << 8,     /* does nothing at inference: Dropout */
    OP_RANDOM = 1 << 10,        /* differs from run to run, so it is never folded */
    OP_STATS = 1 << 9,          /* inputs 3 and 4 are running statistics: BatchNormalization */
    OP_CHANNELS_LAST = 1 << 11, /* images are NHWC whatever the layout of the graph */
    OP_OPEN_SHAPE = 1 << 12,    /* shapes of outputs depend on data, or are only in the file */
};

/* Order of the dimensions of convolution weights. */
typedef enum weight_layout {
    WEIGHT_OIHW,  /* ONNX Conv, and (with O, I swapped in meaning) ConvTranspose: IOHW */
    WEIGHT_IOHW,  /* ONNX ConvTranspose */
    WEIGHT_OHWI,  /* TFLite CONV_2D, TRANSPOSE_CONV */
    WEIGHT_1HWO,  /* TFLite DEPTHWISE_CONV_2D */
    WEIGHT_HWIO,  /* TensorFlow Conv2D */
    WEIGHT_HWIM,  /* TensorFlow DepthwiseConv2dNative: channels, multiplier */
    WEIGHT_DHWIO, /* TFLite CONV_3D */
    WEIGHT_HWOI,  /* TensorFlow Conv2DBackpropInput */
} weight_layout;

enum { OUTPUTS_ANY = 255 };

struct ft_opdef {
    const char *name;   /* canonical */
    const char *onnx;   /* spellings, separated by spaces; NULL = none */
    const char *tflite; /* builtin names, custom names */
    const char *tf;     /* TensorFlow names, for CG, nn-Meter IR and TensorFlow.js too */
    const char *ncnn;   /* types of layers; those that parameters select are in read/ncnn/ncnn_layer.c */
    const char *kernel; /* name in the fusion rules ("conv", "bn", "relu"); NULL = `name` in lower case */
    ft_op_class op_class;
    shape_rule *shape; /* NULL: shapes only from the file */
    fold_rule *fold;   /* NULL: never folded to a value */
    cost_kind cost;
    uint16_t flops; /* the factor of the cost kind */
    uint16_t flags;
    uint32_t aux_inputs;    /* bit i: input i is auxiliary (a shape, axes, slice bounds): neither weight nor data */
    uint32_t table_inputs;  /* bit i: input i is a table of which a run reads only the rows it needs (cost/reads.c) */
    uint32_t scale_inputs;  /* bit i: scales or zero points of stored weights: bytes, but not parameters */
    uint32_t packed_inputs; /* bit i: weights packed several to an element (graph/packed.c) */
    uint8_t outputs;        /* outputs it can have; 0: one; OUTPUTS_ANY: any number */
    uint8_t x, w;           /* data and weight inputs of convolutions and products; the defaults 0, 0 mean 0 and 1 */
    weight_layout layout;   /* of convolution weights */
};

/* The operators of the standard formats (ops.c). With those of ops_contrib.c they are the table; ft_opdef_at() has
 * both. */
extern const ft_opdef opdef_table[];
extern const uint32_t opdef_table_count;

/* Compares the canonical name. Most names differ in the first letter. */
static inline bool op_is(const ft_op *op, const char *name) {
    return op->def->name[0] == name[0] && strcmp(op->def->name, name) == 0;
}

/* The entry for a spelling in a format, or NULL. */
const ft_opdef *opdef_find(ft_format format, const char *text);

#endif
