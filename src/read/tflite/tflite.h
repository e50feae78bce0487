/* tflite.h - shared declarations of the TFLite reader (docs/formats/tflite.md states the rules).
 *
 *   tflite.c          the model and its operators
 *   tflite_tensor.c   tensors and their buffers
 *   tflite_call.c     inlining of called sub-graphs
 *   tflite_loop.c     WHILE loops
 *   tflite_options.c  options of builtin operators as attributes
 *   tflite_custom.c   options of custom operators as attributes
 *   tflite_quant.c    quantisation as attributes
 *   tflite_schema.c   numbers of the public schema */
#ifndef READ_TFLITE_H
#define READ_TFLITE_H

#include "base/arena.h"
#include "graph/graph.h"
#include "read/tflite/flatbuf.h"

/* --- The schema -------------------------------------------------------------------------------------------------- */

enum {
    MODEL_VERSION,
    MODEL_CODES,
    MODEL_SUBGRAPHS,
    MODEL_DESCRIPTION,
    MODEL_BUFFERS,
    MODEL_METADATA_BUFFER,
    MODEL_METADATA,
    MODEL_SIGNATURES,
    MODEL_EXTERNAL_GROUPS,
    MODEL_EXTERNAL_BUFFERS
};
enum { CODE_DEPRECATED_BUILTIN, CODE_CUSTOM, CODE_VERSION, CODE_BUILTIN };
enum { SUBGRAPH_TENSORS, SUBGRAPH_INPUTS, SUBGRAPH_OUTPUTS, SUBGRAPH_OPERATORS, SUBGRAPH_NAME };
enum {
    OPERATOR_CODE,
    OPERATOR_INPUTS,
    OPERATOR_OUTPUTS,
    OPERATOR_OPTIONS_TYPE,
    OPERATOR_OPTIONS,
    OPERATOR_CUSTOM_OPTIONS,
    OPERATOR_CUSTOM_FORMAT,
    OPERATOR_MUTATING,
    OPERATOR_INTERMEDIATES,
    OPERATOR_LARGE_CUSTOM_OFFSET,
    OPERATOR_LARGE_CUSTOM_SIZE,
    OPERATOR_OPTIONS_2_TYPE,
    OPERATOR_OPTIONS_2
};
enum {
    TENSOR_SHAPE,
    TENSOR_TYPE,
    TENSOR_BUFFER,
    TENSOR_NAME,
    TENSOR_QUANTIZATION,
    TENSOR_IS_VARIABLE,
    TENSOR_SPARSITY,
    TENSOR_SHAPE_SIGNATURE,
    TENSOR_HAS_RANK,
    TENSOR_VARIANTS,
    TENSOR_EXTERNAL_BUFFER
};
enum {
    QUANTIZATION_MIN,
    QUANTIZATION_MAX,
    QUANTIZATION_SCALE,
    QUANTIZATION_ZERO_POINT,
    QUANTIZATION_DETAILS_TYPE,
    QUANTIZATION_DETAILS,
    QUANTIZATION_DIMENSION
};
enum { BUFFER_DATA, BUFFER_OFFSET, BUFFER_SIZE };
enum { EXTERNAL_ID, EXTERNAL_GROUP, EXTERNAL_OFFSET, EXTERNAL_LENGTH };

/* Builtin operators that the reader treats specially. */
enum {
    BUILTIN_CALL = 31,
    BUILTIN_CUSTOM = 32,
    BUILTIN_IF = 118,
    BUILTIN_WHILE = 119,
    BUILTIN_CALL_ONCE = 129,
    BUILTIN_STABLEHLO_WHILE = 200,
    BUILTIN_STABLEHLO_COMPOSITE = 206,
    BUILTIN_STABLEHLO_CASE = 209,
};

/* "CONV_2D"; NULL for a number outside the schema. */
const char *tflite_builtin_name(int64_t code);
/* FT_DTYPE_UNKNOWN for resources, variants and numbers outside the schema. */
ft_dtype tflite_dtype(int64_t type);
/* ONNX's number of the type, as attributes like "to" hold it. */
int64_t tflite_dtype_as_onnx(int64_t type);

/* --- The model being read ---------------------------------------------------------------------------------------- */

typedef struct tflite_code {
    int64_t builtin;
    const char *type; /* builtin or custom name, in the scratch arena */
} tflite_code;

typedef struct tflite_external {
    uint32_t id;
    uint64_t length;
} tflite_external;

typedef struct tflite_model {
    flatbuf file;
    ft_graph *graph;
    arena scratch;
    ft_error *error;
    flat_vector subgraphs;
    flat_vector buffers;
    tflite_code *codes;
    uint32_t code_count;
    uint32_t *tensor_of_buffer; /* the tensor of a buffer, or FT_NONE: shared weights stay one tensor */
    tflite_external *externals; /* sorted by id */
    uint32_t external_count;
    bool *is_open; /* per sub-graph: being inlined; calling it again would be recursion */
    bool *is_used; /* per sub-graph: inlined somewhere */
    uint32_t depth;
    bool has_location; /* the error names the operator already: callers do not add themselves */
    uint64_t work;     /* work so far, limited by TFLITE_MAX_WORK */
    uint32_t stored_count, quantized_count, per_channel_count;
} tflite_model;

/* Limit of the work for one file, in operators + tensors + references + ...: repeated calls of sub-graphs, and
 * tables or names shared by many offsets, would otherwise let a small file demand any amount of work. */
#define TFLITE_MAX_WORK (UINT64_C(1) << 25)

ft_status tflite_add_work(tflite_model *model, uint64_t work);

/* The origin of a tensor: the file (or nowhere), an operator, the caller. */
typedef enum tflite_origin { TFLITE_STORED, TFLITE_COMPUTED, TFLITE_FED } tflite_origin;

/* A sub-graph at one call site. */
typedef struct tflite_frame {
    uint32_t index; /* of the sub-graph */
    uint32_t loop;  /* loop of the graph that contains its operators */
    flat_vector tensors, operators, inputs, outputs;
    uint32_t *map;      /* per tensor: the tensor of the graph, TFLITE_UNMAPPED, or FT_NONE for an omitted one */
    uint8_t *origin;    /* per tensor: a tflite_origin */
    const char *prefix; /* of names, "" in the main sub-graph */
} tflite_frame;

#define TFLITE_UNMAPPED (FT_NONE - 1)

/* Opens sub-graph `index` and marks the tensors that its operators compute. */
ft_status tflite_frame_open(tflite_model *model, int64_t index, tflite_frame *frame);
/* The tensor of the graph for a tensor of the sub-graph, added at its first use. FT_NONE for -1. */
ft_status tflite_tensor(tflite_model *model, tflite_frame *frame, int64_t index, uint32_t *tensor);
ft_status tflite_read_externals(tflite_model *model, const flat_table *root);
/* Adds all operators of a frame to the graph. */
ft_status tflite_add_operators(tflite_model *model, tflite_frame *frame);

typedef struct tflite_operator {
    flat_table table;
    const tflite_code *code;
    flat_vector inputs, outputs;
    uint32_t index;
} tflite_operator;

/* A list of tensors of the graph, in the scratch arena. */
typedef struct tflite_list {
    uint32_t *items;
    uint32_t count;
} tflite_list;

/* Maps a list of tensors of the sub-graph to tensors of the graph. */
ft_status tflite_map_tensors(tflite_model *model, tflite_frame *frame, const flat_vector *vector, tflite_list *list);

/* A call site: operator `op` of `frame` is replaced by a sub-graph. */
typedef struct tflite_site {
    tflite_frame *frame;
    const tflite_operator *op;
    uint32_t loop;     /* that contains the inlined operators */
    tflite_list given; /* actual arguments */
} tflite_site;

/* Adds the operators of sub-graph `index`; `results` are the tensors it returns. */
ft_status tflite_inline(tflite_model *model, const tflite_site *site, int64_t index, tflite_list *results);
/* Opens a sub-graph for inlining; fails on recursion and deep nesting. */
ft_status tflite_callee(tflite_model *model, const tflite_site *site, int64_t index, tflite_frame *inner);
/* Inlines the condition and the body of a loop. */
ft_status tflite_inline_loop(tflite_model *model, tflite_site *site, int64_t condition, int64_t body,
                             tflite_list *results);

/* Inlines the sub-graphs that a control operator calls; *is_call is false for any other operator. */
ft_status tflite_call(tflite_model *model, tflite_frame *frame, const tflite_operator *op, bool *is_call);

enum { TFLITE_MAX_ATTRS = 20 };

/* Options of an operator as attributes in `attrs` (room for TFLITE_MAX_ATTRS), whose contents are in the graph's
 * arena. Some depend on the ranks of its inputs. */
ft_status tflite_options(tflite_model *model, const flat_table *op, const tflite_list *inputs, ft_attr *attrs,
                         uint32_t *count);

/* Attributes derived from the quantisation of its tensors. */
ft_status tflite_quantization(tflite_model *model, const tflite_frame *frame, const tflite_operator *op, ft_attr *attrs,
                              uint32_t *count);
ft_status tflite_custom_options(tflite_model *model, const flat_table *op, ft_attr *attrs, uint32_t *count);

#endif
