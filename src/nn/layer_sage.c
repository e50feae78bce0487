/* layer_sage.c - GraphSAGE layers (Hamilton, Ying, Leskovec 2017): the mean layer, and the five aggregators of the
 * paper.
 *
 * All neighbours of a row are aggregated, where the paper samples some of them: the result is deterministic. The
 * pooling layer is applied once per row, not once per edge. */
#include <assert.h>
#include <stdio.h>

#include "nn/layer.h"

enum { NAME_BYTES = 128 };

/* --- Mean layer ---------------------------------------------------------------------------------------------- */

layer_sage layer_sage_add(params *p, const char *name, uint32_t in, uint32_t out) {
    return (layer_sage){.self = params_add(p, in, out, PARAM_FAN_IN, "%s.own", name),
                        .neighbour = params_add(p, in, out, PARAM_FAN_IN, "%s.heard", name),
                        .bias = params_add(p, 1, out, PARAM_ZEROS, "%s.bias", name)};
}

tensor *layer_sage_apply(tape *t, const layer_sage *l, tensor *x, neighbours edges, activation act) {
    tensor *mean = nn_neighbour_mean(t, x, edges);
    return nn_linear2(t, x, tape_param(t, l->self), mean, tape_param(t, l->neighbour), tape_param(t, l->bias), act);
}

/* --- Aggregators --------------------------------------------------------------------------------------------- */

layer_aggregate layer_aggregate_add(params *p, const char *name, const aggregate_options *o) {
    char whole[NAME_BYTES];
    layer_aggregate l = {.kind = o->kind};
    uint32_t width = o->in; /* of the aggregated neighbours */
    if (o->kind == AGGREGATE_MAX_POOL || o->kind == AGGREGATE_MEAN_POOL) {
        snprintf(whole, sizeof whole, "%s.pool", name);
        l.pool = layer_linear_add(p, whole, o->in, o->inner, true);
        width = o->inner;
    } else if (o->kind == AGGREGATE_LSTM) {
        snprintf(whole, sizeof whole, "%s.lstm", name);
        l.lstm = layer_lstm_add(p, whole, o->in, o->inner);
        width = o->inner;
    }
    bool has_self = o->kind != AGGREGATE_GCN;
    if (has_self) l.self = params_add(p, o->in, o->out, PARAM_XAVIER, "%s.own", name);
    l.neighbour = params_add(p, width, has_self ? o->out : 2 * o->out, PARAM_XAVIER, "%s.heard", name);
    return l;
}

/* Mean of each row and its neighbours: (N, in). */
static tensor *mean_with_self(tape *t, tensor *x, neighbours e) {
    float *share = tape_alloc(t, e.rows, sizeof *share);
    for (uint32_t i = 0; share != NULL && i < e.rows; i++) share[i] = 1.0f / (float)(e.start[i + 1] - e.start[i] + 1);
    tensor *sum = nn_add(t, nn_neighbour_sum(t, x, e), x), *shares = tape_input(t, e.rows, 1, share);
    return nn_mul_column(t, sum, shares);
}

/* Aggregated neighbours: (N, in), or (N, inner) with a pool or LSTM. */
static tensor *aggregate(tape *t, const layer_aggregate *l, tensor *x, neighbours e) {
    switch (l->kind) {
    case AGGREGATE_MEAN:
        return nn_neighbour_mean(t, x, e);
    case AGGREGATE_GCN:
        return mean_with_self(t, x, e);
    case AGGREGATE_MAX_POOL:
        return nn_neighbour_max(t, layer_linear_apply(t, &l->pool, x, ACT_RELU), e);
    case AGGREGATE_MEAN_POOL:
        return nn_neighbour_mean(t, layer_linear_apply(t, &l->pool, x, ACT_RELU), e);
    case AGGREGATE_LSTM:
        return layer_lstm_neighbours(t, &l->lstm, x, e);
    }
    return NULL;
}

tensor *layer_aggregate_apply(tape *t, const layer_aggregate *l, tensor *x, neighbours e, activation act) {
    assert(t->has_failed || e.rows == x->rows);
    tensor *neighbour = nn_linear(t, aggregate(t, l, x, e), tape_param(t, l->neighbour), NULL, act);
    if (l->kind == AGGREGATE_GCN) return neighbour;
    return nn_concat_columns(t, 2, (tensor *[]){nn_linear(t, x, tape_param(t, l->self), NULL, act), neighbour});
}
