/* stage.h - a tensor program before it has loops: stages that compute tensors from others, the iterators that schedule
 * steps make of their axes, and the loop at which each stage is computed.
 *
 * Stages are as in TVM: a stage computes one tensor; its axes are the dimensions of that tensor and, in a sum or
 * maximum, the reduced axes. `order` lists the stages as steps number them; stages refer to each other by their index
 * in `stages`, which does not change. */
#ifndef PROGRAM_STAGE_H
#define PROGRAM_STAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "foretell/status.h"
#include "program/lin.h"

enum {
    PROG_MAX_DIMS = 8,
    PROG_MAX_AXES = 16, /* dimensions and reduced axes */
    PROG_MAX_STAGES = 24,
    PROG_MAX_ITERS = 160, /* of a stage, including those that were split or fused */
    PROG_NO_STAGE = PROG_MAX_STAGES
};

/* --- Values -------------------------------------------------------------------------------------------------- */

typedef enum prog_op {
    PROG_NUMBER,
    PROG_LOAD,
    PROG_ADD,
    PROG_MUL,
    PROG_DIV,
    PROG_MAX,
    PROG_TANH,
    PROG_SIGMOID,
    PROG_IF, /* a where all bounds hold, else b */
    /* only in printed programs (tir_text.h) */
    PROG_SUB,
    PROG_MIN,
    PROG_SELECT, /* like PROG_IF, but both are computed */
    PROG_CALL    /* of an unknown function */
} prog_op;

/* low <= index < high; INT64_MIN and INT64_MAX: unbounded on that side */
typedef struct prog_bound {
    lin index;
    int64_t low, high;
} prog_bound;

typedef struct prog_value prog_value;
struct prog_value {
    prog_op op;
    double number;
    prog_value *a, *b;
    uint32_t stage; /* PROG_LOAD: the stage that is read */
    uint32_t dims;
    lin *index; /* of axes; of loops once the program is bound */
    prog_bound *bounds;
    uint32_t bound_count;
};

typedef enum prog_reducer { PROG_NO_REDUCER, PROG_REDUCE_SUM, PROG_REDUCE_MAX } prog_reducer;

/* --- Iterators ----------------------------------------------------------------------------------------------- */

/* Numbered as in the logs. */
typedef enum prog_annotation {
    PROG_SERIAL,
    PROG_UNROLL,
    PROG_VECTORIZE,
    PROG_PARALLEL,
    PROG_VTHREAD,
    PROG_BLOCK_X,
    PROG_THREAD_X,
    PROG_BLOCK_Y,
    PROG_THREAD_Y,
    PROG_BLOCK_Z,
    PROG_THREAD_Z,
    PROG_TENSORIZE,
    PROG_ANNOTATION_COUNT
} prog_annotation;

static inline bool prog_annotation_is_thread(prog_annotation annotation) {
    return annotation >= PROG_VTHREAD && annotation <= PROG_THREAD_Z;
}
/* blockIdx, as opposed to threadIdx. */
static inline bool prog_annotation_is_block(prog_annotation annotation) {
    return annotation == PROG_BLOCK_X || annotation == PROG_BLOCK_Y || annotation == PROG_BLOCK_Z;
}
const char *prog_annotation_name(prog_annotation annotation); /* "threadIdx.x" */

typedef enum prog_scope { PROG_NO_SCOPE, PROG_GLOBAL, PROG_SHARED, PROG_LOCAL } prog_scope;
const char *prog_scope_name(prog_scope scope);

typedef struct prog_iter {
    int64_t extent;       /* known for axes from the start, for others once the program is bound */
    int64_t given_extent; /* by the step that split it; 0: none */
    uint32_t atom;        /* its loop, when it has more than one trip */
    int32_t unroll;       /* auto_unroll_max_step; -1: none */
    int16_t axis;         /* the axis that it is; -1: it comes from a relation */
    int16_t made_by;
    uint8_t annotation;
    bool is_reduce, has_loop;
} prog_iter;

typedef struct prog_relation {
    int64_t factor;
    uint16_t whole, outer, inner; /* split: whole -> outer, inner; fuse: outer, inner -> whole */
    uint16_t step;                /* index of the schedule step */
    bool is_fuse;
    bool is_parts; /* split: the factor is the extent of the outer part */
} prog_relation;

typedef enum prog_attach_type { PROG_AT_ROOT, PROG_INLINED, PROG_AT } prog_attach_type;

typedef struct prog_stage {
    char name[48];
    const char *axis_names[PROG_MAX_AXES];
    int64_t extents[PROG_MAX_AXES]; /* of the dimensions, then of the reduced axes */
    uint32_t dims, reduced;
    uint32_t first_axis; /* atom */
    prog_reducer reducer;
    prog_value *body; /* NULL: an input */
    bool is_output;
    prog_scope scope; /* PROG_NO_SCOPE: follows from the loops around it */

    prog_iter iters[PROG_MAX_ITERS];
    uint32_t iter_count;
    uint16_t leaves[PROG_MAX_ITERS]; /* the loops, outermost first */
    uint32_t leaf_count;
    prog_relation relations[PROG_MAX_ITERS];
    uint32_t relation_count;
    prog_attach_type attach_type;
    uint32_t at_stage; /* PROG_AT */
    uint16_t at_iter;

    /* Set by bound inference (bound.c): the part of the tensor that one run of the loops computes, and the values of
     * the axes in terms of the loops. */
    bool is_bound;
    lin low[PROG_MAX_DIMS];
    int64_t region[PROG_MAX_DIMS];
    lin values[PROG_MAX_AXES];
    prog_bound guards[2 * PROG_MAX_AXES];
    uint32_t guard_count;
} prog_stage;

static inline uint32_t prog_axes(const prog_stage *stage) {
    return stage->dims + stage->reduced;
}

typedef struct prog {
    arena *memory;
    lin_space space;
    prog_stage *stages; /* PROG_MAX_STAGES entries, of which stage_count are in use */
    uint32_t stage_count;
    uint32_t order[PROG_MAX_STAGES];
    ft_error *error;
} prog;

/* --- Building (stage.c) -------------------------------------------------------------------------------------- */

/* NULL when there are too many, which prog_check reports. The caller fills name and extents, then calls
 * prog_init_axes. */
prog_stage *prog_new_stage(prog *p, uint32_t order);
/* Creates axes and iterators from the extents. */
void prog_init_axes(prog *p, prog_stage *stage);
/* Creates iterators from the extents and drops all relations. */
void prog_reset_iters(prog_stage *stage);
/* Index of a stage in `order`; PROG_NO_STAGE when it is not there. */
uint32_t prog_position(const prog *p, uint32_t stage);

/* Values; NULL when out of memory, which prog_check reports. */
prog_value *prog_number(prog *p, double number);
prog_value *prog_binary(prog *p, prog_op op, prog_value *a, prog_value *b);
prog_value *prog_load(prog *p, uint32_t stage, const lin *index, uint32_t dims);
/* A load at exactly the axes of `reader`. */
prog_value *prog_load_same(prog *p, uint32_t stage, const prog_stage *reader);
/* A copy in which the axes of `from` are replaced by `values`. */
prog_value *prog_copy_value(prog *p, const prog_value *value, const prog_stage *from, const lin *values);

/* Calls `visit` for each load in a value; stops and returns false when it does. */
bool prog_visit_loads(prog_value *value, bool (*visit)(prog_value *load, void *user), void *user);

/* FT_ERR_NOMEM or FT_ERR_LIMIT when an earlier call ran out of memory or exceeded a limit. */
ft_status prog_check(const prog *p);

#endif
