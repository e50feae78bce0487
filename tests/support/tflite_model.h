/* tflite_model.h - TFLite models for tests, described as plain data and written out as bytes. */
#ifndef SUPPORT_TFLITE_MODEL_H
#define SUPPORT_TFLITE_MODEL_H

#include <stdbool.h>

#include "read/read.h"
#include "support/flatbuild.h"

/* A field of an operator's options: `width` 1, 4 or 8 for numbers, 0 for a float, and for lists `ints` with
 * the width of their elements. */
typedef struct made_field {
    uint32_t field;
    size_t width;
    int64_t number;
    float real;
    const void *ints;
    uint32_t count;
} made_field;

typedef struct made_op {
    uint32_t code;
    const int32_t *inputs;
    uint32_t input_count;
    const int32_t *outputs;
    uint32_t output_count;
    uint8_t options; /* member of the union, 0 = none */
    bool is_second;  /* of builtin_options_2 */
    made_field fields[10];
    uint32_t field_count;
    const uint8_t *custom; /* options of a custom operator */
    uint32_t custom_size;
} made_op;

typedef struct made_tensor {
    const char *name;
    int type;
    uint32_t rank;
    int32_t dims[10];
    uint32_t buffer;
    uint32_t external;
    uint32_t scales;           /* quantisation, when not 0 */
    const float *scale_values; /* NULL: zeros */
    int64_t zero_point;        /* written when there are scale_values */
    bool is_variable, has_rank, is_sparse;
} made_tensor;

typedef struct made_code {
    int32_t builtin;
    const char *custom;
    bool is_old; /* only the one-byte field, as files from before 2021 have it */
} made_code;

typedef struct made_buffer {
    const void *bytes;
    uint32_t size;
    bool is_outside;          /* behind the FlatBuffer, as in files over 2 GB */
    uint64_t claimed_outside; /* what the file says is there, when not `size` */
} made_buffer;

typedef struct made_subgraph {
    const made_tensor *tensors;
    uint32_t tensor_count;
    const made_op *ops;
    uint32_t op_count;
    const int32_t *inputs;
    uint32_t input_count;
    const int32_t *outputs;
    uint32_t output_count;
} made_subgraph;

typedef struct made_model {
    uint32_t version;
    const char *description;
    const made_code *codes;
    uint32_t code_count;
    const made_subgraph *subgraphs;
    uint32_t subgraph_count;
    const made_buffer *buffers; /* the first one must be empty */
    uint32_t buffer_count;
    uint32_t external_id; /* one external buffer, when not 0 */
    uint64_t external_length;
} made_model;

flatbuild made_bytes(const made_model *model);

/* The file that made models pretend to come from, "dir/toy.tflite". */
extern const read_origin made_origin;
/* Reads a made model; the test fails when the reader does. */
ft_graph *made_read(const made_model *model);
/* The test fails unless the reader does, with this status and a message that begins with the file and has `text`. */
void made_fails(const made_model *model, ft_status status, const char *text);
const ft_tensor *made_tensor_named(const ft_graph *graph, const char *name);

#define MADE_LIST(type, ...)  ((const type[]){__VA_ARGS__})
#define MADE_COUNT(type, ...) ((uint32_t)(sizeof(MADE_LIST(type, __VA_ARGS__)) / sizeof(type)))
/* The designators of a list and its length. */
#define MADE_IN(...)  .inputs = MADE_LIST(int32_t, __VA_ARGS__), .input_count = MADE_COUNT(int32_t, __VA_ARGS__)
#define MADE_OUT(...) .outputs = MADE_LIST(int32_t, __VA_ARGS__), .output_count = MADE_COUNT(int32_t, __VA_ARGS__)
#define MADE_TENSORS(...)                                                                                              \
    .tensors = MADE_LIST(made_tensor, __VA_ARGS__), .tensor_count = MADE_COUNT(made_tensor, __VA_ARGS__)
#define MADE_OPS(...)   .ops = MADE_LIST(made_op, __VA_ARGS__), .op_count = MADE_COUNT(made_op, __VA_ARGS__)
#define MADE_CODES(...) .codes = MADE_LIST(made_code, __VA_ARGS__), .code_count = MADE_COUNT(made_code, __VA_ARGS__)
#define MADE_SUBGRAPHS(...)                                                                                            \
    .subgraphs = MADE_LIST(made_subgraph, __VA_ARGS__), .subgraph_count = MADE_COUNT(made_subgraph, __VA_ARGS__)
#define MADE_BUFFERS(...)                                                                                              \
    .buffers = MADE_LIST(made_buffer, __VA_ARGS__), .buffer_count = MADE_COUNT(made_buffer, __VA_ARGS__)

#endif
