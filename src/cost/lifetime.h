/* lifetime.h - storages: tensors that share memory, how long each lives, and what training keeps for backward.
 *
 * A storage is a block of memory with one size, identified by the tensor that first occupies it. A view shares the
 * storage of its input. Times are operator indexes: a storage dies after its last reader, and one that backward needs
 * dies after the backward step of the first operator that saved it. */
#ifndef COST_LIFETIME_H
#define COST_LIFETIME_H

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
    uint32_t *next_dead;                    /* per storage */
    uint64_t *kept_bytes;                   /* per operator: masks and indexes that it keeps for backward */
} lifetimes;

/* False when out of memory. */
bool lifetimes_find(const ft_graph *graph, const ft_cost_options *options, const param_marks *params, arena *memory,
                    lifetimes *l);

/* The storage that the first output of operator `k` may overwrite, or FT_NONE. */
uint32_t lifetimes_inplace(const ft_graph *graph, const ft_cost_options *options, const lifetimes *l, uint32_t k);

#endif
