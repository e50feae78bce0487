/* onnx.h - shared declarations of the ONNX reader, which turns a decoded model into a graph.
 *
 *   onnx.c           recognition, and the steps of reading: strip, decode, build, finish
 *   onnx_strip.c     fields that the pre-pass of strip.c keeps
 *   onnx_scope.c     names and the tensors they refer to
 *   onnx_tensor.c    types, constants and their values
 *   onnx_node.c      nodes and attributes
 *   onnx_subgraph.c  If, Loop, Scan, SequenceMap
 *   onnx_function.c  local functions
 *
 * docs/formats/onnx.md states the rules. Functions here fill builder->error when they fail. */
#ifndef READ_ONNX_BUILD_H
#define READ_ONNX_BUILD_H

#include "base/filecopy.h"
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
    ONNX_ABSENT,  /* an optional input that the function call omits */
    ONNX_PENDING, /* read before it is defined: files need not be sorted */
    ONNX_DEFINED,
} onnx_name_state;

typedef struct onnx_name {
    const char *text;
    const Onnx__ValueInfoProto *info; /* or NULL */
    uint32_t tensor;                  /* when PENDING or DEFINED */
    onnx_name_state state;
} onnx_name;

/* The names of one graph, sub-graph or function body. Names of outer scopes are visible in sub-graphs, not in
 * functions. */
typedef struct onnx_scope {
    struct onnx_scope *parent; /* or NULL */
    arena memory;              /* freed when the scope closes */
    map index;
    onnx_name *names;
    uint32_t count, capacity;
} onnx_scope;

/* ONNX's largest operators have some twenty attributes; lists are searched linearly, so they are kept short. */
enum { ONNX_MAX_ATTRS = 256 };

/* --- Frames and the builder -------------------------------------------------------------------------------------- */

/* The attributes that a function was called with. */
typedef struct onnx_call {
    const Onnx__AttributeProto **given;
    const char **names; /* of given[], as the call spells them */
    uint32_t count;
} onnx_call;

typedef struct onnx_frame {
    onnx_scope *scope;
    const onnx_call *call; /* NULL outside functions */
    const char *prefix;    /* prefix of names: the chain of calls */
    uint32_t loop, branch;
    unsigned depth;
} onnx_frame;

typedef struct onnx_function onnx_function;

typedef struct onnx_builder {
    ft_graph *graph;
    const Onnx__ModelProto *model;
    arena *scratch; /* of the decoded model: freed when the graph is built */
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
/* Passes names that are still pending to the enclosing scope, or fails when there is none. */
ft_status onnx_scope_resolve(onnx_builder *b, const onnx_frame *frame);
void onnx_scope_close(onnx_scope *scope);

/* Reserves space for the expected number of names. */
ft_status onnx_scope_reserve(onnx_builder *b, onnx_scope *scope, size_t count);
/* Records the types of names; an existing type stays. */
ft_status onnx_scope_types(onnx_builder *b, onnx_scope *scope, Onnx__ValueInfoProto **infos, size_t count);
/* The name with the frame's prefix, in the scope's memory; NULL when out of memory. */
const char *onnx_full_name(const onnx_frame *frame, const char *name);
bool onnx_scope_has(const onnx_scope *scope, const char *name);
/* Binds the name to a tensor, or to none (FT_NONE). Fails when it is defined already. */
ft_status onnx_scope_bind(onnx_builder *b, const onnx_frame *frame, const char *text, uint32_t tensor);
/* The tensor that a node reads by this name; FT_NONE for "" and for absent names. */
ft_status onnx_scope_read(onnx_builder *b, const onnx_frame *frame, const char *text, uint32_t *tensor);
/* A new tensor that a node defines by this name; FT_NONE for "". */
ft_status onnx_scope_define(onnx_builder *b, const onnx_frame *frame, const char *text, uint32_t *tensor);
/* Binds a result of an inlined body to its outer name. Tensors from `first_new` on were added by the body. */
ft_status onnx_scope_export(onnx_builder *b, const onnx_frame *frame, const char *text, uint32_t tensor,
                            uint32_t first_new);

/* --- onnx_tensor.c ----------------------------------------------------------------------------------------------- */

/* Fills dtype and shape. New symbols are added to the graph only when `may_name`. */
ft_status onnx_set_type(onnx_builder *b, ft_tensor *tensor, const Onnx__ValueInfoProto *info, bool may_name);
ft_status onnx_add_constant(onnx_builder *b, const char *name, const Onnx__TensorProto *proto, uint32_t *tensor);
ft_status onnx_add_sparse(onnx_builder *b, const char *name, const Onnx__SparseTensorProto *proto, uint32_t *tensor);
/* The elements of a small tensor; *value = NULL when it is large, stored elsewhere, or not numeric. */
ft_status onnx_read_value(onnx_builder *b, const Onnx__TensorProto *proto, const ft_value **value);

/* --- onnx_node.c ------------------------------------------------------------------------------------------------- */

ft_status onnx_add_nodes(onnx_builder *b, const onnx_frame *frame, Onnx__NodeProto **nodes, size_t count);
/* Adds types, constants and then nodes of a graph or sub-graph. */
ft_status onnx_add_graph(onnx_builder *b, const onnx_frame *frame, const Onnx__GraphProto *graph);
/* An attribute by name, with references resolved; NULL when absent. */
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
/* Counts nodes after inlining; of an If, both branches. */
ft_status onnx_count_nodes(onnx_builder *b, Onnx__NodeProto **nodes, size_t count, unsigned depth, uint64_t *total);

/* --- onnx_strip.c and onnx.c ------------------------------------------------------------------------------------- */

/* The type of a ValueInfoProto has this number in the copy (from protobuf's reserved range): most messages of a file
 * are parts of types, and onnx_tensor.c reads them faster than the generated decoder. */
enum { ONNX_TYPE_FIELD = 19000 };

/* The copy of the file without its weights (strip.h), which the caller frees. In each tensor of it, `segment` (which no
 * ONNX writer uses) describes the payload: `begin` is its size in the file, `end` a sum of STRIP_OMITTED and STRIP_RAW.
 */
ft_status onnx_strip(const uint8_t *bytes, size_t size, filecopy *file, uint8_t **stripped, size_t *stripped_size,
                     ft_error *error);

/* True when the bytes look like an ONNX model, complete or truncated. */
bool onnx_matches(const uint8_t *bytes, size_t size);

#endif
