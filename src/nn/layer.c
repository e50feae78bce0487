/* layer.c - layers without recurrence or neighbours: linear, norms, transformer encoder. */
#include <assert.h>
#include <stdio.h>

#include "nn/layer.h"

enum { NAME_BYTES = 128 };
static const float MOMENTUM = 0.1f; /* of running means, as in PyTorch */

layer_linear layer_linear_add(params *p, const char *name, uint32_t in, uint32_t out, bool has_bias) {
    layer_linear l = {.has_bias = has_bias};
    l.weight = params_add(p, in, out, PARAM_FAN_IN, "%s.weight", name);
    if (has_bias) l.bias = params_add(p, 1, out, PARAM_ZEROS, "%s.bias", name);
    return l;
}

tensor *layer_linear_apply(tape *t, const layer_linear *l, tensor *x, activation act) {
    return nn_linear(t, x, tape_param(t, l->weight), l->has_bias ? tape_param(t, l->bias) : NULL, act);
}

/* --- Norms --------------------------------------------------------------------------------------------------- */

layer_norm layer_norm_add(params *p, const char *name, uint32_t width) {
    return (layer_norm){.gain = params_add(p, 1, width, PARAM_ONES, "%s.gain", name),
                        .offset = params_add(p, 1, width, PARAM_ZEROS, "%s.offset", name)};
}

tensor *layer_norm_apply(tape *t, const layer_norm *l, tensor *x) {
    return nn_layer_norm(t, x, tape_param(t, l->gain), tape_param(t, l->offset));
}

layer_batch_norm layer_batch_norm_add(params *p, const char *name, uint32_t width, bool is_affine) {
    layer_batch_norm l = {.is_affine = is_affine};
    if (is_affine) {
        l.gain = params_add(p, 1, width, PARAM_ONES, "%s.gain", name);
        l.offset = params_add(p, 1, width, PARAM_ZEROS, "%s.offset", name);
    }
    l.mean = params_add_state(p, 1, width, PARAM_ZEROS, "%s.mean", name);
    l.variance = params_add_state(p, 1, width, PARAM_ONES, "%s.variance", name);
    return l;
}

tensor *layer_batch_norm_apply(tape *t, const layer_batch_norm *l, tensor *x) {
    tensor *gain = l->is_affine ? tape_param(t, l->gain) : NULL;
    tensor *offset = l->is_affine ? tape_param(t, l->offset) : NULL;
    return nn_batch_norm(t, x, gain, offset, tape_param(t, l->mean), tape_param(t, l->variance), MOMENTUM);
}

/* --- Transformer encoder ------------------------------------------------------------------------------------- */

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
    assert(o->heads > 0 && o->width % o->heads == 0);
    return (layer_encoder){.query = add_linear(p, name, "query", o->width, o->width),
                           .key = add_linear(p, name, "key", o->width, o->width),
                           .value = add_linear(p, name, "value", o->width, o->width),
                           .out = add_linear(p, name, "out", o->width, o->width),
                           .up = add_linear(p, name, "wide", o->width, o->inner),
                           .down = add_linear(p, name, "narrow", o->inner, o->width),
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

static tensor *feed_forward(tape *t, const layer_encoder *l, tensor *x) {
    tensor *inner = nn_dropout(t, layer_linear_apply(t, &l->up, x, l->act), l->dropout);
    return nn_dropout(t, layer_linear_apply(t, &l->down, inner, ACT_NONE), l->dropout);
}

tensor *layer_encoder_apply(tape *t, const layer_encoder *l, tensor *x, segments s, const float *bias) {
    if (l->is_norm_first) {
        x = nn_add(t, x, attend(t, l, layer_norm_apply(t, &l->first, x), s, bias));
        return nn_add(t, x, feed_forward(t, l, layer_norm_apply(t, &l->second, x)));
    }
    x = layer_norm_apply(t, &l->first, nn_add(t, x, attend(t, l, x, s, bias)));
    return layer_norm_apply(t, &l->second, nn_add(t, x, feed_forward(t, l, x)));
}
