/* sage_net.c - the network of PerfSAGE.
 *
 * The embedding of an operator is the sum of two rows: its own, and that of its class. The first is row 0 for operators
 * absent from training, and for nodes hidden in training (gnn.h); the second starts as zeros, so an unseen class has no
 * effect. So an unseen operator is represented by its class. */
#include "predictor/peers/sage.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

/* PerfSAGE's sum is a mean over this many slots, most of them empty. */
static const float SLOTS = 200;
static const float BOUND = 20; /* of the logarithm of a node's share of the result */

struct gnn_net {
    sage_options options;
    uint32_t layers, class_column;
    param_id own, of_class;                                     /* embeddings of operators and of classes */
    layer_aggregate down[SAGE_MAX_LAYERS], up[SAGE_MAX_LAYERS]; /* aggregate successors, aggregate predecessors */
    layer_linear head;
    param_id gain, offset; /* of the logarithm of the sum */
    bool is_log;
    float dropout;
};

static bool uses_successors(const gnn_net *net) {
    return net->options.direction != SAGE_PREDECESSORS;
}

static bool uses_predecessors(const gnn_net *net) {
    return net->options.direction != SAGE_SUCCESSORS;
}

static uint32_t inner_of(const sage_options *o, uint32_t hidden) {
    if (o->inner > 0) return (uint32_t)o->inner;
    return o->aggregator == AGGREGATE_LSTM ? hidden : 4 * hidden;
}

static void add_layer(gnn_net *net, params *p, uint32_t layer, uint32_t in, uint32_t hidden) {
    char name[32];
    bool has_both = net->options.direction == SAGE_BOTH;
    aggregate_options o = {.kind = (aggregator)net->options.aggregator,
                           .in = in,
                           .out = has_both ? hidden / 2 : hidden,
                           .inner = inner_of(&net->options, hidden)};
    snprintf(name, sizeof name, "layer%u.down", layer);
    if (uses_successors(net)) net->down[layer] = layer_aggregate_add(p, name, &o);
    snprintf(name, sizeof name, "layer%u.up", layer);
    if (uses_predecessors(net)) net->up[layer] = layer_aggregate_add(p, name, &o);
}

gnn_net *sage_build(const gnn_plan *plan, params *p) {
    gnn_net *net = calloc(1, sizeof *net);
    if (net == NULL) return NULL;
    const gnn_widths *w = &plan->widths;
    assert(plan->shared.layers >= 1 && plan->shared.layers <= SAGE_MAX_LAYERS);
    net->options = *(const sage_options *)plan->own;
    net->class_column = sage_class_column((sage_scaling)net->options.scaling);
    net->layers = (uint32_t)plan->shared.layers;
    net->dropout = (float)plan->shared.dropout;
    uint32_t embedding = (uint32_t)net->options.embedding, hidden = (uint32_t)plan->shared.hidden;
    net->own = params_add(p, w->kinds, embedding, PARAM_NORMAL, "operator.own");
    net->of_class = params_add(p, SAGE_CLASSES, embedding, PARAM_ZEROS, "operator.class");
    uint32_t in = w->node_values + net->class_column + embedding;
    for (uint32_t i = 0; i < net->layers; i++, in = 2 * hidden) add_layer(net, p, i, in, hidden);
    net->head = layer_linear_add(p, "head", in, plan->outputs, true);
    net->is_log = plan->shared.target != LABEL_RAW && net->options.readout == SAGE_PARTS;
    if (!net->is_log) return net;
    net->gain = params_add(p, 1, plan->outputs, PARAM_ONES, "gain");
    net->offset = params_add(p, 1, plan->outputs, PARAM_ZEROS, "offset");
    return net;
}

static tensor *operators(const gnn_net *net, tape *t, const gnn_batch *b, tensor *marks) {
    tensor *own = nn_gather(t, tape_param(t, net->own), b->kinds, b->nodes);
    tensor *classes = nn_slice_columns(t, marks, net->class_column, SAGE_CLASSES);
    return nn_add(t, own, nn_matmul(t, classes, tape_param(t, net->of_class)));
}

static tensor *nodes_of(const gnn_net *net, tape *t, const gnn_batch *b) {
    tensor *marks = tape_input(t, b->nodes, b->widths.node_marks, b->node_marks);
    tensor *parts[3] = {operators(net, t, b, marks), nn_slice_columns(t, marks, 0, net->class_column)};
    if (b->widths.node_values == 0) return nn_concat_columns(t, 2, parts);
    parts[2] = tape_input(t, b->nodes, b->widths.node_values, b->node_values);
    return nn_concat_columns(t, 3, parts);
}

static tensor *apply_layer(const gnn_net *net, tape *t, uint32_t layer, tensor *x, const gnn_batch *b) {
    activation act = layer + 1 < net->layers ? ACT_RELU : ACT_NONE;
    tensor *down = NULL, *up = NULL;
    x = nn_dropout(t, x, net->dropout);
    if (uses_successors(net)) down = layer_aggregate_apply(t, &net->down[layer], x, b->targets, act);
    if (uses_predecessors(net)) up = layer_aggregate_apply(t, &net->up[layer], x, b->sources, act);
    if (!uses_predecessors(net)) return down;
    if (!uses_successors(net)) return up;
    return nn_concat_columns(t, 2, (tensor *[]){down, up});
}

/* The sum of the nodes' shares, whose logarithms are `x`: the sum itself, or its logarithm on the scale of the targets.
 */
static tensor *add_parts(const gnn_net *net, tape *t, tensor *x, const gnn_batch *b) {
    tensor *bounded = nn_scale(t, nn_activate(t, nn_scale(t, x, 1 / BOUND), ACT_TANH), BOUND);
    tensor *sum = nn_scale(t, nn_segment_sum(t, nn_activate(t, bounded, ACT_EXP), b->nodes_of), 1 / SLOTS);
    if (!net->is_log) return sum;
    tensor *log = nn_mul_row(t, nn_activate(t, sum, ACT_LOG), tape_param(t, net->gain));
    return nn_add_row(t, log, tape_param(t, net->offset));
}

tensor *sage_forward(const gnn_net *net, tape *t, const gnn_batch *b) {
    tensor *x = nodes_of(net, t, b);
    for (uint32_t i = 0; i < net->layers; i++) x = apply_layer(net, t, i, x, b);
    if (net->options.unit > 0) x = nn_l2_normalize(t, x);
    if (net->options.readout == SAGE_PARTS) return add_parts(net, t, layer_linear_apply(t, &net->head, x, ACT_NONE), b);
    tensor *sum = nn_scale(t, nn_segment_sum(t, x, b->nodes_of), 1 / SLOTS);
    return layer_linear_apply(t, &net->head, sum, ACT_NONE);
}
