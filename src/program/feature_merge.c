/* feature_merge.c - see feature_merge.h. */
#include "program/feature_merge.h"

enum { MAX_WIDTH = 4, MAX_WRITTEN = 16, MAX_RUN = 1 << 20 };

/* The place of an access in its memory as one sum: by atom how far one step goes. What is below 0 or too large wraps
 * around, and is as even as it was. */
typedef struct place_term {
    uint32_t atom;
    uint64_t step;
} place_term;

typedef struct place_sum {
    place_term terms[LIN_MAX_TERMS];
    uint32_t count;
    uint64_t base;
} place_sum;

static void add_term(place_sum *sum, uint32_t atom, uint64_t step) {
    for (uint32_t i = 0; i < sum->count; i++) {
        if (sum->terms[i].atom != atom) continue;
        sum->terms[i].step += step;
        return;
    }
    if (sum->count < LIN_MAX_TERMS) sum->terms[sum->count++] = (place_term){atom, step};
}

/* Of loops outside of the life of a buffer nothing moves in it. */
static void find_place(const store_view *x, const access *a, lin_mask moving, place_sum *sum) {
    bool is_part = view_is_part(x, a);
    const int64_t *lengths = is_part ? x->n->p->stages[a->buffer].region : a->shape;
    uint64_t inner = 1;
    sum->count = 0;
    sum->base = 0;
    for (uint32_t d = a->dims; d > 0; d--) {
        const lin *index = &a->sets[0][d - 1];
        if (!is_part) sum->base += (uint64_t)index->base * inner;
        for (uint32_t i = 0; i < index->count; i++) {
            const lin_term *term = &index->terms[i];
            if (is_part && !lin_mask_meets(x->space->atoms[term->atom].loops, moving)) continue;
            add_term(sum, term->atom, (uint64_t)term->factor * inner);
        }
        inner *= (uint64_t)lengths[d - 1];
    }
}

static lin_mask loops_inside(const store_view *x, const nest_node *node, uint32_t buffer) {
    lin_mask inside = {{0, 0}};
    for (uint16_t at = node->parent; at != NEST_NONE; at = x->n->nodes[at].parent) {
        const nest_node *above = &x->n->nodes[at];
        if (above->kind == NEST_REALIZE && above->stage == buffer) break;
        if (above->has_atom) lin_mask_add(&inside, x->space->atoms[above->atom].loop);
    }
    for (uint32_t l = 0; l < x->path_count; l++) /* threads stand outside of what they share */
        if (x->path[l]->kind == NEST_THREAD && x->path[l]->has_atom && !prog_note_is_block(x->path[l]->note))
            lin_mask_add(&inside, x->space->atoms[x->path[l]->atom].loop);
    return inside;
}

/* Elements side by side, from those written out: a loop goes on where those inside of the run have ended. */
static uint64_t find_run(const store_view *x, place_sum *sum, const uint32_t *written, uint32_t written_count) {
    uint64_t run = 1;
    for (bool is_longer = true; is_longer && run < MAX_RUN;) {
        is_longer = false;
        for (uint32_t i = 0; i < sum->count && !is_longer; i++) {
            if (sum->terms[i].step != run) continue;
            for (uint32_t k = 0; k < written_count && !is_longer; k++) is_longer = written[k] == sum->terms[i].atom;
            if (!is_longer) continue;
            run *= (uint64_t)x->space->atoms[sum->terms[i].atom].extent;
            sum->terms[i].step = 0; /* all that is left moves the run */
        }
    }
    return run;
}

static uint32_t merged_width(const store_view *x, const nest_node *node, const access *a, const uint32_t *written,
                             uint32_t written_count) {
    place_sum sum;
    find_place(x, a, loops_inside(x, node, a->buffer), &sum);
    uint64_t run = find_run(x, &sum, written, written_count), width = MAX_WIDTH;
    for (; width > 1; width /= 2) {
        bool is_aligned = run % width == 0 && sum.base % width == 0;
        for (uint32_t i = 0; i < sum.count && is_aligned; i++) is_aligned = sum.terms[i].step % width == 0;
        if (is_aligned) break;
    }
    return (uint32_t)width;
}

/* The innermost loops, from TVM's pass and of what compilers write out on their own. */
static uint32_t find_written(const store_view *x, const unroll_mark *marks, uint32_t written[static MAX_WRITTEN]) {
    static const double OWN_TURNS = 64;
    uint32_t count = 0;
    double turns = 1;
    for (uint32_t l = 0; l < x->path_count && count < MAX_WRITTEN; l++) {
        const nest_node *loop = x->path[l];
        if (loop->kind != NEST_LOOP) continue;
        turns *= (double)loop->extent;
        if (turns > OWN_TURNS && !marks[loop - x->n->nodes].is_written_out) break;
        if (loop->has_atom) written[count++] = loop->atom;
    }
    return count;
}

void feature_merge(store_view *x, const nest_node *node, const unroll_mark *marks, float out[static FEATURE_MERGES]) {
    uint32_t written[MAX_WRITTEN], count = find_written(x, marks, written);
    double least = MAX_WIDTH, most = 1, stored = 1;
    bool has_read = false;
    for (uint32_t i = 0; i < x->access_count; i++) {
        access *a = &x->accesses[i];
        a->width = 1;
        if (count == 0 || view_scope(x, a) == PROG_LOCAL) continue;
        a->width = merged_width(x, node, a, written, count);
        if (a->is_written) stored = a->width;
        if (!a->is_read) continue;
        has_read = true;
        least = fmin(least, a->width);
        most = fmax(most, a->width);
    }
    out[0] = (float)(has_read ? log2(least) : 0);
    out[1] = (float)log2(most);
    out[2] = (float)log2(stored);
}
