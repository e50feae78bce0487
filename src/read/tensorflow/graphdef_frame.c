/* graphdef_frame.c - the nodes of a graph or function: names, and the order in which they are added.
 *
 * Files need not be sorted, and hold nodes that inference does not run (initialisation, saving, training). So nodes are
 * added from the outputs of the model backwards, each after all that it reads. The one legal cycle, through the
 * NextIteration of a loop, is cut at the Merge that it leads to. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "read/tensorflow/graphdef.h"

const char *gd_text(const char *text) {
    return text != NULL ? text : "";
}

ft_status gd_add_work(gd_builder *b, uint64_t work) {
    b->work += work + 1;
    if (b->work <= GD_MAX_WORK) return FT_OK;
    return ft_fail(b->error, FT_ERR_LIMIT, "the model has more than %llu nodes, inputs and outputs after inlining",
                   (unsigned long long)GD_MAX_WORK);
}

bool gd_is(const gd_vertex *v, const char *op) {
    return v->node != NULL && strcmp(gd_text(v->node->op), op) == 0;
}

/* --- Names ------------------------------------------------------------------------------------------------------- */

static ft_status unknown_output(gd_builder *b, const char *text) {
    return ft_fail(b->error, FT_ERR_DAMAGED, "damaged: '%.200s' is not the name of an output", text);
}

/* Slot of output `name` of a node. Operators that are not in the table have their outputs in order of appearance. */
static ft_status find_named(gd_builder *b, gd_vertex *v, const char *name, uint32_t *slot) {
    if (v->node != NULL && gd_output_slot(gd_text(v->node->op), name, slot)) return FT_OK;
    gd_named **at = &v->names;
    for (*slot = 0; *at != NULL; at = &(*at)->next, ++*slot) {
        if (strcmp((*at)->text, name) == 0) return FT_OK;
        if (*slot > GD_MAX_OUTPUTS) return unknown_output(b, name);
    }
    FT_TRY(gd_add_work(b, *slot));
    *at = ARENA_NEW(b->scratch, gd_named);
    if (*at == NULL) return FT_NOMEM(b->error);
    (*at)->text = name;
    return FT_OK;
}

/* What follows the name of the node: "1", "output", "output:1". */
static ft_status find_slot(gd_builder *b, gd_vertex *v, char *rest, const char *text, uint32_t *slot) {
    char *end, *colon = strchr(rest, ':'), *digits = colon != NULL ? colon + 1 : rest;
    unsigned long index = strtoul(digits, &end, 10);
    bool is_number = digits[0] >= '0' && digits[0] <= '9' && *end == '\0';
    if (is_number && index >= GD_MAX_OUTPUTS)
        return ft_fail(b->error, FT_ERR_LIMIT, "'%.200s': a node has at most %d outputs", text, GD_MAX_OUTPUTS);
    *slot = 0;
    if (colon == NULL && is_number) {
        *slot = (uint32_t)index;
        return FT_OK;
    }
    if (colon != NULL && !is_number) return unknown_output(b, text);
    if (colon != NULL) *colon = '\0';
    FT_TRY(find_named(b, v, rest, slot));
    if (colon != NULL) *slot += (uint32_t)index;
    return FT_OK;
}

ft_status gd_frame_find(gd_builder *b, gd_frame *f, const char *text, gd_ref *ref) {
    ref->slot = 0;
    bool is_found = map_get(&f->names, text, &ref->vertex);
    if (!is_found) {
        char *copy = arena_string(b->scratch, text, strlen(text));
        if (copy == NULL) return FT_NOMEM(b->error);
        char *colon = strchr(copy, ':');
        if (colon != NULL) *colon = '\0';
        if (colon == NULL || !map_get(&f->names, copy, &ref->vertex))
            return ft_fail(b->error, FT_ERR_GRAPH, "'%.200s%.200s' is read, but no node computes it", f->prefix, text);
        FT_TRY(find_slot(b, &f->vertices[ref->vertex], colon + 1, text, &ref->slot));
    }
    gd_vertex *v = &f->vertices[ref->vertex];
    v->is_read = true;
    if (v->values == NULL && v->value_count <= ref->slot) v->value_count = ref->slot + 1;
    return FT_OK;
}

const char *gd_output_name(gd_builder *b, const gd_frame *f, const gd_vertex *v, uint32_t slot) {
    if (slot > 0) return arena_format(b->scratch, "%s%s:%u", f->prefix, v->name, slot);
    return f->prefix[0] != '\0' ? arena_format(b->scratch, "%s%s", f->prefix, v->name) : v->name;
}

/* --- Opening ----------------------------------------------------------------------------------------------------- */

static ft_status add_name(gd_builder *b, gd_frame *f, const char *name, uint32_t index) {
    uint32_t found;
    f->vertices[index].name = name;
    f->vertices[index].back = FT_NONE;
    if (!map_add(&f->names, name, index, &found)) return FT_NOMEM(b->error);
    if (found == index) return FT_OK;
    return ft_fail(b->error, FT_ERR_GRAPH, "two nodes have the name '%.200s%.200s'", f->prefix, name);
}

static ft_status read_inputs(gd_builder *b, gd_frame *f, gd_vertex *v) {
    const Tf__Node *node = v->node;
    FT_TRY(gd_add_work(b, node->n_input));
    v->inputs = ARENA_ARRAY(b->scratch, gd_ref, node->n_input + 1); /* one more: see connect_exit */
    if (v->inputs == NULL) return FT_NOMEM(b->error);
    bool is_merge = gd_is(v, "Merge") || gd_is(v, "RefMerge");
    for (size_t i = 0; i < node->n_input; i++) {
        gd_ref ref;
        if (node->input[i][0] == '^') continue; /* an order, not data */
        FT_TRY(gd_frame_find(b, f, node->input[i], &ref));
        const gd_vertex *from = &f->vertices[ref.vertex];
        if (is_merge && (gd_is(from, "NextIteration") || gd_is(from, "RefNextIteration")))
            v->back = ref.vertex;
        else
            v->inputs[v->input_count++] = ref;
    }
    return FT_OK;
}

/* A loop returns what its body computed: an Exit also reads the NextIteration of its variable. */
static void connect_exit(gd_frame *f, gd_vertex *v) {
    if ((!gd_is(v, "Exit") && !gd_is(v, "RefExit")) || v->input_count != 1) return;
    const gd_vertex *from = &f->vertices[v->inputs[0].vertex];
    if ((!gd_is(from, "Switch") && !gd_is(from, "RefSwitch")) || from->input_count == 0) return;
    const gd_vertex *merge = &f->vertices[from->inputs[0].vertex];
    if (merge->back == FT_NONE) return;
    gd_vertex *back = &f->vertices[merge->back];
    back->is_read = true;
    if (back->value_count == 0) back->value_count = 1;
    v->inputs[v->input_count++] = (gd_ref){merge->back, 0};
}

ft_status gd_frame_open(gd_builder *b, gd_frame *f, Tf__Node **nodes, size_t count, const Tf__Signature *signature) {
    size_t args = signature != NULL ? signature->n_input_arg : 0, total = count + args;
    FT_TRY(gd_add_work(b, total));
    f->vertices = ARENA_ARRAY(b->scratch, gd_vertex, total);
    f->stack = ARENA_ARRAY(b->scratch, uint32_t, total);
    map_init(&f->names, b->scratch);
    if (f->vertices == NULL || f->stack == NULL || !map_reserve(&f->names, total)) return FT_NOMEM(b->error);
    f->arg_count = (uint32_t)args;
    f->count = (uint32_t)total;
    for (size_t i = 0; i < args; i++) {
        FT_TRY(add_name(b, f, gd_text(signature->input_arg[i]->name), (uint32_t)i));
        f->vertices[i].value_count = 1;
    }
    for (size_t i = 0; i < count; i++) {
        f->vertices[args + i].node = nodes[i];
        if (nodes[i]->n_attr > GD_MAX_ATTRS)
            return ft_fail(b->error, FT_ERR_LIMIT, "node '%.200s' has more than %d attributes", gd_text(nodes[i]->name),
                           GD_MAX_ATTRS);
        FT_TRY(add_name(b, f, gd_text(nodes[i]->name), (uint32_t)(args + i)));
    }
    for (size_t i = args; i < total; i++) FT_TRY(read_inputs(b, f, &f->vertices[i]));
    for (size_t i = args; i < total; i++) connect_exit(f, &f->vertices[i]);
    return FT_OK;
}

ft_status gd_frame_reserve(gd_builder *b, gd_frame *f) {
    for (uint32_t i = 0; i < f->count; i++) {
        gd_vertex *v = &f->vertices[i];
        uint32_t least = 0;
        if (v->node != NULL) FT_TRY(gd_output_count(b, v->node, &least));
        if (v->value_count < least) v->value_count = least;
        FT_TRY(gd_add_work(b, v->value_count / 8));
        v->values = ARENA_ARRAY(b->scratch, gd_value, v->value_count);
        if (v->values == NULL) return FT_NOMEM(b->error);
        for (uint32_t k = 0; k < v->value_count; k++) v->values[k].tensor = FT_NONE;
    }
    return FT_OK;
}

/* --- Adding ------------------------------------------------------------------------------------------------------ */

ft_status gd_frame_visit(gd_builder *b, gd_frame *f, uint32_t vertex) {
    uint32_t depth = 0;
    assert(vertex < f->count);
    if (f->vertices[vertex].state != GD_NEW) return FT_OK;
    f->stack[depth++] = vertex;
    while (depth > 0) {
        gd_vertex *v = &f->vertices[f->stack[depth - 1]];
        v->state = GD_OPEN;
        if (v->next < v->input_count) {
            uint32_t from = v->inputs[v->next++].vertex;
            if (f->vertices[from].state == GD_OPEN)
                return ft_fail(b->error, FT_ERR_GRAPH, "node '%.200s%.200s' depends on itself", f->prefix,
                               f->vertices[from].name);
            if (f->vertices[from].state == GD_NEW) f->stack[depth++] = from;
            continue;
        }
        if (v->node != NULL) FT_TRY(gd_add_vertex(b, f, v));
        v->state = GD_DONE;
        depth--;
    }
    return FT_OK;
}

ft_status gd_frame_value(gd_builder *b, const gd_frame *f, gd_ref ref, gd_value *value) {
    const gd_vertex *v = &f->vertices[ref.vertex];
    assert(ref.slot < v->value_count);
    *value = v->values[ref.slot];
    if (value->tensor != FT_NONE) return FT_OK;
    return ft_fail(b->error, FT_ERR_GRAPH, "output %u of node '%.200s%.200s' (%.100s) is read, but it has none",
                   ref.slot, f->prefix, v->name, v->node != NULL ? gd_text(v->node->op) : "argument");
}

ft_status gd_input(gd_builder *b, const gd_frame *f, const gd_vertex *v, uint32_t i, gd_value *value) {
    if (i >= v->input_count)
        return ft_fail(b->error, FT_ERR_DAMAGED, "damaged: node '%.200s%.200s' (%.100s) has only %u inputs", f->prefix,
                       v->name, gd_text(v->node->op), v->input_count);
    return gd_frame_value(b, f, v->inputs[i], value);
}

static unsigned loop_depth(const ft_graph *graph, uint32_t loop) {
    unsigned depth = 0;
    for (; loop != 0; loop = graph->loops[loop].parent) depth++;
    return depth;
}

static unsigned branch_depth(const ft_graph *graph, uint32_t branch) {
    unsigned depth = 0;
    for (; branch != 0; branch = graph->branches[branch].parent) depth++;
    return depth;
}

gd_value gd_context(const gd_builder *b, const gd_frame *f, const gd_vertex *v) {
    gd_value all = {.tensor = FT_NONE, .loop = f->loop, .branch = f->branch};
    for (uint32_t i = 0; i < v->input_count; i++) {
        const gd_value *in = &f->vertices[v->inputs[i].vertex].values[v->inputs[i].slot];
        if (in->loop != all.loop && loop_depth(b->graph, in->loop) > loop_depth(b->graph, all.loop))
            all.loop = in->loop;
        if (in->branch != all.branch && branch_depth(b->graph, in->branch) > branch_depth(b->graph, all.branch))
            all.branch = in->branch;
    }
    return all;
}
