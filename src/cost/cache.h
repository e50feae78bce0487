/* cache.h - caches of a language model: tensors that a sequence keeps from one run to the next.
 *
 * Keys and values of attention grow by one row a token; states of linear attention and state-space models have a fixed
 * size. Both are inputs of the graph that hold the past, or, where the graph only computes them (the prefill half of an
 * export in two files), its outputs. */
#ifndef COST_CACHE_H
#define COST_CACHE_H

#include "base/arena.h"
#include "graph/graph.h"

typedef struct cache_tensor {
    uint32_t tensor;  /* of the graph */
    uint32_t op;      /* that reads it, FT_NONE where it is an output */
    int32_t axis;     /* dimension that grows with the sequence; -1: a state of fixed size */
    int64_t length;   /* of that dimension: a symbol of the graph, or the size that the file fixes */
    uint64_t elems;   /* of one sequence: per token, or of the whole state */
    uint64_t window;  /* tokens that attention looks back; 0: all of them */
    bool is_index;    /* keys of an indexer, which chooses those that attention reads */
    bool is_of_input; /* keys and values of another sequence (the encoder's), which do not grow with the output */
} cache_tensor;

typedef struct cache_list {
    const cache_tensor *items;
    uint32_t count;
} cache_list;

/* The caches of a model as read, not bound. False when out of memory. */
bool caches_find(const ft_graph *model, arena *memory, cache_list *caches);

/* Whether a model has any. */
bool caches_exist(const ft_graph *model);

/* Bytes of some elements of a cache. */
static inline uint64_t cache_bytes(const ft_graph *model, const cache_tensor *cache, uint64_t elems) {
    return dtype_bytes(model->tensors[cache->tensor].dtype, elems);
}

#endif
