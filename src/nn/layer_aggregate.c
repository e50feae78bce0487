/* layer_aggregate.c - the layers of GraphSAGE (Hamilton, Ying, Leskovec 2017) with their five aggregators.
 *
 * Every row hears all its neighbours, where the authors draw some of them at random: the result is the same each time.
 * What a pool makes of a row is the same for all who hear it, so it is made once for each row and not for each edge. */
#include <assert.h>
#include <stdio.h>

#include "nn/layer.h"

enum { NAME_BYTES = 128 };

layer_aggregate layer_aggregate_add(params *p, const char *name, const aggregate_options *o) {
    char whole[NAME_BYTES];
    layer_aggregate l = {.kind = o->kind};
    uint32_t heard = o->in;
    if (o->kind == AGGREGATE_MAX_POOL || o->kind == AGGREGATE_MEAN_POOL) {
        snprintf(whole, sizeof whole, "%s.pool", name);
        l.pool = layer_linear_add(p, whole, o->in, o->inner, true);
        heard = o->inner;
    } else if (o->kind == AGGREGATE_LSTM) {
        snprintf(whole, sizeof whole, "%s.lstm", name);
        l.lstm = layer_lstm_add(p, whole, o->in, o->inner);
        heard = o->inner;
    }
    bool has_own = o->kind != AGGREGATE_GCN;
    if (has_own) l.own = params_add(p, o->in, o->out, PARAM_XAVIER, "%s.own", name);
    l.heard = params_add(p, heard, has_own ? o->out : 2 * o->out, PARAM_XAVIER, "%s.heard", name);
    return l;
}

/* The mean of a row and its neighbours. */
static tensor *mean_with_own(tape *t, tensor *x, neighbours e) {
    float *share = tape_alloc(t, e.rows, sizeof *share);
    for (uint32_t i = 0; share != NULL && i < e.rows; i++) share[i] = 1.0f / (float)(e.start[i + 1] - e.start[i] + 1);
    tensor *sum = nn_add(t, nn_neighbour_sum(t, x, e), x), *shares = tape_input(t, e.rows, 1, share);
    return nn_mul_column(t, sum, shares);
}

static tensor *hear(tape *t, const layer_aggregate *l, tensor *x, neighbours e) {
    switch (l->kind) {
    case AGGREGATE_MEAN:
        return nn_neighbour_mean(t, x, e);
    case AGGREGATE_GCN:
        return mean_with_own(t, x, e);
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
    tensor *heard = nn_linear(t, hear(t, l, x, e), tape_param(t, l->heard), NULL, act);
    if (l->kind == AGGREGATE_GCN) return heard;
    return nn_concat_columns(t, 2, (tensor *[]){nn_linear(t, x, tape_param(t, l->own), NULL, act), heard});
}
