/* steps_stage.c - schedule steps that add or remove stages: caches, inlining, and rfactor. */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "program/lower.h"

static uint32_t id_of(const prog *p, const prog_stage *stage) {
    return (uint32_t)(stage - p->stages);
}

static ft_status scope_of(const step_context *s, prog_scope *scope) {
    for (prog_scope i = PROG_GLOBAL; i <= PROG_LOCAL; i++) {
        if (strcmp(s->step->text, prog_scope_name(i)) == 0) {
            *scope = i;
            return FT_OK;
        }
    }
    return steps_fail(s, FT_ERR_UNSUPPORTED, "unknown scope \"%.20s\"", s->step->text);
}

/* A copy of another stage, named after it. */
static prog_stage *new_like(prog *p, uint32_t order, const prog_stage *model, const char *suffix) {
    prog_stage *stage = prog_new_stage(p, order);
    if (stage == NULL) return NULL;
    snprintf(stage->name, sizeof stage->name, "%.36s.%s", model->name, suffix);
    stage->dims = model->dims;
    memcpy(stage->extents, model->extents, sizeof stage->extents);
    memcpy(stage->axis_names, model->axis_names, sizeof stage->axis_names);
    return stage;
}

/* --- Caches -------------------------------------------------------------------------------------------------- */

typedef struct redirection {
    uint32_t from, to;
    bool found;
} redirection;

static bool redirect(prog_value *load, void *user) {
    redirection *r = user;
    if (load->stage == r->from) {
        load->stage = r->to;
        r->found = true;
    }
    return true;
}

/* A copy of a tensor, which some of its readers read instead. */
ft_status steps_cache_read(const step_context *s) {
    prog *p = s->p;
    prog_scope scope = PROG_NO_SCOPE;
    FT_TRY(scope_of(s, &scope));
    if (s->step->stage < 0 || s->step->stage >= p->stage_count)
        return steps_fail(s, FT_ERR_DAMAGED, "there is no stage %lld; the program has %u stages",
                          (long long)s->step->stage, p->stage_count);
    uint32_t source = p->order[s->step->stage];
    if (p->stages[source].attach_type == PROG_INLINED)
        return steps_fail(s, FT_ERR_DAMAGED, "stage %s is inlined: there is nothing to copy", p->stages[source].name);
    uint32_t readers[PROG_MAX_STAGES];
    if (s->step->count == 0 || s->step->count > PROG_MAX_STAGES)
        return steps_fail(s, FT_ERR_DAMAGED, "it has %u readers, not 1 to 24", s->step->count);
    for (uint32_t i = 0; i < s->step->count; i++) {
        prog_stage *reader = NULL;
        FT_TRY(steps_stage(s, s->step->list[i], &reader));
        if (s->step->list[i] <= s->step->stage)
            return steps_fail(s, FT_ERR_DAMAGED, "reader %lld does not come after the stage",
                              (long long)s->step->list[i]);
        readers[i] = id_of(p, reader);
    }
    prog_stage *cache = new_like(p, (uint32_t)s->step->stage + 1, &p->stages[source], s->step->text);
    if (cache == NULL) return prog_check(p);
    prog_init_axes(p, cache);
    cache->scope = scope;
    cache->body = prog_load_same(p, source, cache);
    if (cache->body == NULL) return prog_check(p);
    for (uint32_t i = 0; i < s->step->count; i++) {
        redirection r = {.from = source, .to = id_of(p, cache)};
        prog_visit_loads(p->stages[readers[i]].body, redirect, &r);
        if (!r.found)
            return steps_fail(s, FT_ERR_DAMAGED, "stage %s does not read %s", p->stages[readers[i]].name,
                              p->stages[source].name);
    }
    return FT_OK;
}

/* A new stage before this one computes the values, and this one only copies them. */
ft_status steps_cache_write(const step_context *s) {
    prog *p = s->p;
    prog_scope scope = PROG_NO_SCOPE;
    prog_stage *stage = NULL;
    FT_TRY(scope_of(s, &scope));
    FT_TRY(steps_stage(s, s->step->stage, &stage));
    if (stage->relation_count > 0 || stage->attach_type != PROG_AT_ROOT)
        return steps_fail(s, FT_ERR_UNSUPPORTED, "stage %s has schedule steps before its write cache", stage->name);
    prog_stage *cache = new_like(p, (uint32_t)s->step->stage, stage, s->step->text);
    if (cache == NULL) return prog_check(p);
    cache->reduced = stage->reduced;
    cache->reducer = stage->reducer;
    cache->body = stage->body;
    cache->first_axis = stage->first_axis;
    cache->scope = scope;
    prog_reset_iters(cache);
    stage->reduced = 0;
    stage->reducer = PROG_NO_REDUCER;
    prog_init_axes(p, stage);
    stage->body = prog_load_same(p, id_of(p, cache), stage);
    return stage->body != NULL ? FT_OK : prog_check(p);
}

/* --- Inlining ------------------------------------------------------------------------------------------------ */

typedef struct inlining {
    prog *p;
    const prog_stage *stage;
} inlining;

static bool put_in(prog_value *load, void *user) {
    const inlining *in = user;
    if (load->stage != id_of(in->p, in->stage)) return true;
    prog_value *copy = prog_copy_value(in->p, in->stage->body, in->stage, load->index);
    if (copy == NULL) return false;
    *load = *copy;
    return true;
}

/* Replaces each load of the stage by its body. The stage keeps its number. */
ft_status steps_inline(const step_context *s) {
    prog *p = s->p;
    prog_stage *stage = NULL;
    FT_TRY(steps_stage(s, s->step->stage, &stage));
    if (stage->is_output)
        return steps_fail(s, FT_ERR_DAMAGED, "stage %s is the output and cannot be inlined", stage->name);
    if (stage->reducer != PROG_NO_REDUCER)
        return steps_fail(s, FT_ERR_DAMAGED, "stage %s is a reduction and cannot be inlined", stage->name);
    if (stage->attach_type == PROG_INLINED) return FT_OK;
    for (uint32_t i = 0; i < p->stage_count; i++) {
        if (p->stages[i].attach_type == PROG_AT && p->stages[i].at_stage == id_of(p, stage))
            return steps_fail(s, FT_ERR_DAMAGED, "stage %s is computed at a loop of the inlined stage",
                              p->stages[i].name);
    }
    inlining in = {.p = p, .stage = stage};
    for (uint32_t i = 0; i < p->stage_count; i++) {
        if (p->stages[i].body != NULL && &p->stages[i] != stage) prog_visit_loads(p->stages[i].body, put_in, &in);
    }
    stage->attach_type = PROG_INLINED;
    return prog_check(p);
}

/* --- Rfactor ------------------------------------------------------------------------------------------------- */

/* The reduced axes of a stage in terms of those of the first half; padded when a factor does not divide. */
static void reduced_values(prog *p, const prog_stage *stage, const lin *leaves, lin *values) {
    lin iters[PROG_MAX_ITERS];
    uint32_t axes = prog_axes(stage);
    for (uint32_t i = 0; i < axes; i++) iters[i] = lin_constant(0);
    for (uint32_t i = 0; i < stage->leaf_count; i++) iters[stage->leaves[i]] = leaves[i];
    for (uint32_t i = stage->relation_count; i > 0; i--) {
        const prog_relation *r = &stage->relations[i - 1];
        if (r->is_fuse) {
            iters[r->outer] = lin_divide(&p->space, iters[r->whole], stage->iters[r->inner].extent);
            iters[r->inner] = lin_modulo(&p->space, iters[r->whole], stage->iters[r->inner].extent);
        } else {
            iters[r->whole] = lin_add(&p->space, iters[r->inner], iters[r->outer], stage->iters[r->inner].extent);
        }
    }
    for (uint32_t i = 0; i < axes; i++) values[i] = iters[i];
}

/* Extents of iterators from those of the axes: no stage is attached yet. */
static ft_status known_extents(const step_context *s, prog_stage *stage) {
    for (uint32_t i = 0; i < stage->relation_count; i++) {
        const prog_relation *r = &stage->relations[i];
        prog_iter *whole = &stage->iters[r->whole], *outer = &stage->iters[r->outer], *inner = &stage->iters[r->inner];
        if (r->is_fuse) {
            if (__builtin_mul_overflow(outer->extent, inner->extent, &whole->extent))
                return steps_fail(s, FT_ERR_LIMIT, "stage %s has too many iterations", stage->name);
        } else {
            int64_t part = r->factor < whole->extent ? r->factor : whole->extent;
            int64_t rest = (whole->extent - 1) / r->factor + 1;
            outer->extent = r->is_parts ? part : rest;
            inner->extent = r->is_parts ? rest : part;
        }
    }
    return FT_OK;
}

static ft_status check_rfactor(const step_context *s, const prog_stage *stage, uint32_t leaf) {
    if (stage->reducer == PROG_NO_REDUCER || !stage->iters[stage->leaves[leaf]].is_reduce)
        return steps_fail(s, FT_ERR_DAMAGED, "iterator %u of stage %s is not reduced", leaf, stage->name);
    if (s->step->factor_iter < 0 || s->step->factor_iter > stage->dims || stage->dims == PROG_MAX_DIMS)
        return steps_fail(s, FT_ERR_DAMAGED, "stage %s cannot have a new axis %lld", stage->name,
                          (long long)s->step->factor_iter);
    for (uint32_t i = 0; i < stage->leaf_count; i++) {
        const prog_iter *iter = &stage->iters[stage->leaves[i]];
        if (!iter->is_reduce && (iter->axis != (int16_t)i || iter->annotation != PROG_SERIAL))
            return steps_fail(s, FT_ERR_UNSUPPORTED, "stage %s has schedule steps before its rfactor", stage->name);
    }
    return stage->attach_type == PROG_AT_ROOT
               ? FT_OK
               : steps_fail(s, FT_ERR_UNSUPPORTED, "stage %s is computed at a loop before its rfactor", stage->name);
}

/* Iterations beyond the end of an axis, from a factor that does not divide it, contribute nothing. */
static prog_value *guard_body(prog *p, const prog_stage *stage, const lin *values, prog_value *body) {
    prog_bound bounds[PROG_MAX_AXES];
    uint32_t count = 0;
    for (uint32_t i = stage->dims; i < prog_axes(stage); i++) {
        int64_t min, max;
        lin_range(&p->space, values[i], &min, &max);
        if (max >= stage->extents[i]) bounds[count++] = (prog_bound){.index = values[i], .high = stage->extents[i]};
    }
    if (count == 0 || body == NULL) return body;
    double nothing = stage->reducer == PROG_REDUCE_SUM ? 0 : -3.402823466e38;
    prog_value *choice = prog_binary(p, PROG_IF, body, prog_number(p, nothing));
    if (choice == NULL) return NULL;
    choice->bounds = arena_copy(p->memory, bounds, count * sizeof bounds[0]);
    choice->bound_count = count;
    if (choice->bounds == NULL) p->space.is_out_of_memory = true;
    return choice;
}

ft_status steps_rfactor(const step_context *s) {
    prog *p = s->p;
    prog_stage *stage = NULL;
    uint32_t leaf = 0;
    FT_TRY(steps_stage(s, s->step->stage, &stage));
    FT_TRY(steps_leaf(s, stage, s->step->iter, &leaf));
    FT_TRY(check_rfactor(s, stage, leaf));
    FT_TRY(known_extents(s, stage));
    uint32_t at = (uint32_t)s->step->factor_iter, reduced = 0, dims = stage->dims;
    int64_t factor = stage->iters[stage->leaves[leaf]].extent;
    /* The first half keeps the factor as an axis of its result. */
    prog_stage *half = new_like(p, (uint32_t)s->step->stage, stage, "rf");
    if (half == NULL) return prog_check(p);
    memmove(half->extents + at + 1, half->extents + at, (dims - at) * sizeof half->extents[0]);
    memmove(half->axis_names + at + 1, half->axis_names + at, (dims - at) * sizeof half->axis_names[0]);
    half->extents[at] = factor;
    half->axis_names[at] = "rf";
    half->dims = dims + 1;
    static const char *const names[] = {"r0", "r1", "r2", "r3", "r4", "r5", "r6"};
    lin leaves[PROG_MAX_ITERS];
    for (uint32_t i = 0; i < stage->leaf_count; i++) {
        const prog_iter *iter = &stage->iters[stage->leaves[i]];
        if (!iter->is_reduce || i == leaf) continue;
        if (reduced == 7) return steps_fail(s, FT_ERR_LIMIT, "stage %s reduces over too many iterators", stage->name);
        half->extents[half->dims + reduced] = iter->extent;
        half->axis_names[half->dims + reduced] = names[reduced];
        reduced++;
    }
    half->reduced = reduced;
    half->reducer = reduced > 0 ? stage->reducer : PROG_NO_REDUCER;
    prog_init_axes(p, half);
    uint32_t next = half->first_axis + half->dims;
    for (uint32_t i = 0; i < stage->leaf_count; i++) {
        const prog_iter *iter = &stage->iters[stage->leaves[i]];
        uint32_t plain = (uint32_t)(iter->axis >= 0 ? iter->axis : 0);
        uint32_t axis = !iter->is_reduce ? half->first_axis + plain + (plain >= at)
                        : i == leaf      ? half->first_axis + at
                                         : next++;
        leaves[i] = lin_from_atom(&p->space, axis);
    }
    lin values[PROG_MAX_AXES] = {{0}};
    reduced_values(p, stage, leaves, values);
    half->body = guard_body(p, stage, values, prog_copy_value(p, stage->body, stage, values));
    /* The second half reduces what is left. */
    stage->reduced = 1;
    stage->extents[dims] = factor;
    stage->axis_names[dims] = "rf.v";
    prog_init_axes(p, stage);
    lin index[PROG_MAX_DIMS];
    for (uint32_t i = 0; i <= dims; i++)
        index[i] = lin_from_atom(&p->space, stage->first_axis + (i == at ? dims : i - (i > at)));
    stage->body = prog_load(p, id_of(p, half), index, dims + 1);
    return prog_check(p);
}
