/* feature_view.c - loops, accesses, regions, strides and reuse of a store. */
#include "program/feature_view.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* --- Accesses ------------------------------------------------------------------------------------------------ */

static const lin zero_index[1] = {{0, 0, NULL}};

static access *find_access(store_view *x, uint32_t buffer) {
    for (uint32_t i = 0; i < x->access_count; i++) {
        if (x->accesses[i].buffer == buffer) return &x->accesses[i];
    }
    if (x->access_count == MAX_ACCESSES) {
        x->is_too_large = true;
        return &x->accesses[0];
    }
    access *a = &x->accesses[x->access_count++];
    a->buffer = buffer;
    a->is_read = a->is_written = a->has_region = false;
    a->set_count = 0;
    a->loops = (lin_mask){{0, 0}};
    memset(a->dim_loops, 0, sizeof a->dim_loops);
    a->dims = 1;
    a->shape[0] = 1;
    if (buffer >= PROG_MAX_STAGES) return a;
    const prog_stage *stage = &x->n->p->stages[buffer];
    if (stage->dims == 0) return a;
    a->dims = stage->dims;
    memcpy(a->shape, stage->extents, stage->dims * sizeof a->shape[0]);
    return a;
}

/* A buffer that is both read and written is updated in place, at one index. */
static void add_access(store_view *x, uint32_t buffer, const lin *index, bool is_written) {
    access *a = find_access(x, buffer);
    bool was_written = a->is_written;
    a->is_written |= is_written;
    a->is_read |= !is_written;
    if (was_written || a->set_count == MAX_INDEX_SETS) return;
    if (a->dims == 1 && a->shape[0] == 1 && index == NULL) index = zero_index;
    a->sets[a->set_count++] = index;
    for (uint32_t i = 0; i < a->dims; i++) {
        a->dim_loops[i] = lin_mask_or(a->dim_loops[i], lin_loops(x->space, index[i]));
        a->loops = lin_mask_or(a->loops, a->dim_loops[i]);
    }
}

static void add_loads(store_view *x, const prog_value *v) {
    if (v == NULL) return;
    if (v->op == PROG_LOAD) add_access(x, v->stage, v->dims > 0 ? v->index : zero_index, false);
    add_loads(x, v->a);
    add_loads(x, v->b);
}

void view_find_accesses(store_view *x, const nest_node *node) {
    const prog_stage *stage = &x->n->p->stages[node->stage];
    bool is_part = node->store == NEST_PART_INIT || node->store == NEST_PART_UPDATE;
    uint32_t target = is_part ? TEMP_PART : node->stage;
    const lin *index = is_part || stage->dims == 0 ? zero_index : node->index;
    x->access_count = 0;
    add_access(x, target, index, true);
    if (node->store == NEST_UPDATE || node->store == NEST_PART_UPDATE) add_access(x, target, index, false);
    if (node->store == NEST_PART_RESULT) add_access(x, TEMP_RESULT, zero_index, false);
    if (node->store == NEST_PLAIN || node->store == NEST_UPDATE || node->store == NEST_PART_UPDATE)
        add_loads(x, node->value);
}

/* --- Loops around a store ------------------------------------------------------------------------------------ */

/* Threads that fill a buffer together have thread loops of their own. The thread loops outside the lifetime of a shared
 * buffer stand for the same threads, as does a thread index that was already bound further inside: both are skipped. */
static bool is_same_threads(const nest_node *loop, prog_scope outside, const bool *is_bound) {
    if (loop->kind != NEST_THREAD) return false;
    if (loop->annotation != PROG_VTHREAD && is_bound[loop->annotation]) return true;
    return outside == PROG_SHARED ? !prog_annotation_is_block(loop->annotation) : outside == PROG_GLOBAL;
}

void view_find_path(store_view *x, const nest_node *node) {
    const nest *n = x->n;
    bool is_bound[PROG_ANNOTATION_COUNT] = {false};
    assert(node->kind == NEST_STORE);
    prog_scope outside = PROG_NO_SCOPE; /* the scope of the buffer, outside its lifetime */
    x->path_count = 0;
    for (uint16_t at = node->parent; at != NEST_NONE; at = n->nodes[at].parent) {
        const nest_node *above = &n->nodes[at];
        if (above->kind == NEST_REALIZE && above->stage == node->stage) outside = n->p->stages[node->stage].scope;
        if (above->kind != NEST_LOOP && above->kind != NEST_THREAD) continue;
        if (is_same_threads(above, outside, is_bound)) continue;
        if (above->kind == NEST_THREAD) is_bound[above->annotation] = true;
        if (x->path_count == MAX_PATH) {
            x->is_too_large = true;
            return;
        }
        x->path[x->path_count++] = above;
    }
}

prog_scope view_scope(const store_view *x, const access *a) {
    if (a->buffer >= PROG_MAX_STAGES) return PROG_LOCAL;
    prog_scope scope = x->n->p->stages[a->buffer].scope;
    return scope == PROG_NO_SCOPE ? PROG_GLOBAL : scope;
}

/* --- Regions ------------------------------------------------------------------------------------------------- */

static int64_t length_of(const store_view *x, const access *a, uint32_t dim, lin_mask varying) {
    int64_t min = INT64_MAX, max = INT64_MIN;
    assert(dim < a->dims && a->set_count > 0);
    for (uint32_t i = 0; i < a->set_count; i++) {
        int64_t lo, hi;
        lin_range_varying(x->space, a->sets[i][dim], varying, &lo, &hi);
        if (lo < min) min = lo;
        if (hi > max) max = hi;
    }
    return max - min + 1;
}

/* Called repeatedly with nearly the same loops: only dimensions that depend on a changed loop are recomputed. */
void view_set_region(const store_view *x, access *a, lin_mask varying) {
    lin_mask changed = lin_mask_xor(varying, a->varying);
    a->touched = 1;
    for (uint32_t d = 0; d < a->dims; d++) {
        if (!a->has_region || lin_mask_intersects(changed, a->dim_loops[d])) a->region[d] = length_of(x, a, d, varying);
        a->touched *= (double)a->region[d];
    }
    a->varying = varying;
    a->has_region = true;
}

static void add_footprint(store_view *x, const nest_node *loop) {
    footprint *t = &x->footprints[loop - x->n->nodes];
    for (uint32_t i = 0; i < x->access_count; i++) {
        const access *a = &x->accesses[i];
        t->bytes += a->touched * ELEMENT_BYTES;
        t->element_bytes += ELEMENT_BYTES;
        float touched = (float)a->touched;
        if (t->buffers[a->buffer].count == 0 || touched < t->buffers[a->buffer].min)
            t->buffers[a->buffer].min = touched;
        t->buffers[a->buffer].count++;
    }
}

void view_walk_loops(store_view *x, double flops, float *work, float *bytes) {
    lin_mask varying = {{0, 0}};
    for (uint32_t i = 0; i < x->access_count; i++) view_set_region(x, &x->accesses[i], varying);
    for (uint32_t l = 0; l < x->path_count; l++) {
        const nest_node *loop = x->path[l];
        double sum = 0;
        uint32_t number = loop->has_atom ? x->space->atoms[loop->atom].loop : 0;
        if (loop->has_atom) lin_mask_add(&varying, number);
        for (uint32_t i = 0; i < x->access_count; i++) {
            access *a = &x->accesses[i];
            if (loop->has_atom && lin_mask_has(a->loops, number)) view_set_region(x, a, varying);
            sum += a->touched * ELEMENT_BYTES;
        }
        add_footprint(x, loop);
        flops *= (double)loop->extent;
        work[l] = flops > 0 ? log2f((float)flops) : -INFINITY;
        bytes[l] = sum > 0 ? log2f((float)sum) : -INFINITY;
    }
}

/* --- Strides and reuse --------------------------------------------------------------------------------------- */

/* The factor of a loop in an index; 2 when it is inside a quotient, 0 when the index does not depend on it. */
static int64_t factor_of(const lin_space *space, lin a, uint32_t atom) {
    int64_t found = 0;
    uint32_t loop = space->atoms[atom].loop;
    for (uint32_t i = 0; i < a.count; i++) {
        if (a.terms[i].atom == atom) return a.terms[i].factor < 0 ? -a.terms[i].factor : a.terms[i].factor;
        if (lin_mask_has(space->atoms[a.terms[i].atom].loops, loop)) found = 2;
    }
    return found;
}

double view_stride(const store_view *x, const access *a, const nest_node *loop) {
    double min = 0;
    if (!loop->has_atom) return 0;
    for (uint32_t i = 0; i < a->set_count; i++) {
        double inner = 1;
        for (uint32_t d = a->dims; d > 0; d--) {
            int64_t factor = factor_of(x->space, a->sets[i][d - 1], loop->atom);
            if (factor != 0) {
                double stride = (double)factor * inner;
                if (min == 0 || stride < min) min = stride;
                break;
            }
            inner *= (double)a->shape[d - 1];
        }
    }
    return min;
}

static bool moves(const store_view *x, const access *a, const nest_node *loop) {
    return loop->has_atom && lin_mask_has(a->loops, x->space->atoms[loop->atom].loop);
}

/* Reuse by the innermost loop that does not move the access, or by another store under a common loop. */
reuse view_find_reuse(const store_view *x, const access *a) {
    double iterations = 1, bytes = -1;
    for (uint32_t l = 0; l < x->path_count; l++) {
        const nest_node *loop = x->path[l];
        const footprint *t = &x->footprints[loop - x->n->nodes];
        double extent = (double)loop->extent;
        if (!moves(x, a, loop)) return (reuse){REUSE_LOOP, iterations, bytes < 0 ? t->element_bytes : bytes, extent};
        iterations *= extent;
        bytes = t->bytes;
        if (t->buffers[a->buffer].count > 1)
            return (reuse){REUSE_SERIAL, t->buffers[a->buffer].min / extent, t->bytes / extent,
                           t->buffers[a->buffer].count - 1};
    }
    return (reuse){.kind = REUSE_NONE};
}
