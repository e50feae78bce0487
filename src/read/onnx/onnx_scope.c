/* onnx_scope.c - resolution of names to tensors.
 *
 * ONNX refers to tensors by name; each is defined once in its scope, and outer names are visible in inner scopes.
 * Inlined bodies are connected by binding names to tensors, without extra operators. One exception: an unsorted file
 * may read the result of an If, a Loop or a call before that node; the pending tensor is then defined by an
 * Identity. */
#include <assert.h>
#include <string.h>

#include "read/onnx/onnx.h"

void onnx_scope_open(onnx_scope *scope, onnx_scope *parent) {
    *scope = (onnx_scope){.parent = parent};
    arena_init(&scope->memory, FT_MAX_GRAPH_BYTES / 4);
    map_init(&scope->index, &scope->memory);
}

void onnx_scope_close(onnx_scope *scope) {
    arena_free(&scope->memory);
}

static onnx_name *find(const onnx_scope *scope, const char *text) {
    uint32_t at;
    return map_get(&scope->index, text, &at) ? &scope->names[at] : NULL;
}

static bool resize(onnx_scope *scope, uint32_t capacity) {
    assert(capacity >= scope->count);
    onnx_name *moved = ARENA_ARRAY(&scope->memory, onnx_name, capacity);
    if (moved == NULL) return false;
    if (scope->count > 0) memcpy(moved, scope->names, scope->count * sizeof *moved);
    scope->names = moved;
    scope->capacity = capacity;
    return true;
}

ft_status onnx_scope_reserve(onnx_builder *b, onnx_scope *scope, size_t count) {
    if (count <= scope->capacity || count > UINT32_MAX / 2) return FT_OK;
    bool has_room = map_reserve(&scope->index, count) && resize(scope, (uint32_t)count);
    return has_room ? FT_OK : FT_NOMEM(b->error);
}

/* The name in this scope, added if needed; NULL when out of memory. */
static onnx_name *find_or_add(onnx_scope *scope, const char *text) {
    if (scope->count == scope->capacity && !resize(scope, scope->capacity == 0 ? 32 : scope->capacity * 2)) return NULL;
    uint32_t at;
    if (!map_add(&scope->index, text, scope->count, &at)) return NULL;
    if (at == scope->count) scope->names[scope->count++] = (onnx_name){.text = text, .tensor = FT_NONE};
    return &scope->names[at];
}

ft_status onnx_scope_types(onnx_builder *b, onnx_scope *scope, Onnx__ValueInfoProto **infos, size_t count) {
    for (size_t i = 0; i < count; i++) {
        onnx_name *name = find_or_add(scope, onnx_text(infos[i]->name));
        if (name == NULL) return FT_NOMEM(b->error);
        if (name->info == NULL) name->info = infos[i];
    }
    return FT_OK;
}

bool onnx_scope_has(const onnx_scope *scope, const char *name) {
    const onnx_name *found = find(scope, name);
    return found != NULL && found->state == ONNX_DEFINED;
}

static ft_status defined_twice(onnx_builder *b, const char *name) {
    return ft_fail(b->error, FT_ERR_GRAPH, "two tensors of one graph have the name '%s'", name);
}

/* A pending tensor exists already; the tensor that is bound to its name is copied to it. */
static ft_status feed_pending(onnx_builder *b, const onnx_frame *frame, const char *name, uint32_t from, uint32_t to) {
    assert(from < b->graph->tensor_count && to < b->graph->tensor_count);
    ft_op op = {.name = name,
                .type = "Identity",
                .inputs = &from,
                .outputs = &to,
                .input_count = 1,
                .output_count = 1,
                .loop = frame->loop,
                .branch = frame->branch};
    return graph_add_op(b->graph, &op, b->error);
}

ft_status onnx_scope_bind(onnx_builder *b, const onnx_frame *frame, const char *text, uint32_t tensor) {
    onnx_name *name = find_or_add(frame->scope, text);
    if (name == NULL) return FT_NOMEM(b->error);
    if (name->state == ONNX_PENDING && tensor != FT_NONE) {
        name->state = ONNX_DEFINED;
        return feed_pending(b, frame, text, tensor, name->tensor);
    }
    if (name->state != ONNX_TYPED) return defined_twice(b, text);
    name->state = tensor == FT_NONE ? ONNX_ABSENT : ONNX_DEFINED;
    name->tensor = tensor;
    return FT_OK;
}

const char *onnx_full_name(const onnx_frame *frame, const char *name) {
    if (frame->prefix[0] == '\0') return name;
    return arena_format(&frame->scope->memory, "%s%s", frame->prefix, name);
}

static ft_status add_tensor(onnx_builder *b, const onnx_frame *frame, const onnx_name *name, uint32_t *tensor) {
    ft_tensor spec = {.name = onnx_full_name(frame, name->text), .rank = -1};
    if (spec.name == NULL) return FT_NOMEM(b->error);
    if (name->info != NULL) FT_TRY(onnx_set_type(b, &spec, name->info, false));
    return graph_add_tensor(b->graph, &spec, tensor, b->error);
}

ft_status onnx_scope_read(onnx_builder *b, const onnx_frame *frame, const char *text, uint32_t *tensor) {
    *tensor = FT_NONE;
    if (text[0] == '\0') return FT_OK;
    const onnx_scope *scope = frame->scope;
    do {
        const onnx_name *name = find(scope, text);
        if (name != NULL && name->state != ONNX_TYPED) {
            *tensor = name->tensor;
            return FT_OK;
        }
        scope = scope->parent;
    } while (scope != NULL);
    onnx_name *name = find_or_add(frame->scope, text);
    if (name == NULL) return FT_NOMEM(b->error);
    FT_TRY(add_tensor(b, frame, name, &name->tensor));
    name->state = ONNX_PENDING;
    *tensor = name->tensor;
    return FT_OK;
}

ft_status onnx_scope_define(onnx_builder *b, const onnx_frame *frame, const char *text, uint32_t *tensor) {
    *tensor = FT_NONE;
    if (text[0] == '\0') return FT_OK;
    onnx_name *name = find_or_add(frame->scope, text);
    if (name == NULL) return FT_NOMEM(b->error);
    if (name->state == ONNX_TYPED)
        FT_TRY(add_tensor(b, frame, name, &name->tensor));
    else if (name->state != ONNX_PENDING)
        return defined_twice(b, text);
    name->state = ONNX_DEFINED;
    *tensor = name->tensor;
    return FT_OK;
}

ft_status onnx_scope_export(onnx_builder *b, const onnx_frame *frame, const char *text, uint32_t tensor,
                            uint32_t first_new) {
    assert(first_new <= b->graph->tensor_count);
    if (text[0] == '\0') return FT_OK;
    if (tensor == FT_NONE) return ft_fail(b->error, FT_ERR_GRAPH, "tensor '%s' is never defined", text);
    FT_TRY(onnx_scope_bind(b, frame, text, tensor));
    ft_tensor *t = &b->graph->tensors[tensor];
    if (tensor < first_new || t->role != FT_ACTIVATION) return FT_OK;
    const onnx_name *name = find(frame->scope, text);
    t->name = arena_format(&b->graph->memory, "%s%s", frame->prefix, text);
    if (t->name == NULL) return FT_NOMEM(b->error);
    return t->rank < 0 && name->info != NULL ? onnx_set_type(b, t, name->info, false) : FT_OK;
}

ft_status onnx_scope_resolve(onnx_builder *b, const onnx_frame *frame) {
    onnx_scope *around = frame->scope->parent;
    for (uint32_t i = 0; i < frame->scope->count; i++) {
        const onnx_name *name = &frame->scope->names[i];
        if (name->state != ONNX_PENDING) continue;
        if (around == NULL)
            return ft_fail(b->error, FT_ERR_GRAPH,
                           "tensor '%s' is read, but it is neither the output of an operator nor a constant",
                           name->text);
        onnx_name *outer = find_or_add(around, name->text);
        if (outer == NULL) return FT_NOMEM(b->error);
        outer->tensor = name->tensor;
        outer->state = ONNX_PENDING;
    }
    return FT_OK;
}
