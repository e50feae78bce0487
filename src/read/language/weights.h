/* weights.h - the weights that a file lists: names, types, shapes and sizes, which GGUF and safetensors have in common.
 *
 * Only headers are read, never a weight. Counts and bytes are exact: a type may pack many weights into a block. */
#ifndef READ_LANGUAGE_WEIGHTS_H
#define READ_LANGUAGE_WEIGHTS_H

#include <string.h>

#include "base/map.h"
#include "graph/graph.h"
#include "read/read.h"

/* How elements are stored: `block_bytes` bytes hold `block_elems` of them. */
typedef struct weight_type {
    const char *name;
    ft_dtype dtype; /* of a type whose blocks are single elements; else FT_DTYPE_UNKNOWN */
    uint16_t block_elems, block_bytes;
} weight_type;

/* By the number in a GGUF file, by the name in a safetensors header. NULL: not known. */
const weight_type *weight_type_of_ggml(uint32_t number);
const weight_type *weight_type_of_safetensors(const char *name);

typedef struct weight {
    const char *name; /* never NULL */
    const weight_type *type;
    int32_t rank;
    int64_t dims[FT_MAX_RANK]; /* of elements, the outermost first */
    uint64_t elems;            /* weights that it stands for; 0 for scales of other weights */
    uint64_t offset, bytes;    /* in the data of its file */
} weight;

typedef struct weight_list {
    arena *memory;
    weight *items;
    uint32_t count, capacity;
    map names;
    uint64_t elems, bytes;
} weight_list;

void weight_list_init(weight_list *list, arena *memory);
/* Copies *w, whose name must outlive the list, and sets `bytes` and `elems` from type and shape. */
ft_status weight_list_add(weight_list *list, const weight *w, ft_error *error);
/* NULL: there is none of this name. */
weight *weight_list_find(const weight_list *list, const char *name);

/* Checks that the weights from `first` on lie in `data_bytes` bytes and do not overlap; with `is_dense`, that they also
 * leave no gap. */
ft_status weight_list_check(const weight_list *list, uint32_t first, uint64_t data_bytes, bool is_dense,
                            ft_error *error);

/* Finds weights that are packed in integers (GPTQ, AWQ, compressed-tensors, bitsandbytes, MXFP4, NVFP4) and their
 * scales, by their names, and corrects `elems`. For safetensors, whose types do not show it. */
void weight_list_unpack(weight_list *list);

/* A graph of the weights alone, an operator each, for a file that does not show the structure of its model. `why` is
 * the reason, for the graph's meta. */
ft_status weight_list_graph(const weight_list *list, ft_graph *graph, const char *why, ft_error *error);
/* Sets the meta of a graph: "parameters", "weight_types", "weight_bytes". */
ft_status weight_list_describe(const weight_list *list, ft_graph *graph, ft_error *error);

/* "dir/name.gguf" -> "name.gguf" */
static inline const char *weights_base_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

#endif
