/* digraph_conv.c - what a node makes of itself and of what it hears: one layer of message passing in one direction. */
#include <math.h>
#include <stdio.h>

#include "predictor/digraph.h"

digraph_conv digraph_conv_add(params *p, const char *name, const digraph_options *options, uint32_t width) {
    digraph_conv c = {.kind = (digraph_layer)options->layer};
    char text[64];
    snprintf(text, sizeof text, "%s.first", name);
    c.first = layer_linear_add(p, text, width, width, c.kind != DIGRAPH_GCN);
    if (c.kind == DIGRAPH_GIN) {
        snprintf(text, sizeof text, "%s.second", name);
        c.second = layer_linear_add(p, text, width, width, true);
        c.own = params_add(p, 1, width, PARAM_ZEROS, "%s.own", name);
    }
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

/* GCN: the mean of neighbours, weighted by the degrees of both ends. */
static tensor *gcn(tape *t, const digraph_conv *c, tensor *x, const digraph_flow *flow) {
    tensor *share = root_degrees(t, flow);
    x = nn_mul_column(t, layer_linear_apply(t, &c->first, x, ACT_NONE), share);
    return nn_mul_column(t, nn_neighbour_sum(t, x, flow->sources), share);
}

/* GIN: two layers over (1 + own) x + the sum of neighbours. */
static tensor *gin(tape *t, const digraph_conv *c, tensor *x, tensor *heard) {
    tensor *own = nn_add(t, x, nn_mul_row(t, x, tape_param(t, c->own)));
    tensor *inner = layer_linear_apply(t, &c->first, nn_add(t, own, heard), ACT_RELU);
    return layer_linear_apply(t, &c->second, inner, ACT_NONE);
}

tensor *digraph_conv_apply(tape *t, const digraph_conv *c, tensor *x, const digraph_flow *flow) {
    if (c->kind == DIGRAPH_GCN) return gcn(t, c, x, flow);
    return gin(t, c, x, nn_neighbour_sum(t, x, flow->sources));
}
