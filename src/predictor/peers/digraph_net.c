/* digraph_net.c - the network of "digraph": embedding of nodes, layers of message passing with residual connections and
 * norms, a read-out over the nodes, and a head with an output per column. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "predictor/gnn/gnn_model.h"
#include "predictor/peers/digraph.h"

enum { MAX_HEAD = 4 };

/* GPS: attention among all nodes of a graph, and a feed-forward block after attention and messages. */
typedef struct attention_part {
    layer_linear query, key, value, out, wide, narrow;
    layer_norm norm, last;
} attention_part;

struct gnn_net {
    digraph_options options;
    float dropout;
    uint32_t layers, flows, head_layers;
    param_id kinds;
    layer_linear values, position, read, out;
    layer_linear head[MAX_HEAD];
    digraph_pair pair;
    layer_linear pair_inner, pair_bias; /* gps: pair features to a bias for each head */
    digraph_conv convs[GNN_MAX_LAYERS][2];
    layer_norm norms[GNN_MAX_LAYERS];
    attention_part attention[GNN_MAX_LAYERS];
};

/* Bound of the exponents of the read-out. */
static const float BOUND = 12;

static bool is_plain(const digraph_options *o) {
    return o->encoding != DIGRAPH_NO_ENCODING && o->form == DIGRAPH_PLAIN;
}

static bool is_stable(const digraph_options *o) {
    return o->encoding != DIGRAPH_NO_ENCODING && o->form == DIGRAPH_STABLE;
}

/* --- Building ------------------------------------------------------------------------------------------------ */

static attention_part add_attention(params *p, uint32_t layer, uint32_t width) {
    char names[8][32];
    static const char *const parts[8] = {"query", "key", "value", "mix", "wide", "narrow", "norm", "last"};
    for (int i = 0; i < 8; i++) snprintf(names[i], sizeof names[i], "attention%u.%s", layer, parts[i]);
    return (attention_part){.query = layer_linear_add(p, names[0], width, width, true),
                            .key = layer_linear_add(p, names[1], width, width, true),
                            .value = layer_linear_add(p, names[2], width, width, true),
                            .out = layer_linear_add(p, names[3], width, width, true),
                            .wide = layer_linear_add(p, names[4], width, 2 * width, true),
                            .narrow = layer_linear_add(p, names[5], 2 * width, width, true),
                            .norm = layer_norm_add(p, names[6], width),
                            .last = layer_norm_add(p, names[7], width)};
}

static void add_layers(gnn_net *n, const gnn_plan *plan, params *p, uint32_t width) {
    uint32_t edges = plan->widths.edge_values + (is_stable(&n->options) ? 2 * DIGRAPH_PAIR : 0);
    char name[64];
    for (uint32_t i = 0; i < n->layers; i++) {
        for (uint32_t k = 0; k < n->flows; k++) {
            snprintf(name, sizeof name, "conv%u.%u", i, k);
            n->convs[i][k] = digraph_conv_add(p, name, &n->options, width, edges);
        }
        snprintf(name, sizeof name, "norm%u", i);
        n->norms[i] = layer_norm_add(p, name, width);
        if (n->options.layer == DIGRAPH_GPS) n->attention[i] = add_attention(p, i, width);
    }
}

static void add_encoding(gnn_net *n, params *p, uint32_t width) {
    uint32_t vectors = digraph_vectors(&n->options);
    if (is_plain(&n->options)) n->position = layer_linear_add(p, "place", 2 * vectors, width, false);
    if (!is_stable(&n->options)) return;
    n->pair = digraph_pair_add(p, vectors);
    if (n->options.layer != DIGRAPH_GPS) return;
    n->pair_inner = layer_linear_add(p, "pair.inner", 2 * DIGRAPH_PAIR, 2 * DIGRAPH_PAIR, true);
    n->pair_bias = layer_linear_add(p, "pair.bias", 2 * DIGRAPH_PAIR, (uint32_t)n->options.heads, true);
}

gnn_net *digraph_build(const gnn_plan *plan, params *p) {
    const digraph_options *o = plan->own;
    gnn_net *n = calloc(1, sizeof *n);
    if (n == NULL) return NULL;
    uint32_t width = (uint32_t)plan->shared.hidden;
    char name[64];
    assert(plan->shared.layers <= GNN_MAX_LAYERS && o->head <= MAX_HEAD);
    *n = (gnn_net){.options = *o, .dropout = (float)plan->shared.dropout, .layers = (uint32_t)plan->shared.layers};
    n->flows = o->direction == DIGRAPH_BIDIRECTED ? 2 : 1;
    n->head_layers = (uint32_t)o->head;
    n->kinds = params_add(p, plan->widths.kinds, width, PARAM_NORMAL, "kinds");
    n->values = layer_linear_add(p, "values", plan->widths.node_values, width, true);
    add_encoding(n, p, width);
    add_layers(n, plan, p, width);
    n->read = layer_linear_add(p, "read", width, width, true);
    for (uint32_t i = 0; i < n->head_layers; i++) {
        snprintf(name, sizeof name, "head%u", i);
        n->head[i] = layer_linear_add(p, name, width, width, true);
    }
    n->out = layer_linear_add(p, "out", width, plan->outputs, true);
    return n;
}

/* --- Inputs shared by the layers ------------------------------------------------------------------------- */

typedef struct pass {
    const gnn_net *n;
    tape *t;
    const gnn_batch *batch;
    digraph_flows flows;
    tensor *edges[2]; /* edge features of each flow; NULL: not used */
    tensor *bias;     /* of attention; NULL: none */
} pass;

/* Start of the pairs of each sample, given the start of those of each node (NULL: all pairs of nodes). */
static const uint32_t *sample_starts(tape *t, const gnn_batch *batch, const uint32_t *start) {
    uint32_t *found = tape_alloc(t, (size_t)batch->samples + 1, sizeof *found);
    if (found == NULL) return NULL;
    found[0] = 0;
    for (uint32_t i = 0; i < batch->samples; i++) {
        uint32_t nodes = batch->nodes_of.start[i + 1] - batch->nodes_of.start[i];
        found[i + 1] = start != NULL ? start[batch->nodes_of.start[i + 1]] : found[i] + nodes * nodes;
    }
    return found;
}

/* Edge features of a flow; those of a self-loop are 0. */
static tensor *edge_rows(const pass *p, const digraph_flow *flow, tensor *weights) {
    uint32_t width = p->batch->widths.edge_values;
    float *values = tape_alloc(p->t, (size_t)flow->count * width, sizeof *values);
    if (values == NULL) return NULL;
    for (size_t i = 0; i < flow->count; i++) {
        if (flow->edge[i] == FT_NONE)
            memset(values + i * width, 0, width * sizeof *values);
        else
            memcpy(values + i * width, p->batch->edge_values + (size_t)flow->edge[i] * width, width * sizeof *values);
    }
    tensor *own = tape_input(p->t, flow->count, width, values);
    if (weights == NULL) return own;
    const uint32_t *start = sample_starts(p->t, p->batch, flow->into.start);
    if (start == NULL) return NULL;
    tensor *parts[] = {own, digraph_pair_rows(p->t, &p->n->pair, weights, p->batch, flow->from, flow->to,
                                              (segments){p->batch->samples, start})};
    return nn_concat_columns(p->t, 2, parts);
}

/* A bias for each pair of nodes of a graph and each head. */
static tensor *attention_bias(const pass *p, tensor *weights) {
    const uint32_t *start = sample_starts(p->t, p->batch, NULL);
    if (start == NULL) return NULL;
    size_t count = start[p->batch->samples], at = 0;
    uint32_t *from = tape_alloc(p->t, count, sizeof *from), *to = tape_alloc(p->t, count, sizeof *to);
    if (p->t->has_failed) return NULL;
    for (uint32_t i = 0; i < p->batch->samples; i++) {
        uint32_t first = p->batch->nodes_of.start[i], end = p->batch->nodes_of.start[i + 1];
        for (uint32_t u = first; u < end; u++)
            for (uint32_t v = first; v < end; v++, at++) {
                from[at] = u;
                to[at] = v;
            }
    }
    tensor *rows =
        digraph_pair_rows(p->t, &p->n->pair, weights, p->batch, from, to, (segments){p->batch->samples, start});
    rows = layer_linear_apply(p->t, &p->n->pair_inner, rows, ACT_RELU);
    return layer_linear_apply(p->t, &p->n->pair_bias, rows, ACT_NONE);
}

static bool open_pass(pass *p) {
    const digraph_options *o = &p->n->options;
    bool has_loops = o->layer == DIGRAPH_GCN || o->layer == DIGRAPH_GAT;
    if (!digraph_flows_of(p->t, p->batch, (digraph_direction)o->direction, has_loops, &p->flows)) return false;
    tensor *weights = is_stable(o) ? digraph_pair_weights(p->t, &p->n->pair, p->batch) : NULL;
    for (uint32_t i = 0; i < p->flows.count && o->layer >= DIGRAPH_GINE; i++)
        p->edges[i] = edge_rows(p, &p->flows.items[i], weights);
    if (weights != NULL && o->layer == DIGRAPH_GPS) p->bias = attention_bias(p, weights);
    return !p->t->has_failed;
}

/* The sign of real eigenvectors is arbitrary: it is randomised in training. */
static tensor *positions(const pass *p) {
    uint32_t width = p->batch->widths.node_marks, vectors = width / 2;
    const float *marks = p->batch->node_marks;
    if (p->t->mode != TAPE_TRAIN || p->n->options.encoding != DIGRAPH_LAPLACIAN)
        return tape_input(p->t, p->batch->nodes, width, marks);
    float *signed_marks = tape_alloc(p->t, (size_t)p->batch->nodes * width, sizeof *signed_marks);
    float signs[2 * DIGRAPH_MAX_VECTORS] = {0};
    if (signed_marks == NULL) return NULL;
    for (uint32_t i = 0; i < p->batch->samples; i++) {
        for (uint32_t k = 0; k < vectors; k++)
            signs[k] = signs[k + vectors] = rng_uniform(&p->t->random) < 0.5 ? -1.0F : 1.0F;
        for (size_t v = p->batch->nodes_of.start[i]; v < p->batch->nodes_of.start[i + 1]; v++)
            for (uint32_t k = 0; k < width; k++) signed_marks[v * width + k] = signs[k] * marks[v * width + k];
    }
    return tape_input(p->t, p->batch->nodes, width, signed_marks);
}

/* --- Forward ------------------------------------------------------------------------------------------------- */

static tensor *drop(const pass *p, tensor *x) {
    return p->n->dropout > 0 ? nn_dropout(p->t, x, p->n->dropout) : x;
}

static tensor *attend(const pass *p, const attention_part *a, tensor *x) {
    attention_options options = {.s = p->batch->nodes_of, .heads = (uint32_t)p->n->options.heads, .head_bias = p->bias};
    tensor *q = layer_linear_apply(p->t, &a->query, x, ACT_NONE), *k = layer_linear_apply(p->t, &a->key, x, ACT_NONE);
    tensor *y = nn_attention(p->t, q, k, layer_linear_apply(p->t, &a->value, x, ACT_NONE), &options);
    return layer_norm_apply(p->t, &a->norm, layer_linear_apply(p->t, &a->out, y, ACT_NONE));
}

/* One layer: messages averaged over directions, a norm and a residual connection; for GPS also attention and a
 * feed-forward block. */
static tensor *apply_layer(const pass *p, uint32_t layer, tensor *x) {
    tape *t = p->t;
    const gnn_net *n = p->n;
    tensor *y = digraph_conv_apply(t, &n->convs[layer][0], x, &p->flows.items[0], p->edges[0]);
    assert(p->flows.count == n->flows);
    if (p->flows.count == 2) {
        tensor *back = digraph_conv_apply(t, &n->convs[layer][1], x, &p->flows.items[1], p->edges[1]);
        y = nn_scale(t, nn_add(t, y, back), 0.5F);
    }
    y = drop(p, nn_activate(t, layer_norm_apply(t, &n->norms[layer], y), ACT_RELU));
    if (n->options.layer != DIGRAPH_GPS) return nn_add(t, x, y);
    const attention_part *a = &n->attention[layer];
    x = nn_add(t, nn_add(t, x, y), drop(p, attend(p, a, x)));
    y = layer_linear_apply(t, &a->wide, layer_norm_apply(t, &a->last, x), ACT_RELU);
    return nn_add(t, x, drop(p, layer_linear_apply(t, &a->narrow, y, ACT_NONE)));
}

/* Read-out: one row per graph. */
static tensor *read_out(const gnn_net *n, tape *t, tensor *x, const gnn_batch *batch) {
    x = layer_linear_apply(t, &n->read, x, ACT_NONE);
    if (n->options.readout == DIGRAPH_SUM) return nn_segment_sum(t, x, batch->nodes_of);
    x = nn_scale(t, nn_activate(t, nn_scale(t, x, 1 / BOUND), ACT_TANH), BOUND);
    x = nn_segment_sum(t, nn_activate(t, x, ACT_EXP), batch->nodes_of);
    return nn_activate(t, x, ACT_LOG);
}

tensor *digraph_forward(const gnn_net *n, tape *t, const gnn_batch *batch) {
    pass p = {.n = n, .t = t, .batch = batch};
    if (!open_pass(&p)) return NULL;
    tensor *values = tape_input(t, batch->nodes, batch->widths.node_values, batch->node_values);
    tensor *x = layer_linear_apply(t, &n->values, values, ACT_NONE);
    x = nn_add(t, x, nn_gather(t, tape_param(t, n->kinds), batch->kinds, batch->nodes));
    if (is_plain(&n->options)) x = nn_add(t, x, layer_linear_apply(t, &n->position, positions(&p), ACT_NONE));
    x = nn_activate(t, x, ACT_RELU);
    for (uint32_t i = 0; i < n->layers; i++) x = apply_layer(&p, i, x);
    x = read_out(n, t, x, batch);
    for (uint32_t i = 0; i < n->head_layers; i++) x = layer_linear_apply(t, &n->head[i], x, ACT_SILU);
    return layer_linear_apply(t, &n->out, x, ACT_NONE);
}
