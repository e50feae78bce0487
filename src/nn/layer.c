#include "nn/layer.h"

layer_linear layer_linear_add(params *p, const char *name, uint32_t in, uint32_t out, bool has_bias) {
    layer_linear l = {.has_bias = has_bias};
    l.weight = params_add(p, in, out, PARAM_FAN_IN, "%s.weight", name);
    if (has_bias) l.bias = params_add(p, 1, out, PARAM_ZEROS, "%s.bias", name);
    return l;
}

tensor *layer_linear_apply(tape *t, const layer_linear *l, tensor *x, activation act) {
    return nn_linear(t, x, tape_param(t, l->weight), l->has_bias ? tape_param(t, l->bias) : NULL, act);
}

layer_sage layer_sage_add(params *p, const char *name, uint32_t in, uint32_t out) {
    return (layer_sage){.own = params_add(p, in, out, PARAM_FAN_IN, "%s.own", name),
                        .heard = params_add(p, in, out, PARAM_FAN_IN, "%s.heard", name),
                        .bias = params_add(p, 1, out, PARAM_ZEROS, "%s.bias", name)};
}

tensor *layer_sage_apply(tape *t, const layer_sage *l, tensor *x, neighbours edges, activation act) {
    tensor *heard = nn_neighbour_mean(t, x, edges);
    return nn_linear2(t, x, tape_param(t, l->own), heard, tape_param(t, l->heard), tape_param(t, l->bias), act);
}
