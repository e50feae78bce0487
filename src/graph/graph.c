/* graph.c - construction of a graph: tensors, operators, attributes, metadata. graph_finish.c validates and sorts it,
 * graph_access.c reads it. */
#include "graph/graph.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "graph/opdef.h"

ft_status graph_new(ft_format format, ft_layout layout, const char *name, ft_graph **graph, ft_error *error) {
    ft_graph *g = calloc(1, sizeof *g);
    if (g == NULL) return FT_NOMEM(error);
    arena_init(&g->memory, FT_MAX_GRAPH_BYTES);
    g->format = format;
    g->layout = layout;
    g->name = arena_string(&g->memory, name, strlen(name));
    uint32_t index;
    graph_loop top_loop = {.trip_tensor = FT_NONE, .scan_tensor = FT_NONE, .trips = 1};
    graph_branch top_branch = {.condition = FT_NONE, .is_default = true};
    if (g->name == NULL || graph_add_loop(g, &top_loop, &index, error) != FT_OK ||
        graph_add_branch(g, &top_branch, &index, error) != FT_OK) {
        ft_graph_free(g);
        return FT_NOMEM(error);
    }
    *graph = g;
    return FT_OK;
}

void ft_graph_free(ft_graph *graph) {
    if (graph == NULL) return;
    arena_free(&graph->memory);
    free(graph);
}

/* Makes room for one more item. Old arrays stay in the arena; with doubling they add up to less than the new one. */
static bool make_room(arena *memory, void **items, uint32_t count, uint32_t *capacity, size_t size) {
    assert(count <= *capacity);
    if (count < *capacity) return true;
    uint32_t larger = *capacity == 0 ? 16 : *capacity * 2;
    void *moved = larger > *capacity ? arena_array(memory, larger, size) : NULL;
    if (moved == NULL) return false;
    if (count > 0) memcpy(moved, *items, count * size);
    *items = moved;
    *capacity = larger;
    return true;
}

#define MAKE_ROOM(g, items, count, capacity)                                                                           \
    make_room(&(g)->memory, (void **)&(g)->items, (g)->count, &(g)->capacity, sizeof *(g)->items)

ft_status graph_reserve(ft_graph *graph, size_t tensors, size_t ops, ft_error *error) {
    if (graph->tensor_count > 0 || graph->op_count > 0) return FT_OK;
    graph->tensor_capacity = (uint32_t)(tensors < FT_MAX_OPS ? tensors : FT_MAX_OPS);
    graph->op_capacity = (uint32_t)(ops < FT_MAX_OPS ? ops : FT_MAX_OPS);
    graph->tensors = ARENA_ARRAY(&graph->memory, ft_tensor, graph->tensor_capacity);
    graph->ops = ARENA_ARRAY(&graph->memory, ft_op, graph->op_capacity);
    return graph->tensors != NULL && graph->ops != NULL ? FT_OK : FT_NOMEM(error);
}

static ft_status check_shape(const ft_graph *graph, const ft_tensor *t, ft_error *error) {
    if (t->rank > FT_MAX_RANK || t->rank < -1)
        return ft_fail(error, FT_ERR_LIMIT, "tensor '%s' has %d dimensions; at most %d are supported", t->name, t->rank,
                       FT_MAX_RANK);
    bool has_all = true;
    for (int32_t i = 0; i < t->rank; i++) {
        int64_t dim = t->dims[i];
        if (dim > FT_MAX_DIM)
            return ft_fail(error, FT_ERR_LIMIT, "tensor '%s': dimension %d is %lld, more than 2^40", t->name, i,
                           (long long)dim);
        if (dim < 0 && dim != FT_DIM_UNKNOWN && -1 - dim >= (int64_t)graph->symbol_count)
            return ft_fail(error, FT_ERR_GRAPH, "tensor '%s': dimension %d is negative (%lld)", t->name, i,
                           (long long)dim);
        if (dim <= 0) has_all = false;
    }
    if (has_all && t->rank > 0 && shape_elems(t->dims, t->rank) == 0)
        return ft_fail(error, FT_ERR_LIMIT, "tensor '%s' has more than 2^46 elements", t->name);
    return FT_OK;
}

ft_status graph_add_tensor(ft_graph *graph, const ft_tensor *spec, uint32_t *index, ft_error *error) {
    FT_TRY(check_shape(graph, spec, error));
    if (!MAKE_ROOM(graph, tensors, tensor_count, tensor_capacity)) return FT_NOMEM(error);
    ft_tensor *t = &graph->tensors[graph->tensor_count];
    *t = *spec;
    t->name = arena_string(&graph->memory, spec->name, strlen(spec->name));
    if (t->name == NULL) return FT_NOMEM(error);
    t->producer = FT_NONE;
    t->use_count = 0;
    t->uses = NULL;
    *index = graph->tensor_count++;
    return FT_OK;
}

static ft_status check_indexes(const ft_graph *graph, const ft_op *op, const uint32_t *list, uint32_t count,
                               const char *what, ft_error *error) {
    for (uint32_t i = 0; i < count; i++) {
        if (list[i] != FT_NONE && list[i] >= graph->tensor_count)
            return ft_fail(error, FT_ERR_GRAPH, "operator '%s' (%s): %s %u refers to a tensor that does not exist",
                           op->name, op->type, what, i);
    }
    return FT_OK;
}

ft_status graph_add_op(ft_graph *graph, const ft_op *spec, ft_error *error) {
    FT_TRY(check_indexes(graph, spec, spec->inputs, spec->input_count, "input", error));
    FT_TRY(check_indexes(graph, spec, spec->outputs, spec->output_count, "output", error));
    if (graph->op_count >= FT_MAX_OPS)
        return ft_fail(error, FT_ERR_LIMIT, "more than %d operators, with sub-graphs and functions inlined",
                       FT_MAX_OPS);
    if (!MAKE_ROOM(graph, ops, op_count, op_capacity)) return FT_NOMEM(error);
    ft_op *op = &graph->ops[graph->op_count];
    *op = *spec;
    op->name = arena_string(&graph->memory, spec->name, strlen(spec->name));
    op->type = arena_string(&graph->memory, spec->type, strlen(spec->type));
    op->inputs = arena_copy(&graph->memory, spec->inputs, spec->input_count * sizeof *spec->inputs);
    op->outputs = arena_copy(&graph->memory, spec->outputs, spec->output_count * sizeof *spec->outputs);
    if (op->name == NULL || op->type == NULL || op->inputs == NULL || op->outputs == NULL) return FT_NOMEM(error);
    if (op->def == NULL) op->def = opdef_find(graph->format, op->type);
    if (op->def == NULL) op->def = ft_opdef_unknown();
    op->repeats = 1;
    graph->op_count++;
    return FT_OK;
}

static ft_status list_add(ft_graph *graph, index_list *list, uint32_t item, ft_error *error) {
    if (!make_room(&graph->memory, (void **)&list->items, list->count, &list->capacity, sizeof *list->items))
        return FT_NOMEM(error);
    list->items[list->count++] = item;
    return FT_OK;
}

ft_status graph_add_input(ft_graph *graph, uint32_t tensor, ft_error *error) {
    if (tensor >= graph->tensor_count)
        return ft_fail(error, FT_ERR_GRAPH, "a graph input refers to a tensor that does not exist");
    graph->tensors[tensor].role = FT_INPUT;
    return list_add(graph, &graph->inputs, tensor, error);
}

ft_status graph_add_output(ft_graph *graph, uint32_t tensor, ft_error *error) {
    if (tensor >= graph->tensor_count)
        return ft_fail(error, FT_ERR_GRAPH, "a graph output refers to a tensor that does not exist");
    graph->tensors[tensor].is_output = true;
    return list_add(graph, &graph->outputs, tensor, error);
}

ft_status graph_add_loop(ft_graph *graph, const graph_loop *loop, uint32_t *index, ft_error *error) {
    if (!MAKE_ROOM(graph, loops, loop_count, loop_capacity)) return FT_NOMEM(error);
    graph->loops[graph->loop_count] = *loop;
    *index = graph->loop_count++;
    return FT_OK;
}

ft_status graph_add_branch(ft_graph *graph, const graph_branch *branch, uint32_t *index, ft_error *error) {
    if (!MAKE_ROOM(graph, branches, branch_count, branch_capacity)) return FT_NOMEM(error);
    graph->branches[graph->branch_count] = *branch;
    *index = graph->branch_count++;
    return FT_OK;
}

ft_status graph_set_meta(ft_graph *graph, const char *key, const char *value, ft_error *error) {
    if (!MAKE_ROOM(graph, meta, meta_count, meta_capacity)) return FT_NOMEM(error);
    graph_meta *m = &graph->meta[graph->meta_count];
    m->key = arena_string(&graph->memory, key, strlen(key));
    m->value = arena_string(&graph->memory, value, strlen(value));
    if (m->key == NULL || m->value == NULL) return FT_NOMEM(error);
    graph->meta_count++;
    return FT_OK;
}

ft_status graph_symbol(ft_graph *graph, const char *name, int64_t *dim, ft_error *error) {
    *dim = FT_DIM_UNKNOWN;
    if (name[0] == '\0') return FT_OK;
    for (uint32_t i = 0; i < graph->symbol_count; i++) {
        if (strcmp(graph->symbols[i], name) == 0) {
            *dim = -1 - (int64_t)i;
            return FT_OK;
        }
    }
    /* The search is linear: real files have a few symbols, and this limit stops hostile ones. */
    if (graph->symbol_count >= GRAPH_MAX_SYMBOLS)
        return ft_fail(error, FT_ERR_LIMIT, "more than %d different symbolic dimensions", GRAPH_MAX_SYMBOLS);
    if (!MAKE_ROOM(graph, symbols, symbol_count, symbol_capacity)) return FT_NOMEM(error);
    const char *copy = arena_string(&graph->memory, name, strlen(name));
    if (copy == NULL) return FT_NOMEM(error);
    graph->symbols[graph->symbol_count] = copy;
    *dim = -1 - (int64_t)graph->symbol_count++;
    return FT_OK;
}

ft_status graph_set_exported_size(ft_graph *graph, int64_t dim, int64_t size, ft_error *error) {
    assert(dim < 0 && -1 - dim < (int64_t)graph->symbol_count && size > 0);
    if (graph->exported_sizes == NULL) graph->exported_sizes = ARENA_ARRAY(&graph->memory, int64_t, GRAPH_MAX_SYMBOLS);
    if (graph->exported_sizes == NULL) return FT_NOMEM(error);
    graph->exported_sizes[-1 - dim] = size;
    return FT_OK;
}

int64_t graph_exported_size(const ft_graph *graph, int64_t dim) {
    bool is_symbol = dim < 0 && dim != FT_DIM_UNKNOWN && -1 - dim < (int64_t)graph->symbol_count;
    return is_symbol && graph->exported_sizes != NULL ? graph->exported_sizes[-1 - dim] : 0;
}

static ft_value *new_value(ft_graph *graph, int64_t count, void **elements) {
    if (count < 0 || count > FT_FOLD_MAX_ELEMS) return NULL;
    ft_value *value = ARENA_NEW(&graph->memory, ft_value);
    *elements = arena_array(&graph->memory, (size_t)count, sizeof(int64_t));
    if (value == NULL || *elements == NULL) return NULL;
    value->count = count;
    return value;
}

ft_value *graph_value_ints(ft_graph *graph, int64_t count, int64_t **ints) {
    void *elements;
    ft_value *value = new_value(graph, count, &elements);
    if (value != NULL) value->ints = *ints = elements;
    return value;
}

ft_value *graph_value_floats(ft_graph *graph, int64_t count, double **floats) {
    void *elements;
    ft_value *value = new_value(graph, count, &elements);
    if (value != NULL) value->floats = *floats = elements;
    return value;
}

static ft_status new_attr(ft_graph *graph, ft_attr *attr, const char *name, ft_attr_kind kind, ft_error *error) {
    *attr = (ft_attr){.kind = kind, .name = arena_string(&graph->memory, name, strlen(name))};
    return attr->name != NULL ? FT_OK : FT_NOMEM(error);
}

ft_status graph_attr_int(ft_graph *graph, ft_attr *attr, const char *name, int64_t value, ft_error *error) {
    FT_TRY(new_attr(graph, attr, name, FT_ATTR_INT, error));
    attr->i = value;
    return FT_OK;
}

ft_status graph_attr_float(ft_graph *graph, ft_attr *attr, const char *name, double value, ft_error *error) {
    FT_TRY(new_attr(graph, attr, name, FT_ATTR_FLOAT, error));
    attr->f = value;
    return FT_OK;
}

ft_status graph_attr_string(ft_graph *graph, ft_attr *attr, const char *name, const char *value, ft_error *error) {
    FT_TRY(new_attr(graph, attr, name, FT_ATTR_STRING, error));
    attr->s = arena_string(&graph->memory, value, strlen(value));
    return attr->s != NULL ? FT_OK : FT_NOMEM(error);
}

static ft_status attr_list(ft_graph *graph, ft_attr *attr, const void *values, size_t count, const void **copy,
                           ft_error *error) {
    if (count > FT_FOLD_MAX_ELEMS)
        return ft_fail(error, FT_ERR_LIMIT, "attribute '%s' has more than %d elements", attr->name, FT_FOLD_MAX_ELEMS);
    attr->count = (uint32_t)count;
    *copy = arena_copy(&graph->memory, values, count * sizeof(int64_t));
    return *copy != NULL ? FT_OK : FT_NOMEM(error);
}

ft_status graph_attr_ints(ft_graph *graph, ft_attr *attr, const char *name, const int64_t *values, size_t count,
                          ft_error *error) {
    FT_TRY(new_attr(graph, attr, name, FT_ATTR_INTS, error));
    return attr_list(graph, attr, values, count, (const void **)&attr->ints, error);
}

ft_status graph_attr_floats(ft_graph *graph, ft_attr *attr, const char *name, const double *values, size_t count,
                            ft_error *error) {
    FT_TRY(new_attr(graph, attr, name, FT_ATTR_FLOATS, error));
    return attr_list(graph, attr, values, count, (const void **)&attr->floats, error);
}

/* --- Tensor programs as graphs ------------------------------------------------------------------------------- */

static const char PROGRAM_TYPE[] = "TensorProgram", PROGRAM_TEXT[] = "text";

static ft_status fill_program(ft_graph *graph, const char *text, ft_error *error) {
    ft_tensor result = {.name = "result", .dtype = FT_FLOAT32, .role = FT_ACTIVATION, .rank = -1};
    ft_attr *attr = ARENA_ARRAY(&graph->memory, ft_attr, 1);
    uint32_t output;
    if (attr == NULL) return FT_NOMEM(error);
    FT_TRY(graph_attr_string(graph, attr, PROGRAM_TEXT, text, error));
    FT_TRY(graph_add_tensor(graph, &result, &output, error));
    ft_op op = {
        .name = "", .type = PROGRAM_TYPE, .outputs = &output, .output_count = 1, .attrs = attr, .attr_count = 1};
    FT_TRY(graph_add_op(graph, &op, error));
    FT_TRY(graph_add_output(graph, output, error));
    return graph_finish(graph, error);
}

ft_status graph_new_program(const char *text, ft_graph **graph, ft_error *error) {
    ft_graph *made = NULL;
    FT_TRY(graph_new(FT_FORMAT_UNKNOWN, FT_NCHW, "program", &made, error));
    ft_status status = fill_program(made, text, error);
    if (status != FT_OK) {
        ft_graph_free(made);
        return status;
    }
    *graph = made;
    return FT_OK;
}

const char *graph_program_text(const ft_graph *graph) {
    if (graph->op_count != 1 || strcmp(graph->ops[0].type, PROGRAM_TYPE) != 0) return NULL;
    return op_attr_string(&graph->ops[0], PROGRAM_TEXT, NULL);
}
