/* digraph_conv.c - what a node makes of itself and of what it hears: one layer of message passing in one direction. */
#include <math.h>
#include <stdio.h>

#include "predictor/peers/digraph.h"

static layer_linear add_linear(params *p, const char *name, const char *part, uint32_t in, uint32_t out,
                               bool has_bias) {
    char text[64];
    snprintf(text, sizeof text, "%s.%s", name, part);
    return layer_linear_add(p, text, in, out, has_bias);
}

digraph_conv digraph_conv_add(params *p, const char *name, const digraph_options *options, uint32_t width,
                              uint32_t edges) {
    digraph_conv c = {.kind = (digraph_layer)options->layer, .heads = (uint32_t)options->heads};
    c.first = add_linear(p, name, "first", width, width, c.kind != DIGRAPH_GCN);
    if (c.kind == DIGRAPH_GCN) return c;
    if (c.kind == DIGRAPH_GAT) {
        c.sent = add_linear(p, name, "sent", width, c.heads, false);
        c.got = add_linear(p, name, "got", width, c.heads, true);
        c.edges = add_linear(p, name, "edges", edges, c.heads, false);
        return c;
    }
    c.second = add_linear(p, name, "second", width, width, true);
    c.own = params_add(p, 1, width, PARAM_ZEROS, "%s.own", name);
    if (c.kind != DIGRAPH_GIN) c.edges = add_linear(p, name, "edges", edges, width, true);
    return c;
}

/* One over the root of the number of sources, per node. */
static tensor *root_degrees(tape *t, const digraph_flow *flow) {
    uint32_t nodes = flow->into.count;
    float *values = tape_alloc(t, nodes, sizeof *values);
    if (values == NULL) return NULL;
    for (uint32_t v = 0; v < nodes; v++) {
        float degree = (float)(flow->into.start[v + 1] - flow->into.start[v]);
        values[v] = degree > 0 ? 1 / sqrtf(degree) : 0;
    }
    return tape_input(t, nodes, 1, values);
}

/* GCN: the sum of neighbours, each over the root of the degrees of both ends. */
static tensor *gcn(tape *t, const digraph_conv *c, tensor *x, const digraph_flow *flow) {
    tensor *share = root_degrees(t, flow);
    x = nn_mul_column(t, layer_linear_apply(t, &c->first, x, ACT_NONE), share);
    return nn_mul_column(t, nn_neighbour_sum(t, x, flow->sources), share);
}

/* What comes in along edges with features: relu(x + edge). */
static tensor *hear_edges(tape *t, const digraph_conv *c, tensor *x, const digraph_flow *flow, tensor *edges) {
    tensor *sent =
        nn_add(t, nn_gather(t, x, flow->from, flow->count), layer_linear_apply(t, &c->edges, edges, ACT_NONE));
    return nn_segment_sum(t, nn_activate(t, sent, ACT_RELU), flow->into);
}

/* GIN: two layers over (1 + own) x + what comes in. */
static tensor *gin(tape *t, const digraph_conv *c, tensor *x, tensor *heard) {
    tensor *own = nn_add(t, x, nn_mul_row(t, x, tape_param(t, c->own)));
    tensor *inner = layer_linear_apply(t, &c->first, nn_add(t, own, heard), ACT_RELU);
    return layer_linear_apply(t, &c->second, inner, ACT_NONE);
}

static tensor *leaky_relu(tape *t, tensor *x) {
    return nn_add(t, nn_scale(t, x, 0.2F), nn_scale(t, nn_activate(t, x, ACT_RELU), 0.8F));
}

/* GAT: sources are weighed by scores of their edges, softmax over what comes in, by head. */
static tensor *gat(tape *t, const digraph_conv *c, tensor *x, const digraph_flow *flow, tensor *edges) {
    tensor *sent = layer_linear_apply(t, &c->sent, x, ACT_NONE), *got = layer_linear_apply(t, &c->got, x, ACT_NONE);
    tensor *scores = nn_add(t, nn_gather(t, sent, flow->from, flow->count), nn_segment_broadcast(t, got, flow->into));
    scores = nn_add(t, scores, layer_linear_apply(t, &c->edges, edges, ACT_NONE));
    tensor *weights = nn_segment_softmax(t, leaky_relu(t, scores), flow->into);
    tensor *values = nn_gather(t, layer_linear_apply(t, &c->first, x, ACT_NONE), flow->from, flow->count);
    return nn_segment_sum(t, nn_mul_groups(t, values, weights), flow->into);
}

tensor *digraph_conv_apply(tape *t, const digraph_conv *c, tensor *x, const digraph_flow *flow, tensor *edges) {
    switch (c->kind) {
    case DIGRAPH_GCN:
        return gcn(t, c, x, flow);
    case DIGRAPH_GAT:
        return gat(t, c, x, flow, edges);
    case DIGRAPH_GIN:
        return gin(t, c, x, nn_neighbour_sum(t, x, flow->sources));
    default:
        return gin(t, c, x, hear_edges(t, c, x, flow, edges));
    }
}
