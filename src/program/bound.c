/* bound.c - bound inference: from the result backwards, what readers need of a stage at the place where it is computed.
 *
 * Inside the loop at which a stage is computed, the loops around stand still and those inside run: the stage has to
 * offer all that its readers touch meanwhile. Memory that threads share is filled for all of them, so for a tensor in
 * shared memory the threads of the block run as well, and for one in global memory the blocks. Extents follow down the
 * splits and fusions, values of the axes follow up. What a factor that does not divide pushes over the end is guarded.
 */
#include "program/bound.h"

#include "base/error.h"

/* --- Where a stage stands ------------------------------------------------------------------------------------ */

static int leaf_position(const prog_stage *stage, uint16_t iter) {
    for (uint32_t i = 0; i < stage->leaf_count; i++) {
        if (stage->leaves[i] == iter) return (int)i;
    }
    return -1;
}

typedef struct bound_path {
    uint32_t count;
    struct {
        uint16_t stage, iter;
    } loops[LIN_MAX_LOOPS];
} bound_path;

/* The loops around a stage (not its own) that have a loop variable. */
static void bound_path_of(const prog *p, const prog_stage *stage, bound_path *path) {
    path->count = 0;
    while (stage->place == PROG_AT) {
        const prog_stage *target = &p->stages[stage->at_stage];
        for (int i = leaf_position(target, stage->at_iter); i >= 0; i--) {
            if (!target->iters[target->leaves[i]].has_loop || path->count == LIN_MAX_LOOPS) continue;
            path->loops[path->count].stage = (uint16_t)stage->at_stage;
            path->loops[path->count++].iter = target->leaves[i];
        }
        stage = target;
    }
}

/* Memory as near as the threads around it: as in TVM, also when a thread index runs only to 1. */
static prog_scope scope_at(const prog *p, const prog_stage *stage) {
    prog_scope scope = PROG_GLOBAL;
    if (stage->scope != PROG_NO_SCOPE) return stage->scope;
    while (stage->place == PROG_AT) {
        const prog_stage *target = &p->stages[stage->at_stage];
        for (int i = leaf_position(target, stage->at_iter); i >= 0; i--) {
            prog_note note = target->iters[target->leaves[i]].note;
            if (!prog_note_is_thread(note)) continue;
            prog_scope near = prog_note_is_block(note) ? PROG_SHARED : PROG_LOCAL;
            if (near > scope) scope = near;
        }
        stage = target;
    }
    return scope;
}

/* Loops that stand still while the stage is computed. */
static lin_mask still_loops(const prog *p, const prog_stage *stage) {
    bound_path path;
    lin_mask still = {{0, 0}};
    bound_path_of(p, stage, &path);
    for (uint32_t i = 0; i < path.count; i++) {
        const prog_iter *iter = &p->stages[path.loops[i].stage].iters[path.loops[i].iter];
        bool is_thread = prog_note_is_thread(iter->note), is_block = prog_note_is_block(iter->note);
        bool runs = is_thread && (stage->scope == PROG_GLOBAL || (stage->scope == PROG_SHARED && !is_block));
        if (!runs) lin_mask_add(&still, p->space.atoms[iter->atom].loop);
    }
    return still;
}

/* --- What readers need --------------------------------------------------------------------------------------- */

typedef struct needing {
    prog *p;
    prog_stage *stage; /* that is read */
    uint32_t id;
    lin_mask still;
    bool is_first;
    uint32_t count; /* of loads */
} needing;

/* Whether a reader runs while the stage is there: inside of the loop at which it is computed. */
static bool is_inside(const prog *p, const prog_stage *stage, const prog_stage *reader) {
    if (stage->place != PROG_AT) return true;
    const prog_stage *target = &p->stages[stage->at_stage];
    for (; reader != target; reader = &p->stages[reader->at_stage]) {
        if (reader->place != PROG_AT) return false;
        if (reader->at_stage == stage->at_stage)
            return leaf_position(target, reader->at_iter) >= leaf_position(target, stage->at_iter);
    }
    return true;
}

/* The least value while some loops stand still, and how many values there are from there on. */
static lin lowest(prog *p, lin index, lin_mask still, int64_t *span) {
    lin low = lin_number(index.base);
    *span = 1;
    for (uint32_t i = 0; i < index.count; i++) {
        const lin_atom *atom = &p->space.atoms[index.terms[i].atom];
        int64_t factor = index.terms[i].factor;
        if (lin_mask_inside(atom->loops, still)) {
            low = lin_add(&p->space, low, lin_of(&p->space, index.terms[i].atom), factor);
        } else {
            /* A quotient of both kinds of loops may be anything it can be. */
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

static void join(needing *n, uint32_t dim, lin low, int64_t span) {
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
        stage->low[dim] = lin_number(0);
        stage->region[dim] = stage->extents[dim];
    }
}

static bool need(prog_value *load, void *user) {
    needing *n = user;
    if (load->stage != n->id) return true;
    for (uint32_t i = 0; i < load->dims; i++) {
        int64_t span;
        lin low = lowest(n->p, load->index[i], n->still, &span);
        join(n, i, low, span);
    }
    n->is_first = false;
    n->count++;
    return true;
}

static ft_status infer_region(prog *p, prog_stage *stage) {
    uint32_t id = (uint32_t)(stage - p->stages);
    needing n = {.p = p, .stage = stage, .id = id, .is_first = true};
    if (!stage->is_output) {
        n.still = still_loops(p, stage);
        for (uint32_t i = 0; i < p->stage_count; i++) {
            const prog_stage *reader = &p->stages[i];
            if (!reader->is_bound) continue;
            uint32_t count = n.count;
            prog_visit_loads(reader->body, need, &n);
            if (n.count > count && !is_inside(p, stage, reader))
                return ft_fail(p->error, FT_ERR_DAMAGED, "stage %s reads %s, but not where that is computed",
                               reader->name, stage->name);
        }
        if (n.is_first && stage->place == PROG_AT)
            return ft_fail(p->error, FT_ERR_DAMAGED, "stage %s is computed, but nothing reads it", stage->name);
    }
    for (uint32_t i = 0; i < stage->dims && n.is_first; i++) {
        stage->low[i] = lin_number(0);
        stage->region[i] = stage->extents[i];
    }
    return FT_OK;
}

/* --- Extents ------------------------------------------------------------------------------------------------- */

/* A part that is bound to threads keeps its length also when there is less to do: the other stages have as many. */
static int64_t part_extent(const prog_iter *part, int64_t factor, int64_t whole) {
    return prog_note_is_thread(part->note) || factor < whole ? factor : whole;
}

static void split_extents(prog_stage *stage, const prog_relation *r) {
    prog_iter *whole = &stage->iters[r->whole], *outer = &stage->iters[r->outer], *inner = &stage->iters[r->inner];
    int64_t rest = (whole->extent - 1) / r->factor + 1;
    outer->extent = r->is_parts ? part_extent(outer, r->factor, whole->extent) : rest;
    inner->extent = r->is_parts ? rest : part_extent(inner, r->factor, whole->extent);
}

/* Steps tell how long the iterator is that they split. Of an axis that must be true, and lengths of several levels must
 * divide it. Of fused iterators it may be what it was before the tuner changed other lengths, and says nothing. */
static ft_status check_axis(const prog *p, const prog_stage *stage, uint32_t at) {
    const prog_relation *r = &stage->relations[at];
    const prog_iter *whole = &stage->iters[r->whole];
    if (whole->axis < 0 || whole->told == 0) return FT_OK;
    int64_t extent = stage->extents[whole->axis], product = 1;
    if (whole->told != extent && whole->told != whole->extent)
        return ft_fail(p->error, FT_ERR_DAMAGED,
                       "step %u (SP): axis %s of stage %s is told to have %lld turns, but it has %lld", r->step,
                       stage->axis_names[whole->axis], stage->name, (long long)whole->told, (long long)extent);
    uint32_t levels = 0;
    for (uint32_t i = at; i < stage->relation_count && stage->relations[i].step == r->step; i++, levels++) {
        if (__builtin_mul_overflow(product, stage->relations[i].factor, &product)) product = INT64_MAX;
    }
    if (levels < 2 || r->is_parts || whole->told % product == 0) return FT_OK;
    return ft_fail(p->error, FT_ERR_DAMAGED,
                   "step %u (SP): the lengths, together %lld, do not divide the %lld turns of axis %s of stage %s",
                   r->step, (long long)product, (long long)whole->told, stage->axis_names[whole->axis], stage->name);
}

static ft_status infer_extents(prog *p, prog_stage *stage) {
    for (uint32_t i = 0; i < prog_axes(stage); i++)
        stage->iters[i].extent = i < stage->dims ? stage->region[i] : stage->extents[i];
    for (uint32_t i = 0; i < stage->relation_count; i++) {
        const prog_relation *r = &stage->relations[i];
        prog_iter *whole = &stage->iters[r->whole];
        if (r->is_fuse) {
            if (__builtin_mul_overflow(stage->iters[r->outer].extent, stage->iters[r->inner].extent, &whole->extent))
                return ft_fail(p->error, FT_ERR_LIMIT, "stage %s has too many turns", stage->name);
        } else {
            FT_TRY(check_axis(p, stage, i));
            split_extents(stage, r);
        }
    }
    double turns = 1;
    for (uint32_t i = 0; i < stage->leaf_count; i++) turns *= (double)stage->iters[stage->leaves[i]].extent;
    if (turns > 1e17) return ft_fail(p->error, FT_ERR_LIMIT, "stage %s has too many turns", stage->name);
    return FT_OK;
}

/* --- Values -------------------------------------------------------------------------------------------------- */

void bound_values(prog *p, const prog_stage *stage, const lin *leaves, lin *values) {
    lin iters[PROG_MAX_ITERS];
    uint32_t axes = prog_axes(stage);
    for (uint32_t i = 0; i < axes; i++) iters[i] = lin_number(0);
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
    int64_t least, most;
    lin_range(&p->space, value, &least, &most);
    if (least >= 0 && most < high) return;
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

/* Drops bounds that always hold, and the choice when none is left. */
static void simplify_choice(prog *p, prog_value *value) {
    uint32_t kept = 0;
    for (uint32_t i = 0; i < value->bound_count; i++) {
        int64_t least, most;
        lin_range(&p->space, value->bounds[i].index, &least, &most);
        if (least < value->bounds[i].low || most >= value->bounds[i].high) value->bounds[kept++] = value->bounds[i];
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
        value->index[i] = lin_replace(&p->space, value->index[i], stage->first_axis, axes, stage->values);
    for (uint32_t i = 0; i < value->bound_count; i++)
        value->bounds[i].index = lin_replace(&p->space, value->bounds[i].index, stage->first_axis, axes, stage->values);
    bind_value(p, stage, value->a);
    bind_value(p, stage, value->b);
    if (value->op == PROG_IF) simplify_choice(p, value);
}

static ft_status infer_stage(prog *p, prog_stage *stage) {
    stage->scope = scope_at(p, stage);
    FT_TRY(infer_region(p, stage));
    FT_TRY(infer_extents(p, stage));
    lin leaves[PROG_MAX_ITERS];
    for (uint32_t i = 0; i < stage->leaf_count; i++) {
        prog_iter *iter = &stage->iters[stage->leaves[i]];
        iter->has_loop = iter->extent > 1;
        leaves[i] = lin_number(0);
        if (!iter->has_loop) continue;
        iter->atom = lin_new_loop(&p->space, iter->extent);
        leaves[i] = lin_of(&p->space, iter->atom);
    }
    FT_TRY(prog_check(p));
    bound_values(p, stage, leaves, stage->values);
    stage->guard_count = bound_guards(p, stage, stage->values, true, stage->guards);
    bind_value(p, stage, stage->body);
    stage->is_bound = true;
    return prog_check(p);
}

/* A stage that is computed at another must come before it, and so on up to one at the root. */
static ft_status check_places(const prog *p) {
    for (uint32_t i = 0; i < p->stage_count; i++) {
        const prog_stage *stage = &p->stages[p->order[i]];
        if (stage->place != PROG_AT) continue;
        const prog_stage *target = &p->stages[stage->at_stage];
        if (target->place == PROG_INLINED || prog_position(p, stage->at_stage) <= i ||
            leaf_position(target, stage->at_iter) < 0)
            return ft_fail(p->error, FT_ERR_DAMAGED,
                           "stage %s is computed at an iterator of stage %s that is not there", stage->name,
                           target->name);
    }
    return FT_OK;
}

ft_status bound_infer(prog *p) {
    FT_TRY(check_places(p));
    for (uint32_t i = p->stage_count; i > 0; i--) {
        prog_stage *stage = &p->stages[p->order[i - 1]];
        if (stage->body != NULL && stage->place != PROG_INLINED) FT_TRY(infer_stage(p, stage));
    }
    return FT_OK;
}
