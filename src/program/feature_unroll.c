/* feature_unroll.c - see feature_unroll.h. The rules of TVM are those of its passes InjectVirtualThread and UnrollLoop.
 * The rule of compilers is taken from measured times: sums that stay in memory make a program several times as slow,
 * and of all limits this one tells best, on V100 and K80 alike, which programs are. */
#include "program/feature_unroll.h"

enum { MAX_DEPTH = 8, MAX_COPIES = 16 }; /* of loops written out; with more copies, virtual threads are a loop */
enum { COMPILER_STEPS = 352 };           /* the most stores that a compiler makes of a loop */

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

/* A loop around what the mark has counted so far. What TVM left, a compiler may write out, around loops too. */
static void close_loop(unroll_mark *mark, double turns, bool is_told) {
    double steps = turns * mark->steps;
    if (is_told || (steps <= mark->limit && !mark->has_loop && mark->depth <= MAX_DEPTH))
        mark->depth++;
    else
        mark->has_loop = true;
    mark->is_written_out = !mark->has_loop || is_told || steps <= COMPILER_STEPS;
    if (mark->is_written_out) mark->steps = steps;
}

static void close_store(const nest *n, const nest_node *node, unroll_mark *mark) {
    double copies = n->p->stages[node->stage].scope == PROG_SHARED ? 1 : mark->copies;
    mark->steps = 1;
    if (copies >= MAX_COPIES) {
        close_loop(mark, copies, false);
    } else {
        mark->steps = copies;
        mark->is_written_out = true;
    }
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
    double written = 1, left = 1, moving = own->is_written_out ? 1 : own->copies, body = 0, kept = 1;
    for (uint32_t l = 0; l < x->path_count; l++) {
        const nest_node *loop = x->path[l];
        const unroll_mark *mark = &marks[loop - x->n->nodes];
        double turns = (double)loop->extent;
        bool is_copied = view_is_virtual(loop), is_moving = is_copied || moves_local(x, loop);
        if (loop->kind != NEST_LOOP && !is_copied) continue;
        if (!is_moving && moving == 1) kept *= turns;
        if (is_copied ? own->is_written_out : body == 0 && mark->is_written_out)
            written *= turns; /* side by side: copies stand inside of all loops */
        else
            left *= turns;
        if (is_copied || mark->is_written_out) continue;
        if (is_moving) moving *= turns;
        if (body == 0) body = mark->steps;
    }
    double code = own->launch == NEST_NONE ? own->steps : marks[own->launch].steps;
    out[0] = slog(written);
    out[1] = slog(left);
    out[2] = slog(body > 0 ? body : code);
    out[3] = slog(code);
    out[4] = slog(moving - 1);
    out[5] = moving > 1 ? slog(UNROLL_MOVES_TURNS / kept) : 0;
    return written;
}
