/* graphdef_control.c - control flow of TensorFlow 1: Switch and Merge, and loops of Enter, Merge, Switch, NextIteration
 * and Exit.
 *
 * A Switch passes its input to one of two outputs. What depends on an output is in a branch of the graph, and where the
 * branches merge, binding selects one of them (graph/graph.h). In a loop, Merge is the variable at the begin of a trip,
 * and what depends on an Enter is inside of the loop. */
#include <assert.h>
#include <string.h>

#include "read/loop.h"
#include "read/tensorflow/graphdef.h"

/* --- Branches ---------------------------------------------------------------------------------------------------- */

/* The branches of a condition: one pair for all Switch nodes that read it. */
static ft_status find_cond(gd_builder *b, gd_frame *f, uint32_t condition, uint32_t parent, uint32_t *branch) {
    for (gd_cond *c = f->conds; c != NULL; c = c->next) {
        *branch = c->branch;
        if (c->condition == condition && c->parent == parent) return FT_OK;
        FT_TRY(gd_add_work(b, 0));
    }
    gd_cond *c = ARENA_NEW(b->scratch, gd_cond);
    if (c == NULL) return FT_NOMEM(b->error);
    FT_TRY(gd_add_branches(b, condition, parent, branch));
    *c = (gd_cond){.condition = condition, .parent = parent, .branch = *branch, .next = f->conds};
    f->conds = c;
    return FT_OK;
}

static ft_status add_switch(gd_builder *b, gd_frame *f, gd_vertex *v) {
    gd_value data, condition, context = gd_context(b, f, v);
    FT_TRY(gd_input(b, f, v, 0, &data));
    FT_TRY(gd_input(b, f, v, 1, &condition));
    assert(v->value_count >= 2);
    data.loop = context.loop;
    data.branch = context.branch;
    v->values[0] = v->values[1] = data;
    const gd_vertex *from = &f->vertices[v->inputs[1].vertex];
    if (gd_is(from, "LoopCond")) return FT_OK; /* of a loop: the next trip, or its end */
    uint32_t branch;
    FT_TRY(find_cond(b, f, condition.tensor, context.branch, &branch));
    v->values[0].branch = branch + 1;
    v->values[1].branch = branch;
    return FT_OK;
}

/* The branches come in pairs: that of "true" first. */
static uint32_t sibling(const ft_graph *graph, uint32_t branch) {
    return graph->branches[branch].is_then ? branch + 1 : branch - 1;
}

/* Joins two values: one is computed in a branch, the other in its sibling, or is a constant outside of both. */
static ft_status merge_branches(gd_builder *b, gd_frame *f, gd_vertex *v) {
    gd_value values[2], merged = {.tensor = FT_NONE};
    for (uint32_t i = 0; i < 2; i++) FT_TRY(gd_input(b, f, v, i, &values[i]));
    uint32_t branch = 0;
    int in_branch = -1;
    for (int i = 0; i < 2; i++) {
        uint32_t other = values[1 - i].branch, own = values[i].branch;
        if (own == 0 || own == f->branch) continue;
        uint32_t parent = b->graph->branches[own].parent;
        if (other != parent && other != f->branch && other != sibling(b->graph, own)) continue;
        branch = own;
        in_branch = i;
    }
    if (in_branch < 0) {
        v->values[0] = values[0];
        return FT_OK;
    }
    const char *name = gd_output_name(b, f, v, 0);
    if (name == NULL) return FT_NOMEM(b->error);
    bool is_then = b->graph->branches[branch].is_then;
    const gd_value ordered[2] = {values[is_then ? in_branch : 1 - in_branch],
                                 values[is_then ? 1 - in_branch : in_branch]};
    merged.loop = gd_context(b, f, v).loop;
    merged.branch = b->graph->branches[branch].parent;
    FT_TRY(gd_merge(b, name, ordered, is_then ? branch : branch - 1, &merged));
    v->values[0] = merged;
    return FT_OK;
}

/* --- Loops ------------------------------------------------------------------------------------------------------- */

static gd_loop *loop_of(const gd_frame *f, uint32_t loop) {
    gd_loop *l = f->loops;
    while (l != NULL && l->loop != loop) l = l->next;
    return l;
}

static ft_status add_enter(gd_builder *b, gd_frame *f, gd_vertex *v) {
    gd_value value;
    const char *name = gd_attr_text(b, v->node, "frame_name");
    if (name == NULL) return FT_NOMEM(b->error);
    FT_TRY(gd_input(b, f, v, 0, &value));
    gd_loop *l = f->loops;
    while (l != NULL && strcmp(l->name, name) != 0) {
        FT_TRY(gd_add_work(b, 0));
        l = l->next;
    }
    if (l == NULL) {
        l = ARENA_NEW(b->scratch, gd_loop);
        if (l == NULL) return FT_NOMEM(b->error);
        *l = (gd_loop){.name = name, .condition = FT_NONE, .next = f->loops};
        FT_TRY(gd_add_loop(b, value.loop, &l->loop));
        f->loops = l;
    }
    value.loop = l->loop;
    value.body = 0;
    if (v->value_count > 0) v->values[0] = value;
    return FT_OK;
}

static ft_status add_variable(gd_builder *b, gd_frame *f, gd_vertex *v) {
    gd_value first;
    FT_TRY(gd_input(b, f, v, 0, &first));
    const char *name = gd_output_name(b, f, v, 0);
    gd_carry *c = ARENA_NEW(b->scratch, gd_carry);
    if (name == NULL || c == NULL) return FT_NOMEM(b->error);
    gd_value value = first;
    FT_TRY(gd_add_carry(b, name, first.tensor, first.loop, &value));
    *c = (gd_carry){.loop = first.loop, .tensor = value.tensor, .back = v->back, .next = f->carries};
    f->carries = c;
    if (v->value_count > 0) v->values[0] = value;
    return FT_OK;
}

/* The result of a loop: what the NextIteration of the variable reads, if it has one. */
static ft_status add_exit(gd_builder *b, gd_frame *f, gd_vertex *v) {
    gd_value value;
    FT_TRY(gd_input(b, f, v, v->input_count > 1 ? 1 : 0, &value));
    uint32_t loop = gd_context(b, f, v).loop;
    value.body = loop;
    value.loop = b->graph->loops[loop].parent;
    if (v->value_count > 0) v->values[0] = value;
    return FT_OK;
}

static ft_status pass(gd_builder *b, gd_frame *f, gd_vertex *v) {
    gd_value value;
    FT_TRY(gd_input(b, f, v, 0, &value));
    if (gd_is(v, "LoopCond")) {
        gd_loop *l = loop_of(f, value.loop);
        if (l != NULL) l->condition = value.tensor;
    }
    if (v->value_count > 0) v->values[0] = value;
    return FT_OK;
}

/* --- Entry points ------------------------------------------------------------------------------------------------ */

ft_status gd_control(gd_builder *b, gd_frame *f, gd_vertex *v, bool *is_control) {
    const char *op = gd_text(v->node->op);
    if (strncmp(op, "Ref", 3) == 0) op += 3;
    *is_control = true;
    if (strcmp(op, "Switch") == 0) return add_switch(b, f, v);
    if (strcmp(op, "Enter") == 0) return add_enter(b, f, v);
    if (strcmp(op, "Exit") == 0) return add_exit(b, f, v);
    if (strcmp(op, "NextIteration") == 0 || strcmp(op, "LoopCond") == 0) return pass(b, f, v);
    *is_control = strcmp(op, "Merge") == 0;
    if (!*is_control || v->value_count == 0) return FT_OK;
    if (v->back != FT_NONE) return add_variable(b, f, v);
    return v->input_count == 2 ? merge_branches(b, f, v) : pass(b, f, v);
}

static ft_status set_trips(gd_builder *b, const gd_frame *f, const gd_loop *l) {
    uint32_t count = 0, i = 0;
    for (const gd_carry *c = f->carries; c != NULL; c = c->next) count += c->loop == l->loop;
    FT_TRY(gd_add_work(b, b->graph->op_count / 4 + count));
    loop_variables all = {.count = count};
    uint32_t *lists = ARENA_ARRAY(b->scratch, uint32_t, (size_t)2 * count);
    if (lists == NULL) return FT_NOMEM(b->error);
    for (const gd_carry *c = f->carries; c != NULL; c = c->next) {
        if (c->loop != l->loop) continue;
        lists[i] = c->tensor;
        lists[count + i++] = f->vertices[c->back].values[0].tensor;
    }
    all.variables = lists;
    all.results = lists + count;
    b->graph->loops[l->loop].trip_tensor = loop_find_limit(b->graph, 0, l->condition, &all);
    return FT_OK;
}

ft_status gd_close_loops(gd_builder *b, gd_frame *f) {
    const gd_carry *done = NULL;
    while (f->carries != done) { /* bodies may have variables of further loops */
        const gd_carry *newest = f->carries;
        for (const gd_carry *c = newest; c != done; c = c->next) FT_TRY(gd_frame_visit(b, f, c->back));
        done = newest;
    }
    for (const gd_loop *l = f->loops; l != NULL; l = l->next)
        if (l->condition != FT_NONE) FT_TRY(set_trips(b, f, l));
    return FT_OK;
}
