/* stage.c - building stages and values. */
#include "program/stage.h"

#include <assert.h>
#include <string.h>

#include "base/error.h"

const char *prog_annotation_name(prog_annotation annotation) {
    static const char *const names[PROG_ANNOTATION_COUNT] = {"for",         "unroll",     "vectorize",   "parallel",
                                                             "vthread",     "blockIdx.x", "threadIdx.x", "blockIdx.y",
                                                             "threadIdx.y", "blockIdx.z", "threadIdx.z", "tensorize"};
    return annotation < PROG_ANNOTATION_COUNT ? names[annotation] : "?";
}

const char *prog_scope_name(prog_scope scope) {
    static const char *const names[] = {"", "global", "shared", "local"};
    assert(scope < sizeof names / sizeof names[0]);
    return names[scope];
}

/* --- Stages -------------------------------------------------------------------------------------------------- */

prog_stage *prog_new_stage(prog *p, uint32_t order) {
    assert(order <= p->stage_count);
    if (p->stage_count == PROG_MAX_STAGES) {
        p->space.is_too_large = true;
        return NULL;
    }
    memmove(p->order + order + 1, p->order + order, (p->stage_count - order) * sizeof p->order[0]);
    p->order[order] = p->stage_count;
    prog_stage *stage = &p->stages[p->stage_count++];
    /* The large tables are not cleared: that would take longer than all the rest. */
    stage->dims = stage->reduced = stage->iter_count = stage->leaf_count = stage->relation_count = 0;
    stage->guard_count = 0;
    stage->reducer = PROG_NO_REDUCER;
    stage->body = NULL;
    stage->is_output = stage->is_bound = false;
    stage->scope = PROG_NO_SCOPE;
    stage->attach_type = PROG_AT_ROOT;
    stage->at_stage = PROG_NO_STAGE;
    stage->name[0] = '\0';
    return stage;
}

void prog_reset_iters(prog_stage *stage) {
    assert(stage->dims <= PROG_MAX_DIMS && prog_axes(stage) <= PROG_MAX_AXES);
    stage->relation_count = 0;
    stage->iter_count = stage->leaf_count = prog_axes(stage);
    for (uint32_t i = 0; i < stage->iter_count; i++) {
        stage->iters[i] = (prog_iter){.extent = stage->extents[i],
                                      .axis = (int16_t)i,
                                      .made_by = -1,
                                      .unroll = -1,
                                      .is_reduce = i >= stage->dims};
        stage->leaves[i] = (uint16_t)i;
    }
}

void prog_init_axes(prog *p, prog_stage *stage) {
    stage->first_axis = p->space.count;
    for (uint32_t i = 0; i < prog_axes(stage); i++) lin_new_axis(&p->space, stage->extents[i]);
    prog_reset_iters(stage);
}

uint32_t prog_position(const prog *p, uint32_t stage) {
    for (uint32_t i = 0; i < p->stage_count; i++) {
        if (p->order[i] == stage) return i;
    }
    return PROG_NO_STAGE;
}

ft_status prog_check(const prog *p) {
    if (p->space.is_out_of_memory) return FT_NOMEM(p->error);
    if (p->space.is_too_large)
        return ft_fail(p->error, FT_ERR_LIMIT,
                       "the program is too large: more than %d stages or %d loops, or a size that "
                       "does not fit",
                       PROG_MAX_STAGES, LIN_MAX_LOOPS);
    return FT_OK;
}

/* --- Values -------------------------------------------------------------------------------------------------- */

static prog_value *new_value(prog *p, prog_op op) {
    prog_value *value = ARENA_NEW(p->memory, prog_value);
    if (value == NULL) {
        p->space.is_out_of_memory = true;
        return NULL;
    }
    value->op = op;
    return value;
}

prog_value *prog_number(prog *p, double number) {
    prog_value *value = new_value(p, PROG_NUMBER);
    if (value != NULL) value->number = number;
    return value;
}

prog_value *prog_binary(prog *p, prog_op op, prog_value *a, prog_value *b) {
    prog_value *value = new_value(p, op);
    if (value == NULL) return NULL;
    value->a = a;
    value->b = b;
    return value;
}

prog_value *prog_load(prog *p, uint32_t stage, const lin *index, uint32_t dims) {
    assert(stage < p->stage_count && dims <= PROG_MAX_DIMS);
    prog_value *value = new_value(p, PROG_LOAD);
    if (value == NULL) return NULL;
    value->stage = stage;
    value->dims = dims;
    value->index = arena_copy(p->memory, index, dims * sizeof *index);
    if (value->index != NULL || dims == 0) return value;
    p->space.is_out_of_memory = true;
    return NULL;
}

prog_value *prog_load_same(prog *p, uint32_t stage, const prog_stage *reader) {
    lin index[PROG_MAX_DIMS];
    for (uint32_t i = 0; i < reader->dims; i++) index[i] = lin_from_atom(&p->space, reader->first_axis + i);
    return prog_load(p, stage, index, reader->dims);
}

prog_value *prog_copy_value(prog *p, const prog_value *value, const prog_stage *from, const lin *values) {
    prog_value *copy = new_value(p, value->op);
    if (copy == NULL) return NULL;
    *copy = *value;
    uint32_t axes = prog_axes(from);
    if (value->op == PROG_LOAD && value->dims > 0) {
        copy->index = ARENA_ARRAY(p->memory, lin, value->dims);
        if (copy->index == NULL) p->space.is_out_of_memory = true;
        for (uint32_t i = 0; i < value->dims && copy->index != NULL; i++)
            copy->index[i] = lin_substitute(&p->space, value->index[i], from->first_axis, axes, values);
    }
    if (value->bound_count > 0) {
        copy->bounds = arena_copy(p->memory, value->bounds, value->bound_count * sizeof *value->bounds);
        if (copy->bounds == NULL) p->space.is_out_of_memory = true;
        for (uint32_t i = 0; i < value->bound_count && copy->bounds != NULL; i++)
            copy->bounds[i].index = lin_substitute(&p->space, value->bounds[i].index, from->first_axis, axes, values);
    }
    if (value->a != NULL) copy->a = prog_copy_value(p, value->a, from, values);
    if (value->b != NULL) copy->b = prog_copy_value(p, value->b, from, values);
    return p->space.is_out_of_memory ? NULL : copy;
}

bool prog_visit_loads(prog_value *value, bool (*visit)(prog_value *load, void *user), void *user) {
    if (value == NULL) return true;
    if (value->op == PROG_LOAD) return visit(value, user);
    return prog_visit_loads(value->a, visit, user) && prog_visit_loads(value->b, visit, user);
}
