/* lifetime.h - storages: tensors that share memory, how long each lives, and what training keeps for backward.
 *
 * A storage is a block of memory with one size, identified by the tensor that first occupies it. A view shares the
 * storage of its input. Times are operator indexes: a storage dies after its last reader, and one that backward needs
 * dies after the backward step of the first operator that saved it. */
#ifndef COST_LIFETIME_H
#define COST_LIFETIME_H

#include "cost/layers.h"
#include "cost/params.h"
#include "cost/sizes.h"

#define LIFETIME_WHOLE (UINT32_MAX - 1) /* lives until the end: inputs, outputs */

typedef struct lifetimes {
    uint32_t *storage; /* per tensor: the tensor that identifies its storage, or FT_NONE when it has none */
    /* Per storage, indexed by the tensor that identifies it: */
    uint64_t *bytes;
    uint32_t *last_use;    /* last operator that reads it, or LIFETIME_WHOLE */
    uint32_t *first_saver; /* first operator that saves it for its backward step, or FT_NONE */
    /* Lists of the storages that die with an operator, in the forward and in the backward pass. */
    uint32_t *dies_forward, *dies_backward; /* per operator: the first of the list, or FT_NONE */
    uint32_t *next_dead, *next_freed;       /* per storage: in these lists */
    uint64_t *kept_bytes;                   /* per operator: masks and indexes that it keeps for backward */
    /* Recomputation, by layers: storages that die in the forward pass although backward needs them, and operators that
     * run again before the backward pass of their layer. Both NULL without it. */
    bool *is_recomputed;          /* per storage */
    bool *is_rerun;               /* per operator */
    model_layers layers;          /* with recomputation or sharding */
    uint32_t *first_op, *last_op; /* per layer from 0 to layers.count + 1: of those that run, or FT_NONE */
} lifetimes;

/* False when out of memory. */
bool lifetimes_find(const ft_graph *graph, const ft_cost_options *options, const param_marks *params, arena *memory,
                    lifetimes *l);

/* Finds the layers (layers.h) with their first and last operators. False when out of memory. */
bool lifetimes_find_layers(const ft_graph *graph, arena *memory, lifetimes *l);

/* Marks what a layer recomputes (recompute.c), after what backward saves is known. False when out of memory. */
bool lifetimes_recompute(const ft_graph *graph, const ft_cost_options *options, const param_marks *params,
                         arena *memory, lifetimes *l);

static inline bool lifetimes_is_recomputed(const lifetimes *l, uint32_t storage) {
    return l->is_recomputed != NULL && l->is_recomputed[storage];
}

static inline bool lifetimes_is_rerun(const lifetimes *l, uint32_t op) {
    return l->is_rerun != NULL && l->is_rerun[op];
}

/* The storage that the first output of operator `k` may overwrite, or FT_NONE. */
uint32_t lifetimes_inplace(const ft_graph *graph, const ft_cost_options *options, const lifetimes *l, uint32_t k);

#endif
