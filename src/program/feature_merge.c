/* feature_merge.c - loads and stores of one thread that are contiguous and aligned, so that one instruction can move
 * several. */
#include <assert.h>

#include "program/feature_gpu.h"

enum { MAX_WIDTH = 4, MAX_UNROLLED = 16, MAX_RUN = 1 << 20 };

/* The address of an access in its buffer as one sum: the step per unit of each atom. Values below 0 or too large wrap
 * around, which keeps their alignment. */
typedef struct address_term {
    uint32_t atom;
    uint64_t step;
} address_term;

typedef struct address_sum {
    address_term terms[LIN_MAX_TERMS];
    uint32_t count;
    uint64_t base;
} address_sum;

static void add_term(address_sum *sum, uint32_t atom, uint64_t step) {
    for (uint32_t i = 0; i < sum->count; i++) {
        if (sum->terms[i].atom != atom) continue;
        sum->terms[i].step += step;
        return;
    }
    if (sum->count < LIN_MAX_TERMS) sum->terms[sum->count++] = (address_term){atom, step};
}

/* A partial buffer moves along with the loops outside its lifetime, so these do not change the address. */
static void find_address(const store_view *x, const access *a, lin_mask inside, address_sum *sum) {
    bool is_part = view_is_partial(x, a);
    const int64_t *lengths = is_part ? x->n->p->stages[a->buffer].region : a->shape;
    uint64_t inner = 1;
    sum->count = 0;
    sum->base = 0;
    for (uint32_t d = a->dims; d > 0; d--) {
        const lin *index = &a->sets[0][d - 1];
        if (!is_part) sum->base += (uint64_t)index->base * inner;
        for (uint32_t i = 0; i < index->count; i++) {
            const lin_term *term = &index->terms[i];
            if (is_part && !lin_mask_intersects(x->space->atoms[term->atom].loops, inside)) continue;
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
    for (uint32_t l = 0; l < x->path_count; l++) /* threads are outside the lifetime of shared buffers */
        if (x->path[l]->kind == NEST_THREAD && x->path[l]->has_atom &&
            !prog_annotation_is_block(x->path[l]->annotation))
            lin_mask_add(&inside, x->space->atoms[x->path[l]->atom].loop);
    return inside;
}

/* The number of contiguous elements in the unrolled loops: a loop extends the run when its step is the length of the
 * run so far. */
static uint64_t find_run(const store_view *x, address_sum *sum, const uint32_t *unrolled, uint32_t unrolled_count) {
    uint64_t run = 1;
    for (bool is_longer = true; is_longer && run < MAX_RUN;) {
        is_longer = false;
        for (uint32_t i = 0; i < sum->count && !is_longer; i++) {
            if (sum->terms[i].step != run) continue;
            for (uint32_t k = 0; k < unrolled_count && !is_longer; k++) is_longer = unrolled[k] == sum->terms[i].atom;
            if (!is_longer) continue;
            run *= (uint64_t)x->space->atoms[sum->terms[i].atom].extent;
            sum->terms[i].step = 0; /* the remaining terms move the whole run */
        }
    }
    return run;
}

static uint32_t merged_width(const store_view *x, const nest_node *node, const access *a, const uint32_t *unrolled,
                             uint32_t unrolled_count) {
    address_sum sum;
    find_address(x, a, loops_inside(x, node, a->buffer), &sum);
    uint64_t run = find_run(x, &sum, unrolled, unrolled_count), width = MAX_WIDTH;
    for (; width > 1; width /= 2) {
        bool is_aligned = run % width == 0 && sum.base % width == 0;
        for (uint32_t i = 0; i < sum.count && is_aligned; i++) is_aligned = sum.terms[i].step % width == 0;
        if (is_aligned) break;
    }
    assert(width >= 1 && width <= MAX_WIDTH);
    return (uint32_t)width;
}

/* The atoms of the innermost loops that TVM unrolls, or a compiler, which unrolls COMPILER_TRIPS trips on its own. */
static uint32_t find_unrolled(const store_view *x, const unroll_info *infos, uint32_t unrolled[static MAX_UNROLLED]) {
    static const double COMPILER_TRIPS = 64;
    uint32_t count = 0;
    double trips = 1;
    for (uint32_t l = 0; l < x->path_count && count < MAX_UNROLLED; l++) {
        const nest_node *loop = x->path[l];
        if (loop->kind != NEST_LOOP) continue;
        trips *= (double)loop->extent;
        if (trips > COMPILER_TRIPS && !infos[loop - x->n->nodes].is_unrolled) break;
        if (loop->has_atom) unrolled[count++] = loop->atom;
    }
    return count;
}

void feature_merge(store_view *x, const nest_node *node, const unroll_info *infos, float out[static FEATURE_MERGES]) {
    uint32_t unrolled[MAX_UNROLLED], count = find_unrolled(x, infos, unrolled);
    double min = MAX_WIDTH, max = 1, stored = 1;
    assert(node->kind == NEST_STORE);
    bool has_read = false;
    for (uint32_t i = 0; i < x->access_count; i++) {
        access *a = &x->accesses[i];
        a->width = 1;
        if (count == 0 || view_scope(x, a) == PROG_LOCAL) continue;
        a->width = merged_width(x, node, a, unrolled, count);
        if (a->is_written) stored = a->width;
        if (!a->is_read) continue;
        has_read = true;
        min = fmin(min, a->width);
        max = fmax(max, a->width);
    }
    out[0] = (float)(has_read ? log2(min) : 0);
    out[1] = (float)log2(max);
    out[2] = (float)log2(stored);
}
