/* nest.h - the loop nest of a program: loops, threads, buffers and stores as a tree, in the order they run. */
#ifndef PROGRAM_NEST_H
#define PROGRAM_NEST_H

#include "program/stage.h"

enum { NEST_MAX_NODES = 1024, NEST_NONE = 0xffff };

typedef enum nest_kind {
    NEST_ROOT,
    NEST_THREAD,  /* the body runs once per thread: blockIdx, threadIdx, vthread */
    NEST_PRAGMA,  /* auto_unroll_max_step, then a second node: unroll_explicit */
    NEST_LOOP,    /* serial, unrolled, vectorised, parallel */
    NEST_REALIZE, /* the body has a buffer for the region of a stage */
    NEST_REDUCE,  /* threads combine their partial results */
    NEST_STORE
} nest_kind;

typedef enum nest_store {
    NEST_PLAIN,       /* tensor = value */
    NEST_INIT,        /* tensor = initial value of the reduction */
    NEST_UPDATE,      /* tensor = tensor + value */
    NEST_PART_INIT,   /* of a reduction over threads: part = initial value */
    NEST_PART_UPDATE, /* part = part + value */
    NEST_PART_RESULT  /* tensor = combined parts */
} nest_store;

typedef struct nest_node {
    nest_kind kind;
    uint16_t parent, first_child, last_child, next;
    uint16_t stage;
    /* NEST_THREAD, NEST_LOOP */
    prog_annotation annotation;
    uint16_t iter;
    bool has_atom;    /* false: one trip */
    bool is_init;     /* a loop of an initialisation, with its own variable */
    const char *name; /* of a printed loop; NULL: derived from the iterator */
    uint32_t atom;
    int64_t extent;
    /* NEST_PRAGMA */
    bool is_explicit;
    int32_t unroll;
    /* NEST_STORE */
    nest_store store;
    const lin *index; /* in the whole tensor, one per dimension */
    const prog_value *value;
    const prog_bound *guards; /* the store is predicated on these */
    uint32_t guard_count;
} nest_node;

typedef struct nest {
    prog *p;
    nest_node *nodes; /* NEST_MAX_NODES; [0] is the root */
    uint32_t count;
} nest;

/* Builds the nest of a bound program. `nodes` has room for NEST_MAX_NODES and can be reused. */
ft_status nest_build(prog *p, nest_node *nodes, nest *n);

#endif
