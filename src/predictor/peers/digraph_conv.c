/* digraph_conv.c - message passing of "digraph": the edges by direction, and one layer in one direction. */
#include <assert.h>
#include <math.h>
#include <stdio.h>

#include "predictor/peers/digraph.h"

/* --- Edges --------------------------------------------------------------------------------------------------- */

typedef struct flow_parts {
    uint32_t *from, *to, *edge, *start;
    uint32_t count;
} flow_parts;

static void add(flow_parts *f, uint32_t from, uint32_t to, uint32_t edge) {
    f->from[f->count] = from;
    f->to[f->count] = to;
    f->edge[f->count++] = edge;
}

/* For each node in order: incoming edges, outgoing edges and the self-loop, as far as wanted. */
static bool make_flow(tape *t, const gnn_batch *b, bool is_along, bool is_against, bool has_loops, digraph_flow *flow) {
    size_t max_edges = (size_t)b->edges * ((size_t)is_along + is_against) + (has_loops ? b->nodes : 0) + 1;
    flow_parts f = {.from = tape_alloc(t, max_edges, sizeof *f.from),
                    .to = tape_alloc(t, max_edges, sizeof *f.to),
                    .edge = tape_alloc(t, max_edges, sizeof *f.edge),
                    .start = tape_alloc(t, (size_t)b->nodes + 1, sizeof *f.start)};
    if (t->has_failed) return false;
    f.start[0] = 0;
    for (uint32_t v = 0; v < b->nodes; v++) {
        for (uint32_t e = b->edges_into.start[v]; is_along && e < b->edges_into.start[v + 1]; e++)
            add(&f, b->from[e], v, e);
        for (uint32_t i = b->targets.start[v]; is_against && i < b->targets.start[v + 1]; i++)
            add(&f, b->targets.index[i], v, b->edges_out.index[i]);
        if (has_loops) add(&f, v, v, FT_NONE);
        f.start[v + 1] = f.count;
    }
    assert(f.count < max_edges);
    *flow = (digraph_flow){.count = f.count,
                           .from = f.from,
                           .to = f.to,
                           .edge = f.edge,
                           .into = {b->nodes, f.start},
                           .sources = {b->nodes, f.start, f.from}};
    return true;
}

bool digraph_flows_of(tape *t, const gnn_batch *batch, digraph_direction direction, bool has_loops,
                      digraph_flows *flows) {
    bool is_both = direction == DIGRAPH_BIDIRECTED;
    flows->count = is_both ? 2 : 1;
    if (!make_flow(t, batch, true, direction == DIGRAPH_UNDIRECTED, has_loops, &flows->items[0])) return false;
    return !is_both || make_flow(t, batch, false, true, has_loops, &flows->items[1]);
}

/* --- Layers -------------------------------------------------------------------------------------------------- */

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

/* 1 / sqrt(in-degree), per node. */
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

/* GCN: the sum over neighbours, each divided by the square root of the degrees of both ends. */
static tensor *gcn(tape *t, const digraph_conv *c, tensor *x, const digraph_flow *flow) {
    tensor *share = root_degrees(t, flow);
    x = nn_mul_column(t, layer_linear_apply(t, &c->first, x, ACT_NONE), share);
    return nn_mul_column(t, nn_neighbour_sum(t, x, flow->sources), share);
}

/* Sum of messages relu(x + edge) along edges with features. */
static tensor *sum_edge_messages(tape *t, const digraph_conv *c, tensor *x, const digraph_flow *flow, tensor *edges) {
    tensor *sent =
        nn_add(t, nn_gather(t, x, flow->from, flow->count), layer_linear_apply(t, &c->edges, edges, ACT_NONE));
    return nn_segment_sum(t, nn_activate(t, sent, ACT_RELU), flow->into);
}

/* GIN: two layers over (1 + own) x + messages. */
static tensor *gin(tape *t, const digraph_conv *c, tensor *x, tensor *messages) {
    tensor *own = nn_add(t, x, nn_mul_row(t, x, tape_param(t, c->own)));
    tensor *inner = layer_linear_apply(t, &c->first, nn_add(t, own, messages), ACT_RELU);
    return layer_linear_apply(t, &c->second, inner, ACT_NONE);
}

static tensor *leaky_relu(tape *t, tensor *x) {
    return nn_add(t, nn_scale(t, x, 0.2F), nn_scale(t, nn_activate(t, x, ACT_RELU), 0.8F));
}

/* GAT: sources are weighted by a softmax over the scores of incoming edges, per head. */
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
        return gin(t, c, x, sum_edge_messages(t, c, x, flow, edges));
    }
}
