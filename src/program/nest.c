/* nest.c - building one tree from the loops of all stages, in TVM's order.
 *
 * A stage that is computed at a loop comes before the rest of that loop's body, inside the lifetime of its buffer. A
 * reduction initialises its result after the loops that are outside all reduced ones. A reduced loop that is bound to
 * threads makes each thread reduce a part, then all threads combine their parts. */
#include "program/nest.h"

#include <assert.h>

#include "base/error.h"
#include "program/lower.h"

typedef struct nest_builder {
    nest *n;
    prog *p;
} nest_builder;

static uint16_t add_node(const nest_builder *b, uint16_t parent, nest_node node) {
    nest *n = b->n;
    assert(parent < n->count);
    if (n->count == NEST_MAX_NODES) {
        b->p->space.is_too_large = true;
        return parent;
    }
    uint16_t id = (uint16_t)n->count++;
    node.parent = parent;
    node.first_child = node.last_child = node.next = NEST_NONE;
    n->nodes[id] = node;
    nest_node *above = &n->nodes[parent];
    if (above->first_child == NEST_NONE)
        above->first_child = id;
    else
        n->nodes[above->last_child].next = id;
    above->last_child = id;
    return id;
}

static uint16_t id_of(const nest_builder *b, const prog_stage *stage) {
    return (uint16_t)(stage - b->p->stages);
}

/* --- Loops --------------------------------------------------------------------------------------------------- */

/* The nodes of one iterator; a serial loop with one trip has none. As in TVM, pragmas on thread iterators are
 * dropped. */
static uint16_t add_loop(const nest_builder *b, uint16_t parent, const prog_stage *stage, uint32_t leaf, bool has_atom,
                         uint32_t atom, bool is_init) {
    const prog_iter *iter = &stage->iters[stage->leaves[leaf]];
    bool is_thread = prog_annotation_is_thread(iter->annotation);
    if (iter->unroll >= 0 && !is_thread) {
        nest_node pragma = {.kind = NEST_PRAGMA, .stage = id_of(b, stage), .unroll = iter->unroll};
        parent = add_node(b, parent, pragma);
        pragma.is_explicit = true;
        parent = add_node(b, parent, pragma);
    }
    if (!has_atom && !is_thread) return parent;
    return add_node(b, parent,
                    (nest_node){.kind = is_thread ? NEST_THREAD : NEST_LOOP,
                                .stage = id_of(b, stage),
                                .annotation = iter->annotation,
                                .iter = stage->leaves[leaf],
                                .has_atom = has_atom,
                                .is_init = is_init,
                                .atom = atom,
                                .extent = iter->extent});
}

static uint16_t add_own_loop(const nest_builder *b, uint16_t parent, const prog_stage *stage, uint32_t leaf) {
    const prog_iter *iter = &stage->iters[stage->leaves[leaf]];
    return add_loop(b, parent, stage, leaf, iter->has_loop, iter->atom, false);
}

/* --- Stores -------------------------------------------------------------------------------------------------- */

static void add_store(const nest_builder *b, uint16_t parent, const prog_stage *stage, nest_store what,
                      const lin *index, const prog_bound *guards, uint32_t guard_count) {
    add_node(b, parent,
             (nest_node){.kind = NEST_STORE,
                         .stage = id_of(b, stage),
                         .store = what,
                         .index = index,
                         .value = stage->body,
                         .guards = guards,
                         .guard_count = guard_count});
}

/* Separate loops that initialise the reduction: those of the stage from `first` on that are not reduced. */
static void add_init(const nest_builder *b, uint16_t parent, const prog_stage *stage, uint32_t first) {
    prog *p = b->p;
    lin leaves[PROG_MAX_ITERS];
    lin *values = ARENA_ARRAY(p->memory, lin, PROG_MAX_AXES);
    prog_bound *guards = ARENA_ARRAY(p->memory, prog_bound, 2 * PROG_MAX_AXES);
    if (values == NULL || guards == NULL) {
        p->space.is_out_of_memory = true;
        return;
    }
    for (uint32_t i = 0; i < stage->leaf_count; i++) {
        const prog_iter *iter = &stage->iters[stage->leaves[i]];
        leaves[i] = lin_constant(0);
        if (iter->is_reduce) continue;
        uint32_t atom = iter->atom;
        if (i >= first) {
            if (iter->has_loop) atom = lin_new_loop(&p->space, iter->extent);
            parent = add_loop(b, parent, stage, i, iter->has_loop, atom, true);
        }
        if (iter->has_loop) leaves[i] = lin_from_atom(&p->space, atom);
    }
    bound_values(p, stage, leaves, values);
    uint32_t count = bound_guards(p, stage, values, false, guards);
    add_store(b, parent, stage, NEST_INIT, values, guards, count);
}

/* --- Stages -------------------------------------------------------------------------------------------------- */

static void add_stage(const nest_builder *b, uint16_t parent, const prog_stage *stage);

/* Stages that are computed at this loop come first, each inside the buffers of the ones before. */
static uint16_t add_attached(const nest_builder *b, uint16_t parent, const prog_stage *stage, uint32_t leaf) {
    const prog *p = b->p;
    uint32_t id = id_of(b, stage);
    for (uint32_t i = 0; i < p->stage_count; i++) {
        const prog_stage *other = &p->stages[p->order[i]];
        if (!other->is_bound || other->attach_type != PROG_AT || other->at_stage != id ||
            other->at_iter != stage->leaves[leaf])
            continue;
        parent = add_node(b, parent, (nest_node){.kind = NEST_REALIZE, .stage = id_of(b, other)});
        add_stage(b, parent, other);
    }
    return parent;
}

static bool is_thread_reduction(const prog_stage *stage) {
    for (uint32_t i = 0; i < stage->leaf_count; i++) {
        const prog_iter *iter = &stage->iters[stage->leaves[i]];
        if (iter->is_reduce && prog_annotation_is_thread(iter->annotation)) return true;
    }
    return false;
}

/* Loops that are not reduced, then threads, then within each thread the rest of the reduced loops. */
static void add_thread_reduction(const nest_builder *b, uint16_t parent, const prog_stage *stage) {
    bool has_rest = false;
    for (int pass = 0; pass < 2; pass++) {
        for (uint32_t i = 0; i < stage->leaf_count; i++) {
            const prog_iter *iter = &stage->iters[stage->leaves[i]];
            bool is_mine =
                pass == 0 ? !iter->is_reduce : iter->is_reduce && prog_annotation_is_thread(iter->annotation);
            has_rest |= iter->is_reduce && !prog_annotation_is_thread(iter->annotation);
            if (!is_mine) continue;
            parent = add_own_loop(b, parent, stage, i);
            parent = add_attached(b, parent, stage, i);
        }
    }
    add_store(b, parent, stage, NEST_PART_INIT, NULL, NULL, 0);
    uint16_t inner = parent;
    for (uint32_t i = 0; i < stage->leaf_count && has_rest; i++) {
        const prog_iter *iter = &stage->iters[stage->leaves[i]];
        if (!iter->is_reduce || prog_annotation_is_thread(iter->annotation)) continue;
        inner = add_own_loop(b, inner, stage, i);
        inner = add_attached(b, inner, stage, i);
    }
    add_store(b, inner, stage, NEST_PART_UPDATE, NULL, stage->guards, stage->guard_count);
    add_node(b, parent, (nest_node){.kind = NEST_REDUCE, .stage = id_of(b, stage)});
    prog_bound *guards = ARENA_ARRAY(b->p->memory, prog_bound, 2 * PROG_MAX_AXES);
    if (guards == NULL) {
        b->p->space.is_out_of_memory = true;
        return;
    }
    add_store(b, parent, stage, NEST_PART_RESULT, stage->values, guards,
              bound_guards(b->p, stage, stage->values, false, guards));
}

static void add_stage(const nest_builder *b, uint16_t parent, const prog_stage *stage) {
    assert(stage->is_bound);
    if (is_thread_reduction(stage)) {
        add_thread_reduction(b, parent, stage);
        return;
    }
    bool is_reduction = stage->reducer != PROG_NO_REDUCER, has_begun = !is_reduction;
    for (uint32_t i = 0; i < stage->leaf_count; i++) {
        if (!has_begun && stage->iters[stage->leaves[i]].is_reduce) {
            add_init(b, parent, stage, i);
            has_begun = true;
        }
        parent = add_own_loop(b, parent, stage, i);
        parent = add_attached(b, parent, stage, i);
    }
    add_store(b, parent, stage, is_reduction ? NEST_UPDATE : NEST_PLAIN, stage->values, stage->guards,
              stage->guard_count);
}

ft_status nest_build(prog *p, nest_node *nodes, nest *n) {
    *n = (nest){.p = p, .nodes = nodes, .count = 1};
    nodes[0] = (nest_node){
        .kind = NEST_ROOT, .parent = NEST_NONE, .first_child = NEST_NONE, .last_child = NEST_NONE, .next = NEST_NONE};
    nest_builder b = {.n = n, .p = p};
    uint16_t parent = 0;
    for (uint32_t i = 0; i < p->stage_count; i++) {
        const prog_stage *stage = &p->stages[p->order[i]];
        if (!stage->is_bound || stage->attach_type != PROG_AT_ROOT) continue;
        if (!stage->is_output)
            parent = add_node(&b, parent, (nest_node){.kind = NEST_REALIZE, .stage = id_of(&b, stage)});
        add_stage(&b, parent, stage);
    }
    return prog_check(p);
}
