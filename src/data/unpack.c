/* unpack.c - unpacking of packed bytes to a graph.
 *
 * Every number is checked before it is used. Counts cannot request more memory than a fixed multiple of the input,
 * because each counted item takes at least one byte. Strings, shapes and attributes are created once and shared by
 * all that refer to them, so that little is left to do per operator (unpack_op.c). */
#include "data/unpack.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "graph/graph.h"

ft_status unpack_damaged(const unpacker *u, const char *what) {
    return ft_fail(u->error, FT_ERR_DAMAGED, "packed graph: %s", what);
}

uint32_t unpack_count(unpacker *u, size_t min) {
    assert(min > 0);
    return (uint32_t)varint_get_below(&u->in, reader_left(&u->in) / min + 1 < UINT32_MAX ? reader_left(&u->in) / min + 1
                                                                                         : UINT32_MAX);
}

/* --- Shared tables ----------------------------------------------------------------------------------------------- */

static ft_status get_strings(unpacker *u) {
    u->string_count = unpack_count(u, 1);
    u->strings = ARENA_ARRAY(u->scratch, const char *, u->string_count);
    if (u->strings == NULL) return FT_NOMEM(u->error);
    for (uint32_t i = 0; i < u->string_count; i++) {
        uint64_t length = varint_get_below(&u->in, reader_left(&u->in) + 1);
        const uint8_t *bytes = bytes_get(&u->in, (size_t)length);
        CHECK(u, "strings");
        if (memchr(bytes, '\0', (size_t)length) != NULL) return unpack_damaged(u, "a string holds a zero byte");
        u->strings[i] = arena_string(u->memory, (const char *)bytes, (size_t)length);
        if (u->strings[i] == NULL) return FT_NOMEM(u->error);
    }
    CHECK(u, "strings");
    return FT_OK;
}

const char *unpack_string(unpacker *u) {
    uint64_t number = varint_get_below(&u->in, u->string_count);
    return u->in.has_failed ? "" : u->strings[number];
}

static ft_status get_symbols(unpacker *u) {
    uint32_t count = unpack_count(u, 1);
    if (count > GRAPH_MAX_SYMBOLS) return unpack_damaged(u, "too many symbols");
    u->graph->symbols = ARENA_ARRAY(u->memory, const char *, count);
    if (u->graph->symbols == NULL) return FT_NOMEM(u->error);
    for (uint32_t i = 0; i < count; i++) u->graph->symbols[i] = unpack_string(u);
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
    if (dtype > FT_COMPLEX128 || rank > FT_MAX_RANK + 1) return unpack_damaged(u, "a shape of an unknown kind");
    s->dtype = (ft_dtype)dtype;
    s->rank = (int32_t)rank - 1;
    bool is_empty = s->rank <= 0;
    for (int32_t i = 0; i < s->rank; i++) {
        s->dims[i] = get_dim(u);
        if (s->dims[i] <= 0) is_empty = true;
    }
    CHECK(u, "shapes");
    int64_t elems = shape_elems(s->dims, s->rank);
    if (!is_empty && elems == 0) return unpack_damaged(u, "a tensor with more than 2^46 elements");
    s->dense_bytes = dtype_bytes(s->dtype, (uint64_t)elems);
    return FT_OK;
}

static ft_status get_shapes(unpacker *u) {
    u->shape_count = unpack_count(u, 2);
    u->shapes = ARENA_ARRAY(u->scratch, shape, u->shape_count);
    if (u->shapes == NULL) return FT_NOMEM(u->error);
    for (uint32_t i = 0; i < u->shape_count; i++) FT_TRY(get_shape(u, &u->shapes[i]));
    CHECK(u, "shapes");
    return FT_OK;
}

/* --- Numbers ----------------------------------------------------------------------------------------------------- */

static ft_status get_ints(unpacker *u, uint32_t count, const int64_t **ints) {
    int64_t *made = ARENA_ARRAY(u->memory, int64_t, count);
    if (made == NULL) return FT_NOMEM(u->error);
    for (uint32_t i = 0; i < count; i++) made[i] = unzigzag(varint_get(&u->in));
    *ints = made;
    CHECK(u, "integers");
    return FT_OK;
}

static uint64_t little_endian(const uint8_t *bytes, unsigned size) {
    assert(size <= 8);
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

ft_status unpack_numbers(unpacker *u, uint32_t *count, const int64_t **ints, const double **floats) {
    uint64_t code = varint_get_below(&u->in, ((uint64_t)FT_FOLD_MAX_ELEMS + 1) << 2);
    unsigned kind = (unsigned)(code & 3);
    CHECK(u, "numbers");
    *count = (uint32_t)(code >> 2);
    *ints = NULL;
    *floats = NULL;
    if (kind >= NUMBER_KINDS) return unpack_damaged(u, "numbers of an unknown kind");
    return kind == NUMBER_INT ? get_ints(u, *count, ints) : get_floats(u, *count, kind == NUMBER_FLOAT64, floats);
}

/* --- Tensors ----------------------------------------------------------------------------------------------------- */

static ft_status get_value(unpacker *u, ft_tensor *t) {
    ft_value *value = ARENA_NEW(u->memory, ft_value);
    uint32_t count;
    if (value == NULL) return FT_NOMEM(u->error);
    FT_TRY(unpack_numbers(u, &count, &value->ints, &value->floats));
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
    if (role > FT_CONSTANT || stored > STORED_BYTES) return unpack_damaged(u, "a tensor of an unknown kind");
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
    uint32_t count = unpack_count(u, 2);
    g->tensors = ARENA_ARRAY(u->memory, ft_tensor, count);
    if (g->tensors == NULL) return FT_NOMEM(u->error);
    g->tensor_count = g->tensor_capacity = count;
    for (uint32_t i = 0; i < count; i++) FT_TRY(get_tensor(u, &g->tensors[i]));
    CHECK(u, "tensors");
    return FT_OK;
}

static ft_status get_list(unpacker *u, index_list *list) {
    list->count = list->capacity = unpack_count(u, 1);
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
    uint32_t index, loops = unpack_count(u, 4);
    for (uint32_t i = 1; i <= loops; i++) {
        graph_loop loop = {.trips = 1};
        loop.parent = (uint32_t)varint_get_below(&u->in, i);
        loop.trip_tensor = get_tensor_number(u);
        loop.scan_tensor = get_tensor_number(u);
        int64_t axis = unzigzag(varint_get(&u->in));
        if (axis < -FT_MAX_RANK || axis > FT_MAX_RANK) return unpack_damaged(u, "an axis out of range");
        loop.scan_axis = (int32_t)axis;
        CHECK(u, "loops");
        FT_TRY(graph_add_loop(u->graph, &loop, &index, u->error));
    }
    uint32_t branches = unpack_count(u, 3);
    for (uint32_t i = 1; i <= branches; i++) {
        graph_branch branch = {.parent = (uint32_t)varint_get_below(&u->in, i)};
        branch.condition = get_tensor_number(u);
        unsigned flags = byte_get(&u->in);
        branch.is_then = (flags & 1) != 0;
        branch.is_default = (flags & 2) != 0;
        CHECK(u, "branches");
        if (flags > 3 || branch.condition == FT_NONE) return unpack_damaged(u, "a branch without a condition");
        FT_TRY(graph_add_branch(u->graph, &branch, &index, u->error));
    }
    CHECK(u, "loops");
    return FT_OK;
}

/* --- Entry point ------------------------------------------------------------------------------------------------- */

static ft_status get_graph(unpacker *u) {
    FT_TRY(get_strings(u));
    FT_TRY(get_symbols(u));
    FT_TRY(get_shapes(u));
    FT_TRY(get_tensors(u));
    FT_TRY(get_ends(u));
    FT_TRY(get_loops(u));
    FT_TRY(unpack_ops(u));
    if (reader_left(&u->in) > 0) return unpack_damaged(u, "trailing bytes");
    return graph_finish(u->graph, u->error);
}

ft_status unpack_graph(const void *bytes, size_t size, const char *name, ft_graph **graph, ft_error *error) {
    arena scratch;
    unpacker u = {.in = {.next = bytes, .end = (const uint8_t *)bytes + size}, .scratch = &scratch, .error = error};
    unsigned format = byte_get(&u.in), layout = byte_get(&u.in);
    if (u.in.has_failed || format >= FT_FORMAT_COUNT || layout > FT_NHWC) return unpack_damaged(&u, "unknown format");
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
