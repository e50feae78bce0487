/* graph.h - the struct behind ft_graph, its construction by readers, and access to its parts.
 *
 * A reader creates a graph, adds tensors and operators in any order, and finishes it. All arguments are copied into the
 * graph's arena unless stated otherwise. */
#ifndef GRAPH_GRAPH_H
#define GRAPH_GRAPH_H

#include <assert.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/num.h"
#include "foretell/graph.h"

enum { GRAPH_MAX_SYMBOLS = 1024 }; /* symbolic dimensions of one graph */

/* A loop whose body was inlined. ft_op.loop is the loop of an operator; loop 0 is the graph itself. */
typedef struct graph_loop {
    uint32_t parent;
    uint32_t trip_tensor; /* scalar with the trip count, or FT_NONE */
    uint32_t scan_tensor; /* or: the tensor that is iterated along `scan_axis`, or FT_NONE */
    int32_t scan_axis;
    uint64_t trips; /* set by binding; 1 when unknown */
} graph_loop;

/* A branch of an If; both were inlined. ft_op.branch is the branch of an operator; branch 0 is always taken. After the
 * branches there is an operator "IfMerge" with one input for each branch; its attribute "branch" is the branch of the
 * first. Binding selects one branch: by the condition, when folding finds its value, else the one with `is_default`. */
typedef struct graph_branch {
    uint32_t parent;
    uint32_t condition; /* tensor */
    bool is_then;       /* taken when the condition is true, else when it is false */
    bool is_default;
} graph_branch;

typedef struct graph_meta {
    const char *key;
    const char *value;
} graph_meta;

typedef struct index_list {
    uint32_t *items;
    uint32_t count;
    uint32_t capacity;
} index_list;

struct ft_graph {
    arena memory;
    const char *name;
    ft_format format;
    ft_layout layout;
    ft_op *ops;
    uint32_t op_count, op_capacity;
    ft_tensor *tensors;
    uint32_t tensor_count, tensor_capacity;
    index_list inputs, outputs;
    const char **symbols; /* dimension -1-i has the name symbols[i] */
    uint32_t symbol_count, symbol_capacity;
    int64_t
        *exported_sizes; /* of each symbol in the file, which it has unless it is bound; 0: none. NULL: none at all */
    graph_loop *loops;
    uint32_t loop_count, loop_capacity;
    graph_branch *branches;
    uint32_t branch_count, branch_capacity;
    graph_meta *meta;
    uint32_t meta_count, meta_capacity;
    /* Set by binding. */
    bool is_bound;
    int64_t batch, exported_batch;
    uint64_t *elems;                    /* per tensor, at the batch */
    const struct conv_geometry **convs; /* per operator; private to graph/geometry.c */
};

/* --- Building ------------------------------------------------------------------------------------------------ */

/* The arena of the new graph is limited to FT_MAX_GRAPH_BYTES. Readers allocate attributes and values in it. */
ft_status graph_new(ft_format format, ft_layout layout, const char *name, ft_graph **graph, ft_error *error);

/* Reserves room for the expected numbers of tensors and operators; the actual ones may differ. */
ft_status graph_reserve(ft_graph *graph, size_t tensors, size_t ops, ft_error *error);

/* Copies *spec and its name; spec->value must already live in the arena (graph_value_*), uses and producer are
 * computed later. Checks rank and dimensions against the limits. */
ft_status graph_add_tensor(ft_graph *graph, const ft_tensor *spec, uint32_t *index, ft_error *error);

/* Copies *spec, its names and its input and output lists; the attributes must already live in the arena.
 * With spec->def NULL, spec->type is looked up in the operator table for the format of the graph. */
ft_status graph_add_op(ft_graph *graph, const ft_op *spec, ft_error *error);

ft_status graph_add_input(ft_graph *graph, uint32_t tensor, ft_error *error);
ft_status graph_add_output(ft_graph *graph, uint32_t tensor, ft_error *error);
ft_status graph_add_loop(ft_graph *graph, const graph_loop *loop, uint32_t *index, ft_error *error);
ft_status graph_add_branch(ft_graph *graph, const graph_branch *branch, uint32_t *index, ft_error *error);
ft_status graph_set_meta(ft_graph *graph, const char *key, const char *value, ft_error *error);

/* The negative dimension of a symbol; equal names have equal dimensions. FT_DIM_UNKNOWN for "". */
ft_status graph_symbol(ft_graph *graph, const char *name, int64_t *dim, ft_error *error);

/* Sets the size that a symbol has unless it is bound, as a TFLite file stores one beside each open dimension. */
ft_status graph_set_exported_size(ft_graph *graph, int64_t dim, int64_t size, ft_error *error);
/* That size; 0 when the dimension is no symbol, or has none. */
int64_t graph_exported_size(const ft_graph *graph, int64_t dim);

/* Small constants for folding, whose elements the caller sets. NULL when out of memory or too large. */
ft_value *graph_value_ints(ft_graph *graph, int64_t count, int64_t **ints);
ft_value *graph_value_floats(ft_graph *graph, int64_t count, double **floats);

/* Set *attr; strings and lists are copied. */
ft_status graph_attr_int(ft_graph *graph, ft_attr *attr, const char *name, int64_t value, ft_error *error);
ft_status graph_attr_float(ft_graph *graph, ft_attr *attr, const char *name, double value, ft_error *error);
ft_status graph_attr_string(ft_graph *graph, ft_attr *attr, const char *name, const char *value, ft_error *error);
ft_status graph_attr_ints(ft_graph *graph, ft_attr *attr, const char *name, const int64_t *values, size_t count,
                          ft_error *error);
ft_status graph_attr_floats(ft_graph *graph, ft_attr *attr, const char *name, const double *values, size_t count,
                            ft_error *error);

/* Validates (cycles, dangling tensors, tensors with two producers), sorts the operators topologically (stable: a sorted
 * graph keeps its order), and sets producers and uses. */
ft_status graph_finish(ft_graph *graph, ft_error *error);

/* Folds the operators of a graph with shapes that no output depends on, and takes them from the readers of tensors. */
ft_status graph_drop_unused(ft_graph *bound, ft_error *error);

/* The last step of binding: shapes are final, so element counts and geometries are computed once and cached. False when
 * out of memory. */
bool graph_mark_bound(ft_graph *graph, int64_t batch, int64_t exported_batch);

/* --- Access -------------------------------------------------------------------------------------------------- */

/* Elements, or 0 when rank or a dimension is unknown, or when there are more than FT_MAX_ELEMS. A scalar has 1. */
static inline int64_t shape_elems(const int64_t *dims, int32_t rank) {
    if (rank < 0) return 0;
    int64_t elems = 1;
    for (int32_t i = 0; i < rank; i++) {
        if (dims[i] < 0 || !num_mul_i64(elems, dims[i], &elems)) return 0;
    }
    return elems <= FT_MAX_ELEMS ? elems : 0;
}
/* Whether operators mean what ONNX says: its own files, and formats whose readers write them so. */
static inline bool graph_follows_onnx(const ft_graph *graph) {
    return graph->format == FT_FORMAT_ONNX || graph->format == FT_FORMAT_HUGGINGFACE || graph->format == FT_FORMAT_GGUF;
}
/* Inline variant of ft_graph_is_scaled. */
static inline bool graph_is_scaled(const ft_graph *bound) {
    return bound->batch != bound->exported_batch;
}
/* Cached ft_tensor_elems of a tensor of the graph. */
static inline uint64_t tensor_elems(const ft_graph *bound, const ft_tensor *tensor) {
    assert(tensor >= bound->tensors && tensor < bound->tensors + bound->tensor_count);
    return bound->elems[tensor - bound->tensors];
}
/* Writes "1x3x224x224", "?" for an unknown rank, symbols by name. Returns `text`. */
const char *shape_text(const ft_graph *graph, const ft_tensor *tensor, char *text, size_t size);
bool shape_is_known(const ft_tensor *tensor);

/* The type of an ONNX type number (TensorProto.DataType), which attributes such as "to" of Cast hold. */
ft_dtype dtype_of_onnx(int64_t data_type);
/* Inline variant of ft_dtype_bits and ft_dtype_is_float. */
typedef struct dtype_info {
    uint8_t bits;
    bool is_float;
} dtype_info;

static inline dtype_info dtype_info_of(ft_dtype dtype) {
    static const dtype_info all[] = {
#define DTYPE_FACTS(id, text, bits, is_float) [id] = {bits, is_float},
        FT_DTYPE_LIST(DTYPE_FACTS)
#undef DTYPE_FACTS
    };
    return (unsigned)dtype < sizeof all / sizeof all[0] ? all[dtype] : (dtype_info){32, false};
}

static inline bool dtype_is_valid(ft_dtype dtype) {
    return (unsigned)dtype <= FT_COMPLEX128;
}

/* Bytes of contiguous elements; types narrower than a byte are packed. */
static inline uint64_t dtype_bytes(ft_dtype dtype, uint64_t elems) {
    unsigned bits = dtype_info_of(dtype).bits;
    return bits % 8 == 0 ? num_mul_sat(elems, bits / 8) : num_div_up(num_mul_sat(elems, bits), 8);
}

static inline uint64_t tensor_bytes(const ft_graph *bound, const ft_tensor *tensor) {
    return dtype_bytes(tensor->dtype, tensor_elems(bound, tensor));
}

static inline const ft_tensor *op_input(const ft_graph *graph, const ft_op *op, uint32_t i) {
    return i < op->input_count && op->inputs[i] != FT_NONE ? &graph->tensors[op->inputs[i]] : NULL;
}

static inline const ft_tensor *op_output(const ft_graph *graph, const ft_op *op, uint32_t i) {
    return i < op->output_count && op->outputs[i] != FT_NONE ? &graph->tensors[op->outputs[i]] : NULL;
}

/* Whether the elements of a tensor are known before the model runs: stored, folded to a value, or computed from such
 * tensors by an operator that runs once (weights behind DEQUANTIZE or Transpose). Only in bound graphs. */
static inline bool graph_is_constant(const ft_graph *bound, const ft_tensor *t) {
    return t->role == FT_CONSTANT || t->value != NULL || (t->producer != FT_NONE && bound->ops[t->producer].is_folded);
}

/* Attribute by name, or `fallback` when it is absent or of another kind. */
int64_t op_attr_int(const ft_op *op, const char *name, int64_t fallback);
double op_attr_float(const ft_op *op, const char *name, double fallback);
const char *op_attr_string(const ft_op *op, const char *name, const char *fallback);
/* NULL and *count = 0 when absent. An int counts as a list of one. */
const int64_t *op_attr_ints(const ft_op *op, const char *name, uint32_t *count);

/* --- Names of stored tensors --------------------------------------------------------------------------------- */

/* Names are for people, with one exception: ONNX exporters name the parameters of a module after the module and the
 * constants they computed after an operator, and no other field of the file distinguishes the two. Code that drops
 * names (data sets do) stores this kind instead. */
typedef enum name_kind {
    NAME_PLAIN,
    NAME_MEMBER,   /* "stages.0.act.scale": a member of a PyTorch module */
    NAME_COMPUTED, /* "/attn/Transpose_output_0": computed by the exporter */
    NAME_LITERAL,  /* "/attn/Constant_output_0": a literal of the program */
} name_kind;

name_kind tensor_name_kind(const ft_graph *graph, const ft_tensor *tensor);
/* A name that has this kind. */
const char *name_kind_example(name_kind kind);

/* --- Tensor programs as graphs ------------------------------------------------------------------------------- */

/* A tensor program is a graph of one operator without inputs, whose attribute holds the text of the program. Data sets,
 * splits and predictors so handle programs like models; code that supports programs reads the text, all other code
 * treats the operator as unknown. */
ft_status graph_new_program(const char *text, ft_graph **graph, ft_error *error);
/* The text of the program, or NULL when the graph is not a program. */
const char *graph_program_text(const ft_graph *graph);

#endif
