/* feature_wave.c - see feature_wave.h. */
#include "program/feature_wave.h"

enum { SECTOR_ELEMENTS = 8, AXES = 3, MAX_MOVES = 16 };

/* Blocks that are under way together. */
typedef struct wave {
    const nest_node *loops[AXES]; /* x runs fastest; NULL: one turn */
    double turns[AXES];           /* of each, neighbours */
    double count;
} wave;

/* What moves an index from block to block: a term of it, whose value grows by `step` from one block to the next. */
typedef struct move {
    uint32_t dim, axis;
    double step, extent, factor;
} move;

static int axis_of(const nest_node *loop) {
    return loop->note == PROG_BLOCK_X ? 0 : loop->note == PROG_BLOCK_Y ? 1 : 2;
}

static bool is_block(const nest_node *loop) {
    return loop->kind == NEST_THREAD && prog_note_is_block(loop->note);
}

/* Returns how many blocks there are; `inside` gets the loops of one. */
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
    w->count = count;
    for (int axis = 0; axis < AXES; axis++) {
        double extent = w->loops[axis] != NULL ? (double)w->loops[axis]->extent : 1;
        w->turns[axis] = fmin(extent, count);
        count = ceil(count / w->turns[axis]);
    }
}

/* How much a quotient grows when the block does by one. */
static double step_of(const lin_atom *atom, uint32_t block) {
    if (atom->kind != LIN_QUOTIENT) return 1;
    for (uint32_t i = 0; i < atom->inner.count; i++)
        if (atom->inner.terms[i].atom == block) return (double)atom->inner.terms[i].factor / (double)atom->divisor;
    return 1 / (double)atom->divisor;
}

static uint32_t find_moves(const store_view *x, const access *a, const wave *w, move moves[static MAX_MOVES]) {
    uint32_t count = 0;
    for (uint32_t axis = 0; axis < AXES; axis++) {
        if (w->loops[axis] == NULL) continue;
        uint32_t block = w->loops[axis]->atom, number = x->space->atoms[block].loop;
        if (!lin_mask_has(a->loops, number)) continue;
        for (uint32_t d = 0; d < a->dims; d++) {
            const lin *index = &a->sets[0][d];
            for (uint32_t i = 0; i < index->count && count < MAX_MOVES; i++) {
                const lin_atom *atom = &x->space->atoms[index->terms[i].atom];
                if (!lin_mask_has(atom->loops, number)) continue;
                moves[count++] = (move){.dim = d,
                                        .axis = axis,
                                        .step = step_of(atom, block),
                                        .extent = (double)atom->extent,
                                        .factor = fabs((double)index->terms[i].factor)};
            }
        }
    }
    return count;
}

/* Sectors that the blocks of a wave touch; `region` of the access is what one block does. Neighbours overlap where an
 * index moves by less than the region is long. */
static double touch_wave(const access *a, const wave *w, const move *moves, uint32_t count) {
    double lengths[PROG_MAX_DIMS], places = 1, rows = 1, run = 1;
    bool is_whole = true; /* all dimensions behind this one */
    for (uint32_t d = 0; d < a->dims; d++) lengths[d] = (double)a->region[d];
    for (uint32_t i = 0; i < count; i++) {
        const move *m = &moves[i];
        double values = fmin(m->extent, fmax(1, ceil(w->turns[m->axis] * m->step)));
        places *= fmax(1, values * fmin(1, m->factor / lengths[m->dim]));
        lengths[m->dim] += (values - 1) * fmin(lengths[m->dim], m->factor);
    }
    for (uint32_t d = a->dims; d > 0; d--) {
        double length = fmin(lengths[d - 1], (double)a->shape[d - 1]);
        *(is_whole ? &run : &rows) *= length;
        is_whole = is_whole && length == (double)a->shape[d - 1];
    }
    double sectors = (run + (is_whole ? 0 : SECTOR_ELEMENTS - 1)) / SECTOR_ELEMENTS;
    return rows * sectors * fmin(1, w->count / places);
}

void feature_wave(store_view *x, float out[static FEATURE_WAVES]) {
    lin_mask inside;
    wave w;
    move moves[MAX_MOVES];
    double blocks = find_blocks(x, &w, &inside), sums[FEATURE_WAVES] = {0};
    for (uint32_t i = 0; i < x->access_count && blocks > 1; i++) {
        access *a = &x->accesses[i];
        if (view_scope(x, a) != PROG_GLOBAL) continue;
        uint32_t count = find_moves(x, a, &w, moves);
        view_touch_region(x, a, inside);
        for (int size = 0; size < FEATURE_WAVES; size++) {
            set_wave(&w, fmin(blocks, ldexp(1, 4 + 2 * size)));
            sums[size] += touch_wave(a, &w, moves, count) * blocks / w.count;
        }
    }
    for (int size = 0; size < FEATURE_WAVES; size++) out[size] = slog(sums[size]);
}
