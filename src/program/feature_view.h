/* feature_view.h - a store as its features see it: the loops around it, what it touches under each of them, and when it
 * touches the same again. */
#ifndef PROGRAM_FEATURE_VIEW_H
#define PROGRAM_FEATURE_VIEW_H

#include <math.h>

#include "program/nest.h"

enum {
    TEMP_PART = PROG_MAX_STAGES, /* what one thread has of a reduction */
    TEMP_RESULT,
    BUFFERS,
    MAX_PATH = 96,
    MAX_ACCESSES = 16,
    MAX_INDEX_SETS = 4,
    ELEMENT_BYTES = 4,
    LINE_BYTES = 64
};

/* How amounts are told: as a logarithm that goes through 0. */
static inline float slog(double value) {
    return value == 0 ? 0 : value < 0 ? -log2f((float)(1 - value)) : log2f((float)(value + 1));
}

/* What the stores so far touch under a loop. */
typedef struct touch {
    double bytes, element_bytes;
    struct {
        float least;
        uint16_t count;
    } buffers[BUFFERS];
} touch;

typedef struct access {
    uint32_t buffer;
    bool is_read, is_written;
    uint32_t dims;
    const lin *sets[MAX_INDEX_SETS];
    uint32_t set_count;
    int64_t shape[PROG_MAX_DIMS];
    lin_mask loops, dim_loops[PROG_MAX_DIMS]; /* that it moves with */
    double touched;                           /* elements, at the loop at hand */
    int64_t region[PROG_MAX_DIMS];
    lin_mask running; /* loops that the region is of, once there is one */
    bool has_region;
    uint32_t width; /* elements that one command may move (feature_merge.h) */
    double cycles;  /* of shared memory, for an element that all lanes of a warp read; 0 elsewhere (feature_gpu.c) */
} access;

typedef struct store_view {
    const nest *n;
    const lin_space *space;
    touch *touches;                  /* by node */
    const nest_node *path[MAX_PATH]; /* innermost first */
    uint32_t path_count;
    access accesses[MAX_ACCESSES];
    uint32_t access_count;
    bool is_too_large;
} store_view;

/* A thread takes the turns of virtual ones one after the other. */
static inline bool view_is_virtual(const nest_node *loop) {
    return loop->kind == NEST_THREAD && loop->note == PROG_VTHREAD;
}

/* Whether a buffer is only as large as what is needed of it at a time. */
static inline bool view_is_part(const store_view *x, const access *a) {
    if (a->buffer >= PROG_MAX_STAGES) return false;
    const prog_stage *stage = &x->n->p->stages[a->buffer];
    return stage->is_bound && stage->body != NULL && !stage->is_output;
}

/* The loops around a store that are its own, innermost first. */
void view_find_path(store_view *x, const nest_node *node);
/* The buffers that it reads and writes. */
void view_find_accesses(store_view *x, const nest_node *node);
/* Where the buffer lives; what one thread has of a reduction is local. */
prog_scope view_scope(const store_view *x, const access *a);
/* How many elements an access touches while some loops run and the others stand at 0: into `touched` and `region`. */
void view_touch_region(const store_view *x, access *a, lin_mask running);
/* Goes through the loops from the innermost out and notes what is touched under each; regions are those of the
 * outermost at the end. Fills, per loop, log2 of the work and of the bytes touched. */
void view_walk_loops(store_view *x, double flops, float *work, float *bytes);
/* In elements, with one turn of a loop; 0: it does not move. */
double view_stride(const store_view *x, const access *a, const nest_node *loop);

typedef enum reuse_kind { REUSE_LOOP, REUSE_SERIAL, REUSE_NONE } reuse_kind;

typedef struct reuse {
    reuse_kind kind;
    double iterations, bytes, count;
} reuse;

reuse view_find_reuse(const store_view *x, const access *a);

#endif
