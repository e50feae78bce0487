/* onnx_build.h - what the files of the ONNX reader share while a decoded model becomes a graph.
 *
 *   onnx.c           the way through: strip, decode, build, finish
 *   onnx_match.c     is it ONNX?
 *   onnx_strip.c     the pre-pass that leaves weights out
 *   onnx_scope.c     names and what they stand for
 *   onnx_tensor.c    types, constants and their values
 *   onnx_node.c      nodes and attributes
 *   onnx_subgraph.c  If, Loop, Scan, SequenceMap
 *   onnx_function.c  local functions
 *
 * docs/formats/onnx.md states the rules. Functions here fill builder->error when they fail. */
#ifndef READ_ONNX_BUILD_H
#define READ_ONNX_BUILD_H

#include "base/map.h"
#include "foretell/status.h"
#include "graph/graph.h"
#include "onnx.pb-c.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* --- Names ------------------------------------------------------------------------------------------------------- */

typedef enum onnx_name_state {
    ONNX_TYPED,   /* only its type is known */
    ONNX_ABSENT,  /* an input of a function that the call left out */
    ONNX_PENDING, /* read before anything made it: files need not be sorted */
    ONNX_DEFINED,
} onnx_name_state;

typedef struct onnx_name {
    const char *text;
    const Onnx__ValueInfoProto *info; /* or NULL */
    uint32_t tensor;                  /* when AWAITED or MADE */
    onnx_name_state state;
} onnx_name;

/* The names of one graph, sub-graph or function body. Sub-graphs see the names around them, functions do not. */
typedef struct onnx_scope {
    struct onnx_scope *parent; /* or NULL */
    arena memory;              /* given back when the scope closes */
    map index;
    onnx_name *names;
    uint32_t count, capacity;
} onnx_scope;

/* ONNX's richest operators have some twenty attributes; lists are searched from the front, so they stay short. */
enum { ONNX_MAX_ATTRS = 256 };

/* --- Where nodes are built --------------------------------------------------------------------------------------- */

/* The attributes that a function was called with. */
typedef struct onnx_call {
    const Onnx__AttributeProto **given;
    const char **names; /* of given[], as the call spells them */
    uint32_t count;
} onnx_call;

typedef struct onnx_frame {
    onnx_scope *scope;
    const onnx_call *call; /* NULL outside functions */
    const char *prefix;    /* of names: the calls that lead here */
    uint32_t loop, branch;
    unsigned depth;
} onnx_frame;

typedef struct onnx_function onnx_function;

typedef struct onnx_builder {
    ft_graph *graph;
    const Onnx__ModelProto *model;
    arena *scratch; /* of the decoded model: lives until the graph is built */
    ProtobufCAllocator *allocator;
    map symbols; /* of the graph, by name: a file may use one in every tensor */
    map function_index;
    onnx_function *functions;
    int64_t opset;
    uint64_t node_count; /* nodes built so far, with those of sub-graphs and functions */
    uint64_t node_limit;
    ft_error *error;
} onnx_builder;

/* --- onnx_scope.c ------------------------------------------------------------------------------------------------ */

void onnx_scope_open(onnx_scope *scope, onnx_scope *parent);
/* Hands names that are still awaited to the scope around, or fails when there is none. */
ft_status onnx_scope_resolve(onnx_builder *b, const onnx_frame *frame);
void onnx_scope_close(onnx_scope *scope);

/* Makes room at once for as many names as are expected. */
ft_status onnx_scope_reserve(onnx_builder *b, onnx_scope *scope, size_t count);
/* Remembers the types of names; where a name has one already, it stays. */
ft_status onnx_scope_types(onnx_builder *b, onnx_scope *scope, Onnx__ValueInfoProto **infos, size_t count);
/* The name with the frame's prefix, in the scope's memory; NULL when there is none left. */
const char *onnx_full_name(const onnx_frame *frame, const char *name);
bool onnx_scope_has(const onnx_scope *scope, const char *name);
/* The name now stands for this tensor, or for nothing (FT_NONE). It must not stand for another yet. */
ft_status onnx_scope_bind(onnx_builder *b, const onnx_frame *frame, const char *text, uint32_t tensor);
/* The tensor that a node reads by this name; "" and absent names give FT_NONE. */
ft_status onnx_scope_read(onnx_builder *b, const onnx_frame *frame, const char *text, uint32_t *tensor);
/* A new tensor that a node makes by this name; "" gives FT_NONE. */
ft_status onnx_scope_define(onnx_builder *b, const onnx_frame *frame, const char *text, uint32_t *tensor);
/* The result of something inlined gets its outer name. Tensors from `first_new` on were made by what was inlined. */
ft_status onnx_scope_export(onnx_builder *b, const onnx_frame *frame, const char *text, uint32_t tensor,
                            uint32_t first_new);

/* --- onnx_tensor.c ----------------------------------------------------------------------------------------------- */

/* Fills dtype and shape. Symbols become new ones of the graph only when `may_name`. */
ft_status onnx_set_type(onnx_builder *b, ft_tensor *tensor, const Onnx__ValueInfoProto *info, bool may_name);
ft_status onnx_add_constant(onnx_builder *b, const char *name, const Onnx__TensorProto *proto, uint32_t *tensor);
ft_status onnx_add_sparse(onnx_builder *b, const char *name, const Onnx__SparseTensorProto *proto, uint32_t *tensor);
/* The elements of a small tensor; *value = NULL when it is not small, not stored here, or of no numeric type. */
ft_status onnx_read_value(onnx_builder *b, const Onnx__TensorProto *proto, const ft_value **value);

/* --- onnx_node.c ------------------------------------------------------------------------------------------------- */

ft_status onnx_add_nodes(onnx_builder *b, const onnx_frame *frame, Onnx__NodeProto **nodes, size_t count);
/* Types, constants and then nodes of a graph or sub-graph. */
ft_status onnx_add_graph(onnx_builder *b, const onnx_frame *frame, const Onnx__GraphProto *graph);
/* An attribute by name, a reference replaced by what it refers to; NULL when absent. */
const Onnx__AttributeProto *onnx_find_attr(const onnx_frame *frame, const Onnx__NodeProto *node, const char *name);
int64_t onnx_find_int(const onnx_frame *frame, const Onnx__NodeProto *node, const char *name, int64_t fallback);
const Onnx__AttributeProto *onnx_resolve_attr(const onnx_frame *frame, const Onnx__AttributeProto *attr);
const char *onnx_node_name(const Onnx__NodeProto *node);
/* "" for a missing string. */
const char *onnx_text(const char *text);
/* "" and "ai.onnx" are the same domain. */
bool onnx_is_standard(const char *domain);

/* --- onnx_subgraph.c --------------------------------------------------------------------------------------------- */

bool onnx_has_body(const Onnx__NodeProto *node); /* If, Loop, Scan, SequenceMap */
ft_status onnx_add_body(onnx_builder *b, const onnx_frame *frame, const Onnx__NodeProto *node);

/* --- onnx_function.c --------------------------------------------------------------------------------------------- */

ft_status onnx_index_functions(onnx_builder *b);
bool onnx_find_function(const onnx_builder *b, const Onnx__NodeProto *node, uint32_t *function);
ft_status onnx_add_call(onnx_builder *b, const onnx_frame *frame, const Onnx__NodeProto *node, uint32_t function);
/* Nodes with all that they become when inlined; of an If, both branches. */
ft_status onnx_count_nodes(onnx_builder *b, Onnx__NodeProto **nodes, size_t count, unsigned depth, uint64_t *total);

/* --- onnx_strip.c and onnx.c ------------------------------------------------------------------------------------- */

/* Elements of a constant that are kept: of the types that shapes and indices have, and of all others. */
enum { ONNX_MAX_INDEX_ELEMS = 4096, ONNX_MAX_OTHER_ELEMS = 64 };

enum { ONNX_OMITTED = 1, ONNX_RAW = 2 };

/* The type of a ValueInfoProto has this number in the copy (from the range that protobuf keeps for itself): most
 * messages of a file are pieces of types, and onnx_tensor.c reads them faster than the generated decoder. */
enum { ONNX_TYPE_FIELD = 19000 };

/* Writes the copy into *stripped, which the caller frees. It holds only fields that the reader uses; the nesting of
 * its messages is at most FT_MAX_DEPTH, and no singular message occurs twice. In each tensor of the copy, `segment`
 * (which no writer of ONNX uses) tells of the payload: `begin` is its size in the file, `end` a sum of the flags
 * below. */
ft_status onnx_strip(const uint8_t *bytes, size_t size, uint8_t **stripped, size_t *stripped_size, ft_error *error);

/* True when the bytes look like an ONNX model, whole or cut off. */
bool onnx_matches(const uint8_t *bytes, size_t size);

#endif
