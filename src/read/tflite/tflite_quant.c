/* tflite_quant.c - attributes derived from quantisation.
 *
 * Scales have no cost themselves. But an accelerator stores weights compressed, and their scales indicate the
 * compression ratio: whether each channel has its own, how wide the weights are for their fan-in, and how many
 * channels are dead. And an activation that keeps the scale of its input can be fused. The numbers are rounded, so
 * that networks that differ in nothing else stay equal. */
#include <math.h>

#include "read/tflite/tflite.h"

enum { CONV_2D = 3, DEPTHWISE_CONV_2D = 4, FULLY_CONNECTED = 9, RELU = 19, RELU_N1_TO_1 = 20, RELU6 = 21 };
enum { PRELU = 54, TRANSPOSE_CONV = 67, LEAKY_RELU = 98, RELU_0_TO_1 = 152 };
enum { STEPS_PER_OCTAVE = 4 };

static flat_table quantization_of(const tflite_frame *frame, const flat_vector *list, uint32_t i) {
    int64_t index = i < list->count ? flat_int_at(list, i, FLAT_I32) : -1;
    if (index < 0 || index >= frame->tensors.count) return (flat_table){0};
    flat_table tensor = flat_table_at(&frame->tensors, (uint32_t)index);
    return flat_child(&tensor, TENSOR_QUANTIZATION);
}

/* A channel is dead when its scale is below a thousandth of the largest one. */
static ft_status add_weights(tflite_model *model, const flat_vector *scales, ft_attr *attrs, uint32_t *count) {
    double max = 0, sum = 0;
    uint32_t live = 0;
    FT_TRY(tflite_add_work(model, scales->count / 8));
    for (uint32_t i = 0; i < scales->count; i++) max = fmax(max, flat_float_at(scales, i, FLAT_F32));
    if (!(max > 0) || !isfinite(max)) return FT_OK;
    for (uint32_t i = 0; i < scales->count; i++) {
        double scale = flat_float_at(scales, i, FLAT_F32);
        if (!(scale > max / 1000)) continue;
        live++;
        sum += log2(scale);
    }
    int64_t level = (int64_t)round(sum / live * STEPS_PER_OCTAVE);
    FT_TRY(graph_attr_int(model->graph, &attrs[(*count)++], "weight_scales", scales->count, model->error));
    FT_TRY(graph_attr_int(model->graph, &attrs[(*count)++], "weight_scale_level", level, model->error));
    return graph_attr_int(model->graph, &attrs[(*count)++], "weight_live_percent",
                          (int64_t)round(100.0 * live / scales->count), model->error);
}

static bool is_same(const flat_table *a, const flat_table *b) {
    flat_vector x = flat_numbers(a, QUANTIZATION_SCALE, FLAT_F32), y = flat_numbers(b, QUANTIZATION_SCALE, FLAT_F32);
    flat_vector p = flat_numbers(a, QUANTIZATION_ZERO_POINT, FLAT_I64);
    flat_vector q = flat_numbers(b, QUANTIZATION_ZERO_POINT, FLAT_I64);
    if (x.count != 1 || y.count != 1 || p.count != 1 || q.count != 1) return false;
    return flat_float_at(&x, 0, FLAT_F32) == flat_float_at(&y, 0, FLAT_F32) &&
           flat_int_at(&p, 0, FLAT_I64) == flat_int_at(&q, 0, FLAT_I64);
}

ft_status tflite_quantization(tflite_model *model, const tflite_frame *frame, const tflite_operator *op, ft_attr *attrs,
                              uint32_t *count) {
    if (*count + 3 > TFLITE_MAX_ATTRS) return FT_OK;
    switch (op->code->builtin) {
    case CONV_2D:
    case DEPTHWISE_CONV_2D:
    case FULLY_CONNECTED:
    case TRANSPOSE_CONV: {
        flat_table weights = quantization_of(frame, &op->inputs, 1);
        flat_vector scales = flat_numbers(&weights, QUANTIZATION_SCALE, FLAT_F32);
        return scales.count > 0 ? add_weights(model, &scales, attrs, count) : FT_OK;
    }
    case RELU:
    case RELU_N1_TO_1:
    case RELU6:
    case RELU_0_TO_1:
    case PRELU:
    case LEAKY_RELU: {
        flat_table in = quantization_of(frame, &op->inputs, 0), out = quantization_of(frame, &op->outputs, 0);
        if (!is_same(&in, &out)) return FT_OK;
        return graph_attr_int(model->graph, &attrs[(*count)++], "keeps_scale", 1, model->error);
    }
    default:
        return FT_OK;
    }
}
