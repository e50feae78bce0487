/* onnx_model.h - ONNX models for tests, built from the structs of protobuf-c and packed into bytes.
 *
 *     onnx_model *m = onnx_model_new();
 *     onnx_input(m, m->graph, "x", ONNX_FLOAT, "N,3,8,8");
 *     onnx_node(m, m->graph, "Relu", "x", "y");
 *     onnx_output(m, m->graph, "y", ONNX_FLOAT, NULL);
 *     ft_graph *graph = onnx_model_read(m);
 *
 * Everything lives until onnx_model_free. Names in lists are separated by spaces, "-" stands for an empty name. */
#ifndef TESTS_ONNX_MODEL_H
#define TESTS_ONNX_MODEL_H

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "foretell/graph.h"
#include "onnx.pb-c.h"

/* Element types, also those that an older onnx.proto lacks. */
enum {
    ONNX_FLOAT = 1,
    ONNX_UINT8 = 2,
    ONNX_INT8 = 3,
    ONNX_UINT16 = 4,
    ONNX_INT16 = 5,
    ONNX_INT32 = 6,
    ONNX_INT64 = 7,
    ONNX_STRING = 8,
    ONNX_BOOL = 9,
    ONNX_FLOAT16 = 10,
    ONNX_DOUBLE = 11,
    ONNX_UINT32 = 12,
    ONNX_UINT64 = 13,
    ONNX_BFLOAT16 = 16,
    ONNX_FLOAT8 = 17,
    ONNX_UINT4 = 21,
    ONNX_INT4 = 22,
    ONNX_UINT2 = 25,
    ONNX_INT2 = 26,
};

typedef struct onnx_model {
    arena memory;
    Onnx__ModelProto *proto;
    Onnx__GraphProto *graph; /* proto->graph */
    uint8_t *bytes;          /* of the last packing */
    size_t size;
} onnx_model;

onnx_model *onnx_model_new(void); /* IR 8, opset 17, an empty graph "g" */
void onnx_model_free(onnx_model *m);
void onnx_model_pack(onnx_model *m);
/* Packs and reads; a failure is printed and stops the test. */
ft_graph *onnx_model_read(onnx_model *m);
/* Packs and reads a model that should fail; the message is in *error. */
ft_status onnx_model_fails(onnx_model *m, ft_error *error);

/* `shape` is "2,N,4", "" for a scalar, NULL for none at all. */
Onnx__ValueInfoProto *onnx_input(onnx_model *m, Onnx__GraphProto *graph, const char *name, int type, const char *shape);
Onnx__ValueInfoProto *onnx_output(onnx_model *m, Onnx__GraphProto *graph, const char *name, int type,
                                  const char *shape);
Onnx__ValueInfoProto *onnx_info(onnx_model *m, Onnx__GraphProto *graph, const char *name, int type, const char *shape);

/* A tensor without data, its data as raw bytes, and the same as a stored constant of a graph. */
Onnx__TensorProto *onnx_tensor(onnx_model *m, const char *name, int type, const char *shape);
void onnx_raw(onnx_model *m, Onnx__TensorProto *tensor, const void *bytes, size_t size);
Onnx__TensorProto *onnx_initializer(onnx_model *m, Onnx__GraphProto *graph, const char *name, int type,
                                    const char *shape);
void onnx_sparse_initializer(onnx_model *m, Onnx__GraphProto *graph, Onnx__SparseTensorProto *sparse);

Onnx__NodeProto *onnx_node(onnx_model *m, Onnx__GraphProto *graph, const char *type, const char *inputs,
                           const char *outputs);

Onnx__AttributeProto *onnx_attr(onnx_model *m, Onnx__NodeProto *node, const char *name, int type);
void onnx_attr_int(onnx_model *m, Onnx__NodeProto *node, const char *name, int64_t value);
void onnx_attr_ints(onnx_model *m, Onnx__NodeProto *node, const char *name, const int64_t *values, size_t count);
void onnx_attr_graph(onnx_model *m, Onnx__NodeProto *node, const char *name, Onnx__GraphProto *graph);
void onnx_attr_ref(onnx_model *m, Onnx__NodeProto *node, const char *name, const char *ref);

Onnx__GraphProto *onnx_graph(onnx_model *m, const char *name);
Onnx__FunctionProto *onnx_function_add(onnx_model *m, const char *domain, const char *name, const char *inputs,
                                       const char *outputs);
Onnx__NodeProto *onnx_function_node(onnx_model *m, Onnx__FunctionProto *function, const char *type, const char *inputs,
                                    const char *outputs);

/* --- The graph that was read --------------------------------------------------------------------------------- */

/* By name; the test fails when there is none. */
const ft_tensor *tensor_named(const ft_graph *graph, const char *name);
const ft_op *op_named(const ft_graph *graph, const char *name);
/* The types of all operators in order, separated by spaces; lives as long as the model. */
const char *op_types(onnx_model *m, const ft_graph *graph);

#endif
