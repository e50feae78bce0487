/* bound.c - bound inference: from the output backwards, the region of each stage that its readers need where it is
 * computed, and the extents of its loops.
 *
 * Inside the loop at which a stage is computed, the loops around it are fixed and those inside vary: the stage must
 * compute all elements that its readers load meanwhile. Shared memory is filled for all threads of a block, so for a
 * tensor in shared memory the threads vary as well, and for one in global memory the blocks too. Extents propagate down
 * the splits and fusions, values of the axes propagate up. Iterations beyond the end of an axis, from a factor that
 * does not divide it, are guarded. */
#include <assert.h>

#include "program/lower.h"

#include "base/error.h"

/* --- Loops around a stage ------------------------------------------------------------------------------------ */

static int leaf_position(const prog_stage *stage, uint16_t iter) {
    for (uint32_t i = 0; i < stage->leaf_count; i++) {
        if (stage->leaves[i] == iter) return (int)i;
    }
    return -1;
}

typedef struct loop_path {
    uint32_t count;
    struct {
        uint16_t stage, iter;
    } loops[LIN_MAX_LOOPS];
} loop_path;

/* The loops around a stage (not its own) that have a loop variable. */
static void enclosing_loops(const prog *p, const prog_stage *stage, loop_path *path) {
    path->count = 0;
    while (stage->attach_type == PROG_AT) {
        const prog_stage *target = &p->stages[stage->at_stage];
        for (int i = leaf_position(target, stage->at_iter); i >= 0; i--) {
            if (!target->iters[target->leaves[i]].has_loop || path->count == LIN_MAX_LOOPS) continue;
            path->loops[path->count].stage = (uint16_t)stage->at_stage;
            path->loops[path->count++].iter = target->leaves[i];
        }
        stage = target;
    }
}

/* The memory scope that follows from the threads around a stage: as in TVM, a thread index of extent 1 counts too. */
static prog_scope scope_at(const prog *p, const prog_stage *stage) {
    prog_scope scope = PROG_GLOBAL;
    if (stage->scope != PROG_NO_SCOPE) return stage->scope;
    while (stage->attach_type == PROG_AT) {
        const prog_stage *target = &p->stages[stage->at_stage];
        for (int i = leaf_position(target, stage->at_iter); i >= 0; i--) {
            prog_annotation annotation = target->iters[target->leaves[i]].annotation;
            if (!prog_annotation_is_thread(annotation)) continue;
            prog_scope near = prog_annotation_is_block(annotation) ? PROG_SHARED : PROG_LOCAL;
            if (near > scope) scope = near;
        }
        stage = target;
    }
    return scope;
}

/* Loops that are fixed while the stage is computed. */
static lin_mask fixed_loops(const prog *p, const prog_stage *stage) {
    loop_path path;
    lin_mask fixed = {{0, 0}};
    enclosing_loops(p, stage, &path);
    for (uint32_t i = 0; i < path.count; i++) {
        const prog_iter *iter = &p->stages[path.loops[i].stage].iters[path.loops[i].iter];
        bool is_thread = prog_annotation_is_thread(iter->annotation),
             is_block = prog_annotation_is_block(iter->annotation);
        bool runs = is_thread && (stage->scope == PROG_GLOBAL || (stage->scope == PROG_SHARED && !is_block));
        if (!runs) lin_mask_add(&fixed, p->space.atoms[iter->atom].loop);
    }
    return fixed;
}

/* --- Regions that readers need ------------------------------------------------------------------------------- */

typedef struct region_inference {
    prog *p;
    prog_stage *stage; /* the stage that is read */
    uint32_t id;
    lin_mask fixed;
    bool is_first;
    uint32_t count; /* loads of it found so far */
} region_inference;

/* Whether a reader runs inside the loop at which the stage is computed. */
static bool is_inside(const prog *p, const prog_stage *stage, const prog_stage *reader) {
    if (stage->attach_type != PROG_AT) return true;
    const prog_stage *target = &p->stages[stage->at_stage];
    for (; reader != target; reader = &p->stages[reader->at_stage]) {
        if (reader->attach_type != PROG_AT) return false;
        if (reader->at_stage == stage->at_stage)
            return leaf_position(target, reader->at_iter) >= leaf_position(target, stage->at_iter);
    }
    return true;
}

/* The lowest value while the loops of `fixed` are fixed, and how many values there are from there on. */
static lin find_lowest(prog *p, lin index, lin_mask fixed, int64_t *span) {
    lin low = lin_constant(index.base);
    *span = 1;
    for (uint32_t i = 0; i < index.count; i++) {
        const lin_atom *atom = &p->space.atoms[index.terms[i].atom];
        int64_t factor = index.terms[i].factor;
        if (lin_mask_is_subset(atom->loops, fixed)) {
            low = lin_add(&p->space, low, lin_from_atom(&p->space, index.terms[i].atom), factor);
        } else {
            /* A quotient of fixed and varying loops may have any of its values. */
            int64_t width;
            if (__builtin_mul_overflow(factor < 0 ? -factor : factor, atom->extent - 1, &width) ||
                __builtin_add_overflow(*span, width, span))
                p->space.is_too_large = true;
            else if (factor < 0)
                low.base -= width;
        }
    }
    return low;
}

static void merge_range(region_inference *n, uint32_t dim, lin low, int64_t span) {
    prog_stage *stage = n->stage;
    int64_t apart;
    if (n->is_first) {
        stage->low[dim] = low;
        stage->region[dim] = span;
    } else if (lin_same_terms(low, stage->low[dim], &apart)) {
        int64_t end = apart + span > stage->region[dim] ? apart + span : stage->region[dim];
        if (apart < 0) stage->low[dim] = low;
        stage->region[dim] = apart < 0 ? end - apart : end;
    } else {
        stage->low[dim] = lin_constant(0);
        stage->region[dim] = stage->extents[dim];
    }
}

static bool merge_load(prog_value *load, void *user) {
    region_inference *n = user;
    if (load->stage != n->id) return true;
    for (uint32_t i = 0; i < load->dims; i++) {
        int64_t span;
        lin low = find_lowest(n->p, load->index[i], n->fixed, &span);
        merge_range(n, i, low, span);
    }
    n->is_first = false;
    n->count++;
    return true;
}

static ft_status infer_region(prog *p, prog_stage *stage) {
    uint32_t id = (uint32_t)(stage - p->stages);
    region_inference n = {.p = p, .stage = stage, .id = id, .is_first = true};
    if (!stage->is_output) {
        n.fixed = fixed_loops(p, stage);
        for (uint32_t i = 0; i < p->stage_count; i++) {
            const prog_stage *reader = &p->stages[i];
            if (!reader->is_bound) continue;
            uint32_t count = n.count;
            prog_visit_loads(reader->body, merge_load, &n);
            if (n.count > count && !is_inside(p, stage, reader))
                return ft_fail(p->error, FT_ERR_DAMAGED, "stage %s reads %s outside the loop at which it is computed",
                               reader->name, stage->name);
        }
        if (n.is_first && stage->attach_type == PROG_AT)
            return ft_fail(p->error, FT_ERR_DAMAGED, "stage %s is computed, but nothing reads it", stage->name);
    }
    for (uint32_t i = 0; i < stage->dims && n.is_first; i++) {
        stage->low[i] = lin_constant(0);
        stage->region[i] = stage->extents[i];
    }
    return FT_OK;
}

/* --- Extents ------------------------------------------------------------------------------------------------- */

/* A part that is bound to threads keeps its length even when there is less to do: all stages of a launch have the same
 * threads. */
static int64_t part_extent(const prog_iter *part, int64_t factor, int64_t whole) {
    return prog_annotation_is_thread(part->annotation) || factor < whole ? factor : whole;
}

static void split_extents(prog_stage *stage, const prog_relation *r) {
    prog_iter *whole = &stage->iters[r->whole], *outer = &stage->iters[r->outer], *inner = &stage->iters[r->inner];
    assert(r->factor > 0);
    int64_t rest = (whole->extent - 1) / r->factor + 1;
    outer->extent = r->is_parts ? part_extent(outer, r->factor, whole->extent) : rest;
    inner->extent = r->is_parts ? rest : part_extent(inner, r->factor, whole->extent);
}

/* A split step states the extent of the iterator that it splits. For an axis it must match, and the lengths of several
 * levels must divide it. For fused iterators it may be stale, from before the tuner changed other lengths, and is not
 * checked. */
static ft_status check_axis(const prog *p, const prog_stage *stage, uint32_t at) {
    const prog_relation *r = &stage->relations[at];
    const prog_iter *whole = &stage->iters[r->whole];
    if (whole->axis < 0 || whole->given_extent == 0) return FT_OK;
    int64_t extent = stage->extents[whole->axis], product = 1;
    if (whole->given_extent != extent && whole->given_extent != whole->extent)
        return ft_fail(p->error, FT_ERR_DAMAGED,
                       "step %u (SP): the extent of axis %s of stage %s is given as %lld, but is %lld", r->step,
                       stage->axis_names[whole->axis], stage->name, (long long)whole->given_extent, (long long)extent);
    uint32_t levels = 0;
    for (uint32_t i = at; i < stage->relation_count && stage->relations[i].step == r->step; i++, levels++) {
        if (__builtin_mul_overflow(product, stage->relations[i].factor, &product)) product = INT64_MAX;
    }
    if (levels < 2 || r->is_parts || whole->given_extent % product == 0) return FT_OK;
    return ft_fail(
        p->error, FT_ERR_DAMAGED,
        "step %u (SP): the product of the lengths, %lld, does not divide the extent %lld of axis %s of stage %s",
        r->step, (long long)product, (long long)whole->given_extent, stage->axis_names[whole->axis], stage->name);
}

static ft_status infer_extents(prog *p, prog_stage *stage) {
    for (uint32_t i = 0; i < prog_axes(stage); i++)
        stage->iters[i].extent = i < stage->dims ? stage->region[i] : stage->extents[i];
    for (uint32_t i = 0; i < stage->relation_count; i++) {
        const prog_relation *r = &stage->relations[i];
        prog_iter *whole = &stage->iters[r->whole];
        if (r->is_fuse) {
            if (__builtin_mul_overflow(stage->iters[r->outer].extent, stage->iters[r->inner].extent, &whole->extent))
                return ft_fail(p->error, FT_ERR_LIMIT, "stage %s has too many iterations", stage->name);
        } else {
            FT_TRY(check_axis(p, stage, i));
            split_extents(stage, r);
        }
    }
    double trips = 1;
    for (uint32_t i = 0; i < stage->leaf_count; i++) trips *= (double)stage->iters[stage->leaves[i]].extent;
    if (trips > 1e17) return ft_fail(p->error, FT_ERR_LIMIT, "stage %s has too many iterations", stage->name);
    return FT_OK;
}

/* --- Values -------------------------------------------------------------------------------------------------- */

void bound_values(prog *p, const prog_stage *stage, const lin *leaves, lin *values) {
    lin iters[PROG_MAX_ITERS];
    uint32_t axes = prog_axes(stage);
    for (uint32_t i = 0; i < axes; i++) iters[i] = lin_constant(0);
    for (uint32_t i = 0; i < stage->leaf_count; i++) iters[stage->leaves[i]] = leaves[i];
    for (uint32_t i = stage->relation_count; i > 0; i--) {
        const prog_relation *r = &stage->relations[i - 1];
        if (r->is_fuse) {
            int64_t inner = stage->iters[r->inner].extent;
            iters[r->outer] = lin_divide(&p->space, iters[r->whole], inner);
            iters[r->inner] = lin_modulo(&p->space, iters[r->whole], inner);
        } else {
            iters[r->whole] = lin_add(&p->space, iters[r->inner], iters[r->outer], stage->iters[r->inner].extent);
        }
    }
    for (uint32_t i = 0; i < axes; i++)
        values[i] = i < stage->dims ? lin_add(&p->space, stage->low[i], iters[i], 1) : iters[i];
}

static void guard(prog *p, lin value, int64_t high, prog_bound *guards, uint32_t *count) {
    int64_t min, max;
    lin_range(&p->space, value, &min, &max);
    if (min >= 0 && max < high) return;
    assert(*count < 2 * PROG_MAX_AXES);
    guards[(*count)++] = (prog_bound){.index = value, .low = 0, .high = high};
}

uint32_t bound_guards(prog *p, const prog_stage *stage, const lin *values, bool with_reduced, prog_bound *guards) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < prog_axes(stage); i++) {
        if (i >= stage->dims) {
            if (with_reduced) guard(p, values[i], stage->extents[i], guards, &count);
            continue;
        }
        bool is_whole = stage->low[i].count == 0 && stage->low[i].base == 0 && stage->region[i] == stage->extents[i];
        if (!is_whole) guard(p, lin_add(&p->space, values[i], stage->low[i], -1), stage->region[i], guards, &count);
        guard(p, values[i], stage->extents[i], guards, &count);
    }
    return count;
}

/* --- Bodies -------------------------------------------------------------------------------------------------- */

/* Drops bounds that always hold, and the whole condition when none is left. */
static void simplify_choice(prog *p, prog_value *value) {
    uint32_t kept = 0;
    for (uint32_t i = 0; i < value->bound_count; i++) {
        int64_t min, max;
        lin_range(&p->space, value->bounds[i].index, &min, &max);
        if (min < value->bounds[i].low || max >= value->bounds[i].high) value->bounds[kept++] = value->bounds[i];
    }
    value->bound_count = kept;
    if (kept == 0) {
        prog_value *chosen = value->a;
        *value = *chosen;
    }
}

static void bind_value(prog *p, const prog_stage *stage, prog_value *value) {
    if (value == NULL) return;
    uint32_t axes = prog_axes(stage);
    for (uint32_t i = 0; value->op == PROG_LOAD && i < value->dims; i++)
        value->index[i] = lin_substitute(&p->space, value->index[i], stage->first_axis, axes, stage->values);
    for (uint32_t i = 0; i < value->bound_count; i++)
        value->bounds[i].index =
            lin_substitute(&p->space, value->bounds[i].index, stage->first_axis, axes, stage->values);
    bind_value(p, stage, value->a);
    bind_value(p, stage, value->b);
    if (value->op == PROG_IF) simplify_choice(p, value);
}

static ft_status infer_stage(prog *p, prog_stage *stage) {
    assert(stage->body != NULL && !stage->is_bound);
    stage->scope = scope_at(p, stage);
    FT_TRY(infer_region(p, stage));
    FT_TRY(infer_extents(p, stage));
    lin leaves[PROG_MAX_ITERS];
    for (uint32_t i = 0; i < stage->leaf_count; i++) {
        prog_iter *iter = &stage->iters[stage->leaves[i]];
        iter->has_loop = iter->extent > 1;
        leaves[i] = lin_constant(0);
        if (!iter->has_loop) continue;
        iter->atom = lin_new_loop(&p->space, iter->extent);
        leaves[i] = lin_from_atom(&p->space, iter->atom);
    }
    FT_TRY(prog_check(p));
    bound_values(p, stage, leaves, stage->values);
    stage->guard_count = bound_guards(p, stage, stage->values, true, stage->guards);
    bind_value(p, stage, stage->body);
    stage->is_bound = true;
    return prog_check(p);
}

/* A stage that is computed at another must come before it, up to a stage at the root. */
static ft_status check_places(const prog *p) {
    for (uint32_t i = 0; i < p->stage_count; i++) {
        const prog_stage *stage = &p->stages[p->order[i]];
        if (stage->attach_type != PROG_AT) continue;
        const prog_stage *target = &p->stages[stage->at_stage];
        if (target->attach_type == PROG_INLINED || prog_position(p, stage->at_stage) <= i ||
            leaf_position(target, stage->at_iter) < 0)
            return ft_fail(p->error, FT_ERR_DAMAGED,
                           "stage %s is computed at an iterator of stage %s that does not exist", stage->name,
                           target->name);
    }
    return FT_OK;
}

ft_status bound_infer(prog *p) {
    FT_TRY(check_places(p));
    for (uint32_t i = p->stage_count; i > 0; i--) {
        prog_stage *stage = &p->stages[p->order[i - 1]];
        if (stage->body != NULL && stage->attach_type != PROG_INLINED) FT_TRY(infer_stage(p, stage));
    }
    return FT_OK;
}
