/* onnx_model.c - ONNX models for tests. */
#include "support/onnx_model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *take(onnx_model *m, size_t size) {
    void *block = arena_alloc(&m->memory, size);
    if (block == NULL) abort();
    return block;
}

static char *text(onnx_model *m, const char *s) {
    char *copy = arena_string(&m->memory, s, strlen(s));
    if (copy == NULL) abort();
    return copy;
}

/* Grows a list of pointers by one; the lists are short. */
static void append(onnx_model *m, void *items, size_t *count, void *item) {
    void **old = *(void ***)items, **longer = take(m, (*count + 1) * sizeof *longer);
    if (*count > 0) memcpy(longer, old, *count * sizeof *longer);
    longer[(*count)++] = item;
    *(void ***)items = longer;
}

static void append_names(onnx_model *m, char ***names, size_t *count, const char *list) {
    char *copy = text(m, list), *rest = NULL;
    for (char *name = strtok_r(copy, " ", &rest); name != NULL; name = strtok_r(NULL, " ", &rest))
        append(m, names, count, strcmp(name, "-") == 0 ? text(m, "") : name);
}

/* --- The model ----------------------------------------------------------------------------------------------- */

Onnx__GraphProto *onnx_graph(onnx_model *m, const char *name) {
    Onnx__GraphProto *graph = take(m, sizeof *graph);
    onnx__graph_proto__init(graph);
    graph->name = text(m, name);
    return graph;
}

onnx_model *onnx_model_new(void) {
    onnx_model *m = calloc(1, sizeof *m);
    if (m == NULL) abort();
    arena_init(&m->memory, UINT64_C(1) << 30);
    m->proto = take(m, sizeof *m->proto);
    onnx__model_proto__init(m->proto);
    m->proto->has_ir_version = true;
    m->proto->ir_version = 8;
    Onnx__OperatorSetIdProto *opset = take(m, sizeof *opset);
    onnx__operator_set_id_proto__init(opset);
    opset->has_version = true;
    opset->version = 17;
    append(m, &m->proto->opset_import, &m->proto->n_opset_import, opset);
    m->proto->graph = m->graph = onnx_graph(m, "g");
    return m;
}

void onnx_model_free(onnx_model *m) {
    if (m == NULL) return;
    arena_free(&m->memory);
    free(m);
}

void onnx_model_pack(onnx_model *m) {
    m->size = onnx__model_proto__get_packed_size(m->proto);
    m->bytes = take(m, m->size);
    onnx__model_proto__pack(m->proto, m->bytes);
}

ft_graph *onnx_model_read(onnx_model *m) {
    ft_graph *graph = NULL;
    ft_error error;
    onnx_model_pack(m);
    if (ft_graph_read_memory(m->bytes, m->size, "test.onnx", &graph, &error) == FT_OK) return graph;
    fprintf(stderr, "%s\n", error.message);
    abort();
}

ft_status onnx_model_fails(onnx_model *m, ft_error *error) {
    ft_graph *graph = NULL;
    *error = (ft_error){0};
    onnx_model_pack(m);
    ft_status status = ft_graph_read_memory(m->bytes, m->size, "test.onnx", &graph, error);
    ft_graph_free(graph);
    return status;
}

/* --- Types and tensors --------------------------------------------------------------------------------------- */

static Onnx__TensorShapeProto *make_shape(onnx_model *m, const char *shape) {
    Onnx__TensorShapeProto *made = take(m, sizeof *made);
    onnx__tensor_shape_proto__init(made);
    char *copy = text(m, shape), *rest = NULL;
    for (char *part = strtok_r(copy, ",", &rest); part != NULL; part = strtok_r(NULL, ",", &rest)) {
        Onnx__TensorShapeProto__Dimension *dim = take(m, sizeof *dim);
        onnx__tensor_shape_proto__dimension__init(dim);
        char *end;
        dim->dim_value = strtoll(part, &end, 10);
        dim->value_case = ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE;
        if (*end != '\0') {
            dim->value_case = ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM;
            dim->dim_param = part;
        }
        if (strcmp(part, "?") == 0) dim->value_case = ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE__NOT_SET;
        append(m, &made->dim, &made->n_dim, dim);
    }
    return made;
}

static Onnx__ValueInfoProto *make_info(onnx_model *m, const char *name, int type, const char *shape) {
    Onnx__ValueInfoProto *info = take(m, sizeof *info);
    onnx__value_info_proto__init(info);
    info->name = text(m, name);
    info->type = take(m, sizeof *info->type);
    onnx__type_proto__init(info->type);
    info->type->value_case = ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE;
    info->type->tensor_type = take(m, sizeof *info->type->tensor_type);
    onnx__type_proto__tensor__init(info->type->tensor_type);
    info->type->tensor_type->has_elem_type = true;
    info->type->tensor_type->elem_type = type;
    if (shape != NULL) info->type->tensor_type->shape = make_shape(m, shape);
    return info;
}

Onnx__ValueInfoProto *onnx_input(onnx_model *m, Onnx__GraphProto *graph, const char *name, int type,
                                 const char *shape) {
    Onnx__ValueInfoProto *info = make_info(m, name, type, shape);
    append(m, &graph->input, &graph->n_input, info);
    return info;
}

Onnx__ValueInfoProto *onnx_output(onnx_model *m, Onnx__GraphProto *graph, const char *name, int type,
                                  const char *shape) {
    Onnx__ValueInfoProto *info = make_info(m, name, type, shape);
    append(m, &graph->output, &graph->n_output, info);
    return info;
}

Onnx__ValueInfoProto *onnx_info(onnx_model *m, Onnx__GraphProto *graph, const char *name, int type, const char *shape) {
    Onnx__ValueInfoProto *info = make_info(m, name, type, shape);
    append(m, &graph->value_info, &graph->n_value_info, info);
    return info;
}

Onnx__TensorProto *onnx_tensor(onnx_model *m, const char *name, int type, const char *shape) {
    Onnx__TensorProto *tensor = take(m, sizeof *tensor);
    onnx__tensor_proto__init(tensor);
    tensor->name = text(m, name);
    tensor->has_data_type = true;
    tensor->data_type = type;
    tensor->dims = take(m, 16 * sizeof *tensor->dims);
    char *copy = text(m, shape), *rest = NULL;
    for (char *part = strtok_r(copy, ",", &rest); part != NULL; part = strtok_r(NULL, ",", &rest))
        tensor->dims[tensor->n_dims++] = strtoll(part, NULL, 10);
    return tensor;
}

void onnx_raw(onnx_model *m, Onnx__TensorProto *tensor, const void *bytes, size_t size) {
    tensor->has_raw_data = true;
    tensor->raw_data.len = size;
    tensor->raw_data.data = take(m, size);
    if (bytes != NULL) memcpy(tensor->raw_data.data, bytes, size);
}

Onnx__TensorProto *onnx_initializer(onnx_model *m, Onnx__GraphProto *graph, const char *name, int type,
                                    const char *shape) {
    Onnx__TensorProto *tensor = onnx_tensor(m, name, type, shape);
    append(m, &graph->initializer, &graph->n_initializer, tensor);
    return tensor;
}

void onnx_sparse_initializer(onnx_model *m, Onnx__GraphProto *graph, Onnx__SparseTensorProto *sparse) {
    append(m, &graph->sparse_initializer, &graph->n_sparse_initializer, sparse);
}

/* --- Nodes, attributes, functions ---------------------------------------------------------------------------- */

static Onnx__NodeProto *make_node(onnx_model *m, const char *type, const char *inputs, const char *outputs) {
    Onnx__NodeProto *node = take(m, sizeof *node);
    onnx__node_proto__init(node);
    node->op_type = text(m, type);
    append_names(m, &node->input, &node->n_input, inputs);
    append_names(m, &node->output, &node->n_output, outputs);
    return node;
}

Onnx__NodeProto *onnx_node(onnx_model *m, Onnx__GraphProto *graph, const char *type, const char *inputs,
                           const char *outputs) {
    Onnx__NodeProto *node = make_node(m, type, inputs, outputs);
    append(m, &graph->node, &graph->n_node, node);
    return node;
}

Onnx__AttributeProto *onnx_attr(onnx_model *m, Onnx__NodeProto *node, const char *name, int type) {
    Onnx__AttributeProto *attr = take(m, sizeof *attr);
    onnx__attribute_proto__init(attr);
    attr->name = text(m, name);
    attr->has_type = true;
    attr->type = (Onnx__AttributeProto__AttributeType)type;
    append(m, &node->attribute, &node->n_attribute, attr);
    return attr;
}

void onnx_attr_int(onnx_model *m, Onnx__NodeProto *node, const char *name, int64_t value) {
    Onnx__AttributeProto *attr = onnx_attr(m, node, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INT);
    attr->has_i = true;
    attr->i = value;
}

void onnx_attr_ints(onnx_model *m, Onnx__NodeProto *node, const char *name, const int64_t *values, size_t count) {
    Onnx__AttributeProto *attr = onnx_attr(m, node, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INTS);
    attr->ints = take(m, count * sizeof *values);
    memcpy(attr->ints, values, count * sizeof *values);
    attr->n_ints = count;
}

void onnx_attr_graph(onnx_model *m, Onnx__NodeProto *node, const char *name, Onnx__GraphProto *graph) {
    onnx_attr(m, node, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__GRAPH)->g = graph;
}

void onnx_attr_ref(onnx_model *m, Onnx__NodeProto *node, const char *name, const char *ref) {
    onnx_attr(m, node, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INT)->ref_attr_name = text(m, ref);
}

Onnx__FunctionProto *onnx_function_add(onnx_model *m, const char *domain, const char *name, const char *inputs,
                                       const char *outputs) {
    Onnx__FunctionProto *function = take(m, sizeof *function);
    onnx__function_proto__init(function);
    function->domain = text(m, domain);
    function->name = text(m, name);
    append_names(m, &function->input, &function->n_input, inputs);
    append_names(m, &function->output, &function->n_output, outputs);
    append(m, &m->proto->functions, &m->proto->n_functions, function);
    return function;
}

Onnx__NodeProto *onnx_function_node(onnx_model *m, Onnx__FunctionProto *function, const char *type, const char *inputs,
                                    const char *outputs) {
    Onnx__NodeProto *node = make_node(m, type, inputs, outputs);
    append(m, &function->node, &function->n_node, node);
    return node;
}

/* --- Lookup -------------------------------------------------------------------------------------------------- */

const ft_tensor *tensor_named(const ft_graph *graph, const char *name) {
    const ft_tensor *tensors = ft_graph_tensors(graph);
    for (uint32_t i = 0; i < ft_graph_tensor_count(graph); i++) {
        if (strcmp(tensors[i].name, name) == 0) return &tensors[i];
    }
    fprintf(stderr, "no tensor is called '%s'\n", name);
    abort();
}

const ft_op *op_named(const ft_graph *graph, const char *name) {
    const ft_op *ops = ft_graph_ops(graph);
    for (uint32_t i = 0; i < ft_graph_op_count(graph); i++) {
        if (strcmp(ops[i].name, name) == 0) return &ops[i];
    }
    fprintf(stderr, "no operator is called '%s'\n", name);
    abort();
}

const char *op_types(onnx_model *m, const ft_graph *graph) {
    const char *types = "";
    for (uint32_t i = 0; i < ft_graph_op_count(graph); i++)
        types = arena_format(&m->memory, "%s%s%s", types, i > 0 ? " " : "", ft_graph_ops(graph)[i].type);
    return types;
}
