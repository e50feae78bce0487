/* ops_contrib.c - the operator table, continued: operators of ONNX Runtime's own domain (com.microsoft).
 *
 * Its transformer optimiser, its quantiser and the exporters of ONNX Runtime GenAI write them. Operators whose
 * arguments are those of a standard operator are further names of that entry in ops.c. Optional outputs are counted in
 * `outputs`: tests/graph/test_shapes.c checks that each of them gets a shape. */
#include "graph/ops.h"

#define ATTENTION                                                                                                      \
    .kernel = "attention", .op_class = FT_CLASS_ATTENTION, .shape = shape_attention, .cost = COST_ATTENTION,           \
    .flags = OP_SAVES_INPUTS | OP_SAVES_OUTPUT
#define PRODUCT .op_class = FT_CLASS_MATMUL, .shape = shape_matmul, .cost = COST_MATMUL
#define PACKED_PRODUCT                                                                                                 \
    .kernel = "fc", .op_class = FT_CLASS_MATMUL, .shape = shape_packed_product, .cost = COST_MATMUL,                   \
    .flags = OP_NO_GRADIENT

#define COLLECTIVE .op_class = FT_CLASS_MOVE, .cost = COST_MOVE

/* clang-format off */
const ft_opdef opdef_contrib[] = {
    /* --- Convolutions and pools with channels last ----------------------------------------------------------- */
    {.name = "NhwcConv", .onnx = "NhwcConv NhwcFusedConv", .kernel = "conv", .op_class = FT_CLASS_CONV,
     .shape = shape_conv, .cost = COST_CONV, .flags = OP_SAVES_INPUTS | OP_CHANNELS_LAST},
    {.name = "NhwcMaxPool", .onnx = "NhwcMaxPool", .kernel = "maxpool", .op_class = FT_CLASS_POOL, .shape = shape_pool,
     .cost = COST_POOL, .flops = 1, .flags = OP_NO_GRADIENT | OP_CHANNELS_LAST},
    {.name = "CausalConvWithState", .onnx = "CausalConvWithState", .kernel = "conv", .op_class = FT_CLASS_CONV,
     .shape = shape_causal_conv, .cost = COST_CONV, .flags = OP_SAVES_INPUTS, .outputs = 2},

    /* --- Products of quantised weights ----------------------------------------------------------------------- */
    {.name = "MatMulIntegerToFloat", .onnx = "MatMulIntegerToFloat", .kernel = "matmul", PRODUCT,
     .flags = OP_NO_GRADIENT, .aux_inputs = BIT(2) | BIT(3) | BIT(4) | BIT(5)},
    {.name = "DynamicQuantizeMatMul", .onnx = "DynamicQuantizeMatMul", .kernel = "matmul", PRODUCT,
     .flags = OP_NO_GRADIENT, .aux_inputs = BIT(2) | BIT(3)},
    {.name = "GemmFloat8", .onnx = "GemmFloat8", .kernel = "fc", PRODUCT, .flags = OP_SAVES_INPUTS,
     .aux_inputs = BIT(3) | BIT(4) | BIT(5)},
    {.name = "GemmFastGelu", .onnx = "GemmFastGelu", .kernel = "fc", PRODUCT, .flags = OP_SAVES_INPUTS, .flops = 8},
    {.name = "QOrderedMatMul", .onnx = "QOrderedMatMul", .kernel = "matmul", PRODUCT, .flags = OP_NO_GRADIENT, .w = 2,
     .aux_inputs = BIT(1) | BIT(3) | BIT(4) | BIT(7)},
    {.name = "MatMulNBits", .onnx = "MatMulNBits", PACKED_PRODUCT, .aux_inputs = BIT(4),
     .scale_inputs = BIT(2) | BIT(3), .packed_inputs = BIT(1)},
    {.name = "MatMulBnb4", .onnx = "MatMulBnb4", PACKED_PRODUCT, .scale_inputs = BIT(2), .packed_inputs = BIT(1)},
    {.name = "MatMulFpQ4", .onnx = "MatMulFpQ4", PACKED_PRODUCT, .aux_inputs = BIT(2), .packed_inputs = BIT(1)},
    {.name = "MatMulBlockQuantized", .onnx = "MatMulBlockQuantizedFp4Weight MatMulBlockQuantizedFp8Weight",
     PACKED_PRODUCT, .scale_inputs = BIT(2) | BIT(3), .packed_inputs = BIT(1)},
    {.name = "MatMulNBitsMlp", .onnx = "MatMulNBitsMlp", PACKED_PRODUCT, .flops = 8, .outputs = 2, .w = 3,
     .scale_inputs = BIT(4) | BIT(7), .packed_inputs = BIT(3) | BIT(6)},
    {.name = "MatMulNBitsQkv", .onnx = "MatMulNBitsQkv", PACKED_PRODUCT, .outputs = 4, .w = 3,
     .scale_inputs = BIT(4) | BIT(7) | BIT(10), .packed_inputs = BIT(3) | BIT(6) | BIT(9)},

    /* --- Mixtures of experts --------------------------------------------------------------------------------- */
    {.name = "MoE", .onnx = "MoE", .kernel = "moe", .op_class = FT_CLASS_MATMUL, .shape = shape_same, .cost = COST_MOE,
     .flags = OP_SAVES_INPUTS, .w = 2, .table_inputs = ~3U},
    {.name = "QMoE", .onnx = "QMoE", .kernel = "moe", .op_class = FT_CLASS_MATMUL, .shape = shape_same,
     .cost = COST_MOE, .flags = OP_NO_GRADIENT, .w = 2, .table_inputs = ~3U,
     .scale_inputs = BIT(3) | BIT(6) | BIT(9) | BIT(11) | BIT(12) | BIT(13) | BIT(15) | BIT(16) | BIT(17),
     .packed_inputs = BIT(2) | BIT(5) | BIT(8)},

    /* --- Attention (graph/attention.c has the arguments of each) ---------------------------------------------- */
    {.name = "MultiHeadAttention", .onnx = "MultiHeadAttention", ATTENTION, .outputs = 4, .aux_inputs = BIT(8)},
    {.name = "DecoderMaskedMultiHeadAttention", .onnx = "DecoderMaskedMultiHeadAttention", ATTENTION, .outputs = 4,
     .aux_inputs = BIT(7) | BIT(8)},
    {.name = "GroupQueryAttention", .onnx = "GroupQueryAttention", ATTENTION, .outputs = 4,
     .aux_inputs = BIT(5) | BIT(6) | BIT(12) | BIT(13), .table_inputs = BIT(7) | BIT(8)},
    {.name = "MultiHeadLatentAttention", .onnx = "MultiHeadLatentAttention", ATTENTION, .outputs = 2},
    {.name = "SparseAttention", .onnx = "SparseAttention", ATTENTION, .outputs = 3,
     .aux_inputs = BIT(5) | BIT(6) | BIT(7) | BIT(8), .table_inputs = BIT(9) | BIT(10)},
    {.name = "PagedAttention", .onnx = "PagedAttention", ATTENTION, .outputs = 3,
     .aux_inputs = BIT(5) | BIT(6) | BIT(7) | BIT(10) | BIT(14) | BIT(15) | BIT(16), .table_inputs = BIT(8) | BIT(9)},
    {.name = "PackedAttention", .onnx = "PackedAttention", ATTENTION, .aux_inputs = BIT(3) | BIT(4)},
    {.name = "PackedMultiHeadAttention", .onnx = "PackedMultiHeadAttention", ATTENTION,
     .aux_inputs = BIT(4) | BIT(5)},
    {.name = "LongformerAttention", .onnx = "LongformerAttention", ATTENTION, .aux_inputs = BIT(6)},
    {.name = "DecoderAttention", .onnx = "DecoderAttention", ATTENTION, .outputs = 3,
     .aux_inputs = BIT(8) | BIT(9) | BIT(10) | BIT(11)},
    {.name = "QAttention", .onnx = "QAttention", ATTENTION, .outputs = 2,
     .aux_inputs = BIT(3) | BIT(4) | BIT(6) | BIT(7)},
    {.name = "QOrderedAttention", .onnx = "QOrderedAttention", ATTENTION, .w = 5,
     .aux_inputs = BIT(1) | BIT(2) | BIT(3) | BIT(4) | BIT(8) | BIT(9) | BIT(10) | BIT(14) | BIT(15) | BIT(16)},
    {.name = "QOrderedLongformerAttention", .onnx = "QOrderedLongformerAttention", ATTENTION, .w = 2,
     .aux_inputs = BIT(1) | BIT(3) | BIT(5) | BIT(6) | BIT(9) | BIT(11) | BIT(12) | BIT(13)},
    {.name = "LinearAttention", .onnx = "LinearAttention", .kernel = "attention", .op_class = FT_CLASS_ATTENTION,
     .shape = shape_linear_attention, .cost = COST_LINEAR_ATTENTION, .flags = OP_SAVES_INPUTS | OP_SAVES_OUTPUT,
     .outputs = 2},
    {.name = "GatedDeltaNet", .onnx = "GatedDeltaNet", .kernel = "attention", .op_class = FT_CLASS_ATTENTION,
     .shape = shape_delta_net, .cost = COST_LINEAR_ATTENTION, .flags = OP_SAVES_INPUTS | OP_SAVES_OUTPUT,
     .outputs = 3, .aux_inputs = BIT(3) | BIT(9) | BIT(10)},
    {.name = "LinearAttentionGate", .onnx = "LinearAttentionGate", .op_class = FT_CLASS_ELEMENTWISE,
     .shape = shape_gates, .cost = COST_ELEMENTWISE, .flops = 17, .flags = OP_SAVES_INPUTS, .outputs = 2},
    {.name = "GemmaRotaryEmbedding", .onnx = "GemmaRotaryEmbedding", .op_class = FT_CLASS_ELEMENTWISE,
     .shape = shape_gemma_rotary, .cost = COST_ELEMENTWISE, .flops = 6, .flags = OP_SAVES_INPUTS, .outputs = 2},
    {.name = "RelativePositionBias", .onnx = "RelativePositionBias", .op_class = FT_CLASS_MOVE,
     .shape = shape_position_bias, .cost = COST_MOVE, .aux_inputs = BIT(1) | BIT(2)},
    {.name = "GatedRelativePositionBias", .onnx = "GatedRelativePositionBias", .op_class = FT_CLASS_ELEMENTWISE,
     .shape = shape_gated_position_bias, .cost = COST_ELEMENTWISE, .flops = 1, .flags = OP_SAVES_INPUTS,
     .aux_inputs = BIT(6)},
    {.name = "RemovePadding", .onnx = "RemovePadding", .op_class = FT_CLASS_MOVE, .shape = shape_remove_padding,
     .cost = COST_MOVE, .flags = OP_OPEN_SHAPE, .outputs = 4, .aux_inputs = BIT(1)},
    {.name = "RestorePadding", .onnx = "RestorePadding", .op_class = FT_CLASS_MOVE, .shape = shape_restore_padding,
     .cost = COST_MOVE, .aux_inputs = BIT(1)},

    /* --- Normalisation --------------------------------------------------------------------------------------- */
    {.name = "SkipLayerNormalization", .onnx = "SkipLayerNormalization", .kernel = "ln", .op_class = FT_CLASS_NORM,
     .shape = shape_skip_norm, .cost = COST_INPUTWISE, .flops = 8, .flags = OP_SAVES_INPUTS, .outputs = 4},
    {.name = "SkipSimplifiedLayerNormalization", .onnx = "SkipSimplifiedLayerNormalization", .kernel = "rmsnorm",
     .op_class = FT_CLASS_NORM, .shape = shape_skip_norm, .cost = COST_INPUTWISE, .flops = 5,
     .flags = OP_SAVES_INPUTS, .outputs = 4},
    {.name = "EmbedLayerNormalization", .onnx = "EmbedLayerNormalization", .kernel = "ln", .op_class = FT_CLASS_NORM,
     .shape = shape_embed_norm, .cost = COST_ELEMENTWISE, .flops = 9, .flags = OP_SAVES_INPUTS, .outputs = 3,
     .table_inputs = BIT(2) | BIT(3) | BIT(4)},
    {.name = "QEmbedLayerNormalization", .onnx = "QEmbedLayerNormalization", .kernel = "ln",
     .op_class = FT_CLASS_NORM, .shape = shape_embed_norm, .cost = COST_ELEMENTWISE, .flops = 15,
     .flags = OP_NO_GRADIENT, .outputs = 2, .aux_inputs = ~0xffU, .table_inputs = BIT(2) | BIT(3) | BIT(4)},
    {.name = "SkipGroupNorm", .onnx = "SkipGroupNorm", .kernel = "gn", .op_class = FT_CLASS_NORM,
     .shape = shape_skip_group_norm, .cost = COST_INPUTWISE, .flops = 8, .flags = OP_SAVES_INPUTS, .outputs = 2},
    {.name = "GatedRMSNorm", .onnx = "GatedRMSNorm", .kernel = "rmsnorm", .op_class = FT_CLASS_NORM,
     .shape = shape_same, .cost = COST_INPUTWISE, .flops = 12, .flags = OP_SAVES_INPUTS},
    {.name = "QOrderedLayerNormalization", .onnx = "QOrderedLayerNormalization", .kernel = "ln",
     .op_class = FT_CLASS_NORM, .shape = shape_same, .cost = COST_INPUTWISE, .flops = 12, .flags = OP_NO_GRADIENT,
     .aux_inputs = BIT(1) | BIT(4)},
    {.name = "BiasSoftmax", .onnx = "BiasSoftmax", .kernel = "softmax", .op_class = FT_CLASS_NORM,
     .shape = shape_same, .cost = COST_INPUTWISE, .flops = 9, .flags = OP_SAVES_OUTPUT},
    {.name = "QLinearSoftmax", .onnx = "QLinearSoftmax", .kernel = "softmax", .op_class = FT_CLASS_NORM,
     .shape = shape_same, .cost = COST_INPUTWISE, .flops = 13, .flags = OP_NO_GRADIENT, .aux_inputs = ~1U},

    /* --- Elementwise ----------------------------------------------------------------------------------------- */
    {.name = "BiasAddSkip", .onnx = "BiasAdd", .kernel = "bias", .op_class = FT_CLASS_ELEMENTWISE,
     .shape = shape_same, .cost = COST_ELEMENTWISE, .flops = 1, .flags = OP_INPLACE | OP_BROADCASTS},
    {.name = "GatedAdd", .onnx = "GatedAdd", .op_class = FT_CLASS_ELEMENTWISE, .shape = shape_same,
     .cost = COST_ELEMENTWISE, .flops = 2, .flags = OP_SAVES_INPUTS},
    {.name = "BiasSplitGelu", .onnx = "BiasSplitGelu", .kernel = "gelu", .op_class = FT_CLASS_ACTIVATION,
     .shape = shape_split_gelu, .cost = COST_ELEMENTWISE, .flops = 11, .flags = OP_SAVES_INPUTS},
    {.name = "BiasDropout", .onnx = "BiasDropout", .op_class = FT_CLASS_ELEMENTWISE, .shape = shape_dropout,
     .cost = COST_ELEMENTWISE, .flops = 1, .flags = OP_SAVES_MASK, .outputs = 2, .aux_inputs = BIT(3) | BIT(4)},
    {.name = "BitmaskBiasDropout", .onnx = "BitmaskBiasDropout", .op_class = FT_CLASS_ELEMENTWISE,
     .shape = shape_bitmask_dropout, .cost = COST_ELEMENTWISE, .flops = 1, .flags = OP_SAVES_MASK, .outputs = 2,
     .aux_inputs = BIT(3) | BIT(4)},
    {.name = "BitmaskDropout", .onnx = "BitmaskDropout", .kernel = "dropout", .op_class = FT_CLASS_VIEW,
     .shape = shape_bitmask_dropout, .cost = COST_FREE, .flags = OP_VIEW | OP_TRAIN_ONLY | OP_SAVES_MASK,
     .outputs = 2, .aux_inputs = BIT(1) | BIT(2)},
    {.name = "ComplexMul", .onnx = "ComplexMul ComplexMulConj", .op_class = FT_CLASS_ELEMENTWISE,
     .shape = shape_broadcast, .cost = COST_ELEMENTWISE, .flops = 3, .flags = OP_BROADCASTS | OP_SAVES_INPUTS},
    {.name = "NGramRepeatBlock", .onnx = "NGramRepeatBlock", .op_class = FT_CLASS_SELECT, .shape = shape_like_second,
     .cost = COST_MOVE, .flags = OP_NO_GRADIENT, .x = 1},

    /* --- Elementwise with quantised operands: dequantise (2), compute, quantise (3) ---------------------------- */
    {.name = "QLinearAdd", .onnx = "QLinearAdd", .kernel = "add", .op_class = FT_CLASS_ELEMENTWISE,
     .shape = shape_broadcast, .cost = COST_ELEMENTWISE, .flops = 8, .flags = OP_BROADCASTS | OP_NO_GRADIENT,
     .aux_inputs = BIT(1) | BIT(2) | BIT(4) | BIT(5) | BIT(6) | BIT(7)},
    {.name = "QLinearMul", .onnx = "QLinearMul", .kernel = "mul", .op_class = FT_CLASS_ELEMENTWISE,
     .shape = shape_broadcast, .cost = COST_ELEMENTWISE, .flops = 8, .flags = OP_BROADCASTS | OP_NO_GRADIENT,
     .aux_inputs = BIT(1) | BIT(2) | BIT(4) | BIT(5) | BIT(6) | BIT(7)},
    {.name = "MulInteger", .onnx = "MulInteger", .kernel = "mul", .op_class = FT_CLASS_ELEMENTWISE,
     .shape = shape_mul_integer, .cost = COST_ELEMENTWISE, .flops = 3, .flags = OP_BROADCASTS | OP_NO_GRADIENT,
     .aux_inputs = BIT(1) | BIT(3)},
    {.name = "QLinearWhere", .onnx = "QLinearWhere", .op_class = FT_CLASS_ELEMENTWISE, .shape = shape_where,
     .cost = COST_ELEMENTWISE, .flops = 6, .flags = OP_BROADCASTS | OP_SAVES_MASK | OP_NO_GRADIENT,
     .aux_inputs = BIT(2) | BIT(3) | BIT(5) | BIT(6) | BIT(7) | BIT(8)},
    {.name = "QLinearSigmoid", .onnx = "QLinearSigmoid", .kernel = "sigmoid", .op_class = FT_CLASS_ACTIVATION,
     .shape = shape_same, .cost = COST_ELEMENTWISE, .flops = 11, .flags = OP_NO_GRADIENT, .aux_inputs = ~1U},
    {.name = "QLinearLeakyRelu", .onnx = "QLinearLeakyRelu", .kernel = "leakyrelu", .op_class = FT_CLASS_ACTIVATION,
     .shape = shape_same, .cost = COST_ELEMENTWISE, .flops = 7, .flags = OP_NO_GRADIENT, .aux_inputs = ~1U},
    {.name = "QOrderedGelu", .onnx = "QOrderedGelu", .kernel = "gelu", .op_class = FT_CLASS_ACTIVATION,
     .shape = shape_same, .cost = COST_ELEMENTWISE, .flops = 13, .flags = OP_NO_GRADIENT, .aux_inputs = ~1U},
    {.name = "QLinearReduceMean", .onnx = "QLinearReduceMean", .kernel = "mean", .op_class = FT_CLASS_REDUCE,
     .shape = shape_reduce, .cost = COST_INPUTWISE, .flops = 3, .flags = OP_NO_GRADIENT, .aux_inputs = ~1U},
    {.name = "QuantizeWithOrder", .onnx = "QuantizeWithOrder", .kernel = "quantize", QUANT, .shape = shape_int8,
     .cost = COST_ELEMENTWISE, .flops = 3, .flags = OP_NO_GRADIENT, .aux_inputs = BIT(1)},
    {.name = "DequantizeWithOrder", .onnx = "DequantizeWithOrder", .kernel = "dequantize", QUANT,
     .shape = shape_cast, .cost = COST_ELEMENTWISE, .flops = 2, .aux_inputs = BIT(1)},

    /* --- Collectives: what a rank exchanges with the `group_size` ranks of its group ---------------------------- */
    {.name = "AllReduce", .onnx = "AllReduce", COLLECTIVE, .shape = shape_same},
    {.name = "AllGather", .onnx = "AllGather", COLLECTIVE, .shape = shape_all_gather},
    {.name = "ReduceScatter", .onnx = "ReduceScatter", COLLECTIVE, .shape = shape_reduce_scatter},
    {.name = "AllToAll", .onnx = "AllToAll", COLLECTIVE, .shape = shape_same},
    {.name = "SendRecv", .onnx = "SendRecv", COLLECTIVE, .shape = shape_same},

    /* --- Lookup ---------------------------------------------------------------------------------------------- */
    {.name = "GatherBlockQuantized", .onnx = "GatherBlockQuantized", .kernel = "gather", .op_class = FT_CLASS_MOVE,
     .shape = shape_gather_quantized, .cost = COST_ELEMENTWISE, .flops = 2, .flags = OP_NO_GRADIENT,
     .table_inputs = BIT(0) | BIT(2) | BIT(3), .scale_inputs = BIT(2) | BIT(3), .packed_inputs = BIT(0)},
    {.name = "CropAndResize", .onnx = "CropAndResize", .op_class = FT_CLASS_POOL, .shape = shape_crop_resize,
     .cost = COST_ELEMENTWISE, .flops = 11, .flags = OP_SAVES_INPUTS, .aux_inputs = BIT(2) | BIT(3)},
};
/* clang-format on */

const uint32_t opdef_contrib_count = sizeof opdef_contrib / sizeof opdef_contrib[0];
