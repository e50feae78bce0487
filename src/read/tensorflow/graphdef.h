/* graphdef.h - shared declarations of the readers of TensorFlow graphs: GraphDef and SavedModel (protobuf), and graph
 * models of TensorFlow.js (JSON). Both decode a file to the structs of graphdef.proto, which are then built.
 *
 *   graphdef.c          protobuf files: recognition, decoding, SavedModel
 *   graphdef_strip.c    fields that the pre-pass of strip.c keeps
 *   graphdef_build.c    inputs and outputs of the model; the graph
 *   graphdef_frame.c    nodes of a graph or function: names, and the order in which they are added
 *   graphdef_node.c     nodes that become operators, and those that become none
 *   graphdef_attr.c     options as attributes
 *   graphdef_const.c    types, shapes, constants
 *   graphdef_call.c     functions, If, While
 *   graphdef_control.c  Switch, Merge, Enter, Exit
 *   tfjs.c, ...         TensorFlow.js (tfjs.h)
 *
 * docs/formats/tensorflow.md states the rules. Functions here fill builder->error when they fail. */
#ifndef READ_GRAPHDEF_H
#define READ_GRAPHDEF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "foretell/status.h"
#include "graph/graph.h"
#include "graph/opdef.h"
#include "graphdef.pb-c.h"

/* --- The decoded model ------------------------------------------------------------------------------------------- */

/* The payload of a constant that is not in its node. */
typedef struct gd_stored {
    uint64_t bytes;        /* 0: none */
    const ft_value *value; /* or NULL */
} gd_stored;

/* Finds the payload of constant `name`, which has the type and shape of `t`. */
typedef ft_status gd_find_stored(void *context, ft_graph *graph, const char *name, const ft_tensor *t,
                                 gd_stored *stored, ft_error *error);

typedef struct gd_model {
    const Tf__Graph *graph;
    const Tf__SignatureDef *signature; /* names inputs and outputs; or NULL */
    const char *name;                  /* of the graph */
    ft_format format;
    arena *scratch;              /* of the decoded model: freed when the graph is built */
    gd_find_stored *find_stored; /* or NULL: payloads are in the nodes */
    void *context;
} gd_model;

/* Builds and finishes the graph. */
ft_status gd_build(const gd_model *model, ft_graph **graph, ft_error *error);

/* --- Frames and the builder -------------------------------------------------------------------------------------- */

/* Limit of the work for one file, in nodes, inputs and outputs: functions that call others twice would otherwise let a
 * small file demand any amount of work. */
#define GD_MAX_WORK (UINT64_C(1) << 24)

enum { GD_MAX_OUTPUTS = 4096, GD_MAX_ATTRS = 256 };

/* An output of a node. */
typedef struct gd_value {
    uint32_t tensor;       /* FT_NONE: none */
    uint32_t loop, branch; /* in which it is computed */
    uint32_t body;         /* the loop that returned it, 0 = none */
} gd_value;

typedef struct gd_ref {
    uint32_t vertex, slot;
} gd_ref;

/* An output that a function names; its slot follows those of the outputs named before. */
typedef struct gd_named {
    const char *text;
    struct gd_named *next;
} gd_named;

/* A node of a frame, or an argument of its function. */
typedef struct gd_vertex {
    const Tf__Node *node; /* NULL: an argument */
    const char *name;
    gd_ref *inputs; /* data inputs */
    uint32_t input_count;
    uint32_t back;  /* of a Merge: the NextIteration that closes its loop, or FT_NONE */
    uint32_t state; /* GD_NEW.. */
    uint32_t next;  /* input that is visited next */
    bool is_read;
    gd_named *names;
    gd_value *values;
    uint32_t value_count;
} gd_vertex;

enum { GD_NEW, GD_OPEN, GD_DONE };

/* A variable of a loop of Enter and Exit. */
typedef struct gd_carry {
    uint32_t loop, tensor, back;
    struct gd_carry *next;
} gd_carry;

typedef struct gd_loop {
    const char *name; /* frame_name of its Enter nodes */
    uint32_t loop, condition;
    struct gd_loop *next;
} gd_loop;

/* The branches of a Switch. */
typedef struct gd_cond {
    uint32_t condition, parent, branch; /* the branch taken when it is true; the other one follows */
    struct gd_cond *next;
} gd_cond;

/* A graph or a function at one call site. Arguments are its first vertices. */
typedef struct gd_frame {
    const char *prefix;
    bool is_function;
    uint32_t loop, branch; /* around it */
    gd_vertex *vertices;
    uint32_t count, arg_count;
    map names;
    uint32_t *stack;
    gd_carry *carries;
    gd_loop *loops;
    gd_cond *conds;
} gd_frame;

typedef struct gd_builder {
    ft_graph *graph;
    const gd_model *model;
    arena *scratch;
    map functions; /* name -> index in the library */
    unsigned depth;
    uint64_t work;
    ft_error *error;
} gd_builder;

ft_status gd_add_work(gd_builder *b, uint64_t work);
/* "" for a missing string. */
const char *gd_text(const char *text);

/* --- graphdef_frame.c -------------------------------------------------------------------------------------------- */

/* Opens a frame; the caller has set prefix, loop, branch and is_function. `signature` has the arguments, or is NULL. */
ft_status gd_frame_open(gd_builder *b, gd_frame *f, Tf__Node **nodes, size_t count, const Tf__Signature *signature);
/* "name", "name:1", in functions also "name:output:1". */
ft_status gd_frame_find(gd_builder *b, gd_frame *f, const char *text, gd_ref *ref);
/* Marks an output as read before vertices are added: values have room for it. */
ft_status gd_frame_reserve(gd_builder *b, gd_frame *f);
/* Adds a vertex after all that it reads. */
ft_status gd_frame_visit(gd_builder *b, gd_frame *f, uint32_t vertex);
/* The value of an output of a vertex that was added; an error when it has none. */
ft_status gd_frame_value(gd_builder *b, const gd_frame *f, gd_ref ref, gd_value *value);
/* Input `i` of a vertex. */
ft_status gd_input(gd_builder *b, const gd_frame *f, const gd_vertex *v, uint32_t i, gd_value *value);
bool gd_is(const gd_vertex *v, const char *op);
/* The deepest loop and branch of the frame and all inputs. */
gd_value gd_context(const gd_builder *b, const gd_frame *f, const gd_vertex *v);
/* Name of an output, with the prefix of the frame; NULL when out of memory. */
const char *gd_output_name(gd_builder *b, const gd_frame *f, const gd_vertex *v, uint32_t slot);

/* --- graphdef_node.c --------------------------------------------------------------------------------------------- */

/* Adds a vertex whose inputs were added: sets its values. */
ft_status gd_add_vertex(gd_builder *b, gd_frame *f, gd_vertex *v);
/* Slot of the first tensor of an output of an operator with several; false when the operator is not in the table. */
bool gd_output_slot(const char *op, const char *output, uint32_t *slot);
/* Outputs that the operator has whether they are read or not. */
ft_status gd_output_count(gd_builder *b, const Tf__Node *node, uint32_t *count);
/* An operator of foretell's own, with one output. */
typedef struct gd_op {
    const char *type, *def; /* def: in ONNX's or TensorFlow's spelling */
    const uint32_t *inputs;
    uint32_t input_count;
    const char *attr; /* or NULL */
    int64_t number;   /* of `attr` */
} gd_op;
ft_status gd_add_own(gd_builder *b, const char *name, const gd_op *op, gd_value *value);
/* Nodes that are inputs of a graph. */
bool gd_is_source(const char *op);

/* --- graphdef_attr.c --------------------------------------------------------------------------------------------- */

/* NULL when absent. */
const Tf__Value *gd_attr(const Tf__Node *node, const char *name);
int64_t gd_attr_int(const Tf__Node *node, const char *name, int64_t fallback);
/* A copy of a string attribute in the scratch arena; "" when absent, NULL when out of memory. */
const char *gd_attr_text(gd_builder *b, const Tf__Node *node, const char *name);
/* Options as attributes, and the operands that ONNX has as attributes, which are removed from `op`. */
ft_status gd_set_attrs(gd_builder *b, const Tf__Node *node, ft_op *op);
/* Whether images of any node are NCHW; the layout of the graph. */
bool gd_has_nchw(const Tf__Graph *graph);

/* --- graphdef_const.c -------------------------------------------------------------------------------------------- */

ft_dtype gd_dtype(int64_t type);
/* ONNX's number of a type, as attributes like "to" hold it. */
int64_t gd_dtype_as_onnx(int64_t type);
ft_status gd_set_shape(gd_builder *b, ft_tensor *t, const Tf__Shape *shape, bool is_input);
ft_status gd_add_const(gd_builder *b, const Tf__Node *node, const char *name, uint32_t *tensor);
/* VarHandleOp, VariableV2: a weight that is not in the file. */
ft_status gd_add_variable(gd_builder *b, const Tf__Node *node, const char *name, uint32_t *tensor);
ft_status gd_add_source(gd_builder *b, const Tf__Node *node, const char *name, uint32_t slot, uint32_t *tensor);

/* --- graphdef_call.c --------------------------------------------------------------------------------------------- */

/* *is_call: the node calls functions, and was inlined. */
ft_status gd_call(gd_builder *b, gd_frame *f, gd_vertex *v, bool *is_call);
ft_status gd_index_functions(gd_builder *b);
/* A pair of branches: taken when `condition` is true, and when not. */
ft_status gd_add_branches(gd_builder *b, uint32_t condition, uint32_t parent, uint32_t *first);
/* The value of the branch that is taken. */
ft_status gd_merge(gd_builder *b, const char *name, const gd_value values[2], uint32_t branch, gd_value *merged);
ft_status gd_add_loop(gd_builder *b, uint32_t parent, uint32_t *loop);
/* A variable that the body of a loop changes: a tensor that is not constant, whatever its first value is. */
ft_status gd_add_carry(gd_builder *b, const char *name, uint32_t first, uint32_t loop, gd_value *value);

/* --- graphdef_control.c ------------------------------------------------------------------------------------------ */

/* *is_control: the node is one of Switch, Merge, Enter, Exit, NextIteration, LoopCond. */
ft_status gd_control(gd_builder *b, gd_frame *f, gd_vertex *v, bool *is_control);
/* Adds the bodies of all loops, and finds trip counts. */
ft_status gd_close_loops(gd_builder *b, gd_frame *f);

/* --- graphdef_strip.c -------------------------------------------------------------------------------------------- */

ft_status gd_strip(const uint8_t *bytes, size_t size, bool is_saved, uint8_t **stripped, size_t *stripped_size,
                   ft_error *error);

#endif
