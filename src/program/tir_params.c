/* tir_params.c - parameters of printed programs that share a name. TVM prints the name alone, so two inputs that are
 * both called "placeholder" look like one buffer. Which of them a load reads follows from how the name is used, in one
 * of four ways; where none of them gives as many groups as there are parameters, the program is refused. */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "program/tir_text.h"

/* --- Reading them ---------------------------------------------------------------------------------------------- */

static ft_status add_param(tir_parser *r, const char *name, size_t length) {
    for (uint32_t i = 0; i < r->param_count; i++) {
        if (r->params[i].length != length || memcmp(r->params[i].name, name, length) != 0) continue;
        r->params[i].count++;
        return FT_OK;
    }
    if (r->param_count == TIR_MAX_PARAMS) return tir_fail(r, FT_ERR_LIMIT, "too many parameters");
    r->params[r->param_count++] = (tir_param){.name = name, .length = length, .count = 1};
    return FT_OK;
}

/* "PrimFunc([placeholder, placeholder, T_add]) attrs={...} {" */
ft_status tir_read_params(tir_parser *r, const char *line, size_t length) {
    const char *at = memmem(line, length, "PrimFunc([", 10), *end = line + length;
    r->param_count = 0;
    if (at == NULL) return FT_OK;
    for (at += 10; at < end && *at != ']';) {
        const char *from = at;
        while (at < end && *at != ',' && *at != ']' && *at != ':') at++;
        if (at > from) FT_TRY(add_param(r, from, (size_t)(at - from)));
        while (at < end && *at != ',' && *at != ']') at++;
        while (at < end && (*at == ',' || *at == ' ')) at++;
    }
    return FT_OK;
}

static tir_param *find_param(tir_parser *r, const char *name) {
    size_t length = strlen(name);
    for (uint32_t i = 0; i < r->param_count; i++)
        if (r->params[i].length == length && memcmp(r->params[i].name, name, length) == 0) return &r->params[i];
    return NULL;
}

bool tir_is_param(tir_parser *r, const char *name) {
    return find_param(r, name) != NULL;
}

static tir_param *find_shared(tir_parser *r, const char *name) {
    tir_param *p = find_param(r, name);
    return p != NULL && p->count > 1 ? p : NULL;
}

ft_status tir_note_load(tir_parser *r, const char *name, prog_value *load) {
    tir_param *p = find_shared(r, name);
    if (p == NULL) return FT_OK;
    tir_load *noted = ARENA_NEW(r->p->memory, tir_load);
    if (noted == NULL) return FT_NOMEM(r->p->error);
    *noted = (tir_load){.load = load, .store = r->store_number, .target = r->store_target};
    *(p->last != NULL ? &p->last->next : &p->first) = noted;
    p->last = noted;
    if (p->current == NULL) p->current = noted;
    p->load_count++;
    return FT_OK;
}

/* A store to a name that several parameters share. */
ft_status tir_note_store(tir_parser *r, const char *name) {
    return find_shared(r, name) == NULL ? FT_OK
                                        : tir_fail(r, FT_ERR_UNSUPPORTED, "a store to a name that two parameters have");
}

void tir_end_store(tir_parser *r) {
    for (uint32_t i = 0; i < r->param_count; i++) {
        for (tir_load *l = r->params[i].current; l != NULL && r->has_lane; l = l->next) l->lane = r->lane_atom + 1;
        r->params[i].current = NULL;
    }
}

/* --- Distinguishing them ---------------------------------------------------------------------------------------- */

/* Sets `group` of each load, from 0 in the order of the text; false when this way does not apply. */
typedef bool way(tir_parser *r, tir_param *p, uint32_t *groups);

/* Every store loads the name once for each parameter: a[i] + a[j]. */
static bool by_position(tir_parser *r, tir_param *p, uint32_t *groups) {
    (void)r;
    uint32_t at = 0;
    for (tir_load *l = p->first; l != NULL; l = l->next) {
        l->group = at++;
        if (at > p->count || ((l->next == NULL || l->next->store != l->store) && at < p->count)) return false;
        if (l->next == NULL || l->next->store != l->store) at = 0;
    }
    *groups = p->count;
    return true;
}

/* The loop of a vector belongs to its store, so it is left out of a comparison of two stores. */
static bool without_lane(tir_parser *r, const tir_load *l, lin a, lin *out) {
    lin_term *terms = ARENA_ARRAY(r->p->memory, lin_term, (size_t)a.count + 1);
    if (terms == NULL) return false;
    *out = (lin){.terms = terms, .base = a.base};
    for (uint32_t i = 0; i < a.count; i++)
        if (a.terms[i].atom + 1 != l->lane) terms[out->count++] = a.terms[i];
    return true;
}

static bool has_same_terms(tir_parser *r, const tir_load *a, const tir_load *b) {
    if (a->load->dims != b->load->dims) return false;
    for (uint32_t d = 0; d < a->load->dims; d++) {
        lin x, y;
        int64_t difference;
        if (!without_lane(r, a, a->load->index[d], &x) || !without_lane(r, b, b->load->index[d], &y)) return false;
        if (!lin_same_terms(x, y, &difference)) return false;
    }
    return true;
}

static lin_mask loops_of(tir_parser *r, const tir_load *l) {
    lin_mask mask = {{0, 0}};
    for (uint32_t d = 0; d < l->load->dims; d++) mask = lin_mask_or(mask, lin_loops(&r->p->space, l->load->index[d]));
    if (l->lane == 0) return mask;
    uint32_t lane = r->p->space.atoms[l->lane - 1].loop;
    if (lin_mask_has(mask, lane)) mask.bits[lane / 64] &= ~(UINT64_C(1) << (lane % 64));
    return mask;
}

static bool has_same_loops(tir_parser *r, const tir_load *a, const tir_load *b) {
    lin_mask x = loops_of(r, a), y = loops_of(r, b);
    return x.bits[0] == y.bits[0] && x.bits[1] == y.bits[1];
}

static bool has_same_target(tir_parser *r, const tir_load *a, const tir_load *b) {
    (void)r;
    return a->target == b->target;
}

/* Loads that are alike are of one parameter. More groups than parameters end the search: this way does not apply. */
static bool by_likeness(tir_parser *r, tir_param *p, bool (*is_alike)(tir_parser *, const tir_load *, const tir_load *),
                        uint32_t *groups) {
    const tir_load *first[TIR_MAX_SHARED];
    *groups = 0;
    for (tir_load *l = p->first; l != NULL; l = l->next) {
        for (l->group = 0; l->group < *groups && !is_alike(r, first[l->group], l);) l->group++;
        if (l->group < *groups) continue;
        if (*groups == p->count || *groups == TIR_MAX_SHARED) return false;
        first[(*groups)++] = l;
    }
    return true;
}

/* Indices that differ by a constant. */
static bool by_terms(tir_parser *r, tir_param *p, uint32_t *groups) {
    return by_likeness(r, p, has_same_terms, groups);
}

/* Indices of the same loops. */
static bool by_loops(tir_parser *r, tir_param *p, uint32_t *groups) {
    return by_likeness(r, p, has_same_loops, groups);
}

/* What is computed from them: one copy for each. */
static bool by_target(tir_parser *r, tir_param *p, uint32_t *groups) {
    return by_likeness(r, p, has_same_target, groups);
}

/* --- Separating them ------------------------------------------------------------------------------------------- */

static bool is_taken(const prog *p, const char *name) {
    for (uint32_t i = 0; i < p->stage_count; i++)
        if (strcmp(p->stages[i].name, name) == 0) return true;
    return false;
}

/* As large as the loads of its group reach. */
static void fit_stage(tir_parser *r, const tir_param *param, uint32_t group, prog_stage *stage) {
    for (uint32_t d = 0; d < stage->dims; d++) stage->extents[d] = 1;
    for (const tir_load *l = param->first; l != NULL; l = l->next) {
        if (l->group != group || l->load->dims != stage->dims) continue;
        for (uint32_t d = 0; d < stage->dims; d++) {
            int64_t min, max;
            lin_range(&r->p->space, l->load->index[d], &min, &max);
            if (stage->extents[d] < max + 1) stage->extents[d] = max + 1;
        }
    }
}

static ft_status separate(tir_parser *r, tir_param *param) {
    prog *p = r->p;
    uint32_t first = param->first->load->stage, id = first;
    for (uint32_t group = 0; group < param->count; group++) {
        if (group > 0) {
            char name[sizeof p->stages[0].name];
            uint32_t number = group;
            do snprintf(name, sizeof name, "%.36s_%u", p->stages[first].name, number++);
            while (is_taken(p, name));
            prog_stage *stage = prog_new_stage(p, p->stage_count);
            if (stage == NULL) return prog_check(p);
            id = (uint32_t)(stage - p->stages);
            stage->dims = p->stages[first].dims;
            memcpy(stage->name, name, sizeof name);
        }
        for (tir_load *l = param->first; l != NULL; l = l->next)
            if (l->group == group) l->load->stage = id;
        if (!r->has_shape[first]) fit_stage(r, param, group, &p->stages[id]);
    }
    return FT_OK;
}

ft_status tir_separate_params(tir_parser *r) {
    static way *const ways[] = {by_position, by_terms, by_loops, by_target};
    for (uint32_t i = 0; i < r->param_count; i++) {
        tir_param *p = &r->params[i];
        uint32_t groups = 0, w = 0;
        if (p->count < 2 || p->load_count == 0) continue;
        while (w < sizeof ways / sizeof ways[0] && !(ways[w](r, p, &groups) && groups == p->count)) w++;
        if (w == sizeof ways / sizeof ways[0])
            return ft_fail(
                r->p->error, FT_ERR_UNSUPPORTED,
                "line %llu: %u parameters are called '%.*s', and the text does not say which of them is read",
                (unsigned long long)r->first_line, p->count, (int)(p->length < 60 ? p->length : 60), p->name);
        FT_TRY(separate(r, p));
    }
    return FT_OK;
}
