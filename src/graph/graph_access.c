/* graph_access.c - access to a finished graph: public getters, shapes as text, attributes by name, kinds of names. */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "graph/graph.h"

const char *ft_graph_name(const ft_graph *graph) {
    return graph != NULL ? graph->name : NULL;
}

ft_format ft_graph_format(const ft_graph *graph) {
    return graph != NULL ? graph->format : 0;
}

ft_layout ft_graph_layout(const ft_graph *graph) {
    return graph != NULL ? graph->layout : 0;
}

uint32_t ft_graph_op_count(const ft_graph *graph) {
    return graph != NULL ? graph->op_count : 0;
}

const ft_op *ft_graph_ops(const ft_graph *graph) {
    return graph != NULL ? graph->ops : NULL;
}

uint32_t ft_graph_tensor_count(const ft_graph *graph) {
    return graph != NULL ? graph->tensor_count : 0;
}

const ft_tensor *ft_graph_tensors(const ft_graph *graph) {
    return graph != NULL ? graph->tensors : NULL;
}

uint32_t ft_graph_input_count(const ft_graph *graph) {
    return graph != NULL ? graph->inputs.count : 0;
}

const uint32_t *ft_graph_inputs(const ft_graph *graph) {
    return graph != NULL ? graph->inputs.items : NULL;
}

uint32_t ft_graph_output_count(const ft_graph *graph) {
    return graph != NULL ? graph->outputs.count : 0;
}

const uint32_t *ft_graph_outputs(const ft_graph *graph) {
    return graph != NULL ? graph->outputs.items : NULL;
}

uint32_t ft_graph_meta_count(const ft_graph *graph) {
    return graph != NULL ? graph->meta_count : 0;
}

void ft_graph_meta_at(const ft_graph *graph, uint32_t index, const char **key, const char **value) {
    if (key == NULL || value == NULL) return;
    *key = *value = NULL;
    if (graph == NULL || index >= graph->meta_count) return;
    *key = graph->meta[index].key;
    *value = graph->meta[index].value;
}

const char *ft_graph_meta(const ft_graph *graph, const char *key) {
    if (graph == NULL || key == NULL) return NULL;
    for (uint32_t i = 0; i < graph->meta_count; i++) {
        if (strcmp(graph->meta[i].key, key) == 0) return graph->meta[i].value;
    }
    return NULL;
}

const char *ft_dim_symbol(const ft_graph *graph, int64_t dim) {
    if (graph == NULL) return NULL;
    if (dim >= 0 || dim == FT_DIM_UNKNOWN || -1 - dim >= (int64_t)graph->symbol_count) return NULL;
    return graph->symbols[-1 - dim];
}

bool ft_graph_is_bound(const ft_graph *graph) {
    return graph != NULL && graph->is_bound;
}

int64_t ft_graph_batch(const ft_graph *bound) {
    return bound != NULL ? bound->batch : 0;
}

int64_t ft_graph_exported_batch(const ft_graph *bound) {
    return bound != NULL ? bound->exported_batch : 0;
}

bool ft_graph_is_scaled(const ft_graph *bound) {
    return bound != NULL && graph_is_scaled(bound);
}

bool shape_is_known(const ft_tensor *tensor) {
    for (int32_t i = 0; i < tensor->rank; i++) {
        if (tensor->dims[i] < 0) return false;
    }
    return tensor->rank >= 0;
}

const char *shape_text(const ft_graph *graph, const ft_tensor *tensor, char *text, size_t size) {
    if (tensor->rank < 0) {
        snprintf(text, size, "?");
        return text;
    }
    if (tensor->rank == 0) {
        snprintf(text, size, "scalar");
        return text;
    }
    size_t at = 0;
    for (int32_t i = 0; i < tensor->rank && at < size; i++) {
        const char *symbol = ft_dim_symbol(graph, tensor->dims[i]), *cross = i > 0 ? "x" : "";
        int wrote;
        if (tensor->dims[i] >= 0)
            wrote = snprintf(text + at, size - at, "%s%lld", cross, (long long)tensor->dims[i]);
        else
            wrote = snprintf(text + at, size - at, "%s%s", cross, symbol != NULL ? symbol : "?");
        if (wrote < 0) break;
        at += (size_t)wrote;
    }
    return text;
}

uint64_t ft_tensor_elems(const ft_graph *bound, const ft_tensor *tensor) {
    if (bound == NULL || tensor == NULL || tensor->rank > FT_MAX_RANK) return 0;
    uint64_t elems = (uint64_t)shape_elems(tensor->dims, tensor->rank);
    if (!tensor->is_batched || !graph_is_scaled(bound) || !bound->is_bound) return elems;
    return num_scale_sat(elems, (uint64_t)bound->batch, (uint64_t)bound->exported_batch);
}

uint64_t ft_tensor_bytes(const ft_graph *bound, const ft_tensor *tensor) {
    if (bound == NULL || tensor == NULL) return 0;
    return dtype_bytes(tensor->dtype, ft_tensor_elems(bound, tensor));
}

static const ft_attr *find_attr(const ft_op *op, const char *name) {
    for (uint32_t i = 0; i < op->attr_count; i++) {
        const char *own = op->attrs[i].name; /* most names differ in the first letter */
        if (own[0] == name[0] && strcmp(own, name) == 0) return &op->attrs[i];
    }
    return NULL;
}

const ft_attr *ft_op_attr(const ft_op *op, const char *name) {
    if (op == NULL || name == NULL) return NULL;
    return find_attr(op, name);
}

int64_t op_attr_int(const ft_op *op, const char *name, int64_t fallback) {
    const ft_attr *attr = find_attr(op, name);
    return attr != NULL && attr->kind == FT_ATTR_INT ? attr->i : fallback;
}

double op_attr_float(const ft_op *op, const char *name, double fallback) {
    const ft_attr *attr = find_attr(op, name);
    return attr != NULL && attr->kind == FT_ATTR_FLOAT ? attr->f : fallback;
}

const char *op_attr_string(const ft_op *op, const char *name, const char *fallback) {
    const ft_attr *attr = find_attr(op, name);
    return attr != NULL && attr->kind == FT_ATTR_STRING ? attr->s : fallback;
}

const int64_t *op_attr_ints(const ft_op *op, const char *name, uint32_t *count) {
    const ft_attr *attr = find_attr(op, name);
    *count = 0;
    if (attr == NULL) return NULL;
    if (attr->kind == FT_ATTR_INT) {
        *count = 1;
        return &attr->i;
    }
    if (attr->kind != FT_ATTR_INTS) return NULL;
    *count = attr->count;
    return attr->ints;
}

/* --- Names of stored tensors --------------------------------------------------------------------------------- */

name_kind tensor_name_kind(const ft_graph *graph, const ft_tensor *tensor) {
    const char *name = tensor->name;
    if (!graph_follows_onnx(graph)) return NAME_PLAIN;
    if (name[0] == '/') return strncmp(strrchr(name, '/'), "/Constant", 9) == 0 ? NAME_LITERAL : NAME_COMPUTED;
    return strchr(name, '.') != NULL && strstr(name, "::") == NULL ? NAME_MEMBER : NAME_PLAIN;
}

const char *name_kind_example(name_kind kind) {
    switch (kind) {
    case NAME_PLAIN:
        break;
    case NAME_MEMBER:
        return "module.member";
    case NAME_COMPUTED:
        return "/computed";
    case NAME_LITERAL:
        return "/Constant";
    }
    return "";
}
