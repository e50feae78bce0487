/* unpack_op.c - operators of a packed graph, with their types and attributes. */
#include <string.h>

#include "data/unpack.h"

static ft_status get_attribute(unpacker *u, ft_attr *a) {
    a->name = unpack_string(u);
    unsigned kind = byte_get(&u->in);
    CHECK(u, "attributes");
    if (kind > FT_ATTR_FLOATS) return unpack_damaged(u, "an attribute of an unknown kind");
    a->kind = (ft_attr_kind)kind;
    if (a->kind == FT_ATTR_STRING) {
        a->s = unpack_string(u);
        return FT_OK;
    }
    FT_TRY(unpack_numbers(u, &a->count, &a->ints, &a->floats));
    bool is_float = a->kind == FT_ATTR_FLOAT || a->kind == FT_ATTR_FLOATS;
    bool is_list = a->kind == FT_ATTR_INTS || a->kind == FT_ATTR_FLOATS;
    if (is_float != (a->floats != NULL) || (!is_list && a->count != 1))
        return unpack_damaged(u, "an attribute with numbers of another kind");
    if (is_list) return FT_OK;
    if (is_float)
        a->f = a->floats[0];
    else
        a->i = a->ints[0];
    a->count = 0;
    a->ints = NULL;
    a->floats = NULL;
    return FT_OK;
}

static ft_status get_attributes(unpacker *u) {
    u->attributes_count = unpack_count(u, 1);
    u->attributes = ARENA_ARRAY(u->scratch, attributes, u->attributes_count);
    if (u->attributes == NULL) return FT_NOMEM(u->error);
    for (uint32_t i = 0; i < u->attributes_count; i++) {
        uint32_t count = unpack_count(u, 3);
        ft_attr *items = ARENA_ARRAY(u->memory, ft_attr, count);
        if (items == NULL) return FT_NOMEM(u->error);
        for (uint32_t k = 0; k < count; k++) FT_TRY(get_attribute(u, &items[k]));
        u->attributes[i] = (attributes){.items = items, .count = count};
    }
    CHECK(u, "attributes");
    return FT_OK;
}

/* A table entry that no longer exists is looked up by type. */
static const ft_opdef *find_def(ft_format format, const char *type, const char *name) {
    const ft_opdef *def = NULL;
    for (uint32_t i = 0; name != NULL && i < ft_opdef_count() && def == NULL; i++) {
        if (strcmp(ft_opdef_at(i)->name, name) == 0) def = ft_opdef_at(i);
    }
    if (def == NULL && name != NULL && strcmp(ft_opdef_unknown()->name, name) == 0) def = ft_opdef_unknown();
    if (def == NULL) def = opdef_find(format, type);
    return def != NULL ? def : ft_opdef_unknown();
}

static ft_status get_types(unpacker *u) {
    u->type_count = unpack_count(u, 2);
    u->types = ARENA_ARRAY(u->scratch, op_type, u->type_count);
    if (u->types == NULL) return FT_NOMEM(u->error);
    for (uint32_t i = 0; i < u->type_count; i++) {
        const char *type = unpack_string(u);
        uint64_t def = varint_get_below(&u->in, (uint64_t)u->string_count + 1);
        CHECK(u, "operator types");
        u->types[i].name = type;
        u->types[i].def = find_def(u->graph->format, type, def > 0 ? u->strings[def - 1] : NULL);
    }
    CHECK(u, "operator types");
    return FT_OK;
}

/* The tensors that an operator reads or writes, as pack.c's put_tensor_ref wrote them. */
static ft_status get_tensor_refs(unpacker *u, uint32_t *next, uint32_t *count, const uint32_t **tensors) {
    *count = unpack_count(u, 1);
    uint32_t *list = ARENA_ARRAY(u->memory, uint32_t, *count);
    if (list == NULL) return FT_NOMEM(u->error);
    for (uint32_t i = 0; i < *count; i++) {
        uint64_t code = varint_get(&u->in);
        if (code == 1 && *next < u->graph->tensor_count)
            list[i] = (*next)++;
        else if (code == 0)
            list[i] = FT_NONE;
        else if (code > 1 && code - 1 <= *next)
            list[i] = *next - (uint32_t)(code - 1);
        else
            return unpack_damaged(u, "an operator refers to a tensor that does not exist");
    }
    *tensors = list;
    CHECK(u, "operators");
    return FT_OK;
}

/* "op12": a name for reports and messages. Formatting by printf would take as long as all the rest. */
static const char *op_name(arena *memory, uint32_t number) {
    char text[16], *at = text + sizeof text;
    do *--at = (char)('0' + number % 10);
    while ((number /= 10) > 0);
    *--at = 'p';
    *--at = 'o';
    return arena_string(memory, at, (size_t)(text + sizeof text - at));
}

static ft_status get_op(unpacker *u, uint32_t *next, uint32_t number, ft_op *op) {
    const ft_graph *g = u->graph;
    uint64_t type = varint_get_below(&u->in, u->type_count), list = varint_get_below(&u->in, u->attributes_count);
    CHECK(u, "operators");
    op->name = op_name(u->memory, number);
    if (op->name == NULL) return FT_NOMEM(u->error);
    op->type = u->types[type].name;
    op->def = u->types[type].def;
    op->attrs = u->attributes[list].items;
    op->attr_count = u->attributes[list].count;
    op->repeats = 1;
    FT_TRY(get_tensor_refs(u, next, &op->input_count, &op->inputs));
    FT_TRY(get_tensor_refs(u, next, &op->output_count, &op->outputs));
    if (g->loop_count > 1) op->loop = (uint32_t)varint_get_below(&u->in, g->loop_count);
    if (g->branch_count > 1) op->branch = (uint32_t)varint_get_below(&u->in, g->branch_count);
    return FT_OK;
}

static ft_status get_ops(unpacker *u) {
    ft_graph *g = u->graph;
    uint32_t count = unpack_count(u, 4), next = 0;
    if (count > FT_MAX_OPS) return unpack_damaged(u, "too many operators");
    g->ops = ARENA_ARRAY(u->memory, ft_op, count);
    if (g->ops == NULL) return FT_NOMEM(u->error);
    g->op_count = g->op_capacity = count;
    for (uint32_t i = 0; i < g->inputs.count; i++) next += g->inputs.items[i] == next;
    for (uint32_t i = 0; i < count; i++) FT_TRY(get_op(u, &next, i, &g->ops[i]));
    CHECK(u, "operators");
    return FT_OK;
}

ft_status unpack_ops(unpacker *u) {
    FT_TRY(get_attributes(u));
    FT_TRY(get_types(u));
    return get_ops(u);
}
