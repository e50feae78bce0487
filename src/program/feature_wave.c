/* feature_wave.c - sectors of global memory that the blocks of one wave touch together. */
#include <assert.h>

#include "program/feature_gpu.h"

enum { SECTOR_ELEMENTS = 8, AXES = 3, MAX_BLOCK_TERMS = 16 };

/* Blocks that run at the same time. */
typedef struct wave {
    const nest_node *loops[AXES]; /* x, y, z, with x fastest; NULL: one block */
    double trips[AXES];           /* blocks of the wave along each axis */
    double count;
} wave;

/* A term of an index that depends on a block index: its atom grows by `step` from one block to the next. */
typedef struct block_term {
    uint32_t dim, axis;
    double step, extent, factor;
} block_term;

static int axis_of(const nest_node *loop) {
    return loop->annotation == PROG_BLOCK_X ? 0 : loop->annotation == PROG_BLOCK_Y ? 1 : 2;
}

static bool is_block(const nest_node *loop) {
    return loop->kind == NEST_THREAD && prog_annotation_is_block(loop->annotation);
}

/* Returns the number of blocks; `inside` gets the loops of one block. */
static double find_blocks(const store_view *x, wave *w, lin_mask *inside) {
    double blocks = 1;
    *w = (wave){.count = 1};
    *inside = (lin_mask){{0, 0}};
    for (uint32_t l = 0; l < x->path_count; l++) {
        const nest_node *loop = x->path[l];
        if (is_block(loop)) blocks *= (double)loop->extent;
        if (!loop->has_atom) continue;
        if (is_block(loop))
            w->loops[axis_of(loop)] = loop;
        else
            lin_mask_add(inside, x->space->atoms[loop->atom].loop);
    }
    return blocks;
}

static void set_wave(wave *w, double count) {
    assert(count >= 1);
    w->count = count;
    for (int axis = 0; axis < AXES; axis++) {
        double extent = w->loops[axis] != NULL ? (double)w->loops[axis]->extent : 1;
        w->trips[axis] = fmin(extent, count);
        count = ceil(count / w->trips[axis]);
    }
}

/* The growth of an atom when the block index grows by one. */
static double step_of(const lin_atom *atom, uint32_t block) {
    if (atom->kind != LIN_QUOTIENT) return 1;
    for (uint32_t i = 0; i < atom->inner.count; i++)
        if (atom->inner.terms[i].atom == block) return (double)atom->inner.terms[i].factor / (double)atom->divisor;
    return 1 / (double)atom->divisor;
}

static uint32_t find_block_terms(const store_view *x, const access *a, const wave *w,
                                 block_term terms[static MAX_BLOCK_TERMS]) {
    uint32_t count = 0;
    for (uint32_t axis = 0; axis < AXES; axis++) {
        if (w->loops[axis] == NULL) continue;
        uint32_t block = w->loops[axis]->atom, number = x->space->atoms[block].loop;
        if (!lin_mask_has(a->loops, number)) continue;
        for (uint32_t d = 0; d < a->dims; d++) {
            const lin *index = &a->sets[0][d];
            for (uint32_t i = 0; i < index->count && count < MAX_BLOCK_TERMS; i++) {
                const lin_atom *atom = &x->space->atoms[index->terms[i].atom];
                if (!lin_mask_has(atom->loops, number)) continue;
                terms[count++] = (block_term){.dim = d,
                                              .axis = axis,
                                              .step = step_of(atom, block),
                                              .extent = (double)atom->extent,
                                              .factor = fabs((double)index->terms[i].factor)};
            }
        }
    }
    return count;
}

/* Sectors that the blocks of a wave touch; `region` of the access is that of one block. Blocks overlap where an index
 * moves by less than the length of the region. */
static double count_wave_sectors(const access *a, const wave *w, const block_term *terms, uint32_t count) {
    double lengths[PROG_MAX_DIMS], tiles = 1, rows = 1, run = 1;
    bool is_whole = true; /* all inner dimensions are touched as a whole */
    for (uint32_t d = 0; d < a->dims; d++) lengths[d] = (double)a->region[d];
    for (uint32_t i = 0; i < count; i++) {
        const block_term *m = &terms[i];
        double values = fmin(m->extent, fmax(1, ceil(w->trips[m->axis] * m->step)));
        tiles *= fmax(1, values * fmin(1, m->factor / lengths[m->dim]));
        lengths[m->dim] += (values - 1) * fmin(lengths[m->dim], m->factor);
    }
    for (uint32_t d = a->dims; d > 0; d--) {
        double length = fmin(lengths[d - 1], (double)a->shape[d - 1]);
        *(is_whole ? &run : &rows) *= length;
        is_whole = is_whole && length == (double)a->shape[d - 1];
    }
    double sectors = (run + (is_whole ? 0 : SECTOR_ELEMENTS - 1)) / SECTOR_ELEMENTS;
    return rows * sectors * fmin(1, w->count / tiles);
}

void feature_wave(store_view *x, float out[static FEATURE_WAVES]) {
    lin_mask inside;
    wave w;
    block_term terms[MAX_BLOCK_TERMS];
    double blocks = find_blocks(x, &w, &inside), sums[FEATURE_WAVES] = {0};
    for (uint32_t i = 0; i < x->access_count && blocks > 1; i++) {
        access *a = &x->accesses[i];
        if (view_scope(x, a) != PROG_GLOBAL) continue;
        uint32_t count = find_block_terms(x, a, &w, terms);
        view_set_region(x, a, inside);
        for (int size = 0; size < FEATURE_WAVES; size++) {
            set_wave(&w, fmin(blocks, ldexp(1, 4 + 2 * size)));
            sums[size] += count_wave_sectors(a, &w, terms, count) * blocks / w.count;
        }
    }
    for (int size = 0; size < FEATURE_WAVES; size++) out[size] = slog(sums[size]);
}
