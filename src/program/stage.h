/* stage.h - what a tensor program is made of before it has loops: stages that compute tensors from others, the
 * iterators that schedule steps make of their axes, and where each stage is computed.
 *
 * Stages are as in TVM: a stage computes one tensor; its axes are the dimensions of that tensor and, when it sums or
 * takes the largest, the reduced ones. `order` lists the stages as steps number them; what is inside of the stages
 * names others by their place in `stages`, which does not change. */
#ifndef PROGRAM_STAGE_H
#define PROGRAM_STAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "foretell/status.h"
#include "program/lin.h"

enum {
    PROG_MAX_DIMS = 8,
    PROG_MAX_AXES = 16, /* of the tensor and reduced */
    PROG_MAX_STAGES = 24,
    PROG_MAX_ITERS = 160, /* of a stage, with those that were split or fused */
    PROG_NO_STAGE = PROG_MAX_STAGES
};

/* --- What a stage computes ----------------------------------------------------------------------------------- */

typedef enum prog_op {
    PROG_NUMBER,
    PROG_LOAD,
    PROG_ADD,
    PROG_MUL,
    PROG_DIV,
    PROG_MAX,
    PROG_TANH,
    PROG_SIGMOID,
    PROG_IF, /* a where all bounds hold, b elsewhere */
    /* only in printed programs (tir_text.h) */
    PROG_SUB,
    PROG_MIN,
    PROG_SELECT, /* like PROG_IF, but both are computed */
    PROG_CALL    /* of something that is not known */
} prog_op;

/* low <= index < high; INT64_MIN and INT64_MAX: nothing is asked on that side */
typedef struct prog_bound {
    lin index;
    int64_t low, high;
} prog_bound;

typedef struct prog_value prog_value;
struct prog_value {
    prog_op op;
    double number;
    prog_value *a, *b;
    uint32_t stage; /* PROG_LOAD: of which */
    uint32_t dims;
    lin *index; /* of axes; of loops once the program is bound */
    prog_bound *bounds;
    uint32_t bound_count;
};

typedef enum prog_reducer { PROG_NO_REDUCER, PROG_SUM, PROG_LARGEST } prog_reducer;

/* --- How its loops run --------------------------------------------------------------------------------------- */

typedef enum prog_note { /* as the annotations of the log are numbered */
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
                         PROG_NOTES
} prog_note;

static inline bool prog_note_is_thread(prog_note note) {
    return note >= PROG_VTHREAD && note <= PROG_THREAD_Z;
}
/* Of a grid of blocks, not of a block. */
static inline bool prog_note_is_block(prog_note note) {
    return note == PROG_BLOCK_X || note == PROG_BLOCK_Y || note == PROG_BLOCK_Z;
}
const char *prog_note_name(prog_note note); /* "threadIdx.x" */

typedef enum prog_scope { PROG_NO_SCOPE, PROG_GLOBAL, PROG_SHARED, PROG_LOCAL } prog_scope;
const char *prog_scope_name(prog_scope scope);

typedef struct prog_iter {
    int64_t extent; /* known for axes from the start, for others once the program is bound */
    int64_t told;   /* by the step that split it; 0: not */
    uint32_t atom;  /* its loop, when it has more than one turn */
    int32_t unroll; /* auto_unroll_max_step; -1: none */
    int16_t axis;   /* that it is; -1: it comes from a relation */
    int16_t made_by;
    uint8_t note;
    bool is_reduce, has_loop;
} prog_iter;

typedef struct prog_relation {
    int64_t factor;
    uint16_t whole, outer, inner; /* split: whole -> outer, inner; fuse: outer, inner -> whole */
    uint16_t step;                /* that asked for it */
    bool is_fuse;
    bool is_parts; /* split: the factor is the extent of the outer part */
} prog_relation;

typedef enum prog_place { PROG_AT_ROOT, PROG_INLINED, PROG_AT } prog_place;

typedef struct prog_stage {
    char name[48];
    const char *axis_names[PROG_MAX_AXES];
    int64_t extents[PROG_MAX_AXES]; /* of the dimensions, then of the reduced axes */
    uint32_t dims, reduced;
    uint32_t first_axis; /* atom */
    prog_reducer reducer;
    prog_value *body; /* NULL: an input */
    bool is_output;
    prog_scope scope; /* PROG_NO_SCOPE: as where it is computed asks for */

    prog_iter iters[PROG_MAX_ITERS];
    uint32_t iter_count;
    uint16_t leaves[PROG_MAX_ITERS]; /* the loops, outermost first */
    uint32_t leaf_count;
    prog_relation relations[PROG_MAX_ITERS];
    uint32_t relation_count;
    prog_place place;
    uint32_t at_stage; /* PROG_AT */
    uint16_t at_iter;

    /* Once the program is bound (bound.c): which part of the tensor one run of the loops computes, and where in the
     * tensor the loops are. */
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
    prog_stage *stages; /* PROG_MAX_STAGES of them; only the first stage_count are meaningful */
    uint32_t stage_count;
    uint32_t order[PROG_MAX_STAGES];
    ft_error *error;
} prog;

/* --- Building (stage.c) -------------------------------------------------------------------------------------- */

/* NULL when there are too many; prog_check tells. The caller fills name and extents, then calls prog_start_stage. */
prog_stage *prog_new_stage(prog *p, uint32_t order);
/* Makes axes and iterators of the extents. */
void prog_start_stage(prog *p, prog_stage *stage);
/* Makes iterators of the extents and forgets all relations. */
void prog_reset_iters(prog_stage *stage);
/* Place of a stage in `order`; PROG_NO_STAGE when it has none. */
uint32_t prog_position(const prog *p, uint32_t stage);

/* Values; NULL when out of memory, which is remembered. */
prog_value *prog_number(prog *p, double number);
prog_value *prog_pair(prog *p, prog_op op, prog_value *a, prog_value *b);
prog_value *prog_load(prog *p, uint32_t stage, const lin *index, uint32_t dims);
/* A load at exactly the axes of `reader`. */
prog_value *prog_load_same(prog *p, uint32_t stage, const prog_stage *reader);
/* A copy in which the axes of `from` are values. */
prog_value *prog_copy_value(prog *p, const prog_value *value, const prog_stage *from, const lin *values);

/* Calls `visit` for each load in a value; stops and returns false when it does. */
bool prog_visit_loads(prog_value *value, bool (*visit)(prog_value *load, void *user), void *user);

/* FT_ERR_NOMEM or FT_ERR_LIMIT when something was remembered. */
ft_status prog_check(const prog *p);

#endif
