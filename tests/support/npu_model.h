/* npu_model.h - small quantised networks and their estimates on an NPU. Failures fail the test. */
#ifndef SUPPORT_NPU_MODEL_H
#define SUPPORT_NPU_MODEL_H

#include "npu/estimate.h"
#include "support/tflite_model.h"

/* Numbers of the TFLite schema. */
enum { T_FLOAT32 = 0, T_FLOAT16 = 1, T_INT32 = 2, T_UINT8 = 3, T_INT16 = 7, T_INT8 = 9 };
enum { O_CONV_2D = 1, O_DEPTHWISE = 2, O_POOL = 5, O_SOFTMAX = 9, O_CONCAT = 10, O_ADD = 11, O_LEAKY = 75 };
enum {
    B_ADD = 0,
    B_CONCATENATION = 2,
    B_CONV_2D = 3,
    B_DEPTHWISE_CONV_2D = 4,
    B_DEQUANTIZE = 6,
    B_FULLY_CONNECTED = 9,
    B_LOGISTIC = 14,
    B_MAX_POOL_2D = 17,
    B_RELU = 19,
    B_RESHAPE = 22,
    B_SOFTMAX = 25,
    B_PAD = 34,
    B_LEAKY_RELU = 98,
    B_QUANTIZE = 114,
};

/* Fields of convolutions: SAME padding, a stride, RELU6. */
#define NPU_CONV(stride)                                                                                               \
    .options = O_CONV_2D, .field_count = 4,                                                                            \
    .fields = {                                                                                                        \
        {0, 1, 0, 0, NULL, 0}, {1, 4, (stride), 0, NULL, 0}, {2, 4, (stride), 0, NULL, 0}, {3, 1, 3, 0, NULL, 0}}
#define NPU_DEPTHWISE                                                                                                  \
    .options = O_DEPTHWISE, .field_count = 5,                                                                          \
    .fields = {{0, 1, 0, 0, NULL, 0},                                                                                  \
               {1, 4, 1, 0, NULL, 0},                                                                                  \
               {2, 4, 1, 0, NULL, 0},                                                                                  \
               {3, 4, 1, 0, NULL, 0},                                                                                  \
               {4, 1, 3, 0, NULL, 0}}

typedef struct npu_model {
    ft_graph *graph, *bound;
    arena memory;
    npu_net net;
} npu_model;

npu_model npu_model_read(const lite_model *model);
npu_estimate npu_model_estimate(npu_model *m, const char *device);
void npu_model_free(npu_model *m);

/* The head of a MobileNet: QUANTIZE, CONV_2D, DEPTHWISE_CONV_2D, CONV_2D on 224x224x3. */
extern const lite_model npu_mobilenet_head;
/* CONV_2D, RELU and DEPTHWISE_CONV_2D in float32, whose weights are float32 or come from float16 by DEQUANTIZE. */
ft_graph *npu_float_head(bool is_half);
/* SOFTMAX of ten classes. */
extern const lite_model npu_softmax;

#endif
