/* timeline.h - the state of a walk over a training step, shared by memory.c and shards.c. */
#ifndef COST_TIMELINE_H
#define COST_TIMELINE_H

#include "cost/lifetime.h"
#include "cost/memory.h"

typedef struct timeline {
    const ft_graph *graph;
    const ft_cost *cost; /* whose parameter marks are used; NULL: they are computed */
    const ft_cost_options *options;
    arena memory;
    param_marks params;
    lifetimes lives;
    bool *is_overwritten; /* per storage: an operator writes its output over it */
    /* Live bytes. */
    ft_memory now;
    uint64_t gradient_bytes;  /* of activations */
    uint64_t temporary_bytes; /* alive only during the current operator */
    ft_memory peak;
    ft_memory_observer *observer;
    void *user;
    timeline_events events;
    /* The gradient of a storage is held in a buffer, identified by the storage that the buffer was allocated for. */
    uint32_t *buffer;                   /* per storage, FT_NONE = no gradient yet */
    uint32_t *references;               /* per buffer */
    uint32_t *first_param, *next_param; /* per operator: list of the parameters that it is the last to read */
    /* Sharded parameters, per layer from 0 to lives.layers.count + 1; NULL: none is sharded. */
    uint64_t *weight_bytes;  /* gathered for the layer to run */
    uint64_t *pending_bytes; /* whole gradients, until they are reduced */
    bool *is_pending;
    uint64_t *reduced_bytes; /* the rank's parts of these gradients */
    bool *is_gathered;
} timeline;

/* Sums saturate, and so does what is subtracted again. */
static inline void grow(uint64_t *sum, uint64_t bytes) {
    *sum = num_add_sat(*sum, bytes);
}

static inline void shrink(uint64_t *sum, uint64_t bytes) {
    *sum -= bytes < *sum ? bytes : *sum;
}

void timeline_emit(const timeline *t, timeline_kind kind, uint32_t id, uint32_t from, uint64_t bytes);

enum { LAYER_BLOCKS = 3 }; /* ids of a layer: weights, whole gradients, the rank's parts of gradients */

/* --- Sharded parameters (shards.c) ----------------------------------------------------------------------------- */

/* Ranks that share what `sharding` divides of a tensor; 1: it is whole. */
uint64_t shards_of(const timeline *t, const ft_tensor *tensor, ft_sharding sharding);
/* Prepares the layers' tables. False when out of memory. */
bool shards_prepare(timeline *t);
/* Before operator `k` runs in a phase: weights of its layer are gathered, and those of the next. */
void shards_enter(timeline *t, ft_phase phase, uint32_t k);
/* After it: weights of a layer that is done are released, its gradients are reduced. */
void shards_leave(timeline *t, ft_phase phase, uint32_t k);
/* The gradient of a parameter appears whole; false: it is not sharded. */
bool shards_hold_gradient(timeline *t, uint32_t tensor, uint64_t bytes);
/* What layers outside of the numbered ones hold until the end of backward. */
void shards_finish(timeline *t);

#endif
