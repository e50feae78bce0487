/* layer_encoder.c - a layer of a transformer's encoder. */
#include <stdio.h>

#include "nn/layer.h"

enum { NAME_BYTES = 128 };

static layer_linear add_linear(params *p, const char *name, const char *part, uint32_t in, uint32_t out) {
    char whole[NAME_BYTES];
    snprintf(whole, sizeof whole, "%s.%s", name, part);
    return layer_linear_add(p, whole, in, out, true);
}

static layer_norm add_norm(params *p, const char *name, const char *part, uint32_t width) {
    char whole[NAME_BYTES];
    snprintf(whole, sizeof whole, "%s.%s", name, part);
    return layer_norm_add(p, whole, width);
}

layer_encoder layer_encoder_add(params *p, const char *name, const encoder_options *o) {
    return (layer_encoder){.query = add_linear(p, name, "query", o->width, o->width),
                           .key = add_linear(p, name, "key", o->width, o->width),
                           .value = add_linear(p, name, "value", o->width, o->width),
                           .out = add_linear(p, name, "out", o->width, o->width),
                           .wide = add_linear(p, name, "wide", o->width, o->inner),
                           .narrow = add_linear(p, name, "narrow", o->inner, o->width),
                           .first = add_norm(p, name, "first", o->width),
                           .second = add_norm(p, name, "second", o->width),
                           .heads = o->heads,
                           .dropout = o->dropout,
                           .act = o->act,
                           .is_norm_first = o->is_norm_first};
}

static tensor *attend(tape *t, const layer_encoder *l, tensor *x, segments s, const float *bias) {
    attention_options options = {.s = s, .heads = l->heads, .bias = bias, .dropout = l->dropout};
    tensor *q = layer_linear_apply(t, &l->query, x, ACT_NONE), *k = layer_linear_apply(t, &l->key, x, ACT_NONE);
    tensor *v = layer_linear_apply(t, &l->value, x, ACT_NONE);
    return nn_dropout(t, layer_linear_apply(t, &l->out, nn_attention(t, q, k, v, &options), ACT_NONE), l->dropout);
}

static tensor *think(tape *t, const layer_encoder *l, tensor *x) {
    tensor *wide = nn_dropout(t, layer_linear_apply(t, &l->wide, x, l->act), l->dropout);
    return nn_dropout(t, layer_linear_apply(t, &l->narrow, wide, ACT_NONE), l->dropout);
}

tensor *layer_encoder_apply(tape *t, const layer_encoder *l, tensor *x, segments s, const float *bias) {
    if (l->is_norm_first) {
        x = nn_add(t, x, attend(t, l, layer_norm_apply(t, &l->first, x), s, bias));
        return nn_add(t, x, think(t, l, layer_norm_apply(t, &l->second, x)));
    }
    x = layer_norm_apply(t, &l->first, nn_add(t, x, attend(t, l, x, s, bias)));
    return layer_norm_apply(t, &l->second, nn_add(t, x, think(t, l, x)));
}
