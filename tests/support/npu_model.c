/* npu_model.c - small quantised networks and their estimates on an NPU. */
#include "support/npu_model.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static const int8_t weights[1152];
static const int32_t bias[32];

const lite_model npu_mobilenet_head = {
    .version = 3,
    LITE_CODES({.builtin = B_QUANTIZE}, {.builtin = B_CONV_2D}, {.builtin = B_DEPTHWISE_CONV_2D}),
    LITE_BUFFERS({NULL, 0, false, 0}, {weights, 16 * 27, false, 0}, {bias, 64, false, 0}, {weights, 144, false, 0},
                 {bias, 64, false, 0}, {weights, 512, false, 0}, {bias, 128, false, 0}),
    LITE_SUBGRAPHS(
        {LITE_TENSORS({.name = "x", .type = T_UINT8, .rank = 4, .dims = {1, 224, 224, 3}},
                      {.name = "q", .type = T_INT8, .rank = 4, .dims = {1, 224, 224, 3}},
                      {.name = "w1", .type = T_INT8, .rank = 4, .dims = {16, 3, 3, 3}, .buffer = 1},
                      {.name = "b1", .type = T_INT32, .rank = 1, .dims = {16}, .buffer = 2},
                      {.name = "c1", .type = T_INT8, .rank = 4, .dims = {1, 112, 112, 16}},
                      {.name = "w2", .type = T_INT8, .rank = 4, .dims = {1, 3, 3, 16}, .buffer = 3},
                      {.name = "b2", .type = T_INT32, .rank = 1, .dims = {16}, .buffer = 4},
                      {.name = "c2", .type = T_INT8, .rank = 4, .dims = {1, 112, 112, 16}},
                      {.name = "w3", .type = T_INT8, .rank = 4, .dims = {32, 1, 1, 16}, .buffer = 5},
                      {.name = "b3", .type = T_INT32, .rank = 1, .dims = {32}, .buffer = 6},
                      {.name = "c3", .type = T_INT8, .rank = 4, .dims = {1, 112, 112, 32}}),
         LITE_IN(0), LITE_OUT(10),
         LITE_OPS({.code = 0, LITE_IN(0), LITE_OUT(1)}, {.code = 1, LITE_IN(1, 2, 3), LITE_OUT(4), NPU_CONV(2)},
                  {.code = 2, LITE_IN(4, 5, 6), LITE_OUT(7), NPU_DEPTHWISE},
                  {.code = 1, LITE_IN(7, 8, 9), LITE_OUT(10), NPU_CONV(1)})}),
};

ft_graph *npu_float_head(bool is_half) {
    static const float values[16 * 27];
    uint32_t size = is_half ? 2 : 4;
    int type = is_half ? T_FLOAT16 : T_FLOAT32;
    const lite_op half[] = {{.code = 0, LITE_IN(1), LITE_OUT(6)},
                            {.code = 0, LITE_IN(2), LITE_OUT(7)},
                            {.code = 1, LITE_IN(0, 6), LITE_OUT(3), NPU_CONV(2)},
                            {.code = 2, LITE_IN(3), LITE_OUT(4)},
                            {.code = 3, LITE_IN(4, 7), LITE_OUT(5), NPU_DEPTHWISE}};
    const lite_op whole[] = {{.code = 1, LITE_IN(0, 1), LITE_OUT(3), NPU_CONV(2)},
                             {.code = 2, LITE_IN(3), LITE_OUT(4)},
                             {.code = 3, LITE_IN(4, 2), LITE_OUT(5), NPU_DEPTHWISE}};
    const lite_model model = {
        .version = 3,
        LITE_CODES({.builtin = B_DEQUANTIZE}, {.builtin = B_CONV_2D}, {.builtin = B_RELU},
                   {.builtin = B_DEPTHWISE_CONV_2D}),
        LITE_BUFFERS({NULL, 0, false, 0}, {values, 16 * 27 * size, false, 0}, {values, 144 * size, false, 0}),
        LITE_SUBGRAPHS({LITE_TENSORS({.name = "x", .type = T_FLOAT32, .rank = 4, .dims = {1, 64, 64, 3}},
                                     {.name = "w", .type = type, .rank = 4, .dims = {16, 3, 3, 3}, .buffer = 1},
                                     {.name = "v", .type = type, .rank = 4, .dims = {1, 3, 3, 16}, .buffer = 2},
                                     {.name = "c", .type = T_FLOAT32, .rank = 4, .dims = {1, 32, 32, 16}},
                                     {.name = "r", .type = T_FLOAT32, .rank = 4, .dims = {1, 32, 32, 16}},
                                     {.name = "d", .type = T_FLOAT32, .rank = 4, .dims = {1, 32, 32, 16}},

                                     {.name = "w32", .type = T_FLOAT32, .rank = 4, .dims = {16, 3, 3, 3}},
                                     {.name = "v32", .type = T_FLOAT32, .rank = 4, .dims = {1, 3, 3, 16}}),
                        LITE_IN(0), LITE_OUT(5), .ops = is_half ? half : whole, .op_count = is_half ? 5 : 3}),
    };
    return lite_read(&model);
}

const lite_model npu_softmax = {
    .version = 3,
    LITE_CODES({.builtin = B_SOFTMAX}),
    LITE_BUFFERS({NULL, 0, false, 0}),
    LITE_SUBGRAPHS({LITE_TENSORS({.name = "x", .type = T_INT8, .rank = 2, .dims = {1, 10}},
                                 {.name = "y", .type = T_INT8, .rank = 2, .dims = {1, 10}}),
                    LITE_IN(0), LITE_OUT(1), LITE_OPS({.code = 0, LITE_IN(0), LITE_OUT(1)})}),
};

npu_model npu_model_read(const lite_model *model) {
    npu_model m = {.graph = lite_read(model)};
    ft_error error;
    if (ft_graph_bind(m.graph, NULL, &m.bound, &error) != FT_OK) fail_msg("%s", error.message);
    arena_init(&m.memory, UINT64_MAX);
    if (npu_lower(m.bound, &m.memory, &m.net, &error) != FT_OK) fail_msg("%s", error.message);
    return m;
}

npu_estimate npu_model_estimate(npu_model *m, const char *device) {
    npu_estimate e;
    ft_error error;
    if (npu_estimate_make(&m->net, npu_arch_find(device), &npu_default_compression, &m->memory, &e, &error) != FT_OK)
        fail_msg("%s", error.message);
    return e;
}

void npu_model_free(npu_model *m) {
    arena_free(&m->memory);
    ft_graph_free(m->bound);
    ft_graph_free(m->graph);
}
