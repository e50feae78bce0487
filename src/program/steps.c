/* steps.c - schedule steps that change the loops of one stage: split, fuse, reorder, annotate, compute at.
 *
 * A split by several lengths is a chain of two-way splits, as in TVM: with lengths of inner parts, the outermost part
 * is split repeatedly from the right; with counts of outer parts, the innermost from the left. Extents are not used
 * here: those of a stage that is computed inside another follow from the whole schedule (bound.c). */
#include "program/lower.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

enum { MAX_FACTOR = 1 << 30 };

ft_status(steps_fail)(const step_context *s, ft_status status, const char *format, ...) {
    char text[384];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return ft_fail(s->p->error, status, "step %u (%s): %s", s->at, ansor_step_tag(s->step->kind), text);
}

ft_status steps_stage(const step_context *s, int64_t number, prog_stage **stage) {
    if (number < 0 || number >= s->p->stage_count)
        return steps_fail(s, FT_ERR_DAMAGED, "there is no stage %lld; the program has %u stages", (long long)number,
                          s->p->stage_count);
    *stage = &s->p->stages[s->p->order[number]];
    if ((*stage)->body == NULL)
        return steps_fail(s, FT_ERR_DAMAGED, "stage %lld (%s) is an input and has no loops", (long long)number,
                          (*stage)->name);
    return FT_OK;
}

ft_status steps_leaf(const step_context *s, const prog_stage *stage, int64_t number, uint32_t *leaf) {
    if (number < 0 || number >= stage->leaf_count)
        return steps_fail(s, FT_ERR_DAMAGED, "stage %s has no iterator %lld; it has %u", stage->name, (long long)number,
                          stage->leaf_count);
    *leaf = (uint32_t)number;
    return FT_OK;
}

/* --- Attached stages follow their iterator ------------------------------------------------------------------- */

static void move_attached(const prog *p, const prog_stage *stage, uint16_t from, uint16_t to) {
    uint32_t id = (uint32_t)(stage - p->stages);
    for (uint32_t i = 0; i < p->stage_count; i++) {
        prog_stage *other = &p->stages[i];
        if (other->attach_type == PROG_AT && other->at_stage == id && other->at_iter == from) other->at_iter = to;
    }
}

static bool has_attached(const prog *p, const prog_stage *stage, uint16_t iter) {
    uint32_t id = (uint32_t)(stage - p->stages);
    for (uint32_t i = 0; i < p->stage_count; i++) {
        const prog_stage *other = &p->stages[i];
        if (other->attach_type == PROG_AT && other->at_stage == id && other->at_iter == iter) return true;
    }
    return false;
}

/* --- Splits -------------------------------------------------------------------------------------------------- */

static ft_status new_iter(const step_context *s, prog_stage *stage, bool is_reduce, uint16_t *id) {
    if (stage->iter_count == PROG_MAX_ITERS)
        return steps_fail(s, FT_ERR_LIMIT, "stage %s would have more than %d iterators", stage->name, PROG_MAX_ITERS);
    *id = (uint16_t)stage->iter_count;
    stage->iters[stage->iter_count++] =
        (prog_iter){.axis = -1, .made_by = (int16_t)stage->relation_count, .unroll = -1, .is_reduce = is_reduce};
    return FT_OK;
}

/* whole -> outer, inner */
static ft_status split_in_two(const step_context *s, prog_stage *stage, uint16_t whole, int64_t factor, bool is_parts,
                              uint16_t *outer, uint16_t *inner) {
    bool is_reduce = stage->iters[whole].is_reduce;
    assert(whole < stage->iter_count);
    if (factor < 1 || factor > MAX_FACTOR)
        return steps_fail(s, FT_ERR_DAMAGED, "length %lld is not from 1 to 2^30", (long long)factor);
    FT_TRY(new_iter(s, stage, is_reduce, outer));
    FT_TRY(new_iter(s, stage, is_reduce, inner));
    stage->relations[stage->relation_count++] = (prog_relation){.factor = factor,
                                                                .whole = whole,
                                                                .outer = *outer,
                                                                .inner = *inner,
                                                                .step = (uint16_t)s->at,
                                                                .is_parts = is_parts};
    return FT_OK;
}

static ft_status split(const step_context *s, const int64_t *lengths, uint32_t count, bool is_inner_to_outer,
                       int64_t given_extent) {
    prog_stage *stage = NULL;
    uint32_t leaf = 0;
    FT_TRY(steps_stage(s, s->step->stage, &stage));
    FT_TRY(steps_leaf(s, stage, s->step->iter, &leaf));
    if (count == 0) return steps_fail(s, FT_ERR_DAMAGED, "the split has no lengths");
    if (stage->leaf_count + count > PROG_MAX_ITERS)
        return steps_fail(s, FT_ERR_LIMIT, "stage %s would have more than %d iterators", stage->name, PROG_MAX_ITERS);
    uint16_t whole = stage->leaves[leaf], parts[PROG_MAX_ITERS], rest = whole;
    if (stage->iters[whole].annotation != PROG_SERIAL)
        return steps_fail(s, FT_ERR_DAMAGED, "iterator %u of stage %s is already bound to %s", leaf, stage->name,
                          prog_annotation_name(stage->iters[whole].annotation));
    stage->iters[whole].given_extent = given_extent;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t part = is_inner_to_outer ? count - i : i;
        uint16_t outer = 0, inner = 0;
        FT_TRY(split_in_two(s, stage, rest, lengths[is_inner_to_outer ? part - 1 : part], !is_inner_to_outer, &outer,
                            &inner));
        parts[part] = is_inner_to_outer ? inner : outer;
        rest = is_inner_to_outer ? outer : inner;
    }
    parts[is_inner_to_outer ? 0 : count] = rest;
    memmove(stage->leaves + leaf + count + 1, stage->leaves + leaf + 1,
            (stage->leaf_count - leaf - 1) * sizeof stage->leaves[0]);
    memcpy(stage->leaves + leaf, parts, (count + 1) * sizeof parts[0]);
    stage->leaf_count += count;
    assert(stage->leaf_count <= stage->iter_count);
    move_attached(s->p, stage, whole, parts[count]);
    return FT_OK;
}

/* The split step that another one follows. */
static ft_status source_of(const step_context *s, int64_t number, const ansor_step **source) {
    if (number < 0 || number >= s->at || s->steps[number].kind != ANSOR_SPLIT)
        return steps_fail(s, FT_ERR_DAMAGED, "step %lld, which it follows, is not an earlier split", (long long)number);
    *source = &s->steps[number];
    return FT_OK;
}

static ft_status follow_split(const step_context *s) {
    const ansor_step *source = NULL;
    FT_TRY(source_of(s, s->step->source_step, &source));
    int64_t parts = s->step->parts, lengths[PROG_MAX_ITERS];
    if (parts < 1 || parts > source->count || parts > PROG_MAX_ITERS)
        return steps_fail(s, FT_ERR_DAMAGED, "it needs %lld lengths of a split that has %u", (long long)parts,
                          source->count);
    for (int64_t i = 0; i < parts; i++) lengths[i] = source->list[i];
    for (uint32_t i = (uint32_t)parts; i < source->count; i++) {
        if (__builtin_mul_overflow(lengths[parts - 1], source->list[i], &lengths[parts - 1]))
            return steps_fail(s, FT_ERR_LIMIT, "the product of the lengths is too large");
    }
    return split(s, lengths, (uint32_t)parts, true, 0);
}

static ft_status follow_fused_split(const step_context *s) {
    int64_t length = 1;
    for (uint32_t i = 0; i < s->step->count; i++) {
        const ansor_step *source = NULL;
        FT_TRY(source_of(s, s->step->list[i], &source));
        if (s->step->level < 0 || s->step->level >= source->count)
            return steps_fail(s, FT_ERR_DAMAGED, "step %lld has no length %lld", (long long)s->step->list[i],
                              (long long)s->step->level);
        if (__builtin_mul_overflow(length, source->list[s->step->level], &length))
            return steps_fail(s, FT_ERR_LIMIT, "the product of the lengths is too large");
    }
    return split(s, &length, 1, s->step->is_inner_to_outer, 0);
}

/* --- Fuse and reorder ---------------------------------------------------------------------------------------- */

static ft_status fuse(const step_context *s) {
    prog_stage *stage = NULL;
    FT_TRY(steps_stage(s, s->step->stage, &stage));
    if (s->step->count == 0) return steps_fail(s, FT_ERR_DAMAGED, "the fusion has no iterators");
    uint32_t first = 0;
    for (uint32_t i = 0; i < s->step->count; i++) {
        uint32_t leaf = 0;
        FT_TRY(steps_leaf(s, stage, s->step->list[i], &leaf));
        if (i == 0) first = leaf;
        if (leaf != first + i) return steps_fail(s, FT_ERR_DAMAGED, "the iterators are not adjacent");
        const prog_iter *iter = &stage->iters[stage->leaves[leaf]];
        if (iter->is_reduce != stage->iters[stage->leaves[first]].is_reduce)
            return steps_fail(s, FT_ERR_DAMAGED, "a reduced iterator cannot be fused with one that is not reduced");
        if (iter->annotation != PROG_SERIAL)
            return steps_fail(s, FT_ERR_DAMAGED, "iterator %u of stage %s is already bound to %s", leaf, stage->name,
                              prog_annotation_name(iter->annotation));
        if (i + 1 < s->step->count && has_attached(s->p, stage, stage->leaves[leaf]))
            return steps_fail(s, FT_ERR_DAMAGED, "a stage is computed at iterator %u of %s, which fusing would remove",
                              leaf, stage->name);
    }
    uint16_t fused = stage->leaves[first];
    for (uint32_t i = 1; i < s->step->count; i++) {
        uint16_t outer = fused, inner = stage->leaves[first + i];
        FT_TRY(new_iter(s, stage, stage->iters[outer].is_reduce, &fused));
        stage->relations[stage->relation_count++] =
            (prog_relation){.whole = fused, .outer = outer, .inner = inner, .step = (uint16_t)s->at, .is_fuse = true};
        move_attached(s->p, stage, inner, fused);
    }
    stage->leaves[first] = fused;
    uint32_t gone = s->step->count - 1;
    memmove(stage->leaves + first + 1, stage->leaves + first + 1 + gone,
            (stage->leaf_count - first - 1 - gone) * sizeof stage->leaves[0]);
    stage->leaf_count -= gone;
    return FT_OK;
}

static ft_status reorder(const step_context *s) {
    prog_stage *stage = NULL;
    FT_TRY(steps_stage(s, s->step->stage, &stage));
    if (s->step->count != stage->leaf_count)
        return steps_fail(s, FT_ERR_DAMAGED, "the order has %u iterators, but stage %s has %u", s->step->count,
                          stage->name, stage->leaf_count);
    uint16_t order[PROG_MAX_ITERS] = {0};
    bool is_used[PROG_MAX_ITERS] = {false};
    for (uint32_t i = 0; i < s->step->count; i++) {
        uint32_t leaf = 0;
        FT_TRY(steps_leaf(s, stage, s->step->list[i], &leaf));
        if (is_used[leaf]) return steps_fail(s, FT_ERR_DAMAGED, "iterator %u is in the order twice", leaf);
        is_used[leaf] = true;
        order[i] = stage->leaves[leaf];
    }
    memcpy(stage->leaves, order, s->step->count * sizeof order[0]);
    return FT_OK;
}

/* --- Annotations --------------------------------------------------------------------------------------------- */

static ft_status annotate(const step_context *s) {
    prog_stage *stage = NULL;
    uint32_t leaf = 0;
    FT_TRY(steps_stage(s, s->step->stage, &stage));
    FT_TRY(steps_leaf(s, stage, s->step->iter, &leaf));
    if (s->step->annotation < 0 || s->step->annotation >= PROG_TENSORIZE)
        return steps_fail(s, s->step->annotation == PROG_TENSORIZE ? FT_ERR_UNSUPPORTED : FT_ERR_DAMAGED,
                          "unknown annotation %lld", (long long)s->step->annotation);
    prog_iter *iter = &stage->iters[stage->leaves[leaf]];
    if (iter->is_reduce &&
        (s->step->annotation == PROG_VECTORIZE || s->step->annotation == PROG_PARALLEL ||
         s->step->annotation == PROG_VTHREAD || prog_annotation_is_block((prog_annotation)s->step->annotation)))
        return steps_fail(s, FT_ERR_DAMAGED, "a reduced iterator cannot be bound to %s",
                          prog_annotation_name((prog_annotation)s->step->annotation));
    iter->annotation = (uint8_t)s->step->annotation;
    return FT_OK;
}

static ft_status pragma(const step_context *s) {
    static const char unroll[] = "auto_unroll_max_step$";
    prog_stage *stage = NULL;
    uint32_t leaf = 0;
    FT_TRY(steps_stage(s, s->step->stage, &stage));
    FT_TRY(steps_leaf(s, stage, s->step->iter, &leaf));
    if (strncmp(s->step->text, unroll, sizeof unroll - 1) != 0)
        return steps_fail(s, FT_ERR_UNSUPPORTED, "unknown pragma \"%.60s\"", s->step->text);
    char *end;
    const char *digits = s->step->text + sizeof unroll - 1;
    long steps = strtol(digits, &end, 10);
    if (end == digits || *end != '\0' || steps < 0 || steps > 1 << 20)
        return steps_fail(s, FT_ERR_DAMAGED, "the value of pragma \"%.60s\" is not a number from 0 to 2^20",
                          s->step->text);
    stage->iters[stage->leaves[leaf]].unroll = (int32_t)steps;
    return FT_OK;
}

/* --- Compute at ---------------------------------------------------------------------------------------------- */

static ft_status compute_at(const step_context *s) {
    prog_stage *stage = NULL, *target = NULL;
    uint32_t leaf = 0;
    FT_TRY(steps_stage(s, s->step->stage, &stage));
    FT_TRY(steps_stage(s, s->step->target_stage, &target));
    FT_TRY(steps_leaf(s, target, s->step->iter, &leaf));
    if (stage->is_output)
        return steps_fail(s, FT_ERR_DAMAGED, "stage %s is the output and cannot be computed at another stage",
                          stage->name);
    if (stage->attach_type == PROG_INLINED || target->attach_type == PROG_INLINED)
        return steps_fail(s, FT_ERR_DAMAGED, "stage %s is inlined",
                          stage->attach_type == PROG_INLINED ? stage->name : target->name);
    if (s->step->target_stage <= s->step->stage)
        return steps_fail(s, FT_ERR_DAMAGED, "stage %s does not come before stage %s", stage->name, target->name);
    stage->attach_type = PROG_AT;
    stage->at_stage = (uint32_t)(target - s->p->stages);
    stage->at_iter = target->leaves[leaf];
    return FT_OK;
}

static ft_status compute_root(const step_context *s) {
    prog_stage *stage = NULL;
    FT_TRY(steps_stage(s, s->step->stage, &stage));
    if (stage->attach_type == PROG_INLINED)
        return steps_fail(s, FT_ERR_UNSUPPORTED, "stage %s is inlined", stage->name);
    stage->attach_type = PROG_AT_ROOT;
    return FT_OK;
}

/* storage_align pads the rows of a tensor to avoid bank conflicts: the loops stay the same. */
static ft_status storage_align(const step_context *s) {
    prog_stage *stage = NULL;
    uint32_t leaf = 0;
    FT_TRY(steps_stage(s, s->step->stage, &stage));
    return steps_leaf(s, stage, s->step->iter, &leaf);
}

static ft_status apply(const step_context *s) {
    switch (s->step->kind) {
    case ANSOR_SPLIT:
        return split(s, s->step->list, s->step->count, s->step->is_inner_to_outer, s->step->extent);
    case ANSOR_FOLLOW_SPLIT:
        return follow_split(s);
    case ANSOR_FOLLOW_FUSED_SPLIT:
        return follow_fused_split(s);
    case ANSOR_FUSE:
        return fuse(s);
    case ANSOR_REORDER:
        return reorder(s);
    case ANSOR_ANNOTATE:
        return annotate(s);
    case ANSOR_PRAGMA:
        return pragma(s);
    case ANSOR_COMPUTE_AT:
        return compute_at(s);
    case ANSOR_COMPUTE_ROOT:
        return compute_root(s);
    case ANSOR_COMPUTE_INLINE:
        return steps_inline(s);
    case ANSOR_CACHE_READ:
        return steps_cache_read(s);
    case ANSOR_CACHE_WRITE:
        return steps_cache_write(s);
    case ANSOR_RFACTOR:
        return steps_rfactor(s);
    default:
        return storage_align(s);
    }
}

ft_status steps_apply(prog *p, const ansor_step *steps, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        FT_TRY(apply(&(step_context){.p = p, .steps = steps, .at = i, .step = &steps[i]}));
        if (p->space.is_out_of_memory || p->space.is_too_large) return prog_check(p);
    }
    return FT_OK;
}
