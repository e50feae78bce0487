/* graphdef_attr.c - options of TensorFlow's operators as attributes: under ONNX's name when ONNX has such an attribute,
 * else under TensorFlow's. Options without influence on shapes and costs have no row. */
#include <assert.h>
#include <ctype.h>
#include <string.h>

#include "graph/shape.h"
#include "read/tensorflow/graphdef.h"

typedef enum option_kind {
    OPTION_INT, /* also bool */
    OPTION_FLOAT,
    OPTION_TEXT, /* in lower case */
    OPTION_INTS,
    OPTION_DTYPE,
    OPTION_WINDOW,     /* a number for each dimension of the image; only those of height and width are kept */
    OPTION_PADDING,    /* SAME, VALID, EXPLICIT */
    OPTION_ACTIVATION, /* the last of a list of fused operators, or a name */
} option_kind;

typedef struct option {
    const char *name; /* TensorFlow's */
    const char *attr;
    option_kind kind;
} option;

static const option options[] = {
    {"strides", "strides", OPTION_WINDOW},
    {"dilations", "dilations", OPTION_WINDOW},
    {"ksize", "kernel_shape", OPTION_WINDOW},
    {"padding", "auto_pad", OPTION_PADDING},
    {"transpose_a", "transpose_a", OPTION_INT},
    {"transpose_b", "transpose_b", OPTION_INT},
    {"adj_x", "adj_x", OPTION_INT},
    {"adj_y", "adj_y", OPTION_INT},
    {"keep_dims", "keepdims", OPTION_INT},
    {"keepdims", "keepdims", OPTION_INT},
    {"squeeze_dims", "axes", OPTION_INTS},
    {"axis", "axis", OPTION_INT},
    {"batch_dims", "batch_dims", OPTION_INT},
    {"begin_mask", "begin_mask", OPTION_INT},
    {"end_mask", "end_mask", OPTION_INT},
    {"ellipsis_mask", "ellipsis_mask", OPTION_INT},
    {"new_axis_mask", "new_axis_mask", OPTION_INT},
    {"shrink_axis_mask", "shrink_axis_mask", OPTION_INT},
    {"DstT", "to", OPTION_DTYPE},
    {"equation", "equation", OPTION_TEXT},
    {"block_size", "blocksize", OPTION_INT},
    {"mode", "mode", OPTION_TEXT},
    {"method", "method", OPTION_TEXT},
    {"k", "k", OPTION_INT},
    {"alpha", "alpha", OPTION_FLOAT},
    {"epsilon", "epsilon", OPTION_FLOAT},
    {"depth_radius", "radius", OPTION_INT},
    {"align_corners", "align_corners", OPTION_INT},
    {"half_pixel_centers", "half_pixel_centers", OPTION_INT},
    {"exclusive", "exclusive", OPTION_INT},
    {"reverse", "reverse", OPTION_INT},
    {"seq_dim", "time_axis", OPTION_INT},
    {"batch_dim", "batch_axis", OPTION_INT},
    {"fused_ops", "activation", OPTION_ACTIVATION},
    {"activation_mode", "activation", OPTION_ACTIVATION},
};

enum { OPTIONS = sizeof options / sizeof options[0], MAX_ATTRS = OPTIONS + 3, MAX_TEXT = 256 };

/* --- Access ------------------------------------------------------------------------------------------------------ */

const Tf__Value *gd_attr(const Tf__Node *node, const char *name) {
    for (size_t i = 0; i < node->n_attr; i++) {
        if (strcmp(gd_text(node->attr[i]->key), name) == 0) return node->attr[i]->value;
    }
    return NULL;
}

int64_t gd_attr_int(const Tf__Node *node, const char *name, int64_t fallback) {
    const Tf__Value *value = gd_attr(node, name);
    if (value == NULL) return fallback;
    return value->has_i ? value->i : value->has_b ? value->b != 0 : fallback;
}

const char *gd_attr_text(gd_builder *b, const Tf__Node *node, const char *name) {
    const Tf__Value *value = gd_attr(node, name);
    if (value == NULL || !value->has_s || value->s.len > MAX_TEXT) return "";
    return arena_string(b->scratch, (const char *)value->s.data, value->s.len);
}

/* --- Layout ------------------------------------------------------------------------------------------------------ */

/* "NCHW", "NCDHW" */
static bool is_nchw(const Tf__Node *node) {
    const Tf__Value *format = gd_attr(node, "data_format");
    return format != NULL && format->has_s && format->s.len > 2 && memcmp(format->s.data, "NC", 2) == 0;
}

static bool has_nchw(Tf__Node **nodes, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (is_nchw(nodes[i])) return true;
    return false;
}

bool gd_has_nchw(const Tf__Graph *graph) {
    if (has_nchw(graph->node, graph->n_node)) return true;
    for (size_t i = 0; graph->library != NULL && i < graph->library->n_function; i++) {
        const Tf__FunctionDef *function = graph->library->function[i];
        if (has_nchw(function->node_def, function->n_node_def)) return true;
    }
    return false;
}

/* --- Options ----------------------------------------------------------------------------------------------------- */

static ft_status add_window(gd_builder *b, const Tf__Node *node, const option *o, const Tf__Value *v, ft_attr *attr,
                            uint32_t *count) {
    const Tf__List *list = v->list;
    if (list == NULL || list->n_i < 3 || list->n_i > FT_MAX_RANK) return FT_OK;
    ++*count;
    return graph_attr_ints(b->graph, attr, o->attr, list->i + (is_nchw(node) ? 2 : 1), list->n_i - 2, b->error);
}

/* "explicit_paddings" has a pair for each dimension. */
static ft_status add_pads(gd_builder *b, const Tf__Node *node, ft_attr *attr, uint32_t *count) {
    const Tf__Value *value = gd_attr(node, "explicit_paddings");
    const Tf__List *list = value != NULL ? value->list : NULL;
    int64_t pads[2 * FT_MAX_RANK];
    if (list == NULL || list->n_i < 6 || list->n_i > 2 * FT_MAX_RANK || list->n_i % 2 != 0) return FT_OK;
    size_t spatial = list->n_i / 2 - 2, first = is_nchw(node) ? 2 : 1;
    for (size_t i = 0; i < spatial; i++) {
        pads[i] = list->i[2 * (first + i)];
        pads[spatial + i] = list->i[2 * (first + i) + 1];
    }
    ++*count;
    return graph_attr_ints(b->graph, attr, "pads", pads, 2 * spatial, b->error);
}

static ft_status add_padding(gd_builder *b, const Tf__Node *node, const option *o, ft_attr *attr, uint32_t *count) {
    const char *text = gd_attr_text(b, node, o->name);
    if (text == NULL) return FT_NOMEM(b->error);
    if (strcmp(text, "EXPLICIT") == 0) return add_pads(b, node, attr, count);
    ++*count;
    return graph_attr_string(b->graph, attr, o->attr, strcmp(text, "SAME") == 0 ? "SAME_UPPER" : "VALID", b->error);
}

/* "Relu6" -> "RELU6", as in TFLite. Biases and norms are operands, not activations. */
static ft_status add_activation(gd_builder *b, const option *o, const Tf__Value *v, ft_attr *attr, uint32_t *count) {
    char name[MAX_TEXT + 1] = "";
    const Tf__List *list = v->list;
    for (size_t i = 0; i < (list != NULL ? list->n_s : (size_t)(v->has_s != 0)); i++) {
        const ProtobufCBinaryData *s = list != NULL ? &list->s[i] : &v->s;
        bool is_operand = (s->len == 7 && memcmp(s->data, "BiasAdd", 7) == 0) ||
                          (s->len >= 14 && memcmp(s->data, "FusedBatchNorm", 14) == 0) ||
                          (s->len == 8 && memcmp(s->data, "Identity", 8) == 0);
        if (is_operand || s->len == 0 || s->len > MAX_TEXT) continue;
        for (size_t k = 0; k < s->len; k++) name[k] = (char)toupper(s->data[k]);
        name[s->len] = '\0';
    }
    if (name[0] == '\0') return FT_OK;
    ++*count;
    return graph_attr_string(b->graph, attr, o->attr, name, b->error);
}

static ft_status add_text(gd_builder *b, const Tf__Node *node, const option *o, ft_attr *attr, uint32_t *count) {
    const char *text = gd_attr_text(b, node, o->name);
    char *copy = text != NULL ? arena_string(b->scratch, text, strlen(text)) : NULL;
    if (copy == NULL) return FT_NOMEM(b->error);
    bool is_enumeration = strcmp(o->name, "equation") != 0; /* letters of an equation differ in their case */
    for (char *c = copy; is_enumeration && *c != '\0'; c++) *c = (char)tolower((unsigned char)*c);
    ++*count;
    return graph_attr_string(b->graph, attr, o->attr, copy, b->error);
}

static ft_status add_option(gd_builder *b, const Tf__Node *node, const option *o, const Tf__Value *v, ft_attr *attr,
                            uint32_t *count) {
    switch (o->kind) {
    case OPTION_INT:
        if (!v->has_i && !v->has_b) return FT_OK;
        ++*count;
        return graph_attr_int(b->graph, attr, o->attr, v->has_i ? v->i : v->b != 0, b->error);
    case OPTION_FLOAT:
        if (!v->has_f) return FT_OK;
        ++*count;
        return graph_attr_float(b->graph, attr, o->attr, (double)v->f, b->error);
    case OPTION_TEXT:
        return v->has_s ? add_text(b, node, o, attr, count) : FT_OK;
    case OPTION_INTS:
        if (v->list == NULL || v->list->n_i > FT_MAX_RANK) return FT_OK;
        ++*count;
        return graph_attr_ints(b->graph, attr, o->attr, v->list->i, v->list->n_i, b->error);
    case OPTION_DTYPE:
        ++*count;
        return graph_attr_int(b->graph, attr, o->attr, gd_dtype_as_onnx(v->type), b->error);
    case OPTION_WINDOW:
        return add_window(b, node, o, v, attr, count);
    case OPTION_PADDING:
        return v->has_s ? add_padding(b, node, o, attr, count) : FT_OK;
    case OPTION_ACTIVATION:
        return add_activation(b, o, v, attr, count);
    }
    return FT_OK;
}

/* --- Operands that ONNX has as attributes ------------------------------------------------------------------------ */

/* Concatenations have their axis as last or first input, gathers as third. One that is not constant leaves the operator
 * unknown. */
static ft_status take_axis(gd_builder *b, ft_op *op, ft_attr *attrs) {
    bool is_first = strcmp(op->type, "Concat") == 0;
    if (op->input_count < 1) return FT_OK;
    if (strcmp(op->type, "Gather") == 0) return graph_attr_int(b->graph, &attrs[op->attr_count++], "axis", 0, b->error);
    const ft_tensor *axis = &b->graph->tensors[op->inputs[is_first ? 0 : op->input_count - 1]];
    if (axis->value == NULL || axis->value->count != 1 || axis->value->ints == NULL) {
        op->def = ft_opdef_unknown();
        return FT_OK;
    }
    op->input_count--;
    op->inputs += is_first;
    return graph_attr_int(b->graph, &attrs[op->attr_count++], "axis", axis->value->ints[0], b->error);
}

/* Dimensions are dropped unless "keep_dims" is set; over an empty list of axes nothing is reduced. */
static ft_status complete_reduction(gd_builder *b, ft_op *op, ft_attr *attrs) {
    bool has_keepdims = false;
    for (uint32_t i = 0; i < op->attr_count; i++) has_keepdims = has_keepdims || strcmp(attrs[i].name, "keepdims") == 0;
    if (!has_keepdims) FT_TRY(graph_attr_int(b->graph, &attrs[op->attr_count++], "keepdims", 0, b->error));
    return graph_attr_int(b->graph, &attrs[op->attr_count++], "noop_with_empty_axes", 1, b->error);
}

static bool is_image_op(const ft_op *op) {
    return op->def->op_class == FT_CLASS_CONV || op->def->op_class == FT_CLASS_POOL ||
           op->def->shape == shape_resize_size || op->def->shape == shape_depth_to_space ||
           op->def->shape == shape_space_to_depth;
}

ft_status gd_set_attrs(gd_builder *b, const Tf__Node *node, ft_op *op) {
    ft_attr attrs[MAX_ATTRS];
    for (size_t i = 0; i < OPTIONS; i++) {
        const Tf__Value *value = gd_attr(node, options[i].name);
        assert(op->attr_count <= i);
        if (value != NULL) FT_TRY(add_option(b, node, &options[i], value, &attrs[op->attr_count], &op->attr_count));
    }
    if (op->def->shape == shape_concat || op->def->shape == shape_gather_batch) FT_TRY(take_axis(b, op, attrs));
    if (op->def->shape == shape_reduce) FT_TRY(complete_reduction(b, op, attrs));
    if (b->graph->layout == FT_NCHW && is_image_op(op) && !is_nchw(node))
        FT_TRY(graph_attr_int(b->graph, &attrs[op->attr_count++], "channels_last", 1, b->error));
    assert(op->attr_count <= MAX_ATTRS);
    op->attrs = arena_copy(&b->graph->memory, attrs, op->attr_count * sizeof attrs[0]);
    return op->attrs != NULL ? FT_OK : FT_NOMEM(b->error);
}
