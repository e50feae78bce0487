/* rules.h - operators that the accelerator can run, one row each: how they are lowered and which constraints apply.
 *
 * The entry of an operator in the operator table (graph/opdef.h) is resolved to its row once; from then on operators
 * are compared by id. An operator without a row runs on the CPU. */
#ifndef NPU_RULES_H
#define NPU_RULES_H

#include <stdbool.h>
#include <stdint.h>

#include "graph/opdef.h"

typedef struct npu_lowering npu_lowering; /* lower.h */

/* Constraints beyond those of npu_rule.check. */
enum {
    NPU_INT32 = 1 << 0,      /* inputs and outputs of 32 bits are allowed */
    NPU_INDEX_OUT = 1 << 1,  /* the output is an index: 32 or 64 bits */
    NPU_NO_INT16 = 1 << 2,   /* a quantised input of 16 bits is not supported */
    NPU_FLOAT_ONLY = 1 << 3, /* supported only in networks that are not quantised */
    NPU_CLAMP = 1 << 4,      /* an activation that limits values to a range: no table needed */
};
#define NPU_ANY UINT32_MAX /* all inputs are typed */

/* clang-format off */
/*    id                   operator                      lowering    constraint typed    flags */
#define NPU_RULE_LIST(X) \
    X(CONV,                "Conv",                       conv,       conv,      2,       0) \
    X(CONV_2D,             "Conv2D",                     conv,       conv,      2,       0) \
    X(CONV_2D_HWIO,        "Conv2DHWIO",                 conv,       conv,      2,       0) \
    X(DEPTHWISE_2D,        "DepthwiseConv2D",            conv,       conv,      2,       0) \
    X(DEPTHWISE_2D_HWIM,   "DepthwiseConv2DHWIM",        conv,       conv,      2,       0) \
    X(QLINEAR_CONV,        "QLinearConv",                conv,       conv,      2,       0) \
    X(CONV_INTEGER,        "ConvInteger",                conv,       conv,      2,       0) \
    X(TRANSPOSE_CONV,      "TransposeConv",              conv,       conv,      2,       0) \
    X(CONV_TRANSPOSE,      "ConvTranspose",              conv,       conv,      2,       0) \
    X(FULLY_CONNECTED,     "FullyConnected",             dense,      dense,     2,       0) \
    X(GEMM,                "Gemm",                       dense,      dense,     2,       0) \
    X(MATMUL,              "MatMul",                     dense,      dense,     2,       0) \
    X(MATMUL_FC,           "MatMulFC",                   dense,      dense,     2,       0) \
    X(QLINEAR_MATMUL,      "QLinearMatMul",              dense,      dense,     2,       0) \
    X(MATMUL_INTEGER,      "MatMulInteger",              dense,      dense,     2,       0) \
    X(QGEMM,               "QGemm",                      dense,      dense,     2,       0) \
    X(MAX_POOL,            "MaxPool",                    pool,       pool,      NPU_ANY, 0) \
    X(AVERAGE_POOL,        "AveragePool",                pool,       pool,      NPU_ANY, 0) \
    X(GLOBAL_MAX_POOL,     "GlobalMaxPool",              pool,       pool,      NPU_ANY, 0) \
    X(REDUCE_MEAN,         "ReduceMean",                 mean,       mean,      NPU_ANY, 0) \
    X(GLOBAL_AVERAGE_POOL, "GlobalAveragePool",          mean,       mean,      NPU_ANY, 0) \
    X(ADD,                 "Add",                        binary,     binary,    NPU_ANY, NPU_INT32) \
    X(SUB,                 "Sub",                        binary,     binary,    NPU_ANY, NPU_INT32) \
    X(MUL,                 "Mul",                        binary,     binary,    NPU_ANY, NPU_INT32) \
    X(MIN,                 "Min",                        binary,     binary,    NPU_ANY, 0) \
    X(MAX,                 "Max",                        binary,     binary,    NPU_ANY, 0) \
    X(BIAS_ADD,            "BiasAdd",                    binary,     binary,    NPU_ANY, 0) \
    X(SUM,                 "Sum",                        binary,     binary,    NPU_ANY, 0) \
    X(ABS,                 "Abs",                        binary,     none,      NPU_ANY, 0) \
    X(RELU,                "Relu",                       activation, none,      NPU_ANY, NPU_CLAMP) \
    X(RELU6,               "Relu6",                      activation, none,      NPU_ANY, NPU_CLAMP) \
    X(RELU_N1_TO_1,        "ReluN1To1",                  activation, none,      NPU_ANY, NPU_CLAMP | NPU_NO_INT16) \
    X(CLIP,                "Clip",                       activation, none,      NPU_ANY, NPU_CLAMP | NPU_NO_INT16) \
    X(SIGMOID,             "Sigmoid",                    activation, none,      NPU_ANY, 0) \
    X(TANH,                "Tanh",                       activation, none,      NPU_ANY, 0) \
    X(LEAKY_RELU,          "LeakyRelu",                  activation, none,      NPU_ANY, 0) \
    X(HARD_SWISH,          "HardSwish",                  activation, none,      NPU_ANY, NPU_NO_INT16) \
    X(HARD_SIGMOID,        "HardSigmoid",                activation, none,      NPU_ANY, NPU_NO_INT16) \
    X(SILU,                "Silu",                       activation, none,      NPU_ANY, NPU_NO_INT16) \
    X(MISH,                "Mish",                       activation, none,      NPU_ANY, NPU_NO_INT16) \
    X(SELU,                "Selu",                       activation, none,      NPU_ANY, NPU_NO_INT16) \
    X(SOFTPLUS,            "Softplus",                   activation, none,      NPU_ANY, NPU_NO_INT16) \
    X(ELU,                 "Elu",                        activation, none,      NPU_ANY, NPU_FLOAT_ONLY) \
    X(GELU,                "Gelu",                       activation, none,      NPU_ANY, NPU_FLOAT_ONLY) \
    X(LOG,                 "Log",                        activation, none,      NPU_ANY, NPU_FLOAT_ONLY) \
    X(RSQRT,               "Rsqrt",                      activation, none,      NPU_ANY, NPU_FLOAT_ONLY) \
    X(SQRT,                "Sqrt",                       activation, none,      NPU_ANY, NPU_FLOAT_ONLY) \
    X(EXP,                 "Exp",                        activation, none,      NPU_ANY, 0) \
    X(ERF,                 "Erf",                        activation, none,      NPU_ANY, 0) \
    X(CONCAT,              "Concat",                     concat,     none,      NPU_ANY, 0) \
    X(PACK,                "Pack",                       concat,     none,      NPU_ANY, 0) \
    X(SPLIT,               "Split",                      slices,     none,      NPU_ANY, 0) \
    X(SPLIT_V,             "SplitV",                     slices,     none,      NPU_ANY, 0) \
    X(SPLIT_AXIS_FIRST,    "SplitAxisFirst",             slices,     none,      NPU_ANY, 0) \
    X(UNPACK,              "Unpack",                     slices,     none,      NPU_ANY, 0) \
    X(SLICE,               "Slice",                      slices,     none,      NPU_ANY, 0) \
    X(SLICE_BEGIN_SIZE,    "SliceBeginSize",             slices,     none,      NPU_ANY, 0) \
    X(STRIDED_SLICE,       "StridedSlice",               slices,     strides,   NPU_ANY, 0) \
    X(PAD,                 "Pad",                        pad,        pad,       NPU_ANY, 0) \
    X(PAD_PAIRS,           "PadPairs",                   pad,        pad,       NPU_ANY, 0) \
    X(RESIZE_BILINEAR,     "ResizeBilinear",             resize,     resize,    NPU_ANY, 0) \
    X(RESIZE_NEAREST,      "ResizeNearest",              resize,     resize,    NPU_ANY, 0) \
    X(TRANSPOSE,           "Transpose",                  copy,       transpose, NPU_ANY, 0) \
    X(QUANTIZE_LINEAR,     "QuantizeLinear",             copy,       quantize,  NPU_ANY, 0) \
    X(DEQUANTIZE_LINEAR,   "DequantizeLinear",           reshape,    none,      NPU_ANY, NPU_FLOAT_ONLY) \
    X(BATCH_NORMALIZATION, "BatchNormalization",         reshape,    none,      NPU_ANY, NPU_FLOAT_ONLY) \
    X(RESHAPE,             "Reshape",                    reshape,    reshape,   1,       0) \
    X(FLATTEN,             "Flatten",                    reshape,    reshape,   1,       0) \
    X(SQUEEZE,             "Squeeze",                    reshape,    reshape,   1,       0) \
    X(UNSQUEEZE,           "Unsqueeze",                  reshape,    reshape,   1,       0) \
    X(IDENTITY,            "Identity",                   reshape,    reshape,   1,       0) \
    X(DROPOUT,             "Dropout",                    reshape,    reshape,   1,       0) \
    X(SOFTMAX,             "Softmax",                    softmax,    softmax,   NPU_ANY, 0) \
    X(ARGMAX,              "ArgMax",                     argmax,     argmax,    NPU_ANY, NPU_INDEX_OUT) \
    X(LSTM,                "UnidirectionalSequenceLSTM", lstm,       none,      1,       0)
/* clang-format on */

typedef enum npu_op_id {
#define NPU_RULE_ID(id, name, lowering, constraint, typed_inputs, flags) NPU_OP_##id,
    NPU_RULE_LIST(NPU_RULE_ID)
#undef NPU_RULE_ID
        NPU_OP_COUNT
} npu_op_id;

typedef struct npu_rule {
    npu_op_id id;
    const char *name;                                      /* of the entry in the operator table */
    void (*lower)(npu_lowering *l, const ft_op *op);       /* adds the passes of an operator (lower_*.c) */
    bool (*check)(const npu_lowering *l, const ft_op *op); /* shapes, strides, kernels (rules.c) */
    uint32_t typed_inputs;                                 /* leading inputs whose type and sizes are checked */
    uint32_t flags;
} npu_rule;

/* Rules found before, by entry of the operator table; zeroed at first. Networks have many operators of few kinds. */
enum { NPU_RULE_SLOTS = 16 };
typedef struct npu_rule_cache {
    const ft_opdef *defs[NPU_RULE_SLOTS];
    const npu_rule *rules[NPU_RULE_SLOTS];
} npu_rule_cache;

/* NULL: the operator runs on the CPU. */
const npu_rule *npu_rule_find(const ft_opdef *def, npu_rule_cache *cache);

#endif
