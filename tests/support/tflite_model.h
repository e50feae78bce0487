/* tflite_model.h - TFLite models for tests, described as plain data and written as bytes. */
#ifndef SUPPORT_TFLITE_MODEL_H
#define SUPPORT_TFLITE_MODEL_H

#include <stdbool.h>

#include "read/read.h"
#include "support/flatbuild.h"

/* A field of an operator's options: `width` 1, 4 or 8 for numbers, 0 for a float, and for lists `ints` with
 * the width of their elements. */
typedef struct lite_field {
    uint32_t field;
    size_t width;
    int64_t number;
    float real;
    const void *ints;
    uint32_t count;
} lite_field;

typedef struct lite_op {
    uint32_t code;
    const int32_t *inputs;
    uint32_t input_count;
    const int32_t *outputs;
    uint32_t output_count;
    uint8_t options; /* member of the union, 0 = none */
    bool is_second;  /* of builtin_options_2 */
    lite_field fields[10];
    uint32_t field_count;
    const uint8_t *custom; /* options of a custom operator */
    uint32_t custom_size;
} lite_op;

typedef struct lite_tensor {
    const char *name;
    int type;
    uint32_t rank;
    int32_t dims[10];
    const int32_t *signature; /* of the same rank; NULL: none */
    uint32_t buffer;
    uint32_t external;
    uint32_t scales;           /* quantisation, when not 0 */
    const float *scale_values; /* NULL: zeros */
    int64_t zero_point;        /* written when there are scale_values */
    bool is_variable, has_rank, is_sparse;
} lite_tensor;

typedef struct lite_code {
    int32_t builtin;
    const char *custom;
    bool is_old; /* only the one-byte field, as files from before 2021 have it */
} lite_code;

typedef struct lite_buffer {
    const void *bytes;
    uint32_t size;
    bool is_outside;          /* after the FlatBuffer, as in files over 2 GB */
    uint64_t claimed_outside; /* size in the tables of the file, when not `size` */
} lite_buffer;

typedef struct lite_subgraph {
    const lite_tensor *tensors;
    uint32_t tensor_count;
    const lite_op *ops;
    uint32_t op_count;
    const int32_t *inputs;
    uint32_t input_count;
    const int32_t *outputs;
    uint32_t output_count;
} lite_subgraph;

typedef struct lite_model {
    uint32_t version;
    const char *description;
    const lite_code *codes;
    uint32_t code_count;
    const lite_subgraph *subgraphs;
    uint32_t subgraph_count;
    const lite_buffer *buffers; /* the first one must be empty */
    uint32_t buffer_count;
    uint32_t external_id; /* one external buffer, when not 0 */
    uint64_t external_length;
} lite_model;

flatbuild lite_bytes(const lite_model *model);

/* The path of these models in messages, "dir/toy.tflite". */
extern const read_origin lite_origin;
/* Reads the model; the test fails when the reader does. */
ft_graph *lite_read(const lite_model *model);
/* Fails the test unless the reader fails with this status and a message that begins with the path and has `text`. */
void lite_fails(const lite_model *model, ft_status status, const char *text);
const ft_tensor *lite_tensor_named(const ft_graph *graph, const char *name);

#define LITE_LIST(type, ...)  ((const type[]){__VA_ARGS__})
#define LITE_COUNT(type, ...) ((uint32_t)(sizeof(LITE_LIST(type, __VA_ARGS__)) / sizeof(type)))
/* The designators of a list and its length. */
#define LITE_IN(...)  .inputs = LITE_LIST(int32_t, __VA_ARGS__), .input_count = LITE_COUNT(int32_t, __VA_ARGS__)
#define LITE_OUT(...) .outputs = LITE_LIST(int32_t, __VA_ARGS__), .output_count = LITE_COUNT(int32_t, __VA_ARGS__)
#define LITE_TENSORS(...)                                                                                              \
    .tensors = LITE_LIST(lite_tensor, __VA_ARGS__), .tensor_count = LITE_COUNT(lite_tensor, __VA_ARGS__)
#define LITE_OPS(...)   .ops = LITE_LIST(lite_op, __VA_ARGS__), .op_count = LITE_COUNT(lite_op, __VA_ARGS__)
#define LITE_CODES(...) .codes = LITE_LIST(lite_code, __VA_ARGS__), .code_count = LITE_COUNT(lite_code, __VA_ARGS__)
#define LITE_SUBGRAPHS(...)                                                                                            \
    .subgraphs = LITE_LIST(lite_subgraph, __VA_ARGS__), .subgraph_count = LITE_COUNT(lite_subgraph, __VA_ARGS__)
#define LITE_BUFFERS(...)                                                                                              \
    .buffers = LITE_LIST(lite_buffer, __VA_ARGS__), .buffer_count = LITE_COUNT(lite_buffer, __VA_ARGS__)

#endif
