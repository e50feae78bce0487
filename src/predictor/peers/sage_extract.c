/* sage_extract.c - feature extraction of PerfSAGE: nodes, edges and their features, from a bound graph. */
#include "predictor/peers/sage.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "graph/fuse.h"
#include "graph/geometry.h"
#include "graph/graph.h"

/* --- Columns ------------------------------------------------------------------------------------------------- */

typedef enum sage_option {
    OPTION_DEPTH_MULTIPLIER = SAGE_SHAPE,
    OPTION_DILATION_HEIGHT,
    OPTION_DILATION_WIDTH,
    OPTION_FILTER_HEIGHT,
    OPTION_FILTER_WIDTH,
    OPTION_ACTIVATION,
    OPTION_PADDING,
    OPTION_STRIDE_HEIGHT,
    OPTION_STRIDE_WIDTH,
    OPTION_AXIS,
    OPTION_GROUPS,
    OPTION_KEEPS_DIMS,
} sage_option;

_Static_assert(OPTION_KEEPS_DIMS + 1 == SAGE_COLUMNS, "each option has a column");

/* Limits of the columns, at half a turn of sine and cosine: as published; the last two columns are not of PerfSAGE. */
static const double limits[SAGE_COLUMNS] = {1600, 400, 480, 1600, 1, 1, 1, 25, 7, 3, 1, 7, 7, 3, 1600, 1};

/* Numbers of a node before scaling; NaN: the operator has no such option. */
typedef struct columns {
    double values[SAGE_COLUMNS];
} columns;

enum { CLASS_INPUT = FT_CLASS_CONTROL + 1 };
_Static_assert((int)CLASS_INPUT < (int)SAGE_CLASSES, "each class of operators has a mark");

static uint32_t marks_before_class(sage_scaling scaling) {
    return scaling == SAGE_CONDITIONAL ? 2 * SAGE_COLUMNS : SAGE_OPTIONS;
}

uint32_t sage_class_column(sage_scaling scaling) {
    return marks_before_class(scaling);
}

gnn_widths sage_widths(sage_scaling scaling) {
    return (gnn_widths){.kinds = SAGE_KINDS,
                        .node_values = scaling == SAGE_CONDITIONAL ? 0 : SAGE_COLUMNS,
                        .node_marks = marks_before_class(scaling) + SAGE_CLASSES};
}

/* --- Shapes -------------------------------------------------------------------------------------------------- */

/* Permutation of the dimensions of weights to OHWI. */
static const uint8_t *weight_order(weight_layout layout) {
    static const uint8_t oihw[] = {0, 2, 3, 1}, iohw[] = {1, 2, 3, 0}, hwio[] = {3, 0, 1, 2}, same[] = {0, 1, 2, 3};
    switch (layout) {
    case WEIGHT_OIHW:
        return oihw;
    case WEIGHT_IOHW:
        return iohw;
    case WEIGHT_HWIO:
    case WEIGHT_HWIM:
        return hwio;
    default:
        return same;
    }
}

/* The convolution whose weights a constant holds, or NULL. */
static const ft_op *convolution_of(const ft_graph *g, const ft_tensor *t) {
    if (t->use_count == 0) return NULL;
    const ft_op *op = &g->ops[t->uses[0]];
    conv_geometry conv;
    return op->def->op_class == FT_CLASS_CONV && conv_geometry_of(g, op, &conv) && conv.weight == t ? op : NULL;
}

/* Four numbers: missing leading dimensions are 1, surplus ones are multiplied into the first. */
static void set_shape(const ft_graph *g, const ft_tensor *t, double shape[SAGE_SHAPE]) {
    static const uint8_t nchw[] = {0, 2, 3, 1};
    double dims[SAGE_SHAPE] = {1, 1, 1, 1};
    for (int32_t i = 0; i < t->rank; i++) {
        int32_t at = i + SAGE_SHAPE - t->rank;
        dims[at > 0 ? at : 0] *= (double)t->dims[i];
    }
    int32_t first = t->rank < SAGE_SHAPE ? SAGE_SHAPE - t->rank : 0;
    if (t->is_batched && t->rank > 0) dims[first] *= (double)g->batch / (double)g->exported_batch;
    const uint8_t *order = NULL;
    const ft_op *conv = t->role == FT_CONSTANT && t->rank == SAGE_SHAPE ? convolution_of(g, t) : NULL;
    if (conv != NULL)
        order = weight_order(conv->def->layout);
    else if (g->layout == FT_NCHW && t->rank == SAGE_SHAPE && t->role != FT_CONSTANT)
        order = nchw;
    for (uint32_t i = 0; i < SAGE_SHAPE; i++) shape[i] = dims[order != NULL ? order[i] : i];
}

/* --- Options ------------------------------------------------------------------------------------------------- */

/* Two numbers, rows first; with one spatial dimension, rows are 1. */
static void set_pair(columns *c, sage_option rows, const int64_t *values, int32_t count) {
    if (count < 1) return;
    c->values[rows] = count > 1 ? (double)values[count - 2] : 1;
    c->values[rows + 1] = (double)values[count - 1];
}

static void set_window(const ft_graph *g, const ft_op *op, columns *c) {
    conv_geometry conv;
    pool_geometry pool;
    if (op->def->op_class == FT_CLASS_CONV && conv_geometry_of(g, op, &conv)) {
        set_pair(c, OPTION_FILTER_HEIGHT, conv.kernel, conv.spatial);
        set_pair(c, OPTION_STRIDE_HEIGHT, conv.stride, conv.spatial);
        set_pair(c, OPTION_DILATION_HEIGHT, conv.dilation, conv.spatial);
        c->values[OPTION_GROUPS] = (double)conv.groups;
        if (conv.is_depthwise && conv.cin > 0)
            c->values[OPTION_DEPTH_MULTIPLIER] = (double)conv.cout / (double)conv.cin;
    } else if (op->def->op_class == FT_CLASS_POOL && pool_geometry_of(g, op, &pool)) {
        set_pair(c, OPTION_FILTER_HEIGHT, pool.kernel, pool.spatial);
        set_pair(c, OPTION_STRIDE_HEIGHT, pool.stride, pool.spatial);
    }
}

/* 0: padded; 1: no padding. */
static void set_padding(const ft_op *op, columns *c) {
    const char *mode = op_attr_string(op, "auto_pad", NULL);
    uint32_t count = 0;
    const int64_t *pads = op_attr_ints(op, "pads", &count);
    if (mode != NULL && strcmp(mode, "NOTSET") != 0) {
        c->values[OPTION_PADDING] = strcmp(mode, "VALID") == 0 ? 1 : 0;
    } else if (pads != NULL) {
        c->values[OPTION_PADDING] = 1;
        for (uint32_t i = 0; i < count; i++)
            if (pads[i] != 0) c->values[OPTION_PADDING] = 0;
    }
}

/* Index in TFLite's schema. */
static void set_activation(const ft_op *op, columns *c) {
    static const char *const names[] = {"NONE", "RELU", "RELU_N1_TO_1", "RELU6", "TANH", "SIGN_BIT"};
    const char *name = op_attr_string(op, "activation", NULL);
    for (uint32_t i = 0; name != NULL && i < sizeof names / sizeof names[0]; i++)
        if (strcmp(name, names[i]) == 0) c->values[OPTION_ACTIVATION] = i;
}

static void set_axis(const ft_graph *g, const ft_op *op, columns *c) {
    uint32_t count = 0;
    const ft_attr *axis = ft_op_attr(op, "axis");
    const int64_t *axes = op_attr_ints(op, "axes", &count);
    const ft_tensor *x = op->input_count > 0 && op->inputs[0] != FT_NONE ? &g->tensors[op->inputs[0]] : NULL;
    int64_t at;
    if (axis != NULL && axis->kind == FT_ATTR_INT)
        at = axis->i;
    else if (axes != NULL && count > 0)
        at = axes[0];
    else
        return;
    if (at < 0 && x != NULL && x->rank > 0) at += x->rank;
    c->values[OPTION_AXIS] = (double)at;
}

static void set_options(const ft_graph *g, const ft_op *op, columns *c) {
    set_window(g, op, c);
    set_padding(op, c);
    set_activation(op, c);
    set_axis(g, op, c);
    const ft_attr *keeps = ft_op_attr(op, "keepdims");
    if (keeps != NULL && keeps->kind == FT_ATTR_INT) c->values[OPTION_KEEPS_DIMS] = keeps->i != 0;
}

/* --- Nodes --------------------------------------------------------------------------------------------------- */

static void write_columns(const columns *c, sage_scaling scaling, float *values, float *marks) {
    for (uint32_t i = 0; i < SAGE_COLUMNS; i++) {
        double x = c->values[i];
        if (isnan(x)) continue;
        if (scaling == SAGE_CONDITIONAL) { /* beyond a full turn, large sizes would alias small ones */
            double angle = M_PI * fmin(fmax(x, 0) / limits[i], 1.999);
            marks[2 * i] = (float)(2 * sin(angle));
            marks[2 * i + 1] = (float)(2 * cos(angle));
            continue;
        }
        values[i] = (float)(scaling == SAGE_LOG ? log1p(fmax(x, 0)) : x);
        if (i >= SAGE_SHAPE) marks[i - SAGE_SHAPE] = 1;
    }
}

typedef struct extraction {
    const ft_graph *graph;
    sage_scaling scaling;
    gnn_widths widths;
    gnn_sample *sample;
    uint32_t *of_op, *of_tensor; /* node of each operator and tensor; FT_NONE: none */
    uint32_t *linked_to;         /* per node: the last operator that it has an edge to */
    uint32_t op_nodes, nodes;
} extraction;

static void write_node(const extraction *l, uint32_t node, const columns *c, uint32_t kind, uint32_t op_class) {
    gnn_sample *s = l->sample;
    assert(node < l->nodes && kind < SAGE_KINDS && op_class < SAGE_CLASSES);
    float *marks = s->node_marks + (size_t)node * l->widths.node_marks;
    float *values = l->widths.node_values > 0 ? s->node_values + (size_t)node * l->widths.node_values : NULL;
    write_columns(c, l->scaling, values, marks);
    marks[sage_class_column(l->scaling) + op_class] = 1;
    s->kinds[node] = kind;
}

static void clear_columns(columns *c) {
    for (uint32_t i = 0; i < SAGE_COLUMNS; i++) c->values[i] = NAN;
}

static void write_op(const extraction *l, uint32_t node, const ft_op *op) {
    columns c;
    char buffer[KERNEL_NAME_BYTES];
    clear_columns(&c);
    for (uint32_t i = 0; i < op->output_count && isnan(c.values[0]); i++)
        if (op->outputs[i] != FT_NONE) set_shape(l->graph, &l->graph->tensors[op->outputs[i]], c.values);
    set_options(l->graph, op, &c);
    bool is_known = ft_opdef_is_known(op->def);
    write_node(l, node, &c, is_known ? sage_kind_of(kernel_name_of(l->graph, op, buffer)) : 0, op->def->op_class);
}

static void write_input(const extraction *l, uint32_t node, const ft_tensor *t) {
    columns c;
    clear_columns(&c);
    set_shape(l->graph, t, c.values);
    write_node(l, node, &c, sage_kind_of("input"), CLASS_INPUT);
}

/* --- The graph ----------------------------------------------------------------------------------------------- */

/* Numbers the nodes: operators that run, then the inputs that none of them produces. */
static void number_nodes(extraction *l) {
    const ft_graph *g = l->graph;
    for (uint32_t i = 0; i < g->op_count; i++) l->of_op[i] = g->ops[i].is_folded ? FT_NONE : l->nodes++;
    l->op_nodes = l->nodes;
    for (uint32_t i = 0; i < g->tensor_count; i++) l->of_tensor[i] = FT_NONE;
    for (uint32_t i = 0; i < g->op_count; i++)
        for (uint32_t k = 0; l->of_op[i] != FT_NONE && k < g->ops[i].input_count; k++) {
            uint32_t tensor = g->ops[i].inputs[k];
            if (tensor == FT_NONE || l->of_tensor[tensor] != FT_NONE) continue;
            uint32_t producer = g->tensors[tensor].producer;
            bool is_made = producer != FT_NONE && l->of_op[producer] != FT_NONE;
            l->of_tensor[tensor] = is_made ? l->of_op[producer] : l->nodes++;
        }
}

/* Counts the edges, each pair of nodes once; writes them unless `from` is NULL. */
static uint32_t walk_edges(const extraction *l, uint32_t *from, uint32_t *to) {
    const ft_graph *g = l->graph;
    uint32_t count = 0;
    for (uint32_t i = 0; i < l->nodes; i++) l->linked_to[i] = FT_NONE;
    for (uint32_t i = 0; i < g->op_count; i++)
        for (uint32_t k = 0; l->of_op[i] != FT_NONE && k < g->ops[i].input_count; k++) {
            uint32_t tensor = g->ops[i].inputs[k], node = tensor != FT_NONE ? l->of_tensor[tensor] : FT_NONE;
            if (node == FT_NONE || l->linked_to[node] == i) continue;
            l->linked_to[node] = i;
            if (from != NULL) {
                from[count] = node;
                to[count] = l->of_op[i];
            }
            count++;
        }
    return count;
}

static double known_ratio(const extraction *l) {
    uint32_t known = 0;
    for (uint32_t i = 0; i < l->graph->op_count; i++)
        if (l->of_op[i] != FT_NONE && ft_opdef_is_known(l->graph->ops[i].def)) known++;
    return l->op_nodes > 0 ? (double)known / l->op_nodes : 1;
}

ft_status sage_extract(const ft_graph *bound, sage_scaling scaling, arena *memory, gnn_sample *sample,
                       ft_error *error) {
    extraction l = {.graph = bound, .scaling = scaling, .widths = sage_widths(scaling), .sample = sample};
    l.of_op = ARENA_ARRAY(memory, uint32_t, bound->op_count);
    l.of_tensor = ARENA_ARRAY(memory, uint32_t, bound->tensor_count);
    if (l.of_op == NULL || l.of_tensor == NULL) return FT_NOMEM(error);
    number_nodes(&l);
    if (l.op_nodes == 0)
        return ft_fail(error, FT_ERR_UNSUPPORTED, "%s: the model runs no operator, so there is nothing to predict from",
                       bound->name);
    l.linked_to = ARENA_ARRAY(memory, uint32_t, l.nodes);
    if (l.linked_to == NULL) return FT_NOMEM(error);
    if (!gnn_sample_open(sample, &l.widths, l.nodes, walk_edges(&l, NULL, NULL), memory)) return FT_NOMEM(error);
    walk_edges(&l, sample->from, sample->to);
    for (uint32_t i = 0; i < bound->op_count; i++)
        if (l.of_op[i] != FT_NONE) write_op(&l, l.of_op[i], &bound->ops[i]);
    for (uint32_t i = 0; i < bound->tensor_count; i++)
        if (l.of_tensor[i] != FT_NONE && l.of_tensor[i] >= l.op_nodes)
            write_input(&l, l.of_tensor[i], &bound->tensors[i]);
    sample->known_ratio = known_ratio(&l);
    return FT_OK;
}
