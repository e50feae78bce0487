/* ops.c - the operator table: one entry per operator, and how it is found by name.
 *
 * An entry says how each format spells the operator, what class it is of, which rules give its output shapes, its
 * value when all inputs are known, and its work, and what it means to memory. FLOP factors follow one convention:
 * add, multiply, divide, compare, square root count 1, transcendental functions 4, and what is made of them their sum
 * (docs/cost.md). Entries with several spellings separate them by spaces. */
#include <pthread.h>
#include <string.h>

#include "graph/graph.h"
#include "graph/rules.h"

#define BIT(i) (UINT32_C(1) << (i))

/* Groups of columns that many entries share. */
#define UNARY(n)                                                                                                       \
    .op_class = FT_CLASS_ELEMENTWISE, .shape = shape_same, .fold = fold_unary, .cost = COST_ELEMENTWISE, .flops = (n)
#define ACTIVATION(n)                                                                                                  \
    .op_class = FT_CLASS_ACTIVATION, .shape = shape_same, .fold = fold_unary, .cost = COST_ELEMENTWISE, .flops = (n)
#define BINARY(n)                                                                                                      \
    .op_class = FT_CLASS_ELEMENTWISE, .shape = shape_broadcast, .fold = fold_binary, .cost = COST_ELEMENTWISE,         \
    .flops = (n)
#define COMPARE                                                                                                        \
    .op_class = FT_CLASS_ELEMENTWISE, .shape = shape_compare, .fold = fold_binary, .cost = COST_ELEMENTWISE,           \
    .flops = 1, .flags = OP_COMMUTES | OP_NO_GRADIENT
#define REDUCE(n)                                                                                                      \
    .op_class = FT_CLASS_REDUCE, .shape = shape_reduce, .fold = fold_reduce, .cost = COST_INPUTWISE, .flops = (n),     \
    .steering = BIT(1)
#define VIEW(rule)                                                                                                     \
    .op_class = FT_CLASS_VIEW, .shape = (rule), .fold = fold_copy, .cost = COST_FREE, .flags = OP_VIEW, .steering = ~1U
#define QUANT .op_class = FT_CLASS_QUANT
#define SHAPE .op_class = FT_CLASS_SHAPE, .cost = COST_FREE, .flags = OP_NO_GRADIENT

static const ft_opdef unknown = {.name = "Unknown", .cost = COST_UNKNOWN, .flops = 1};

/* clang-format off */
static const ft_opdef table[] = {
    /* --- Convolutions ---------------------------------------------------------------------------------------- */
    {.name = "Conv", .onnx = "Conv FusedConv NhwcFusedConv NhwcConv", .kernel = "conv", .op_class = FT_CLASS_CONV,
     .shape = shape_conv, .cost = COST_CONV, .flags = OP_SAVES_INPUTS},
    {.name = "Conv2D", .tflite = "CONV_2D", .kernel = "conv", .op_class = FT_CLASS_CONV, .shape = shape_conv,
     .cost = COST_CONV, .flags = OP_SAVES_INPUTS, .layout = WEIGHT_OHWI},
    {.name = "Conv2DHWIO", .tf = "Conv2D Conv", .kernel = "conv", .op_class = FT_CLASS_CONV, .shape = shape_conv,
     .cost = COST_CONV, .flags = OP_SAVES_INPUTS, .layout = WEIGHT_HWIO},
    {.name = "Conv3D", .tflite = "CONV_3D", .tf = "Conv3D", .kernel = "conv", .op_class = FT_CLASS_CONV,
     .shape = shape_conv, .cost = COST_CONV, .flags = OP_SAVES_INPUTS, .layout = WEIGHT_DHWIO},
    {.name = "DepthwiseConv2D", .tflite = "DEPTHWISE_CONV_2D", .kernel = "dwconv", .op_class = FT_CLASS_CONV,
     .shape = shape_conv, .cost = COST_CONV, .flags = OP_SAVES_INPUTS, .layout = WEIGHT_1HWO},
    {.name = "DepthwiseConv2DHWIM", .tf = "DepthwiseConv2dNative DWConv", .kernel = "dwconv",
     .op_class = FT_CLASS_CONV, .shape = shape_conv, .cost = COST_CONV, .flags = OP_SAVES_INPUTS,
     .layout = WEIGHT_HWIM},
    {.name = "ConvInteger", .onnx = "ConvInteger", .kernel = "conv", .op_class = FT_CLASS_CONV, .shape = shape_conv,
     .cost = COST_CONV, .flags = OP_NO_GRADIENT, .steering = BIT(2) | BIT(3)},
    {.name = "QLinearConv", .onnx = "QLinearConv", .kernel = "conv", .op_class = FT_CLASS_CONV, .shape = shape_conv,
     .cost = COST_CONV, .flags = OP_NO_GRADIENT, .w = 3,
     .steering = BIT(1) | BIT(2) | BIT(4) | BIT(5) | BIT(6) | BIT(7)},
    {.name = "DeformConv", .onnx = "DeformConv", .kernel = "conv", .op_class = FT_CLASS_CONV, .shape = shape_conv,
     .cost = COST_CONV, .flags = OP_SAVES_INPUTS},
    {.name = "ConvTranspose", .onnx = "ConvTranspose", .kernel = "convtrans", .op_class = FT_CLASS_CONV,
     .shape = shape_conv_transpose, .cost = COST_CONV_TRANSPOSE, .flags = OP_SAVES_INPUTS, .layout = WEIGHT_IOHW},
    {.name = "TransposeConv", .tflite = "TRANSPOSE_CONV", .tf = "Conv2DBackpropInput",
     .kernel = "convtrans", .op_class = FT_CLASS_CONV, .shape = shape_conv_transpose, .cost = COST_CONV_TRANSPOSE,
     .flags = OP_SAVES_INPUTS, .steering = BIT(0), .x = 2, .w = 1, .layout = WEIGHT_OHWI},
    {.name = "TransposeConvBias", .tflite = "Convolution2DTransposeBias", .kernel = "convtrans",
     .op_class = FT_CLASS_CONV, .cost = COST_CONV_TRANSPOSE, .flags = OP_SAVES_INPUTS, .layout = WEIGHT_OHWI},
    {.name = "ConvTranspose3D", .tflite = "CONV_3D_TRANSPOSE", .kernel = "convtrans", .op_class = FT_CLASS_CONV,
     .shape = shape_conv_transpose, .cost = COST_CONV_TRANSPOSE, .flags = OP_SAVES_INPUTS, .steering = BIT(0), .x = 2,
     .w = 1, .layout = WEIGHT_DHWIO},
    {.name = "Col2Im", .onnx = "Col2Im", .op_class = FT_CLASS_MOVE, .cost = COST_MOVE, .steering = BIT(1) | BIT(2)},

    /* --- Matrix products ------------------------------------------------------------------------------------- */
    {.name = "MatMul", .onnx = "MatMul FusedMatMul TransposeMatMul", .tflite = "BATCH_MATMUL",
     .tf = "BatchMatMul BatchMatMulV2", .kernel = "matmul", .op_class = FT_CLASS_MATMUL, .shape = shape_matmul,
     .cost = COST_MATMUL, .flags = OP_SAVES_INPUTS},
    {.name = "MatMulFC", .tf = "MatMul FC", .kernel = "fc", .op_class = FT_CLASS_MATMUL, .shape = shape_matmul,
     .cost = COST_MATMUL, .flags = OP_SAVES_INPUTS},
    {.name = "Gemm", .onnx = "Gemm FusedGemm", .kernel = "fc", .op_class = FT_CLASS_MATMUL, .shape = shape_matmul,
     .cost = COST_MATMUL, .flags = OP_SAVES_INPUTS},
    {.name = "FullyConnected", .tflite = "FULLY_CONNECTED", .kernel = "fc", .op_class = FT_CLASS_MATMUL,
     .shape = shape_fully_connected, .cost = COST_MATMUL, .flags = OP_SAVES_INPUTS},
    {.name = "MatMulInteger", .onnx = "MatMulInteger", .kernel = "matmul", .op_class = FT_CLASS_MATMUL,
     .shape = shape_matmul, .cost = COST_MATMUL, .flags = OP_NO_GRADIENT, .steering = BIT(2) | BIT(3)},
    {.name = "MatMulIntegerToFloat", .onnx = "MatMulIntegerToFloat DynamicQuantizeMatMul", .kernel = "matmul",
     .op_class = FT_CLASS_MATMUL, .shape = shape_matmul, .cost = COST_MATMUL, .flags = OP_NO_GRADIENT,
     .steering = BIT(2) | BIT(3) | BIT(4) | BIT(5)},
    {.name = "QLinearMatMul", .onnx = "QLinearMatMul", .kernel = "matmul", .op_class = FT_CLASS_MATMUL,
     .shape = shape_matmul, .cost = COST_MATMUL, .flags = OP_NO_GRADIENT, .w = 3,
     .steering = BIT(1) | BIT(2) | BIT(4) | BIT(5) | BIT(6) | BIT(7)},
    {.name = "QGemm", .onnx = "QGemm", .kernel = "matmul", .op_class = FT_CLASS_MATMUL,
     .shape = shape_matmul, .cost = COST_MATMUL, .flags = OP_NO_GRADIENT, .w = 3,
     .steering = BIT(1) | BIT(2) | BIT(4) | BIT(5) | BIT(7) | BIT(8)},
    {.name = "MatMulNBits", .onnx = "MatMulNBits MatMulBnb4", .kernel = "fc", .op_class = FT_CLASS_MATMUL,
     .shape = shape_matmul, .cost = COST_MATMUL, .flags = OP_NO_GRADIENT, .steering = BIT(2) | BIT(3) | BIT(4)},
    {.name = "Einsum", .onnx = "Einsum", .tflite = "FlexEinsum", .tf = "Einsum", .kernel = "matmul",
     .op_class = FT_CLASS_MATMUL, .shape = shape_einsum, .cost = COST_EINSUM, .flags = OP_SAVES_INPUTS},

    /* --- Attention ------------------------------------------------------------------------------------------- */
    {.name = "Attention", .onnx = "Attention MultiHeadAttention GroupQueryAttention PackedMultiHeadAttention "
                                  "DecoderMaskedMultiHeadAttention QAttention",
     .kernel = "attention", .op_class = FT_CLASS_ATTENTION,
     .shape = shape_attention, .cost = COST_ATTENTION, .flags = OP_SAVES_INPUTS | OP_SAVES_OUTPUT},
    {.name = "RotaryEmbedding", .onnx = "RotaryEmbedding", .op_class = FT_CLASS_ELEMENTWISE, .shape = shape_same,
     .cost = COST_ELEMENTWISE, .flops = 3, .flags = OP_SAVES_INPUTS},

    /* --- Recurrent ------------------------------------------------------------------------------------------- */
    {.name = "LSTM", .onnx = "LSTM", .kernel = "lstm", .op_class = FT_CLASS_RECURRENT, .shape = shape_recurrent,
     .cost = COST_RECURRENT, .flops = 4, .flags = OP_SAVES_INPUTS | OP_SAVES_OUTPUT, .steering = BIT(4)},
    {.name = "GRU", .onnx = "GRU", .kernel = "gru", .op_class = FT_CLASS_RECURRENT, .shape = shape_recurrent,
     .cost = COST_RECURRENT, .flops = 3, .flags = OP_SAVES_INPUTS | OP_SAVES_OUTPUT, .steering = BIT(4)},
    {.name = "RNN", .onnx = "RNN", .kernel = "rnn", .op_class = FT_CLASS_RECURRENT, .shape = shape_recurrent,
     .cost = COST_RECURRENT, .flops = 1, .flags = OP_SAVES_INPUTS | OP_SAVES_OUTPUT, .steering = BIT(4)},

    /* --- Normalisation --------------------------------------------------------------------------------------- */
    {.name = "BatchNormalization", .onnx = "BatchNormalization",
     .tf = "FusedBatchNorm FusedBatchNormV2 FusedBatchNormV3 BatchNorm",
     .kernel = "bn", .op_class = FT_CLASS_NORM, .shape = shape_batch_norm, .cost = COST_ELEMENTWISE, .flops = 2,
     .flags = OP_INPLACE | OP_SAVES_INPUTS | OP_STATS},
    {.name = "InstanceNormalization", .onnx = "InstanceNormalization", .kernel = "in",
     .op_class = FT_CLASS_NORM, .shape = shape_same, .cost = COST_INPUTWISE, .flops = 7, .flags = OP_SAVES_INPUTS},
    {.name = "GroupNormalization", .onnx = "GroupNormalization GroupNorm",
     .kernel = "gn", .op_class = FT_CLASS_NORM, .shape = shape_same, .cost = COST_INPUTWISE, .flops = 7,
     .flags = OP_SAVES_INPUTS},
    {.name = "LayerNormalization", .onnx = "LayerNormalization SkipLayerNormalization EmbedLayerNormalization",
     .kernel = "ln", .op_class = FT_CLASS_NORM, .shape = shape_layer_norm,
     .cost = COST_INPUTWISE, .flops = 7, .flags = OP_SAVES_INPUTS},
    {.name = "RMSNormalization",
     .onnx = "RMSNormalization SimplifiedLayerNormalization SkipSimplifiedLayerNormalization",
     .kernel = "rmsnorm", .op_class = FT_CLASS_NORM, .shape = shape_layer_norm,
     .cost = COST_INPUTWISE, .flops = 4, .flags = OP_SAVES_INPUTS},
    {.name = "LpNormalization", .onnx = "LpNormalization", .tflite = "L2_NORMALIZATION", .kernel = "l2norm",
     .op_class = FT_CLASS_NORM, .shape = shape_same, .cost = COST_INPUTWISE, .flops = 3, .flags = OP_SAVES_INPUTS},
    {.name = "MeanVarianceNormalization", .onnx = "MeanVarianceNormalization", .kernel = "mvn",
     .op_class = FT_CLASS_NORM, .shape = shape_same, .cost = COST_INPUTWISE, .flops = 5, .flags = OP_SAVES_INPUTS},
    {.name = "LRN", .onnx = "LRN", .tflite = "LOCAL_RESPONSE_NORMALIZATION", .tf = "LRN", .kernel = "lrn",
     .op_class = FT_CLASS_NORM, .shape = shape_same, .cost = COST_INPUTWISE, .flops = 8, .flags = OP_SAVES_INPUTS},
    {.name = "Softmax", .onnx = "Softmax", .tflite = "SOFTMAX", .tf = "Softmax", .kernel = "softmax",
     .op_class = FT_CLASS_NORM, .shape = shape_same, .cost = COST_INPUTWISE, .flops = 8,
     .flags = OP_INPLACE | OP_SAVES_OUTPUT},
    {.name = "LogSoftmax", .onnx = "LogSoftmax", .tflite = "LOG_SOFTMAX", .tf = "LogSoftmax", .kernel = "softmax",
     .op_class = FT_CLASS_NORM, .shape = shape_same, .cost = COST_INPUTWISE, .flops = 8,
     .flags = OP_INPLACE | OP_SAVES_OUTPUT},
    {.name = "Hardmax", .onnx = "Hardmax", .op_class = FT_CLASS_NORM, .shape = shape_same, .cost = COST_INPUTWISE,
     .flops = 1, .flags = OP_NO_GRADIENT},

    /* --- Pooling --------------------------------------------------------------------------------------------- */
    {.name = "MaxPool", .onnx = "MaxPool QLinearMaxPool NhwcMaxPool", .tflite = "MAX_POOL_2D", .tf = "MaxPool",
     .kernel = "maxpool", .op_class = FT_CLASS_POOL, .shape = shape_pool, .cost = COST_POOL, .flops = 1,
     .flags = OP_SAVES_INPUTS | OP_SAVES_INDEX},
    {.name = "AveragePool", .onnx = "AveragePool QLinearAveragePool", .tflite = "AVERAGE_POOL_2D", .tf = "AvgPool",
     .kernel = "avgpool", .op_class = FT_CLASS_POOL, .shape = shape_pool, .cost = COST_POOL, .flops = 1,
     .flags = OP_SAVES_INPUTS},
    {.name = "LpPool", .onnx = "LpPool", .tflite = "L2_POOL_2D", .kernel = "lppool", .op_class = FT_CLASS_POOL,
     .shape = shape_pool, .cost = COST_POOL, .flops = 2, .flags = OP_SAVES_INPUTS | OP_SAVES_OUTPUT},
    {.name = "GlobalAveragePool", .onnx = "GlobalAveragePool QLinearGlobalAveragePool", .kernel = "gap",
     .op_class = FT_CLASS_POOL, .shape = shape_global_pool, .cost = COST_INPUTWISE, .flops = 1},
    {.name = "GlobalMaxPool", .onnx = "GlobalMaxPool", .kernel = "gmp", .op_class = FT_CLASS_POOL,
     .shape = shape_global_pool, .cost = COST_INPUTWISE, .flops = 1, .flags = OP_SAVES_INDEX},
    {.name = "GlobalLpPool", .onnx = "GlobalLpPool", .op_class = FT_CLASS_POOL, .shape = shape_global_pool,
     .cost = COST_INPUTWISE, .flops = 2, .flags = OP_SAVES_INPUTS | OP_SAVES_OUTPUT},
    {.name = "MaxUnpool", .onnx = "MaxUnpool", .op_class = FT_CLASS_POOL, .shape = shape_max_unpool, .cost = COST_MOVE,
     .flags = OP_SAVES_INDEX, .steering = BIT(2)},
    {.name = "RoiAlign", .onnx = "RoiAlign MaxRoiPool", .op_class = FT_CLASS_POOL, .shape = shape_roi_align,
     .cost = COST_ELEMENTWISE, .flops = 32, .flags = OP_SAVES_INPUTS, .steering = BIT(2)},
    {.name = "GridSample", .onnx = "GridSample", .op_class = FT_CLASS_POOL, .shape = shape_grid_sample,
     .cost = COST_ELEMENTWISE, .flops = 11, .flags = OP_SAVES_INPUTS},
    {.name = "AffineGrid", .onnx = "AffineGrid", .op_class = FT_CLASS_ELEMENTWISE, .cost = COST_ELEMENTWISE,
     .flops = 6, .flags = OP_SAVES_INPUTS, .steering = BIT(1)},

    /* --- Activations ----------------------------------------------------------------------------------------- */
    {.name = "Relu", .onnx = "Relu", .tflite = "RELU", .tf = "Relu", .kernel = "relu", ACTIVATION(1),
     .flags = OP_INPLACE | OP_SAVES_OUTPUT},
    {.name = "Relu6", .tflite = "RELU6", .tf = "Relu6", .kernel = "relu", ACTIVATION(2),
     .flags = OP_INPLACE | OP_SAVES_OUTPUT},
    {.name = "ReluN1To1", .tflite = "RELU_N1_TO_1 RELU_0_TO_1", .kernel = "relu", ACTIVATION(2),
     .flags = OP_INPLACE | OP_SAVES_OUTPUT},
    {.name = "Clip", .onnx = "Clip", .kernel = "relu", ACTIVATION(2), .flags = OP_INPLACE | OP_SAVES_INPUTS,
     .steering = BIT(1) | BIT(2)},
    {.name = "LeakyRelu", .onnx = "LeakyRelu", .tflite = "LEAKY_RELU", .tf = "LeakyRelu", ACTIVATION(2),
     .flags = OP_INPLACE | OP_SAVES_OUTPUT},
    {.name = "PRelu", .onnx = "PRelu", .tflite = "PRELU", .op_class = FT_CLASS_ACTIVATION, .shape = shape_same,
     .cost = COST_ELEMENTWISE, .flops = 2, .flags = OP_SAVES_INPUTS},
    {.name = "ThresholdedRelu", .onnx = "ThresholdedRelu", ACTIVATION(1), .flags = OP_INPLACE | OP_SAVES_OUTPUT},
    {.name = "Elu", .onnx = "Elu", .tflite = "ELU", .tf = "Elu", ACTIVATION(6), .flags = OP_INPLACE | OP_SAVES_OUTPUT},
    {.name = "Selu", .onnx = "Selu", .tf = "Selu", ACTIVATION(7), .flags = OP_INPLACE | OP_SAVES_OUTPUT},
    {.name = "Celu", .onnx = "Celu", ACTIVATION(7), .flags = OP_INPLACE | OP_SAVES_OUTPUT},
    {.name = "Sigmoid", .onnx = "Sigmoid QLinearSigmoid", .tflite = "LOGISTIC STABLEHLO_LOGISTIC",
     .tf = "Sigmoid", ACTIVATION(6),
     .flags = OP_INPLACE | OP_SAVES_OUTPUT},
    {.name = "HardSigmoid", .onnx = "HardSigmoid", .tf = "HardSigmoid", .kernel = "hsigmoid", ACTIVATION(4),
     .flags = OP_INPLACE | OP_SAVES_INPUTS},
    {.name = "HardSwish", .onnx = "HardSwish", .tflite = "HARD_SWISH", .tf = "HardSwish", .kernel = "hswish",
     ACTIVATION(5), .flags = OP_INPLACE | OP_SAVES_INPUTS},
    {.name = "Tanh", .onnx = "Tanh", .tflite = "TANH STABLEHLO_TANH", .tf = "Tanh", ACTIVATION(4),
     .flags = OP_INPLACE | OP_SAVES_OUTPUT},
    {.name = "Gelu", .onnx = "Gelu FastGelu QuickGelu BiasGelu", .tflite = "GELU", .tf = "Gelu",
     .kernel = "gelu", ACTIVATION(8), .flags = OP_INPLACE | OP_SAVES_INPUTS},
    {.name = "Silu", .onnx = "Swish Silu SiLU", .kernel = "silu", ACTIVATION(7), .flags = OP_INPLACE | OP_SAVES_INPUTS},
    {.name = "Mish", .onnx = "Mish", ACTIVATION(14), .flags = OP_INPLACE | OP_SAVES_INPUTS},
    {.name = "Softplus", .onnx = "Softplus", .tf = "Softplus", ACTIVATION(9), .flags = OP_INPLACE | OP_SAVES_INPUTS},
    {.name = "Softsign", .onnx = "Softsign", .tf = "Softsign", ACTIVATION(3), .flags = OP_INPLACE | OP_SAVES_INPUTS},
    {.name = "Shrink", .onnx = "Shrink", ACTIVATION(2), .flags = OP_INPLACE | OP_SAVES_INPUTS},

    /* --- Elementwise, one input ------------------------------------------------------------------------------ */
    {.name = "Abs", .onnx = "Abs", .tflite = "ABS STABLEHLO_ABS", .tf = "Abs", UNARY(1),
     .flags = OP_INPLACE | OP_SAVES_INPUTS},
    {.name = "Neg", .onnx = "Neg", .tflite = "NEG STABLEHLO_NEGATE", .tf = "Neg", UNARY(1), .flags = OP_INPLACE},
    {.name = "Ceil", .onnx = "Ceil", .tflite = "CEIL", .tf = "Ceil", UNARY(1), .flags = OP_INPLACE | OP_NO_GRADIENT},
    {.name = "Floor", .onnx = "Floor", .tflite = "FLOOR STABLEHLO_FLOOR", .tf = "Floor", UNARY(1),
     .flags = OP_INPLACE | OP_NO_GRADIENT},
    {.name = "Round", .onnx = "Round", .tflite = "ROUND", .tf = "Round", UNARY(1),
     .flags = OP_INPLACE | OP_NO_GRADIENT},
    {.name = "Sign", .onnx = "Sign", .tflite = "SIGN", .tf = "Sign", UNARY(1), .flags = OP_INPLACE | OP_NO_GRADIENT},
    {.name = "Sqrt", .onnx = "Sqrt", .tflite = "SQRT", .tf = "Sqrt", UNARY(1), .flags = OP_INPLACE | OP_SAVES_OUTPUT},
    {.name = "Rsqrt", .onnx = "Rsqrt", .tflite = "RSQRT STABLEHLO_RSQRT", .tf = "Rsqrt", UNARY(2),
     .flags = OP_INPLACE | OP_SAVES_OUTPUT},
    {.name = "Square", .tflite = "SQUARE", .tf = "Square", UNARY(1), .flags = OP_INPLACE | OP_SAVES_INPUTS},
    {.name = "Reciprocal", .onnx = "Reciprocal", .tf = "Reciprocal", UNARY(1), .flags = OP_INPLACE | OP_SAVES_OUTPUT},
    {.name = "Exp", .onnx = "Exp", .tflite = "EXP STABLEHLO_EXPONENTIAL", .tf = "Exp", UNARY(4),
     .flags = OP_INPLACE | OP_SAVES_OUTPUT},
    {.name = "Log", .onnx = "Log", .tflite = "LOG STABLEHLO_LOG", .tf = "Log", UNARY(4),
     .flags = OP_INPLACE | OP_SAVES_INPUTS},
    {.name = "Erf", .onnx = "Erf", .tflite = "FlexErf", .tf = "Erf", UNARY(4), .flags = OP_INPLACE | OP_SAVES_INPUTS},
    {.name = "Sin", .onnx = "Sin", .tflite = "SIN", .tf = "Sin", UNARY(4), .flags = OP_INPLACE | OP_SAVES_INPUTS},
    {.name = "Cos", .onnx = "Cos", .tflite = "COS STABLEHLO_COSINE", .tf = "Cos", UNARY(4),
     .flags = OP_INPLACE | OP_SAVES_INPUTS},
    {.name = "Tan", .onnx = "Tan", .tflite = "FlexTan", UNARY(4), .flags = OP_INPLACE | OP_SAVES_INPUTS},
    {.name = "Asin", .onnx = "Asin", UNARY(4), .flags = OP_INPLACE | OP_SAVES_INPUTS},
    {.name = "Acos", .onnx = "Acos", UNARY(4), .flags = OP_INPLACE | OP_SAVES_INPUTS},
    {.name = "Atan", .onnx = "Atan", .tflite = "FlexAtan", UNARY(4), .flags = OP_INPLACE | OP_SAVES_INPUTS},
    {.name = "Sinh", .onnx = "Sinh", UNARY(4), .flags = OP_INPLACE | OP_SAVES_INPUTS},
    {.name = "Cosh", .onnx = "Cosh", UNARY(4), .flags = OP_INPLACE | OP_SAVES_INPUTS},
    {.name = "Asinh", .onnx = "Asinh", UNARY(4), .flags = OP_INPLACE | OP_SAVES_INPUTS},
    {.name = "Acosh", .onnx = "Acosh", UNARY(4), .flags = OP_INPLACE | OP_SAVES_INPUTS},
    {.name = "Atanh", .onnx = "Atanh", UNARY(4), .flags = OP_INPLACE | OP_SAVES_INPUTS},
    {.name = "Not", .onnx = "Not", .tflite = "LOGICAL_NOT", .tf = "LogicalNot", UNARY(1),
     .flags = OP_INPLACE | OP_NO_GRADIENT},
    {.name = "BitwiseNot", .onnx = "BitwiseNot", UNARY(1), .flags = OP_INPLACE | OP_NO_GRADIENT},
    {.name = "IsNaN", .onnx = "IsNaN", .op_class = FT_CLASS_ELEMENTWISE, .shape = shape_compare,
     .cost = COST_ELEMENTWISE, .flops = 1, .flags = OP_NO_GRADIENT},
    {.name = "IsInf", .onnx = "IsInf", .op_class = FT_CLASS_ELEMENTWISE, .shape = shape_compare,
     .cost = COST_ELEMENTWISE, .flops = 1, .flags = OP_NO_GRADIENT},
    {.name = "CumSum", .onnx = "CumSum", .tflite = "CUMSUM", .op_class = FT_CLASS_REDUCE, .shape = shape_same,
     .cost = COST_INPUTWISE, .flops = 1, .steering = BIT(1)},
    {.name = "CumProd", .onnx = "CumProd", .op_class = FT_CLASS_REDUCE, .shape = shape_same, .cost = COST_INPUTWISE,
     .flops = 1, .flags = OP_SAVES_INPUTS | OP_SAVES_OUTPUT, .steering = BIT(1)},
    {.name = "Cast", .onnx = "Cast CastLike", .tflite = "CAST STABLEHLO_CONVERT", .tf = "Cast",
     .op_class = FT_CLASS_ELEMENTWISE,
     .shape = shape_cast, .fold = fold_cast, .cost = COST_MOVE, .steering = BIT(1)},
    {.name = "Bitcast", .onnx = "BitCast", .tflite = "BITCAST", .op_class = FT_CLASS_VIEW, .shape = shape_bitcast,
     .cost = COST_FREE, .flags = OP_VIEW | OP_NO_GRADIENT},

    /* --- Elementwise, several inputs ------------------------------------------------------------------------- */
    {.name = "Add", .onnx = "Add QLinearAdd", .tflite = "ADD STABLEHLO_ADD", .tf = "Add AddV2", .kernel = "add",
     BINARY(1),
     .flags = OP_INPLACE | OP_COMMUTES},
    {.name = "BiasAdd", .tf = "BiasAdd Biasadd", .kernel = "bias", BINARY(1), .flags = OP_INPLACE | OP_COMMUTES},
    {.name = "Sub", .onnx = "Sub", .tflite = "SUB STABLEHLO_SUBTRACT", .tf = "Sub", .kernel = "sub", BINARY(1),
     .flags = OP_INPLACE | OP_COMMUTES},
    {.name = "Mul", .onnx = "Mul QLinearMul", .tflite = "MUL STABLEHLO_MULTIPLY", .tf = "Mul Multiply",
     .kernel = "mul", BINARY(1),
     .flags = OP_INPLACE | OP_COMMUTES | OP_SAVES_INPUTS},
    {.name = "Div", .onnx = "Div", .tflite = "DIV STABLEHLO_DIVIDE", .tf = "RealDiv Div", .kernel = "div", BINARY(1),
     .flags = OP_INPLACE | OP_COMMUTES | OP_SAVES_INPUTS},
    {.name = "FloorDiv", .tflite = "FLOOR_DIV", .tf = "FloorDiv", BINARY(2),
     .flags = OP_INPLACE | OP_COMMUTES | OP_NO_GRADIENT},
    {.name = "Mod", .onnx = "Mod", .tflite = "FLOOR_MOD STABLEHLO_REMAINDER", .tf = "FloorMod", BINARY(2),
     .flags = OP_INPLACE | OP_COMMUTES | OP_NO_GRADIENT},
    {.name = "Pow", .onnx = "Pow", .tflite = "POW STABLEHLO_POWER", .tf = "Pow", BINARY(4),
     .flags = OP_INPLACE | OP_COMMUTES | OP_SAVES_INPUTS},
    {.name = "SquaredDifference", .tflite = "SQUARED_DIFFERENCE", .tf = "SquaredDifference", BINARY(2),
     .flags = OP_INPLACE | OP_COMMUTES | OP_SAVES_INPUTS},
    {.name = "Atan2", .tflite = "ATAN2", BINARY(4), .flags = OP_COMMUTES | OP_SAVES_INPUTS},
    {.name = "Min", .onnx = "Min", .tflite = "MINIMUM STABLEHLO_MINIMUM", .tf = "Minimum", BINARY(1),
     .flags = OP_INPLACE | OP_COMMUTES | OP_SAVES_INPUTS},
    {.name = "Max", .onnx = "Max", .tflite = "MAXIMUM STABLEHLO_MAXIMUM", .tf = "Maximum", BINARY(1),
     .flags = OP_INPLACE | OP_COMMUTES | OP_SAVES_INPUTS},
    {.name = "Sum", .onnx = "Sum", .tflite = "ADD_N", .tf = "AddN", .kernel = "add", BINARY(1),
     .flags = OP_INPLACE | OP_COMMUTES},
    {.name = "Mean", .onnx = "Mean", .kernel = "average", BINARY(1), .flags = OP_COMMUTES},
    {.name = "And", .onnx = "And", .tflite = "LOGICAL_AND STABLEHLO_AND", .tf = "LogicalAnd", COMPARE},
    {.name = "Or", .onnx = "Or", .tflite = "LOGICAL_OR STABLEHLO_OR", .tf = "LogicalOr", COMPARE},
    {.name = "Xor", .onnx = "Xor", COMPARE},
    {.name = "Equal", .onnx = "Equal", .tflite = "EQUAL", .tf = "Equal", COMPARE},
    {.name = "NotEqual", .tflite = "NOT_EQUAL", .tf = "NotEqual", COMPARE},
    {.name = "Greater", .onnx = "Greater", .tflite = "GREATER", .tf = "Greater", COMPARE},
    {.name = "GreaterOrEqual", .onnx = "GreaterOrEqual", .tflite = "GREATER_EQUAL", .tf = "GreaterEqual", COMPARE},
    {.name = "Less", .onnx = "Less", .tflite = "LESS", .tf = "Less", COMPARE},
    {.name = "LessOrEqual", .onnx = "LessOrEqual", .tflite = "LESS_EQUAL", .tf = "LessEqual", COMPARE},
    {.name = "BitwiseAnd", .onnx = "BitwiseAnd", BINARY(1), .flags = OP_COMMUTES | OP_NO_GRADIENT},
    {.name = "BitwiseOr", .onnx = "BitwiseOr", BINARY(1), .flags = OP_COMMUTES | OP_NO_GRADIENT},
    {.name = "BitwiseXor", .onnx = "BitwiseXor", .tflite = "BITWISE_XOR", BINARY(1),
     .flags = OP_COMMUTES | OP_NO_GRADIENT},
    {.name = "BitShift", .onnx = "BitShift", .tflite = "RIGHT_SHIFT STABLEHLO_SHIFT_LEFT", BINARY(1),
     .flags = OP_COMMUTES | OP_NO_GRADIENT},
    {.name = "Where", .onnx = "Where", .tflite = "SELECT SELECT_V2 STABLEHLO_SELECT", .tf = "Select SelectV2",
     .op_class = FT_CLASS_ELEMENTWISE, .shape = shape_where, .fold = fold_where, .cost = COST_ELEMENTWISE, .flops = 1,
     .flags = OP_COMMUTES | OP_SAVES_MASK},

    /* --- Reductions ------------------------------------------------------------------------------------------ */
    {.name = "ReduceMean", .onnx = "ReduceMean", .tflite = "MEAN", .tf = "Mean", .kernel = "mean", REDUCE(1)},
    {.name = "ReduceSum", .onnx = "ReduceSum", .tflite = "SUM", .tf = "Sum", REDUCE(1)},
    {.name = "ReduceMax", .onnx = "ReduceMax", .tflite = "REDUCE_MAX", .tf = "Max", REDUCE(1),
     .flags = OP_SAVES_INPUTS | OP_SAVES_OUTPUT},
    {.name = "ReduceMin", .onnx = "ReduceMin", .tflite = "REDUCE_MIN", .tf = "Min", REDUCE(1),
     .flags = OP_SAVES_INPUTS | OP_SAVES_OUTPUT},
    {.name = "ReduceProd", .onnx = "ReduceProd", .tflite = "REDUCE_PROD", .tf = "Prod", REDUCE(1),
     .flags = OP_SAVES_INPUTS | OP_SAVES_OUTPUT},
    {.name = "ReduceAny", .tflite = "REDUCE_ANY REDUCE_ALL", .tf = "Any All", REDUCE(1), .flags = OP_NO_GRADIENT},
    {.name = "ReduceL1", .onnx = "ReduceL1", REDUCE(2), .flags = OP_SAVES_INPUTS},
    {.name = "ReduceL2", .onnx = "ReduceL2", REDUCE(2), .flags = OP_SAVES_INPUTS | OP_SAVES_OUTPUT},
    {.name = "ReduceLogSum", .onnx = "ReduceLogSum", REDUCE(1), .flags = OP_SAVES_INPUTS},
    {.name = "ReduceLogSumExp", .onnx = "ReduceLogSumExp", REDUCE(7), .flags = OP_SAVES_INPUTS | OP_SAVES_OUTPUT},
    {.name = "ReduceSumSquare", .onnx = "ReduceSumSquare", REDUCE(2), .flags = OP_SAVES_INPUTS},
    {.name = "ArgMax", .onnx = "ArgMax", .tflite = "ARG_MAX", .tf = "ArgMax", .op_class = FT_CLASS_REDUCE,
     .shape = shape_arg_reduce, .cost = COST_INPUTWISE, .flops = 1, .flags = OP_NO_GRADIENT, .steering = BIT(1)},
    {.name = "ArgMin", .onnx = "ArgMin", .tflite = "ARG_MIN", .tf = "ArgMin", .op_class = FT_CLASS_REDUCE,
     .shape = shape_arg_reduce, .cost = COST_INPUTWISE, .flops = 1, .flags = OP_NO_GRADIENT, .steering = BIT(1)},

    /* --- Views: the same elements under another shape -------------------------------------------------------- */
    {.name = "Reshape", .onnx = "Reshape", .tflite = "RESHAPE STABLEHLO_RESHAPE", .tf = "Reshape", .kernel = "reshape",
     VIEW(shape_reshape)},
    {.name = "Flatten", .onnx = "Flatten", .tf = "Flatten", .kernel = "reshape", VIEW(shape_flatten)},
    {.name = "Squeeze", .onnx = "Squeeze", .tflite = "SQUEEZE", .tf = "Squeeze", .kernel = "reshape",
     VIEW(shape_squeeze)},
    {.name = "Unsqueeze", .onnx = "Unsqueeze", .tflite = "EXPAND_DIMS", .tf = "ExpandDims", .kernel = "reshape",
     VIEW(shape_unsqueeze)},
    {.name = "Identity", .onnx = "Identity Optional OptionalGetElement", .tflite = "FlexIdentity",
     .tf = "Identity StopGradient", .kernel = "identity", VIEW(shape_same)},
    {.name = "Dropout", .onnx = "Dropout", .tf = "Dropout", .kernel = "dropout", .op_class = FT_CLASS_VIEW,
     .shape = shape_dropout, .fold = fold_copy, .cost = COST_FREE, .flags = OP_VIEW | OP_TRAIN_ONLY | OP_SAVES_MASK,
     .steering = BIT(1) | BIT(2)},

    /* --- Data movement --------------------------------------------------------------------------------------- */
    {.name = "Transpose", .onnx = "Transpose", .tflite = "TRANSPOSE STABLEHLO_TRANSPOSE", .tf = "Transpose",
     .kernel = "transpose",
     .op_class = FT_CLASS_MOVE, .shape = shape_transpose, .fold = fold_transpose, .cost = COST_MOVE,
     .steering = BIT(1)},
    {.name = "Concat", .onnx = "Concat QLinearConcat", .tflite = "CONCATENATION STABLEHLO_CONCATENATE",
     .tf = "ConcatV2 Concat",
     .kernel = "concat", .op_class = FT_CLASS_MOVE, .shape = shape_concat, .fold = fold_concat, .cost = COST_MOVE},
    {.name = "Split", .onnx = "Split", .kernel = "split", .op_class = FT_CLASS_MOVE, .shape = shape_split,
     .fold = fold_split, .cost = COST_SLICE, .steering = BIT(1)},
    {.name = "Slice", .onnx = "Slice", .kernel = "split", .op_class = FT_CLASS_MOVE, .shape = shape_slice,
     .fold = fold_slice, .cost = COST_SLICE, .steering = ~1U},
    {.name = "Gather", .onnx = "Gather", .kernel = "gather", .op_class = FT_CLASS_MOVE, .shape = shape_gather,
     .fold = fold_gather, .cost = COST_SLICE},
    {.name = "GatherElements", .onnx = "GatherElements", .op_class = FT_CLASS_MOVE, .shape = shape_gather_elements,
     .cost = COST_SLICE, .flags = OP_SAVES_INDEX},
    {.name = "GatherND", .onnx = "GatherND", .tflite = "GATHER_ND", .tf = "GatherNd", .op_class = FT_CLASS_MOVE,
     .shape = shape_gather_nd, .cost = COST_SLICE},
    {.name = "ScatterElements", .onnx = "ScatterElements Scatter TensorScatter", .op_class = FT_CLASS_MOVE,
     .shape = shape_same, .cost = COST_MOVE},
    {.name = "ScatterND", .onnx = "ScatterND", .op_class = FT_CLASS_MOVE, .shape = shape_same, .cost = COST_MOVE},
    {.name = "Expand", .onnx = "Expand", .tflite = "BROADCAST_TO", .tf = "BroadcastTo", .op_class = FT_CLASS_MOVE,
     .shape = shape_expand, .fold = fold_expand, .cost = COST_MOVE, .steering = BIT(1)},
    {.name = "Tile", .onnx = "Tile", .tflite = "TILE", .tf = "Tile", .op_class = FT_CLASS_MOVE, .shape = shape_tile,
     .fold = fold_expand, .cost = COST_MOVE, .steering = BIT(1) | BIT(2)},
    {.name = "Pad", .onnx = "Pad", .kernel = "pad", .op_class = FT_CLASS_MOVE, .shape = shape_pad, .cost = COST_MOVE,
     .steering = ~1U},
    {.name = "DepthToSpace", .onnx = "DepthToSpace", .tflite = "DEPTH_TO_SPACE", .tf = "DepthToSpace",
     .op_class = FT_CLASS_MOVE, .shape = shape_depth_to_space, .cost = COST_MOVE},
    {.name = "SpaceToDepth", .onnx = "SpaceToDepth", .tflite = "SPACE_TO_DEPTH", .tf = "SpaceToDepth",
     .op_class = FT_CLASS_MOVE, .shape = shape_space_to_depth, .cost = COST_MOVE},
    {.name = "Resize", .onnx = "Resize Upsample", .kernel = "resize", .op_class = FT_CLASS_MOVE, .shape = shape_resize,
     .cost = COST_ELEMENTWISE, .flops = 11, .steering = ~1U},
    {.name = "CenterCropPad", .onnx = "CenterCropPad", .op_class = FT_CLASS_MOVE, .cost = COST_MOVE,
     .steering = BIT(1)},
    {.name = "ReverseSequence", .onnx = "ReverseSequence", .tflite = "REVERSE_SEQUENCE", .op_class = FT_CLASS_MOVE,
     .shape = shape_same, .cost = COST_MOVE, .steering = BIT(1)},
    {.name = "Trilu", .onnx = "Trilu", .op_class = FT_CLASS_MOVE, .shape = shape_same, .cost = COST_MOVE,
     .steering = BIT(1)},

    /* --- Shape arithmetic and things made from nothing ------------------------------------------------------- */
    {.name = "Shape", .onnx = "Shape", .tflite = "SHAPE", .tf = "Shape", .shape = shape_shape, .fold = fold_shape,
     SHAPE},
    {.name = "Size", .onnx = "Size", .tf = "Size", .shape = shape_size, .fold = fold_size, SHAPE},
    {.name = "ConstantOfShape", .onnx = "ConstantOfShape", .op_class = FT_CLASS_SHAPE,
     .shape = shape_constant_of_shape, .fold = fold_fill, .cost = COST_MOVE, .flags = OP_NO_GRADIENT,
     .steering = BIT(0)},
    {.name = "Range", .onnx = "Range", .tflite = "RANGE", .tf = "Range", .op_class = FT_CLASS_SHAPE,
     .shape = shape_range, .fold = fold_range, .cost = COST_MOVE, .flags = OP_NO_GRADIENT, .steering = ~0U},
    {.name = "EyeLike", .onnx = "EyeLike", .op_class = FT_CLASS_SHAPE, .shape = shape_cast, .cost = COST_MOVE,
     .flags = OP_NO_GRADIENT},
    {.name = "RandomNormal", .onnx = "RandomNormal RandomUniform", .tflite = "RANDOM_STANDARD_NORMAL RANDOM_UNIFORM",
     .op_class = FT_CLASS_SHAPE, .shape = shape_random, .cost = COST_ELEMENTWISE, .flops = 8,
     .flags = OP_NO_GRADIENT | OP_RANDOM, .steering = BIT(0)},
    {.name = "RandomNormalLike", .onnx = "RandomNormalLike RandomUniformLike", .op_class = FT_CLASS_SHAPE,
     .shape = shape_random_like, .cost = COST_ELEMENTWISE, .flops = 8, .flags = OP_NO_GRADIENT | OP_RANDOM},
    {.name = "Bernoulli", .onnx = "Bernoulli", .op_class = FT_CLASS_SHAPE, .shape = shape_random_like,
     .cost = COST_ELEMENTWISE, .flops = 8, .flags = OP_NO_GRADIENT | OP_RANDOM},
    {.name = "Multinomial", .onnx = "Multinomial", .tflite = "MULTINOMIAL", .op_class = FT_CLASS_SELECT,
     .cost = COST_INPUTWISE, .flops = 8, .flags = OP_NO_GRADIENT | OP_RANDOM, .steering = BIT(1)},

    /* --- Selection: what comes out depends on the data ------------------------------------------------------- */
    {.name = "TopK", .onnx = "TopK", .tflite = "TOPK_V2", .tf = "TopKV2", .op_class = FT_CLASS_SELECT,
     .shape = shape_top_k, .cost = COST_SORT, .flops = 1, .flags = OP_SAVES_INDEX, .steering = BIT(1)},
    {.name = "NonMaxSuppression", .onnx = "NonMaxSuppression", .op_class = FT_CLASS_SELECT, .shape = shape_nms,
     .cost = COST_SORT, .flops = 16, .flags = OP_NO_GRADIENT, .steering = BIT(2) | BIT(3) | BIT(4)},
    {.name = "NonZero", .onnx = "NonZero", .tflite = "WHERE", .tf = "Where", .op_class = FT_CLASS_SELECT,
     .shape = shape_non_zero, .cost = COST_INPUTWISE, .flops = 1, .flags = OP_NO_GRADIENT},
    {.name = "OneHot", .onnx = "OneHot", .op_class = FT_CLASS_SELECT, .shape = shape_one_hot, .cost = COST_MOVE,
     .flags = OP_NO_GRADIENT, .steering = BIT(1) | BIT(2)},
    {.name = "Compress", .onnx = "Compress", .op_class = FT_CLASS_SELECT, .shape = shape_compress, .cost = COST_MOVE,
     .flags = OP_SAVES_INDEX},
    {.name = "Unique", .onnx = "Unique", .tflite = "UNIQUE", .op_class = FT_CLASS_SELECT, .shape = shape_unique,
     .cost = COST_SORT, .flops = 1, .flags = OP_NO_GRADIENT},
    {.name = "Det", .onnx = "Det", .op_class = FT_CLASS_REDUCE, .shape = shape_det, .cost = COST_INPUTWISE, .flops = 8,
     .flags = OP_SAVES_INPUTS},

    /* --- Quantisation ---------------------------------------------------------------------------------------- */
    {.name = "QuantizeLinear", .onnx = "QuantizeLinear", .tflite = "QUANTIZE", .kernel = "quantize", QUANT,
     .shape = shape_quantize, .cost = COST_ELEMENTWISE, .flops = 3, .flags = OP_NO_GRADIENT,
     .steering = BIT(1) | BIT(2)},
    {.name = "DequantizeLinear", .onnx = "DequantizeLinear", .tflite = "DEQUANTIZE", .kernel = "dequantize", QUANT,
     .shape = shape_dequantize, .cost = COST_ELEMENTWISE, .flops = 2, .steering = BIT(1) | BIT(2)},
    {.name = "DynamicQuantizeLinear", .onnx = "DynamicQuantizeLinear", .kernel = "quantize", QUANT,
     .shape = shape_dynamic_quantize, .cost = COST_ELEMENTWISE, .flops = 5, .flags = OP_NO_GRADIENT},
    {.name = "FakeQuant", .tflite = "FAKE_QUANT", .tf = "FakeQuantWithMinMaxVars", QUANT, .shape = shape_same,
     .cost = COST_ELEMENTWISE, .flops = 4, .flags = OP_SAVES_MASK, .steering = BIT(1) | BIT(2)},

    /* --- Signal ---------------------------------------------------------------------------------------------- */
    {.name = "DFT", .onnx = "DFT", .op_class = FT_CLASS_REDUCE, .shape = shape_dft, .cost = COST_FFT, .flops = 5,
     .steering = BIT(1) | BIT(2)},
    {.name = "STFT", .onnx = "STFT", .op_class = FT_CLASS_REDUCE, .shape = shape_stft, .cost = COST_FFT, .flops = 5,
     .steering = BIT(1) | BIT(3)},
    {.name = "Window", .onnx = "HannWindow HammingWindow BlackmanWindow", .op_class = FT_CLASS_SHAPE,
     .shape = shape_window, .cost = COST_ELEMENTWISE, .flops = 6, .flags = OP_NO_GRADIENT, .steering = BIT(0)},
    {.name = "MelWeightMatrix", .onnx = "MelWeightMatrix", .op_class = FT_CLASS_SHAPE, .cost = COST_ELEMENTWISE,
     .flops = 8, .flags = OP_NO_GRADIENT, .steering = ~0U},

    /* --- Losses ---------------------------------------------------------------------------------------------- */
    {.name = "SoftmaxCrossEntropyLoss", .onnx = "SoftmaxCrossEntropyLoss", .op_class = FT_CLASS_REDUCE,
     .shape = shape_loss, .cost = COST_INPUTWISE, .flops = 10, .flags = OP_SAVES_OUTPUT},
    {.name = "NegativeLogLikelihoodLoss", .onnx = "NegativeLogLikelihoodLoss", .op_class = FT_CLASS_REDUCE,
     .shape = shape_loss, .cost = COST_INPUTWISE, .flops = 1},

    /* --- Sequences, strings and control: lists of tensors, whose shapes only the file can tell ---------------- */
    {.name = "Sequence", .onnx = "SequenceConstruct SequenceEmpty SequenceInsert SequenceErase SplitToSequence",
     .op_class = FT_CLASS_CONTROL, .cost = COST_MOVE},
    {.name = "SequenceAt", .onnx = "SequenceAt ConcatFromSequence", .op_class = FT_CLASS_CONTROL, .cost = COST_MOVE},
    {.name = "SequenceLength", .onnx = "SequenceLength OptionalHasElement", .op_class = FT_CLASS_CONTROL,
     .shape = shape_size, .cost = COST_FREE, .flags = OP_NO_GRADIENT},
    {.name = "IfMerge", .onnx = "IfMerge", .kernel = "identity", VIEW(shape_same)},
    {.name = "LoopSlice", .onnx = "LoopSlice", .op_class = FT_CLASS_CONTROL, .shape = shape_loop_slice,
     .cost = COST_FREE, .flags = OP_VIEW},
    {.name = "LoopIndex", .onnx = "LoopIndex", .op_class = FT_CLASS_CONTROL, .shape = shape_loop_index,
     .cost = COST_FREE, .flags = OP_NO_GRADIENT | OP_RANDOM},
    {.name = "LoopStack", .onnx = "LoopStack", .op_class = FT_CLASS_CONTROL, .shape = shape_loop_stack,
     .cost = COST_MOVE},

    /* --- TFLite and TensorFlow spell these in ways of their own ----------------------------------------------- */
    {.name = "SplitAxisFirst", .tflite = "SPLIT", .tf = "Split", .kernel = "split", .op_class = FT_CLASS_MOVE,
     .shape = shape_split_axis_first, .fold = fold_split_axis_first, .cost = COST_SLICE, .steering = BIT(0), .x = 1},
    {.name = "SplitV", .tflite = "SPLIT_V", .tf = "SplitV", .kernel = "split", .op_class = FT_CLASS_MOVE,
     .shape = shape_split_v, .fold = fold_split_v, .cost = COST_SLICE, .steering = BIT(1) | BIT(2)},
    {.name = "SliceBeginSize", .tflite = "SLICE", .tf = "Slice", .kernel = "split", .op_class = FT_CLASS_MOVE,
     .shape = shape_slice_size, .fold = fold_slice_size, .cost = COST_SLICE, .steering = ~1U},
    {.name = "StridedSlice", .tflite = "STRIDED_SLICE", .tf = "StridedSlice", .kernel = "split",
     .op_class = FT_CLASS_MOVE, .shape = shape_strided_slice, .fold = fold_strided_slice, .cost = COST_SLICE,
     .steering = ~1U},
    {.name = "GatherTF", .tflite = "GATHER", .tf = "GatherV2 Gather", .kernel = "gather", .op_class = FT_CLASS_MOVE,
     .shape = shape_gather_batch, .fold = fold_gather_batch, .cost = COST_SLICE, .steering = BIT(2)},
    {.name = "Pack", .tflite = "PACK", .tf = "Pack", .kernel = "pack", .op_class = FT_CLASS_MOVE, .shape = shape_pack,
     .fold = fold_pack, .cost = COST_MOVE},
    {.name = "Unpack", .tflite = "UNPACK", .tf = "Unpack", .op_class = FT_CLASS_MOVE, .shape = shape_unpack,
     .fold = fold_unpack, .cost = COST_SLICE},
    {.name = "PadPairs", .tflite = "PAD PADV2 MIRROR_PAD", .tf = "Pad PadV2 MirrorPad", .kernel = "pad",
     .op_class = FT_CLASS_MOVE, .shape = shape_pad_pairs, .cost = COST_MOVE, .steering = ~1U},
    {.name = "SpaceToBatchND", .tflite = "SPACE_TO_BATCH_ND", .tf = "SpaceToBatchND", .op_class = FT_CLASS_MOVE,
     .shape = shape_space_to_batch, .cost = COST_MOVE, .steering = ~1U},
    {.name = "BatchToSpaceND", .tflite = "BATCH_TO_SPACE_ND", .tf = "BatchToSpaceND", .op_class = FT_CLASS_MOVE,
     .shape = shape_batch_to_space, .cost = COST_MOVE, .steering = ~1U},
    {.name = "ResizeBilinear", .tflite = "RESIZE_BILINEAR", .tf = "ResizeBilinear", .kernel = "resize",
     .op_class = FT_CLASS_MOVE, .shape = shape_resize_size, .cost = COST_ELEMENTWISE, .flops = 11, .steering = BIT(1)},
    {.name = "ResizeNearest", .tflite = "RESIZE_NEAREST_NEIGHBOR", .tf = "ResizeNearestNeighbor", .kernel = "resize",
     .op_class = FT_CLASS_MOVE, .shape = shape_resize_size, .cost = COST_MOVE, .steering = BIT(1)},
    {.name = "Reverse", .tflite = "REVERSE_V2", .tf = "ReverseV2", .op_class = FT_CLASS_MOVE, .shape = shape_same,
     .cost = COST_MOVE, .steering = BIT(1)},
    {.name = "Fill", .tflite = "FILL", .tf = "Fill", .op_class = FT_CLASS_SHAPE, .shape = shape_fill,
     .fold = fold_fill_value, .cost = COST_MOVE, .flags = OP_NO_GRADIENT, .steering = ~0U},
    {.name = "ZerosLike", .tflite = "ZEROS_LIKE", .tf = "ZerosLike OnesLike", .op_class = FT_CLASS_SHAPE,
     .shape = shape_same, .cost = COST_MOVE, .flags = OP_NO_GRADIENT},
    {.name = "Rank", .tflite = "RANK", .tf = "Rank", .shape = shape_size, .fold = fold_rank, SHAPE},
    {.name = "OneHotTF", .tflite = "ONE_HOT", .tf = "OneHot", .op_class = FT_CLASS_SELECT,
     .shape = shape_one_hot_depth, .cost = COST_MOVE, .flags = OP_NO_GRADIENT, .steering = BIT(1) | BIT(2) | BIT(3)},
    {.name = "ScatterNDShape", .tflite = "SCATTER_ND", .tf = "ScatterNd", .op_class = FT_CLASS_MOVE,
     .shape = shape_scatter_shape, .cost = COST_MOVE, .steering = BIT(2)},
    {.name = "EmbeddingLookup", .tflite = "EMBEDDING_LOOKUP", .op_class = FT_CLASS_MOVE, .shape = shape_embedding,
     .cost = COST_SLICE, .x = 1},
    {.name = "HashtableLookup", .tflite = "HASHTABLE_LOOKUP", .op_class = FT_CLASS_MOVE,
     .shape = shape_hashtable_lookup, .cost = COST_SLICE, .flags = OP_NO_GRADIENT, .x = 2},
    {.name = "EmbeddingLookupSparse", .tflite = "EMBEDDING_LOOKUP_SPARSE CONCAT_EMBEDDINGS",
     .op_class = FT_CLASS_MOVE, .cost = COST_SLICE},
    {.name = "LshProjection", .tflite = "LSH_PROJECTION", .op_class = FT_CLASS_SELECT, .cost = COST_MOVE,
     .flags = OP_NO_GRADIENT},
    {.name = "SkipGram", .tflite = "SKIP_GRAM", .op_class = FT_CLASS_SELECT, .cost = COST_MOVE,
     .flags = OP_NO_GRADIENT},
    {.name = "UnidirectionalSequenceLSTM", .tflite = "LSTM UNIDIRECTIONAL_SEQUENCE_LSTM", .kernel = "lstm",
     .op_class = FT_CLASS_RECURRENT, .shape = shape_lstm, .cost = COST_RECURRENT, .flops = 4,
     .flags = OP_SAVES_INPUTS | OP_SAVES_OUTPUT},
    {.name = "BidirectionalSequenceLSTM", .tflite = "BIDIRECTIONAL_SEQUENCE_LSTM", .kernel = "lstm",
     .op_class = FT_CLASS_RECURRENT, .shape = shape_bidirectional_lstm, .cost = COST_RECURRENT, .flops = 4,
     .flags = OP_SAVES_INPUTS | OP_SAVES_OUTPUT},
    {.name = "SequenceRNN", .tflite = "RNN UNIDIRECTIONAL_SEQUENCE_RNN BIDIRECTIONAL_SEQUENCE_RNN", .kernel = "rnn",
     .op_class = FT_CLASS_RECURRENT, .shape = shape_rnn, .cost = COST_RECURRENT, .flops = 1,
     .flags = OP_SAVES_INPUTS | OP_SAVES_OUTPUT},
    {.name = "SVDF", .tflite = "SVDF", .kernel = "svdf", .op_class = FT_CLASS_RECURRENT, .shape = shape_svdf,
     .cost = COST_RECURRENT,
     .flops = 1, .flags = OP_SAVES_INPUTS | OP_SAVES_OUTPUT},
    {.name = "DetectionPostProcess",
     .tflite = "TFLite_Detection_PostProcess",
     .op_class = FT_CLASS_SELECT, .shape = shape_detections, .cost = COST_SORT, .flops = 16,
     .flags = OP_NO_GRADIENT, .steering = BIT(2)},
    {.name = "NonMaxSuppressionLimit", .tflite = "NON_MAX_SUPPRESSION_V4 NON_MAX_SUPPRESSION_V5",
     .tf = "NonMaxSuppressionV3 NonMaxSuppressionV4 NonMaxSuppressionV5", .op_class = FT_CLASS_SELECT,
     .shape = shape_nms_limit, .cost = COST_SORT, .flops = 16, .flags = OP_NO_GRADIENT, .steering = ~3U},
    {.name = "SparseToDense", .tflite = "SPARSE_TO_DENSE", .tf = "SparseToDense", .op_class = FT_CLASS_MOVE,
     .shape = shape_sparse_to_dense, .cost = COST_MOVE, .steering = BIT(1)},
    {.name = "Densify", .tflite = "DENSIFY", .op_class = FT_CLASS_MOVE, .shape = shape_same, .cost = COST_MOVE},
    {.name = "MatrixDiag", .tflite = "MATRIX_DIAG", .tf = "MatrixDiag MatrixDiagV3", .op_class = FT_CLASS_MOVE,
     .shape = shape_matrix_diag, .cost = COST_MOVE},
    {.name = "MatrixSetDiag", .tflite = "MATRIX_SET_DIAG", .tf = "MatrixSetDiag MatrixSetDiagV3",
     .op_class = FT_CLASS_MOVE, .shape = shape_same, .cost = COST_MOVE},
    {.name = "Segment", .tflite = "SEGMENT_SUM UNSORTED_SEGMENT_SUM UNSORTED_SEGMENT_PROD UNSORTED_SEGMENT_MAX "
                                  "UNSORTED_SEGMENT_MIN",
     .tf = "SegmentSum UnsortedSegmentSum UnsortedSegmentProd UnsortedSegmentMax UnsortedSegmentMin",
     .op_class = FT_CLASS_REDUCE, .shape = shape_segment, .cost = COST_INPUTWISE, .flops = 1,
     .steering = BIT(1) | BIT(2)},
    {.name = "Rfft2D", .tflite = "RFFT2D", .tf = "RFFT2D", .op_class = FT_CLASS_REDUCE, .shape = shape_rfft2d,
     .cost = COST_FFT, .flops = 5, .steering = BIT(1)},
    {.name = "ComplexPart", .tflite = "REAL IMAG", .tf = "Real Imag", .op_class = FT_CLASS_MOVE, .shape = shape_same,
     .cost = COST_MOVE},
    {.name = "ComplexAbs", .tflite = "COMPLEX_ABS", .tf = "ComplexAbs", .op_class = FT_CLASS_ELEMENTWISE,
     .shape = shape_same, .cost = COST_ELEMENTWISE, .flops = 4, .flags = OP_SAVES_INPUTS | OP_SAVES_OUTPUT},
    {.name = "Bucketize", .tflite = "BUCKETIZE", .tf = "Bucketize", .op_class = FT_CLASS_ELEMENTWISE,
     .shape = shape_same, .cost = COST_ELEMENTWISE, .flops = 8, .flags = OP_NO_GRADIENT},
    {.name = "BroadcastArgs", .tflite = "BROADCAST_ARGS", .tf = "BroadcastArgs", .shape = shape_broadcast_args,
     .fold = fold_broadcast_args, SHAPE},
    {.name = "Dilate", .tflite = "DILATE", .op_class = FT_CLASS_MOVE, .shape = shape_dilate, .cost = COST_MOVE,
     .steering = ~1U},
    {.name = "DynamicUpdateSlice", .tflite = "DYNAMIC_UPDATE_SLICE STABLEHLO_DYNAMIC_UPDATE_SLICE",
     .op_class = FT_CLASS_MOVE, .shape = shape_same, .cost = COST_MOVE, .flags = OP_INPLACE, .steering = ~3U},
    {.name = "Variable", .tflite = "VAR_HANDLE HASHTABLE", .tf = "VarHandleOp HashTableV2",
     .op_class = FT_CLASS_CONTROL, .cost = COST_FREE, .flags = OP_NO_GRADIENT | OP_RANDOM},
    {.name = "ReadVariable", .tflite = "READ_VARIABLE", .tf = "ReadVariableOp", .op_class = FT_CLASS_CONTROL,
     .cost = COST_FREE, .flags = OP_RANDOM},
    {.name = "AssignVariable", .tflite = "ASSIGN_VARIABLE HASHTABLE_IMPORT", .tf = "AssignVariableOp",
     .op_class = FT_CLASS_CONTROL, .cost = COST_MOVE, .flags = OP_NO_GRADIENT},
    {.name = "HashtableFind", .tflite = "HASHTABLE_FIND", .tf = "LookupTableFindV2", .op_class = FT_CLASS_SELECT,
     .shape = shape_like_second, .cost = COST_MOVE, .flags = OP_NO_GRADIENT | OP_RANDOM, .x = 1},
    {.name = "HashtableSize", .tflite = "HASHTABLE_SIZE", .op_class = FT_CLASS_CONTROL, .cost = COST_FREE,
     .flags = OP_NO_GRADIENT | OP_RANDOM},
    {.name = "LoopCarry", .tflite = "LOOP_CARRY", .op_class = FT_CLASS_CONTROL, .shape = shape_same,
     .cost = COST_FREE, .flags = OP_VIEW | OP_RANDOM},

    /* --- StableHLO inside TFLite: where no rule fits, shapes are those of the file ----------------------------- */
    {.name = "HloDotGeneral", .tflite = "STABLEHLO_DOT_GENERAL", .kernel = "matmul", .op_class = FT_CLASS_MATMUL,
     .shape = shape_einsum, .cost = COST_EINSUM, .flags = OP_SAVES_INPUTS},
    {.name = "HloConvolution", .tflite = "STABLEHLO_CONVOLUTION", .kernel = "conv", .op_class = FT_CLASS_CONV,
     .cost = COST_CONV, .flags = OP_SAVES_INPUTS, .layout = WEIGHT_HWIO},
    {.name = "HloCompare", .tflite = "STABLEHLO_COMPARE", .op_class = FT_CLASS_ELEMENTWISE, .shape = shape_compare,
     .cost = COST_ELEMENTWISE, .flops = 1, .flags = OP_NO_GRADIENT},
    {.name = "HloClamp", .tflite = "STABLEHLO_CLAMP", .op_class = FT_CLASS_ACTIVATION, .shape = shape_like_second,
     .cost = COST_ELEMENTWISE, .flops = 2, .flags = OP_SAVES_INPUTS, .x = 1},
    {.name = "HloMove", .tflite = "STABLEHLO_BROADCAST_IN_DIM STABLEHLO_PAD", .op_class = FT_CLASS_MOVE,
     .cost = COST_MOVE, .steering = BIT(1)},
    {.name = "HloSlice", .tflite = "STABLEHLO_SLICE STABLEHLO_DYNAMIC_SLICE STABLEHLO_GATHER",
     .op_class = FT_CLASS_MOVE, .cost = COST_SLICE, .steering = ~1U},
    {.name = "HloScatter", .tflite = "STABLEHLO_SCATTER", .op_class = FT_CLASS_MOVE, .shape = shape_same,
     .cost = COST_MOVE, .steering = BIT(1)},
    {.name = "HloReduce", .tflite = "STABLEHLO_REDUCE", .op_class = FT_CLASS_REDUCE, .cost = COST_INPUTWISE,
     .flops = 1, .steering = ~1U},
    {.name = "HloReduceWindow", .tflite = "STABLEHLO_REDUCE_WINDOW REDUCE_WINDOW", .op_class = FT_CLASS_POOL,
     .cost = COST_INPUTWISE, .flops = 1, .steering = ~1U},
    {.name = "HloSort", .tflite = "STABLEHLO_SORT", .op_class = FT_CLASS_SELECT, .shape = shape_same,
     .cost = COST_SORT, .flops = 1, .flags = OP_SAVES_INDEX},
    {.name = "HloIota", .tflite = "STABLEHLO_IOTA", .op_class = FT_CLASS_SHAPE, .cost = COST_MOVE,
     .flags = OP_NO_GRADIENT},
    {.name = "HloRandom", .tflite = "STABLEHLO_RNG_BIT_GENERATOR", .op_class = FT_CLASS_SHAPE,
     .cost = COST_ELEMENTWISE, .flops = 8, .flags = OP_NO_GRADIENT | OP_RANDOM},
    {.name = "HloCbrt", .tflite = "STABLEHLO_CBRT", .op_class = FT_CLASS_ELEMENTWISE, .shape = shape_same,
     .cost = COST_ELEMENTWISE, .flops = 4, .flags = OP_INPLACE | OP_SAVES_OUTPUT},
};
/* clang-format on */

enum { COUNT = sizeof table / sizeof table[0] };

/* --- Finding an entry by name -------------------------------------------------------------------------------- */

/* One hash table for each family of spellings, filled on first use and never changed after. */
enum { ONNX, TFLITE, TF, FAMILIES, SLOTS = 1024 };

typedef struct spelling {
    const char *text; /* not terminated: points into an entry's list */
    size_t length;
    const ft_opdef *def;
} spelling;

static spelling slots[FAMILIES][SLOTS];
static pthread_once_t slots_once = PTHREAD_ONCE_INIT;

static uint32_t hash_text(const char *text, size_t length) {
    uint32_t hash = 2166136261U;
    for (size_t i = 0; i < length; i++) hash = (hash ^ (unsigned char)text[i]) * 16777619U;
    return hash ^ hash >> 15;
}

static spelling *find_slot(int family, const char *text, size_t length) {
    for (uint32_t i = hash_text(text, length) % SLOTS;; i = (i + 1) % SLOTS) {
        spelling *slot = &slots[family][i];
        if (slot->text == NULL || (slot->length == length && memcmp(slot->text, text, length) == 0)) return slot;
    }
}

static void add_spellings(int family, const char *list, const ft_opdef *def) {
    if (list == NULL) return;
    while (*list != '\0') {
        size_t length = strcspn(list, " ");
        spelling *slot = find_slot(family, list, length);
        if (slot->text == NULL) *slot = (spelling){list, length, def};
        list += length;
        while (*list == ' ') list++;
    }
}

static void fill_slots(void) {
    for (int i = 0; i < COUNT; i++) {
        add_spellings(ONNX, table[i].onnx, &table[i]);
        add_spellings(TFLITE, table[i].tflite, &table[i]);
        add_spellings(TF, table[i].tf, &table[i]);
    }
}

static int family_of(ft_format format) {
    switch (format) {
    case FT_FORMAT_TFLITE:
        return TFLITE;
    case FT_FORMAT_CG:
    case FT_FORMAT_NNMETER:
        return TF;
    case FT_FORMAT_ONNX:
    case FT_FORMAT_PERFSEER:
    case FT_FORMAT_UNKNOWN:
        break;
    }
    return ONNX;
}

const ft_opdef *opdef_find(ft_format format, const char *text) {
    pthread_once(&slots_once, fill_slots);
    return find_slot(family_of(format), text, strlen(text))->def;
}

/* --- Looking at the table ------------------------------------------------------------------------------------ */

uint32_t ft_opdef_count(void) {
    return COUNT;
}

const ft_opdef *ft_opdef_at(uint32_t index) {
    return index < COUNT ? &table[index] : NULL;
}

const ft_opdef *ft_opdef_unknown(void) {
    return &unknown;
}

bool ft_opdef_is_known(const ft_opdef *def) {
    return def != &unknown;
}

const char *ft_opdef_name(const ft_opdef *def) {
    return def->name;
}

ft_op_class ft_opdef_class(const ft_opdef *def) {
    return def->op_class;
}

const char *ft_opdef_spellings(const ft_opdef *def, ft_format format) {
    const char *const lists[FAMILIES] = {[ONNX] = def->onnx, [TFLITE] = def->tflite, [TF] = def->tf};
    const char *list = lists[family_of(format)];
    return list != NULL ? list : "";
}
