/* digraph_net.c - the network: nodes to vectors, layers of message passing with shortcuts and norms, a sum over the
 * nodes, and a head that says all columns. */
#include <stdio.h>
#include <stdlib.h>

#include "predictor/digraph.h"
#include "predictor/gnn_model.h"

enum { HEAD_MAX = 4 };

struct gnn_net {
    digraph_options options;
    float dropout;
    uint32_t layers, flows, head_layers;
    param_id kinds;
    layer_linear values, read, out;
    layer_linear head[HEAD_MAX];
    digraph_conv convs[GNN_MAX_LAYERS][2];
    layer_norm norms[GNN_MAX_LAYERS];
};

/* Exponents of the read-out stay within this. */
static const float BOUND = 12;

gnn_net *digraph_build(const gnn_plan *plan, params *p) {
    const digraph_options *o = plan->own;
    gnn_net *n = calloc(1, sizeof *n);
    if (n == NULL) return NULL;
    uint32_t width = (uint32_t)plan->shared.hidden;
    char name[64];
    *n = (gnn_net){.options = *o, .dropout = (float)plan->shared.dropout, .layers = (uint32_t)plan->shared.layers};
    n->flows = o->direction == DIGRAPH_BIDIRECTED ? 2 : 1;
    n->head_layers = (uint32_t)o->head;
    n->kinds = params_add(p, plan->widths.kinds, width, PARAM_NORMAL, "kinds");
    n->values = layer_linear_add(p, "values", plan->widths.node_values, width, true);
    for (uint32_t i = 0; i < n->layers; i++) {
        for (uint32_t k = 0; k < n->flows; k++) {
            snprintf(name, sizeof name, "conv%u.%u", i, k);
            n->convs[i][k] = digraph_conv_add(p, name, o, width);
        }
        snprintf(name, sizeof name, "norm%u", i);
        n->norms[i] = layer_norm_add(p, name, width);
    }
    n->read = layer_linear_add(p, "read", width, width, true);
    for (uint32_t i = 0; i < n->head_layers; i++) {
        snprintf(name, sizeof name, "head%u", i);
        n->head[i] = layer_linear_add(p, name, width, width, true);
    }
    n->out = layer_linear_add(p, "out", width, plan->outputs, true);
    return n;
}

/* One layer: both directions averaged, a norm, and a shortcut past them. */
static tensor *apply_layer(const gnn_net *n, tape *t, uint32_t layer, tensor *x, const digraph_flows *flows) {
    tensor *y = digraph_conv_apply(t, &n->convs[layer][0], x, &flows->items[0]);
    if (flows->count == 2)
        y = nn_scale(t, nn_add(t, y, digraph_conv_apply(t, &n->convs[layer][1], x, &flows->items[1])), 0.5F);
    y = nn_activate(t, layer_norm_apply(t, &n->norms[layer], y), ACT_RELU);
    if (n->dropout > 0) y = nn_dropout(t, y, n->dropout);
    return nn_add(t, x, y);
}

/* Nodes to one row per graph. */
static tensor *read_out(const gnn_net *n, tape *t, tensor *x, const gnn_batch *batch) {
    x = layer_linear_apply(t, &n->read, x, ACT_NONE);
    if (n->options.readout == DIGRAPH_SUM) return nn_segment_sum(t, x, batch->nodes_of);
    x = nn_scale(t, nn_activate(t, nn_scale(t, x, 1 / BOUND), ACT_TANH), BOUND);
    x = nn_segment_sum(t, nn_activate(t, x, ACT_EXP), batch->nodes_of);
    return nn_activate(t, x, ACT_LOG);
}

tensor *digraph_forward(const gnn_net *n, tape *t, const gnn_batch *batch) {
    digraph_flows flows;
    bool has_loops = n->options.layer == DIGRAPH_GCN;
    if (!digraph_flows_of(t, batch, (digraph_direction)n->options.direction, has_loops, &flows)) return NULL;
    tensor *values = tape_input(t, batch->nodes, batch->widths.node_values, batch->node_values);
    tensor *x = layer_linear_apply(t, &n->values, values, ACT_NONE);
    x = nn_activate(t, nn_add(t, x, nn_gather(t, tape_param(t, n->kinds), batch->kinds, batch->nodes)), ACT_RELU);
    for (uint32_t i = 0; i < n->layers; i++) x = apply_layer(n, t, i, x, &flows);
    x = read_out(n, t, x, batch);
    for (uint32_t i = 0; i < n->head_layers; i++) x = layer_linear_apply(t, &n->head[i], x, ACT_SILU);
    return layer_linear_apply(t, &n->out, x, ACT_NONE);
}
