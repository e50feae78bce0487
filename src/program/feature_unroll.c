/* feature_unroll.c - see feature_unroll.h. The rules are those of TVM's passes InjectVirtualThread and UnrollLoop. */
#include "program/feature_unroll.h"

enum { MAX_DEPTH = 8, MAX_COPIES = 16 }; /* of loops written out; with more copies, virtual threads are a loop */

/* --- Marks --------------------------------------------------------------------------------------------------- */

/* What a node hands on to those below it. */
static void go_down(const nest *n, uint32_t at, unroll_mark *marks) {
    const nest_node *node = &n->nodes[at];
    unroll_mark *mark = &marks[at];
    *mark = (unroll_mark){.copies = 1, .launch = NEST_NONE};
    if (at > 0) {
        const unroll_mark *above = &marks[node->parent];
        mark->copies = above->copies;
        mark->limit = above->limit;
        mark->launch = above->launch;
    }
    if (node->kind == NEST_PRAGMA && !node->is_explicit) mark->limit = node->unroll;
    if (node->kind != NEST_THREAD) return;
    if (mark->launch == NEST_NONE) mark->launch = (uint16_t)at;
    if (node->note == PROG_VTHREAD) mark->copies *= (double)node->extent;
}

/* A loop around what the mark has counted so far. */
static void close_loop(unroll_mark *mark, double turns, bool is_told) {
    mark->is_written_out =
        is_told || (turns * mark->steps <= mark->limit && !mark->has_loop && mark->depth <= MAX_DEPTH);
    if (mark->is_written_out) {
        mark->steps *= turns;
        mark->depth++;
    } else {
        mark->has_loop = true;
    }
}

static void close_store(const nest *n, const nest_node *node, unroll_mark *mark) {
    double copies = n->p->stages[node->stage].scope == PROG_SHARED ? 1 : mark->copies;
    mark->steps = 1;
    if (copies < MAX_COPIES)
        mark->steps = copies;
    else
        close_loop(mark, copies, false);
}

static void close_node(const nest *n, uint32_t at, unroll_mark *marks) {
    const nest_node *node = &n->nodes[at];
    unroll_mark *mark = &marks[at], *above = &marks[node->parent];
    if (node->kind == NEST_STORE) close_store(n, node, mark);
    if (node->kind == NEST_LOOP && node->note == PROG_VECTORIZE)
        mark->is_written_out = true; /* one store for all lanes */
    else if (node->kind == NEST_LOOP)
        close_loop(mark, (double)node->extent, node->note == PROG_UNROLL);
    above->steps += mark->steps;
    above->has_loop |= mark->has_loop;
    if (mark->depth > above->depth) above->depth = mark->depth;
}

/* A node stands behind the one that it is in. */
void unroll_find(const nest *n, unroll_mark *marks) {
    for (uint32_t i = 0; i < n->count; i++) go_down(n, i, marks);
    for (uint32_t i = n->count; i > 1; i--) close_node(n, i - 1, marks);
}

/* --- A store ------------------------------------------------------------------------------------------------- */

static bool moves_local(const store_view *x, const nest_node *loop) {
    if (!loop->has_atom) return false;
    for (uint32_t i = 0; i < x->access_count; i++)
        if (view_scope(x, &x->accesses[i]) == PROG_LOCAL &&
            lin_mask_has(x->accesses[i].loops, x->space->atoms[loop->atom].loop))
            return true;
    return false;
}

double feature_unroll(const store_view *x, const nest_node *node, const unroll_mark *marks,
                      float out[static FEATURE_UNROLL_COUNT]) {
    const unroll_mark *own = &marks[node - x->n->nodes];
    double written = 1, left = 1, moving = 1, body = 0, so_far = own->copies, needed = 0;
    for (uint32_t l = 0; l < x->path_count; l++) {
        const nest_node *loop = x->path[l];
        const unroll_mark *mark = &marks[loop - x->n->nodes];
        double turns = (double)loop->extent;
        bool is_copied = view_is_virtual(loop);
        if (loop->kind != NEST_LOOP && !is_copied) continue;
        if (!is_copied) so_far *= turns;
        if (is_copied ? !own->has_loop : mark->is_written_out) {
            written *= turns;
            continue;
        }
        left *= turns;
        if (is_copied || moves_local(x, loop)) {
            moving *= turns;
            needed = fmax(needed, is_copied ? own->copies : so_far); /* copies stand inside of all loops */
        }
        if (body == 0 && !is_copied) body = mark->steps;
    }
    double code = own->launch == NEST_NONE ? own->steps : marks[own->launch].steps;
    out[0] = slog(written);
    out[1] = slog(left);
    out[2] = slog(body > 0 ? body : code);
    out[3] = slog(code);
    out[4] = slog(moving - 1);
    out[5] = slog(needed);
    return written;
}
