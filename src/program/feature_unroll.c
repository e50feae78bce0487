/* feature_unroll.c - loops that are unrolled by TVM, or by the compiler that gets TVM's code.
 *
 * The rules of TVM are those of its passes InjectVirtualThread and UnrollLoop. The limit of compilers was fitted to
 * measured times: accumulators that spill to local memory make a program several times slower, and of all limits this
 * one predicts best, on V100 and K80 alike, which programs spill. */
#include <assert.h>

#include "program/feature_gpu.h"

enum {
    MAX_DEPTH = 8,
    MAX_COPIES = 16
}; /* MAX_DEPTH of unrolled loops; from MAX_COPIES copies on, virtual threads become a loop */
enum { COMPILER_STEPS = 352 }; /* stores in an unrolled loop at most, by the compiler */

/* --- Nodes of the nest --------------------------------------------------------------------------------------- */

/* Values that a node inherits from the nodes above it. */
static void inherit_from_parent(const nest *n, uint32_t at, unroll_info *infos) {
    const nest_node *node = &n->nodes[at];
    unroll_info *info = &infos[at];
    *info = (unroll_info){.copies = 1, .launch = NEST_NONE};
    if (at > 0) {
        const unroll_info *above = &infos[node->parent];
        info->copies = above->copies;
        info->limit = above->limit;
        info->launch = above->launch;
    }
    if (node->kind == NEST_PRAGMA && !node->is_explicit) info->limit = node->unroll;
    if (node->kind != NEST_THREAD) return;
    if (info->launch == NEST_NONE) info->launch = (uint16_t)at;
    if (node->annotation == PROG_VTHREAD) info->copies *= (double)node->extent;
}

/* Adds a loop around the stores counted so far. A compiler may unroll a loop that TVM left, even around other loops. */
static void finish_loop(unroll_info *info, double trips, bool is_annotated) {
    double steps = trips * info->steps;
    if (is_annotated || (steps <= info->limit && !info->has_loop && info->depth <= MAX_DEPTH))
        info->depth++;
    else
        info->has_loop = true;
    info->is_unrolled = !info->has_loop || is_annotated || steps <= COMPILER_STEPS;
    if (info->is_unrolled) info->steps = steps;
}

static void finish_store(const nest *n, const nest_node *node, unroll_info *info) {
    double copies = n->p->stages[node->stage].scope == PROG_SHARED ? 1 : info->copies;
    info->steps = 1;
    if (copies >= MAX_COPIES) {
        finish_loop(info, copies, false);
    } else {
        info->steps = copies;
        info->is_unrolled = true;
    }
}

static void finish_node(const nest *n, uint32_t at, unroll_info *infos) {
    const nest_node *node = &n->nodes[at];
    unroll_info *info = &infos[at], *above = &infos[node->parent];
    assert(node->parent < at);
    if (node->kind == NEST_STORE) finish_store(n, node, info);
    if (node->kind == NEST_LOOP && node->annotation == PROG_VECTORIZE)
        info->is_unrolled = true; /* one store for all lanes */
    else if (node->kind == NEST_LOOP)
        finish_loop(info, (double)node->extent, node->annotation == PROG_UNROLL);
    above->steps += info->steps;
    above->has_loop |= info->has_loop;
    if (info->depth > above->depth) above->depth = info->depth;
}

/* A parent has a lower index than its children. */
void unroll_infer(const nest *n, unroll_info *infos) {
    for (uint32_t i = 0; i < n->count; i++) inherit_from_parent(n, i, infos);
    for (uint32_t i = n->count; i > 1; i--) finish_node(n, i - 1, infos);
}

/* --- Features of a store ------------------------------------------------------------------------------------- */

static bool indexes_local(const store_view *x, const nest_node *loop) {
    if (!loop->has_atom) return false;
    for (uint32_t i = 0; i < x->access_count; i++)
        if (view_scope(x, &x->accesses[i]) == PROG_LOCAL &&
            lin_mask_has(x->accesses[i].loops, x->space->atoms[loop->atom].loop))
            return true;
    return false;
}

double feature_unroll(const store_view *x, const nest_node *node, const unroll_info *infos,
                      float out[static FEATURE_UNROLL_COUNT]) {
    const unroll_info *own = &infos[node - x->n->nodes];
    assert(node->kind == NEST_STORE);
    double unrolled = 1, left = 1, spill_trips = own->is_unrolled ? 1 : own->copies, body = 0, register_trips = 1;
    for (uint32_t l = 0; l < x->path_count; l++) {
        const nest_node *loop = x->path[l];
        const unroll_info *info = &infos[loop - x->n->nodes];
        double trips = (double)loop->extent;
        bool is_copied = view_is_virtual(loop), is_spilling = is_copied || indexes_local(x, loop);
        if (loop->kind != NEST_LOOP && !is_copied) continue;
        if (!is_spilling && spill_trips == 1) register_trips *= trips;
        if (is_copied ? own->is_unrolled : body == 0 && info->is_unrolled)
            unrolled *= trips; /* copies of virtual threads are inside all loops */
        else
            left *= trips;
        if (is_copied || info->is_unrolled) continue;
        if (is_spilling) spill_trips *= trips;
        if (body == 0) body = info->steps;
    }
    double code = own->launch == NEST_NONE ? own->steps : infos[own->launch].steps;
    assert(unrolled >= 1 && left >= 1 && spill_trips >= 1);
    out[0] = slog(unrolled);
    out[1] = slog(left);
    out[2] = slog(body > 0 ? body : code);
    out[3] = slog(code);
    out[4] = slog(spill_trips - 1);
    out[5] = spill_trips > 1 ? slog(UNROLL_SPILL_TRIPS / register_trips) : 0;
    return unrolled;
}
