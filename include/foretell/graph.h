/* graph.h - models as graphs: operators, tensors, attributes, shapes; reading them from files and binding their sizes.
 *
 * A graph is read once (ft_source_open, ft_source_next or the one-shot ft_graph_read) and then bound, any number of
 * times, to batch sizes and input shapes (ft_graph_bind). Reading keeps the contents of the file; binding runs shape
 * inference and constant folding, so only a bound graph has sizes. Costs and kernels are computed on bound graphs.
 *
 * Ownership: everything reached from a graph lives as long as the graph. A bound graph borrows names, attributes and
 * constants from its source graph, which must outlive it. Graphs are read-only: any number of threads may share one. */
#ifndef FORETELL_GRAPH_H
#define FORETELL_GRAPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "foretell/status.h"

FT_C_BEGIN

/* Limits that readers enforce; a file over one of them gives FT_ERR_LIMIT. */
#define FT_MAX_RANK           8                   /* dimensions of a tensor */
#define FT_MAX_DIM            (INT64_C(1) << 40)  /* one dimension */
#define FT_MAX_ELEMS          (INT64_C(1) << 46)  /* elements of one tensor */
#define FT_MAX_OPS            2000000             /* operators of a graph, with functions and sub-graphs inlined */
#define FT_MAX_DEPTH          64                  /* nesting of messages, sub-graphs, functions, values */
#define FT_MAX_GRAPH_BYTES    (UINT64_C(1) << 31) /* memory of one graph, or of decoding one file */
#define FT_MAX_UNPACKED_BYTES (UINT64_C(1) << 30) /* unpacked size of a .gz */
#define FT_FOLD_MAX_ELEMS     4096                /* elements of constants kept for folding */

#define FT_NONE UINT32_MAX /* "no tensor" in an operator's inputs, "no operator" as a producer */

/* --- Element types ------------------------------------------------------------------------------------------- */

/* name, text, bits per element, is a floating-point type */
#define FT_DTYPE_LIST(X)                                                                                               \
    X(FT_DTYPE_UNKNOWN, "unknown", 32, false)                                                                          \
    X(FT_FLOAT32, "float32", 32, true)                                                                                 \
    X(FT_FLOAT16, "float16", 16, true)                                                                                 \
    X(FT_BFLOAT16, "bfloat16", 16, true)                                                                               \
    X(FT_FLOAT64, "float64", 64, true)                                                                                 \
    X(FT_FLOAT8, "float8", 8, true)                                                                                    \
    X(FT_FLOAT4, "float4", 4, true)                                                                                    \
    X(FT_INT2, "int2", 2, false)                                                                                       \
    X(FT_UINT2, "uint2", 2, false)                                                                                     \
    X(FT_INT4, "int4", 4, false)                                                                                       \
    X(FT_UINT4, "uint4", 4, false)                                                                                     \
    X(FT_INT8, "int8", 8, false)                                                                                       \
    X(FT_UINT8, "uint8", 8, false)                                                                                     \
    X(FT_INT16, "int16", 16, false)                                                                                    \
    X(FT_UINT16, "uint16", 16, false)                                                                                  \
    X(FT_INT32, "int32", 32, false)                                                                                    \
    X(FT_UINT32, "uint32", 32, false)                                                                                  \
    X(FT_INT64, "int64", 64, false)                                                                                    \
    X(FT_UINT64, "uint64", 64, false)                                                                                  \
    X(FT_BOOL, "bool", 8, false)                                                                                       \
    X(FT_STRING, "string", 64, false)                                                                                  \
    X(FT_COMPLEX64, "complex64", 64, true)                                                                             \
    X(FT_COMPLEX128, "complex128", 128, true)

typedef enum ft_dtype {
#define FT_DTYPE_ENUM(name, text, bits, is_float) name,
    FT_DTYPE_LIST(FT_DTYPE_ENUM)
#undef FT_DTYPE_ENUM
} ft_dtype;

/* As listed above: an unknown type counts as 32 bits. */
FT_API const char *ft_dtype_name(ft_dtype dtype);
FT_API unsigned ft_dtype_bits(ft_dtype dtype);
FT_API bool ft_dtype_is_float(ft_dtype dtype);
/* Accepts the names above and the usual short ones (fp32, fp16, bf16, i8, ...). False for any other text. */
FT_API bool ft_dtype_parse(const char *text, ft_dtype *dtype);

/* --- Tensors, attributes, operators -------------------------------------------------------------------------- */

/* The elements of a small constant: integers (also bool) in `ints`, floats in `floats`; the other pointer is NULL.
 * Row-major, `count` elements. */
typedef struct ft_value {
    int64_t count;
    const int64_t *ints;
    const double *floats;
} ft_value;

typedef enum ft_role {
    FT_ACTIVATION, /* computed by an operator */
    FT_INPUT,      /* provided by the caller */
    FT_CONSTANT,   /* stored in the file: weights, shape operands */
} ft_role;

/* A dimension of a graph that is not bound may be negative: a symbol, whose name ft_dim_symbol() returns, or
 * FT_DIM_UNKNOWN, which has no name. */
#define FT_DIM_UNKNOWN INT64_MIN

typedef struct ft_tensor {
    const char *name; /* never NULL, may be "" */
    ft_dtype dtype;
    ft_role role;
    int32_t rank; /* -1: unknown */
    int64_t dims[FT_MAX_RANK];
    uint32_t producer; /* operator that computes it, or FT_NONE */
    uint32_t use_count;
    const uint32_t *uses;  /* operators that read it, ascending, one entry per reading input */
    bool is_output;        /* of the whole graph */
    bool is_batched;       /* grows with the batch (bound graphs) */
    bool is_sparse;        /* stored as values and indices */
    bool is_frozen;        /* a weight that training does not change: of a base model under adapters */
    uint32_t replicas;     /* ranks that hold the same part of a weight; 0 counts as 1 */
    uint64_t held_bytes;   /* in device memory, of a weight that is unpacked for each use; 0: by type and elements */
    uint64_t stored_bytes; /* of its elements in the file(s), 0 when not stored */
    const ft_value *value; /* elements, when constant (stored or folded) and small; else NULL */
} ft_tensor;

typedef enum ft_attr_kind {
    FT_ATTR_INT,
    FT_ATTR_FLOAT,
    FT_ATTR_STRING,
    FT_ATTR_INTS,
    FT_ATTR_FLOATS,
} ft_attr_kind;

typedef struct ft_attr {
    const char *name;
    ft_attr_kind kind;
    uint32_t count;       /* of ints or floats */
    int64_t i;            /* FT_ATTR_INT */
    double f;             /* FT_ATTR_FLOAT */
    const char *s;        /* FT_ATTR_STRING */
    const int64_t *ints;  /* FT_ATTR_INTS */
    const double *floats; /* FT_ATTR_FLOATS */
} ft_attr;

typedef struct ft_opdef ft_opdef; /* one entry of the operator table */

typedef struct ft_op {
    const char *name;        /* never NULL, may be "" */
    const char *type;        /* as the file spells it */
    const ft_opdef *def;     /* never NULL: ft_opdef_unknown() for an unknown operator */
    const uint32_t *inputs;  /* tensors; FT_NONE for an omitted optional input */
    const uint32_t *outputs; /* tensors; FT_NONE for an omitted optional output */
    uint32_t input_count;
    uint32_t output_count;
    uint32_t attr_count;
    const ft_attr *attrs;
    uint32_t loop;    /* index of the loop that contains it, 0 = none */
    uint32_t branch;  /* index of the branch of an If that contains it, 0 = none */
    uint64_t repeats; /* runs per inference: the product of the trip counts of its loops, else 1 (bound graphs) */
    bool is_folded;   /* costs nothing: constant-folded, unused, or in a branch that is not taken (bound graphs) */
    bool is_unused;   /* folded because no output of the graph depends on it (bound graphs) */
} ft_op;

/* --- Graphs -------------------------------------------------------------------------------------------------- */

/* X(ID, name, description, extensions, what identifies it): FT_FORMAT_ID, read by `name`_reader of src/read. Data sets
 * store the values, so new formats are appended. */
#define FT_FORMAT_LIST(X)                                                                                              \
    X(ONNX, onnx, "ONNX model (protobuf), weights inside or beside it", ".onnx", "protobuf fields of a ModelProto")    \
    X(TFLITE, tflite, "TensorFlow Lite model (FlatBuffers)", ".tflite", "FlatBuffers identifier TFL3")                 \
    X(CG, cg, "CG data set: a folder of models.csv, nodes.csv and edges.csv", ".csv", "the headings of its tables")    \
    X(NNMETER, nnmeter, "nn-Meter intermediate representation (JSON)", ".json",                                        \
      "an object of nodes with \"attr\", \"inbounds\", \"outbounds\"")                                                 \
    X(PERFSEER, perfseer, "PerfSeer / GAPP graph (pickled networkx DiGraph)", ".pkl .pickle",                          \
      "a pickle of a graph (decoded, never run)")                                                                      \
    X(TENSORFLOW, tensorflow, "TensorFlow graph: frozen GraphDef, or SavedModel (the folder or its saved_model.pb)",   \
      ".pb", "protobuf fields of a GraphDef or SavedModel")                                                            \
    X(TFJS, tfjs, "TensorFlow.js graph model: model.json, with its weight files beside it", ".json",                   \
      "an object with \"modelTopology\"")                                                                              \
    X(EXECUTOR, executor, "graph of TVM's graph executor (JSON)", ".json", "an object with \"nodes\" and \"heads\"")   \
    X(NCNN, ncnn, "ncnn network: .param text; its weights are not read", ".param", "the first line, 7767517")          \
    X(HUGGINGFACE, huggingface, "language model as HuggingFace configures it: config.json, or the folder with it",     \
      ".json", "an object with \"model_type\" or \"architectures\"")                                                   \
    X(GGUF, gguf, "GGUF model of llama.cpp, one file or several; only headers are read", ".gguf", "the magic GGUF")    \
    X(SAFETENSORS, safetensors, "safetensors, one file or an index of several; only headers are read",                 \
      ".safetensors .json", "a header of JSON behind its length, or an object with \"weight_map\"")

typedef enum ft_format {
    FT_FORMAT_UNKNOWN,
#define FT_FORMAT_ENUM(id, name, text, extensions, identified_by) FT_FORMAT_##id,
    FT_FORMAT_LIST(FT_FORMAT_ENUM)
#undef FT_FORMAT_ENUM
        FT_FORMAT_COUNT
} ft_format;

typedef enum ft_layout { FT_NCHW, FT_NHWC } ft_layout;

typedef struct ft_graph ft_graph;

FT_API const char *ft_format_name(ft_format format); /* one word: "onnx" */
FT_API const char *ft_format_text(ft_format format); /* one line of description */

FT_API const char *ft_graph_name(const ft_graph *graph); /* as in the file; may be "" */
FT_API ft_format ft_graph_format(const ft_graph *graph);
FT_API ft_layout ft_graph_layout(const ft_graph *graph);
FT_API uint32_t ft_graph_op_count(const ft_graph *graph);
FT_API const ft_op *ft_graph_ops(const ft_graph *graph); /* in topological order */
FT_API uint32_t ft_graph_tensor_count(const ft_graph *graph);
FT_API const ft_tensor *ft_graph_tensors(const ft_graph *graph);
FT_API uint32_t ft_graph_input_count(const ft_graph *graph);
FT_API const uint32_t *ft_graph_inputs(const ft_graph *graph);
FT_API uint32_t ft_graph_output_count(const ft_graph *graph);
FT_API const uint32_t *ft_graph_outputs(const ft_graph *graph);
/* Metadata from the file or its data set: "producer", "opset", labels. NULL when absent. */
FT_API const char *ft_graph_meta(const ft_graph *graph, const char *key);
FT_API uint32_t ft_graph_meta_count(const ft_graph *graph);
FT_API void ft_graph_meta_at(const ft_graph *graph, uint32_t index, const char **key, const char **value);
/* The name of a negative dimension of this graph, or NULL for FT_DIM_UNKNOWN and values >= 0. */
FT_API const char *ft_dim_symbol(const ft_graph *graph, int64_t dim);
FT_API void ft_graph_free(ft_graph *graph); /* NULL is fine */

/* Elements of a tensor of a bound graph at its batch, and the bytes they take. 0 when the shape is unknown. */
FT_API uint64_t ft_tensor_elems(const ft_graph *bound, const ft_tensor *tensor);
FT_API uint64_t ft_tensor_bytes(const ft_graph *bound, const ft_tensor *tensor);

/* An attribute by name; NULL when absent. */
FT_API const ft_attr *ft_op_attr(const ft_op *op, const char *name);

/* --- Reading ------------------------------------------------------------------------------------------------- */

/* A source is a file, or a folder with the tables of a CG data set or a SavedModel, and returns its graphs one by one;
 * most files hold one. The format is detected from the content, not from the name; .gz files are unpacked. "-" is the
 * standard input; it and other pipes are read into memory, at most FT_MAX_UNPACKED_BYTES. */
typedef struct ft_source ft_source;

/* Reads only enough to detect the format. FT_ERR_FORMAT when it is not supported. */
FT_API ft_status ft_source_open(const char *path, ft_source **source, ft_error *error);
/* *graph = NULL at the end. After the error of an invalid graph, the next call continues with the graph after it. */
FT_API ft_status ft_source_next(ft_source *source, ft_graph **graph, ft_error *error);
FT_API uint64_t ft_source_count(const ft_source *source);   /* graphs in it */
FT_API ft_format ft_source_format(const ft_source *source); /* of its graphs */
FT_API void ft_source_close(ft_source *source);

/* The first graph of a file. */
FT_API ft_status ft_graph_read(const char *path, ft_graph **graph, ft_error *error);
/* The same from memory; messages use `name` as the file name. Weights in external files are not read. */
FT_API ft_status ft_graph_read_memory(const void *bytes, size_t size, const char *name, ft_graph **graph,
                                      ft_error *error);

/* --- Binding ------------------------------------------------------------------------------------------------- */

/* A shape for an input, or a value for a symbol (rank 1). */
typedef struct ft_shape_binding {
    const char *name; /* of an input or of a symbol */
    int32_t rank;
    int64_t dims[FT_MAX_RANK];
} ft_shape_binding;

typedef struct ft_binding {
    int64_t batch; /* 0: the batch of the file, or 1 when it is symbolic */
    const ft_shape_binding *shapes;
    uint32_t shape_count;
    /* Dimensions of inputs that have no value: 0: they are an error; above 0: they take this size; below 0: inputs that
     * have them count as tensors without a shape. */
    int64_t open_size;
} ft_binding;

/* Parses "name=1x3x224x224" (also "sequence=128"). `text` must outlive the result, whose name points into `name`,
 * a buffer of `size` bytes. */
FT_API ft_status ft_shape_binding_parse(const char *text, char *name, size_t size, ft_shape_binding *shape,
                                        ft_error *error);

/* Gives every dimension a value: infers shapes, folds constants, and computes trip counts. `binding` may be NULL.
 *
 * A batch that is fixed in the file (often a constant of a Reshape) is never re-inferred: shapes stay those of the
 * exported batch, and the sizes and work of all that depends on the input are multiplied by
 * ft_graph_batch / ft_graph_exported_batch, those of weights are not. ft_graph_is_scaled() is then true. */
FT_API ft_status ft_graph_bind(const ft_graph *graph, const ft_binding *binding, ft_graph **bound, ft_error *error);

/* A dimension of an input that a binding leaves without a value. */
typedef struct ft_open_dim {
    uint32_t input;     /* index of the tensor */
    int32_t axis;       /* -1: the input has no shape */
    const char *symbol; /* NULL: the dimension has no name */
} ft_open_dim;

/* The open dimensions of a graph under a binding (NULL: none), up to `max_count` of them: what ft_graph_bind would
 * refuse with FT_ERR_UNBOUND. open_size is ignored. */
FT_API ft_status ft_graph_open_dims(const ft_graph *graph, const ft_binding *binding, ft_open_dim *dims,
                                    uint32_t max_count, uint32_t *count, ft_error *error);
FT_API bool ft_graph_is_bound(const ft_graph *graph);
FT_API int64_t ft_graph_batch(const ft_graph *bound);
FT_API int64_t ft_graph_exported_batch(const ft_graph *bound);
FT_API bool ft_graph_is_scaled(const ft_graph *bound);

/* --- The operator table -------------------------------------------------------------------------------------- */

/* name, text */
#define FT_OP_CLASS_LIST(X)                                                                                            \
    X(FT_CLASS_UNKNOWN, "unknown")                                                                                     \
    X(FT_CLASS_CONV, "convolution")                                                                                    \
    X(FT_CLASS_MATMUL, "matrix product")                                                                               \
    X(FT_CLASS_ATTENTION, "attention")                                                                                 \
    X(FT_CLASS_RECURRENT, "recurrent")                                                                                 \
    X(FT_CLASS_NORM, "normalisation")                                                                                  \
    X(FT_CLASS_POOL, "pooling")                                                                                        \
    X(FT_CLASS_ACTIVATION, "activation")                                                                               \
    X(FT_CLASS_ELEMENTWISE, "elementwise")                                                                             \
    X(FT_CLASS_REDUCE, "reduction")                                                                                    \
    X(FT_CLASS_MOVE, "data movement")                                                                                  \
    X(FT_CLASS_VIEW, "view")                                                                                           \
    X(FT_CLASS_SHAPE, "shape arithmetic")                                                                              \
    X(FT_CLASS_QUANT, "quantisation")                                                                                  \
    X(FT_CLASS_SELECT, "selection")                                                                                    \
    X(FT_CLASS_CONTROL, "control flow")

typedef enum ft_op_class {
#define FT_OP_CLASS_ENUM(name, text) name,
    FT_OP_CLASS_LIST(FT_OP_CLASS_ENUM)
#undef FT_OP_CLASS_ENUM
} ft_op_class;

/* The table has an entry for each known operator, by index from 0. All other operators have the entry
 * ft_opdef_unknown(), which has no index. */
FT_API const char *ft_op_class_name(ft_op_class op_class);
FT_API uint32_t ft_opdef_count(void);
FT_API const ft_opdef *ft_opdef_at(uint32_t index);
FT_API const ft_opdef *ft_opdef_unknown(void);
FT_API bool ft_opdef_is_known(const ft_opdef *def);
FT_API const char *ft_opdef_name(const ft_opdef *def);
FT_API ft_op_class ft_opdef_class(const ft_opdef *def);
/* Names of the operator in a format, separated by spaces; "" when the format does not have it. CG, nn-Meter IR and
 * TensorFlow.js use TensorFlow's names, PerfSeer those of ONNX. */
FT_API const char *ft_opdef_spellings(const ft_opdef *def, ft_format format);

FT_C_END

#endif
