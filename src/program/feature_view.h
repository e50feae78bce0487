/* feature_view.h - a store prepared for feature extraction: the loops around it, its accesses, the elements they touch
 * under each loop, and reuse. */
#ifndef PROGRAM_FEATURE_VIEW_H
#define PROGRAM_FEATURE_VIEW_H

#include <math.h>

#include "program/nest.h"

enum {
    TEMP_PART = PROG_MAX_STAGES, /* partial result of one thread in a reduction over threads */
    TEMP_RESULT,
    BUFFERS,
    MAX_PATH = 96,
    MAX_ACCESSES = 16,
    MAX_INDEX_SETS = 4,
    ELEMENT_BYTES = 4,
    LINE_BYTES = 64
};

/* A logarithm through 0, as in TVM: log2(x + 1), and its mirror image below 0. */
static inline float slog(double value) {
    return value == 0 ? 0 : value < 0 ? -log2f((float)(1 - value)) : log2f((float)(value + 1));
}

/* Elements that the stores so far touch under a loop. */
typedef struct footprint {
    double bytes, element_bytes;
    struct {
        float min;
        uint16_t count;
    } buffers[BUFFERS];
} footprint;

typedef struct access {
    uint32_t buffer;
    bool is_read, is_written;
    uint32_t dims;
    const lin *sets[MAX_INDEX_SETS];
    uint32_t set_count;
    int64_t shape[PROG_MAX_DIMS];
    lin_mask loops, dim_loops[PROG_MAX_DIMS]; /* that its index depends on */
    double touched;                           /* elements of `region` */
    int64_t region[PROG_MAX_DIMS];
    lin_mask varying; /* loops that vary in `region`, when has_region */
    bool has_region;
    uint32_t width; /* elements that one instruction can move (feature_merge.c) */
    double cycles;  /* of shared memory, when all lanes of a warp read an element; 0 elsewhere (feature_gpu.c) */
} access;

typedef struct store_view {
    const nest *n;
    const lin_space *space;
    footprint *footprints;           /* by node */
    const nest_node *path[MAX_PATH]; /* innermost first */
    uint32_t path_count;
    access accesses[MAX_ACCESSES];
    uint32_t access_count;
    bool is_too_large;
} store_view;

/* Virtual threads: one thread runs their trips one after the other. */
static inline bool view_is_virtual(const nest_node *loop) {
    return loop->kind == NEST_THREAD && loop->annotation == PROG_VTHREAD;
}

/* Whether a buffer is only as large as the region that is needed at a time. */
static inline bool view_is_partial(const store_view *x, const access *a) {
    if (a->buffer >= PROG_MAX_STAGES) return false;
    const prog_stage *stage = &x->n->p->stages[a->buffer];
    return stage->is_bound && stage->body != NULL && !stage->is_output;
}

/* Finds the loops that the store runs in, innermost first. */
void view_find_path(store_view *x, const nest_node *node);
/* Finds the buffers that it reads and writes. */
void view_find_accesses(store_view *x, const nest_node *node);
/* The memory scope of the buffer; partial results of a reduction over threads are local. */
prog_scope view_scope(const store_view *x, const access *a);
/* Sets `touched` and `region` to the elements that an access touches while the loops of `varying` vary and the others
 * are at 0. */
void view_set_region(const store_view *x, access *a, lin_mask varying);
/* Walks the loops from the innermost outwards and adds the footprint of the store to each; at the end, regions are
 * those of the outermost loop. Fills, per loop, log2 of the work and of the bytes touched. */
void view_walk_loops(store_view *x, double flops, float *work, float *bytes);
/* The stride of an access with a loop, in elements; 0: the access does not depend on it. */
double view_stride(const store_view *x, const access *a, const nest_node *loop);

typedef enum reuse_kind { REUSE_LOOP, REUSE_SERIAL, REUSE_NONE } reuse_kind;

typedef struct reuse {
    reuse_kind kind;
    double iterations, bytes, count;
} reuse;

reuse view_find_reuse(const store_view *x, const access *a);

#endif
