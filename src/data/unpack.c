/* unpack.c - from packed bytes to a graph.
 *
 * Every number is checked before it is used; counts cannot make us take more memory than a fixed multiple of the bytes
 * that are there, because each thing counted takes at least one byte. Strings, shapes and attributes are made once and
 * shared by all that refer to them, so that little is left to do for each operator. */
#include <stdlib.h>
#include <string.h>

#include "data/pack.h"
#include "data/varint.h"
#include "graph/naming.h"
#include "graph/opdef.h"

typedef struct shape {
    ft_dtype dtype;
    int32_t rank;
    int64_t dims[FT_MAX_RANK];
    uint64_t dense_bytes;
} shape;

typedef struct attributes {
    const ft_attr *items;
    uint32_t count;
} attributes;

typedef struct op_type {
    const char *name;
    const ft_opdef *def;
} op_type;

typedef struct unpacker {
    varint_reader in;
    ft_graph *graph;
    arena *memory;  /* of the graph */
    arena *scratch; /* for what is not needed afterwards */
    const char **strings;
    shape *shapes;
    attributes *attributes;
    op_type *types;
    uint32_t string_count, shape_count, attributes_count, type_count;
    ft_error *error;
} unpacker;

static ft_status damaged(const unpacker *u, const char *what) {
    return ft_fail(u->error, FT_ERR_DAMAGED, "packed graph: %s", what);
}

#define CHECK(u, what)                                                                                                 \
    do {                                                                                                               \
        if ((u)->in.has_failed) return damaged((u), "wrong or missing " what);                                         \
    } while (0)

/* A count of things that each take at least `least` bytes. */
static uint32_t get_count(unpacker *u, size_t least) {
    return (uint32_t)varint_get_below(
        &u->in, reader_left(&u->in) / least + 1 < UINT32_MAX ? reader_left(&u->in) / least + 1 : UINT32_MAX);
}

/* --- Pieces -------------------------------------------------------------------------------------------------- */

static ft_status get_strings(unpacker *u) {
    u->string_count = get_count(u, 1);
    u->strings = ARENA_ARRAY(u->scratch, const char *, u->string_count);
    if (u->strings == NULL) return FT_NOMEM(u->error);
    for (uint32_t i = 0; i < u->string_count; i++) {
        uint64_t length = varint_get_below(&u->in, reader_left(&u->in) + 1);
        const uint8_t *bytes = bytes_get(&u->in, (size_t)length);
        CHECK(u, "strings");
        if (memchr(bytes, '\0', (size_t)length) != NULL) return damaged(u, "a string holds a zero byte");
        u->strings[i] = arena_string(u->memory, (const char *)bytes, (size_t)length);
        if (u->strings[i] == NULL) return FT_NOMEM(u->error);
    }
    CHECK(u, "strings");
    return FT_OK;
}

static const char *get_string(unpacker *u) {
    uint64_t number = varint_get_below(&u->in, u->string_count);
    return u->in.has_failed ? "" : u->strings[number];
}

static ft_status get_symbols(unpacker *u) {
    uint32_t count = get_count(u, 1);
    if (count > GRAPH_MAX_SYMBOLS) return damaged(u, "too many symbols");
    u->graph->symbols = ARENA_ARRAY(u->memory, const char *, count);
    if (u->graph->symbols == NULL) return FT_NOMEM(u->error);
    for (uint32_t i = 0; i < count; i++) u->graph->symbols[i] = get_string(u);
    u->graph->symbol_count = u->graph->symbol_capacity = count;
    CHECK(u, "symbols");
    return FT_OK;
}

static int64_t get_dim(unpacker *u) {
    uint64_t code = varint_get(&u->in);
    if (code == 1) return FT_DIM_UNKNOWN;
    uint64_t value = code >> 1;
    if ((code & 1) == 0) return value <= (uint64_t)FT_MAX_DIM ? (int64_t)value : (int64_t)reader_fail(&u->in);
    return value <= u->graph->symbol_count ? -(int64_t)value : (int64_t)reader_fail(&u->in);
}

static ft_status get_shape(unpacker *u, shape *s) {
    uint8_t dtype = byte_get(&u->in), rank = byte_get(&u->in);
    if (dtype > FT_COMPLEX128 || rank > FT_MAX_RANK + 1) return damaged(u, "a shape of an unknown kind");
    s->dtype = (ft_dtype)dtype;
    s->rank = (int32_t)rank - 1;
    bool is_empty = s->rank <= 0;
    for (int32_t i = 0; i < s->rank; i++) {
        s->dims[i] = get_dim(u);
        if (s->dims[i] <= 0) is_empty = true;
    }
    CHECK(u, "shapes");
    int64_t elems = shape_elems(s->dims, s->rank);
    if (!is_empty && elems == 0) return damaged(u, "a tensor with more than 2^46 elements");
    s->dense_bytes = dtype_bytes(s->dtype, (uint64_t)elems);
    return FT_OK;
}

static ft_status get_shapes(unpacker *u) {
    u->shape_count = get_count(u, 2);
    u->shapes = ARENA_ARRAY(u->scratch, shape, u->shape_count);
    if (u->shapes == NULL) return FT_NOMEM(u->error);
    for (uint32_t i = 0; i < u->shape_count; i++) FT_TRY(get_shape(u, &u->shapes[i]));
    CHECK(u, "shapes");
    return FT_OK;
}

/* --- Numbers ------------------------------------------------------------------------------------------------- */

static ft_status get_ints(unpacker *u, uint32_t count, const int64_t **ints) {
    int64_t *made = ARENA_ARRAY(u->memory, int64_t, count);
    if (made == NULL) return FT_NOMEM(u->error);
    for (uint32_t i = 0; i < count; i++) made[i] = unzigzag(varint_get(&u->in));
    *ints = made;
    CHECK(u, "integers");
    return FT_OK;
}

static uint64_t little_endian(const uint8_t *bytes, unsigned size) {
    uint64_t bits = 0;
    for (unsigned i = 0; i < size; i++) bits |= (uint64_t)bytes[i] << 8 * i;
    return bits;
}

static ft_status get_floats(unpacker *u, uint32_t count, bool is_wide, const double **floats) {
    unsigned size = is_wide ? 8 : 4;
    const uint8_t *bytes = bytes_get(&u->in, (size_t)count * size);
    CHECK(u, "floats");
    double *made = ARENA_ARRAY(u->memory, double, count);
    if (made == NULL) return FT_NOMEM(u->error);
    for (uint32_t i = 0; i < count; i++) {
        uint64_t wide = little_endian(bytes + (size_t)i * size, size);
        uint32_t bits = (uint32_t)wide;
        float narrow;
        memcpy(&narrow, &bits, sizeof narrow);
        if (is_wide)
            memcpy(&made[i], &wide, sizeof wide);
        else
            made[i] = (double)narrow;
    }
    *floats = made;
    return FT_OK;
}

/* Either `ints` or `floats` is set. */
static ft_status get_numbers(unpacker *u, uint32_t *count, const int64_t **ints, const double **floats) {
    uint64_t code = varint_get_below(&u->in, ((uint64_t)FT_FOLD_MAX_ELEMS + 1) << 2);
    unsigned kind = (unsigned)(code & 3);
    CHECK(u, "numbers");
    *count = (uint32_t)(code >> 2);
    *ints = NULL;
    *floats = NULL;
    if (kind >= NUMBER_KINDS) return damaged(u, "numbers of an unknown kind");
    return kind == NUMBER_INT ? get_ints(u, *count, ints) : get_floats(u, *count, kind == NUMBER_FLOAT64, floats);
}

/* --- Tensors ------------------------------------------------------------------------------------------------- */

static ft_status get_value(unpacker *u, ft_tensor *t) {
    ft_value *value = ARENA_NEW(u->memory, ft_value);
    uint32_t count;
    if (value == NULL) return FT_NOMEM(u->error);
    FT_TRY(get_numbers(u, &count, &value->ints, &value->floats));
    value->count = count;
    t->value = value;
    return FT_OK;
}

static ft_status get_tensor(unpacker *u, ft_tensor *t) {
    unsigned flags = byte_get(&u->in);
    uint64_t number = varint_get_below(&u->in, u->shape_count);
    CHECK(u, "tensors");
    const shape *s = &u->shapes[number];
    unsigned role = flags & PACK_ROLE, stored = flags >> PACK_STORED_SHIFT & 3;
    if (role > FT_CONSTANT || stored > STORED_BYTES) return damaged(u, "a tensor of an unknown kind");
    t->name = name_kind_example((name_kind)(flags >> PACK_NAME_SHIFT & 3));
    t->dtype = s->dtype;
    t->role = (ft_role)role;
    t->rank = s->rank;
    memcpy(t->dims, s->dims, sizeof t->dims);
    t->producer = FT_NONE;
    t->is_sparse = (flags & PACK_SPARSE) != 0;
    if (stored == STORED_DENSE) t->stored_bytes = s->dense_bytes;
    if (stored == STORED_BYTES) t->stored_bytes = varint_get(&u->in);
    return (flags & PACK_VALUE) != 0 ? get_value(u, t) : FT_OK;
}

static ft_status get_tensors(unpacker *u) {
    ft_graph *g = u->graph;
    uint32_t count = get_count(u, 2);
    g->tensors = ARENA_ARRAY(u->memory, ft_tensor, count);
    if (g->tensors == NULL) return FT_NOMEM(u->error);
    g->tensor_count = g->tensor_capacity = count;
    for (uint32_t i = 0; i < count; i++) FT_TRY(get_tensor(u, &g->tensors[i]));
    CHECK(u, "tensors");
    return FT_OK;
}

static ft_status get_list(unpacker *u, index_list *list) {
    list->count = list->capacity = get_count(u, 1);
    list->items = ARENA_ARRAY(u->memory, uint32_t, list->count);
    if (list->items == NULL) return FT_NOMEM(u->error);
    for (uint32_t i = 0; i < list->count; i++)
        list->items[i] = (uint32_t)varint_get_below(&u->in, u->graph->tensor_count);
    CHECK(u, "inputs and outputs");
    return FT_OK;
}

static ft_status get_ends(unpacker *u) {
    ft_graph *g = u->graph;
    FT_TRY(get_list(u, &g->inputs));
    FT_TRY(get_list(u, &g->outputs));
    for (uint32_t i = 0; i < g->inputs.count; i++) {
        ft_tensor *t = &g->tensors[g->inputs.items[i]];
        t->role = FT_INPUT;
        t->name = arena_format(u->memory, "input%u", i);
        if (t->name == NULL) return FT_NOMEM(u->error);
    }
    for (uint32_t i = 0; i < g->outputs.count; i++) g->tensors[g->outputs.items[i]].is_output = true;
    return FT_OK;
}

static uint32_t get_tensor_number(unpacker *u) {
    uint64_t code = varint_get_below(&u->in, (uint64_t)u->graph->tensor_count + 1);
    return code == 0 ? FT_NONE : (uint32_t)code - 1;
}

static ft_status get_loops(unpacker *u) {
    uint32_t index, loops = get_count(u, 4);
    for (uint32_t i = 1; i <= loops; i++) {
        graph_loop loop = {.trips = 1};
        loop.parent = (uint32_t)varint_get_below(&u->in, i);
        loop.trip_tensor = get_tensor_number(u);
        loop.scan_tensor = get_tensor_number(u);
        int64_t axis = unzigzag(varint_get(&u->in));
        if (axis < -FT_MAX_RANK || axis > FT_MAX_RANK) return damaged(u, "an axis out of range");
        loop.scan_axis = (int32_t)axis;
        CHECK(u, "loops");
        FT_TRY(graph_add_loop(u->graph, &loop, &index, u->error));
    }
    uint32_t branches = get_count(u, 3);
    for (uint32_t i = 1; i <= branches; i++) {
        graph_branch branch = {.parent = (uint32_t)varint_get_below(&u->in, i)};
        branch.condition = get_tensor_number(u);
        unsigned flags = byte_get(&u->in);
        branch.is_then = (flags & 1) != 0;
        branch.is_default = (flags & 2) != 0;
        CHECK(u, "branches");
        if (flags > 3 || branch.condition == FT_NONE) return damaged(u, "a branch without a condition");
        FT_TRY(graph_add_branch(u->graph, &branch, &index, u->error));
    }
    CHECK(u, "loops");
    return FT_OK;
}

/* --- Operators ----------------------------------------------------------------------------------------------- */

static ft_status get_attribute(unpacker *u, ft_attr *a) {
    a->name = get_string(u);
    unsigned kind = byte_get(&u->in);
    CHECK(u, "attributes");
    if (kind > FT_ATTR_FLOATS) return damaged(u, "an attribute of an unknown kind");
    a->kind = (ft_attr_kind)kind;
    if (a->kind == FT_ATTR_STRING) {
        a->s = get_string(u);
        return FT_OK;
    }
    FT_TRY(get_numbers(u, &a->count, &a->ints, &a->floats));
    bool is_float = a->kind == FT_ATTR_FLOAT || a->kind == FT_ATTR_FLOATS;
    bool is_list = a->kind == FT_ATTR_INTS || a->kind == FT_ATTR_FLOATS;
    if (is_float != (a->floats != NULL) || (!is_list && a->count != 1))
        return damaged(u, "an attribute with numbers of another kind");
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
    u->attributes_count = get_count(u, 1);
    u->attributes = ARENA_ARRAY(u->scratch, attributes, u->attributes_count);
    if (u->attributes == NULL) return FT_NOMEM(u->error);
    for (uint32_t i = 0; i < u->attributes_count; i++) {
        uint32_t count = get_count(u, 3);
        ft_attr *items = ARENA_ARRAY(u->memory, ft_attr, count);
        if (items == NULL) return FT_NOMEM(u->error);
        for (uint32_t k = 0; k < count; k++) FT_TRY(get_attribute(u, &items[k]));
        u->attributes[i] = (attributes){.items = items, .count = count};
    }
    CHECK(u, "attributes");
    return FT_OK;
}

/* An entry that the table does not have any more is looked up like any other. */
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
    u->type_count = get_count(u, 2);
    u->types = ARENA_ARRAY(u->scratch, op_type, u->type_count);
    if (u->types == NULL) return FT_NOMEM(u->error);
    for (uint32_t i = 0; i < u->type_count; i++) {
        const char *type = get_string(u);
        uint64_t def = varint_get_below(&u->in, (uint64_t)u->string_count + 1);
        CHECK(u, "operator types");
        u->types[i].name = type;
        u->types[i].def = find_def(u->graph->format, type, def > 0 ? u->strings[def - 1] : NULL);
    }
    CHECK(u, "operator types");
    return FT_OK;
}

/* The tensors an operator reads or makes, as pack.c's put_meeting wrote them. */
static ft_status get_meetings(unpacker *u, uint32_t *next, uint32_t *count, const uint32_t **tensors) {
    *count = get_count(u, 1);
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
            return damaged(u, "an operator names a tensor that does not exist");
    }
    *tensors = list;
    CHECK(u, "operators");
    return FT_OK;
}

/* "op12". Reports and messages need something to call an operator; formatting would take as long as all the rest. */
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
    FT_TRY(get_meetings(u, next, &op->input_count, &op->inputs));
    FT_TRY(get_meetings(u, next, &op->output_count, &op->outputs));
    if (g->loop_count > 1) op->loop = (uint32_t)varint_get_below(&u->in, g->loop_count);
    if (g->branch_count > 1) op->branch = (uint32_t)varint_get_below(&u->in, g->branch_count);
    return FT_OK;
}

static ft_status get_ops(unpacker *u) {
    ft_graph *g = u->graph;
    uint32_t count = get_count(u, 4), next = 0;
    if (count > FT_MAX_OPS) return damaged(u, "too many operators");
    g->ops = ARENA_ARRAY(u->memory, ft_op, count);
    if (g->ops == NULL) return FT_NOMEM(u->error);
    g->op_count = g->op_capacity = count;
    for (uint32_t i = 0; i < g->inputs.count; i++) next += g->inputs.items[i] == next;
    for (uint32_t i = 0; i < count; i++) FT_TRY(get_op(u, &next, i, &g->ops[i]));
    CHECK(u, "operators");
    return FT_OK;
}

/* --- All of it ----------------------------------------------------------------------------------------------- */

static ft_status get_graph(unpacker *u) {
    FT_TRY(get_strings(u));
    FT_TRY(get_symbols(u));
    FT_TRY(get_shapes(u));
    FT_TRY(get_tensors(u));
    FT_TRY(get_ends(u));
    FT_TRY(get_loops(u));
    FT_TRY(get_attributes(u));
    FT_TRY(get_types(u));
    FT_TRY(get_ops(u));
    if (reader_left(&u->in) > 0) return damaged(u, "bytes are left over");
    return graph_finish(u->graph, u->error);
}

ft_status unpack_graph(const void *bytes, size_t size, const char *name, ft_graph **graph, ft_error *error) {
    arena scratch;
    unpacker u = {.in = {.next = bytes, .end = (const uint8_t *)bytes + size}, .scratch = &scratch, .error = error};
    unsigned format = byte_get(&u.in), layout = byte_get(&u.in);
    if (u.in.has_failed || format > FT_FORMAT_PERFSEER || layout > FT_NHWC)
        return damaged(&u, "not one, or of a format that is not known");
    FT_TRY(graph_new((ft_format)format, (ft_layout)layout, name, &u.graph, error));
    u.memory = &u.graph->memory;
    arena_init(&scratch, FT_MAX_GRAPH_BYTES);
    ft_status status = get_graph(&u);
    arena_free(&scratch);
    if (status == FT_OK)
        *graph = u.graph;
    else
        ft_graph_free(u.graph);
    return status;
}
