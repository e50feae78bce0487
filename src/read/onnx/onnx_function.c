/* onnx_function.c - inlining of a model's local functions.
 *
 * The size of a call is known before it is inlined: the nodes of each function, with all it calls, are counted once.
 * A file whose functions call each other twice, thirty levels deep, thus fails at once, and so does recursion. */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/num.h"
#include "read/onnx/onnx.h"

enum { GROWTH_BASE = 100000, GROWTH_FACTOR = 100 };

typedef enum count_state { NOT_COUNTED, COUNTING, COUNTED } count_state;

struct onnx_function {
    const Onnx__FunctionProto *proto;
    onnx_call defaults; /* default values of attributes */
    count_state state;
    uint64_t node_count;
};

/* --- Function index ---------------------------------------------------------------------------------------------- */

/* Fields newer than the oldest supported onnx.proto, which decodes them as unknown fields. */
enum { NODE_OVERLOAD = 8, FUNCTION_DEFAULTS = 11, FUNCTION_OVERLOAD = 13 };

/* The bytes of an unknown field after their length, a varint. */
static const uint8_t *field_content(const ProtobufCMessageUnknownField *field, size_t *size) {
    size_t skip = 0;
    while (skip < field->len && skip < 10 && field->data[skip++] >= 0x80) continue;
    *size = field->len - skip;
    return field->data + skip;
}

/* "" when there is none, NULL when out of memory. */
static const char *find_overload(arena *memory, const ProtobufCMessage *message, unsigned number) {
    const ProtobufCFieldDescriptor *known = protobuf_c_message_descriptor_get_field(message->descriptor, number);
    if (known != NULL) {
        const char *text;
        memcpy(&text, (const char *)message + known->offset, sizeof text);
        return onnx_text(text);
    }
    for (unsigned i = 0; i < message->n_unknown_fields; i++) {
        if (message->unknown_fields[i].tag != number) continue;
        size_t size;
        const uint8_t *bytes = field_content(&message->unknown_fields[i], &size);
        return arena_string(memory, (const char *)bytes, size);
    }
    return "";
}

/* The key of a function, in `small` when it fits there. NULL when out of memory. */
static const char *function_key(char *small, size_t small_size, arena *memory, const char *domain, const char *name,
                                const char *overload) {
    if (overload == NULL) return NULL;
    if (onnx_is_standard(domain)) domain = "";
    if (domain[0] == '\0' && overload[0] == '\0') return name;
    int length = snprintf(small, small_size, "%s::%s:%s", domain, name, overload);
    if (length >= 0 && (size_t)length < small_size) return small;
    return arena_format(memory, "%s::%s:%s", domain, name, overload);
}

static ft_status read_default(onnx_builder *b, onnx_call *defaults, const ProtobufCMessageUnknownField *field) {
    if (field->tag != FUNCTION_DEFAULTS) return FT_OK;
    size_t size;
    const uint8_t *bytes = field_content(field, &size);
    const Onnx__AttributeProto *attr = onnx__attribute_proto__unpack(b->allocator, size, bytes);
    if (attr == NULL) return ft_fail(b->error, FT_ERR_DAMAGED, "damaged: invalid default attribute of a function");
    defaults->given[defaults->count] = attr;
    defaults->names[defaults->count++] = onnx_text(attr->name);
    return FT_OK;
}

static ft_status read_defaults(onnx_builder *b, const Onnx__FunctionProto *proto, onnx_call *defaults) {
    const ProtobufCFieldDescriptor *known =
        protobuf_c_message_descriptor_get_field(&onnx__function_proto__descriptor, FUNCTION_DEFAULTS);
    size_t count = proto->base.n_unknown_fields;
    const Onnx__AttributeProto *const *items = NULL;
    if (known != NULL) {
        memcpy(&count, (const char *)proto + known->quantifier_offset, sizeof count);
        memcpy(&items, (const char *)proto + known->offset, sizeof items);
    }
    if (count == 0) return FT_OK;
    if (count > ONNX_MAX_ATTRS)
        return ft_fail(b->error, FT_ERR_LIMIT, "function '%s' has more than %d attributes", onnx_text(proto->name),
                       ONNX_MAX_ATTRS);
    defaults->given = ARENA_ARRAY(b->scratch, const Onnx__AttributeProto *, count);
    defaults->names = ARENA_ARRAY(b->scratch, const char *, count);
    if (defaults->given == NULL || defaults->names == NULL) return FT_NOMEM(b->error);
    for (size_t i = 0; i < count; i++) {
        if (items == NULL) {
            FT_TRY(read_default(b, defaults, &proto->base.unknown_fields[i]));
        } else {
            defaults->given[defaults->count] = items[i];
            defaults->names[defaults->count++] = onnx_text(items[i]->name);
        }
    }
    return FT_OK;
}

/* Inlining may make a model a hundred times as long as its file, but must not turn kilobytes into gigabytes. */
static uint64_t max_nodes(const Onnx__ModelProto *model) {
    uint64_t nodes = model->graph->n_node;
    for (size_t i = 0; i < model->n_functions; i++) nodes += model->functions[i]->n_node;
    uint64_t max = GROWTH_BASE + GROWTH_FACTOR * nodes;
    return model->n_functions == 0 || max > FT_MAX_OPS ? FT_MAX_OPS : max;
}

ft_status onnx_index_functions(onnx_builder *b) {
    map_init(&b->function_index, b->scratch);
    b->node_limit = max_nodes(b->model);
    size_t count = b->model->n_functions;
    if (count == 0) return FT_OK;
    if (count > FT_MAX_OPS) return ft_fail(b->error, FT_ERR_LIMIT, "more than %d functions", FT_MAX_OPS);
    b->functions = ARENA_ARRAY(b->scratch, onnx_function, count);
    if (b->functions == NULL) return FT_NOMEM(b->error);
    for (uint32_t i = 0; i < count; i++) {
        const Onnx__FunctionProto *proto = b->model->functions[i];
        const char *overload = find_overload(b->scratch, &proto->base, FUNCTION_OVERLOAD);
        const char *key = function_key(NULL, 0, b->scratch, proto->domain, onnx_text(proto->name), overload);
        uint32_t found;
        b->functions[i].proto = proto;
        FT_TRY(read_defaults(b, proto, &b->functions[i].defaults));
        if (key == NULL || !map_add(&b->function_index, key, i, &found)) return FT_NOMEM(b->error);
        if (found != i) return ft_fail(b->error, FT_ERR_GRAPH, "two functions have the name '%s'", key);
    }
    return FT_OK;
}

bool onnx_find_function(const onnx_builder *b, const Onnx__NodeProto *node, uint32_t *function) {
    if (b->functions == NULL) return false;
    char small[256];
    const char *overload = find_overload(b->scratch, &node->base, NODE_OVERLOAD);
    const char *key = function_key(small, sizeof small, b->scratch, node->domain, onnx_text(node->op_type), overload);
    return key != NULL && map_get(&b->function_index, key, function);
}

/* --- Counting ---------------------------------------------------------------------------------------------------- */

static ft_status count_function(onnx_builder *b, uint32_t index, unsigned depth, uint64_t *total) {
    assert(index < b->model->n_functions);
    onnx_function *f = &b->functions[index];
    if (f->state == COUNTING)
        return ft_fail(b->error, FT_ERR_GRAPH, "function '%s' calls itself", onnx_text(f->proto->name));
    if (f->state == NOT_COUNTED) {
        f->state = COUNTING;
        FT_TRY(onnx_count_nodes(b, f->proto->node, f->proto->n_node, depth + 1, &f->node_count));
        f->state = COUNTED;
    }
    *total = f->node_count;
    return FT_OK;
}

static ft_status count_bodies(onnx_builder *b, const Onnx__NodeProto *node, unsigned depth, uint64_t *total) {
    *total = 0;
    for (size_t i = 0; i < node->n_attribute; i++) {
        const Onnx__GraphProto *body = node->attribute[i]->g;
        if (body == NULL) continue;
        uint64_t inner;
        FT_TRY(onnx_count_nodes(b, body->node, body->n_node, depth + 1, &inner));
        *total = num_add_sat(*total, inner);
    }
    return FT_OK;
}

ft_status onnx_count_nodes(onnx_builder *b, Onnx__NodeProto **nodes, size_t count, unsigned depth, uint64_t *total) {
    if (depth > FT_MAX_DEPTH)
        return ft_fail(b->error, FT_ERR_LIMIT, "functions and sub-graphs are nested more than %d deep", FT_MAX_DEPTH);
    *total = 0;
    for (size_t i = 0; i < count; i++) {
        uint32_t function;
        uint64_t inner = 0;
        if (onnx_find_function(b, nodes[i], &function))
            FT_TRY(count_function(b, function, depth, &inner));
        else
            FT_TRY(count_bodies(b, nodes[i], depth, &inner));
        *total = num_add_sat(*total, num_add_sat(inner, 1));
    }
    return FT_OK;
}

/* --- Inlining ---------------------------------------------------------------------------------------------------- */

/* The attributes visible in the body: those of the call, with references to the calling function resolved, then the
 * defaults. The first of a name counts. */
static ft_status collect_attrs(onnx_builder *b, const onnx_frame *outer, const Onnx__NodeProto *node,
                               const onnx_call *defaults, arena *memory, onnx_call *call) {
    size_t max = node->n_attribute + defaults->count;
    call->given = ARENA_ARRAY(memory, const Onnx__AttributeProto *, max);
    call->names = ARENA_ARRAY(memory, const char *, max);
    if (call->given == NULL || call->names == NULL) return FT_NOMEM(b->error);
    for (size_t i = 0; i < node->n_attribute; i++) {
        const Onnx__AttributeProto *attr = onnx_resolve_attr(outer, node->attribute[i]);
        if (attr == NULL) continue;
        if (attr->g != NULL)
            return ft_fail(b->error, FT_ERR_UNSUPPORTED, "node '%s' (%s) passes a sub-graph to a function",
                           onnx_node_name(node), node->op_type);
        call->given[call->count] = attr;
        call->names[call->count++] = onnx_text(node->attribute[i]->name);
    }
    for (uint32_t i = 0; i < defaults->count; i++) {
        call->given[call->count] = defaults->given[i];
        call->names[call->count++] = defaults->names[i];
    }
    return FT_OK;
}

static ft_status fill_body(onnx_builder *b, const onnx_frame *outer, const onnx_frame *inner,
                           const Onnx__NodeProto *node, const Onnx__FunctionProto *proto) {
    uint32_t first_new = b->graph->tensor_count;
    for (size_t i = 0; i < proto->n_input; i++) {
        uint32_t actual = FT_NONE;
        if (i < node->n_input) FT_TRY(onnx_scope_read(b, outer, node->input[i], &actual));
        FT_TRY(onnx_scope_bind(b, inner, proto->input[i], actual));
    }
    FT_TRY(onnx_add_nodes(b, inner, proto->node, proto->n_node));
    for (size_t i = 0; i < node->n_output; i++) {
        uint32_t result;
        FT_TRY(onnx_scope_read(b, inner, proto->output[i], &result));
        FT_TRY(onnx_scope_export(b, outer, node->output[i], result, first_new));
    }
    return onnx_scope_resolve(b, inner);
}

ft_status onnx_add_call(onnx_builder *b, const onnx_frame *frame, const Onnx__NodeProto *node, uint32_t function) {
    assert(function < b->model->n_functions);
    assert(b->node_count <= b->node_limit);
    const onnx_function *f = &b->functions[function];
    uint64_t total;
    FT_TRY(count_function(b, function, frame->depth, &total));
    if (frame->depth >= FT_MAX_DEPTH)
        return ft_fail(b->error, FT_ERR_LIMIT, "functions and sub-graphs are nested more than %d deep", FT_MAX_DEPTH);
    if (total > b->node_limit - b->node_count)
        return ft_fail(b->error, FT_ERR_LIMIT, "more than %llu nodes, with function '%s' inlined",
                       (unsigned long long)b->node_limit, onnx_text(f->proto->name));
    if (node->n_input > f->proto->n_input || node->n_output > f->proto->n_output)
        return ft_fail(b->error, FT_ERR_GRAPH, "node '%s': function '%s' has %zu inputs and %zu outputs",
                       onnx_node_name(node), onnx_text(f->proto->name), f->proto->n_input, f->proto->n_output);
    onnx_scope scope;
    onnx_scope_open(&scope, NULL);
    onnx_call call = {0};
    onnx_frame inner = {
        .scope = &scope, .call = &call, .loop = frame->loop, .branch = frame->branch, .depth = frame->depth + 1};
    inner.prefix = arena_format(&scope.memory, "%s%s/", frame->prefix, onnx_node_name(node));
    ft_status status = inner.prefix != NULL ? FT_OK : FT_NOMEM(b->error);
    if (status == FT_OK) status = collect_attrs(b, frame, node, &f->defaults, &scope.memory, &call);
    if (status == FT_OK) status = fill_body(b, frame, &inner, node, f->proto);
    onnx_scope_close(&scope);
    return status;
}
