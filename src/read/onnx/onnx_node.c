/* onnx_node.c - conversion of nodes and their attributes to operators. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "graph/opdef.h"
#include "read/onnx/onnx.h"

enum { MAX_JOINED = 16 * 1024 };

const char *onnx_text(const char *text) {
    return text != NULL ? text : "";
}

const char *onnx_node_name(const Onnx__NodeProto *node) {
    if (node->name != NULL && node->name[0] != '\0') return node->name;
    for (size_t i = 0; i < node->n_output; i++) {
        if (node->output[i][0] != '\0') return node->output[i];
    }
    return "";
}

bool onnx_is_standard(const char *domain) {
    return domain == NULL || domain[0] == '\0' || strcmp(domain, "ai.onnx") == 0;
}

/* --- Attributes -------------------------------------------------------------------------------------------------- */

const Onnx__AttributeProto *onnx_resolve_attr(const onnx_frame *frame, const Onnx__AttributeProto *attr) {
    const char *ref = onnx_text(attr->ref_attr_name);
    if (ref[0] == '\0') return attr;
    for (uint32_t i = 0; frame->call != NULL && i < frame->call->count; i++) {
        if (strcmp(frame->call->names[i], ref) == 0) return frame->call->given[i];
    }
    return NULL;
}

const Onnx__AttributeProto *onnx_find_attr(const onnx_frame *frame, const Onnx__NodeProto *node, const char *name) {
    for (size_t i = 0; i < node->n_attribute; i++) {
        if (strcmp(onnx_text(node->attribute[i]->name), name) == 0) return onnx_resolve_attr(frame, node->attribute[i]);
    }
    return NULL;
}

int64_t onnx_find_int(const onnx_frame *frame, const Onnx__NodeProto *node, const char *name, int64_t fallback) {
    const Onnx__AttributeProto *attr = onnx_find_attr(frame, node, name);
    return attr != NULL && attr->has_i ? attr->i : fallback;
}

static ft_status add_string(onnx_builder *b, ft_attr *to, const char *name, const ProtobufCBinaryData *strings,
                            size_t count) {
    size_t length = 0;
    for (size_t i = 0; i < count && length <= MAX_JOINED; i++) length += strings[i].len + 1;
    if (length > MAX_JOINED) count = 0; /* a vocabulary, not an option */
    char *text = arena_alloc(b->scratch, length + 1), *at = text;
    if (text == NULL) return FT_NOMEM(b->error);
    for (size_t i = 0; i < count; i++) {
        if (i > 0) *at++ = ' ';
        if (strings[i].len > 0) memcpy(at, strings[i].data, strings[i].len);
        at += strings[i].len;
    }
    *at = '\0';
    return graph_attr_string(b->graph, to, name, text, b->error);
}

static ft_status add_floats(onnx_builder *b, ft_attr *to, const char *name, const float *floats, size_t count) {
    assert(count <= FT_FOLD_MAX_ELEMS);
    double values[FT_FOLD_MAX_ELEMS];
    for (size_t i = 0; i < count; i++) values[i] = (double)floats[i];
    return graph_attr_floats(b->graph, to, name, values, count, b->error);
}

/* A tensor attribute becomes a number or a list of numbers, and an attribute with its type: "value" and
 * "value_dtype". */
static ft_status add_tensor_attr(onnx_builder *b, ft_attr *to, uint32_t *count, const char *name,
                                 const Onnx__TensorProto *tensor) {
    const ft_value *value;
    FT_TRY(onnx_read_value(b, tensor, &value));
    if (value != NULL && value->count == 1 && value->ints != NULL)
        FT_TRY(graph_attr_int(b->graph, &to[(*count)++], name, value->ints[0], b->error));
    else if (value != NULL && value->count == 1)
        FT_TRY(graph_attr_float(b->graph, &to[(*count)++], name, value->floats[0], b->error));
    else if (value != NULL && value->ints != NULL)
        FT_TRY(graph_attr_ints(b->graph, &to[(*count)++], name, value->ints, (size_t)value->count, b->error));
    else if (value != NULL)
        FT_TRY(graph_attr_floats(b->graph, &to[(*count)++], name, value->floats, (size_t)value->count, b->error));
    const char *type_name = arena_format(b->scratch, "%s_dtype", name);
    if (type_name == NULL) return FT_NOMEM(b->error);
    return graph_attr_int(b->graph, &to[(*count)++], type_name, dtype_of_onnx(tensor->data_type), b->error);
}

/* Files before IR version 3 do not state the type: the field that is present implies it. */
static Onnx__AttributeProto__AttributeType type_of(const Onnx__AttributeProto *a) {
    if (a->has_type && a->type != ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__UNDEFINED) return a->type;
    if (a->has_f) return ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOAT;
    if (a->has_i) return ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INT;
    if (a->has_s) return ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRING;
    if (a->t != NULL) return ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__TENSOR;
    if (a->n_floats > 0) return ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOATS;
    if (a->n_ints > 0) return ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INTS;
    if (a->n_strings > 0) return ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRINGS;
    return ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__UNDEFINED;
}

/* Adds at most two attributes. Lists over the limit (the trees of a forest) are data and are omitted. */
static ft_status add_attr(onnx_builder *b, ft_attr *to, uint32_t *count, const char *name,
                          const Onnx__AttributeProto *a) {
    switch (type_of(a)) {
    case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOAT:
        return graph_attr_float(b->graph, &to[(*count)++], name, (double)a->f, b->error);
    case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INT:
        return graph_attr_int(b->graph, &to[(*count)++], name, a->i, b->error);
    case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRING:
        return add_string(b, &to[(*count)++], name, &a->s, 1);
    case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRINGS:
        return add_string(b, &to[(*count)++], name, a->strings, a->n_strings);
    case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOATS:
        if (a->n_floats > FT_FOLD_MAX_ELEMS) return FT_OK;
        return add_floats(b, &to[(*count)++], name, a->floats, a->n_floats);
    case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INTS:
        if (a->n_ints > FT_FOLD_MAX_ELEMS) return FT_OK;
        return graph_attr_ints(b->graph, &to[(*count)++], name, a->ints, a->n_ints, b->error);
    case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__TENSOR:
        return a->t != NULL ? add_tensor_attr(b, to, count, name, a->t) : FT_OK;
    default:
        return FT_OK;
    }
}

static ft_status add_attrs(onnx_builder *b, const onnx_frame *frame, const Onnx__NodeProto *node, ft_op *op) {
    if (node->n_attribute == 0) return FT_OK;
    size_t max = node->n_attribute;
    for (size_t i = 0; i < node->n_attribute; i++) {
        const Onnx__AttributeProto *attr = onnx_resolve_attr(frame, node->attribute[i]);
        max += attr != NULL && attr->t != NULL; /* becomes two attributes */
    }
    ft_attr *attrs = ARENA_ARRAY(&b->graph->memory, ft_attr, max);
    if (attrs == NULL) return FT_NOMEM(b->error);
    op->attrs = attrs;
    for (size_t i = 0; i < node->n_attribute; i++) {
        const Onnx__AttributeProto *attr = onnx_resolve_attr(frame, node->attribute[i]);
        if (attr != NULL) FT_TRY(add_attr(b, attrs, &op->attr_count, onnx_text(node->attribute[i]->name), attr));
    }
    assert(op->attr_count <= max);
    return FT_OK;
}

/* --- Constants --------------------------------------------------------------------------------------------------- */

/* A number or a list of numbers. *is_kept: few enough to keep their values. */
static void set_numbers(ft_tensor *t, ft_dtype dtype, size_t count, bool is_list, bool *is_kept) {
    t->dtype = dtype;
    t->rank = is_list ? 1 : 0;
    t->dims[0] = (int64_t)count;
    t->stored_bytes = dtype_bytes(dtype, count);
    *is_kept = count <= FT_FOLD_MAX_ELEMS;
}

static ft_status int_constant(onnx_builder *b, ft_tensor *t, const int64_t *values, size_t count, bool is_list) {
    int64_t *ints;
    bool is_kept;
    set_numbers(t, FT_INT64, count, is_list, &is_kept);
    if (!is_kept) return FT_OK;
    t->value = graph_value_ints(b->graph, (int64_t)count, &ints);
    if (t->value == NULL) return FT_NOMEM(b->error);
    for (size_t i = 0; i < count; i++) ints[i] = values[i];
    return FT_OK;
}

static ft_status float_constant(onnx_builder *b, ft_tensor *t, const float *values, size_t count, bool is_list) {
    double *floats;
    bool is_kept;
    set_numbers(t, FT_FLOAT32, count, is_list, &is_kept);
    if (!is_kept) return FT_OK;
    t->value = graph_value_floats(b->graph, (int64_t)count, &floats);
    if (t->value == NULL) return FT_NOMEM(b->error);
    for (size_t i = 0; i < count; i++) floats[i] = (double)values[i];
    return FT_OK;
}

/* The value of a Constant node, from the attribute that holds it; other attributes are an error. */
static ft_status constant_tensor(onnx_builder *b, const char *name, const char *kind, const Onnx__AttributeProto *a,
                                 uint32_t *tensor) {
    if (a->t != NULL) return onnx_add_constant(b, name, a->t, tensor);
    if (a->sparse_tensor != NULL) return onnx_add_sparse(b, name, a->sparse_tensor, tensor);
    ft_tensor t = {.name = name, .role = FT_CONSTANT};
    if (strcmp(kind, "value_int") == 0)
        FT_TRY(int_constant(b, &t, &a->i, 1, false));
    else if (strcmp(kind, "value_ints") == 0)
        FT_TRY(int_constant(b, &t, a->ints, a->n_ints, true));
    else if (strcmp(kind, "value_float") == 0)
        FT_TRY(float_constant(b, &t, &a->f, 1, false));
    else if (strcmp(kind, "value_floats") == 0)
        FT_TRY(float_constant(b, &t, a->floats, a->n_floats, true));
    else if (strcmp(kind, "value_string") == 0 || strcmp(kind, "value_strings") == 0) {
        t.dtype = FT_STRING;
        t.rank = kind[sizeof "value_string" - 1] == 's' ? 1 : 0;
        t.dims[0] = (int64_t)a->n_strings;
    } else {
        return ft_fail(b->error, FT_ERR_DAMAGED, "damaged: Constant '%s' has no value", name);
    }
    return graph_add_tensor(b->graph, &t, tensor, b->error);
}

static ft_status add_constant_node(onnx_builder *b, const onnx_frame *frame, const Onnx__NodeProto *node) {
    const char *name = node->n_output == 1 ? node->output[0] : "";
    if (name[0] == '\0')
        return ft_fail(b->error, FT_ERR_DAMAGED, "damaged: Constant '%s' does not have one output",
                       onnx_node_name(node));
    const char *full = onnx_full_name(frame, name);
    if (full == NULL) return FT_NOMEM(b->error);
    for (size_t i = 0; i < node->n_attribute; i++) {
        const Onnx__AttributeProto *value = onnx_resolve_attr(frame, node->attribute[i]);
        const char *kind = onnx_text(node->attribute[i]->name);
        if (value == NULL || (strncmp(kind, "value", 5) != 0 && strcmp(kind, "sparse_value") != 0)) continue;
        uint32_t tensor;
        FT_TRY(constant_tensor(b, full, kind, value, &tensor));
        return onnx_scope_bind(b, frame, name, tensor);
    }
    return ft_fail(b->error, FT_ERR_DAMAGED, "damaged: Constant '%s' has no value", full);
}

/* --- Operators --------------------------------------------------------------------------------------------------- */

/* An operator of another domain is known by its name if the table has it, else its type is prefixed by its domain. */
static ft_status set_type(onnx_builder *b, const Onnx__NodeProto *node, ft_op *op) {
    op->type = node->op_type;
    op->def = opdef_find(FT_FORMAT_ONNX, op->type);
    if (op->def != NULL || onnx_is_standard(node->domain) || strcmp(node->domain, "ai.onnx.ml") == 0) return FT_OK;
    op->type = arena_format(b->scratch, "%s::%s", node->domain, node->op_type);
    return op->type != NULL ? FT_OK : FT_NOMEM(b->error);
}

static ft_status add_op(onnx_builder *b, const onnx_frame *frame, const Onnx__NodeProto *node) {
    ft_op op = {.name = onnx_full_name(frame, onnx_node_name(node)), .loop = frame->loop, .branch = frame->branch};
    if (node->n_input > UINT32_MAX / 2 || node->n_output > UINT32_MAX / 2) return FT_NOMEM(b->error);
    op.input_count = (uint32_t)node->n_input;
    op.output_count = (uint32_t)node->n_output;
    FT_TRY(set_type(b, node, &op));
    uint32_t small[32], *list = small;
    size_t count = node->n_input + node->n_output;
    if (count > sizeof small / sizeof small[0]) list = ARENA_ARRAY(&frame->scope->memory, uint32_t, count);
    if (op.name == NULL || list == NULL) return FT_NOMEM(b->error);
    for (size_t i = 0; i < node->n_input; i++) FT_TRY(onnx_scope_read(b, frame, node->input[i], &list[i]));
    for (size_t i = 0; i < node->n_output; i++)
        FT_TRY(onnx_scope_define(b, frame, node->output[i], &list[node->n_input + i]));
    op.inputs = list;
    op.outputs = list + node->n_input;
    FT_TRY(add_attrs(b, frame, node, &op));
    return graph_add_op(b->graph, &op, b->error);
}

static ft_status add_node(onnx_builder *b, const onnx_frame *frame, const Onnx__NodeProto *node) {
    if (++b->node_count > b->node_limit)
        return ft_fail(b->error, FT_ERR_LIMIT, "more than %llu nodes, with sub-graphs and functions inlined",
                       (unsigned long long)b->node_limit);
    if (node->op_type == NULL || node->op_type[0] == '\0')
        return ft_fail(b->error, FT_ERR_DAMAGED, "damaged: node '%s' has no op_type", onnx_node_name(node));
    if (node->n_attribute > ONNX_MAX_ATTRS)
        return ft_fail(b->error, FT_ERR_LIMIT, "node '%s' (%s) has more than %d attributes", onnx_node_name(node),
                       node->op_type, ONNX_MAX_ATTRS);
    uint32_t function;
    if (onnx_find_function(b, node, &function)) return onnx_add_call(b, frame, node, function);
    if (onnx_is_standard(node->domain) && strcmp(node->op_type, "Constant") == 0)
        return add_constant_node(b, frame, node);
    if (onnx_has_body(node)) return onnx_add_body(b, frame, node);
    return add_op(b, frame, node);
}

ft_status onnx_add_nodes(onnx_builder *b, const onnx_frame *frame, Onnx__NodeProto **nodes, size_t count) {
    for (size_t i = 0; i < count; i++) FT_TRY(add_node(b, frame, nodes[i]));
    return FT_OK;
}

/* --- Graphs ------------------------------------------------------------------------------------------------------ */

static ft_status add_initializers(onnx_builder *b, const onnx_frame *frame, const Onnx__GraphProto *graph) {
    uint32_t tensor;
    for (size_t i = 0; i < graph->n_initializer; i++) {
        const char *name = onnx_text(graph->initializer[i]->name);
        FT_TRY(onnx_add_constant(b, name, graph->initializer[i], &tensor));
        FT_TRY(onnx_scope_bind(b, frame, name, tensor));
    }
    for (size_t i = 0; i < graph->n_sparse_initializer; i++) {
        const Onnx__TensorProto *values = graph->sparse_initializer[i]->values;
        const char *name = values != NULL ? onnx_text(values->name) : "";
        FT_TRY(onnx_add_sparse(b, name, graph->sparse_initializer[i], &tensor));
        FT_TRY(onnx_scope_bind(b, frame, name, tensor));
    }
    return FT_OK;
}

/* Inputs of the model. Initialisers that are also listed as inputs stay constants. */
static ft_status add_inputs(onnx_builder *b, const onnx_frame *frame, const Onnx__GraphProto *graph) {
    for (size_t i = 0; i < graph->n_input; i++) {
        const char *name = onnx_text(graph->input[i]->name);
        if (onnx_scope_has(frame->scope, name)) continue;
        ft_tensor t = {.name = name, .role = FT_INPUT, .rank = -1};
        uint32_t tensor;
        FT_TRY(onnx_set_type(b, &t, graph->input[i], true));
        FT_TRY(graph_add_tensor(b->graph, &t, &tensor, b->error));
        FT_TRY(onnx_scope_bind(b, frame, name, tensor));
        FT_TRY(graph_add_input(b->graph, tensor, b->error));
    }
    return FT_OK;
}

ft_status onnx_add_graph(onnx_builder *b, const onnx_frame *frame, const Onnx__GraphProto *graph) {
    size_t names = graph->n_initializer + graph->n_input + graph->n_node + graph->n_node / 8 + graph->n_output;
    FT_TRY(onnx_scope_reserve(b, frame->scope, names));
    FT_TRY(onnx_scope_types(b, frame->scope, graph->value_info, graph->n_value_info));
    FT_TRY(onnx_scope_types(b, frame->scope, graph->output, graph->n_output));
    FT_TRY(add_initializers(b, frame, graph));
    bool is_whole = frame->scope->parent == NULL && frame->call == NULL;
    if (is_whole) FT_TRY(add_inputs(b, frame, graph));
    return onnx_add_nodes(b, frame, graph->node, graph->n_node);
}
